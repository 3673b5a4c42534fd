"""Spark's sums and casts in plain Python, for `oracles.brute_force`.

Decimals are integers at a scale here, so that no context rounds them.
"""

import datetime
import math
import struct
from decimal import Decimal
from zoneinfo import ZoneInfo

from pruning.expressions.trees import Mode, Operator
from pruning.expressions.types import Kind, Type, Value

_EPOCH = datetime.date(1970, 1, 1)
_US_PER_DAY = 86_400_000_000
_INSTANTS = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)


class Overflow(ArithmeticError):
    """Spark raises here: a result is out of its type's range under ANSI mode."""


def add(operator: Operator, left: Value | None, right: Value | None, type_: Type, mode: Mode) -> Value | None:
    """`left + right` or `left - right` computed in a type; None is NULL.

    Raises:
        Overflow: the result is out of range and the mode is ANSI.
    """
    if left is None or right is None:
        return None
    sign = 1 if operator is Operator.ADD else -1
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        scale = max(_scale(left), _scale(right))
        total = _digits(left, scale) + sign * _digits(right, scale)
        return _fit_decimal(total, scale, type_, mode)
    if isinstance(left, float) and isinstance(right, float):
        total_float = left + sign * right
        # Rounding the double sum of two floats gives the float sum: 53 >= 2 * 24 + 2 bits.
        return _float32(total_float) if type_.kind is Kind.FLOAT else total_float
    assert isinstance(left, int)
    assert isinstance(right, int)
    return _fit_integer(left + sign * right, type_, mode)


def cast(value: Value | None, source: Type, target: Type, mode: Mode, *, zone: str) -> Value | None:
    """`CAST(value AS target)`; None is NULL.

    Raises:
        Overflow: the value is out of the target's range and the mode is ANSI.
        NotImplementedError: there is no second opinion on such a pair of types.
    """
    if value is None or source == target:
        return value
    if source.integral and isinstance(value, int):
        return _cast_integer(value, target, mode)
    if isinstance(value, float) and target.floating:
        return _float32(value) if target.kind is Kind.FLOAT else value
    if isinstance(value, Decimal) and target.kind is Kind.DOUBLE:
        return float(value)
    if isinstance(value, Decimal) and target.kind is Kind.DECIMAL:
        return _fit_decimal(_digits(value, _scale(value)), _scale(value), target, mode)
    if isinstance(value, int) and target.kind in _INSTANTS:
        return _cast_instant(value, source, target, zone)
    raise NotImplementedError(f"no second opinion on a cast from {source} to {target}")


def _cast_integer(value: int, target: Type, mode: Mode) -> Value | None:
    if target.integral:
        return _fit_integer(value, target, mode)
    if target.kind is Kind.DECIMAL:
        return _fit_decimal(value, 0, target, mode)
    if target.kind is Kind.DOUBLE:
        return float(value)
    if target.kind is Kind.FLOAT:
        return _nearest_float32(value)
    raise NotImplementedError(f"no second opinion on a cast from an integer to {target}")


def _cast_instant(value: int, source: Type, target: Type, zone: str) -> int:
    if source.kind is Kind.DATE:
        local = value * _US_PER_DAY
    elif source.kind is Kind.TIMESTAMP_NTZ:
        local = value
    else:
        raise NotImplementedError(f"no second opinion on a cast from {source} to {target}")
    return local if target.kind is Kind.TIMESTAMP_NTZ else local - _offset_us(local, zone)


def _offset_us(local_us: int, zone: str) -> int:
    """The zone's offset from UTC at a local time; of two, the earlier; in a gap, the one before it."""
    if zone == "UTC":
        return 0
    moment = datetime.datetime.combine(_EPOCH, datetime.time()) + datetime.timedelta(microseconds=local_us)
    offset = moment.replace(tzinfo=ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return int(offset / datetime.timedelta(microseconds=1))


def _fit_integer(value: int, type_: Type, mode: Mode) -> int | None:
    limits = type_.integer_range
    assert limits is not None
    if limits[0] <= value <= limits[1]:
        return value
    if mode is Mode.ANSI:
        raise Overflow(f"{value} is no {type_}")
    span = limits[1] - limits[0] + 1
    return (value - limits[0]) % span + limits[0] if mode is Mode.LEGACY else None


def _fit_decimal(digits: int, scale: int, type_: Type, mode: Mode) -> Decimal | None:
    """digits * 10**-scale rounded half away from zero to the type's scale."""
    shift = type_.scale - scale
    magnitude = abs(digits)
    if shift >= 0:
        magnitude *= 10**shift
    else:
        magnitude = (2 * magnitude + 10**-shift) // (2 * 10**-shift)
    if magnitude >= 10**type_.precision:
        if mode is Mode.ANSI:
            raise Overflow(f"{digits}E{-scale} is no {type_}")
        return None
    return Decimal((int(digits < 0 < magnitude), tuple(map(int, str(magnitude))), -type_.scale))


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def _digits(value: Decimal, scale: int) -> int:
    """The value as an integer count of 10**-scale; the scale must not be below the value's own."""
    sign, digits, _ = value.as_tuple()
    magnitude: int = int("".join(map(str, digits))) * 10 ** (scale - _scale(value))
    return -magnitude if sign else magnitude


def _float32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _nearest_float32(value: int) -> float:
    """An integer rounded once: by way of a double it could be rounded twice."""
    spare = max(0, value.bit_length() - 53)
    if spare:
        # Keep a sticky last bit, so that a double holds what decides the rounding.
        kept = abs(value) >> spare
        sticky = kept | bool(abs(value) & ((1 << spare) - 1))
        return math.copysign(_float32(float(sticky << spare)), value)
    return _float32(float(value))
