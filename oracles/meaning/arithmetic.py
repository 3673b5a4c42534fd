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
    refuse,
    scale_of,
    wrap,
)
from pruning.expressions.trees import Mode, Operator
from pruning.expressions.types import LONG, Kind, Type, Value, decimal

__all__ = ["Overflow", "calculate"]

_DIVISIONS = frozenset({Operator.DIVIDE, Operator.INTEGRAL_DIVIDE, Operator.REMAINDER})
# Spark divides decimals to as many digits, the rest cut off, where a quotient is to be integral.
_QUOTIENT_DIGITS_MAX = 39
# And to as many after the point otherwise, which leaves the digit that rounding looks at.
_QUOTIENT_SCALE = 39


def calculate(
    operator: Operator,
    left: Value | None,
    right: Value | None,
    operands: tuple[Type, Type],
    type_: Type,
    mode: Mode,
) -> Value | None:
    """`left operator right` computed in a type, from operands of two types; None is NULL.

    Raises:
        Overflow: Spark raises, which it does where the result is out of range or the divisor is
            zero and the mode is ANSI, and where an integral quotient of decimals is too long.
    """
    if left is None or right is None:
        return None
    if operator in _DIVISIONS and right == 0:
        refuse(f"{left!r} {operator.value} 0", mode)
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
    """left / right without what follows the point."""
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
    one, other = digits_of(left, scale), digits_of(right, scale)
    match operator:
        case Operator.ADD:
            return fit_decimal(one + other, scale, type_, mode)
        case Operator.SUBTRACT:
            return fit_decimal(one - other, scale, type_, mode)
        case Operator.MULTIPLY:
            return fit_decimal(one * other, 2 * scale, type_, mode)
        case Operator.DIVIDE:
            return fit_decimal(_quotient(one * 10**_QUOTIENT_SCALE, other), _QUOTIENT_SCALE, type_, mode)
        case Operator.REMAINDER:
            remainder = one - other * _integral_quotient(one, other)
            return fit_decimal(remainder, scale, type_, mode)
        case Operator.INTEGRAL_DIVIDE:
            quotient = fit_decimal(_integral_quotient(one, other), 0, _quotient_type(*operands), mode)
            # Spark checks that the decimal fits in its type, then keeps 64 bits of it in every mode.
            return None if quotient is None else wrap(int(quotient), LONG)


def _integral_quotient(left: int, right: int) -> int:
    quotient = _quotient(left, right)
    dropped = 10 ** max(0, len(str(abs(quotient))) - _QUOTIENT_DIGITS_MAX)
    if quotient % dropped:
        raise Overflow(f"{quotient} has more than {_QUOTIENT_DIGITS_MAX} digits")
    return quotient


def _quotient_type(left: Type, right: Type) -> Type:
    """The decimal type that Spark gives `left div right` before it makes a bigint of it."""
    return decimal(min(38, max(1, left.precision - left.scale + right.scale)), 0)
