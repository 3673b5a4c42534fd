"""Arithmetic of decimal lanes, as integers at a scale; null where a result does not fit.

A chunk whose digits leave room is computed in 64 bits; another in Python's integers, which are
exact at any length, and a hundred times slower.
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
        size: At least 1; no unit is larger, nor is the opposite of one.
    """

    units: Any
    valid: Any
    scale: int
    size: int

    def times(self, power: int) -> "_Digits":
        """The same numbers with `power` more digits behind the point."""
        size = self.size * 10**power
        return _Digits(_wide(self.units, size) * 10**power, self.valid, self.scale + power, size)


def add(left: Lanes, right: Lanes, type_: Type, *, sign: int) -> Lanes:
    """`left + sign * right`, rounded half up to the type's scale."""
    one, other = _aligned(left, right)
    size = one.size + other.size
    total = _wide(one.units, size) + sign * _wide(other.units, size)
    exact = _Digits(total, one.valid & other.valid, one.scale, size)
    return _lanes(_rescaled(exact, type_.scale), type_, left, right)


def multiply(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """`left * right`, rounded half up to the type's scale."""
    one, other = _digits(left), _digits(right)
    size = one.size * other.size
    product = _wide(one.units, size) * _wide(other.units, size)
    exact = _Digits(product, one.valid & other.valid, one.scale + other.scale, size)
    return _lanes(_rescaled(exact, type_.scale), type_, left, right)


def divide(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """`left / right`, rounded half up to the type's scale; null where the divisor is zero."""
    one, other = _aligned(left, right)
    ratio = _half_up(one.times(type_.scale), _divisor(other))
    return _lanes(_Digits(ratio.units, ratio.valid, type_.scale, ratio.size), type_, left, right)


def quotient(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """The integral part of `left / right` in an integer type."""
    one, other = _aligned(left, right)
    return _lanes(_toward_zero(one, _divisor(other)), type_, left, right)


def remainder(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """What `left / right` leaves, with the sign of `left`, rounded half up to the type's scale."""
    one, other = _aligned(left, right)
    divisor = _divisor(other)
    whole = _toward_zero(one, divisor)
    size = max(one.size, divisor.size)
    rest = _wide(one.units, size) - _wide(whole.units, size) * _wide(divisor.units, size)
    return _lanes(_rescaled(_Digits(rest, whole.valid, one.scale, one.size), type_.scale), type_, left, right)


def _digits(bound: Lanes) -> _Digits:
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


def _aligned(left: Lanes, right: Lanes) -> tuple[_Digits, _Digits]:
    """Both at the greater scale."""
    one, other = _digits(left), _digits(right)
    scale = max(one.scale, other.scale)
    return one.times(scale - one.scale), other.times(scale - other.scale)


def _divisor(digits: _Digits) -> _Digits:
    """The same with the zeros made null."""
    valid = digits.valid & (digits.units != 0)
    return _Digits(np.where(valid, digits.units, 1), valid, digits.scale, max(digits.size, 1))


def _wide(units: Any, size: int) -> Any:
    """The integers in a form that holds results of a size."""
    return units.astype(object) if size >= _ROOM and units.dtype != object else units


def _rescaled(digits: _Digits, scale: int) -> _Digits:
    """At another scale, rounded half up where digits are lost."""
    if scale >= digits.scale:
        return digits.times(scale - digits.scale)
    power = 10 ** (digits.scale - scale)
    divisor = _Digits(np.array([power], object), np.array([True]), 0, power)
    if power < _ROOM:
        divisor = _Digits(np.array([power]), divisor.valid, 0, power)
    rounded = _half_up(digits, divisor)
    return _Digits(rounded.units, rounded.valid, scale, rounded.size)


def _half_up(numerator: _Digits, denominator: _Digits) -> _Digits:
    """The quotients rounded to nearest, halves away from zero; no denominator is zero."""
    size = 2 * (numerator.size + denominator.size)
    above, below = _wide(numerator.units, size), _wide(denominator.units, size)
    magnitude = (2 * np.abs(above) + np.abs(below)) // (2 * np.abs(below))
    return _signed(magnitude, numerator, denominator)


def _toward_zero(numerator: _Digits, denominator: _Digits) -> _Digits:
    """The integral parts of the quotients; no denominator is zero."""
    size = max(numerator.size, denominator.size)
    above, below = _wide(numerator.units, size), _wide(denominator.units, size)
    return _signed(np.abs(above) // np.abs(below), numerator, denominator)


def _signed(magnitude: Any, numerator: _Digits, denominator: _Digits) -> _Digits:
    negative = (numerator.units < 0) != (denominator.units < 0)
    units = np.where(negative, -magnitude, magnitude)
    return _Digits(units, numerator.valid & denominator.valid, 0, numerator.size + 1)


def _lanes(digits: _Digits, type_: Type, left: Lanes, right: Lanes) -> Lanes:
    """As lanes of a decimal type of their scale, or of an integer type; null where they do not fit."""
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
