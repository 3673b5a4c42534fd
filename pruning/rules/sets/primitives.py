"""The meaning of each operation on single values, in exact Python.

This is the reference that every interpreter must agree with. None means "unknown". An interpreter may
answer "unknown" where this module gives a value, never the other way round.
"""

import math
import struct
from decimal import Decimal
from fractions import Fraction

from pruning.expressions.types import BYTES, FLOATING, Kind, Type, Value
from pruning.rules.sets import decimals

MICROS_PER_DAY = 86_400_000_000
# No zone is further than 18 hours from UTC (the limit of java.time.ZoneOffset).
ZONE_OFFSET_MICROS_MAX = 18 * 3_600_000_000


def less(left: Value, right: Value) -> bool:
    """Tell whether `left < right`, of two values of one type, neither NaN; -0.0 is not less than 0.0."""
    # Both have one type, so Python can compare them; mypy sees only the union of all types.
    return left < right  # type: ignore[operator]


def at_most(left: Value, right: Value) -> bool:
    """Tell whether `left <= right`, of two values of one type, neither NaN."""
    # Both have one type, so Python can compare them; mypy sees only the union of all types.
    return left <= right  # type: ignore[operator]


def representable(value: int | float, type_: Type) -> Value | None:
    """Return a number as a value of a floating or integer type; None where that type has no such value."""
    if type_.kind in FLOATING:
        return None if math.isnan(value) else float(value)
    bounds = type_.integer_range
    if bounds is None:
        return None
    return int(value) if bounds[0] <= value <= bounds[1] else None


def has_sums(type_: Type) -> bool:
    """Tell whether `add` is defined for a type."""
    return type_.floating or has_steps(type_)


def add(left: Value, right: Value, type_: Type, *, sign: int = 1) -> Value | None:
    """Return `left + sign * right` in `type_`; None if it does not fit or is NaN.

    Decimals may have different scales: the exact sum is rounded half up to that of the type.
    """
    if not has_sums(type_) or isinstance(left, bytes) or isinstance(right, bytes):
        return None
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        left_digits, right_digits, scale = decimals.common_scale(left, right)
        return decimals.rescale(left_digits + sign * right_digits, scale, type_)
    # Both have one type, so no decimal meets a float; mypy sees only the union of all types.
    total = left + sign * right  # type: ignore[operator]
    assert not isinstance(total, Decimal)
    return representable(to_float32(float(total)) if type_.kind is Kind.FLOAT else total, type_)


def to_float32(value: float) -> float:
    """Return the 32-bit float nearest to `value`; an infinity beyond the greatest one."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def step(value: Value, type_: Type, *, sign: int) -> Value | None:
    """Return the next value above (sign 1) or below (sign -1), in a type whose values are a sequence.

    None at the type's end, and for floats and strings, whose next values are not used.
    """
    if type_.kind is Kind.DECIMAL:
        return add(value, decimals.decimal_from_units(1, type_.scale), type_, sign=sign)
    if type_.integer_range is None or isinstance(value, bytes):
        return None
    return representable(int(value) + sign, type_)


def has_steps(type_: Type) -> bool:
    """Tell whether `step` is defined for a type: no value lies between two neighbours."""
    return type_.kind is Kind.DECIMAL or type_.integer_range is not None


def cast(value: Value, source: Type, target: Type) -> Value | None:
    """Return the value that Spark's cast gives, for the casts of `keeps_order`; None if it gives none.

    Between timestamp and timestamp_ntz the number stays as it is; the rule of CAST applies the zone.
    """
    if target.kind in BYTES or source == target:
        return value
    if isinstance(value, bytes):
        return None
    if source.kind is Kind.DATE:
        return representable(int(value) * MICROS_PER_DAY, target)
    if isinstance(value, float) and math.isinf(value):
        return value if target.floating else None
    if target.floating:
        return nearest_float(Fraction(value), target)
    if target.kind is Kind.DECIMAL:
        return decimals.nearest(Fraction(value), target)
    if isinstance(value, float) and value == 2.0**63 and target.kind is Kind.LONG:
        return 2**63 - 1  # Spark compares with the greatest bigint as a double, which is this one
    return representable(int(value), target)  # toward zero


def nearest_float(value: Fraction, type_: Type) -> float:
    """Return a number rounded once to a floating type, half to even; an infinity beyond the greatest one."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if type_.kind is Kind.DOUBLE:
        return near
    # A double halfway between two floats hides on which side of it the number lies.
    sides = [to_float32(math.nextafter(near, toward)) for toward in (-math.inf, math.inf)]
    if sides[0] != sides[1] and near != value:
        return sides[value > near]
    return to_float32(near)


def keeps_order(source: Type, target: Type) -> bool:
    """Tell whether a cast is monotone: a <= b implies cast(a) <= cast(b); NULL from NULL or overflow only.

    Casts between instants and local times are not here: they depend on a zone (see `rules.families.casts`).
    """
    match source.kind, target.kind:
        case same, other if same is other and same is not Kind.DECIMAL:
            return same not in (Kind.UNKNOWN, Kind.NULL)
        case Kind.STRING, Kind.BINARY:
            return True
        case ((Kind.FLOAT | Kind.DOUBLE), _):
            return target.integral or target.floating
        case Kind.DATE, Kind.TIMESTAMP_NTZ:
            return True
        case _:
            numeric = target.integral or target.floating or target.kind is Kind.DECIMAL
            return numeric and (source.integral or source.kind in (Kind.DECIMAL, Kind.BOOLEAN))


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the least byte string above every one that starts with `prefix`; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
