"""The Arrow kernels of narrowing casts and of functions, with the same results as the exact primitives.

Lanes that numpy's arithmetic provably decides are computed by it; the others, few in practice, by the
exact primitive, one value at a time.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Function
from pruning.expressions.types import Kind, Type, Value
from pruning.rules.interpreters.arrow import kernels, steps
from pruning.rules.interpreters.arrow.kernels import WIDE_DIGITS, Lanes
from pruning.rules.program import functions
from pruning.rules.program.functions import Apply
from pruning.rules.sets import decimals, primitives
from pruning.rules.time.steps import Step

_POWER_EXACT_MAX = 22  # powers of ten up to this exponent are exact as doubles
_INTEGER_EXACT_MAX = 2**53
_DECIDED_MAX = 2.0**51
_DECIDED_MARGIN = 2.0**-50  # the least relative distance from a tie: several times the error of scaling
_ROUND_DIGITS_MAX = 15
_FLOAT_TIE, _FLOAT_TAIL = 1 << 28, (1 << 29) - 1  # the bits of a double that a float lacks
_FLOAT_NORMAL_MIN, _FLOAT_MAX = 2.0**-126, 3.0e38
_MODES = {
    Function.FLOOR: "down",
    Function.CEIL: "up",
    Function.ROUND: "half_towards_infinity",
    Function.BROUND: "half_to_even",
}


def cast(bound: Lanes, source: Type, target: Type, lane_type: pa.DataType) -> Lanes:
    """Cast lanes as `primitives.cast` does; null where a lane does not fit."""
    if isinstance(bound, pa.Scalar):
        return cast(pa.repeat(bound, 1), source, target, lane_type)[0]
    if source.kind is Kind.BOOLEAN and target.kind is not Kind.BOOLEAN:
        return kernels.cast(bound, Type(Kind.BYTE), target, lane_type)
    if source.floating and target.integral:
        return _truncate(bound, target, lane_type)
    if source.kind is Kind.DECIMAL and target.floating:
        return _decimals_to_floats(bound, source, target, lane_type)
    if source.kind is Kind.DECIMAL and target.integral:
        return _round_decimals(bound, 0, "towards_zero", target, lane_type)
    if source.kind is Kind.DECIMAL and target.kind is Kind.DECIMAL and target.scale < source.scale:
        return _round_decimals(bound, target.scale, "half_towards_infinity", target, lane_type)
    return kernels.cast(bound, source, target, lane_type)


def apply(call: Apply, bounds: Sequence[Lanes], source: Type, target: Type, lane_type: pa.DataType) -> Lanes:
    """Apply a function as `functions.apply` does; null where a lane has no value in the type."""
    lanes = max((len(bound) for bound in bounds if isinstance(bound, pa.Array)), default=None)
    if lanes is None:
        return apply(call, [pa.repeat(bound, 1) for bound in bounds], source, target, lane_type)[0]
    arrays = [pa.repeat(bound, lanes) if isinstance(bound, pa.Scalar) else bound for bound in bounds]
    if isinstance(call.function, Step):
        return steps.apply(call.function, functions.ENVELOPES[call.side], arrays[0], target, lane_type)
    if call.function in functions.ROUNDING:
        return _apply_rounding(call, arrays[0], source, target, lane_type)
    values = [_doubles(array) for array in arrays]
    with np.errstate(all="ignore"):
        if call.function is Function.SQRT:
            results = np.sqrt(values[0])
        elif call.function is Function.SIGN:
            results = np.sign(values[0])
        else:
            results = functions.elementary(call, *values)
    defined = np.logical_and.reduce([_valid(array) for array in arrays]) & ~np.isnan(results)
    return pa.array(results, lane_type, mask=~defined)


def _apply_rounding(
    call: Apply, array: pa.Array, source: Type, target: Type, lane_type: pa.DataType
) -> pa.Array:
    """Apply FLOOR, CEIL, ROUND or BROUND."""

    def exact_value(value: Value) -> Value | None:
        """Return the rounded value by the exact primitive."""
        return functions.apply(call, (value,), source, target)

    if not source.floating:
        if _scale(array) - call.digits >= WIDE_DIGITS:
            return _apply_exact(array, exact_value, lane_type)
        mode = _MODES[functions.number_function(call)]
        return _round_decimals(array, call.digits, mode, target, lane_type)
    if call.function in (Function.FLOOR, Function.CEIL):
        if call.digits or not target.integral:
            return _apply_exact(array, exact_value, lane_type)
        down = np.floor if call.function is Function.FLOOR else np.ceil
        return pa.array(_saturate(down(_doubles(array)), target), lane_type, mask=~_valid(array))
    if abs(call.digits) > _ROUND_DIGITS_MAX or not (target.floating or call.digits == target.scale):
        return _apply_exact(array, exact_value, lane_type)
    units, decided = _nearest_units(_doubles(array), call.digits)
    if target.kind is Kind.DECIMAL:
        fits = np.abs(units) < 10.0**target.precision
        results = _decimals(np.where(decided, units, 0).astype(np.int64), lane_type)
        results = pc.if_else(pa.array(fits | ~decided), results, pa.scalar(None, lane_type))
        return _complete(array, results, decided, exact_value)
    scaled = _scale_by_power(units, -call.digits)
    results, exact = _narrow(scaled, target)
    return _complete(array, pa.array(results, lane_type), decided & exact, exact_value)


def _nearest_units(values: np.ndarray, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of units that each double rounds to, and whether it is far enough from a tie."""
    with np.errstate(all="ignore"):
        scaled = _scale_by_power(values, digits)
        whole = np.floor(scaled)
        fraction = scaled - whole
        size = np.abs(scaled)
        decided = (np.abs(fraction - 0.5) > (size + 1) * _DECIDED_MARGIN) & (size < _DECIDED_MAX)
    return whole + (fraction > 0.5), decided


def _scale_by_power(values: np.ndarray, digits: int) -> np.ndarray:
    """Return values * 10**digits, rounded once."""
    power = 10.0 ** abs(digits)
    with np.errstate(all="ignore"):
        scaled: np.ndarray = values * power if digits >= 0 else values / power
    return scaled


def _narrow(values: np.ndarray, target: Type) -> tuple[np.ndarray, np.ndarray]:
    """Return doubles in a floating type, and where double rounding cannot change the result."""
    if target.kind is Kind.DOUBLE:
        return values, np.ones(len(values), np.bool_)
    size = np.abs(values)
    tie = (values.view(np.int64) & _FLOAT_TAIL) == _FLOAT_TIE
    plain = (size == 0) | ((size >= _FLOAT_NORMAL_MIN) & (size <= _FLOAT_MAX))
    with np.errstate(all="ignore"):
        return values.astype(np.float32), plain & ~tie


def _truncate(bound: pa.Array, target: Type, lane_type: pa.DataType) -> pa.Array:
    """Truncate floats to an integral type; null where they do not fit."""
    whole = np.trunc(_doubles(bound))
    assert target.integer_range is not None
    least, greatest = target.integer_range
    with np.errstate(invalid="ignore"):
        fits = (whole >= float(least)) & (whole <= float(greatest))
    return pa.array(_saturate(whole, target), lane_type, mask=~(fits & _valid(bound)))


def _saturate(whole: np.ndarray, target: Type) -> np.ndarray:
    """Return whole doubles as 64-bit integers, cut to the limits of an integral type."""
    assert target.integer_range is not None
    least, greatest = target.integer_range
    with np.errstate(invalid="ignore"):
        above, below = whole >= float(greatest + 1), whole < float(least)
        inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(np.int64)
    return np.where(above, greatest, np.where(below, least, inside))


def _decimals_to_floats(bound: pa.Array, source: Type, target: Type, lane_type: pa.DataType) -> pa.Array:
    """Return decimals as the nearest floats: by one division, where both sides are exact doubles."""
    units, small = _units(bound)
    results, exact = _narrow(_scale_by_power(units.astype(np.float64), -source.scale), target)
    decided = small & (np.abs(units) <= _INTEGER_EXACT_MAX) & exact
    if source.scale > _POWER_EXACT_MAX:
        decided &= units == 0
    return _complete(
        bound, pa.array(results, lane_type), decided, lambda value: primitives.cast(value, source, target)
    )


def _units(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the low 64 bits of each unscaled decimal, and whether they are all of it."""
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
    low, high = words[array.offset : array.offset + len(array)].T
    return low, high == low >> 63


def _decimals(units: np.ndarray, lane_type: pa.DataType) -> pa.Array:
    """Return decimal lanes of 64-bit unscaled integers."""
    words = np.stack([units, units >> 63], axis=1)
    return pa.Array.from_buffers(lane_type, len(units), [None, pa.py_buffer(np.ascontiguousarray(words))])


def _round_decimals(
    bound: pa.Array, digits: int, mode: str, target: Type, lane_type: pa.DataType
) -> pa.Array:
    """Round decimals or integers to a number of digits after the point, in `target`."""
    scale = _scale(bound)
    if pa.types.is_integer(bound.type):
        bound = bound.cast(pa.int64()).cast(pa.decimal128(19, 0))
    wide = pc.round(
        bound.cast(pa.decimal256(WIDE_DIGITS, scale)), ndigits=min(digits, scale), round_mode=mode
    )
    least, greatest = _limits(target, scale)
    fits = pc.and_(pc.less_equal(least, wide), pc.less_equal(wide, greatest))
    # Arrow's cast also checks the digits under a null, so digits that do not fit are set to 0 first.
    narrow = pc.if_else(pc.fill_null(fits, False), wide, _wide_decimal(0, scale)).cast(lane_type)
    return pc.if_else(fits, narrow, pa.scalar(None, lane_type))


def _scale(array: pa.Array) -> int:
    """Return the scale of decimal lanes; 0 of integers."""
    return int(array.type.scale) if pa.types.is_decimal(array.type) else 0


def _limits(target: Type, scale: int) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the least and the greatest value of a type as wide decimals of some scale."""
    if target.kind is Kind.DECIMAL:
        units = (10**target.precision - 1) * 10**scale // 10**target.scale
        return _wide_decimal(-units, scale), _wide_decimal(units, scale)
    assert target.integer_range is not None
    least, greatest = target.integer_range
    return _wide_decimal(least * 10**scale, scale), _wide_decimal(greatest * 10**scale, scale)


def _wide_decimal(units: int, scale: int) -> pa.Scalar:
    """Return a wide decimal scalar, cut to the greatest one."""
    most: int = 10**WIDE_DIGITS - 1
    units = max(-most, min(units, most))
    return pa.scalar(decimals.decimal_from_units(units, scale), pa.decimal256(WIDE_DIGITS, scale))


def _complete(
    array: pa.Array, results: pa.Array, decided: np.ndarray, exact_value: Callable[[Value], Value | None]
) -> pa.Array:
    """Return the results where they are decided; elsewhere those of the exact primitive."""
    valid = _valid(array)
    results = pc.if_else(pa.array(valid), results, pa.scalar(None, results.type))
    open_ = valid & ~decided
    if not open_.any():
        return results
    return pc.replace_with_mask(
        results, pa.array(open_), _apply_exact(array.filter(pa.array(open_)), exact_value, results.type)
    )


def _apply_exact(
    array: pa.Array, exact_value: Callable[[Value], Value | None], lane_type: pa.DataType
) -> pa.Array:
    """Apply the exact primitive to each lane, once per distinct value."""
    encoded = array.dictionary_encode()
    answers = [exact_value(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(answers, lane_type).take(encoded.indices)


def _doubles(array: pa.Array) -> np.ndarray:
    """Return lanes as a numpy array of doubles."""
    doubles: np.ndarray = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return doubles


def _valid(array: pa.Array) -> np.ndarray:
    """Return the lanes that are not null."""
    valid: np.ndarray = array.is_valid().to_numpy(zero_copy_only=False)
    return valid
