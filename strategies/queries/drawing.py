"""Draws whole queries: filters, joins, groups, windows, unions and subqueries under LIMIT and ORDER BY.

The four plan shapes below top-k of [P] Figure 7 are drawn on purpose besides: (a) a filtered scan, (b) a
join whose probe side has the ORDER BY column, (c) an outer join whose preserved side has it, (d) GROUP BY
x under ORDER BY x.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import Column
from strategies.queries.endings import ENDINGS, Ending, ended
from strategies.queries.joins import KINDS, Join, joined
from strategies.queries.queries import Query
from strategies.queries.query_tables import lines
from strategies.queries.relations import (
    Catalog,
    Relation,
    filtered,
    maybe_filtered,
    projected,
    ranged,
    renamed,
)
from strategies.queries.shapes import (
    compared_with_scalar,
    counted_limit,
    distinct,
    existing,
    grouped,
    limited,
    limited_keys,
    union,
    windowed,
)

Shape: TypeAlias = Callable[[DrawFn, Catalog], Query]
Body: TypeAlias = Callable[[DrawFn, Catalog], Relation]
Step: TypeAlias = Callable[[DrawFn, Catalog, Relation], Relation]

# A join of three sides must not multiply the rows of all.
_STAR_KINDS = (Join.INNER, Join.INNER, Join.LEFT, Join.SEMI, Join.ANTI, Join.IN, Join.EXISTS)
_TOP_K = (Ending.TOP_K, Ending.TOP_K, Ending.TOP_K_OFFSET)


@st.composite
def queries(draw: DrawFn) -> Query:
    """Queries over one to three tables, each with one right answer but for what SQL leaves open.

    Shrinks to: a scan of one table.
    """
    return draw(st.sampled_from(SHAPES))(draw, Catalog(draw(lines())))


def _scan(draw: DrawFn, catalog: Catalog) -> Relation:
    return maybe_filtered(draw, catalog.fact(draw))


def _wide(draw: DrawFn, catalog: Catalog) -> Relation:
    """Many rows of a table, so that whole blocks match."""
    fact = catalog.fact(draw)
    return ranged(draw, fact) if draw(st.sampled_from((True, True, False))) else fact


def _join(draw: DrawFn, catalog: Catalog) -> Relation:
    """Two tables, the large one on either side."""
    fact, small = _scan(draw, catalog), maybe_filtered(draw, catalog.small(draw))
    sides = (small, fact) if draw(st.sampled_from((False, False, True))) else (fact, small)
    return joined(draw, *sides, draw(st.sampled_from(KINDS)))


def _self_join(draw: DrawFn, catalog: Catalog) -> Relation:
    fact = catalog.fact(draw)
    other = maybe_filtered(draw, renamed(catalog, fact))
    return joined(draw, maybe_filtered(draw, fact), other, draw(st.sampled_from(KINDS)))


def _star(draw: DrawFn, catalog: Catalog) -> Relation:
    """A table and two that it is joined with, one after the other."""
    result = _scan(draw, catalog)
    for _ in range(2):
        side = maybe_filtered(draw, catalog.small(draw))
        result = joined(draw, result, side, draw(st.sampled_from(_STAR_KINDS)))
    return result.then(result.sql, result.top, "star join")


def _union(draw: DrawFn, catalog: Catalog) -> Relation:
    """UNION ALL of two or three scans, or of one scan and a join."""
    branches = [_scan(draw, catalog)]
    for _ in range(draw(st.integers(1, 2))):
        branch = maybe_filtered(draw, catalog.small(draw))
        branches.append(limited(draw, catalog, branch) if draw(st.booleans()) else branch)
    if len(branches) == 2 and draw(st.sampled_from((False, False, True))):
        kind = draw(st.sampled_from(KINDS))
        branches[0] = joined(draw, branches[0], renamed(catalog, branches[1]), kind)
    return union(draw, catalog, branches)


def _limited_join(draw: DrawFn, catalog: Catalog) -> Relation:
    """A join with the first rows of a table, or with its first values."""
    first = draw(st.sampled_from((limited, limited_keys)))(draw, catalog, _scan(draw, catalog))
    other = maybe_filtered(draw, catalog.small(draw))
    sides = (first, other) if draw(st.booleans()) else (other, first)
    return joined(draw, *sides, draw(st.sampled_from(KINDS)))


def _subquery(draw: DrawFn, catalog: Catalog) -> Relation:
    step = draw(st.sampled_from((compared_with_scalar, compared_with_scalar, existing)))
    return step(draw, catalog, _scan(draw, catalog), maybe_filtered(draw, catalog.small(draw)))


_BODIES: tuple[Body, ...] = (
    _scan, _join, _scan, _join, _join, _star, _self_join, _union, _limited_join, _subquery,
)  # fmt: skip


def _free(draw: DrawFn, catalog: Catalog) -> Query:
    """Any body, then up to two steps, then any ending."""
    body = draw(st.sampled_from(_BODIES))(draw, catalog)
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        body = draw(st.sampled_from(_steps(body)))(draw, catalog, body)
    return ended(draw, catalog, body, draw(st.sampled_from(ENDINGS)))


def _steps(body: Relation) -> tuple[Step, ...]:
    """The steps that may follow; each of them leaves one right answer."""
    steps: tuple[Step, ...] = (
        projected, lambda draw, _, relation: filtered(draw, relation), grouped, windowed, distinct,
        counted_limit, limited_keys,
    )  # fmt: skip
    return (*steps, limited) if body.unique else steps


def _plan_a(draw: DrawFn, catalog: Catalog) -> Query:
    return _marked(draw, catalog, filtered(draw, catalog.fact(draw)), "plan a")


def _plan_b(draw: DrawFn, catalog: Catalog) -> Query:
    probe, build = _scan(draw, catalog), filtered(draw, catalog.small(draw))
    body = joined(draw, probe, build, Join.INNER)
    return _marked(draw, catalog, body, "plan b", probe.columns)


def _plan_c(draw: DrawFn, catalog: Catalog) -> Query:
    kept, other = _scan(draw, catalog), maybe_filtered(draw, catalog.small(draw))
    if draw(st.booleans()):
        body = joined(draw, kept, other, Join.LEFT)
    else:
        body = joined(draw, other, kept, Join.RIGHT)
    return _marked(draw, catalog, body, "plan c", kept.columns)


def _plan_d(draw: DrawFn, catalog: Catalog) -> Query:
    scan = _scan(draw, catalog)
    keys = [draw(st.sampled_from(scan.columns))]
    return _marked(draw, catalog, grouped(draw, catalog, scan, keys), "plan d", keys)


def _marked(draw: DrawFn, catalog: Catalog, body: Relation, plan: str, keys: Sequence[Column] = ()) -> Query:
    """Top-k, the first ORDER BY key one of `keys`, or of all columns."""
    marked = body.then(body.sql, body.top, plan)
    return ended(draw, catalog, marked, draw(st.sampled_from(_TOP_K)), keys or body.columns)


def _limit(draw: DrawFn, catalog: Catalog) -> Query:
    """LIMIT over a scan, a union or an outer join."""
    body = draw(st.sampled_from((_wide, _wide, _wide, _union, _outer_join)))(draw, catalog)
    endings = (Ending.LIMIT, Ending.LIMIT, Ending.LIMIT_OFFSET, Ending.LIMIT_LIMIT)
    return ended(draw, catalog, body, draw(st.sampled_from(endings)))


def _outer_join(draw: DrawFn, catalog: Catalog) -> Relation:
    fact, small = _wide(draw, catalog), maybe_filtered(draw, catalog.small(draw))
    kind = draw(st.sampled_from((Join.LEFT, Join.RIGHT, Join.FULL)))
    sides = (small, fact) if kind is Join.RIGHT else (fact, small)
    return joined(draw, *sides, kind)


SHAPES: tuple[Shape, ...] = (
    _free, _free, _free, _free, _free, _limit, _limit, _limit, _plan_a, _plan_b, _plan_c, _plan_d,
)  # fmt: skip
