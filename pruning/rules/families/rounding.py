"""FLOOR, CEIL, ROUND and BROUND: increasing, to a literal number of digits after the point."""

from dataclasses import replace
from functools import lru_cache

from pruning.expressions.trees import Call, Expression, Function, Literal, Mode
from pruning.expressions.types import Kind, Type, Value
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families import fitting
from pruning.rules.program import functions
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side


def rounding_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the rounded values.

    Claim     Each row's value lies in the range; rows on which it raises have none.
    Premises  `functions.apply` is the function, or encloses it (axiom TEXT); it is increasing.
    Proof     (1) lower <= v <= upper gives f(lower) <= f(v) <= f(upper).
              (2) The values that fit in the type lie between two limits. The others make integers
                  wrap round under LEGACY, are NULL elsewhere, or raise.
              (3) FLOOR and CEIL of a double saturate at the limits of a bigint (or raise, in some
                  releases), and are 0 of NaN.
    """
    assert isinstance(node, Call)
    build, operand = analysis.build, analysis.range(node.operands[0], environment)
    digits = _digits(node)
    if digits is None or not _can_round(node.function, operand.type, node.type, digits):
        return ranges.anything(build, node.type)
    exact = not node.type.floating
    down, up = (
        Apply(node.function, digits, Side.VALUE if exact else side) for side in (Side.BELOW, Side.ABOVE)
    )
    least, greatest = _limits(down, operand.type, node.type) if exact else (None, None)
    kept, overflows = fitting.split_by_limits(build, operand, least, greatest)
    wraps = node.mode is Mode.LEGACY and node.type.integral
    lower, upper = (operand.lower, operand.upper) if wraps else (kept.lower, kept.upper)
    rounded = replace(
        operand if wraps else kept,
        lower=build.apply(down, lower, type_=node.type),
        upper=build.apply(up, upper, type_=node.type),
    )  # (1)
    if operand.type.floating and exact:
        return _with_nan_as_zero(build, rounded)  # (3)
    if wraps:
        unknown = build.unknown(node.type)
        lower, upper = (build.choose(overflows, unknown, bound) for bound in (rounded.lower, rounded.upper))
        return replace(rounded, lower=lower, upper=upper)
    raises = node.mode is Mode.ANSI and node.function in (Function.ROUND, Function.BROUND)
    return rounded if raises else replace(rounded, may_null=build.or_(operand.may_null, overflows))  # (2)


def _digits(node: Call) -> int | None:
    """Return the literal number of digits, 0 if none is given; None if it is not a literal."""
    if len(node.operands) == 1:
        return 0
    digits = node.operands[1]
    return digits.value if isinstance(digits, Literal) and isinstance(digits.value, int) else None


def _can_round(function: Function, source: Type, target: Type, digits: int) -> bool:
    """Tell whether the result type holds the requested digits."""
    if source.floating:
        if function in (Function.FLOOR, Function.CEIL):
            return target.integral and digits == 0
        return target == source
    if source.integral:
        return target.integral
    return source.kind is target.kind is Kind.DECIMAL and min(digits, source.scale) <= target.scale


@lru_cache(maxsize=1024)
def _limits(call: Apply, source: Type, target: Type) -> tuple[Value | None, Value | None]:
    """Return the least and the greatest value whose rounded value fits."""
    return fitting.limits(lambda value: functions.apply(call, (value,), source, target), source)


def _with_nan_as_zero(build: Builder, rounded: Range) -> Range:
    """Return the range with NaN replaced by 0."""
    zero, never = build.bound(0, rounded.type), build.flag(False)
    nan = Range(lower=zero, upper=zero, may_null=never, may_nan=never, may_value=rounded.may_nan)
    return ranges.union(build, replace(rounded, may_nan=never), nan)


ROUNDING = Rule(range=rounding_range)
