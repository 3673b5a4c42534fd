"""What each operation on values means, on single exact Python values.

This is the reference that every interpreter must enclose: an answer of None is "unknown", and an
interpreter may always answer "unknown" where this module knows more, never the other way round.
"""

import math
import struct
from bisect import bisect_left
from decimal import Context, Decimal
from typing import TypeAlias

from pruning.expressions.types import BYTES, FLOATING, Kind, Type, Value

# Closed intervals, disjoint and ascending.
Intervals: TypeAlias = tuple[tuple[Value, Value], ...]

_DECIMALS = Context(prec=100)  # enough for any sum, step or cast of decimal(38, s) to be exact
MICROS_PER_DAY = 86_400_000_000
# No zone is further than 18 hours from UTC (the limit of java.time.ZoneOffset).
ZONE_OFFSET_MICROS_MAX = 18 * 3_600_000_000


def less(left: Value, right: Value) -> bool:
    """`left < right` of two values of one type, neither NaN; -0.0 is not less than 0.0."""
    return left < right  # type: ignore[operator]


def at_most(left: Value, right: Value) -> bool:
    """`left <= right` of two values of one type, neither NaN."""
    return left <= right  # type: ignore[operator]


def representable(value: int | float | Decimal, type_: Type) -> Value | None:
    """`value` as a value of `type_`, or None where that type has no such value."""
    if type_.kind in FLOATING:
        return None if math.isnan(value) else float(value)
    if type_.kind is Kind.DECIMAL:
        exact = Decimal(value).quantize(Decimal(1).scaleb(-type_.scale, _DECIMALS), context=_DECIMALS)
        return exact if exact == value and len(exact.as_tuple().digits) <= type_.precision else None
    bounds = type_.integer_range
    if bounds is None:
        return None
    return int(value) if bounds[0] <= value <= bounds[1] else None


def has_sums(type_: Type) -> bool:
    """Whether `add` is defined."""
    return type_.floating or has_steps(type_)


def add(left: Value, right: Value, type_: Type, *, sign: int = 1) -> Value | None:
    """`left + sign * right` in `type_`, all of that type; None if it does not fit or is NaN."""
    if not has_sums(type_) or isinstance(left, bytes) or isinstance(right, bytes):
        return None
    if type_.kind is Kind.DECIMAL:
        return representable(_DECIMALS.fma(Decimal(right), sign, Decimal(left)), type_)
    total = left + sign * right  # type: ignore[operator]
    return representable(to_float32(float(total)) if type_.kind is Kind.FLOAT else total, type_)


def to_float32(value: float) -> float:
    """The 32-bit float nearest to `value`, beyond the greatest one infinity."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def step(value: Value, type_: Type, *, sign: int) -> Value | None:
    """The next value above (sign 1) or below (sign -1) in a type whose values are a sequence.

    None at the type's end, and for types where no next value is kept: floats and strings.
    """
    if type_.kind is Kind.DECIMAL:
        return add(value, Decimal(1).scaleb(-type_.scale), type_, sign=sign)
    if type_.integer_range is None or isinstance(value, bytes):
        return None
    return representable(int(value) + sign, type_)


def has_steps(type_: Type) -> bool:
    """Whether `step` is defined: between two neighbours there is no other value."""
    return type_.kind is Kind.DECIMAL or type_.integer_range is not None


def cast(value: Value, source: Type, target: Type) -> Value | None:
    """The value Spark's cast gives, for the casts `order_keeping` names; None if it has none.

    Between timestamp and timestamp_ntz the number stays as it is: the zone is the rule's affair.
    """
    if target.kind in BYTES or source == target:
        return value
    if isinstance(value, bytes):
        return None
    if source.kind is Kind.DATE:
        return representable(int(value) * MICROS_PER_DAY, target)
    if target.kind is Kind.FLOAT:
        return representable(_int_to_float32(int(value)), target)
    return representable(float(value) if target.kind is Kind.DOUBLE else value, target)


def order_keeping(source: Type, target: Type) -> bool:
    """Whether `cast` is defined: a <= b implies cast(a) <= cast(b), and NULL only from NULL or overflow.

    Casts between instants and local times are not here: they depend on a zone (see `rules.cast`).
    """
    match source.kind, target.kind:
        case same, other if same is other and same is not Kind.DECIMAL:
            return same not in (Kind.UNKNOWN, Kind.NULL)
        case Kind.STRING, Kind.BINARY:
            return True
        case Kind.DECIMAL, Kind.DECIMAL:
            return target.scale >= source.scale
        case Kind.FLOAT, Kind.DOUBLE:
            return True
        case Kind.DATE, Kind.TIMESTAMP_NTZ:
            return True
        case _:
            return source.integral and (target.integral or target.floating or target.kind is Kind.DECIMAL)


def _int_to_float32(value: int) -> float:
    """Round an integer to 24 significant bits at once, half to even: by way of a double it rounds twice."""
    excess = max(value.bit_length() - 24, 0)
    quotient, remainder = divmod(abs(value), 1 << excess)
    half = (1 << excess) >> 1
    if excess and (remainder > half or (remainder == half and quotient & 1)):
        quotient += 1
    return math.copysign(float(quotient << excess), value)


def meets(lower: Value | None, upper: Value | None, intervals: Intervals) -> bool:
    """Whether some interval and [lower, upper] have a value in common; None is unbounded."""
    position = 0 if lower is None else bisect_left(intervals, lower, key=lambda interval: interval[1])
    return position < len(intervals) and (upper is None or at_most(intervals[position][0], upper))


def leaves(lower: Value | None, upper: Value | None, intervals: Intervals) -> bool:
    """Whether [lower, upper] may hold a value that no interval holds; None is unbounded."""
    if lower is None or upper is None:
        return True
    position = bisect_left(intervals, lower, key=lambda interval: interval[1])
    if position == len(intervals):
        return True
    start, end = intervals[position]
    return less(lower, start) or less(end, upper)


def intervals_of(values: set[Value], type_: Type) -> Intervals:
    """The values as intervals; neighbours in a type with steps are one interval."""
    merged: list[tuple[Value, Value]] = []
    for value in sorted(values):
        if merged and step(merged[-1][1], type_, sign=1) == value and has_steps(type_):
            merged[-1] = (merged[-1][0], value)
        else:
            merged.append((value, value))
    return tuple(merged)


def prefix_end(prefix: bytes) -> bytes | None:
    """The least byte string above every one that starts with `prefix`; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
