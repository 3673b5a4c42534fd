"""PROOF-2: the proofs can fail. Broken algebra and broken rules are refuted, each with a witness.

The faults of the algebra break every rule at once: no proof may survive all of them. The twins of
the rules are mistakes that public engines made (or nearly), one rule at a time.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
from proving import Proof
from subjects import SUBJECTS

from pruning.expressions import trees
from pruning.expressions.trees import (
    And,
    Case,
    Coalesce,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    Like,
    Literal,
    Not,
    StartsWith,
)
from pruning.expressions.types import BYTE
from pruning.rules import (
    arithmetic,
    boolean,
    cast,
    comparison,
    conditional,
    cuts,
    elementary,
    extremes,
    leaves,
    membership,
    null_test,
    order,
    prefix,
    ranges,
    rounding,
)
from pruning.rules.analysis import Analysis, Rule, RuleKey, rule_key
from pruning.rules.builder import Builder
from pruning.rules.environment import Environment
from pruning.rules.functions import Apply, Side
from pruning.rules.outcomes import NOTHING, NUMBERS, Outcomes, ValueSet
from pruning.rules.program import Aspect, Bound, Flag
from pruning.rules.ranges import Range
from pruning.rules.table import RULES
from pruning.rules.truths import Truths


class TouchingIsApart(Builder):
    """Takes `<=` for `<`."""

    def maybe_at_most(self, left: Bound, right: Bound) -> Flag:
        return self.maybe_less(left, right)


class OrderReversed(Builder):
    """Takes the greater for the smaller."""

    def maybe_less(self, left: Bound, right: Bound) -> Flag:
        return super().maybe_less(right, left)


class JoinsInwards(Builder):
    """Takes the tighter bound where either may hold."""

    def least(self, left: Bound, right: Bound) -> Bound:
        return super().greatest(left, right)


class NullForgotten(Builder):
    """No column is ever NULL."""

    def flag_input(self, aspect: Aspect, column: str = "", type_: Any = None) -> Flag:
        return self.flag(False) if aspect is Aspect.MAY_NULL else super().flag_input(aspect, column, type_)


class NanForgotten(Builder):
    """No float is ever NaN."""

    def flag_input(self, aspect: Aspect, column: str = "", type_: Any = None) -> Flag:
        return self.flag(False) if aspect is Aspect.MAY_NAN else super().flag_input(aspect, column, type_)


class UnknownIsKnown(Builder):
    """Takes every bound for known."""

    def known(self, bound: Bound) -> Flag:
        return self.flag(True)


class NothingPossible(Builder):
    """Takes "may be" for "is not"."""

    def flag(self, value: bool) -> Flag:
        return super().flag(False)


class SetsMissed(Builder):
    """Holds no range to meet any set of values."""

    def maybe_meets(self, lower: Bound, upper: Bound, cuts: Any) -> Flag:
        return self.flag(False)


class EitherForBoth(Builder):
    """Takes AND for OR."""

    def or_(self, *flags: Flag) -> Flag:
        return self.and_(*flags)


# Each fault, and a proof that must see it.
FAULTS: Mapping[type[Builder], tuple[str, str]] = {
    NothingPossible: ("leaves", "NULL"),
    EitherForBoth: ("boolean", "OR"),
    NullForgotten: ("null_test", "IS NULL"),
    NanForgotten: ("comparison", "< of floats"),
    TouchingIsApart: ("comparison", "= of columns"),
    OrderReversed: ("comparison", "< of columns"),
    JoinsInwards: ("conditional", "IF"),
    UnknownIsKnown: ("arithmetic", "bigint +, TRY"),
    SetsMissed: ("membership", "IN"),
}
CASES = [(family, name) for family, subjects in SUBJECTS.items() for name in subjects]


@cache
def _refutes(fault: type[Builder], family: str, name: str) -> bool:
    witnesses = Proof(SUBJECTS[family][name], build=fault()).refuted(limit=1)
    return any("not decided" not in witness for witness in witnesses)


@pytest.mark.parametrize(("family", "name"), CASES, ids=[f"{family}: {name}" for family, name in CASES])
def test_no_proof_survives_every_fault_of_the_algebra(family: str, name: str) -> None:
    assert any(_refutes(fault, family, name) for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_the_algebra_is_refuted(fault: type[Builder]) -> None:
    assert _refutes(fault, *FAULTS[fault])


@dataclass(frozen=True, slots=True)
class Twin:
    """A mistake in one rule, and the subject whose proof must see it."""

    breaks: RuleKey
    rule: Rule
    family: str
    subject: str


def _may_differ_only_if_both_bounds_do(
    analysis: Analysis, node: Any, environment: Environment, truth: Truths
) -> Flag:
    """`<>` read as "neither bound is the literal"; only min = max = literal proves it false."""
    if node.operator is not Comparison.EQUAL or truth is not Truths.FALSE:
        return comparison.may(analysis, node, environment, truth)
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    return build.and_(build.maybe_less(left.lower, right.lower), build.maybe_less(right.upper, left.upper))


def _nan_is_above_nothing(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """NaN left out of `>`: it is above every number in Spark."""
    flag = comparison.may(analysis, node, environment, truth)
    if node.operator is not Comparison.GREATER or truth is not Truths.TRUE:
        return flag
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    return build.and_(flag, build.maybe_less(right.lower, left.upper))


def _narrows_past_nan(analysis: Analysis, node: Any, environment: Environment, truths: Truths) -> Environment:
    """Narrows `x < y` by y's upper bound although y may be NaN."""
    if truths is not Truths.TRUE or node.operator is not Comparison.LESS:
        return comparison.assume(analysis, node, environment, truths)
    other = analysis.range(node.right, environment)
    known = analysis.range(node.left, environment)
    narrowed = ranges.within(analysis.build, known, analysis.build.unknown(known.type), other.upper)
    return analysis.constrain(node.left, environment, narrowed)


def _narrowing_leaks(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """Uses the rows where AND is TRUE to tell whether it may be FALSE."""
    for operand in node.operands:
        environment = analysis.assume(operand, environment, Truths.TRUE)
    return boolean.may(analysis, node, environment, truth)


def _not_swaps_null(analysis: Analysis, node: Any) -> Outcomes:
    """NOT of "never TRUE" taken for "always TRUE"; it may be NULL."""
    return replace(boolean.negated(analysis, node), null=NOTHING)


def _null_test_ignores_nan(analysis: Analysis, node: Any) -> Outcomes:
    """IS NOT NULL needs a value inside the bounds; NaN is one outside."""
    return replace(null_test.outcomes(analysis, node), false=NUMBERS)


def _in_ignores_null_member(analysis: Analysis, node: Any) -> Outcomes | None:
    """IN (..., NULL) taken as FALSE where nothing matches; it is NULL."""
    members = tuple(member for member in node.members if getattr(member, "value", 0) is not None)
    return membership.outcomes(analysis, In(node.operand, members))


def _prefix_ends_at_itself(analysis: Analysis, node: Any) -> Outcomes:
    """Takes the prefix for the greatest string that has it."""
    only = ValueSet(cuts.of_values([node.prefix], trees.type_of(node.operand)))
    return replace(prefix.outcomes(analysis, node), true=only)


def _like_is_its_prefix(analysis: Analysis, node: Any) -> Outcomes:
    """Takes every string with the prefix for a match, whatever follows."""
    return prefix.outcomes(
        analysis, StartsWith(node.operand, prefix.like_prefix(node.pattern, node.escape)[0])
    )


def _constant_is_above_nan(analysis: Analysis, node: Any) -> Outcomes | None:
    """NaN left out of the values above a constant, as min/max leave it out."""
    found = comparison.outcomes(analysis, node)
    return None if found is None else replace(found, true=replace(found.true, nan=False))


def _equal_to_itself_where_null(analysis: Analysis, node: Any) -> Outcomes | None:
    """`a = a` taken for TRUE; it is NULL where a is."""
    found = comparison.outcomes(analysis, node)
    return None if found is None else replace(found, null=NOTHING)


def _order_without_nan(analysis: Analysis, node: Any, environment: Environment, values: ValueSet) -> Flag:
    """The order of two floats by their bounds alone; NaN is above each."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    flag = order.may_lie(analysis, node, environment, values)
    if values.null or values.cuts != cuts.of_values([1], BYTE):
        return flag
    return build.and_(flag, build.maybe_less(right.lower, left.upper))


def _chooses_the_first(analysis: Analysis, node: Any, environment: Environment, values: ValueSet) -> Flag:
    """GREATEST taken for its first operand."""
    first = next((side.operands[0] for side in (node.left, node.right) if isinstance(side, trees.Call)), None)
    if first is None:
        return order.may_lie(analysis, node, environment, values)
    sides = (first if isinstance(side, trees.Call) else side for side in (node.left, node.right))
    return order.may_lie(analysis, trees.Order(*sides), environment, values)


def _null_order_is_none(
    analysis: Analysis, node: Any, environment: Environment, narrowed: Range
) -> Environment:
    """Narrows both sides to values where the order may be NULL as well."""
    never = replace(narrowed, may_null=analysis.build.flag(False))
    return order.constrain(analysis, node, environment, never)


def _narrows_by_the_first_branch(
    analysis: Analysis, node: Any, environment: Environment, narrowed: Range
) -> Environment:
    """Where IF lies in a range its first branch is taken to."""
    condition, value = node.branches[0]
    return analysis.constrain(value, analysis.assume(condition, environment, Truths.TRUE), narrowed)


def _else_forgets_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """ELSE looked at only where the condition may be FALSE; NULL leads there too."""
    ((condition, value),) = node.branches
    build = analysis.build
    pieces = [
        ranges.only_where(
            build, analysis.range(branch, environment), analysis.may(condition, environment, truth)
        )
        for branch, truth in ((value, Truths.TRUE), (node.otherwise, Truths.FALSE))
    ]
    return ranges.union_of(build, pieces)


def _else_narrowed_to_false(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """ELSE narrowed by NOT condition; rows where the condition is NULL lie outside."""
    ((condition, value),) = node.branches
    outside = analysis.assume(condition, environment, Truths.FALSE)
    inside = analysis.assume(condition, environment, Truths.TRUE)
    pieces = [analysis.range(value, inside), analysis.range(node.otherwise, outside)]
    return ranges.union_of(analysis.build, pieces)


def _coalesce_is_first(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """COALESCE taken for its first operand."""
    return analysis.range(node.operands[0], environment)


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
    known = cast.cast_range(analysis, node, environment)
    return replace(known, may_null=analysis.range(node.operand, environment).may_null)


def _as_under_ansi(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """What does not fit taken to raise, although it saturates, wraps round or is NULL."""
    strict = replace(node, mode=trees.Mode.ANSI)
    return RULES[rule_key(node)].range(analysis, strict, environment)


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
    return cast.cast_range(analysis, trees.Cast(node.operands[0], node.type, trees.Mode.LEGACY), environment)


def _rounded_as(function: Function) -> Callable[..., Range]:
    """One way of rounding taken for another."""

    def twin(analysis: Analysis, node: Any, environment: Environment) -> Range:
        return rounding.rounding_range(analysis, replace(node, function=function), environment)

    return twin


def _never(flag: str) -> Callable[..., Range]:
    """A function whose result is never NULL (NaN), whatever its operand is."""

    def twin(analysis: Analysis, node: Any, environment: Environment) -> Range:
        known = RULES[rule_key(node)].range(analysis, node, environment)
        changes: dict[str, Any] = {flag: analysis.build.flag(False)}
        return replace(known, **changes)

    return twin


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


def _literal_null_is_value(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A NULL literal that is never NULL."""
    return replace(leaves.literal_range(analysis, node, environment), may_null=analysis.build.flag(False))


def _column_without_nan(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A footer's bounds taken to bound NaN too."""
    return replace(leaves.column_range(analysis, node, environment), may_nan=analysis.build.flag(False))


def _opaque_not_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """What nothing is known of is taken never to be NULL."""
    return ranges.not_null(analysis.build, ranges.anything(analysis.build, node.type))


TWINS: Mapping[str, Twin] = {
    "<> by both bounds": Twin(
        Compare, Rule(may=_may_differ_only_if_both_bounds_do), "comparison", "= of columns"
    ),
    "> without NaN": Twin(Compare, Rule(may=_nan_is_above_nothing), "comparison", "> of floats"),
    "narrowing past NaN": Twin(
        Compare, Rule(may=comparison.may, assume=_narrows_past_nan), "boolean", "floats narrowed"
    ),
    "a constant is above NaN": Twin(
        Compare, Rule(outcomes=_constant_is_above_nan), "comparison", "> of float and number"
    ),
    "order without NaN": Twin(
        trees.Order,
        replace(order.ORDER, may_lie=_order_without_nan),
        "order",
        "floats",
    ),
    "GREATEST chooses the first": Twin(
        trees.Order,
        replace(order.ORDER, may_lie=_chooses_the_first),
        "order",
        "GREATEST and an operand",
    ),
    "narrowing past a NULL order": Twin(
        trees.Order,
        replace(order.ORDER, constrain=_null_order_is_none),
        "boolean",
        "two orders of two columns",
    ),
    "equal to itself where NULL": Twin(
        Compare, Rule(outcomes=_equal_to_itself_where_null), "comparison", "= of column and itself"
    ),
    "IF narrows as its first branch": Twin(
        Case,
        replace(conditional.CASE, constrain=_narrows_by_the_first_branch),
        "conditional",
        "IF above a value",
    ),
    "AND leaks": Twin(And, Rule(may=_narrowing_leaks), "boolean", "AND that narrows"),
    "OR leaks": Twin(trees.Or, Rule(may=_narrowing_leaks), "boolean", "OR that narrows"),
    "NOT without NULL": Twin(Not, Rule(outcomes=_not_swaps_null), "boolean", "NOT"),
    "IS NULL without NaN": Twin(
        trees.IsNull, Rule(outcomes=_null_test_ignores_nan), "null_test", "IS NULL of a float"
    ),
    "IN without NULL": Twin(In, Rule(outcomes=_in_ignores_null_member), "membership", "IN with NULL"),
    "prefix end": Twin(StartsWith, Rule(outcomes=_prefix_ends_at_itself), "prefix", "startswith"),
    "LIKE as its prefix": Twin(Like, Rule(outcomes=_like_is_its_prefix), "prefix", "LIKE prefix and more"),
    "ELSE without NULL": Twin(Case, Rule(range=_else_forgets_null), "conditional", "IF"),
    "ELSE narrowed": Twin(Case, Rule(range=_else_narrowed_to_false), "conditional", "CASE nested"),
    "COALESCE is first": Twin(Coalesce, Rule(range=_coalesce_is_first), "conditional", "COALESCE"),
    "overflow ignored": Twin(
        trees.Arithmetic, Rule(range=_overflow_ignored), "arithmetic", "bigint +, LEGACY"
    ),
    "TRY never NULL": Twin(trees.Arithmetic, Rule(range=_overflow_ignored), "arithmetic", "tinyint -, TRY"),
    "difference of bounds": Twin(
        trees.Arithmetic, Rule(range=_subtracts_like_with_like), "arithmetic", "tinyint -, ANSI"
    ),
    "inf - inf": Twin(trees.Arithmetic, Rule(range=_infinities_never_cancel), "arithmetic", "double -"),
    "wrap-around of products": Twin(
        trees.Arithmetic, Rule(range=_overflow_ignored), "arithmetic", "bigint * 7, LEGACY"
    ),
    "product of like bounds": Twin(
        trees.Arithmetic, Rule(range=_multiplies_like_with_like), "arithmetic", "tinyint *, ANSI"
    ),
    "0 * inf": Twin(trees.Arithmetic, Rule(range=_zero_times_infinity_is_a_number), "arithmetic", "double *"),
    "1 / 0 never NULL": Twin(trees.Arithmetic, Rule(range=_zero_divides), "arithmetic", "bigint div, LEGACY"),
    "1.0 / 0.0 never NULL": Twin(trees.Arithmetic, Rule(range=_zero_divides), "arithmetic", "double / 0"),
    "quotient across zero": Twin(
        trees.Arithmetic, Rule(range=_nearest_divisor_is_a_bound), "arithmetic", "-7 div bigint, ANSI"
    ),
    "quotient rounded down": Twin(
        trees.Arithmetic, Rule(range=_quotient_rounds_down), "arithmetic", "bigint div 7, ANSI"
    ),
    "wide quotient never wraps": Twin(
        trees.Arithmetic, Rule(range=_wide_quotient_never_wraps), "arithmetic", "wide decimal div, ANSI"
    ),
    "remainder not negative": Twin(
        trees.Arithmetic, Rule(range=_remainder_is_not_negative), "arithmetic", "tinyint % 7, ANSI"
    ),
    "remainder grows": Twin(trees.Arithmetic, Rule(range=_remainder_grows), "arithmetic", "tinyint % 7, TRY"),
    "no zone": Twin(trees.Cast, Rule(range=_no_zone), "cast", "date to timestamp, ANSI"),
    "cast never NULL": Twin(
        trees.Cast, Rule(range=_narrowing_cast_never_null), "cast", "bigint to tinyint, TRY"
    ),
    "decimals rounded to integers": Twin(
        trees.Cast, Rule(range=_rounds_before_it_casts), "cast", "decimal(10,2) to tinyint, ANSI"
    ),
    "no saturation": Twin(trees.Cast, Rule(range=_as_under_ansi), "cast", "double to int, LEGACY"),
    "NaN casts to nothing": Twin(trees.Cast, Rule(range=_as_under_ansi), "cast", "double to bigint, TRY"),
    "minus the least": Twin(
        Function.NEGATE, Rule(range=_as_under_ansi), "magnitude", "negative of tinyint, LEGACY"
    ),
    "abs of the least": Twin(Function.ABS, Rule(range=_as_under_ansi), "magnitude", "abs of bigint, LEGACY"),
    "sign never NaN": Twin(Function.SIGN, Rule(range=_never("may_nan")), "magnitude", "sign"),
    "floor as a cast": Twin(Function.FLOOR, Rule(range=_cuts_off), "rounding", "floor of a double"),
    "NaN has no ceiling": Twin(
        Function.CEIL, Rule(range=_nan_has_no_ceiling), "rounding", "ceil of a double"
    ),
    "rounding never wraps": Twin(
        Function.ROUND, Rule(range=_as_under_ansi), "rounding", "round of an integer, LEGACY"
    ),
    "half up to even": Twin(
        Function.BROUND, Rule(range=_rounded_as(Function.ROUND)), "rounding", "bround of a decimal, ANSI"
    ),
    "sqrt never NaN": Twin(Function.SQRT, Rule(range=_never("may_nan")), "elementary", "sqrt"),
    "exp never NaN": Twin(Function.EXP, Rule(range=_never("may_nan")), "elementary", "exp"),
    "ln of 0": Twin(Function.LN, Rule(range=_null_only_below_zero), "elementary", "ln"),
    "log10 never NULL": Twin(Function.LOG10, Rule(range=_never("may_null")), "elementary", "log10"),
    "log2 never NaN": Twin(Function.LOG2, Rule(range=_never("may_nan")), "elementary", "log2"),
    "log1p from 0": Twin(Function.LOG1P, Rule(range=_undefined_up_to_zero), "elementary", "log1p"),
    "log never NULL": Twin(Function.LOG, Rule(range=_never("may_null")), "elementary", "log to base 10"),
    "even powers increase": Twin(
        Function.POWER, Rule(range=_even_powers_increase), "elementary", "power 2.0"
    ),
    "powers never NaN": Twin(Function.POWER, Rule(range=_never("may_nan")), "elementary", "power 0.5"),
    "greatest counts NULL": Twin(
        Function.GREATEST, Rule(range=_greatest_counts_nulls), "extremes", "greatest of integers"
    ),
    "least ignores NaN": Twin(Function.LEAST, Rule(range=_least_ignores_nan), "extremes", "least of doubles"),
    "NULL is a value": Twin(Literal, Rule(range=_literal_null_is_value), "leaves", "NULL"),
    "column without NaN": Twin(trees.Column, Rule(range=_column_without_nan), "leaves", "float column"),
    "opaque never NULL": Twin(trees.Opaque, Rule(range=_opaque_not_null), "leaves", "opaque"),
}


@pytest.mark.parametrize("name", TWINS)
def test_the_broken_twin_of_a_rule_is_refuted_with_a_witness(name: str) -> None:
    twin = TWINS[name]
    subject: Expression = SUBJECTS[twin.family][twin.subject]
    assert not Proof(subject).refuted(limit=1), "the twin's subject must hold under the true rule"
    witnesses = Proof(subject, {**RULES, twin.breaks: twin.rule}).refuted(limit=1)
    assert witnesses
    assert "not decided" not in witnesses[0]


def test_each_rule_has_a_broken_twin() -> None:
    assert {twin.breaks for twin in TWINS.values()} == set(RULES)


def test_the_documented_table_of_rules_is_complete() -> None:
    """Each rule's module, the number of its proofs, every twin by name, its properties and tightness."""
    text = (Path(__file__).parents[2] / "docs" / "PROPERTIES.md").read_text(encoding="utf-8")
    claims, _, table = text.partition("## Rules")
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    documented = {cells[0].strip(" `"): cells for cells in rows}
    assert {family: int(cells[2]) for family, cells in documented.items()} == {
        family: len(subjects) for family, subjects in SUBJECTS.items()
    }
    assert set(documented) == set(map(_module, RULES.values()))
    named = {name.strip().replace("`", "") for cells in rows for name in cells[3].split(";")}
    assert named == set(TWINS)
    for cells in rows:
        properties = [name.strip() for name in cells[4].split(",")]
        assert properties
        assert all(f"| {name} |" in claims for name in properties), properties
        assert re.fullmatch(r" \d+\.\d\d % / \d+\.\d\d % ", cells[5]), cells[5]


def _module(rule: Rule) -> str:
    """The family of a rule; what nothing is known of is a leaf."""
    parts = (rule.range, rule.may, rule.assume, rule.constrain, rule.outcomes, rule.may_lie)
    modules = {part.__module__.rpartition(".")[2] for part in parts if part is not None}
    assert len(modules) == 1
    return modules.pop().replace("analysis", "leaves")
