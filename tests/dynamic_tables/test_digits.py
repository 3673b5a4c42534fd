"""Exact numbers have 38 digits: a result is right to its last digit, or an error says it has too many."""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from maintaining import evaluated, query

from dynamic_tables.bags.aggregates import AGGREGATES
from dynamic_tables.values.casts import cast
from dynamic_tables.values.errors import CastFailed, DivisionByZero, Overflow, UserError
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Column
from dynamic_tables.values.functions import call
from dynamic_tables.values.types import DIGITS_MAX, INTEGER, Type
from pruning.errors import InputError
from strategies.dynamic.numbers import Number, number_types, numbers

IDEAL: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other,
    "%": lambda one, other: one - other * math.trunc(one / other),
}
TESTS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "=": lambda one, other: one == other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    "is_not_distinct": lambda one, other: one == other,
}
GREATEST = 10**DIGITS_MAX - 1


def digits(value: Fraction, scale: int) -> int:
    """The digits of a number rounded to a scale; halves go away from zero."""
    size = math.floor(abs(value) * Fraction(10) ** scale + Fraction(1, 2))
    return size if value >= 0 else -size


def assert_right(compute: Callable[[], object], ideal: Fraction, kind: Type) -> None:
    """A computation gives the rounded number, whose zero has no sign, or fails if it has too many digits."""
    wanted = digits(ideal, kind.scale)
    fits = abs(wanted) <= GREATEST
    event(f"fits: {fits}")
    if fits:
        value = compute()
        assert isinstance(value, (int, Decimal))
        assert Fraction(value) == Fraction(wanted, 10**kind.scale)
        # Only a decimal zero could be written with a sign that its value does not have.
        assert str(value).startswith("-") == (wanted < 0)
    else:
        with pytest.raises(Overflow, match="more than 38 digits"):
            compute()


@examples(4)
@given(st.sampled_from(sorted(IDEAL)), numbers(), numbers())
def test_arithmetic_is_exact_or_overflows(symbol: str, one: Number, other: Number) -> None:
    """Of two exact numbers of any scale."""
    expression = call(symbol, Column(0, one.type), Column(1, other.type))
    compute, row = compile_expression(expression), (one.value, other.value)
    if symbol in "/%" and other.value == 0:
        with pytest.raises(DivisionByZero):
            compute(row)
        return
    ideal = IDEAL[symbol](Fraction(one.value), Fraction(other.value))
    assert_right(lambda: compute(row), ideal, expression.type)


@examples(2)
@given(st.sampled_from(sorted(TESTS)), numbers(), numbers())
def test_exact_numbers_are_compared_without_an_error(symbol: str, one: Number, other: Number) -> None:
    """Brought to one scale they might have too many digits."""
    compute = compile_expression(call(symbol, Column(0, one.type), Column(1, other.type)))
    assert compute((one.value, other.value)) is TESTS[symbol](Fraction(one.value), Fraction(other.value))


@examples(2)
@given(numbers(), st.integers(-45, 45))
def test_rounding_is_exact_or_overflows(one: Number, places: int) -> None:
    expression = call("round", Column(0, one.type), Column(1, INTEGER))
    ideal = Fraction(digits(Fraction(one.value), places)) / Fraction(10) ** places
    assert_right(lambda: compile_expression(expression)((one.value, places)), ideal, expression.type)


@examples(2)
@given(number_types().flatmap(lambda kind: st.lists(numbers(st.just(kind)), min_size=1, max_size=4)))
def test_sums_and_averages_are_exact_or_overflow(cells: list[Number]) -> None:
    kind, values = cells[0].type, [cell.value for cell in cells]
    total = sum(map(Fraction, values), Fraction(0))
    for name, ideal in (("sum", total), ("avg", total / len(values))):
        signature = AGGREGATES[name](kind)
        assert_right(lambda signature=signature: signature.compute(values), ideal, signature.result)


@examples(2)
@given(numbers(), number_types())
def test_a_cast_is_exact_or_fails(one: Number, wanted: Type) -> None:
    ideal = digits(Fraction(one.value), wanted.scale)
    if abs(ideal) <= GREATEST:
        value = cast(one.value, wanted)
        assert Fraction(value) == Fraction(ideal, 10**wanted.scale)
        assert str(value).startswith("-") == (ideal < 0)
    else:
        with pytest.raises(CastFailed, match="cannot be cast"):
            cast(one.value, wanted)


@examples(2)
@given(st.sampled_from(["negate", "abs"]), numbers())
def test_a_sign_is_changed_exactly(name: str, one: Number) -> None:
    """Python's own operators round decimals to 28 digits."""
    expression = call(name, Column(0, one.type))
    ideal = abs(Fraction(one.value)) if name == "abs" else -Fraction(one.value)
    assert_right(lambda: compile_expression(expression)((one.value,)), ideal, expression.type)


LONG = "9" * DIGITS_MAX


@pytest.mark.parametrize(
    "text", [f"{LONG} + n", f"-{LONG} - n", f"{LONG} * n", f"{LONG} / 0.1", f"round({LONG}, -1)", "sum(k)"]
)
def test_a_number_of_39_digits_fails_the_query(text: str) -> None:
    """It had no limit. The error is one of the user's, as a division by zero is."""
    rows = {"1": (GREATEST, 2, None), "2": (1, 2, None)}
    with pytest.raises(UserError, match="has more than 38 digits: it does not fit"):
        evaluated(f"SELECT n, {text} AS v FROM n" + " GROUP BY n" * (text == "sum(k)"), {"n": rows})


def test_a_number_of_38_digits_is_right() -> None:
    rows = {"1": (GREATEST - 2, 2, None)}
    assert evaluated("SELECT k + n, -k - n, k > 1.5 FROM n", {"n": rows}) == [(GREATEST, -GREATEST, True)]


@pytest.mark.parametrize(
    "text", ["(n - 2) * -0.5", "round(-0.1 * n, 0)", "-0.5 * n % 0.5", "'-0'::number(38, 1)"]
)
def test_a_zero_has_no_sign(text: str) -> None:
    """It had one, which showed in its text."""
    ((shown,),) = evaluated(f"SELECT ({text})::varchar AS v FROM n", {"n": {"1": (1, 2, None)}})
    assert shown in ("0", "0.0")


@pytest.mark.parametrize("text", [f"{LONG}0", f"0.{LONG}", f"{LONG}.5"])
def test_a_literal_with_too_many_digits_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="has more than 38 digits, or 37 behind the point"):
        query(f"SELECT {text} AS v FROM n")


def test_a_type_with_too_many_digits_behind_the_point_is_refused() -> None:
    with pytest.raises(InputError, match="at most 37 digits behind the point, not 38"):
        query("SELECT k::number(38, 38) AS v FROM n")


@pytest.mark.parametrize(
    ("text", "value"),
    [("round(n)", 17), ("round(n, -1)", 20), ("round(1e300)", 1e300), ("round(1.5, 300)", Decimal("1.5"))],
)
def test_numbers_are_rounded_to_any_count_of_digits(text: str, value: object) -> None:
    """An integer could not be rounded at all, and neither a great double nor to many digits."""
    assert evaluated(f"SELECT {text} AS v FROM n", {"n": {"1": (1, 17, None)}}) == [(value,)]


@pytest.mark.parametrize(
    "text",
    [
        "dateadd(year, 100000, '2025-01-01'::date)",
        "'2025-01-01'::date + 100000000",
        "'9999-12-31'::timestamp + INTERVAL '1 day'",
    ],
)
def test_a_time_out_of_range_fails_the_query(text: str) -> None:
    """Python's own errors came out, which no refresh expects."""
    with pytest.raises(Overflow, match="is not in the years 1 to 9999"):
        evaluated(f"SELECT {text} AS v FROM n", {"n": {"1": (1, 17, None)}})
