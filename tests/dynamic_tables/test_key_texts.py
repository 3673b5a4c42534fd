"""Row ids of keys: functions of Spark SQL give the same ones, and different keys give different ones."""

from datetime import date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.on_spark.frames import frame_of
from dynamic_tables.on_spark.keys import key_id as spark_key_id
from dynamic_tables.on_spark.spark_backend import exact_settings
from dynamic_tables.values.cells import key
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.key_texts import key_id, value_text
from dynamic_tables.values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    VARIANT,
    Type,
    decimal,
)

CELLS: dict[Type, list[Any]] = {
    BOOLEAN: [True, False, None],
    INTEGER: [0, -1, 7, 10**38 - 1, 1 - 10**38, 2**63, None],
    decimal(9): [Decimal(text) for text in ("0", "-0.000000001", "1.5", "100", "-7.250000000", "123e20")],
    FLOAT: [0.0, -0.0, 1.0, -1.5, 0.1, 5e-324, 1.7976931348623157e308, inf, -inf, nan, None],
    TEXT: ["", "a", "é", "\U0001f600", "a:b;", "~", "zero\0", "a" * 47, "a" * 300, None],
    BINARY: [b"", b"\x00\xff", b"abc" * 40, None],
    decimal(0): [Decimal("100"), Decimal("0"), None],
    DATE: [date(1, 1, 1), date(1582, 10, 10), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
    TIMESTAMP: [
        datetime(1, 1, 1),
        datetime(1582, 10, 10, 12),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2026, 3, 29, 2, 30, 0, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
        None,
    ],
}


def spark_ids(spark: Any, cells: list[Any], type_: Type) -> list[str]:
    """The ids of keys of one cell, by Spark's own functions."""
    with exact_settings(spark):
        frame = frame_of(spark, {str(place): (cell,) for place, cell in enumerate(cells)}, (type_,))
        rows = frame.data.select("row_id", spark_key_id(["c0"], [type_]).alias("id")).collect()
    ids = dict(rows)
    return [ids[str(place)] for place in range(len(cells))]


@pytest.mark.parametrize("type_", CELLS, ids=str)
def test_spark_sql_gives_the_same_ids(spark: Any, type_: Type) -> None:
    """KEY-1. The backend on Spark computes ids by Spark's own functions."""
    cells = CELLS[type_]
    assert spark_ids(spark, cells, type_) == [key_id((cell,), (type_,)) for cell in cells]


NUMBERS = st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 0.5, 1.0, nan, Decimal("0.5"), Decimal("1.00")])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("a:1", max_size=3) | st.binary(max_size=2),
    lambda values: (
        st.lists(values, max_size=3).map(tuple)
        | st.dictionaries(st.text("ab", max_size=2), values, max_size=2)
    ),
    max_leaves=4,
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=2))
def test_keys_are_equal_exactly_if_their_ids_are(keys: list[tuple[Cell, Cell]]) -> None:
    """KEY-1. Also where texts of several cells follow each other (trap 52)."""
    first, second = (tuple(map(key, cells)) for cells in keys)
    ids = [key_id(cells, (VARIANT, VARIANT)) for cells in keys]
    assert (ids[0] == ids[1]) == (first == second)


def test_equal_numbers_of_different_kinds_have_one_text() -> None:
    for numbers in ((1, 1.0, Decimal("1.00")), (0, -0.0, Decimal("-0.0")), (0.5, Decimal("0.50"))):
        assert len({value_text(number) for number in numbers}) == 1
    assert value_text(Decimal("0.1")) != value_text(0.1)
