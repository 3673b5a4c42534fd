"""Mistakes in the rules of arithmetic, casts and functions of numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from mutants.rules.rule_mutant import RuleMutant
from pruning.expressions import trees
from pruning.expressions.trees import (
    Function,
)
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule, rule_key
from pruning.rules.analysis.ranges import Range
from pruning.rules.compile.table import RULES
from pruning.rules.families import arithmetic, casts, elementary, extremes, rounding
from pruning.rules.program.functions import Apply, Side


def _overflow_ignored(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Sums that wrap round keep the bounds that did fit."""
    strict = replace(node, mode=trees.Mode.ANSI)
    return arithmetic.arithmetic_range(analysis, strict, environment)


def _subtracts_like_with_like(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """a - b bounded by lower - lower and upper - upper."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(
        known, lower=build.subtract(left.lower, right.lower), upper=build.subtract(left.upper, right.upper)
    )


def _infinities_never_cancel(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """inf - inf is NaN."""
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(known, may_nan=analysis.build.or_(left.may_nan, right.may_nan))


def _multiplies_like_with_like(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """a * b bounded by lower * lower and upper * upper, whatever the signs."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(
        known, lower=build.multiply(left.lower, right.lower), upper=build.multiply(left.upper, right.upper)
    )


def _zero_times_infinity_is_a_number(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """0 * inf is NaN."""
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(known, may_nan=analysis.build.or_(left.may_nan, right.may_nan))


def _zero_divides(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Division by zero gives NULL, of floats too."""
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(known, may_null=analysis.build.or_(left.may_null, right.may_null))


def _nearest_divisor_is_a_bound(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """a / b bounded by a.upper / b.lower although b may lie on both sides of zero."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(known, upper=build.quotient(left.upper, right.lower))


def _quotient_rounds_down(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """-1 div 7 taken for -1; it is 0."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    below = build.subtract(left.upper, build.previous(right.lower))
    negative = build.not_(build.maybe_at_most(build.bound(0, left.type), left.upper))
    return replace(known, upper=build.choose(negative, build.quotient(below, right.lower), known.upper))


def _wide_quotient_never_wraps(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A `div` of decimals that is no bigint loses its high bits even under ANSI."""
    build, wide = analysis.build, analysis.range(node.left, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    divisor = analysis.range(node.right, environment).lower
    return replace(
        known, lower=build.quotient(wide.lower, divisor), upper=build.quotient(wide.upper, divisor)
    )


def _remainder_is_not_negative(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A remainder taken to have the sign of the divisor, as in Python."""
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(known, lower=analysis.build.bound(0, node.type))


def _remainder_grows(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Between the remainders of the ends, although a multiple may lie between them."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    known = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(
        known, lower=build.remainder(left.lower, right.lower), upper=build.remainder(left.upper, right.lower)
    )


def _no_zone(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Midnight taken for midnight in UTC."""
    known = analysis.range(node.operand, environment)
    build = analysis.build
    return replace(known, lower=build.cast(known.lower, node.type), upper=build.cast(known.upper, node.type))


def _narrowing_cast_never_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A cast that does not fit gives NULL."""
    known = casts.cast_range(analysis, node, environment)
    return replace(known, may_null=analysis.range(node.operand, environment).may_null)


def _as_under_ansi(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes a result that does not fit for an error, although it saturates, wraps round or is NULL."""
    strict = replace(node, mode=trees.Mode.ANSI)
    return _true_range(analysis, strict, environment)


def _true_range(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """The range that the true rule gives."""
    range_ = RULES[rule_key(node)].range
    assert range_ is not None
    return range_(analysis, node, environment)


def _rounds_before_it_casts(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A decimal rounded to an integer; Spark cuts it off."""
    whole = Apply(Function.ROUND)
    known, build = analysis.range(node.operand, environment), analysis.build
    return replace(
        known,
        lower=build.apply(whole, known.lower, type_=node.type),
        upper=build.apply(whole, known.upper, type_=node.type),
    )


def _cuts_off(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """FLOOR taken for a cast, which goes toward zero."""
    return casts.cast_range(analysis, trees.Cast(node.operands[0], node.type, trees.Mode.LEGACY), environment)


def _rounded_as(function: Function) -> Callable[..., Range]:
    """One way of rounding taken for another."""

    def mutant(analysis: Analysis, node: Any, environment: Environment) -> Range:
        return rounding.rounding_range(analysis, replace(node, function=function), environment)

    return mutant


def _never(flag: str) -> Callable[..., Range]:
    """A function whose result is never NULL (NaN), whatever its operand is."""

    def mutant(analysis: Analysis, node: Any, environment: Environment) -> Range:
        known = _true_range(analysis, node, environment)
        changes: dict[str, Any] = {flag: analysis.build.flag(False)}
        return replace(known, **changes)

    return mutant


def _nan_has_no_ceiling(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """CEIL of NaN is 0."""
    known = analysis.range(node.operands[0], environment)
    whole = rounding.rounding_range(analysis, node, environment)
    return replace(whole, may_value=known.may_value)


def _null_only_below_zero(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """LN of 0 is NULL too."""
    known, build = analysis.range(node.operands[0], environment), analysis.build
    below = build.maybe_less(known.lower, build.bound(0.0, known.type))
    logarithms = elementary.logarithm_range(analysis, node, environment)
    return replace(logarithms, may_null=build.or_(known.may_null, build.and_(known.may_value, below)))


def _undefined_up_to_zero(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """LOG1P has values from -1 on."""
    known, build = analysis.range(node.operands[0], environment), analysis.build
    positive = ranges.within(build, known, build.bound(0.0, known.type), build.unknown(known.type))
    logarithms = elementary.logarithm_range(analysis, node, environment)
    return replace(logarithms, may_value=positive.may_value)


def _even_powers_increase(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """The square of the lower bound taken for the least square."""
    build = analysis.build
    base, exponent = (analysis.range(operand, environment) for operand in node.operands)
    below, above = (Apply(Function.POWER, side=side) for side in (Side.BELOW, Side.ABOVE))
    return replace(
        base,
        lower=build.apply(below, base.lower, exponent.lower, type_=node.type),
        upper=build.apply(above, base.upper, exponent.upper, type_=node.type),
    )


def _greatest_counts_nulls(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """At least every lower bound; but an operand that is NULL is skipped."""
    known = extremes.greatest_range(analysis, node, environment)
    operands = [analysis.range(operand, environment) for operand in node.operands]
    lowers = [operand.lower for operand in operands]
    return replace(known, lower=reduce(analysis.build.greatest_known, lowers))


def _least_ignores_nan(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """At most the upper bound of an operand that may be NaN."""
    build = analysis.build
    known = extremes.least_range(analysis, node, environment)
    operands = [analysis.range(operand, environment) for operand in node.operands]
    certain = [
        build.choose(build.not_(operand.may_null), operand.upper, build.unknown(operand.type))
        for operand in operands
    ]
    return replace(known, upper=reduce(build.least_known, certain, known.upper))


MUTANTS: Mapping[str, RuleMutant] = {
    "overflow ignored": RuleMutant(
        trees.Arithmetic, Rule(range=_overflow_ignored), "arithmetic", "bigint +, LEGACY"
    ),
    "TRY never NULL": RuleMutant(
        trees.Arithmetic, Rule(range=_overflow_ignored), "arithmetic", "tinyint -, TRY"
    ),
    "difference of bounds": RuleMutant(
        trees.Arithmetic, Rule(range=_subtracts_like_with_like), "arithmetic", "tinyint -, ANSI"
    ),
    "inf - inf": RuleMutant(trees.Arithmetic, Rule(range=_infinities_never_cancel), "arithmetic", "double -"),
    "wrap-around of products": RuleMutant(
        trees.Arithmetic, Rule(range=_overflow_ignored), "arithmetic", "bigint * 7, LEGACY"
    ),
    "product of like bounds": RuleMutant(
        trees.Arithmetic, Rule(range=_multiplies_like_with_like), "arithmetic", "tinyint *, ANSI"
    ),
    "0 * inf": RuleMutant(
        trees.Arithmetic, Rule(range=_zero_times_infinity_is_a_number), "arithmetic", "double *"
    ),
    "1 / 0 never NULL": RuleMutant(
        trees.Arithmetic, Rule(range=_zero_divides), "arithmetic", "bigint div, LEGACY"
    ),
    "1.0 / 0.0 never NULL": RuleMutant(
        trees.Arithmetic, Rule(range=_zero_divides), "arithmetic", "double / 0"
    ),
    "quotient across zero": RuleMutant(
        trees.Arithmetic, Rule(range=_nearest_divisor_is_a_bound), "arithmetic", "-7 div bigint, ANSI"
    ),
    "quotient rounded down": RuleMutant(
        trees.Arithmetic, Rule(range=_quotient_rounds_down), "arithmetic", "bigint div 7, ANSI"
    ),
    "wide quotient never wraps": RuleMutant(
        trees.Arithmetic, Rule(range=_wide_quotient_never_wraps), "arithmetic", "wide decimal div, ANSI"
    ),
    "remainder not negative": RuleMutant(
        trees.Arithmetic, Rule(range=_remainder_is_not_negative), "arithmetic", "tinyint % 7, ANSI"
    ),
    "remainder grows": RuleMutant(
        trees.Arithmetic, Rule(range=_remainder_grows), "arithmetic", "tinyint % 7, TRY"
    ),
    "no zone": RuleMutant(trees.Cast, Rule(range=_no_zone), "cast", "date to timestamp, ANSI"),
    "cast never NULL": RuleMutant(
        trees.Cast, Rule(range=_narrowing_cast_never_null), "cast", "bigint to tinyint, TRY"
    ),
    "decimals rounded to integers": RuleMutant(
        trees.Cast, Rule(range=_rounds_before_it_casts), "cast", "decimal(10,2) to tinyint, ANSI"
    ),
    "no saturation": RuleMutant(trees.Cast, Rule(range=_as_under_ansi), "cast", "double to int, LEGACY"),
    "NaN casts to nothing": RuleMutant(
        trees.Cast, Rule(range=_as_under_ansi), "cast", "double to bigint, TRY"
    ),
    "minus the least": RuleMutant(
        Function.NEGATE, Rule(range=_as_under_ansi), "magnitude", "negative of tinyint, LEGACY"
    ),
    "abs of the least": RuleMutant(
        Function.ABS, Rule(range=_as_under_ansi), "magnitude", "abs of bigint, LEGACY"
    ),
    "sign never NaN": RuleMutant(Function.SIGN, Rule(range=_never("may_nan")), "magnitude", "sign"),
    "floor as a cast": RuleMutant(Function.FLOOR, Rule(range=_cuts_off), "rounding", "floor of a double"),
    "NaN has no ceiling": RuleMutant(
        Function.CEIL, Rule(range=_nan_has_no_ceiling), "rounding", "ceil of a double"
    ),
    "rounding never wraps": RuleMutant(
        Function.ROUND, Rule(range=_as_under_ansi), "rounding", "round of an integer, LEGACY"
    ),
    "half up to even": RuleMutant(
        Function.BROUND, Rule(range=_rounded_as(Function.ROUND)), "rounding", "bround of a decimal, ANSI"
    ),
    "sqrt never NaN": RuleMutant(Function.SQRT, Rule(range=_never("may_nan")), "elementary", "sqrt"),
    "exp never NaN": RuleMutant(Function.EXP, Rule(range=_never("may_nan")), "elementary", "exp"),
    "ln of 0": RuleMutant(Function.LN, Rule(range=_null_only_below_zero), "elementary", "ln"),
    "log10 never NULL": RuleMutant(Function.LOG10, Rule(range=_never("may_null")), "elementary", "log10"),
    "log2 never NaN": RuleMutant(Function.LOG2, Rule(range=_never("may_nan")), "elementary", "log2"),
    "log1p from 0": RuleMutant(Function.LOG1P, Rule(range=_undefined_up_to_zero), "elementary", "log1p"),
    "log never NULL": RuleMutant(
        Function.LOG, Rule(range=_never("may_null")), "elementary", "log to base 10"
    ),
    "even powers increase": RuleMutant(
        Function.POWER, Rule(range=_even_powers_increase), "elementary", "power 2.0"
    ),
    "powers never NaN": RuleMutant(Function.POWER, Rule(range=_never("may_nan")), "elementary", "power 0.5"),
    "greatest counts NULL": RuleMutant(
        Function.GREATEST, Rule(range=_greatest_counts_nulls), "extremes", "greatest of integers"
    ),
    "least ignores NaN": RuleMutant(
        Function.LEAST, Rule(range=_least_ignores_nan), "extremes", "least of doubles"
    ),
}
