"""Arithmetic: integers and decimals exactly, floats by IEEE 754, times with lengths of time."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from dynamic_tables.values.casts import rounded
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

# Snowflake's scale of a quotient: six digits more than the dividend's, but no more than twelve for that.
QUOTIENT_DIGITS = 6
QUOTIENT_SCALE_MAX = 12
# Snowflake's scale of a product: the digits of both factors, but no more than twelve unless one has more.
PRODUCT_SCALE_MAX = 12
TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP})
MICROSECOND = timedelta(microseconds=1)


def as_numbers(types: Types, symbol: str) -> Types:
    """The arguments' types with numbers for what is not known to be one.

    Raises:
        InputError: One is not a number.
    """
    numbers = tuple(FLOAT if one.kind is Kind.VARIANT else one for one in types)
    numbers = tuple(INTEGER if one.kind is Kind.NULL else one for one in numbers)
    for one in numbers:
        if one.kind not in NUMBERS:
            raise InputError(f"{symbol} takes numbers, not {one}: cast it")
    return numbers


def on_floats(apply: Callable[[float, float], float]) -> Callable[[Any, Any], Cell]:
    """An operation on doubles whose NaN is the one NaN."""

    def run(left: Any, right: Any) -> Cell:
        value = apply(float(left), float(right))
        return value if value == value else NAN

    return run


def checked(apply: Callable[..., Cell], result: Type) -> Callable[..., Cell]:
    """Return a computation that fails where its exact result has too many digits for its type.

    Raises:
        Overflow: On calls; a result that is no exact number never has too many digits.
    """
    if result.kind not in EXACT_NUMBERS:
        return apply

    def run(*arguments: Any) -> Cell:
        value = apply(*arguments)
        if isinstance(value, (int, Decimal)) and not fits(value, result):
            raise Overflow(f"{value} has more than {DIGITS_MAX} digits: it does not fit {result}")
        return value

    return run


def bounded(resolve: Resolver) -> Resolver:
    """Return a function whose exact results are checked for their digits."""

    def run(types: Types) -> Signature:
        signature = resolve(types)
        return replace(signature, apply=checked(signature.apply, signature.result))

    return run


def plain(
    symbol: str, on_cells: Callable[[Any, Any], Any], exactly: Callable[[Any, Any], Decimal]
) -> Resolver:
    """Sum and difference of numbers."""

    def resolve(types: Types) -> Signature:
        numbers = as_numbers(types, symbol)
        left, right = numbers
        if Kind.FLOAT in (left.kind, right.kind):
            return Signature(FLOAT, (FLOAT, FLOAT), on_floats(on_cells))
        if left.kind is right.kind is Kind.INTEGER:
            return Signature(INTEGER, numbers, on_cells)
        return Signature(decimal(max(left.scale, right.scale)), numbers, exactly)

    return resolve


def multiplied(types: Types) -> Signature:
    """Return the product of numbers; digits beyond its scale are rounded away."""
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
        decimal(scale), (left, right), lambda one, other: rounded(EXACT.multiply(one, other), scale)
    )


def added(types: Types) -> Signature:
    """Also days to a date and a length of time to a time."""
    left, right = types
    if right.kind in TIMES:
        flipped = added((right, left))
        return Signature(flipped.result, types, lambda one, other: flipped.apply(other, one))
    if left.kind in TIMES:
        return shifted(left, right, 1)
    return plain("+", operator.add, EXACT.add)(types)


def subtracted(types: Types) -> Signature:
    """Also of times, which gives days of two dates and else a length of time."""
    left, right = types
    if left.kind is right.kind is Kind.DATE:
        return Signature(INTEGER, types, lambda one, other: (one - other).days)
    if left.kind in TIMES and right.kind in TIMES:
        return Signature(INTERVAL, (TIMESTAMP, TIMESTAMP), lambda one, other: (one - other) // MICROSECOND)
    if left.kind in TIMES:
        return shifted(left, right, -1)
    if left.kind is right.kind is Kind.INTERVAL:
        return Signature(INTERVAL, types, operator.sub)
    return plain("-", operator.sub, EXACT.subtract)(types)


def in_years(apply: Callable[..., Cell]) -> Callable[..., Cell]:
    """Return a computation of times that fails as SQL's does where there is no such time.

    Raises:
        Overflow: On calls.
    """

    def run(*arguments: Any) -> Cell:
        try:
            return apply(*arguments)
        except (OverflowError, ValueError):
            given = ", ".join(map(str, arguments))
            raise Overflow(f"the time made of {given} is not in the years 1 to 9999") from None

    return run


def shifted(moment: Type, by: Type, sign: int) -> Signature:
    """A date or time some while later; a date moved by a length of time becomes a time."""
    if moment.kind is Kind.DATE and by.kind is Kind.INTEGER:
        return Signature(DATE, (DATE, INTEGER), in_years(lambda day, days: day + timedelta(days=sign * days)))
    if by.kind is not Kind.INTERVAL:
        raise InputError(f"{moment} moves by INTERVAL, not by {by}")
    later = in_years(lambda at, us: at + timedelta(microseconds=sign * us))
    return Signature(TIMESTAMP, (TIMESTAMP, INTERVAL), later)


def divided(types: Types) -> Signature:
    """Division; of integers it gives a decimal, as Snowflake does."""
    left, right = as_numbers(types, "/")
    if Kind.FLOAT in (left.kind, right.kind):
        return Signature(FLOAT, (FLOAT, FLOAT), guarded(on_floats(operator.truediv)))
    scale = quotient_scale(left)
    return Signature(decimal(scale), (left, right), guarded(lambda one, other: quotient(one, other, scale)))


def quotient_scale(dividend: Type) -> int:
    """How many digits behind the point a quotient has."""
    return max(dividend.scale, min(dividend.scale + QUOTIENT_DIGITS, QUOTIENT_SCALE_MAX))


def quotient(dividend: Any, divisor: Any, scale: int) -> Decimal:
    """A quotient of exact numbers, rounded once."""
    return rounded(EXACT.divide(Decimal(dividend), Decimal(divisor)), scale)


def remainder(types: Types) -> Signature:
    """What is left after division towards zero; it has the dividend's sign."""
    left, right = as_numbers(types, "%")
    if Kind.FLOAT in (left.kind, right.kind):
        return Signature(FLOAT, (FLOAT, FLOAT), guarded(on_floats(float_remainder)))
    if left.kind is right.kind is Kind.INTEGER:
        return Signature(INTEGER, (left, right), guarded(lambda one, other: int(EXACT.remainder(one, other))))
    return Signature(decimal(max(left.scale, right.scale)), (left, right), guarded(EXACT.remainder))


def float_remainder(left: float, right: float) -> float:
    """`math.fmod`, with NaN for what has no remainder."""
    return math.fmod(left, right) if math.isfinite(left) and right == right else NAN


def guarded(apply: Callable[[Any, Any], Cell]) -> Callable[[Any, Any], Cell]:
    """A division that fails as SQL's does."""

    def run(left: Any, right: Any) -> Cell:
        if right == 0:
            raise DivisionByZero(f"division by zero: {left} / {right}")
        return apply(left, right)

    return run


def negated(types: Types) -> Signature:
    """The number of the other sign."""
    (one,) = types if types[0].kind is Kind.INTERVAL else as_numbers(types, "-")
    return Signature(one, (one,), operator.neg)


def absolute(types: Types) -> Signature:
    """The size of a number."""
    (one,) = as_numbers(types, "ABS")
    return Signature(one, (one,), abs)


def rounding(types: Types) -> Signature:
    """ROUND to an integer, or to so many digits; halves go away from zero."""
    one = as_numbers(types[:1], "ROUND")[0]
    wanted = one if len(types) == 2 or one.kind is not Kind.DECIMAL else decimal(0)
    compute = {Kind.FLOAT: rounded_float, Kind.INTEGER: rounded_integer}.get(one.kind, rounded_number)
    return Signature(wanted, (one, INTEGER)[: len(types)], compute)


def rounded_number(cell: int | float | Decimal, digits: int = 0) -> Decimal:
    """Return a number with so many digits behind the point, at most 38; negative ones count before it."""
    return rounded(Decimal(cell), min(max(digits, -ROUNDING.prec), DIGITS_MAX))


def rounded_integer(cell: int, digits: int = 0) -> Cell:
    """Return an integer rounded to so many digits, of which those before the point count as negative."""
    return int(rounded_number(cell, digits))


def rounded_float(cell: float, digits: int = 0) -> Cell:
    """A double to so many digits; what is no number stays."""
    return float(rounded_number(cell, digits)) if math.isfinite(cell) else cell


def stepped(step: Callable[[Any], int]) -> Resolver:
    """FLOOR and CEIL."""

    def resolve(types: Types) -> Signature:
        (one,) = as_numbers(types, "this function")
        if one.kind is Kind.FLOAT:
            return Signature(FLOAT, (one,), lambda cell: float(step(cell)) if math.isfinite(cell) else cell)
        return Signature(INTEGER, (one,), step)

    return resolve


def signum(types: Types) -> Signature:
    """-1, 0 or 1."""
    (one,) = as_numbers(types, "SIGN")
    return Signature(INTEGER, (one,), lambda cell: (cell > 0) - (cell < 0))


ARITHMETIC: Mapping[str, Resolver] = {
    "+": bounded(added),
    "-": bounded(subtracted),
    "*": bounded(multiplied),
    "/": bounded(divided),
    "%": remainder,
    "negate": negated,
    "abs": absolute,
    "round": bounded(rounding),
    "floor": bounded(stepped(math.floor)),
    "ceil": bounded(stepped(math.ceil)),
    "sign": signum,
}
