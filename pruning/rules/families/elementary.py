"""SQRT, EXP, the logarithms and POWER of doubles.

SQRT is correctly rounded in every library. The others differ between libraries in their last digits: axiom
LIBM says by how much at most, and their bounds are moved outward by more than that.
"""

import math
from dataclasses import replace

from pruning.expressions.trees import Call, Expression, Function, Literal
from pruning.expressions.types import DOUBLE
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.magnitude import magnitudes
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Bound, Flag

# A logarithm is NULL up to its asymptote (0 by default), and has a value from the next double on.
_ASYMPTOTES = {Function.LOG1P: -1.0}
_EVEN_MAX = 2.0**53  # doubles beyond it are all even


def sqrt_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the square roots.

    Claim     Each row's root lies in the range.
    Premises  The root is correctly rounded, so it is increasing (axiom ROUNDING).
    Proof     (1) 0 <= lower <= v <= upper gives f(lower) <= f(v) <= f(upper).
              (2) It is NaN below zero, and of NaN.
    """
    operand = _double_operand(analysis, node, environment)
    if operand is None:
        return ranges.anything(analysis.build, DOUBLE)
    build, root, zero = analysis.build, Apply(Function.SQRT), analysis.build.bound(0.0, DOUBLE)
    inside = ranges.within(build, operand, zero, build.unknown(DOUBLE))
    below = build.and_(operand.may_value, build.maybe_less(operand.lower, zero))
    return replace(
        inside,
        lower=build.apply(root, inside.lower, type_=DOUBLE),  # (1)
        upper=build.apply(root, inside.upper, type_=DOUBLE),
        may_nan=build.or_(operand.may_nan, below),  # (2)
    )


def exp_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the exponentials, which is never below zero; EXP increases, by axiom LIBM."""
    operand = _double_operand(analysis, node, environment)
    if operand is None:
        return ranges.anything(analysis.build, DOUBLE)
    exponentials = _enclosing_range(analysis.build, Function.EXP, operand)
    zero = analysis.build.bound(0.0, DOUBLE)
    return replace(exponentials, lower=analysis.build.greatest_known(exponentials.lower, zero))


def logarithm_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the logarithms to a fixed base.

    Claim     Each row's logarithm lies in the range.
    Premises  Axiom LIBM, of an increasing function.
    Proof     (1) lower <= v <= upper gives f(lower) <= f(v) <= f(upper) above the asymptote, where
                  f(v) is at least that of the next double.
              (2) Up to the asymptote it is NULL; of NaN it is NaN.
    """
    operand = _double_operand(analysis, node, environment)
    if operand is None:
        return ranges.anything(analysis.build, DOUBLE)
    assert isinstance(node, Call)
    inside, outside = _values_above(analysis.build, operand, _ASYMPTOTES.get(node.function, 0.0))
    logarithms = _enclosing_range(analysis.build, node.function, inside)  # (1)
    return replace(logarithms, may_null=analysis.build.or_(operand.may_null, outside))  # (2)


def log_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the logarithms of a number to a base.

    Claim     Each row's logarithm lies in the range.
    Premises  Axiom LIBM; Spark divides the logarithm of the number by that of the base.
    Proof     (1) It is NULL where either is not positive.
              (2) It is NaN of NaN, of 1 to the base 1, and of infinity to the base infinity.
              (3) For bases above 1 it increases with the number; with the base it falls or rises as
                  the number is above or below 1, so it is least and greatest at the bounds. For
                  other bases nothing is said.
    """
    build = analysis.build
    sides = _double_operands(analysis, node, environment)
    if sides is None:
        return ranges.anything(build, DOUBLE)
    (base, no_base), (number, no_number) = (_values_above(build, side, 0.0) for side in sides)
    unit, infinity = build.bound(1.0, DOUBLE), build.bound(math.inf, DOUBLE)
    undefined = build.and_(
        base.may_value,
        number.may_value,
        build.or_(
            build.and_(_may_equal(build, base, unit), _may_equal(build, number, unit)),
            build.and_(_may_equal(build, base, infinity), _may_equal(build, number, infinity)),
        ),
    )  # (2)
    bases = (base.lower, build.least_known(base.upper, infinity))
    lower = _outermost_corner(
        build, build.least, Apply(Function.LOG, side=Side.BELOW), bases, (number.lower,)
    )
    upper = _outermost_corner(
        build, build.greatest, Apply(Function.LOG, side=Side.ABOVE), bases, (number.upper,)
    )
    unknown, above_one = build.unknown(DOUBLE), build.not_(build.maybe_at_most(base.lower, unit))
    return Range(
        lower=build.choose(above_one, lower, unknown),  # (3)
        upper=build.choose(above_one, upper, unknown),
        may_null=build.or_(base.may_null, number.may_null, no_base, no_number),  # (1)
        may_nan=build.or_(base.may_nan, number.may_nan, undefined),
        may_value=build.and_(base.may_value, number.may_value),
    )


def power_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the powers of a base.

    Claim     Each row's power lies in the range.
    Premises  Axiom LIBM; Java's rules for NaN, zeros and infinities.
    Proof     (1) Over bases from 0 on it is monotone in the base and in the exponent, so it is least
                  and greatest at the bounds: at those of the least and the greatest base where no
                  exponent is below 0. Where one is, bases are above 0 here: 0 may be -0.0.
              (2) A literal whole exponent above 0 needs no sign of the base: odd powers increase,
                  even ones are those of the distance from zero.
              (3) NaN comes from a NaN, from a base below 0, and from 1 to an infinite power; but NaN
                  to the power 0 is 1.
    """
    build = analysis.build
    sides = _double_operands(analysis, node, environment)
    if sides is None:
        return ranges.anything(build, DOUBLE)
    base, exponent = sides
    whole = _whole_exponent(node)
    if whole is not None:
        return _whole_power(build, base, exponent, whole)  # (2)
    zero, unit = build.bound(0.0, DOUBLE), build.bound(1.0, DOUBLE)
    no_negative = build.not_(build.maybe_less(exponent.lower, zero))
    positive = build.not_(build.maybe_at_most(base.lower, zero))
    monotone = build.or_(positive, build.and_(build.not_(build.maybe_less(base.lower, zero)), no_negative))
    lower, upper = _power_corners(build, base, exponent, no_negative)  # (1)
    unknown = build.unknown(DOUBLE)
    both = build.and_(base.may_value, exponent.may_value)
    undefined = build.or_(build.not_(monotone), _may_be_one_to_infinity(build, base, exponent))
    powers = Range(
        lower=build.choose(monotone, lower, unknown),
        upper=build.choose(monotone, upper, unknown),
        may_null=build.or_(base.may_null, exponent.may_null),
        may_nan=build.or_(base.may_nan, exponent.may_nan, build.and_(both, undefined)),  # (3)
        may_value=both,
    )
    never = build.flag(False)
    to_zero = build.and_(base.may_nan, exponent.may_value, _may_equal(build, exponent, zero))
    alone = Range(lower=unit, upper=unit, may_null=never, may_nan=never, may_value=to_zero)
    return ranges.union(build, powers, alone)


def _whole_power(build: Builder, base: Range, exponent: Range, whole: float) -> Range:
    """Return the range of the powers with a literal whole exponent above zero."""
    if whole >= _EVEN_MAX or whole % 2 == 0:
        base = magnitudes(build, base)
    below, above = (Apply(Function.POWER, side=side) for side in (Side.BELOW, Side.ABOVE))
    return replace(
        base,
        lower=build.apply(below, base.lower, exponent.lower, type_=DOUBLE),
        upper=build.apply(above, base.upper, exponent.upper, type_=DOUBLE),
    )


def _whole_exponent(node: Expression) -> float | None:
    """Return a literal exponent that is a whole number above zero; None of any other."""
    assert isinstance(node, Call)
    exponent = node.operands[1]
    value = exponent.value if isinstance(exponent, Literal) else None
    return value if isinstance(value, float) and 0 < value < math.inf and value.is_integer() else None


def _power_corners(build: Builder, base: Range, exponent: Range, no_negative: Flag) -> tuple[Bound, Bound]:
    """Return the bounds of the powers of bases from zero on."""
    infinity, least = build.bound(math.inf, DOUBLE), build.bound(-math.inf, DOUBLE)
    first, last = base.lower, build.least_known(base.upper, infinity)
    exponents = (build.greatest_known(exponent.lower, least), build.least_known(exponent.upper, infinity))
    below, above = (Apply(Function.POWER, side=side) for side in (Side.BELOW, Side.ABOVE))
    lower, upper = (
        build.choose(
            no_negative,
            _outermost_corner(build, pick, call, (outer_base,), exponents),
            _outermost_corner(build, pick, call, (first, last), exponents),
        )
        for pick, call, outer_base in ((build.least, below, first), (build.greatest, above, last))
    )
    return lower, upper


def _may_be_one_to_infinity(build: Builder, base: Range, exponent: Range) -> Flag:
    """Return the flag that the power may be 1 to an infinite exponent."""
    infinities = [build.bound(sign * math.inf, DOUBLE) for sign in (1, -1)]
    infinite = build.or_(*(_may_equal(build, exponent, infinity) for infinity in infinities))
    return build.and_(infinite, _may_equal(build, base, build.bound(1.0, DOUBLE)))


def _outermost_corner(
    build: Builder, pick: object, call: Apply, firsts: tuple[Bound, ...], seconds: tuple[Bound, ...]
) -> Bound:
    """Return the least (the greatest) of a function of two numbers at the corners of their ranges."""
    assert callable(pick)
    corners = [build.apply(call, first, second, type_=DOUBLE) for first in firsts for second in seconds]
    picked = corners[0]
    for corner in corners[1:]:
        picked = pick(picked, corner)
    return picked


def _may_equal(build: Builder, range_: Range, value: Bound) -> Flag:
    """Return the flag that a range may hold a value."""
    return build.and_(build.maybe_at_most(range_.lower, value), build.maybe_at_most(value, range_.upper))


def _values_above(build: Builder, range_: Range, asymptote: float) -> tuple[Range, Flag]:
    """Return the rows above a number, and the flag that some row is not."""
    next_ = build.bound(math.nextafter(asymptote, math.inf), DOUBLE)
    inside = ranges.within(build, range_, next_, build.unknown(DOUBLE))
    outside = build.maybe_at_most(range_.lower, build.bound(asymptote, DOUBLE))
    return inside, build.and_(range_.may_value, outside)


def _enclosing_range(build: Builder, function: Function, operand: Range) -> Range:
    """Return the range of an increasing function, enclosed on both sides."""
    return replace(
        operand,
        lower=build.apply(Apply(function, side=Side.BELOW), operand.lower, type_=DOUBLE),
        upper=build.apply(Apply(function, side=Side.ABOVE), operand.upper, type_=DOUBLE),
    )


def _double_operands(analysis: Analysis, node: Expression, environment: Environment) -> list[Range] | None:
    """Return the ranges of the operands; None if one of them is no double."""
    assert isinstance(node, Call)
    operands = [analysis.range(operand, environment) for operand in node.operands]
    return operands if all(range_.type == DOUBLE for range_ in operands) and node.type == DOUBLE else None


def _double_operand(analysis: Analysis, node: Expression, environment: Environment) -> Range | None:
    """Return the range of the only operand; None if it is no double."""
    operands = _double_operands(analysis, node, environment)
    return operands[0] if operands and len(operands) == 1 else None


SQRT = Rule(range=sqrt_range)
EXP = Rule(range=exp_range)
LOGARITHM = Rule(range=logarithm_range)
LOG = Rule(range=log_range)
POWER = Rule(range=power_range)
