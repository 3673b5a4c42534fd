"""The Arrow kernels of narrowing casts and of functions, each the answer of the exact primitive.

Where numpy's arithmetic is known to decide a lane it does; the others, few in practice, are asked
of the primitive one value at a time.
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

_POWER_EXACT_MAX = 22  # powers of ten up to it are doubles
_INTEGER_EXACT_MAX = 2**53
_DECIDED_MAX = 2.0**51
_DECIDED_MARGIN = 2.0**-50  # of a scaled double's distance from a tie: several times what scaling loses
_ROUND_DIGITS_MAX = 15
_FLOAT_TIE, _FLOAT_TAIL = 1 << 28, (1 << 29) - 1  # the bits of a double that a float has not
_FLOAT_NORMAL_MIN, _FLOAT_MAX = 2.0**-126, 3.0e38
_MODES = {
    Function.FLOOR: "down",
    Function.CEIL: "up",
    Function.ROUND: "half_towards_infinity",
    Function.BROUND: "half_to_even",
}


def cast(bound: Lanes, source: Type, target: Type, lane_type: pa.DataType) -> Lanes:
    """The casts of `primitives.cast`; null where a lane does not fit."""
    if isinstance(bound, pa.Scalar):
        return cast(pa.repeat(bound, 1), source, target, lane_type)[0]
    if source.kind is Kind.BOOLEAN and target.kind is not Kind.BOOLEAN:
        return kernels.cast(bound, Type(Kind.BYTE), target, lane_type)
    if source.floating and target.integral:
        return _truncated(bound, target, lane_type)
    if source.kind is Kind.DECIMAL and target.floating:
        return _quotients(bound, source, target, lane_type)
    if source.kind is Kind.DECIMAL and target.integral:
        return _rounded(bound, 0, "towards_zero", target, lane_type)
    if source.kind is Kind.DECIMAL and target.kind is Kind.DECIMAL and target.scale < source.scale:
        return _rounded(bound, target.scale, "half_towards_infinity", target, lane_type)
    return kernels.cast(bound, source, target, lane_type)


def apply(call: Apply, bounds: Sequence[Lanes], source: Type, target: Type, lane_type: pa.DataType) -> Lanes:
    """The functions of `functions.apply`; null where a lane has no value in the type."""
    lanes = max((len(bound) for bound in bounds if isinstance(bound, pa.Array)), default=None)
    if lanes is None:
        return apply(call, [pa.repeat(bound, 1) for bound in bounds], source, target, lane_type)[0]
    arrays = [pa.repeat(bound, lanes) if isinstance(bound, pa.Scalar) else bound for bound in bounds]
    if isinstance(call.function, Step):
        return steps.apply(call.function, functions.ENVELOPES[call.side], arrays[0], target, lane_type)
    if call.function in functions.ROUNDING:
        return _round(call, arrays[0], source, target, lane_type)
    values = [_doubles(array) for array in arrays]
    with np.errstate(all="ignore"):
        if call.function is Function.SQRT:
            found = np.sqrt(values[0])
        elif call.function is Function.SIGN:
            found = np.sign(values[0])
        else:
            found = functions.elementary(call, *values)
    known = np.logical_and.reduce([_valid(array) for array in arrays]) & ~np.isnan(found)
    return pa.array(found, lane_type, mask=~known)


def _round(call: Apply, array: pa.Array, source: Type, target: Type, lane_type: pa.DataType) -> pa.Array:
    def one(value: Value) -> Value | None:
        return functions.apply(call, (value,), source, target)

    if not source.floating:
        if _scale(array) - call.digits >= WIDE_DIGITS:
            return _one_by_one(array, one, lane_type)
        mode = _MODES[functions.number_function(call)]
        return _rounded(array, call.digits, mode, target, lane_type)
    if call.function in (Function.FLOOR, Function.CEIL):
        if call.digits or not target.integral:
            return _one_by_one(array, one, lane_type)
        down = np.floor if call.function is Function.FLOOR else np.ceil
        return pa.array(_saturated(down(_doubles(array)), target), lane_type, mask=~_valid(array))
    if abs(call.digits) > _ROUND_DIGITS_MAX or not (target.floating or call.digits == target.scale):
        return _one_by_one(array, one, lane_type)
    units, decided = _nearest_units(_doubles(array), call.digits)
    if target.kind is Kind.DECIMAL:
        fits = np.abs(units) < 10.0**target.precision
        found = _decimals(np.where(decided, units, 0).astype(np.int64), lane_type)
        found = pc.if_else(pa.array(fits | ~decided), found, pa.scalar(None, lane_type))
        return _completed(array, found, decided, one)
    scaled = _scaled(units, -call.digits)
    found, exact = _narrowed(scaled, target)
    return _completed(array, pa.array(found, lane_type), decided & exact, one)


def _nearest_units(values: np.ndarray, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of units that each double rounds to, and whether it is far enough from a tie."""
    with np.errstate(all="ignore"):
        scaled = _scaled(values, digits)
        whole = np.floor(scaled)
        fraction = scaled - whole
        size = np.abs(scaled)
        decided = (np.abs(fraction - 0.5) > (size + 1) * _DECIDED_MARGIN) & (size < _DECIDED_MAX)
    return whole + (fraction > 0.5), decided


def _scaled(values: np.ndarray, digits: int) -> np.ndarray:
    """values * 10**digits, rounded once."""
    power = 10.0 ** abs(digits)
    with np.errstate(all="ignore"):
        scaled: np.ndarray = values * power if digits >= 0 else values / power
    return scaled


def _narrowed(values: np.ndarray, target: Type) -> tuple[np.ndarray, np.ndarray]:
    """Doubles in a floating type, and where a second rounding may not have gone astray."""
    if target.kind is Kind.DOUBLE:
        return values, np.ones(len(values), np.bool_)
    size = np.abs(values)
    tie = (values.view(np.int64) & _FLOAT_TAIL) == _FLOAT_TIE
    plain = (size == 0) | ((size >= _FLOAT_NORMAL_MIN) & (size <= _FLOAT_MAX))
    with np.errstate(all="ignore"):
        return values.astype(np.float32), plain & ~tie


def _truncated(bound: pa.Array, target: Type, lane_type: pa.DataType) -> pa.Array:
    whole = np.trunc(_doubles(bound))
    assert target.integer_range is not None
    least, greatest = target.integer_range
    with np.errstate(invalid="ignore"):
        fits = (whole >= float(least)) & (whole <= float(greatest))
    return pa.array(_saturated(whole, target), lane_type, mask=~(fits & _valid(bound)))


def _saturated(whole: np.ndarray, target: Type) -> np.ndarray:
    """Whole doubles as 64-bit integers inside the limits of an integral type."""
    assert target.integer_range is not None
    least, greatest = target.integer_range
    with np.errstate(invalid="ignore"):
        above, below = whole >= float(greatest + 1), whole < float(least)
        inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(np.int64)
    return np.where(above, greatest, np.where(below, least, inside))


def _quotients(bound: pa.Array, source: Type, target: Type, lane_type: pa.DataType) -> pa.Array:
    """Decimals as the nearest floats: one division of exact doubles where both are."""
    units, small = _units(bound)
    found, exact = _narrowed(_scaled(units.astype(np.float64), -source.scale), target)
    decided = small & (np.abs(units) <= _INTEGER_EXACT_MAX) & exact
    if source.scale > _POWER_EXACT_MAX:
        decided &= units == 0
    return _completed(
        bound, pa.array(found, lane_type), decided, lambda value: primitives.cast(value, source, target)
    )


def _units(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The low 64 bits of each unscaled decimal, and whether they are all of it."""
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
    low, high = words[array.offset : array.offset + len(array)].T
    return low, high == low >> 63


def _decimals(units: np.ndarray, lane_type: pa.DataType) -> pa.Array:
    words = np.stack([units, units >> 63], axis=1)
    return pa.Array.from_buffers(lane_type, len(units), [None, pa.py_buffer(np.ascontiguousarray(words))])


def _rounded(bound: pa.Array, digits: int, mode: str, target: Type, lane_type: pa.DataType) -> pa.Array:
    """Decimals or integers rounded to so many digits after the point, in `target`."""
    scale = _scale(bound)
    if pa.types.is_integer(bound.type):
        bound = bound.cast(pa.int64()).cast(pa.decimal128(19, 0))
    wide = pc.round(
        bound.cast(pa.decimal256(WIDE_DIGITS, scale)), ndigits=min(digits, scale), round_mode=mode
    )
    least, greatest = _limits(target, scale)
    fits = pc.and_(pc.less_equal(least, wide), pc.less_equal(wide, greatest))
    # Arrow's cast looks at the digits under a null too, so those that do not fit become 0 first.
    narrow = pc.if_else(pc.fill_null(fits, False), wide, _wide(0, scale)).cast(lane_type)
    return pc.if_else(fits, narrow, pa.scalar(None, lane_type))


def _scale(array: pa.Array) -> int:
    return int(array.type.scale) if pa.types.is_decimal(array.type) else 0


def _limits(target: Type, scale: int) -> tuple[pa.Scalar, pa.Scalar]:
    """The least and the greatest value of a type as a wide decimal of some scale."""
    if target.kind is Kind.DECIMAL:
        units = (10**target.precision - 1) * 10**scale // 10**target.scale
        return _wide(-units, scale), _wide(units, scale)
    assert target.integer_range is not None
    least, greatest = target.integer_range
    return _wide(least * 10**scale, scale), _wide(greatest * 10**scale, scale)


def _wide(units: int, scale: int) -> pa.Scalar:
    most: int = 10**WIDE_DIGITS - 1
    units = max(-most, min(units, most))
    return pa.scalar(decimals.decimal_from_units(units, scale), pa.decimal256(WIDE_DIGITS, scale))


def _completed(
    array: pa.Array, found: pa.Array, decided: np.ndarray, one: Callable[[Value], Value | None]
) -> pa.Array:
    """What was found where it is decided; elsewhere the answer of the exact primitive."""
    valid = _valid(array)
    found = pc.if_else(pa.array(valid), found, pa.scalar(None, found.type))
    open_ = valid & ~decided
    if not open_.any():
        return found
    return pc.replace_with_mask(
        found, pa.array(open_), _one_by_one(array.filter(pa.array(open_)), one, found.type)
    )


def _one_by_one(array: pa.Array, one: Callable[[Value], Value | None], lane_type: pa.DataType) -> pa.Array:
    """The exact primitive's answer on each lane, each distinct value asked once."""
    encoded = array.dictionary_encode()
    answers = [one(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(answers, lane_type).take(encoded.indices)


def _doubles(array: pa.Array) -> np.ndarray:
    doubles: np.ndarray = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return doubles


def _valid(array: pa.Array) -> np.ndarray:
    valid: np.ndarray = array.is_valid().to_numpy(zero_copy_only=False)
    return valid
