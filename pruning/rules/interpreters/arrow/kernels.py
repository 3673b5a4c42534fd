"""The Arrow kernels of the operations on bounds; a lane whose result does not fit becomes null."""

from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type
from pruning.rules.sets import primitives
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.decimals import decimal_from_units

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

WIDE_DIGITS = 75  # the digits of decimal256, less one for a carry
_LONG_DIGITS = 19  # of any 64-bit integer
_DATE_DAYS_MAX = (2**63 - 1) // primitives.MICROS_PER_DAY


def reinterpret(array: pa.Array, lane_type: pa.DataType) -> pa.Array:
    """Return the array with the same bytes as `lane_type`; booleans become 0 and 1."""
    if array.type == lane_type:
        return array
    return array.cast(lane_type) if pa.types.is_boolean(array.type) else array.view(lane_type)


def true_where_null(comparison: Lanes) -> Lanes:
    """Return a three-valued comparison as a flag: true where a side is unknown, hence null."""
    if isinstance(comparison, pa.Array) and comparison.null_count == 0:
        return comparison
    return pc.fill_null(comparison, True)


def add(left: Lanes, right: Lanes, type_: Type, *, sign: int) -> Lanes:
    """Return `left + sign * right`; null where the sum does not fit in the type or is NaN."""
    operate = pc.add if sign > 0 else pc.subtract
    if type_.floating:
        total = operate(left, right)
        return where(pc.invert(pc.is_nan(total)), total)
    if type_.kind is Kind.DECIMAL:
        wide = pa.decimal256(WIDE_DIGITS, type_.scale)
        return _as_decimal(operate(left.cast(wide), right.cast(wide)), type_, 10**type_.precision - 1)
    left, right = left.cast(pa.int64()), right.cast(pa.int64())
    total = operate(left, right)
    if LANE_TYPES[type_.kind] != pa.int64():
        return narrow_integer(total, type_)
    # The sum wrapped round where it moved against the sign of the addend.
    zero = pa.scalar(0, pa.int64())
    grows = pc.greater_equal(right, zero) if sign > 0 else pc.less_equal(right, zero)
    return where(pc.if_else(grows, pc.greater_equal(total, left), pc.less_equal(total, left)), total)


def step(bound: Lanes, type_: Type, *, sign: int) -> Lanes:
    """Return the next value up or down; null at the type's end."""
    if type_.kind is Kind.DECIMAL:
        unit = pa.scalar(decimal_from_units(1, type_.scale), pa.decimal128(type_.precision, type_.scale))
    else:
        unit = pa.scalar(1, LANE_TYPES[type_.kind])
    return add(bound, unit, type_, sign=sign)


def cast(bound: Lanes, source: Type, target: Type, lane_type: pa.DataType) -> Lanes:
    """Cast lanes as `primitives.cast` does; null where a lane does not fit."""
    if source.kind is Kind.DATE and target.kind is not Kind.DATE:
        days = bound.cast(pa.int64())
        micros = pc.multiply(days, pa.scalar(primitives.MICROS_PER_DAY, pa.int64()))
        return where(_between(days, -_DATE_DAYS_MAX, _DATE_DAYS_MAX), micros)
    if target.kind is Kind.DECIMAL:
        exact = bound.cast(pa.decimal128(_LONG_DIGITS, 0)) if source.integral else bound
        # Decide what fits before the digits shift: afterwards there may be more digits than Arrow holds.
        greatest = (10**target.precision - 1) // 10 ** (target.scale - source.scale)
        return _as_decimal(exact, target, min(greatest, 10**exact.type.precision - 1))
    if source.integral and target.integral:
        return narrow_integer(bound.cast(pa.int64()), target)
    return bound.cast(lane_type, safe=not target.floating)  # to a float rounds to nearest


def where(fits: Lanes, bound: Lanes) -> Lanes:
    """Return the bound where the flag holds, null elsewhere."""
    return pc.if_else(fits, bound, pa.scalar(None, bound.type))


def _between(bound: Lanes, least: object, greatest: object) -> Lanes:
    """Return the flag that a bound lies between two values."""
    lower, upper = pa.scalar(least, bound.type), pa.scalar(greatest, bound.type)
    return pc.and_(pc.less_equal(lower, bound), pc.less_equal(bound, upper))


def narrow_integer(bound: Lanes, type_: Type) -> Lanes:
    """Return 64-bit integers in an integer type; null where one does not fit."""
    assert type_.integer_range is not None
    return where(_between(bound, *type_.integer_range), bound).cast(LANE_TYPES[type_.kind])


def _as_decimal(bound: Lanes, type_: Type, greatest: int) -> Lanes:
    """Return decimals as `type_`, in which no more than `greatest` units of their own scale fit."""
    scale = bound.type.scale
    fits = _between(bound, decimal_from_units(-greatest, scale), decimal_from_units(greatest, scale))
    # Arrow's cast also checks the digits under a null, so digits that do not fit are set to 0 first.
    zero = pa.scalar(decimal_from_units(0, scale), bound.type)
    return where(fits, pc.if_else(fits, bound, zero).cast(pa.decimal128(type_.precision, type_.scale)))


def maybe_meets(lower: Lanes, upper: Lanes, cuts: Cuts) -> Lanes:
    """Return the flag that [lower, upper] may hold a value of the set; a null side is unbounded."""
    places = _places(cuts, lower.type)
    lanes = max(len(bound) for bound in (lower, upper) if isinstance(bound, pa.Array))
    from_lower = _beyond(lower, places, lanes, unbounded=0)
    inside = (from_lower & 1 == 0) if cuts.first else (from_lower & 1 == 1)
    # The first place above `lower`, if there is one: a second search is not needed.
    following = places.take(pa.array(np.minimum(from_lower, len(places) - 1)))
    reached = true_where_null(pc.less_equal(following, upper)).to_numpy(zero_copy_only=False)
    return pa.array(inside | ((from_lower < len(places)) & reached))


@lru_cache(maxsize=64)
def _places(cuts: Cuts, type_: pa.DataType) -> pa.Array:
    """Return, for each cut, the least value of the type that is beyond it."""
    return pa.array([_first_beyond(value, after, type_) for value, after in cuts.points], type_)


def _first_beyond(value: object, after: bool, type_: pa.DataType) -> object:
    """Return the least value beyond a cut."""
    if isinstance(value, bool):
        return int(value)
    if not after:
        return value
    assert isinstance(value, float)  # only floats have cuts after a value
    width = np.float32 if pa.types.is_float32(type_) else np.float64
    with np.errstate(over="ignore"):  # beyond the greatest is infinity
        return np.nextafter(width(value), width(np.inf))


def _beyond(bound: Lanes, places: pa.Array, lanes: int, *, unbounded: int) -> np.ndarray:
    """Return, per lane, how many places are at or below the bound; `unbounded` where it is unknown."""
    if isinstance(bound, pa.Scalar):
        return np.full(lanes, _beyond(pa.repeat(bound, 1), places, 1, unbounded=unbounded)[0])
    if pa.types.is_integer(bound.type) or pa.types.is_floating(bound.type):
        filled = bound.fill_null(0) if bound.null_count else bound
        counts: np.ndarray = np.searchsorted(places.to_numpy(), filled.to_numpy(), side="right")
    else:
        counts = _bisect(bound, places)
    if bound.null_count == 0:
        return counts
    return np.where(bound.is_valid().to_numpy(zero_copy_only=False), counts, unbounded)


def _bisect(bound: pa.Array, places: pa.Array) -> np.ndarray:
    """Search all lanes at once by bisection, for types that numpy does not hold; any count for a null."""
    low = np.zeros(len(bound), np.int64)
    high = np.full(len(bound), len(places), np.int64)
    for _ in range(len(places).bit_length()):
        open_ = low < high
        middle = np.minimum((low + high) // 2, len(places) - 1)
        at_most = pc.fill_null(pc.less_equal(places.take(pa.array(middle)), bound), False).to_numpy(
            zero_copy_only=False
        )
        low = np.where(open_ & at_most, middle + 1, low)
        high = np.where(open_ & ~at_most, middle, high)
    return low
