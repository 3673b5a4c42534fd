"""Relations of dynamic tables as DuckDB's SQL, for a second opinion on what they mean.

Shares   the types of the algebra; no evaluation, no rule.
Leaves   what DuckDB has otherwise or not at all: lists of mixed values, ties, text of doubles.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb

from dynamic_tables.maintenance.algebra import (
    Aggregate,
    ConstantRows,
    Distinct,
    Explode,
    Filter,
    Group,
    Join,
    Order,
    Project,
    RangeFrame,
    Relation,
    Scan,
    UnionAll,
    Window,
    WindowFunction,
)
from dynamic_tables.values.changes import Cell, Contents, Row
from dynamic_tables.values.expressions import Call, Case, Cast, Column, Expression, Literal
from dynamic_tables.values.types import ARRAY, INTEGER, Kind, Type
from strategies.dynamic.contents import SourceTable


class NotRendered(Exception):
    """DuckDB has no SQL that means the same."""


TYPES: Mapping[Kind, str] = {
    Kind.NULL: "BIGINT",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
}
# Functions written as in SQL, between or around their arguments.
WRITTEN: Mapping[str, str] = {
    **{symbol: f"({{}} {symbol} {{}})" for symbol in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*")},
    "and": "({} AND {})",
    "or": "({} OR {})",
    "not": "(NOT {})",
    "is_null": "({} IS NULL)",
    "coalesce": "coalesce({}, {})",
}
UNTIED = frozenset({"rank", "dense_rank"})


def type_name(kind: Type) -> str:
    """DuckDB's name of a type; decimals are short, so that products fit."""
    if kind.kind is Kind.DECIMAL:
        return f"DECIMAL({min(38, 16 + kind.scale)},{kind.scale})"
    if kind.kind not in TYPES:
        raise NotRendered(str(kind))
    return TYPES[kind.kind]


def literal(value: Cell, kind: Type) -> str:
    """A cell as SQL."""
    if value is None:
        return f"CAST(NULL AS {type_name(kind)})"
    text = repr(value) if isinstance(value, float) else str(value)
    quoted = text.replace("'", "''")
    return f"CAST('{quoted}' AS {type_name(kind)})"


def written(expression: Expression) -> str:
    """An expression as SQL; columns are c0, c1 and so on."""
    match expression:
        case Column():
            type_name(expression.type)
            return f"c{expression.index}"
        case Literal():
            return literal(expression.value, expression.type)
        case Cast():
            if expression.type.kind is Kind.TEXT and expression.operand.type.kind is Kind.FLOAT:
                raise NotRendered("text of a double")
            return f"CAST({written(expression.operand)} AS {type_name(expression.type)})"
        case Case():
            branches = " ".join(
                f"WHEN {written(when)} THEN {written(then)}" for when, then in expression.branches
            )
            return f"CASE {branches} ELSE {written(expression.otherwise)} END"
        case Call():
            if expression.function not in WRITTEN:
                raise NotRendered(expression.function)
            return WRITTEN[expression.function].format(*map(written, expression.arguments))


def listed(columns: Sequence[str], first: int = 0) -> str:
    """Columns with their names by place."""
    return ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns, first))


def scan(relation: Scan) -> str:
    for field in relation.fields:
        type_name(field.type)
    return f"SELECT {listed([field.name for field in relation.fields])} FROM {relation.source}"


def constants(relation: ConstantRows) -> str:
    names = [f"c{place}" for place in range(len(relation.fields))]
    nothing = listed([literal(None, field.type) for field in relation.fields])
    rows = [
        f"({', '.join(literal(cell, field.type) for cell, field in zip(row, relation.fields, strict=True))})"
        for row in relation.rows
    ]
    if not rows:
        return f"SELECT * FROM (SELECT {nothing}) WHERE false"
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS v({', '.join(names)})"


def filtered(relation: Filter) -> str:
    return f"SELECT * FROM ({sql(relation.child)}) WHERE {written(relation.condition)}"


def projected(relation: Project) -> str:
    return f"SELECT {listed([written(column) for column in relation.columns])} FROM ({sql(relation.child)})"


def united(relation: UnionAll) -> str:
    return " UNION ALL ".join(f"(SELECT * FROM ({sql(one)}))" for one in relation.inputs)


def joined(relation: Join) -> str:
    left, right = len(relation.left.fields), len(relation.right.fields)
    moved = listed([f"c{place}" for place in range(right)], left)
    keys = [
        f"({written(one)}) = ({shifted(other, left)})"
        for one, other in zip(relation.left_keys, relation.right_keys, strict=True)
    ]
    if relation.residual is not None:
        keys.append(written(relation.residual))
    on = " AND ".join(keys)
    return (
        f"SELECT l.*, r.* FROM ({sql(relation.left)}) l {relation.kind.value} JOIN "
        f"(SELECT {moved} FROM ({sql(relation.right)})) r ON {on}"
    )


def shifted(expression: Expression, by: int) -> str:
    """A key of the right side; the generator gives columns and literals."""
    if isinstance(expression, Column):
        return written(Column(expression.index + by, expression.type))
    return written(expression)


def exploded(relation: Explode) -> str:
    elements = relation.elements
    if not isinstance(elements, Call) or any(part.type != INTEGER for part in elements.arguments):
        raise NotRendered("a list of mixed values")
    below, width = sql(relation.child), len(relation.child.fields)
    made = ", ".join(map(written, elements.arguments))
    each = f"SELECT * FROM (SELECT *, unnest([0, 1]) AS place, unnest([{made}]) AS element FROM ({below}))"
    kept = [f"c{place}" for place in range(width)]
    return f"SELECT {listed([*kept, 'place', 'element'])} FROM ({each})"


def made_distinct(relation: Distinct) -> str:
    return f"SELECT DISTINCT * FROM ({sql(relation.child)})"


def aggregate(one: Aggregate | WindowFunction, *, distinct: bool = False) -> str:
    if one.argument is None:
        return "count(*)"
    if one.function == "avg" and one.argument.type.kind is not Kind.FLOAT:
        raise NotRendered("an exact average")
    if one.function == "count_if":  # of no TRUE it is NULL in DuckDB 2, and 0 in Snowflake and Spark
        return f"CAST(count(CASE WHEN {written(one.argument)} THEN 1 END) AS BIGINT)"
    called = f"{one.function}({'DISTINCT ' if distinct else ''}{written(one.argument)})"
    return f"CAST({called} AS {type_name(one.type)})"


def grouped(relation: Group) -> str:
    keys = [written(key) for key in relation.keys]
    aggregates = [aggregate(one, distinct=one.distinct) for one in relation.aggregates]
    return f"SELECT {listed([*keys, *aggregates])} FROM ({sql(relation.child)}) GROUP BY {', '.join(keys)}"


def windowed(relation: Window) -> str:
    kept = [f"c{place}" for place in range(len(relation.child.fields))]
    partition = ", ".join(map(written, relation.partition))
    functions = [function(one, partition) for one in relation.functions]
    return f"SELECT {listed([*kept, *functions])} FROM ({sql(relation.child)})"


def function(one: WindowFunction, partition: str) -> str:
    """A window function of which ties show nothing."""
    frame = ""
    if isinstance(one.frame, RangeFrame):
        raise NotRendered("a frame of values")
    if one.function not in UNTIED:
        whole = one.frame.first is None and one.frame.last is None
        peers = one.frame.first is None and one.frame.last == 0 and one.frame.peers
        if one.function in ("row_number", "lag", "lead") or not (whole or peers):
            raise NotRendered("a function that shows ties")
        end = "UNBOUNDED FOLLOWING" if whole else "CURRENT ROW"
        frame = f" RANGE BETWEEN UNBOUNDED PRECEDING AND {end}" if one.order else ""
    order = f" ORDER BY {', '.join(map(term, one.order))}" if one.order else ""
    called = f"{one.function}()" if one.function in UNTIED else aggregate(one)
    if called.startswith("CAST("):
        inside, _, kind = called[5:].rpartition(" AS ")
        return f"CAST({inside} OVER (PARTITION BY {partition}{order}{frame}) AS {kind}"
    return f"{called} OVER (PARTITION BY {partition}{order}{frame})"


def term(one: Order) -> str:
    direction = "DESC" if one.descending else "ASC"
    return f"{written(one.expression)} {direction} NULLS {'FIRST' if one.nulls_first else 'LAST'}"


WRITERS: Mapping[type[Relation], Callable[[Any], str]] = {
    Scan: scan,
    ConstantRows: constants,
    Filter: filtered,
    Project: projected,
    UnionAll: united,
    Join: joined,
    Explode: exploded,
    Distinct: made_distinct,
    Group: grouped,
    Window: windowed,
}


def sql(relation: Relation) -> str:
    """A relation as SQL whose columns are c0, c1 and so on."""
    return WRITERS[type(relation)](relation)


def answer(
    connection: duckdb.DuckDBPyConnection,
    relation: Relation,
    tables: Sequence[SourceTable],
    contents: Mapping[str, Contents],
) -> list[Row]:
    """DuckDB's rows of a relation.

    Raises:
        NotRendered: DuckDB has no SQL that means the same.
    """
    text = sql(relation)
    for table in tables:
        kept = [(place, field) for place, field in enumerate(table.fields) if field.type != ARRAY]
        columns = ", ".join(f"{field.name} {type_name(field.type)}" for _, field in kept)
        connection.execute(f"CREATE OR REPLACE TABLE {table.identity} ({columns})")
        rows = [
            f"({', '.join(literal(row[place], field.type) for place, field in kept)})"
            for row in contents[table.identity].values()
        ]
        if rows:
            connection.execute(f"INSERT INTO {table.identity} VALUES {', '.join(rows)}")
    return connection.execute(text).fetchall()


def alike(one: Cell, other: Cell) -> bool:
    """Whether two cells agree, as far as an order of summing shows."""
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def same_bag(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Whether two bags of rows agree."""
    if len(ours) != len(theirs):
        return False
    paired = zip(sorted(ours, key=rounded), sorted(theirs, key=rounded), strict=True)
    return all(all(map(alike, one, other)) for one, other in paired)


def rounded(row: Row) -> str:
    """What rows are sorted by; nearly equal doubles are the same here."""
    cells = [f"{cell + 0.0:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
    return json.dumps(cells)
