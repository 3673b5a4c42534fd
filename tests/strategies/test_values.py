"""Reach: each kind of trouble that is known to break pruning is drawn."""

import math
from collections.abc import Callable

import pytest
from budget import unshrunk
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from pruning.expressions.types import (
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    Value,
    decimal,
)
from strategies.base.tables import arrow_array, is_nan, sort_key
from strategies.base.values import TYPES, decimal_of, digits_of, neighbours, pools, to_float32, types, values

# Reaching is the claim; shrinking what was reached would take most of the time.
REACH = unshrunk(5_000)
TROUBLE: list[tuple[str, Type, Callable[[Value], bool]]] = [
    ("a NaN", DOUBLE, is_nan),
    ("infinity", DOUBLE, lambda value: value == math.inf),
    ("minus infinity", FLOAT, lambda value: value == -math.inf),
    ("minus zero", DOUBLE, lambda value: value == 0 and math.copysign(1, value) < 0),
    ("a subnormal", DOUBLE, lambda value: 0 < abs(value) < 2.0**-1022),
    ("a float's subnormal", FLOAT, lambda value: 0 < abs(value) < 2.0**-126),
    ("an integer that no double holds", LONG, lambda value: value == 2**53 + 1),
    ("the least bigint", LONG, lambda value: value == -(2**63)),
    ("the greatest bigint but one", LONG, lambda value: value == 2**63 - 2),
    ("an empty string", STRING, lambda value: value == b""),
    ("the last character", STRING, lambda value: "\U0010ffff".encode() in value),
    ("the last character before the surrogates", STRING, lambda value: "\ud7ff".encode() in value),
    ("a character above the surrogates", STRING, lambda value: "\ue000".encode() in value),
    ("a control character", STRING, lambda value: b"\0" in value),
    ("a wildcard", STRING, lambda value: b"%" in value),
    ("a long string", STRING, lambda value: len(value) > 64),
    ("the widest decimal", decimal(38, 10), lambda value: digits_of(value) == 10**38 - 1),
    ("a negative decimal", decimal(9, 2), lambda value: value < 0),
    ("the first day", DATE, lambda value: value == -719_162),
    ("a day that the Julian calendar lacks", DATE, lambda value: -141_437 <= value <= -141_428),
    ("the last day", DATE, lambda value: value == 2_932_896),
    ("less than a millisecond", TIMESTAMP, lambda value: value % 1000 != 0),
    ("before 1900", TIMESTAMP, lambda value: value < -2_208_988_800_000_000),
    ("the last microsecond", TIMESTAMP, lambda value: value == 253_402_300_799_999_999),
]


@pytest.mark.parametrize(("trouble", "type_", "has_it"), TROUBLE, ids=[trouble for trouble, _, _ in TROUBLE])
def test_values_reach(trouble: str, type_: Type, has_it: Callable[[Value], bool]) -> None:
    assert has_it(find(values(type_), has_it, settings=REACH))


def test_values_reach_a_string_that_is_not_utf8_where_asked() -> None:
    def is_malformed(value: Value) -> bool:
        assert isinstance(value, bytes)
        return value.decode("utf-8", "ignore").encode() != value

    assert is_malformed(find(values(STRING, malformed_utf8=True), is_malformed, settings=REACH))


def test_pools_reach_a_pair_that_utf16_orders_otherwise() -> None:
    def disagree(pool: tuple[Value, ...]) -> bool:
        texts = sorted(value.decode() for value in pool if isinstance(value, bytes))
        return texts != sorted(texts, key=lambda text: text.encode("utf-16-be"))

    assert disagree(find(pools(STRING), disagree, settings=REACH))


def test_pools_reach_two_strings_that_differ_after_64_bytes() -> None:
    def alike(pool: tuple[Value, ...]) -> bool:
        long = {value for value in pool if isinstance(value, bytes) and len(value) > 64}
        return len({value[:64] for value in long}) < len(long)

    assert alike(find(pools(STRING), alike, settings=REACH))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_types_reach(type_: Type) -> None:
    assert find(types(), lambda drawn: drawn == type_, settings=REACH) == type_


@given(st.sampled_from(TYPES), st.data())
def test_values_and_neighbours_always_fit_their_type(type_: Type, data: st.DataObject) -> None:
    value = data.draw(values(type_))
    near = neighbours(value, type_)
    array = arrow_array(type_, [value, *near])
    assert len(array) == 1 + len(near)
    assert not array.null_count
    if type_ == FLOAT:
        assert all(is_nan(number) or to_float32(number) == number for number in (value, *near))
    if type_ == STRING:
        assert all(text.decode() is not None for text in (value, *near))


@given(st.sampled_from(TYPES), st.data())
def test_neighbours_always_hold_another_value(type_: Type, data: st.DataObject) -> None:
    value = data.draw(values(type_))
    assert any(sort_key(near) != sort_key(value) for near in neighbours(value, type_))


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_unscaled_always_undoes_scaled(digits: int, scale: int) -> None:
    assert digits_of(decimal_of(digits, scale)) == digits


def test_values_of_a_type_without_values_are_refused() -> None:
    with pytest.raises(ValueError, match="void"):
        values(NULL)
