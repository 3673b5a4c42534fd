"""The types of decimal results, as Spark's analyser gives them.

Source: Spark's rules of decimal precision; `tests/strategies/test_result_types.py` asks Spark.
"""

from pruning.expressions.trees import Operator
from pruning.expressions.types import DECIMAL_PRECISION_MAX, Type, decimal

_SCALE_KEPT_MIN = 6  # a result's scale is not cut below this when its precision would exceed 38


def result_type(operator: Operator, left: Type, right: Type) -> Type:
    """Return the type of `left operator right` for two decimal types and an operator except `div`."""
    whole, scale = _digits(operator, left, right)
    if whole + scale <= DECIMAL_PRECISION_MAX:
        return decimal(whole + scale, scale)
    return decimal(DECIMAL_PRECISION_MAX, max(DECIMAL_PRECISION_MAX - whole, min(scale, _SCALE_KEPT_MIN)))


def can_overflow(operator: Operator, left: Type, right: Type) -> bool:
    """Tell whether a result can need more digits than Spark has; the divisor is not zero."""
    if operator is Operator.INTEGRAL_DIVIDE:
        return left.precision - left.scale + right.scale > DECIMAL_PRECISION_MAX
    whole, scale = _digits(operator, left, right)
    return whole + scale > DECIMAL_PRECISION_MAX


def rounded_type(source: Type, digits: int) -> Type:
    """Return the type of a decimal rounded, up, down or to the nearest, to `digits` after the point."""
    whole, scale = _rounded_digits(source, digits)
    return decimal(min(whole + scale, DECIMAL_PRECISION_MAX), scale)


def rounding_can_overflow(source: Type, digits: int) -> bool:
    """Tell whether a rounded decimal can need more digits than Spark has."""
    return sum(_rounded_digits(source, digits)) > DECIMAL_PRECISION_MAX


def whole_type(source: Type) -> Type:
    """Return the type of FLOOR and CEIL of a decimal without a number of digits; no value overflows."""
    return source if source.scale == 0 else decimal(source.precision - source.scale + 1, 0)


def _digits(operator: Operator, left: Type, right: Type) -> tuple[int, int]:
    """Return the digits before and after the point if there were no limit."""
    before = (left.precision - left.scale, right.precision - right.scale)
    match operator:
        case Operator.MULTIPLY:
            return sum(before) + 1, left.scale + right.scale
        case Operator.DIVIDE:
            return before[0] + right.scale, max(_SCALE_KEPT_MIN, left.scale + right.precision + 1)
        case Operator.REMAINDER:
            return min(before), max(left.scale, right.scale)
        case _:
            return max(before) + 1, max(left.scale, right.scale)


def _rounded_digits(source: Type, digits: int) -> tuple[int, int]:
    whole = source.precision - source.scale + 1
    if digits < 0:
        return max(whole, 1 - digits), 0
    return whole, min(source.scale, digits)
