"""NEGATE, ABS and SIGN of numbers."""

from dataclasses import replace

from pruning.expressions.trees import Call, Expression, Function, Mode
from pruning.expressions.types import DOUBLE, Kind, Type
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.operands import unbounded_where, zero
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply
from pruning.rules.program.operations import Bound, Flag
from pruning.rules.sets.decimals import decimal_from_units

_NEGATED_DIGITS_MAX = 34  # of java.math.MathContext.DECIMAL128


def negate_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range reflected at zero.

    Claim     Each row's value lies in the range; rows on which it raises have none.
    Premises  The operand lies in its range.
    Proof     (1) lower <= v <= upper gives -upper <= -v <= -lower.
              (2) Only the least integer has no opposite: ANSI raises, TRY gives NULL, LEGACY leaves
                  it as it is, the least value of all.
              (3) Decimals that Spark may round before it negates them are left unknown.
    """
    assert isinstance(node, Call)
    build, operand = analysis.build, analysis.range(node.operands[0], environment)
    if not _is_number(operand.type) or node.type != operand.type:
        return ranges.anything(build, node.type)
    others, is_least = _with_opposite(build, _exactly_negated(build, operand))
    reflected = replace(
        others, lower=_opposite(build, others.upper), upper=_opposite(build, others.lower)
    )  # (1)
    return _with_least(build, operand, reflected, is_least, node.mode)  # (2)


def abs_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the distances from zero.

    Claim     Each row's value lies in the range; rows on which it raises have none.
    Premises  The operand lies in its range.
    Proof     (1) |v| is the greatest of v, -v and 0: each is at least what it is at the bound below
                  it, known or not.
              (2) |v| is v or -v: at most the greater of upper and -lower.
              (3) The least integer is as it is for NEGATE.
    """
    assert isinstance(node, Call)
    build, operand = analysis.build, analysis.range(node.operands[0], environment)
    if not _is_number(operand.type) or node.type != operand.type:
        return ranges.anything(build, node.type)
    others, is_least = _with_opposite(build, _exactly_negated(build, operand))
    distances = magnitudes(build, others)  # (1), (2)
    return _with_least(build, operand, distances, is_least, node.mode)  # (3)


def magnitudes(build: Builder, operand: Range) -> Range:
    """Return the distances from zero of values that have an opposite: (1) and (2) of `abs_range`."""
    nearest = build.greatest_known(operand.lower, _opposite(build, operand.upper))
    return replace(
        operand,
        lower=build.greatest_known(nearest, zero(build, operand.type)),
        upper=build.greatest(operand.upper, _opposite(build, operand.lower)),
    )


def sign_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the signs -1, 0 or 1; SIGN increases, and of NaN it is NaN."""
    assert isinstance(node, Call)
    build, operand = analysis.build, analysis.range(node.operands[0], environment)
    if operand.type != DOUBLE or node.type != DOUBLE:
        return ranges.anything(build, node.type)
    sign = Apply(Function.SIGN)
    return replace(
        operand,
        lower=build.greatest_known(build.apply(sign, operand.lower, type_=DOUBLE), build.bound(-1.0, DOUBLE)),
        upper=build.least_known(build.apply(sign, operand.upper, type_=DOUBLE), build.bound(1.0, DOUBLE)),
    )


def _is_number(type_: Type) -> bool:
    """Tell whether the values of a type are numbers."""
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def _exactly_negated(build: Builder, operand: Range) -> Range:
    """Return the range without bounds where Spark rounds: since 4.0 it rounds opposites to 34 digits."""
    if operand.type.kind is not Kind.DECIMAL or operand.type.precision <= _NEGATED_DIGITS_MAX:
        return operand
    units = 10**_NEGATED_DIGITS_MAX
    least, greatest = (
        build.bound(decimal_from_units(sign * units, operand.type.scale), operand.type) for sign in (-1, 1)
    )
    rounded = build.or_(build.maybe_less(operand.lower, least), build.maybe_less(greatest, operand.upper))
    return unbounded_where(build, operand, rounded)


def _opposite(build: Builder, bound: Bound) -> Bound:
    """Return the bound with the other sign."""
    return build.subtract(zero(build, bound.type), bound)


def _with_opposite(build: Builder, operand: Range) -> tuple[Range, Flag]:
    """Return the values other than the least integer, and the flag that this one may occur."""
    if not operand.type.integral:
        return operand, build.flag(False)
    assert operand.type.integer_range is not None
    least = build.bound(operand.type.integer_range[0], operand.type)
    others = ranges.within(build, operand, build.next(least), build.unknown(operand.type))
    return others, build.and_(operand.may_value, build.maybe_at_most(operand.lower, least))


def _with_least(build: Builder, operand: Range, others: Range, is_least: Flag, mode: Mode) -> Range:
    """Return the results of the other values, joined with the result of the least integer."""
    if mode is Mode.ANSI or not operand.type.integral:
        return others
    if mode is Mode.TRY:
        return replace(others, may_null=build.or_(others.may_null, is_least))
    assert operand.type.integer_range is not None
    least, never = build.bound(operand.type.integer_range[0], operand.type), build.flag(False)
    alone = Range(lower=least, upper=least, may_null=never, may_nan=never, may_value=is_least)
    return ranges.union(build, others, alone)


NEGATE = Rule(range=negate_range)
ABS = Rule(range=abs_range)
SIGN = Rule(range=sign_range)
