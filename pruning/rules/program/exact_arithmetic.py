"""The meaning of `+`, `-`, `*`, `/`, `div` and `%` on single exact Python values; as `rules.sets.primitives`.

None is "unknown": the result does not fit in its type, is NaN, or the divisor is zero. Decimal
operands may have different scales; a decimal result is the exact one rounded half up.
"""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

from pruning.expressions.types import Kind, Type, Value
from pruning.rules.program.operations import Op
from pruning.rules.sets import decimals, primitives
from pruning.rules.sets.primitives import representable, to_float32


def has_products(type_: Type) -> bool:
    """Tell whether values of the type can be multiplied and divided."""
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def multiply(left: Value, right: Value, type_: Type) -> Value | None:
    """Return `left * right` in `type_`."""
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        (left_digits, left_scale), (right_digits, right_scale) = map(decimals.units_and_scale, (left, right))
        return decimals.rescale(left_digits * right_digits, left_scale + right_scale, type_)
    if type_.floating:
        return _as_float(float(left) * float(right), type_)
    return representable(int(left) * int(right), type_)


def divide(left: Value, right: Value, type_: Type) -> Value | None:
    """Return `left / right` in `type_`, a decimal or a float."""
    if right == 0:
        return None
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        numerator, denominator, _ = decimals.common_scale(left, right)
        return decimals.nearest(Fraction(numerator, denominator), type_)
    dividend, divisor = float(left), float(right)
    if math.isinf(dividend) and math.isinf(divisor):
        return None
    return _as_float(dividend / divisor, type_)


def quotient(left: Value, right: Value, type_: Type) -> Value | None:
    """Return the integral part of `left / right` of integers or decimals, in the integer type `type_`."""
    if right == 0:
        return None
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        numerator, denominator, _ = decimals.common_scale(left, right)
        return representable(decimals.toward_zero(numerator, denominator), type_)
    return representable(decimals.toward_zero(int(left), int(right)), type_)


def remainder(left: Value, right: Value, type_: Type) -> Value | None:
    """Return the remainder of `left / right`, with the sign of `left`; exact in floats too."""
    if right == 0:
        return None
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        numerator, denominator, scale = decimals.common_scale(left, right)
        rest = numerator - denominator * decimals.toward_zero(numerator, denominator)
        return decimals.rescale(rest, scale, type_)
    if type_.floating:
        return None if math.isinf(float(left)) else math.fmod(float(left), float(right))
    left, right = int(left), int(right)
    return representable(left - right * decimals.toward_zero(left, right), type_)


def _as_float(value: float, type_: Type) -> Value | None:
    """Return a double rounded to a floating type; None for NaN."""
    return representable(to_float32(value) if type_.kind is Kind.FLOAT else value, type_)


ARITHMETIC: Mapping[Op, Callable[[Value, Value, Type], Value | None]] = {
    Op.ADD: primitives.add,
    Op.SUBTRACT: lambda left, right, type_: primitives.add(left, right, type_, sign=-1),
    Op.MULTIPLY: multiply,
    Op.DIVIDE: divide,
    Op.QUOTIENT: quotient,
    Op.REMAINDER: remainder,
}


def is_defined(op: Op, left: Type, right: Type, target: Type) -> bool:
    """Tell whether an operation is defined on the operands' types and gives values of the target."""
    if left.kind is not right.kind:
        return False
    if op is Op.QUOTIENT:
        return has_products(left) and not left.floating and target.integral
    if left.kind is not target.kind:
        return False
    if op in (Op.ADD, Op.SUBTRACT):
        return primitives.has_sums(left)
    return has_products(left) and not (op is Op.DIVIDE and left.integral)
