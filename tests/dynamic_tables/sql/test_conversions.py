"""Casts to types with a length, typed literals, and functions that convert to one type."""

from datetime import date, datetime
from decimal import Decimal

import duckdb
import pytest
from maintaining import evaluated, maintained, query

from dynamic_tables.values.casts import cast
from dynamic_tables.values.errors import CastFailed, Refused
from dynamic_tables.values.types import DATE, TIMESTAMP
from pruning.errors import InputError

ROWS = {"1": ("1234.5", "2025-03-01 10:20:30")}


def value_of(text: str) -> object:
    """The value of an expression over one row of texts."""
    ((value,),) = evaluated(f"SELECT {text} AS v FROM t", {"t": ROWS})
    return value


VALUES = {
    "DATE '2025-01-02'": date(2025, 1, 2),
    "TIMESTAMP '2025-01-02 03:04:05'": datetime(2025, 1, 2, 3, 4, 5),
    "TIMESTAMP_NTZ '2025-01-02'": datetime(2025, 1, 2),
    "a::VARCHAR(6)": "1234.5",
    "a::TEXT(6)": "1234.5",
    "left(a, 1)::CHAR": "1",
    "1.25::VARCHAR(4)": "1.25",
    "try_cast(a AS VARCHAR(5))": None,
    "try_cast(a AS CHAR)": None,
    "a::NUMBER(5, 1)": Decimal("1234.5"),
    "a::NUMBER(4)": 1235,
    "try_cast(a AS NUMBER(4, 1))": None,
    "try_cast(a AS NUMBER(3))": None,
    "try_cast('999.95' AS NUMBER(4, 1))": None,
    "'-99.94'::NUMBER(3, 1)": Decimal("-99.9"),
    "to_number('12.5', 4, 2)": Decimal("12.50"),
    "to_number('12.5')": 13,
    "to_decimal('12.5', 10, 1)": Decimal("12.5"),
    "try_to_number('x')": None,
    "to_date(b)": date(2025, 3, 1),
    "to_date(b::timestamp)": date(2025, 3, 1),
    "date(b)": date(2025, 3, 1),
    "to_date('2025-03-02')": date(2025, 3, 2),
    "try_to_date(a)": None,
    "to_timestamp(b)": datetime(2025, 3, 1, 10, 20, 30),
    "to_timestamp_ntz(to_date(b))": datetime(2025, 3, 1),
    "to_timestamp(86400)": datetime(1970, 1, 2),
    "try_to_timestamp(a)": None,
    "to_varchar(1.50)": "1.50",
    "to_double(a)": 1234.5,
    "to_boolean('yes')": True,
    "try_to_boolean(a)": None,
}


@pytest.mark.parametrize("text", VALUES)
def test_conversions_mean_what_snowflake_says(text: str) -> None:
    assert value_of(text) == VALUES[text]
    assert type(value_of(text)) is type(VALUES[text])


@pytest.mark.parametrize(
    "text",
    ["a::VARCHAR(5)", "a::CHAR", "a::NUMBER(3)", "a::NUMBER(4, 1)", "to_number(a, 3)", "1234.5::VARCHAR(5)"],
)
def test_a_value_that_is_too_long_for_its_type_fails(text: str) -> None:
    """TRY_CAST to such a type is NULL in Snowflake, which it says of all for which CAST is an error."""
    with pytest.raises(CastFailed, match="has more than"):
        value_of(text)


@pytest.mark.parametrize("scale", range(4))
@pytest.mark.parametrize("digits", range(4, 7))
def test_numbers_of_a_precision_are_those_of_duckdb(digits: int, scale: int) -> None:
    """A number fits or not after it is rounded."""
    numbers = [f"{sign}{number}" for sign in ("", "-") for number in (0, 9.995, 99.94, 99.95, 999.5, 9999.4)]
    connection = duckdb.connect()
    for number in numbers:
        (theirs,) = connection.execute(
            f"SELECT TRY_CAST({number}::DECIMAL(20, 8) AS DECIMAL({digits}, {scale}))"
        ).fetchone() or (None,)
        assert value_of(f"try_cast('{number}' AS NUMBER({digits}, {scale}))") == theirs


def test_a_failed_cast_leaves_no_trace_in_what_is_maintained() -> None:
    """The row that is too long fails while it is there."""
    text = "SELECT k, x::VARCHAR(2) AS v FROM l"
    short, long = {"l": {"1": (1, "ab")}}, {"l": {"1": (1, "abc")}}
    with pytest.raises(CastFailed):
        maintained(text, short, long)
    assert maintained(text, {}, short) == [(1, "ab")]
    assert maintained(text.replace("x::VARCHAR(2)", "try_cast(x AS VARCHAR(2))"), short, long) == [(1, None)]


@pytest.mark.parametrize("text", ["20250102", "2025-W01-1", "20250102T030405"])
def test_digits_without_dashes_are_no_date(text: str) -> None:
    """Snowflake takes digits for seconds since 1970; here they were a date."""
    for type_ in (DATE, TIMESTAMP):
        with pytest.raises(CastFailed):
            cast(text, type_)


def test_a_number_is_no_date() -> None:
    """It was an error of Python."""
    with pytest.raises(CastFailed, match="5 cannot be cast to DATE"):
        cast(5, DATE)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("to_date(k)", r"TO_DATE\(...\) takes text or a time, not INTEGER"),
        ("k::NUMBER(39)", "a number has 1 to 38 digits, not 39"),
        ("k::NUMBER(2, 3)", "a number has 3 to 38 digits, not 2"),
        ("k::NUMBER(0)", "a number has 1 to 38 digits, not 0"),
    ],
)
def test_conversions_that_cannot_be_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT {text} AS v FROM l")


@pytest.mark.parametrize(
    "text",
    [
        "to_date(x, 'YYYY')",
        "to_timestamp(x, 'YYYY')",
        "to_char(k, '99')",
        "to_number(x, '99')",
        "x::BINARY(3)",
    ],
)
def test_formats_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="is not supported"):
        query(f"SELECT {text} AS v FROM l")
