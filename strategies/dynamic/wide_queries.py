"""Random queries with operators that `queries` never draws: other aggregates, window functions and frames.

They are drawn apart, so that the seeds of `queries` keep drawing what they drew.
"""

from collections.abc import Callable
from decimal import Decimal
from random import Random

from dynamic_tables.bags.aggregates import aggregate
from dynamic_tables.bags.listed_aggregates import extreme_by_aggregate, listagg_aggregate
from dynamic_tables.maintenance.algebra import (
    Aggregate,
    Distinct,
    Explode,
    Filter,
    Frame,
    Group,
    Join,
    JoinKind,
    Order,
    Project,
    RangeFrame,
    Relation,
    UnionAll,
    Window,
    WindowFunction,
)
from dynamic_tables.values.expressions import Column, Expression, Literal
from dynamic_tables.values.types import EXACT_NUMBERS, FLOAT, INTEGER, NUMBERS
from strategies.dynamic.queries import (
    Tables,
    an_object,
    any_column,
    columns_like,
    condition,
    drawn_query,
    drawn_scan,
    is_joinable,
    projection,
)

STATISTICS = ("median", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
TRUTHS = ("bool_or", "bool_and", "bool_xor")


def drawn_wide_query(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw an operator of this module above `depth` - 1 others, and sometimes one more above it."""
    below = drawn_query(random, tables, depth - 1)
    relation = random.choice(WIDE)(random, below)
    return random.choice(ABOVE)(random, tables, relation)


def any_order(random: Random, relation: Relation) -> Order | None:
    """Draw a term of ORDER BY; None if no column has an order."""
    ordered = columns_like(relation, is_joinable)
    if not ordered:
        return None
    return Order(random.choice(ordered), random.random() < 0.5, random.random() < 0.5)


def wide_aggregate(random: Random, relation: Relation) -> Aggregate:
    """Draw an aggregate of some columns that fit it."""
    draw, term = random.random(), any_order(random, relation)
    numbers = columns_like(relation, lambda kind: kind.kind in NUMBERS)
    if draw < 0.3 and numbers:
        return aggregate(random.choice(STATISTICS), random.choice(numbers), distinct=random.random() < 0.3)
    if draw < 0.5:
        return aggregate(random.choice(TRUTHS), condition(random, relation, 1))
    if draw < 0.75 and term is not None:
        value = any_column(random, relation)
        return extreme_by_aggregate(random.choice(("max_by", "min_by")), value, term.expression)
    terms = () if term is None or draw > 0.95 else (term,)
    return listagg_aggregate(any_column(random, relation), ",", terms)


def wide_group(random: Random, below: Relation) -> Relation:
    """Draw a group by one column."""
    aggregates = tuple(wide_aggregate(random, below) for _ in range(random.randint(1, 2)))
    names = tuple(f"g{place}" for place in range(1 + len(aggregates)))
    return Group(below, (any_column(random, below),), aggregates, names)


def grouping_sets(random: Random, below: Relation) -> Relation:
    """Draw a union of groups by both or one of two columns, as GROUPING SETS is."""
    keys = (any_column(random, below), any_column(random, below))
    aggregates = (aggregate("count", None), wide_aggregate(random, below))
    branches = []
    for members in random.choice((((0, 1), (0,)), ((0,), (1,)), ((0, 1), (0, 1), (1,)))):
        names = tuple(f"g{place}" for place in range(len(members) + len(aggregates)))
        group = Group(below, tuple(keys[place] for place in members), aggregates, names)
        columns: list[Expression] = [
            Column(members.index(place), key.type) if place in members else Literal(None, key.type)
            for place, key in enumerate(keys)
        ]
        columns += [Column(len(members) + place, part.type) for place, part in enumerate(aggregates)]
        branches.append(Project(group, tuple(columns), ("a", "b", "c", "d")))
    return UnionAll(tuple(branches))


def wide_window(random: Random, below: Relation) -> Relation:
    """Draw a window function, or a function over a frame of peers or of values."""
    function = random.choice((ranking, frame_function))(random, below)
    return Window(below, (any_column(random, below),), (function,), ("w",))


def ranking(random: Random, below: Relation) -> WindowFunction:
    """Draw NTILE, PERCENT_RANK or CUME_DIST."""
    term = any_order(random, below)
    order = () if term is None else (term,)
    name = random.choice(("ntile", "percent_rank", "cume_dist"))
    type_ = INTEGER if name == "ntile" else FLOAT
    return WindowFunction(name, None, order, type_, offset=random.randint(1, 4))


def frame_function(random: Random, below: Relation) -> WindowFunction:
    """Draw an aggregate over a frame."""
    part = wide_aggregate(random, below)
    while part.distinct:
        part = wide_aggregate(random, below)
    exact = columns_like(below, lambda kind: kind.kind in EXACT_NUMBERS)
    if not exact or random.random() < 0.4:
        term = any_order(random, below)
        frame = Frame(0, random.choice((0, None)), peers=True)
        order = () if term is None else (term,)
        return WindowFunction(part.function, part.argument, order, part.type, frame if order else Frame())
    value_frame = RangeFrame(random.choice((None, Decimal(-1), 0)), random.choice((None, Decimal("1.1"), 2)))
    order = (Order(random.choice(exact), random.random() < 0.5, random.random() < 0.5),)
    return WindowFunction(part.function, part.argument, order, part.type, value_frame)


def tree(random: Random, below: Relation) -> Relation:
    """Draw all elements of an object, at any depth, with their paths."""
    outer, prefix = random.random() < 0.3, random.choice(("", "a"))
    elements = an_object(random, below)
    return Explode(below, elements, outer, keyed=True, recursive=True, detailed=True, prefix=prefix)


def some_columns(random: Random, relation: Relation) -> tuple[Expression, ...]:
    """Draw one or two columns."""
    return tuple(any_column(random, relation) for _ in range(random.randint(1, 2)))


def joined_scan(random: Random, tables: Tables, relation: Relation) -> Relation:
    """Join a relation with a table by columns of one type; without such columns, leave it as it is."""
    other = drawn_scan(random, tables)
    pairs = [
        (left, right)
        for left in columns_like(relation, is_joinable)
        for right in columns_like(other, is_joinable)
        if left.type == right.type
    ]
    if not pairs:
        return relation
    left, right = random.choice(pairs)
    return Join(relation, other, random.choice(tuple(JoinKind)), (left,), (right,))


def row_counts(random: Random, tables: Tables, relation: Relation) -> Relation:
    """Count the rows by one column."""
    return Group(relation, (any_column(random, relation),), (aggregate("count", None),), ("k", "n"))


WIDE: tuple[Callable[[Random, Relation], Relation], ...] = (
    wide_group,
    wide_group,
    grouping_sets,
    wide_window,
    wide_window,
    tree,
)
ABOVE: tuple[Callable[[Random, Tables, Relation], Relation], ...] = (
    lambda random, tables, relation: relation,
    lambda random, tables, relation: Filter(relation, condition(random, relation, 1)),
    lambda random, tables, relation: Distinct(projection(relation, some_columns(random, relation))),
    lambda random, tables, relation: UnionAll((relation, relation)),
    joined_scan,
    row_counts,
)
