"""Arithmetic of decimal lanes, as unscaled integers; null where a result does not fit.

A chunk whose numbers are small enough is computed in 64 bits; any other in Python's integers, which are
exact at any length and a hundred times slower.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pruning.expressions.types import Kind, Type
from pruning.rules.interpreters.arrow.kernels import Lanes

_ROOM = 2**62


@dataclass(frozen=True, slots=True)
class _Digits:
    """Decimals as integers: units * 10**-scale.

    Attributes:
        units: Integers of 64 bits or Python's, shape (lanes,), or (1,) of a scalar; 0 where not valid.
        valid: Which lanes are not null, of the same shape.
        size: A bound of the magnitude of all units; at least 1.
    """

    units: Any
    valid: Any
    scale: int
    size: int

    def times(self, power: int) -> "_Digits":
        """Return the same numbers with `power` more digits behind the point."""
        size = self.size * 10**power
        return _Digits(_with_room(self.units, size) * 10**power, self.valid, self.scale + power, size)


def add(left: Lanes, right: Lanes, type_: Type, *, sign: int) -> Lanes:
    """Return `left + sign * right`, rounded half up to the type's scale."""
    first, second = _common_scale(left, right)
    size = first.size + second.size
    total = _with_room(first.units, size) + sign * _with_room(second.units, size)
    exact = _Digits(total, first.valid & second.valid, first.scale, size)
    return _lanes(_rescale(exact, type_.scale), type_, left, right)


def multiply(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return `left * right`, rounded half up to the type's scale."""
    first, second = _digits(left), _digits(right)
    size = first.size * second.size
    product = _with_room(first.units, size) * _with_room(second.units, size)
    exact = _Digits(product, first.valid & second.valid, first.scale + second.scale, size)
    return _lanes(_rescale(exact, type_.scale), type_, left, right)


def divide(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return `left / right`, rounded half up to the type's scale; null where the divisor is zero."""
    first, second = _common_scale(left, right)
    ratio = _half_up(first.times(type_.scale), _divisor(second))
    return _lanes(_Digits(ratio.units, ratio.valid, type_.scale, ratio.size), type_, left, right)


def quotient(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return the integral part of `left / right` in an integer type."""
    first, second = _common_scale(left, right)
    return _lanes(_toward_zero(first, _divisor(second)), type_, left, right)


def remainder(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return the remainder of `left / right`, with the sign of `left`, rounded half up to the scale."""
    first, second = _common_scale(left, right)
    divisor = _divisor(second)
    whole = _toward_zero(first, divisor)
    size = max(first.size, divisor.size)
    rest = _with_room(first.units, size) - _with_room(whole.units, size) * _with_room(divisor.units, size)
    return _lanes(
        _rescale(_Digits(rest, whole.valid, first.scale, first.size), type_.scale), type_, left, right
    )


def _digits(bound: Lanes) -> _Digits:
    """Return the unscaled integers of decimal lanes."""
    array = pa.repeat(bound, 1) if isinstance(bound, pa.Scalar) else bound
    words = np.frombuffer(array.buffers()[1], np.int64)
    low, high = words[2 * array.offset :: 2][: len(array)], words[2 * array.offset + 1 :: 2][: len(array)]
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if np.array_equal(high[valid], low[valid] >> 63):
        units = np.where(valid, low, 0)
        size = max(int(units.max(initial=1)), -int(units.min(initial=-1)))
        return _Digits(units, valid, array.type.scale, size)
    above, below = np.where(valid, high, 0), np.where(valid, low, 0).view(np.uint64)
    units = above.astype(object) * 2**64 + below.astype(object)
    return _Digits(units, valid, array.type.scale, max(map(abs, units)))


def _common_scale(left: Lanes, right: Lanes) -> tuple[_Digits, _Digits]:
    """Return both sides at the greater of their scales."""
    first, second = _digits(left), _digits(right)
    scale = max(first.scale, second.scale)
    return first.times(scale - first.scale), second.times(scale - second.scale)


def _divisor(digits: _Digits) -> _Digits:
    """Return the same numbers with the zeros made null."""
    valid = digits.valid & (digits.units != 0)
    return _Digits(np.where(valid, digits.units, 1), valid, digits.scale, max(digits.size, 1))


def _with_room(units: Any, size: int) -> Any:
    """Return the integers in a form that holds results of a size."""
    return units.astype(object) if size >= _ROOM and units.dtype != object else units


def _rescale(digits: _Digits, scale: int) -> _Digits:
    """Return the numbers at another scale, rounded half up where digits are lost."""
    if scale >= digits.scale:
        return digits.times(scale - digits.scale)
    power = 10 ** (digits.scale - scale)
    divisor = _Digits(np.array([power], object), np.array([True]), 0, power)
    if power < _ROOM:
        divisor = _Digits(np.array([power]), divisor.valid, 0, power)
    rounded = _half_up(digits, divisor)
    return _Digits(rounded.units, rounded.valid, scale, rounded.size)


def _half_up(numerator: _Digits, denominator: _Digits) -> _Digits:
    """Return the quotients rounded to nearest, halves away from zero; no denominator is zero."""
    size = 2 * (numerator.size + denominator.size)
    above, below = _with_room(numerator.units, size), _with_room(denominator.units, size)
    magnitude = (2 * np.abs(above) + np.abs(below)) // (2 * np.abs(below))
    return _with_sign(magnitude, numerator, denominator)


def _toward_zero(numerator: _Digits, denominator: _Digits) -> _Digits:
    """Return the integral parts of the quotients; no denominator is zero."""
    size = max(numerator.size, denominator.size)
    above, below = _with_room(numerator.units, size), _with_room(denominator.units, size)
    return _with_sign(np.abs(above) // np.abs(below), numerator, denominator)


def _with_sign(magnitude: Any, numerator: _Digits, denominator: _Digits) -> _Digits:
    """Return magnitudes with the signs of quotients."""
    negative = (numerator.units < 0) != (denominator.units < 0)
    units = np.where(negative, -magnitude, magnitude)
    return _Digits(units, numerator.valid & denominator.valid, 0, numerator.size + 1)


def _lanes(digits: _Digits, type_: Type, left: Lanes, right: Lanes) -> Lanes:
    """Return lanes of a decimal type of this scale, or of an integer type; null where they do not fit."""
    least, greatest = type_.integer_range or (1 - 10**type_.precision, 10**type_.precision - 1)
    fits = digits.valid
    if digits.size > greatest:
        fits = fits & (digits.units >= least).astype(bool) & (digits.units <= greatest).astype(bool)
    units = np.where(fits, digits.units, 0)
    if type_.kind is Kind.DECIMAL:
        lanes = _decimals(units, fits, type_)
    else:
        lanes = pa.array(units.astype(np.int64), mask=~fits)
    return lanes[0] if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar) else lanes


def _decimals(units: Any, valid: Any, type_: Type) -> pa.Array:
    """Return decimal lanes of unscaled integers."""
    words = np.empty((len(units), 2), np.int64)
    if units.dtype == object:
        words[:, 0] = (units & (2**64 - 1)).astype(np.uint64).view(np.int64)
        words[:, 1] = (units >> 64).astype(np.int64)
    else:
        words[:, 0] = units
        words[:, 1] = units >> 63
    bitmap = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(
        pa.decimal128(type_.precision, type_.scale), len(units), [bitmap, pa.py_buffer(words)]
    )
