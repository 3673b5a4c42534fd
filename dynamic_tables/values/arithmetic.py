"""Arithmetic: integers and decimals exactly, floats by IEEE 754, times with lengths of time."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from dynamic_tables.values.casts import round_to_scale
from dynamic_tables.values.cells import EXACT, NAN, ROUNDING
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import DivisionByZero, Overflow
from dynamic_tables.values.signatures import Resolver, Signature, Types
from dynamic_tables.values.types import (
    DATE,
    DIGITS_MAX,
    EXACT_NUMBERS,
    FLOAT,
    INTEGER,
    INTERVAL,
    NUMBERS,
    TIMESTAMP,
    Kind,
    Type,
    decimal,
    fits,
)
from pruning.errors import InputError

# Snowflake gives a quotient six digits more behind the point than the dividend has, but at most twelve
# in that way.
QUOTIENT_DIGITS = 6
QUOTIENT_SCALE_MAX = 12
# Snowflake gives a product the digits of both factors, but at most twelve unless one factor has more.
PRODUCT_SCALE_MAX = 12
TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP})
MICROSECOND = timedelta(microseconds=1)


def as_numbers(types: Types, symbol: str) -> Types:
    """Return the arguments' types as numbers: a VARIANT counts as FLOAT, a NULL as INTEGER.

    Raises:
        InputError: An argument is not a number.
    """
    numbers = tuple(FLOAT if type_.kind is Kind.VARIANT else type_ for type_ in types)
    numbers = tuple(INTEGER if number.kind is Kind.NULL else number for number in numbers)
    for number in numbers:
        if number.kind not in NUMBERS:
            raise InputError(f"{symbol} takes numbers, not {number}: cast it")
    return numbers


def on_floats(apply: Callable[[float, float], float]) -> Callable[[Any, Any], Cell]:
    """Return an operation on doubles that turns every NaN result into the constant `NAN`."""

    def run(left: Any, right: Any) -> Cell:
        value = apply(float(left), float(right))
        return value if value == value else NAN

    return run


def with_digit_check(apply: Callable[..., Cell], result: Type) -> Callable[..., Cell]:
    """Return a computation that fails where its exact result has too many digits for its type.

    A zero has no sign, because SQL's exact numbers have none; those of Python do.

    Raises:
        Overflow: On calls; a result that is no exact number never has too many digits.
    """
    if result.kind not in EXACT_NUMBERS:
        return apply

    def run(*arguments: Any) -> Cell:
        value = apply(*arguments)
        if not isinstance(value, (int, Decimal)):
            return value
        if not fits(value, result):
            raise Overflow(f"{value} has more than {DIGITS_MAX} digits: it does not fit {result}")
        # A zero has no sign.
        return value.copy_abs() if isinstance(value, Decimal) and not value else value

    return run


def with_digit_checks(resolve: Resolver) -> Resolver:
    """Return a function whose exact results are checked as `with_digit_check` says."""

    def run(types: Types) -> Signature:
        signature = resolve(types)
        return replace(signature, apply=with_digit_check(signature.apply, signature.result))

    return run


def numeric_operator(
    symbol: str, on_cells: Callable[[Any, Any], Any], exactly: Callable[[Any, Any], Decimal]
) -> Resolver:
    """Return the resolver of a sum or a difference of numbers."""

    def resolve(types: Types) -> Signature:
        numbers = as_numbers(types, symbol)
        left, right = numbers
        if Kind.FLOAT in (left.kind, right.kind):
            return Signature(FLOAT, (FLOAT, FLOAT), on_floats(on_cells))
        if left.kind is right.kind is Kind.INTEGER:
            return Signature(INTEGER, numbers, on_cells)
        return Signature(decimal(max(left.scale, right.scale)), numbers, exactly)

    return resolve


def product(types: Types) -> Signature:
    """Resolve `*`: the product of numbers, rounded to its scale."""
    left, right = as_numbers(types, "*")
    if Kind.FLOAT in (left.kind, right.kind):
        return Signature(FLOAT, (FLOAT, FLOAT), on_floats(operator.mul))
    if left.kind is right.kind is Kind.INTEGER:
        return Signature(INTEGER, (left, right), operator.mul)
    digits = left.scale + right.scale
    scale = min(digits, max(left.scale, right.scale, PRODUCT_SCALE_MAX))
    if scale == digits:
        return Signature(decimal(scale), (left, right), EXACT.multiply)
    return Signature(
        decimal(scale),
        (left, right),
        lambda x, y: round_to_scale(EXACT.multiply(x, y), scale),
    )


def addition(types: Types) -> Signature:
    """Resolve `+`: a sum of numbers, a date plus days, or a time plus an interval."""
    left, right = types
    if right.kind in TIMES:
        flipped = addition((right, left))
        return Signature(flipped.result, types, lambda days, moment: flipped.apply(moment, days))
    if left.kind in TIMES:
        return time_shift(left, right, 1)
    return numeric_operator("+", operator.add, EXACT.add)(types)


def subtraction(types: Types) -> Signature:
    """Resolve `-`: numbers, a time minus an interval, or two times (days for two dates, else an interval)."""
    left, right = types
    if left.kind is right.kind is Kind.DATE:
        return Signature(INTEGER, types, lambda end, start: (end - start).days)
    if left.kind in TIMES and right.kind in TIMES:
        return Signature(INTERVAL, (TIMESTAMP, TIMESTAMP), lambda end, start: (end - start) // MICROSECOND)
    if left.kind in TIMES:
        return time_shift(left, right, -1)
    if left.kind is right.kind is Kind.INTERVAL:
        return Signature(INTERVAL, types, operator.sub)
    return numeric_operator("-", operator.sub, EXACT.subtract)(types)


def with_year_check(apply: Callable[..., Cell]) -> Callable[..., Cell]:
    """Return a computation of times that raises an error of SQL where the result is no valid time.

    Raises:
        Overflow: On calls.
    """

    def run(*arguments: Any) -> Cell:
        try:
            return apply(*arguments)
        except (OverflowError, ValueError):
            cells = ", ".join(map(str, arguments))
            raise Overflow(f"the time made of {cells} is not in the years 1 to 9999") from None

    return run


def time_shift(moment: Type, by: Type, sign: int) -> Signature:
    """Resolve a date moved by days, or a date or time moved by an interval, which gives a timestamp."""
    if moment.kind is Kind.DATE and by.kind is Kind.INTEGER:
        return Signature(
            DATE, (DATE, INTEGER), with_year_check(lambda day, n: day + timedelta(days=sign * n))
        )
    if by.kind is not Kind.INTERVAL:
        raise InputError(f"{moment} moves by INTERVAL, not by {by}")
    later = with_year_check(lambda at, us: at + timedelta(microseconds=sign * us))
    return Signature(TIMESTAMP, (TIMESTAMP, INTERVAL), later)


def division(types: Types) -> Signature:
    """Resolve `/`; two integers give a decimal, as in Snowflake."""
    left, right = as_numbers(types, "/")
    if Kind.FLOAT in (left.kind, right.kind):
        return Signature(FLOAT, (FLOAT, FLOAT), with_zero_check(on_floats(operator.truediv)))
    scale = quotient_scale(left)
    return Signature(
        decimal(scale),
        (left, right),
        with_zero_check(lambda x, y: quotient(x, y, scale)),
    )


def quotient_scale(dividend: Type) -> int:
    """Return the number of digits behind the point of a quotient."""
    return max(dividend.scale, min(dividend.scale + QUOTIENT_DIGITS, QUOTIENT_SCALE_MAX))


def quotient(dividend: Any, divisor: Any, scale: int) -> Decimal:
    """Divide exact numbers, rounding once."""
    return round_to_scale(EXACT.divide(Decimal(dividend), Decimal(divisor)), scale)


def remainder(types: Types) -> Signature:
    """Resolve `%`: the remainder of division towards zero, which has the dividend's sign."""
    left, right = as_numbers(types, "%")
    if Kind.FLOAT in (left.kind, right.kind):
        return Signature(FLOAT, (FLOAT, FLOAT), with_zero_check(on_floats(float_remainder)))
    if left.kind is right.kind is Kind.INTEGER:
        return Signature(
            INTEGER,
            (left, right),
            with_zero_check(lambda x, y: int(EXACT.remainder(x, y))),
        )
    return Signature(decimal(max(left.scale, right.scale)), (left, right), with_zero_check(EXACT.remainder))


def float_remainder(left: float, right: float) -> float:
    """Return `math.fmod`, or NaN where there is no remainder."""
    return math.fmod(left, right) if math.isfinite(left) and right == right else NAN


def with_zero_check(apply: Callable[[Any, Any], Cell]) -> Callable[[Any, Any], Cell]:
    """Return a division that raises SQL's error for a divisor of zero."""

    def run(left: Any, right: Any) -> Cell:
        if right == 0:
            raise DivisionByZero(f"division by zero: {left} / {right}")
        return apply(left, right)

    return run


def negative(types: Types) -> Signature:
    """Resolve unary minus, of a number or an interval."""
    (number,) = types if types[0].kind is Kind.INTERVAL else as_numbers(types, "-")
    return Signature(number, (number,), EXACT.minus if number.kind is Kind.DECIMAL else operator.neg)


def absolute(types: Types) -> Signature:
    """Resolve ABS."""
    (number,) = as_numbers(types, "ABS")
    return Signature(number, (number,), EXACT.abs if number.kind is Kind.DECIMAL else abs)


def rounding(types: Types) -> Signature:
    """Resolve ROUND to an integer or to a number of digits; halves go away from zero."""
    number = as_numbers(types[:1], "ROUND")[0]
    wanted = number if len(types) == 2 or number.kind is not Kind.DECIMAL else decimal(0)
    compute = {Kind.FLOAT: round_float, Kind.INTEGER: round_integer}.get(number.kind, round_number)
    return Signature(wanted, (number, INTEGER)[: len(types)], compute)


def round_number(cell: int | float | Decimal, digits: int = 0) -> Decimal:
    """Round to `digits` digits behind the point, at most 38; negative `digits` count before it."""
    return round_to_scale(Decimal(cell), min(max(digits, -ROUNDING.prec), DIGITS_MAX))


def round_integer(cell: int, digits: int = 0) -> Cell:
    """Round an integer to `digits` digits; negative `digits` count before the point."""
    return int(round_number(cell, digits))


def round_float(cell: float, digits: int = 0) -> Cell:
    """Round a double to `digits` digits; NaN and the infinities stay as they are."""
    return float(round_number(cell, digits)) if math.isfinite(cell) else cell


def integral(step: Callable[[Any], int]) -> Resolver:
    """Return the resolver of FLOOR or CEIL, which `step` computes."""

    def resolve(types: Types) -> Signature:
        (number,) = as_numbers(types, "this function")
        if number.kind is Kind.FLOAT:
            return Signature(
                FLOAT, (number,), lambda cell: float(step(cell)) if math.isfinite(cell) else cell
            )
        return Signature(INTEGER, (number,), step)

    return resolve


def signum(types: Types) -> Signature:
    """Resolve SIGN, which gives -1, 0 or 1."""
    (number,) = as_numbers(types, "SIGN")
    return Signature(INTEGER, (number,), lambda cell: (cell > 0) - (cell < 0))


ARITHMETIC: Mapping[str, Resolver] = {
    "+": with_digit_checks(addition),
    "-": with_digit_checks(subtraction),
    "*": with_digit_checks(product),
    "/": with_digit_checks(division),
    "%": with_digit_checks(remainder),
    "negate": negative,
    "abs": absolute,
    "round": with_digit_checks(rounding),
    "floor": with_digit_checks(integral(math.floor)),
    "ceil": with_digit_checks(integral(math.ceil)),
    "sign": signum,
}
