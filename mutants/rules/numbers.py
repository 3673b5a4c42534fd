"""Mistakes in the rules of arithmetic, casts and functions of numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, TypeAlias

from mutants.rules.rule_mutant import MutantRows, RuleMutant, mutants_of_family
from pruning.expressions import trees
from pruning.expressions.trees import Arithmetic, Cast, Expression, Function, type_of
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule, rule_key
from pruning.rules.analysis.ranges import Range
from pruning.rules.compile.table import RULES
from pruning.rules.families import arithmetic, casts, elementary, extremes, rounding
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import ValueSet

# Computes fields of the range of a result, from the ranges of the two operands.
Change: TypeAlias = Callable[[Builder, Range, Range], dict[str, Any]]


def _arithmetic_with(change: Change) -> Rule:
    """Return the true rule of arithmetic with some fields of its range computed in another way."""

    def mutant(analysis: Analysis, node: Any, environment: Environment) -> Range:
        left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
        true_range = arithmetic.arithmetic_range(analysis, node, environment)
        return replace(true_range, **change(analysis.build, left, right))

    return Rule(range=mutant)


def _quotient_rounds_down(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """-1 div 7 taken for -1; it is 0."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    true_range = arithmetic.arithmetic_range(analysis, node, environment)
    below = build.subtract(left.upper, build.previous(right.lower))
    negative = build.not_(build.maybe_at_most(build.bound(0, left.type), left.upper))
    return replace(
        true_range, upper=build.choose(negative, build.quotient(below, right.lower), true_range.upper)
    )


def _remainder_is_not_negative(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A remainder taken to have the sign of the divisor, as in Python."""
    true_range = arithmetic.arithmetic_range(analysis, node, environment)
    return replace(true_range, lower=analysis.build.bound(0, node.type))


def _no_zone(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Midnight taken for midnight in UTC."""
    true_range = analysis.range(node.operand, environment)
    build = analysis.build
    return replace(
        true_range,
        lower=build.cast(true_range.lower, node.type),
        upper=build.cast(true_range.upper, node.type),
    )


def _narrowing_cast_never_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A cast that does not fit gives NULL."""
    true_range = casts.cast_range(analysis, node, environment)
    return replace(true_range, may_null=analysis.range(node.operand, environment).may_null)


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
    true_range, build = analysis.range(node.operand, environment), analysis.build
    return replace(
        true_range,
        lower=build.apply(whole, true_range.lower, type_=node.type),
        upper=build.apply(whole, true_range.upper, type_=node.type),
    )


def _cuts_off(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """FLOOR taken for a cast, which goes toward zero."""
    return casts.cast_range(analysis, Cast(node.operands[0], node.type, trees.Mode.LEGACY), environment)


def _half_goes_up(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """BROUND taken for ROUND."""
    return rounding.rounding_range(analysis, replace(node, function=Function.ROUND), environment)


def _never(flag: str) -> Rule:
    """A function whose result is never NULL (NaN), whatever its operand is."""

    def mutant(analysis: Analysis, node: Any, environment: Environment) -> Range:
        true_range = _true_range(analysis, node, environment)
        changes: dict[str, Any] = {flag: analysis.build.flag(False)}
        return replace(true_range, **changes)

    return Rule(range=mutant)


def _nan_has_no_ceiling(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """CEIL of NaN is 0."""
    true_range = analysis.range(node.operands[0], environment)
    whole = rounding.rounding_range(analysis, node, environment)
    return replace(whole, may_value=true_range.may_value)


def _null_only_below_zero(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """LN of 0 is NULL too."""
    true_range, build = analysis.range(node.operands[0], environment), analysis.build
    below = build.maybe_less(true_range.lower, build.bound(0.0, true_range.type))
    logarithms = elementary.logarithm_range(analysis, node, environment)
    return replace(
        logarithms, may_null=build.or_(true_range.may_null, build.and_(true_range.may_value, below))
    )


def _undefined_up_to_zero(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """LOG1P has values from -1 on."""
    true_range, build = analysis.range(node.operands[0], environment), analysis.build
    positive = ranges.within(
        build, true_range, build.bound(0.0, true_range.type), build.unknown(true_range.type)
    )
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
    true_range = extremes.greatest_range(analysis, node, environment)
    operands = [analysis.range(operand, environment) for operand in node.operands]
    lowers = [operand.lower for operand in operands]
    return replace(true_range, lower=reduce(analysis.build.greatest_known, lowers))


def _least_ignores_nan(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """At most the upper bound of an operand that may be NaN."""
    build = analysis.build
    true_range = extremes.least_range(analysis, node, environment)
    operands = [analysis.range(operand, environment) for operand in node.operands]
    certain = [
        build.choose(build.not_(operand.may_null), operand.upper, build.unknown(operand.type))
        for operand in operands
    ]
    return replace(true_range, upper=reduce(build.least_known, certain, true_range.upper))


AS_UNDER_ANSI = Rule(range=_as_under_ansi)
NAN_ONLY_OF_NAN = _arithmetic_with(lambda build, a, b: {"may_nan": build.or_(a.may_nan, b.may_nan)})
NULL_ONLY_OF_NULL = _arithmetic_with(lambda build, a, b: {"may_null": build.or_(a.may_null, b.may_null)})

ARITHMETIC: MutantRows = {
    # Sums that wrap round keep the bounds that did fit.
    "overflow ignored": (Arithmetic, AS_UNDER_ANSI, "bigint +, LEGACY"),
    "TRY never NULL": (Arithmetic, AS_UNDER_ANSI, "tinyint -, TRY"),
    # a - b bounded by lower - lower and upper - upper.
    "difference of bounds": (
        Arithmetic,
        _arithmetic_with(
            lambda build, a, b: {
                "lower": build.subtract(a.lower, b.lower),
                "upper": build.subtract(a.upper, b.upper),
            }
        ),
        "tinyint -, ANSI",
    ),
    # inf - inf is NaN.
    "inf - inf": (Arithmetic, NAN_ONLY_OF_NAN, "double -"),
    "wrap-around of products": (Arithmetic, AS_UNDER_ANSI, "bigint * 7, LEGACY"),
    # a * b bounded by lower * lower and upper * upper, whatever the signs.
    "product of like bounds": (
        Arithmetic,
        _arithmetic_with(
            lambda build, a, b: {
                "lower": build.multiply(a.lower, b.lower),
                "upper": build.multiply(a.upper, b.upper),
            }
        ),
        "tinyint *, ANSI",
    ),
    # 0 * inf is NaN.
    "0 * inf": (Arithmetic, NAN_ONLY_OF_NAN, "double *"),
    # Division by zero gives NULL, of floats too.
    "1 / 0 never NULL": (Arithmetic, NULL_ONLY_OF_NULL, "bigint div, LEGACY"),
    "1.0 / 0.0 never NULL": (Arithmetic, NULL_ONLY_OF_NULL, "double / 0"),
    # a / b bounded by a.upper / b.lower although b may lie on both sides of zero.
    "quotient across zero": (
        Arithmetic,
        _arithmetic_with(lambda build, a, b: {"upper": build.quotient(a.upper, b.lower)}),
        "-7 div bigint, ANSI",
    ),
    "quotient rounded down": (Arithmetic, Rule(range=_quotient_rounds_down), "bigint div 7, ANSI"),
    # A `div` of decimals that is no bigint loses its high bits even under ANSI.
    "wide quotient never wraps": (
        Arithmetic,
        _arithmetic_with(
            lambda build, a, b: {
                "lower": build.quotient(a.lower, b.lower),
                "upper": build.quotient(a.upper, b.lower),
            }
        ),
        "wide decimal div, ANSI",
    ),
    "remainder not negative": (Arithmetic, Rule(range=_remainder_is_not_negative), "tinyint % 7, ANSI"),
    # Between the remainders of the ends, although a multiple may lie between them.
    "remainder grows": (
        Arithmetic,
        _arithmetic_with(
            lambda build, a, b: {
                "lower": build.remainder(a.lower, b.lower),
                "upper": build.remainder(a.upper, b.upper),
            }
        ),
        "tinyint % 7, TRY",
    ),
}


def _never_negative(node: Any, values: ValueSet) -> tuple[Expression, ValueSet]:
    """Texts of integers taken to be digits alone."""
    integers = casts.cast_preimage(node, values)
    assert integers is not None
    operand, inside = integers
    assert isinstance(inside.cuts, Cuts)
    positive = cuts.above(0, type_of(operand), inclusive=True)
    return operand, replace(inside, cuts=cuts.intersection(inside.cuts, positive))


CASTS: MutantRows = {
    "integers without a sign": (Cast, replace(casts.CAST, preimage=_never_negative), "bigint as text ="),
    "no zone": (Cast, Rule(range=_no_zone), "date to timestamp, ANSI"),
    "cast never NULL": (Cast, Rule(range=_narrowing_cast_never_null), "bigint to tinyint, TRY"),
    "decimals rounded to integers": (
        Cast,
        Rule(range=_rounds_before_it_casts),
        "decimal(10,2) to tinyint, ANSI",
    ),
    "no saturation": (Cast, AS_UNDER_ANSI, "double to int, LEGACY"),
    "NaN casts to nothing": (Cast, AS_UNDER_ANSI, "double to bigint, TRY"),
}

MAGNITUDE: MutantRows = {
    "minus the least": (Function.NEGATE, AS_UNDER_ANSI, "negative of tinyint, LEGACY"),
    "abs of the least": (Function.ABS, AS_UNDER_ANSI, "abs of bigint, LEGACY"),
    "sign never NaN": (Function.SIGN, _never("may_nan"), "sign"),
}

ROUNDING: MutantRows = {
    "floor as a cast": (Function.FLOOR, Rule(range=_cuts_off), "floor of a double"),
    "NaN has no ceiling": (Function.CEIL, Rule(range=_nan_has_no_ceiling), "ceil of a double"),
    "rounding never wraps": (Function.ROUND, AS_UNDER_ANSI, "round of an integer, LEGACY"),
    "half up to even": (Function.BROUND, Rule(range=_half_goes_up), "bround of a decimal, ANSI"),
}

ELEMENTARY: MutantRows = {
    "sqrt never NaN": (Function.SQRT, _never("may_nan"), "sqrt"),
    "exp never NaN": (Function.EXP, _never("may_nan"), "exp"),
    "ln of 0": (Function.LN, Rule(range=_null_only_below_zero), "ln"),
    "log10 never NULL": (Function.LOG10, _never("may_null"), "log10"),
    "log2 never NaN": (Function.LOG2, _never("may_nan"), "log2"),
    "log1p from 0": (Function.LOG1P, Rule(range=_undefined_up_to_zero), "log1p"),
    "log never NULL": (Function.LOG, _never("may_null"), "log to base 10"),
    "even powers increase": (Function.POWER, Rule(range=_even_powers_increase), "power 2.0"),
    "powers never NaN": (Function.POWER, _never("may_nan"), "power 0.5"),
}

EXTREMES: MutantRows = {
    "greatest counts NULL": (Function.GREATEST, Rule(range=_greatest_counts_nulls), "greatest of integers"),
    "least ignores NaN": (Function.LEAST, Rule(range=_least_ignores_nan), "least of doubles"),
}

MUTANTS: Mapping[str, RuleMutant] = {
    **mutants_of_family("arithmetic", ARITHMETIC),
    **mutants_of_family("cast", CASTS),
    **mutants_of_family("magnitude", MAGNITUDE),
    **mutants_of_family("rounding", ROUNDING),
    **mutants_of_family("elementary", ELEMENTARY),
    **mutants_of_family("extremes", EXTREMES),
}
