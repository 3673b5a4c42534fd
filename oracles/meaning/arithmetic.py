"""Spark's arithmetic in plain Python, for `oracles.meaning.brute_force`."""

import math
from decimal import Decimal

from oracles.meaning.numbers import (
    NoSecondOpinion,
    Overflow,
    digits_of,
    fit_decimal,
    fit_integer,
    float32,
    raise_under_ansi,
    scale_of,
    wrap,
)
from pruning.expressions.trees import Mode, Operator
from pruning.expressions.types import LONG, Kind, Type, Value, decimal

__all__ = ["Overflow", "calculate"]

_DIVISIONS = frozenset({Operator.DIVIDE, Operator.INTEGRAL_DIVIDE, Operator.REMAINDER})
# Spark divides decimals to so many digits, and cuts off the rest, for an integral quotient.
_QUOTIENT_DIGITS_MAX = 39
# Otherwise it divides to so many digits after the point, which leaves the digit that rounding needs.
_QUOTIENT_SCALE = 39


def calculate(
    operator: Operator,
    left: Value | None,
    right: Value | None,
    operands: tuple[Type, Type],
    type_: Type,
    mode: Mode,
) -> Value | None:
    """Return `left operator right` computed in a type, from operands of two types; None is NULL.

    Raises:
        Overflow: Spark raises: the result is out of range or the divisor is zero under ANSI, or an integral
            quotient of decimals is too long.
    """
    if left is None or right is None:
        return None
    if operator in _DIVISIONS and right == 0:
        raise_under_ansi(f"{left!r} {operator.value} 0", mode)
        return None
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return _decimals(operator, left, right, operands, type_, mode)
    if isinstance(left, float) and isinstance(right, float):
        # Rounding a double result of two floats gives the float result: 53 >= 2 * 24 + 2 bits.
        result = _floats(operator, left, right)
        return float32(result) if type_.kind is Kind.FLOAT else result
    assert isinstance(left, int)
    assert isinstance(right, int)
    return fit_integer(_integers(operator, left, right), type_, mode)


def _integers(operator: Operator, left: int, right: int) -> int:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.INTEGRAL_DIVIDE:
            return _quotient(left, right)
        case Operator.REMAINDER:
            return left - right * _quotient(left, right)
    raise NoSecondOpinion(f"no second opinion on {operator.value} of integers")


def _quotient(left: int, right: int) -> int:
    """Return left / right without its fraction."""
    magnitude = abs(left) // abs(right)
    return -magnitude if (left < 0) != (right < 0) else magnitude


def _floats(operator: Operator, left: float, right: float) -> float:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            return left / right
        case Operator.REMAINDER:
            return math.nan if math.isinf(left) else math.fmod(left, right)
    raise NoSecondOpinion(f"no second opinion on {operator.value} of floats")


def _decimals(
    operator: Operator, left: Decimal, right: Decimal, operands: tuple[Type, Type], type_: Type, mode: Mode
) -> Value | None:
    scale = max(scale_of(left), scale_of(right))
    left_digits, right_digits = digits_of(left, scale), digits_of(right, scale)
    match operator:
        case Operator.ADD:
            return fit_decimal(left_digits + right_digits, scale, type_, mode)
        case Operator.SUBTRACT:
            return fit_decimal(left_digits - right_digits, scale, type_, mode)
        case Operator.MULTIPLY:
            return fit_decimal(left_digits * right_digits, 2 * scale, type_, mode)
        case Operator.DIVIDE:
            return fit_decimal(
                _quotient(left_digits * 10**_QUOTIENT_SCALE, right_digits), _QUOTIENT_SCALE, type_, mode
            )
        case Operator.REMAINDER:
            remainder = left_digits - right_digits * _integral_quotient(left_digits, right_digits)
            return fit_decimal(remainder, scale, type_, mode)
        case Operator.INTEGRAL_DIVIDE:
            quotient = fit_decimal(
                _integral_quotient(left_digits, right_digits), 0, _quotient_type(*operands), mode
            )
            # Spark checks that the decimal fits in its type, then keeps 64 bits of it in every mode.
            return None if quotient is None else wrap(int(quotient), LONG)


def _integral_quotient(left: int, right: int) -> int:
    quotient = _quotient(left, right)
    dropped = 10 ** max(0, len(str(abs(quotient))) - _QUOTIENT_DIGITS_MAX)
    if quotient % dropped:
        raise Overflow(f"{quotient} has more than {_QUOTIENT_DIGITS_MAX} digits")
    return quotient


def _quotient_type(left: Type, right: Type) -> Type:
    """Return the decimal type that Spark gives `left div right` before it converts that to a bigint."""
    return decimal(min(38, max(1, left.precision - left.scale + right.scale)), 0)
