"""Which casts to put around a column, what values become under them, and the types of sums.

The widenings are those that Spark's analyser inserts by itself; narrowings occur in what people
write. Source: Spark's rules of implicit casts and of decimal precision.
"""

from decimal import Decimal

from pruning.expressions.types import (
    BYTE,
    DATE,
    DECIMAL_PRECISION_MAX,
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
from strategies.values import DECIMALS, US_PER_DAY, scaled, to_float32, unscaled

_INTEGRALS = (BYTE, SHORT, INTEGER, LONG)
# Digits of each integral type's values, as Spark counts them when it casts to decimal.
INTEGRAL_DIGITS = {Kind.BYTE: 3, Kind.SHORT: 5, Kind.INTEGER: 10, Kind.LONG: 20}
_SCALE_KEPT_MIN = 6  # what a sum's scale is not cut below when its precision would pass 38


def widenings(type_: Type) -> tuple[Type, ...]:
    """Types that Spark casts `type_` to of its own accord, in which no value is out of range."""
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


def narrowings(type_: Type) -> tuple[Type, ...]:
    """Types of the same family in which some values of `type_` are out of range or lose digits."""
    if type_.integral:
        return (*_INTEGRALS[: _INTEGRALS.index(type_)], decimal(9, 2))
    if type_.kind is Kind.DECIMAL:
        return tuple(
            other
            for other in DECIMALS
            if other.scale < type_.scale or other.precision - other.scale < type_.precision - type_.scale
        )
    return ()


def carried(value: Value, source: Type, target: Type) -> Value | None:
    """What a value becomes, or comes near to, under a cast; None where that is not worth a literal.

    Only proposes literals that are likely to hit, so it may be wrong about the session's zone.
    """
    if source == target:
        return value
    if isinstance(value, int) and source.integral:
        return _carried_integer(value, target)
    if isinstance(value, float) and target == DOUBLE:
        return value
    if isinstance(value, Decimal):
        return _carried_decimal(value, target)
    if isinstance(value, int) and target.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return value * US_PER_DAY if source == DATE else value
    return None


def sum_can_overflow(left: Type, right: Type) -> bool:
    """Whether a sum of two decimals can need more digits than Spark has."""
    whole, scale = _sum_digits(left, right)
    return whole + scale > DECIMAL_PRECISION_MAX


def sum_type(left: Type, right: Type) -> Type:
    """The type of the sum, or the difference, of two decimals."""
    whole, scale = _sum_digits(left, right)
    if whole + scale <= DECIMAL_PRECISION_MAX:
        return decimal(whole + scale, scale)
    return decimal(DECIMAL_PRECISION_MAX, max(DECIMAL_PRECISION_MAX - whole, min(scale, _SCALE_KEPT_MIN)))


def _sum_digits(left: Type, right: Type) -> tuple[int, int]:
    whole = max(left.precision - left.scale, right.precision - right.scale) + 1
    return whole, max(left.scale, right.scale)


def _holding(whole: int, *, scale_min: int) -> tuple[Type, ...]:
    return tuple(
        other for other in DECIMALS if other.precision - other.scale >= whole and other.scale >= scale_min
    )


def _carried_integer(value: int, target: Type) -> Value | None:
    if target.floating:
        return to_float32(float(value)) if target == FLOAT else float(value)
    if target.kind is Kind.DECIMAL:
        return _carried_digits(value * 10**target.scale, target)
    limits = target.integer_range
    return value if target.integral and limits and limits[0] <= value <= limits[1] else None


def _carried_decimal(value: Decimal, target: Type) -> Value | None:
    if target == DOUBLE:
        return float(value)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    shift = target.scale + exponent
    digits = unscaled(value)
    return _carried_digits(digits * 10**shift if shift >= 0 else digits // 10**-shift, target)


def _carried_digits(digits: int, target: Type) -> Value | None:
    fits = target.kind is Kind.DECIMAL and abs(digits) < 10**target.precision
    return scaled(digits, target.scale) if fits else None
