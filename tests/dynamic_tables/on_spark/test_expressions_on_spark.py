"""Expressions in Spark's own functions give what the backend in Python gives; encoded cells lose nothing."""

from datetime import date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.on_spark.frames import RowFrame, contents_of, frame_of
from dynamic_tables.on_spark.native_expressions import lower_expression, native_column
from dynamic_tables.on_spark.physical_types import decode, encode
from dynamic_tables.on_spark.spark_backend import exact_settings
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Cast, Column, Expression, Literal
from dynamic_tables.values.functions import call, case
from dynamic_tables.values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    Type,
    decimal,
)

CELLS: dict[Type, tuple[Cell, ...]] = {
    BOOLEAN: (None, True, False),
    INTEGER: (None, 0, 1, -7, 10**18, -(10**20)),
    decimal(2): (
        None,
        Decimal("0.00"),
        Decimal("1.10"),
        Decimal("-2.25"),
        Decimal("12345678901234567890.12"),
    ),
    FLOAT: (None, nan, 0.0, -0.0, 1.5, -2.0, inf, 5e-324, 1e300),
    TEXT: (None, "", "a", "ab", "B", "é", "\U0001f600", "a_b", "z\n"),
    BINARY: (None, b"", b"\x00", b"\xff\x00"),
    DATE: (None, date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29)),
    TIMESTAMP: (
        None,
        datetime(1, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2026, 3, 29, 2, 30),
    ),
}
A, B = 0, 1
# The parts of times that Spark has functions for.
PARTS = (
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
    *("dayofweek", "dayofweekiso", "dayofyear"),
)


def pair(type_: Type) -> tuple[Expression, Expression]:
    return Column(A, type_), Column(B, type_)


def expressions_of(type_: Type) -> list[Expression]:
    """Expressions over two columns of a type."""
    a, b = pair(type_)
    both = [call(symbol, a, b) for symbol in ("=", "<>", "<", "<=", ">", ">=", "is_not_distinct")]
    both += [
        call("is_null", a),
        call("coalesce", a, b),
        case(((call("=", a, b), a),), b),
        case(((call("is_null", a), b), (call("is_null", b), a)), Literal(None, type_)),
        call("not", call("and", call("=", a, b), call("or", call("<", a, b), call("is_null", b)))),
    ]
    if type_ in (INTEGER, decimal(2), FLOAT):
        both += [call(symbol, a, b) for symbol in ("+", "-")]
        both += [call("negate", a), call("abs", a), call("round", a)]
    if type_ in (INTEGER, decimal(2), BOOLEAN, DATE):
        both.append(Cast(a, TEXT))
    if type_ == INTEGER:
        both += [Cast(a, FLOAT), Cast(a, decimal(3)), call(">", a, Literal(5, INTEGER))]
    if type_ == decimal(2):
        both += [
            Cast(a, INTEGER),
            Cast(a, decimal(1)),
            Cast(a, FLOAT),
            call("=", a, Literal(Decimal("1.10"), type_)),
        ]
    if type_ == FLOAT:
        both += [call("*", a, b), call("is_nan", a), call("=", a, Literal(-0.0, FLOAT))]
    if type_ == TEXT:
        both += [call(name, a, b) for name in ("concat", "startswith", "endswith", "contains")]
        both += [call("length", a), call("like", a, Literal("a%", TEXT)), call("like", a, Literal("_", TEXT))]
        both += [call("upper", a), call("=", a, Literal("it's \\", TEXT))]
        both += [call("try limit characters", a, Literal(1, INTEGER))]
    if type_ in (DATE, TIMESTAMP):
        both += [call(name, a) for name in (*PARTS, "yearofweek", "epoch_second")]
        both += [
            Cast(a, DATE if type_ == TIMESTAMP else TIMESTAMP),
            call("date_trunc", Literal("month", TEXT), a),
        ]
    return both


@pytest.mark.parametrize("type_", CELLS, ids=str)
def test_expressions_give_the_same_values(spark: Any, type_: Type) -> None:
    """LOWER-2. Of each pair of cells, with NULL, NaN and -0.0, in Spark's own functions and others."""
    rows = {f"{m}-{n}": (a, b) for m, a in enumerate(CELLS[type_]) for n, b in enumerate(CELLS[type_])}
    expressions = expressions_of(type_)
    with exact_settings(spark):
        frame = frame_of(spark, rows, (type_, type_))
        columns = [lower_expression(expression, frame) for expression in expressions]
        answered = contents_of(frame.select(columns, [expression.type for expression in expressions]))
    for place, expression in enumerate(expressions):
        evaluate = compile_expression(expression)
        theirs = {row_id: exact_key(row[place]) for row_id, row in answered.items()}
        assert theirs == {row_id: exact_key(evaluate(row)) for row_id, row in rows.items()}, expression


def test_most_expressions_are_computed_by_spark_itself() -> None:
    """LOWER-2 reaches both ways."""
    native = [native_column(part) is not None for type_ in CELLS for part in expressions_of(type_)]
    assert 0.9 * len(native) < sum(native) < len(native)


def test_products_of_long_integers_are_exact_or_fail(spark: Any) -> None:
    """Spark's own BIGINT would overflow at 64 bits."""
    a, b = pair(INTEGER)
    with exact_settings(spark):
        rows = RowFrame(spark.sql("SELECT 'r' row_id, 4000000000 c0, -3000000000 c1"), (INTEGER, INTEGER))
        product = rows.select([lower_expression(call("*", a, b), rows)], (INTEGER,))
        assert contents_of(product) == {"r": (-12 * 10**18,)}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
    | st.binary(max_size=2)
    | st.dates()
    | st.datetimes(),
    lambda values: (
        st.lists(values, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=2), values, max_size=2)
    ),
    max_leaves=4,
)


@given(VALUES, VALUES)
def test_encoded_cells_lose_nothing(first: Cell, second: Cell) -> None:
    """LOWER-3. Two cells have one encoding exactly if no expression tells them apart."""
    assert exact_key(decode(encode(first))) == exact_key(first)
    assert (encode(first) == encode(second)) == (exact_key(first) == exact_key(second))
