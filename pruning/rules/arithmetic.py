"""`+` and `-`: on integers with overflow, on decimals with their scales, on IEEE floats.

Products and quotients are in `rules.multiplication` and `rules.division`; what a result that does
not fit means is the same for all, and here.
"""

from collections.abc import Callable, Mapping

from pruning.expressions.trees import Arithmetic, Expression, Operator
from pruning.expressions.types import Kind, Type
from pruning.rules import ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.division import quotient_range, remainder_range
from pruning.rules.environment import Environment
from pruning.rules.multiplication import product_range
from pruning.rules.operands import fitted, may_be_infinite, may_be_nan
from pruning.rules.program import Bound, Builder, Flag
from pruning.rules.ranges import Range


def arithmetic_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Where the results lie; anything where the operands are not of the types Spark computes with."""
    assert isinstance(node, Arithmetic)
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    if not _computable(node, left.type, right.type):
        return ranges.anything(analysis.build, node.type)
    return _RANGES[node.operator](analysis.build, node, left, right)


def _computable(node: Arithmetic, left: Type, right: Type) -> bool:
    if left.kind is Kind.DECIMAL and right.kind is Kind.DECIMAL:
        kind = Kind.LONG if node.operator is Operator.INTEGRAL_DIVIDE else Kind.DECIMAL
        return node.type.kind is kind
    numbers = node.type.floating or (node.type.integral and node.operator is not Operator.DIVIDE)
    return numbers and left == right == node.type


def sum_range(build: Builder, node: Arithmetic, left: Range, right: Range) -> Range:
    """The sums (differences) of what the two sides may be.

    Claim     Each row's result lies in the range; rows on which it raises have none.
    Premises  The sides lie in their ranges; rounding, of decimals half up and of floats to nearest,
              is monotone (axiom ROUNDING, tested).
    Proof     (1) a >= a.lower and b >= b.lower give a + b >= a.lower + b.lower, rounded or not;
                  a - b is least at a.lower - b.upper. A bound that does not fit is unknown.
              (2) Where both bounds fit every result does; else see `operands.fitted`.
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
    return fitted(build, total, node.mode)  # (2)


def _bounds(build: Builder, node: Arithmetic, left: Range, right: Range) -> tuple[Bound, Bound]:
    if node.operator is Operator.ADD:
        return build.add(left.lower, right.lower, node.type), build.add(left.upper, right.upper, node.type)
    return (
        build.subtract(left.lower, right.upper, node.type),
        build.subtract(left.upper, right.lower, node.type),
    )


def _may_cancel(build: Builder, operator: Operator, left: Range, right: Range) -> Flag:
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

ARITHMETIC = Rule(range=arithmetic_range)
