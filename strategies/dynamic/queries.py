"""Random queries of the algebra of dynamic tables, all of which can be maintained incrementally.

Each operator occurs at each depth, also with the same table on both sides. Draws come from a `random.Random`.

"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import eq
from random import Random
from typing import TypeAlias

from dynamic_tables.bags.aggregates import aggregate
from dynamic_tables.maintenance.algebra import (
    Aggregate,
    ConstantRows,
    Distinct,
    Explode,
    Filter,
    Frame,
    Group,
    Join,
    JoinKind,
    Order,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
    WindowFunction,
)
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.expressions import Cast, Column, Expression, Literal
from dynamic_tables.values.functions import as_type, call, case
from dynamic_tables.values.types import ARRAY, EXACT_NUMBERS, INTEGER, NUMBERS, PLAIN, TEXT, Kind, Type
from strategies.dynamic.contents import CELLS, FIELDS, SourceTable

# Wider results are narrowed, since joins of joins would grow without end.
WIDTH_MAX = 6
COMPARED = ("=", "<>", "<", "<=", ">", ">=")
CONSTANTS: Mapping[Kind, tuple[Cell, ...]] = {field.type.kind: CELLS[field.name] for field in FIELDS}

# The draws for which constant rows take the place of a scan, with its columns and by a random source of their
# own: so that the other draws of a seed stay what they were.
CONSTANT_DRAWS = (0.4, 0.46)

Tables: TypeAlias = tuple[SourceTable, ...]


def drawn_query(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a relation with `depth` operators above some scan."""
    if depth == 0:
        return drawn_scan(random, tables)
    relation = random.choice(OPERATORS)(random, tables, depth)
    return drawn_narrowing(random, relation) if len(relation.fields) > WIDTH_MAX else relation


def drawn_scan(random: Random, tables: Tables) -> Relation:
    """Draw a table, or some of its columns."""
    table = random.choice(tables)
    draw = random.random()
    if CONSTANT_DRAWS[0] <= draw < CONSTANT_DRAWS[1]:
        return constant_rows(Random(draw), table)
    if draw < 0.7:
        return Scan(table.identity, table.fields)
    places = tuple(sorted(random.sample(range(len(table.fields)), random.randint(1, len(table.fields)))))
    return Scan(table.identity, tuple(table.fields[place] for place in places), places)


def constant_rows(random: Random, table: SourceTable) -> ConstantRows:
    """Draw up to four constant rows of the columns of a table."""
    count = random.randint(0, 4)
    rows = tuple(tuple(random.choice(CELLS[field.name]) for field in table.fields) for _ in range(count))
    return ConstantRows(rows, table.fields)


def drawn_narrowing(random: Random, relation: Relation) -> Relation:
    """Draw some of the columns, in any order."""
    places = random.sample(range(len(relation.fields)), random.randint(2, 4))
    return projection(relation, tuple(column_at(relation, place) for place in places))


def projection(relation: Relation, columns: tuple[Expression, ...]) -> Project:
    """Return a projection whose columns are named by place."""
    return Project(relation, columns, tuple(f"c{place}" for place in range(len(columns))))


def column_at(relation: Relation, place: int) -> Column:
    """Return a column of a relation."""
    return Column(place, relation.fields[place].type)


def any_column(random: Random, relation: Relation) -> Column:
    """Draw a column of a relation."""
    return column_at(relation, random.randrange(len(relation.fields)))


def any_number(random: Random, relation: Relation) -> Column:
    """Draw a column of numbers; there must be one."""
    return random.choice(columns_like(relation, lambda kind: kind.kind in NUMBERS))


def columns_like(relation: Relation, wanted: Callable[[Type], bool]) -> list[Column]:
    """Return the columns whose types satisfy a test."""
    return [column_at(relation, place) for place, field in enumerate(relation.fields) if wanted(field.type)]


def drawn_child(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw the input of an operator."""
    return drawn_query(random, tables, depth - 1)


def drawn_other_child(random: Random, tables: Tables, depth: int, first: Relation) -> Relation:
    """Draw the second input: often the first again, or another of any smaller depth."""
    if random.random() < 0.3:
        return first
    return drawn_query(random, tables, random.randint(0, depth - 1))


def drawn_filter(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a filter."""
    below = drawn_child(random, tables, depth)
    return Filter(below, condition(random, below, 2))


def drawn_projection(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a projection with some expressions."""
    below = drawn_child(random, tables, depth)
    columns = tuple(expression(random, below) for _ in range(random.randint(1, 4)))
    return projection(below, columns)


def expression(random: Random, relation: Relation) -> Expression:
    """Draw a column, or a computed expression."""
    column = any_column(random, relation)
    draw = random.random()
    if draw < 0.5:
        return column
    if column.type.kind in NUMBERS and draw < 0.55:  # this fails if the column has a 0
        return call("/", constant(random, column.type), column)
    if column.type.kind in NUMBERS and draw < 0.7:
        return call(random.choice("+-*"), column, constant(random, column.type))
    if draw < 0.8:
        return case(((condition(random, relation, 1), column),), constant(random, column.type))
    if draw < 0.9:
        return call("coalesce", column, constant(random, column.type))
    return Cast(column, TEXT)


def constant(random: Random, kind: Type) -> Expression:
    """Draw a literal of a type; NULL for types without literals."""
    value = random.choice(CONSTANTS.get(kind.kind, (None,)))
    return as_type(Literal(value, kind), kind)


def condition(random: Random, relation: Relation, depth: int) -> Expression:
    """Draw a condition that may be TRUE, FALSE or NULL."""
    draw = random.random()
    if depth > 0 and draw < 0.3:
        both = (condition(random, relation, depth - 1), condition(random, relation, depth - 1))
        return call(random.choice(("and", "or")), *both)
    if depth > 0 and draw < 0.4:
        return call("not", condition(random, relation, depth - 1))
    column = any_column(random, relation)
    if column.type.kind in NUMBERS and draw > 0.95:
        return call(">", call("/", constant(random, column.type), any_number(random, relation)), column)
    if draw < 0.6 or column.type.kind not in CONSTANTS:
        return call("is_null", column)
    symbols = COMPARED if column.type.kind is not Kind.ARRAY else COMPARED[:2]
    return call(random.choice(symbols), column, constant(random, column.type))


def drawn_union(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a union of two or three branches, sometimes of the same one twice."""
    first = drawn_child(random, tables, depth)
    others = [
        with_types_of(random, drawn_other_child(random, tables, depth, first), first)
        for _ in range(random.randint(1, 2))
    ]
    return UnionAll((first, *others))


def with_types_of(random: Random, relation: Relation, wanted: Relation) -> Relation:
    """Project a relation to the types of another one's columns."""
    if relation is wanted:
        return relation
    columns = []
    for field in wanted.fields:
        same = columns_like(relation, partial(eq, field.type))
        columns.append(random.choice(same) if same else constant(random, field.type))
    return projection(relation, tuple(columns))


def drawn_join(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a join of any kind by one or two keys, sometimes with a residual condition."""
    left = drawn_child(random, tables, depth)
    right = drawn_other_child(random, tables, depth, left)
    pairs: list[tuple[Expression, Expression]] = [
        (left_key, right_key)
        for left_key in columns_like(left, is_joinable)
        for right_key in columns_like(right, is_joinable)
        if left_key.type == right_key.type
    ]
    if not pairs:
        pairs = [(Literal(1, INTEGER), Literal(1, INTEGER))]
    chosen = random.sample(pairs, min(len(pairs), 2 if random.random() < 0.2 else 1))
    kind = random.choice(tuple(JoinKind))
    keys = tuple(left_key for left_key, _ in chosen), tuple(right_key for _, right_key in chosen)
    join = Join(left, right, kind, *keys)
    if random.random() < 0.3:
        return Join(left, right, kind, *keys, residual=condition(random, join, 1))
    return join


def is_joinable(kind: Type) -> bool:
    """Tell whether joins of this module compare a type."""
    return kind.kind in PLAIN or kind.kind is Kind.FLOAT


# Objects as JSON: empty, with one name in both, with a NULL, and with a long name.
OBJECTS = (
    "{}",
    '{"a": 1}',
    '{"a": 2, "b": null}',
    '{"a:b|": [1], "a": {"a": 0.0}}',
    f'{{"{"n" * 60}": -0.0}}',
)


def drawn_explode(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw an explode: of a list column, of a list of two columns, or of one of two objects."""
    below = drawn_child(random, tables, depth)
    if random.random() < 0.25:
        return Explode(below, an_object(random, below), random.random() < 0.3, keyed=True)
    lists = columns_like(below, lambda kind: kind == ARRAY)
    constructed = call("array_construct", any_column(random, below), any_column(random, below))
    elements = random.choice(lists) if lists else constructed
    return Explode(below, elements, random.random() < 0.3)


def an_object(random: Random, relation: Relation) -> Expression:
    """Draw an expression that is one of two objects, depending on whether a column is NULL."""
    first, other = (call("parse_json", Literal(text, TEXT)) for text in random.sample(OBJECTS, 2))
    return case(((call("is_null", any_column(random, relation)), first),), other)


def drawn_distinct(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw DISTINCT of a few columns."""
    below = drawn_child(random, tables, depth)
    if random.random() < 0.3:
        return Distinct(below)
    count = random.randint(1, min(2, len(below.fields)))
    places = random.sample(range(len(below.fields)), count)
    return Distinct(projection(below, tuple(column_at(below, place) for place in places)))


def drawn_group(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a group of one or two keys and one to three aggregates."""
    below = drawn_child(random, tables, depth)
    keys = tuple(any_column(random, below) for _ in range(random.choice((1, 1, 2))))
    aggregates = tuple(drawn_aggregate(random, below) for _ in range(random.randint(1, 3)))
    return Group(below, keys, aggregates, tuple(f"g{place}" for place in range(len(keys) + len(aggregates))))


def drawn_aggregate(random: Random, relation: Relation) -> Aggregate:
    """Draw an aggregate of some column that fits it."""
    draw = random.random()
    if draw < 0.2:
        return aggregate("count", None)
    if draw < 0.3:
        return aggregate("count_if", condition(random, relation, 1))
    if draw < 0.5:
        return aggregate("count", any_column(random, relation), distinct=random.random() < 0.5)
    numbers = columns_like(relation, lambda kind: kind.kind in NUMBERS)
    if numbers and draw < 0.8:
        name = random.choice(("sum", "avg"))
        return aggregate(name, random.choice(numbers), distinct=name == "sum" and random.random() < 0.3)
    ordered = columns_like(relation, is_joinable)
    if not ordered:
        return aggregate("count", None)
    return aggregate(random.choice(("min", "max")), random.choice(ordered))


def drawn_counts(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw a group of counts and sums of exact numbers, sometimes with its columns in another order."""
    below = drawn_child(random, tables, depth)
    keys = tuple(any_column(random, below) for _ in range(random.choice((1, 1, 2))))
    aggregates = tuple(drawn_count(random, below) for _ in range(random.randint(1, 3)))
    names = tuple(f"g{place}" for place in range(len(keys) + len(aggregates)))
    group = Group(below, keys, aggregates, names)
    if random.random() < 0.5:
        return group
    places = random.sample(range(len(names)), len(names))
    return projection(group, tuple(column_at(group, place) for place in places))


def drawn_count(random: Random, relation: Relation) -> Aggregate:
    """Draw a count or a sum of exact numbers."""
    numbers = columns_like(relation, lambda kind: kind.kind in EXACT_NUMBERS)
    draw = random.random()
    if numbers and draw < 0.5:
        return aggregate("sum", random.choice(numbers))
    if draw < 0.7:
        return aggregate("count", None)
    if draw < 0.85:
        return aggregate("count_if", condition(random, relation, 1))
    return aggregate("count", any_column(random, relation))


def drawn_window(random: Random, tables: Tables, depth: int) -> Relation:
    """Draw one or two window functions over partitions by one column."""
    below = drawn_child(random, tables, depth)
    functions = tuple(window_function(random, below) for _ in range(random.randint(1, 2)))
    names = tuple(f"w{place}" for place in range(len(functions)))
    return Window(below, (any_column(random, below),), functions, names)


def window_function(random: Random, relation: Relation) -> WindowFunction:
    """Draw a window function with an order that ties often."""
    name = random.choice(("row_number", "rank", "dense_rank", "lag", "lead", "sum", "count", "min", "max"))
    ordered = columns_like(relation, is_joinable)
    order: tuple[Order, ...] = ()
    if ordered and (name not in ("sum", "count", "min", "max") or random.random() < 0.6):
        order = (Order(random.choice(ordered), random.random() < 0.5, random.random() < 0.5),)
    if name in ("row_number", "rank", "dense_rank"):
        return WindowFunction(name, None, order, INTEGER)
    if name in ("lag", "lead"):
        argument = any_column(random, relation)
        return WindowFunction(name, argument, order, argument.type, offset=random.randint(1, 2))
    drawn = drawn_aggregate(random, relation)
    while drawn.distinct:
        drawn = drawn_aggregate(random, relation)
    frames = [Frame(), Frame(last=0), Frame(last=0, peers=True), Frame(first=-1, last=1)]
    frame = random.choice(frames) if order else Frame()
    return WindowFunction(drawn.function, drawn.argument, order, drawn.type, frame=frame)


OPERATORS: tuple[Callable[[Random, Tables, int], Relation], ...] = (
    drawn_filter,
    drawn_projection,
    drawn_union,
    drawn_join,
    drawn_join,
    drawn_explode,
    drawn_distinct,
    drawn_group,
    drawn_window,
)
