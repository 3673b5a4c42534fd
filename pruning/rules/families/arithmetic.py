"""`+` and `-`: on integers with overflow, on decimals with their scales, on IEEE floats.

Products and quotients are in the modules `multiplication` and `division`. Results that do not fit are
treated here, in the same way for all operators.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pruning.expressions.traversal import is_repeatable
from pruning.expressions.trees import Arithmetic, Expression, Mode, Operator
from pruning.expressions.types import LONG, Kind, Type
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.division import quotient_range, remainder_range
from pruning.rules.families.fitting import split_by_limits, type_limits
from pruning.rules.families.multiplication import product_range
from pruning.rules.families.operands import (
    may_be_any_infinity,
    may_be_infinite,
    may_be_nan,
    number,
    results_in_mode,
    unbounded_where,
)
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound, Flag


def arithmetic_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the results; anything if Spark does not compute with such operand types."""
    assert isinstance(node, Arithmetic)
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    if not _computable(node, left.type, right.type):
        return ranges.anything(analysis.build, node.type)
    itself = node.left == node.right and is_repeatable(node.left)
    if itself and node.operator in _OF_ITSELF and _can_hold_one(node.type):
        return _range_of_itself(analysis.build, node, left)
    if node.operator in _RING and node.type.integral and node.type != LONG:
        return _computed_as_long(analysis.build, node, left, right)
    return _RANGES[node.operator](analysis.build, node, left, right)


def _can_hold_one(type_: Type) -> bool:
    """Tell whether the number 1 is a value of the type."""
    return type_.kind is not Kind.DECIMAL or type_.scale < type_.precision


def _range_of_itself(build: Builder, node: Arithmetic, operand: Range) -> Range:
    """Return the range of `a - a` or `a % a`, which is 0, or of `a / a` or `a div a`, which is 1."""
    result = build.bound(number(_OF_ITSELF[node.operator] * 10**node.type.scale, node.type), node.type)
    if node.operator is Operator.SUBTRACT:
        nan = build.flag(False)
        if node.type.floating:
            nan = build.or_(
                operand.may_nan, build.and_(operand.may_value, may_be_any_infinity(build, operand))
            )
        return replace(operand, lower=result, upper=result, may_nan=nan)
    return replace(_RANGES[node.operator](build, node, operand, operand), lower=result, upper=result)


def _computed_as_long(build: Builder, node: Arithmetic, left: Range, right: Range) -> Range:
    """Return the range of an integer sum or product: computed as bigints, then cut to the type.

    Claim     Each row's result, as the mode treats one that does not fit, lies in the range.
    Premises  The rules of sums and products hold of bigints; two ints have a product that fits there.
    Proof     (1) An int has the least and the greatest value of its type for bounds, if no others.
              (2) The results that fit in the type lie between its limits: ANSI raises on the others,
                  TRY makes them NULL, LEGACY wraps them round, so that no bound holds.
    """
    sides = (_as_long(build, side) for side in (left, right))
    exact = _RANGES[node.operator](build, replace(node, type=LONG, mode=Mode.ANSI), *sides)
    assert node.type.integer_range is not None
    kept, overflows = split_by_limits(build, exact, *node.type.integer_range)
    if node.mode is Mode.LEGACY:
        return unbounded_where(build, _cast(build, exact, node.type), overflows)
    null = build.or_(kept.may_null, overflows) if node.mode is Mode.TRY else kept.may_null
    return replace(_cast(build, kept, node.type), may_null=null)  # (2)


def _as_long(build: Builder, side: Range) -> Range:
    """Return the range of an integer as a bigint."""
    least, greatest = type_limits(build, side.type)
    lower, upper = build.greatest_known(side.lower, least), build.least_known(side.upper, greatest)
    return _cast(build, replace(side, lower=lower, upper=upper), LONG)  # (1)


def _cast(build: Builder, side: Range, type_: Type) -> Range:
    """Return the range with its bounds cast to a type."""
    return replace(side, lower=build.cast(side.lower, type_), upper=build.cast(side.upper, type_))


def _computable(node: Arithmetic, left: Type, right: Type) -> bool:
    """Tell whether Spark computes the operator on operands of these types."""
    if left.kind is Kind.DECIMAL and right.kind is Kind.DECIMAL:
        kind = Kind.LONG if node.operator is Operator.INTEGRAL_DIVIDE else Kind.DECIMAL
        return node.type.kind is kind
    numbers = node.type.floating or (node.type.integral and node.operator is not Operator.DIVIDE)
    return numbers and left == right == node.type


def sum_range(build: Builder, node: Arithmetic, left: Range, right: Range) -> Range:
    """Return the range of the sums (differences) of two sides.

    Claim     Each row's result lies in the range; rows on which it raises have none.
    Premises  The sides lie in their ranges; rounding, of decimals half up and of floats to nearest,
              is monotone (axiom ROUNDING, tested).
    Proof     (1) a >= a.lower and b >= b.lower give a + b >= a.lower + b.lower, rounded or not;
                  a - b is least at a.lower - b.upper. A bound that does not fit is unknown.
              (2) Where both bounds fit every result does; else see `operands.results_in_mode`.
              (3) NaN comes from NaN, or from infinities that cancel.
    """
    lower, upper = _bounds(build, node, left, right)  # (1)
    values = build.and_(left.may_value, right.may_value)
    nan = build.flag(False)
    if node.type.floating:
        cancel = build.and_(values, _may_cancel(build, node.operator, left, right))
        nan = build.or_(may_be_nan(build, left, right), cancel)  # (3)
    total = Range(
        lower=lower,
        upper=upper,
        may_null=build.or_(left.may_null, right.may_null),
        may_nan=nan,
        may_value=values,
    )
    return results_in_mode(build, total, node.mode)  # (2)


def _bounds(build: Builder, node: Arithmetic, left: Range, right: Range) -> tuple[Bound, Bound]:
    """Return the lower and the upper bound of the sums (differences)."""
    if node.operator is Operator.ADD:
        return build.add(left.lower, right.lower, node.type), build.add(left.upper, right.upper, node.type)
    return (
        build.subtract(left.lower, right.upper, node.type),
        build.subtract(left.upper, right.lower, node.type),
    )


def _may_cancel(build: Builder, operator: Operator, left: Range, right: Range) -> Flag:
    """Return the flag that infinities of the two sides may cancel."""
    other = -1 if operator is Operator.ADD else 1
    return build.or_(
        *(
            build.and_(may_be_infinite(build, left, sign), may_be_infinite(build, right, sign * other))
            for sign in (1, -1)
        )
    )


_RANGES: Mapping[Operator, Callable[[Builder, Arithmetic, Range, Range], Range]] = {
    Operator.ADD: sum_range,
    Operator.SUBTRACT: sum_range,
    Operator.MULTIPLY: product_range,
    Operator.DIVIDE: quotient_range,
    Operator.INTEGRAL_DIVIDE: quotient_range,
    Operator.REMAINDER: remainder_range,
}

_RING = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY)
_OF_ITSELF = {
    Operator.SUBTRACT: 0,
    Operator.REMAINDER: 0,
    Operator.DIVIDE: 1,
    Operator.INTEGRAL_DIVIDE: 1,
}
ARITHMETIC = Rule(range=arithmetic_range)
