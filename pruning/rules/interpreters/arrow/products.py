"""The Arrow kernels of `+ - * / div %`; a lane without a result that fits becomes null."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type
from pruning.rules.interpreters.arrow import decimals, kernels
from pruning.rules.interpreters.arrow.kernels import Lanes, narrow_integer, where
from pruning.rules.sets.decimals import decimal_from_units

_LONG = pa.int64()
_SHORT_DIGITS = 18  # sums of decimals with up to so many digits fit in 64 bits


def add(left: Lanes, right: Lanes, type_: Type, *, sign: int) -> Lanes:
    """Return `left + sign * right`, of decimals of any scales too."""
    if type_.kind is Kind.DECIMAL:
        short = max(left.type.precision, right.type.precision) <= _SHORT_DIGITS
        if short or not left.type.scale == right.type.scale == type_.scale:
            return decimals.add(left, right, type_, sign=sign)
    return kernels.add(left, right, type_, sign=sign)


def step(bound: Lanes, type_: Type, *, sign: int) -> Lanes:
    """Return the next value up or down; null at the type's end."""
    if type_.kind is Kind.DECIMAL and type_.precision <= _SHORT_DIGITS:
        unit = pa.scalar(decimal_from_units(1, type_.scale), bound.type)
        return decimals.add(bound, unit, type_, sign=sign)
    return kernels.step(bound, type_, sign=sign)


def multiply(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return `left * right`; null where it does not fit or is NaN."""
    if type_.floating:
        return _not_nan(pc.multiply(left, right))
    if type_.kind is Kind.DECIMAL:
        return decimals.multiply(left, right, type_)
    left, right = left.cast(_LONG), right.cast(_LONG)
    product = pc.multiply(left, right)
    if type_.kind is not Kind.LONG:
        return narrow_integer(product, type_)
    # The product as a float estimates the size; an integer product that wrapped round has another sign.
    estimate = pc.multiply(_float(left), _float(right))
    same_sign = pc.equal(pc.less(product, _zero(product)), pc.less(estimate, _zero(estimate)))
    return where(pc.and_(pc.less(pc.abs(estimate), pa.scalar(1.5 * 2**63)), same_sign), product)


def divide(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return `left / right` of floats or decimals; null where the divisor is zero too."""
    if type_.kind is Kind.DECIMAL:
        return decimals.divide(left, right, type_)
    return _not_nan(pc.divide(left, _not_zero(right)))


def quotient(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return the integral part of `left / right`."""
    if pa.types.is_decimal(left.type):
        return decimals.quotient(left, right, type_)
    left, right = left.cast(_LONG), _not_zero(right.cast(_LONG))
    least = pc.equal(left, pa.scalar(-(2**63), _LONG))
    wraps = pc.and_(least, pc.equal(right, pa.scalar(-1, _LONG)))
    return narrow_integer(where(pc.invert(wraps), pc.divide(left, right)), type_)


def remainder(left: Lanes, right: Lanes, type_: Type) -> Lanes:
    """Return the remainder of `left / right`, with the sign of `left`."""
    if type_.kind is Kind.DECIMAL:
        return decimals.remainder(left, right, type_)
    if type_.floating:
        with np.errstate(invalid="ignore"):
            rest = np.fmod(_numbers(left), _numbers(_not_zero(right)))
        return _not_nan(pa.array(rest) if rest.shape else pa.scalar(rest.item(), left.type))
    divisor = _not_zero(right)
    minus_one = pa.scalar(-1, divisor.type)
    # The remainder by -1 is 0, as by 1; the division of the least integer by -1 would overflow.
    divisor = pc.if_else(pc.equal(divisor, minus_one), pa.scalar(1, divisor.type), divisor)
    return pc.subtract(left, pc.multiply(pc.divide(left, divisor), divisor))


def _not_nan(bound: Lanes) -> Lanes:
    """Return the bound with NaN made null."""
    return where(pc.invert(pc.is_nan(bound)), bound)


def _not_zero(bound: Lanes) -> Lanes:
    """Return the bound with zeros made null."""
    return where(pc.not_equal(bound, _zero(bound)), bound)


def _zero(bound: Lanes) -> pa.Scalar:
    """Return zero as a scalar of the bound's type."""
    return pa.scalar(0, bound.type)


def _float(bound: Lanes) -> Lanes:
    """Return integers as doubles."""
    return bound.cast(pa.float64(), safe=False)


def _numbers(bound: Lanes) -> Any:
    """Return floats as numpy numbers; NaN where a lane is null."""
    if isinstance(bound, pa.Scalar):
        width = bound.type.to_pandas_dtype()
        return width(np.nan if bound.as_py() is None else bound.as_py())
    return bound.to_numpy(zero_copy_only=False)
