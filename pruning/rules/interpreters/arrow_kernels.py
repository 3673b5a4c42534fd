"""The Arrow kernels behind each operation on bounds: where a lane does not fit it becomes null."""

from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type
from pruning.rules import primitives
from pruning.rules.primitives import Intervals

LANE_TYPES: dict[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.int8(),
    Kind.BYTE: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.binary(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.int32(),
    Kind.TIMESTAMP: pa.int64(),
    Kind.TIMESTAMP_NTZ: pa.int64(),
}
Lanes: TypeAlias = pa.Array | pa.Scalar

_WIDE_DIGITS = 75  # what decimal256 holds, less one digit for a carry
_LONG_DIGITS = 19  # of any 64-bit integer
_DATE_DAYS_MAX = (2**63 - 1) // primitives.MICROS_PER_DAY
_SEARCHED_INTERVALS_MIN = 8  # fewer are compared one by one


def reinterpret(array: pa.Array, lane_type: pa.DataType) -> pa.Array:
    """The array with the same bytes as `lane_type`; booleans become 0 and 1."""
    if array.type == lane_type:
        return array
    return array.cast(lane_type) if pa.types.is_boolean(array.type) else array.view(lane_type)


def unless_excluded(comparison: Lanes) -> Lanes:
    """A three-valued comparison as a flag: null, where a side is unknown, excludes nothing."""
    if isinstance(comparison, pa.Array) and comparison.null_count == 0:
        return comparison
    return pc.fill_null(comparison, True)


def add(left: Lanes, right: Lanes, type_: Type, *, sign: int) -> Lanes:
    """`left + sign * right`; null where the sum does not fit in the type or is NaN."""
    operate = pc.add if sign > 0 else pc.subtract
    if type_.floating:
        total = operate(left, right)
        return _where(pc.invert(pc.is_nan(total)), total)
    if type_.kind is Kind.DECIMAL:
        wide = pa.decimal256(_WIDE_DIGITS, type_.scale)
        return _as_decimal(operate(left.cast(wide), right.cast(wide)), type_, 10**type_.precision - 1)
    left, right = left.cast(pa.int64()), right.cast(pa.int64())
    total = operate(left, right)
    if LANE_TYPES[type_.kind] != pa.int64():
        return _narrow_integer(total, type_)
    # It wrapped round where it moved against the sign of what was added.
    zero = pa.scalar(0, pa.int64())
    grows = pc.greater_equal(right, zero) if sign > 0 else pc.less_equal(right, zero)
    return _where(pc.if_else(grows, pc.greater_equal(total, left), pc.less_equal(total, left)), total)


def step(bound: Lanes, type_: Type, *, sign: int) -> Lanes:
    """The next value up or down; null at the type's end."""
    if type_.kind is Kind.DECIMAL:
        unit = pa.scalar(Decimal(1).scaleb(-type_.scale), pa.decimal128(type_.precision, type_.scale))
    else:
        unit = pa.scalar(1, LANE_TYPES[type_.kind])
    return add(bound, unit, type_, sign=sign)


def cast(bound: Lanes, source: Type, target: Type, lane_type: pa.DataType) -> Lanes:
    """The casts of `primitives.cast`; null where a lane does not fit."""
    if source.kind is Kind.DATE and target.kind is not Kind.DATE:
        days = bound.cast(pa.int64())
        micros = pc.multiply(days, pa.scalar(primitives.MICROS_PER_DAY, pa.int64()))
        return _where(_between(days, -_DATE_DAYS_MAX, _DATE_DAYS_MAX), micros)
    if target.kind is Kind.DECIMAL:
        exact = bound.cast(pa.decimal128(_LONG_DIGITS, 0)) if source.integral else bound
        # What fits is told before the digits shift: afterwards there may be more than Arrow holds.
        greatest = (10**target.precision - 1) // 10 ** (target.scale - source.scale)
        return _as_decimal(exact, target, min(greatest, 10**exact.type.precision - 1))
    if source.integral and target.integral:
        return _narrow_integer(bound.cast(pa.int64()), target)
    return bound.cast(lane_type, safe=not target.floating)  # to a float rounds to nearest


def _where(fits: Lanes, bound: Lanes) -> Lanes:
    return pc.if_else(fits, bound, pa.scalar(None, bound.type))


def _between(bound: Lanes, least: object, greatest: object) -> Lanes:
    lower, upper = pa.scalar(least, bound.type), pa.scalar(greatest, bound.type)
    return pc.and_(pc.less_equal(lower, bound), pc.less_equal(bound, upper))


def _narrow_integer(bound: Lanes, type_: Type) -> Lanes:
    assert type_.integer_range is not None
    return _where(_between(bound, *type_.integer_range), bound).cast(LANE_TYPES[type_.kind])


def _as_decimal(bound: Lanes, type_: Type, greatest: int) -> Lanes:
    """Decimals as `type_`, in which no more than `greatest` units of their own scale fit."""
    scale = bound.type.scale
    limit = Decimal((0, tuple(map(int, str(greatest))), -scale))
    fits = _between(bound, limit.copy_negate(), limit)  # `-` would round to 28 digits
    # Arrow's cast looks at the digits under a null too, so those that do not fit become 0 first.
    zero = pa.scalar(Decimal((0, (0,), -scale)), bound.type)
    return _where(fits, pc.if_else(fits, bound, zero).cast(pa.decimal128(type_.precision, type_.scale)))


def maybe_meets(lower: Lanes, upper: Lanes, intervals: Intervals) -> Lanes:
    """Whether [lower, upper] may meet an interval; a null side is unbounded."""
    if len(intervals) < _SEARCHED_INTERVALS_MIN:
        starts, ends = _edges(intervals, lower.type)
        flags = [
            pc.and_(unless_excluded(pc.less_equal(start, upper)), unless_excluded(pc.less_equal(lower, end)))
            for start, end in zip(starts, ends, strict=True)
        ]
        return _any(flags)
    position, start, _ = _interval_at(lower, intervals, _lanes(lower, upper))
    exists = pa.array(position < len(intervals))
    return pc.and_(exists, unless_excluded(pc.less_equal(start, upper)))


def maybe_leaves(lower: Lanes, upper: Lanes, intervals: Intervals) -> Lanes:
    """Whether [lower, upper] may hold a value of no interval; a null side is unbounded."""
    if len(intervals) < _SEARCHED_INTERVALS_MIN:
        starts, ends = _edges(intervals, lower.type)
        inside = [
            pc.and_(
                pc.fill_null(pc.less_equal(start, lower), False),
                pc.fill_null(pc.less_equal(upper, end), False),
            )
            for start, end in zip(starts, ends, strict=True)
        ]
        return pc.invert(_any(inside))
    position, start, end = _interval_at(lower, intervals, _lanes(lower, upper))
    beyond = pa.array(position == len(intervals))
    sticks_out = pc.or_(unless_excluded(pc.less(lower, start)), unless_excluded(pc.less(end, upper)))
    return pc.or_(beyond, sticks_out)


def _any(flags: list[Lanes]) -> Lanes:
    united = flags[0]
    for flag in flags[1:]:
        united = pc.or_(united, flag)
    return united


def _lanes(*bounds: Lanes) -> int:
    return max(len(bound) for bound in bounds if isinstance(bound, pa.Array))


@lru_cache(maxsize=64)
def _edges(intervals: Intervals, type_: pa.DataType) -> tuple[pa.Array, pa.Array]:
    def column(side: int) -> pa.Array:
        edges = [interval[side] for interval in intervals]
        return pa.array([int(edge) if isinstance(edge, bool) else edge for edge in edges], type_)

    return column(0), column(1)


def _interval_at(lower: Lanes, intervals: Intervals, lanes: int) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """Per lane, the ordinal of the first interval that ends at `lower` or above, and its two edges.

    A binary search of all lanes at once; the ordinal is the number of intervals where none does,
    with any edges, and 0 where `lower` is unknown.
    """
    starts, ends = _edges(intervals, lower.type)
    low = np.zeros(lanes, np.int64)
    high = np.full(lanes, len(intervals), np.int64)
    for _ in range(len(intervals).bit_length()):
        open_ = low < high
        middle = np.minimum((low + high) // 2, len(intervals) - 1)
        below = pc.fill_null(pc.less(ends.take(pa.array(middle)), lower), False).to_numpy(
            zero_copy_only=False
        )
        low = np.where(open_ & below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    held = pa.array(np.minimum(low, len(intervals) - 1))
    return low, starts.take(held), ends.take(held)
