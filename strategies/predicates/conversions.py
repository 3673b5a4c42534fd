"""The casts to put around a column, and the values that result from them.

The widenings are those that Spark's analyser inserts by itself; the other casts occur in queries that
people write. Source: Spark's rules of implicit casts.

"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from pruning.expressions.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
    decimal,
)
from strategies.base.values import DECIMALS, US_PER_DAY, decimal_of, to_float32

Number: TypeAlias = Fraction | float

_INTEGRALS = (BYTE, SHORT, INTEGER, LONG)
_NARROW_INTEGRALS = (BYTE, SHORT, INTEGER)
# The digits that Spark counts for each integral type when it casts to decimal.
INTEGRAL_DIGITS = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INTEGER: 10, Kind.LONG: 20}
# Spark may cast longer decimals to int and shorter types by way of a double.
_EXACT_AS_DOUBLE_DIGITS = 15


def widenings(type_: Type) -> tuple[Type, ...]:
    """Return types that Spark casts `type_` to by itself, in which no value is out of range."""
    match type_.kind:
        case Kind.BYTE | Kind.SHORT | Kind.INTEGER | Kind.LONG:
            wider = _INTEGRALS[_INTEGRALS.index(type_) + 1 :]
            digits = INTEGRAL_DIGITS[type_.kind]
            decimals = (decimal(digits, 0), *_holding(digits, scale_min=0))
            return (*wider, DOUBLE, FLOAT, *dict.fromkeys(decimals))
        case Kind.FLOAT:
            return (DOUBLE,)
        case Kind.DECIMAL:
            wider = _holding(type_.precision - type_.scale, scale_min=type_.scale)
            return (DOUBLE, *(other for other in wider if other != type_))
        case Kind.DATE:
            return (TIMESTAMP, TIMESTAMP_NTZ)
        case Kind.TIMESTAMP_NTZ:
            return (TIMESTAMP,)
        case _:
            return ()


def translations(type_: Type) -> tuple[Type, ...]:
    """Return other types in which no value is out of range, though Spark casts to them only on request."""
    match type_.kind:
        case Kind.BOOLEAN:
            return (*_INTEGRALS, DOUBLE, FLOAT, *_holding(1, scale_min=0))
        case Kind.BYTE | Kind.SHORT | Kind.INTEGER | Kind.LONG | Kind.FLOAT:
            return (BOOLEAN,)
        case Kind.DOUBLE | Kind.DECIMAL:
            return (FLOAT, BOOLEAN)
        case _:
            return ()


def narrowings(type_: Type) -> tuple[Type, ...]:
    """Return types of numbers in which some values of `type_` are out of range or lose digits."""
    if type_.integral:
        shorter = () if type_ in (BYTE, SHORT) else (decimal(9, 2),)
        return (*_INTEGRALS[: _INTEGRALS.index(type_)], *shorter)
    if type_.floating:
        return (*_INTEGRALS, decimal(9, 2), decimal(38, 10))
    if type_.kind is Kind.DECIMAL:
        narrow = _NARROW_INTEGRALS if type_.precision <= _EXACT_AS_DOUBLE_DIGITS else ()
        decimals = (
            other
            for other in DECIMALS
            if other.scale < type_.scale or other.precision - other.scale < type_.precision - type_.scale
        )
        return (LONG, *narrow, *decimals)
    return ()


def casts(type_: Type) -> tuple[Type, ...]:
    """Return all types that expressions of `type_` are cast to."""
    return (*widenings(type_), *translations(type_), *narrowings(type_))


def cast_value(value: Value, source: Type, target: Type) -> Value | None:
    """Return the result of a cast, or a value near it; None if it is not worth a literal.

    This only proposes literals that are likely to hit, so it may be wrong about the session's zone.

    """
    if source == target:
        return value
    if target.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) and isinstance(value, int):
        return value * US_PER_DAY if source == DATE else value
    number = as_number(value, source)
    return None if number is None else nearest_value(number, target)


def as_number(value: Value, type_: Type) -> Number | None:
    """Return a number or a boolean in a form for computing; None for other types."""
    if isinstance(value, float):
        return value
    if type_.integral or type_.kind in (Kind.DECIMAL, Kind.BOOLEAN):
        assert isinstance(value, int | Decimal)
        return Fraction(value)
    return None


def nearest_value(number: Number, type_: Type) -> Value | None:
    """Return a value of a type at the number or next to it; None if there is none."""
    if type_.kind is Kind.BOOLEAN:
        return number != 0
    if type_.floating:
        return _floating(number, type_)
    if not math.isfinite(number):
        return None
    if type_.kind is Kind.DECIMAL:
        digits = round(Fraction(number) * 10**type_.scale)
        return decimal_of(digits, type_.scale) if abs(digits) < 10**type_.precision else None
    limits = type_.integer_range
    whole = math.trunc(number)
    return whole if type_.integral and limits and limits[0] <= whole <= limits[1] else None


def _floating(number: Number, type_: Type) -> float | None:
    try:
        return to_float32(float(number)) if type_ == FLOAT else float(number)
    except OverflowError:
        return None


def _holding(whole: int, *, scale_min: int) -> tuple[Type, ...]:
    return tuple(
        other for other in DECIMALS if other.precision - other.scale >= whole and other.scale >= scale_min
    )
