"""Draw whole queries over tables of any source, and over tables that change between two runs.

Sides of joins and of subqueries are rows of Python, text files, cached frames, ranges and the like, often
grouped. Joins are by ranges, several at once, or chains of dimensions. LIMIT stands over scans without a
filter, below aggregates and in the branches of UNION ALL. Tables that change are asked through a cache.
"""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.queries.drawing import Body, Shape
from strategies.queries.endings import ENDINGS, Ending, end_query
from strategies.queries.joins import KINDS, RANGE_KINDS, JoinSyntax, join_by_range, join_relations
from strategies.queries.queries import Query, TableSource
from strategies.queries.query_tables import domains
from strategies.queries.relations import Catalog, SampledRelation, with_filter, with_filters, with_range
from strategies.queries.shapes import (
    count_of_limit,
    counts_of_limits,
    union,
    with_bounds,
    with_distinct,
    with_existence,
    with_group_by,
    with_limit,
    with_limit_of_keys,
    with_scalar_subquery,
    with_window,
)
from strategies.queries.table_changes import table_changes

_TABLES_MAX = 4
# Kinds of joins whose rows are not more than those of the left side, or seldom.
_NARROW_KINDS = (
    JoinSyntax.INNER, JoinSyntax.INNER, JoinSyntax.SEMI, JoinSyntax.IN, JoinSyntax.EXISTS, JoinSyntax.LEFT,
)  # fmt: skip
_DIMENSION_KINDS = (JoinSyntax.INNER, JoinSyntax.INNER, JoinSyntax.INNER, JoinSyntax.SEMI, JoinSyntax.IN)
_SUBQUERY_KINDS = (
    JoinSyntax.IN, JoinSyntax.IN, JoinSyntax.EXISTS, JoinSyntax.EXISTS, JoinSyntax.NOT_IN,
    JoinSyntax.NOT_EXISTS,
)  # fmt: skip
_LIMITS = (
    Ending.LIMIT,
    Ending.LIMIT,
    Ending.LIMIT_OFFSET,
    Ending.LIMIT_OFFSET,
    Ending.LIMIT_LIMIT,
    Ending.OFFSET,
)
_CHANGED_ENDINGS = (Ending.NONE, Ending.NONE, Ending.TOP_K, Ending.TOP_K, Ending.TOP_K_OFFSET, Ending.ORDER)


@st.composite
def source_queries(draw: DrawFn) -> Query:
    """Queries over one to four tables of any source, each with one right answer but for what SQL leaves open.

    Shrinks to: a join of one table with rows of another.
    """
    return choose(draw, SHAPES)(draw, Catalog(draw(domains()), tables_max=_TABLES_MAX))


def _fact(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw all rows of a table of many files, more often than some of them."""
    fact = catalog.fact(draw, TableSource(blocks_per_file=choose(draw, (1, 1, 2))))
    return with_filter(draw, fact) if draw(st.booleans()) else fact


def _side(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw rows of any source, some of them filtered, grouped or cut by LIMIT."""
    side = catalog.side(draw)
    if choose(draw, (False, False, True)):
        side = with_filter(draw, side)
    step = choose(draw, ("none", "none", "none", "none", "group", "distinct", "first rows"))
    if step == "group":
        grouped = with_group_by(draw, catalog, side)
        return grouped.then(grouped.sql, grouped.top, "grouped side")
    if step == "distinct":
        return with_distinct(draw, catalog, side)
    return with_limit(draw, catalog, side) if step == "first rows" and side.unique else side


def _join(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a join of a table with a side of any source, on either side."""
    fact, side = _fact(draw, catalog), _side(draw, catalog)
    sides = (side, fact) if choose(draw, (False, False, True)) else (fact, side)
    return join_relations(draw, *sides, choose(draw, KINDS))


def _range_join(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a join by ranges that rows of a side, or its groups, give."""
    fact, side = _fact(draw, catalog), catalog.side(draw)
    side = with_filters(draw, side)
    bounds = with_bounds(draw, catalog, side) if choose(draw, (False, True)) else side
    kind = choose(draw, RANGE_KINDS)
    # Where no two columns of the side give a range, it is joined by any condition.
    return join_by_range(draw, fact, bounds, kind) or join_relations(draw, fact, side, kind)


def _subquery(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a condition with a subquery over a side: its greatest value, its members, or its being empty."""
    fact, side = _fact(draw, catalog), _side(draw, catalog)
    if draw(st.booleans()):
        return with_scalar_subquery(draw, catalog, fact, side)
    if choose(draw, (False, False, False, True)):
        return with_existence(draw, catalog, fact, side)
    return join_relations(draw, fact, side, choose(draw, _SUBQUERY_KINDS))


def _several_joins(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a table joined with two or three sides, one after the other, one of them perhaps by a range."""
    result = _fact(draw, catalog)
    for _ in range(draw(st.integers(2, 3))):
        side, kind = _side(draw, catalog), choose(draw, _NARROW_KINDS)
        by_range = None
        if kind in RANGE_KINDS and choose(draw, (False, False, True)):
            by_range = join_by_range(draw, result, with_bounds(draw, catalog, side), kind)
        result = by_range or join_relations(draw, result, side, kind)
    return result.then(result.sql, result.top, "several joins")


def _snowflake(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw a table joined with a dimension, which is joined with one or two of any source, often filtered."""
    fact, dimension = _fact(draw, catalog), with_filters(draw, catalog.small(draw))
    for _ in range(draw(st.integers(1, 2))):
        outer = with_range(draw, catalog.side(draw))
        dimension = join_relations(draw, dimension, outer, choose(draw, _DIMENSION_KINDS))
    result = join_relations(draw, fact, dimension, choose(draw, _NARROW_KINDS))
    return result.then(result.sql, result.top, "snowflake")


_BODIES: tuple[Body, ...] = (
    _join, _join, _range_join, _range_join, _range_join, _subquery, _subquery, _subquery, _several_joins,
    _snowflake, _snowflake,
)  # fmt: skip


def _with_sides(draw: DrawFn, catalog: Catalog) -> Query:
    """Draw a body with sides of any source, perhaps a step, and an ending; the plain ones more often."""
    body = choose(draw, _BODIES)(draw, catalog)
    step = choose(draw, (None, None, None, with_group_by, with_distinct, with_window, with_limit_of_keys))
    if step is not None:
        body = step(draw, catalog, body)
    return end_query(draw, catalog, body, choose(draw, (Ending.NONE, Ending.TOP_K, *ENDINGS)))


def _changing(draw: DrawFn, catalog: Catalog) -> Query:
    """Draw a filter, perhaps grouped or under ORDER BY, over a table of one block a file that changes."""
    statistics = choose(draw, (True, False, False))
    fact = catalog.fact(draw, TableSource(blocks_per_file=1, statistics=statistics))
    column = choose(draw, fact.columns[:-1])
    body = with_filter(draw, fact)
    if choose(draw, (False, False, False, True)):
        body = with_group_by(draw, catalog, body)
    if choose(draw, (False,) * 7 + (True,)):
        side = catalog.side(draw)
        body = join_relations(draw, body, side, choose(draw, _NARROW_KINDS))
    keys = [key for key in body.columns if key == column]
    query = end_query(draw, catalog, body, choose(draw, _CHANGED_ENDINGS), keys)
    changes = table_changes(draw, 0, catalog.tables[0], column)
    kinds = {f"{change.kind.value} between runs" for change in changes}
    return replace(query, changes=changes, features=query.features | kinds | {"table that changes"})


def _bare_limit(draw: DrawFn, catalog: Catalog) -> Query:
    """Draw LIMIT or OFFSET over all rows of a table, or of UNION ALL of tables."""
    body = _all_rows(draw, catalog)
    if choose(draw, (False, True)):
        body = union(draw, catalog, [body, catalog.side(draw)])
    marked = body.then(body.sql, body.top, "LIMIT without a filter")
    return end_query(draw, catalog, marked, choose(draw, _LIMITS))


def _counted_limit(draw: DrawFn, catalog: Catalog) -> Query:
    """Draw an aggregate over LIMIT, or over UNION ALL of LIMITs, without a filter or with a wide one."""
    relations = [_all_rows(draw, catalog)]
    if choose(draw, (False, True)):
        relations += [catalog.side(draw), _all_rows(draw, catalog)][: draw(st.integers(1, 2))]
        body = counts_of_limits(draw, catalog, relations)
    else:
        body = count_of_limit(draw, catalog, relations[0])
    return end_query(draw, catalog, body, choose(draw, (Ending.NONE, Ending.NONE, Ending.LIMIT)))


def _all_rows(draw: DrawFn, catalog: Catalog) -> SampledRelation:
    """Draw all rows of a table of many files, or seldom half of them."""
    fact = catalog.fact(draw, TableSource(blocks_per_file=choose(draw, (1, 1, 2))))
    return with_range(draw, fact) if choose(draw, (False, False, False, True)) else fact


SHAPES: tuple[Shape, ...] = (
    *(_with_sides,) * 7,
    _changing,
    _changing,
    _changing,
    _bare_limit,
    _counted_limit,
)
