"""Worlds of which engines mean something else than the reference, one for each declared meaning."""

from dataclasses import replace
from typing import Any

from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    SetOperation,
    Subquery,
    Term,
)
from strategies.engines.worlds import World

ROW_NUMBER = Column("rid", "int64")
PACKAGES = {
    "arrow": "pyarrow", "chdb": "chdb", "chdb-tables": "chdb", "daft": "daft", "datafusion": "datafusion",
    "deltalake": "deltalake", "duckdb": "duckdb", "duckdb-tables": "duckdb", "iceberg": "pyiceberg",
    "polars": "polars",
}  # fmt: skip
SCANNED = {"reader": "pyarrow"}


def world(type_: str, cells: list[Json], where: Term | None = None, **parts: Any) -> World:
    """One table of a column and the row numbers, and a question about it."""
    columns = (Column("a", type_), ROW_NUMBER)
    table = StoredTable(columns=columns, blocks=(tuple((cell, row) for row, cell in enumerate(cells)),))
    parts = {"area": "filter", "source": Relation(table="t", where=where), "select": ("a", "rid"), **parts}
    return World(tables={"t": table}, settings={}, questions=(Question(**parts),))


def call_with_constants(function: str, type_: str, *values: Json) -> Call:
    """Return a call of the column and constants."""
    return Call(function, (Column("a", type_), *(Literal(value, type_) for value in values)))


def as_deletes(filters: World) -> World:
    """Return the world with each filter replaced by a delete of the same rows."""
    questions = tuple(replace(question, area="dml", change="delete") for question in filters.questions)
    return replace(filters, questions=questions)


def extreme(type_: str, cells: list[Json]) -> World:
    return world(
        type_, cells, area="aggregate", select=(), aggregates=(Aggregate("max", Column("a", type_)),)
    )


def arithmetic_world(operator: str, operand: int, comparison: str, value: int, cell: int) -> World:
    left = Call(operator, (Column("a", "int32"), Literal(operand, "int32")), "int32")
    return world("int32", [cell], Call(comparison, (left, Literal(value, "int32"))))


NAN = world("float64", ["NaN"], call_with_constants("=", "float64", "NaN"))
NAN_ABOVE = world("float64", ["NaN"], call_with_constants(">", "float64", 0.0))
NEGATIVE_NAN = world("float64", ["-NaN"], call_with_constants("<", "float64", "NaN"))
_NEGATED = Call("negate", (Column("a", "float64"),), "float64")
NEGATED_NAN = world("float64", ["-NaN"], Call(">=", (_NEGATED, Literal(0.0, "float64"))))
NEGATED_ZERO = world("float64", [0.0], Call("=", (_NEGATED, Literal(-0.0, "float64"))))
NANOSECOND = Literal(-1, "timestamp(ns)")
WRITTEN_NANOSECOND = world(
    "timestamp(ns)", [0], call_with_constants("=", "timestamp(ns)", 0), area="dml", change="a", to=NANOSECOND
)
# The moment is in the second table alone.
UNITED_NANOSECOND = World(
    tables={
        **world("timestamp(ns)", []).tables,
        "u": StoredTable(
            columns=(Column("u_a", "timestamp(ns)"), Column("u_rid", "int64")), blocks=(((-1, 0),),)
        ),
    },
    settings={},
    questions=(
        Question(
            area="set",
            source=Relation(table="t"),
            select=("a",),
            set=SetOperation(kind="union", all=False, right=Relation(table="u"), columns=("u_a",)),
        ),
    ),
)
BY_A = (Key(Column("a", "float64")), Key(ROW_NUMBER))
ZEROS_IN_ORDER = world("float64", [0.0, -0.0], area="topk", order=BY_A)
# Both zeros are in the second table alone.
UNITED_ZEROS = World(
    tables={
        **world("float64", [1.0]).tables,
        "u": StoredTable(
            columns=(Column("u_a", "float64"), Column("u_rid", "int64")), blocks=(((0.0, 0), (-0.0, 1)),)
        ),
    },
    settings={},
    questions=(
        Question(
            area="set",
            source=Relation(table="t"),
            select=("a", "rid"),
            set=SetOperation(kind="union", all=True, right=Relation(table="u"), columns=("u_a", "u_rid")),
            order=BY_A,
        ),
    ),
)
ZERO_IS_ZERO = world("float64", [-0.0], call_with_constants("=", "float64", 0.0))
ZERO_IN_LIST = world("float64", [-0.0], call_with_constants("in", "float64", 0.0, 1.0))
ZEROS_IN_LIST = world("float64", [-0.0, 0.0], call_with_constants("in", "float64", 0.0, -0.0, 1.0))
_NULLIF = Call("nullif", (Column("a", "float64"), Literal(-0.0, "float64")), "float64")
ZERO_IN_NULLIF = world("float64", [0.0], Call("is null", (_NULLIF,)))
BEYOND = arithmetic_world("-", 2, ">", 2**30, -(2**31))
# The absolute value of the least integer wraps to itself.
_WRAPPED = Call("//", (Call("abs", (Column("a", "int32"),), "int32"), Literal(10, "int32")), "int32")
WRAPPED = world("int32", [-(2**31)], Call("=", (_WRAPPED, Literal(-(2**31) // 10 + 1, "int32"))))
NO_LIST_HAS_NULL = world("int32", [None], Call("not", (call_with_constants("in", "int32", 1, 2),)))
ALONE = world("int32", [1])
# A row without a partner, beside which an outer join puts NULL.
BESIDE_NULL = World(
    tables={
        **ALONE.tables,
        "u": StoredTable(columns=(Column("u_a", "int32"), Column("u_rid", "int64")), blocks=(((3, 0),),)),
    },
    settings={},
    questions=(
        Question(
            area="join",
            source=Relation(table="t"),
            select=("a", "rid", "u_a", "u_rid"),
            join=Join(kind="left", right=Relation(table="u"), left_key="a", right_key="u_a"),
            where=Call("not", (Call("in", (Column("u_a", "int32"), Literal(2, "int32"))),)),
        ),
    ),
)
NULL_IS_NOT_NAN = world("float64", [None], Call("not", (call_with_constants("is nan", "float64"),)))
# An int32 that is not in a column of NULL alone.
NOT_IN_NULL = World(
    tables={
        **ALONE.tables,
        "u": StoredTable(columns=(Column("u_a", "int32"), Column("u_rid", "int64")), blocks=(((None, 0),),)),
    },
    settings={},
    questions=(
        Question(
            area="subquery",
            source=Relation(
                table="t",
                where=Call(
                    "not",
                    (
                        Subquery(
                            kind="in",
                            relation=Relation(table="u"),
                            column=Column("u_a", "int32"),
                            operand=Column("a", "int32"),
                        ),
                    ),
                ),
            ),
            select=("rid",),
        ),
    ),
)
ZEROS_AS_GROUPS = world(
    "float64",
    [0.0, -0.0],
    area="aggregate",
    select=(),
    group=Column("a", "float64"),
    aggregates=(Aggregate("count"),),
)
NAN_AS_KEY = World(
    tables={
        **NAN.tables,
        "u": StoredTable(
            columns=(Column("u_a", "float64"), Column("u_rid", "int64")), blocks=((("NaN", 0),),)
        ),
    },
    settings={},
    questions=(
        Question(
            area="join",
            source=Relation(table="t"),
            select=("rid", "u_rid"),
            join=Join(kind="inner", right=Relation(table="u"), left_key="a", right_key="u_a"),
        ),
    ),
)
NOT_IN_LIST_WITH_NULL = world("int32", [1], Call("not", (call_with_constants("in", "int32", None, 2),)))
# The smallest worlds that an engine answers otherwise than the reference, with the entry that says so.
SHOWN: list[tuple[str, str, dict[str, str], World]] = [
    ("NaN by IEEE 754", "arrow", {}, NAN),
    ("NaN by IEEE 754", "deltalake", SCANNED, NAN),
    ("NaN by IEEE 754", "iceberg", {}, NAN_ABOVE),
    ("NaN by IEEE 754", "iceberg", {}, as_deletes(NAN_ABOVE)),
    *[("NaN by IEEE 754", name, {}, NAN_ABOVE) for name in ("chdb", "chdb-tables")],
    *[("zeros that are hashed", name, {}, ZEROS_AS_GROUPS) for name in ("chdb", "chdb-tables")],
    *[("not in a list with NULL", name, {}, NOT_IN_LIST_WITH_NULL) for name in ("chdb", "chdb-tables")],
    *[("not in a subquery with NULL", name, {}, NOT_IN_NULL) for name in ("chdb", "chdb-tables")],
    *[("integers beyond their type", name, {}, BEYOND) for name in ("chdb", "chdb-tables", "daft")],
    ("the sign of NaN", "daft", {}, NEGATIVE_NAN),
    ("the sign of NaN", "daft", {}, NEGATED_NAN),
    ("the sign of zero", "daft", {}, ZERO_IS_ZERO),
    ("the sign of zero", "daft", {}, NEGATED_ZERO),
    ("NaN that is looked up", "daft", {}, NAN_AS_KEY),
    ("the sign of NaN", "datafusion", {}, NEGATIVE_NAN),
    ("the sign of NaN", "deltalake", {}, NEGATIVE_NAN),
    ("the order of zeros", "datafusion", {}, ZEROS_IN_ORDER),
    ("the order of zeros", "datafusion", {}, UNITED_ZEROS),
    ("the order of zeros", "deltalake", {}, ZEROS_IN_ORDER),
    ("zeros in NULLIF", "datafusion", {}, ZERO_IN_NULLIF),
    ("zeros in NULLIF", "deltalake", {}, ZERO_IN_NULLIF),
    ("zeros that are looked up", "arrow", {}, ZERO_IN_LIST),
    ("zeros that are looked up", "deltalake", SCANNED, ZERO_IN_LIST),
    ("zeros that are looked up", "iceberg", {}, ZERO_IN_LIST),
    ("the maximum with NaN", "polars", {}, extreme("float64", ["NaN", 1.0])),
    ("integers beyond their type", "datafusion", {}, BEYOND),
    ("integers beyond their type", "deltalake", {}, BEYOND),
    ("integers beyond their type", "duckdb", {}, BEYOND),
    ("integers beyond their type", "duckdb-tables", {}, BEYOND),
    ("the remainder of a negative integer", "polars", {}, arithmetic_world("%", 3, "=", 2, -1)),
    ("the remainder of a negative integer", "polars", {}, arithmetic_world("//", 2, "=", -2, -3)),
    ("the remainder of a negative integer", "polars", {}, WRAPPED),
    (
        "not in a list with NULL",
        "polars",
        {},
        NOT_IN_LIST_WITH_NULL,
    ),
    ("NULL is not in a list", "arrow", {}, NO_LIST_HAS_NULL),
    ("NULL is not in a list", "arrow", {}, BESIDE_NULL),
    ("NULL is not in a list", "deltalake", SCANNED, NO_LIST_HAS_NULL),
    ("nanoseconds as microseconds", "duckdb", {}, world("timestamp(ns)", [-1])),
    ("nanoseconds as microseconds", "duckdb-tables", {}, world("timestamp(ns)", [-1])),
    ("nanoseconds as microseconds", "duckdb-tables", {}, WRITTEN_NANOSECOND),
    ("nanoseconds as microseconds", "duckdb", {}, UNITED_NANOSECOND),
]
# Classes in which an engine of which nothing is known may differ.
