"""`+` and `-`: on integers with overflow, on decimals with their scales, on IEEE floats."""

import math

from pruning.expressions.trees import Arithmetic, Expression, Mode, Operator
from pruning.expressions.types import Kind, Type
from pruning.rules import ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.primitives import order_keeping
from pruning.rules.program import Bound, Builder, Flag
from pruning.rules.ranges import Range


def arithmetic_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """The sums (differences) of what the two sides may be.

    Claim     Each row's result lies in the range; rows on which it raises have none.
    Premises  The sides lie in their ranges; float addition rounds to nearest, which is monotone
              (axiom ROUNDING, tested).
    Proof     (1) a >= a.lower and b >= b.lower give a + b >= a.lower + b.lower, rounded or not;
                  a - b is least at a.lower - b.upper. A bound that does not fit is unknown.
              (2) Where both exact bounds fit, every exact result fits: nothing overflows.
              (3) Else it may: ANSI raises, TRY and decimals give NULL, LEGACY integers wrap round,
                  so that their bounds hold no longer.
              (4) NaN comes from NaN, or from infinities that cancel.
    """
    assert isinstance(node, Arithmetic)
    build = analysis.build
    sides = [
        _in_type(build, analysis.range(side, environment), node.type) for side in (node.left, node.right)
    ]
    left, right = sides
    if left is None or right is None:
        return ranges.anything(build, node.type)
    lower, upper = _bounds(build, node.operator, left, right)  # (1)
    may_null = build.or_(left.may_null, right.may_null)
    may_nan = build.flag(False)
    if node.type.floating:
        may_nan = _may_be_nan(build, node.operator, left, right)
    else:
        overflows = build.not_(build.and_(build.known(lower), build.known(upper)))  # (2)
        if node.mode is Mode.TRY or (node.mode is Mode.LEGACY and node.type.kind is Kind.DECIMAL):  # (3)
            may_null = build.or_(may_null, build.and_(left.may_value, right.may_value, overflows))
        elif node.mode is Mode.LEGACY:
            unknown = build.unknown(node.type)
            lower, upper = build.choose(overflows, unknown, lower), build.choose(overflows, unknown, upper)
    return Range(
        lower=lower,
        upper=upper,
        may_null=may_null,
        may_nan=may_nan,
        may_value=build.and_(left.may_value, right.may_value),
    )


def _in_type(build: Builder, side: Range, type_: Type) -> Range | None:
    """An operand in the result's type, in which it is exact; None where that is not known.

    Where a decimal result drops digits of its operands (beyond 38 digits) Spark rounds it; that is
    left unknown here.
    """
    if side.type == type_ and (type_.integral or type_.floating or type_.kind is Kind.DECIMAL):
        return side
    if side.type.kind is not Kind.DECIMAL or not order_keeping(side.type, type_):
        return None
    return Range(
        lower=build.cast(side.lower, type_),
        upper=build.cast(side.upper, type_),
        may_null=side.may_null,
        may_nan=side.may_nan,
        may_value=side.may_value,
    )


def _bounds(build: Builder, operator: Operator, left: Range, right: Range) -> tuple[Bound, Bound]:
    if operator is Operator.ADD:
        return build.add(left.lower, right.lower), build.add(left.upper, right.upper)
    return build.subtract(left.lower, right.upper), build.subtract(left.upper, right.lower)


def _may_be_nan(build: Builder, operator: Operator, left: Range, right: Range) -> Flag:
    values = build.and_(left.may_value, right.may_value)
    opposite = operator is Operator.ADD
    cancel = build.or_(
        build.and_(_may_be_infinite(build, left, 1), _may_be_infinite(build, right, -1 if opposite else 1)),
        build.and_(_may_be_infinite(build, left, -1), _may_be_infinite(build, right, 1 if opposite else -1)),
    )  # (4)
    left_nan = build.and_(left.may_nan, build.or_(right.may_nan, right.may_value))
    right_nan = build.and_(right.may_nan, build.or_(left.may_nan, left.may_value))
    return build.or_(left_nan, right_nan, build.and_(values, cancel))


def _may_be_infinite(build: Builder, side: Range, sign: int) -> Flag:
    infinity = build.bound(sign * math.inf, side.type)
    if sign > 0:
        return build.maybe_at_most(infinity, side.upper)
    return build.maybe_at_most(side.lower, infinity)


ARITHMETIC = Rule(range=arithmetic_range)
