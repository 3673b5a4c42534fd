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
    """The range reflected at zero.

    Claim     Each row's value lies in the range; rows on which it raises have none.
    Premises  The operand lies in its range.
    Proof     (1) lower <= v <= upper gives -upper <= -v <= -lower.
              (2) Only the least integer has no opposite: ANSI raises, TRY gives NULL, LEGACY leaves
                  it as it is, the least value of all.
              (3) Decimals that Spark may round before it negates them are left unknown.
    """
    assert isinstance(node, Call)
    build, known = analysis.build, analysis.range(node.operands[0], environment)
    if not _signed(known.type) or node.type != known.type:
        return ranges.anything(build, node.type)
    others, is_least = _with_opposite(build, _in_context(build, known))
    reflected = replace(
        others, lower=_opposite(build, others.upper), upper=_opposite(build, others.lower)
    )  # (1)
    return _with_least(build, known, reflected, is_least, node.mode)  # (2)


def abs_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """The distances from zero.

    Claim     Each row's value lies in the range; rows on which it raises have none.
    Premises  The operand lies in its range.
    Proof     (1) |v| is the greatest of v, -v and 0: each is at least what it is at the bound below
                  it, known or not.
              (2) |v| is v or -v: at most the greater of upper and -lower.
              (3) The least integer is as it is for NEGATE.
    """
    assert isinstance(node, Call)
    build, known = analysis.build, analysis.range(node.operands[0], environment)
    if not _signed(known.type) or node.type != known.type:
        return ranges.anything(build, node.type)
    others, is_least = _with_opposite(build, _in_context(build, known))
    distances = magnitudes(build, others)  # (1), (2)
    return _with_least(build, known, distances, is_least, node.mode)  # (3)


def magnitudes(build: Builder, known: Range) -> Range:
    """The distances from zero of values that have an opposite: (1) and (2) of `abs_range`."""
    nearest = build.greatest_known(known.lower, _opposite(build, known.upper))
    return replace(
        known,
        lower=build.greatest_known(nearest, zero(build, known.type)),
        upper=build.greatest(known.upper, _opposite(build, known.lower)),
    )


def sign_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """-1, 0 or 1, increasing; NaN of NaN."""
    assert isinstance(node, Call)
    build, known = analysis.build, analysis.range(node.operands[0], environment)
    if known.type != DOUBLE or node.type != DOUBLE:
        return ranges.anything(build, node.type)
    sign = Apply(Function.SIGN)
    return replace(
        known,
        lower=build.greatest_known(build.apply(sign, known.lower, type_=DOUBLE), build.bound(-1.0, DOUBLE)),
        upper=build.least_known(build.apply(sign, known.upper, type_=DOUBLE), build.bound(1.0, DOUBLE)),
    )


def _signed(type_: Type) -> bool:
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def _in_context(build: Builder, known: Range) -> Range:
    """Decimals that Spark negates exactly: since 4.0 it rounds the opposite to 34 digits."""
    if known.type.kind is not Kind.DECIMAL or known.type.precision <= _NEGATED_DIGITS_MAX:
        return known
    units = 10**_NEGATED_DIGITS_MAX
    least, greatest = (
        build.bound(decimal_from_units(sign * units, known.type.scale), known.type) for sign in (-1, 1)
    )
    rounded = build.or_(build.maybe_less(known.lower, least), build.maybe_less(greatest, known.upper))
    return unbounded_where(build, known, rounded)


def _opposite(build: Builder, bound: Bound) -> Bound:
    return build.subtract(zero(build, bound.type), bound)


def _with_opposite(build: Builder, known: Range) -> tuple[Range, Flag]:
    """The values other than the least integer, and whether that may be there."""
    if not known.type.integral:
        return known, build.flag(False)
    assert known.type.integer_range is not None
    least = build.bound(known.type.integer_range[0], known.type)
    others = ranges.within(build, known, build.next(least), build.unknown(known.type))
    return others, build.and_(known.may_value, build.maybe_at_most(known.lower, least))


def _with_least(build: Builder, known: Range, others: Range, is_least: Flag, mode: Mode) -> Range:
    """The results of the others, and what becomes of the least integer."""
    if mode is Mode.ANSI or not known.type.integral:
        return others
    if mode is Mode.TRY:
        return replace(others, may_null=build.or_(others.may_null, is_least))
    assert known.type.integer_range is not None
    least, never = build.bound(known.type.integer_range[0], known.type), build.flag(False)
    alone = Range(lower=least, upper=least, may_null=never, may_nan=never, may_value=is_least)
    return ranges.union(build, others, alone)


NEGATE = Rule(range=negate_range)
ABS = Rule(range=abs_range)
SIGN = Rule(range=sign_range)
