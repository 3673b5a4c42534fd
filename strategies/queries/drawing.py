"""Draw whole queries: filters, joins, groups, windows, unions and subqueries under LIMIT and ORDER BY.

The four plan shapes below top-k of [P] Figure 7 are drawn in addition: (a) a filtered scan, (b) a join whose
probe side has the ORDER BY column, (c) an outer join whose preserved side has it, (d) GROUP BY x under ORDER
BY x.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import Column
from strategies.choices import choose
from strategies.queries.endings import ENDINGS, Ending, end_query
from strategies.queries.joins import KINDS, JoinSyntax, join_relations
from strategies.queries.queries import Query
from strategies.queries.query_tables import domains
from strategies.queries.relations import (
    Catalog,
    SampledRelation,
    with_filter,
    with_filters,
    with_new_names,
    with_projection,
    with_range,
)
from strategies.queries.shapes import (
    count_of_limit,
    union,
    with_distinct,
    with_existence,
    with_group_by,
    with_limit,
    with_limit_of_keys,
    with_scalar_subquery,
    with_window,
)

Shape: TypeAlias = Callable[[DrawFn, Catalog], Query]
Body: TypeAlias = Callable[[DrawFn, Catalog], SampledRelation]
Step: TypeAlias = Callable[[DrawFn, Catalog, SampledRelation], SampledRelation]

# A join of three sides must not multiply the rows of all.
_STAR_KINDS = (
    JoinSyntax.INNER,
    JoinSyntax.INNER,
    JoinSyntax.LEFT,
    JoinSyntax.SEMI,
    JoinSyntax.ANTI,
    JoinSyntax.IN,
    JoinSyntax.EXISTS,
)
_TOP_K = (Ending.TOP_K, Ending.TOP_K, Ending.TOP_K_OFFSET)


@st.composite
def queries(draw: DrawFn) -> Query:
    """Queries over one to three tables, each with one right answer except for what SQL leaves open.

    Shrinks to: a scan of one table.
    """
    return choose(draw, SHAPES)(draw, Catalog(draw(domains())))


def _scan(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    return with_filters(draw, catalog.fact(draw))


def _wide(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw many rows of a table, so that whole blocks match."""
    fact = catalog.fact(draw)
    return with_range(draw, fact) if choose(draw, (True, True, False)) else fact


def _join(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a join of two tables, the large one on either side."""
    fact, small = _scan(draw, catalog), with_filters(draw, catalog.small(draw))
    sides = (small, fact) if choose(draw, (False, False, True)) else (fact, small)
    return join_relations(draw, *sides, choose(draw, KINDS))


def _self_join(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    fact = catalog.fact(draw)
    other = with_filters(draw, with_new_names(catalog, fact))
    return join_relations(draw, with_filters(draw, fact), other, choose(draw, KINDS))


def _star(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a table joined with two others, one after the other."""
    result = _scan(draw, catalog)
    for _ in range(2):
        side = with_filters(draw, catalog.small(draw))
        result = join_relations(draw, result, side, choose(draw, _STAR_KINDS))
    return result.then(result.sql, result.top, "star join")


def _union(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw UNION ALL of two or three scans, or of one scan and a join."""
    branches = [_scan(draw, catalog)]
    for _ in range(draw(st.integers(1, 2))):
        branch = with_filters(draw, catalog.small(draw))
        branches.append(with_limit(draw, catalog, branch) if draw(st.booleans()) else branch)
    if len(branches) == 2 and choose(draw, (False, False, True)):
        kind = choose(draw, KINDS)
        branches[0] = join_relations(draw, branches[0], with_new_names(catalog, branches[1]), kind)
    return union(draw, catalog, branches)


def _limited_join(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a join with the first rows of a table, or with its first values."""
    first = choose(draw, (with_limit, with_limit_of_keys))(draw, catalog, _scan(draw, catalog))
    other = with_filters(draw, catalog.small(draw))
    sides = (first, other) if draw(st.booleans()) else (other, first)
    return join_relations(draw, *sides, choose(draw, KINDS))


def _subquery(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    step = choose(draw, (with_scalar_subquery, with_scalar_subquery, with_existence))
    return step(draw, catalog, _scan(draw, catalog), with_filters(draw, catalog.small(draw)))


_BODIES: tuple[Body, ...] = (
    _scan, _join, _scan, _join, _join, _star, _self_join, _union, _limited_join, _subquery,
)  # fmt: skip


def _free(draw: DrawFn, catalog: Catalog) -> Query:
    """Draw any body, then up to two steps, then any ending."""
    body = choose(draw, _BODIES)(draw, catalog)
    for _ in range(choose(draw, (0, 0, 1, 1, 2))):
        body = choose(draw, _steps(body))(draw, catalog, body)
    return end_query(draw, catalog, body, choose(draw, ENDINGS))


def _steps(body: SampledRelation) -> tuple[Step, ...]:
    """Return the steps that may follow; each of them leaves one right answer."""
    steps: tuple[Step, ...] = (
        with_projection, lambda draw, _, relation: with_filter(draw, relation), with_group_by, with_window,
        with_distinct, count_of_limit, with_limit_of_keys,
    )  # fmt: skip
    return (*steps, with_limit) if body.unique else steps


def _plan_a(draw: DrawFn, catalog: Catalog) -> Query:
    return _top_k_query(draw, catalog, with_filter(draw, catalog.fact(draw)), "plan a")


def _plan_b(draw: DrawFn, catalog: Catalog) -> Query:
    probe, build = _scan(draw, catalog), with_filter(draw, catalog.small(draw))
    body = join_relations(draw, probe, build, JoinSyntax.INNER)
    return _top_k_query(draw, catalog, body, "plan b", probe.columns)


def _plan_c(draw: DrawFn, catalog: Catalog) -> Query:
    kept, other = _scan(draw, catalog), with_filters(draw, catalog.small(draw))
    if draw(st.booleans()):
        body = join_relations(draw, kept, other, JoinSyntax.LEFT)
    else:
        body = join_relations(draw, other, kept, JoinSyntax.RIGHT)
    return _top_k_query(draw, catalog, body, "plan c", kept.columns)


def _plan_d(draw: DrawFn, catalog: Catalog) -> Query:
    scan = _scan(draw, catalog)
    keys = [choose(draw, scan.columns)]
    return _top_k_query(draw, catalog, with_group_by(draw, catalog, scan, keys), "plan d", keys)


def _top_k_query(
    draw: DrawFn, catalog: Catalog, body: SampledRelation, plan: str, keys: Sequence[Column] = ()
) -> Query:
    """Draw a top-k whose first ORDER BY key is one of `keys`, or of all columns."""
    marked = body.then(body.sql, body.top, plan)
    return end_query(draw, catalog, marked, choose(draw, _TOP_K), keys or body.columns)


def _limit(draw: DrawFn, catalog: Catalog) -> Query:
    """Draw LIMIT over a scan, a union or an outer join."""
    body = choose(draw, (_wide, _wide, _wide, _union, _outer_join))(draw, catalog)
    endings = (Ending.LIMIT, Ending.LIMIT, Ending.LIMIT_OFFSET, Ending.LIMIT_LIMIT)
    return end_query(draw, catalog, body, choose(draw, endings))


def _outer_join(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    fact, small = _wide(draw, catalog), with_filters(draw, catalog.small(draw))
    kind = choose(draw, (JoinSyntax.LEFT, JoinSyntax.RIGHT, JoinSyntax.FULL))
    sides = (small, fact) if kind is JoinSyntax.RIGHT else (fact, small)
    return join_relations(draw, *sides, kind)


SHAPES: tuple[Shape, ...] = (
    _free, _free, _free, _free, _free, _limit, _limit, _limit, _plan_a, _plan_b, _plan_c, _plan_d,
)  # fmt: skip
