"""PROOF-2: the proofs can fail. Broken algebra and broken rules are refuted, each with a witness.

The faults of the algebra break every rule at once: no proof may survive all of them. The twins of
the rules are mistakes that public engines made (or nearly), one rule at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
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
    In,
    Like,
    Literal,
    Not,
    StartsWith,
)
from pruning.rules import (
    arithmetic,
    boolean,
    cast,
    comparison,
    leaves,
    membership,
    null_test,
    prefix,
    ranges,
)
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.program import Aspect, Bound, Builder, Flag
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


class IntervalsMissed(Builder):
    """Holds every range to lie in the list, and none to meet it."""

    def maybe_meets(self, lower: Bound, upper: Bound, intervals: Any) -> Flag:
        return self.flag(False)

    def maybe_leaves(self, lower: Bound, upper: Bound, intervals: Any) -> Flag:
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
    UnknownIsKnown: ("arithmetic", "tinyint +, TRY"),
    IntervalsMissed: ("membership", "IN"),
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

    breaks: type
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
    return environment.with_column(node.left.name, narrowed)


def _narrowing_leaks(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """Uses the rows where AND is TRUE to tell whether it may be FALSE."""
    for operand in node.operands:
        environment = analysis.assume(operand, environment, Truths.TRUE)
    return boolean.may(analysis, node, environment, truth)


def _not_swaps_null(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """NOT of "never TRUE" taken for "always TRUE"; it may be NULL."""
    if truth is Truths.NULL:
        return analysis.build.flag(False)
    return boolean.may_not(analysis, node, environment, truth)


def _null_test_ignores_nan(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """IS NOT NULL needs a value inside the bounds; NaN is one outside."""
    if truth is Truths.FALSE:
        return analysis.range(node.operand, environment).may_value
    return null_test.may(analysis, node, environment, truth)


def _in_ignores_null_member(analysis: Analysis, node: In, environment: Environment, truth: Truths) -> Flag:
    """IN (..., NULL) taken as FALSE where nothing matches; it is NULL."""
    members = tuple(member for member in node.members if getattr(member, "value", 0) is not None)
    return membership.may(analysis, In(node.operand, members), environment, truth)


def _prefix_ends_at_itself(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """Takes the prefix for the greatest string that has it."""
    known = analysis.range(node.operand, environment)
    if truth is not Truths.TRUE:
        return prefix.may(analysis, node, environment, truth)
    own = analysis.build.bound(node.prefix, known.type)
    build = analysis.build
    return build.and_(
        known.may_value, build.maybe_at_most(own, known.upper), build.maybe_at_most(known.lower, own)
    )


def _like_is_its_prefix(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """Takes every string with the prefix for a match, whatever follows."""
    bare = StartsWith(node.operand, prefix.like_prefix(node.pattern, node.escape)[0])
    return prefix.may(analysis, bare, environment, truth)


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


def _no_zone(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Midnight taken for midnight in UTC."""
    known = analysis.range(node.operand, environment)
    build = analysis.build
    return replace(known, lower=build.cast(known.lower, node.type), upper=build.cast(known.upper, node.type))


def _narrowing_cast_never_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A cast that does not fit gives NULL."""
    known = cast.cast_range(analysis, node, environment)
    return replace(known, may_null=analysis.range(node.operand, environment).may_null)


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
        Compare, Rule(may=_may_differ_only_if_both_bounds_do), "comparison", "= of column and literal"
    ),
    "> without NaN": Twin(Compare, Rule(may=_nan_is_above_nothing), "comparison", "> of floats"),
    "narrowing past NaN": Twin(
        Compare, Rule(may=comparison.may, assume=_narrows_past_nan), "boolean", "floats narrowed"
    ),
    "AND leaks": Twin(And, Rule(may=_narrowing_leaks), "boolean", "AND that narrows"),
    "OR leaks": Twin(trees.Or, Rule(may=_narrowing_leaks), "boolean", "OR that narrows"),
    "NOT without NULL": Twin(Not, Rule(may=_not_swaps_null), "boolean", "NOT"),
    "IS NULL without NaN": Twin(
        trees.IsNull, Rule(may=_null_test_ignores_nan), "null_test", "IS NULL of a float"
    ),
    "IN without NULL": Twin(In, Rule(may=_in_ignores_null_member), "membership", "IN with NULL"),
    "prefix end": Twin(StartsWith, Rule(may=_prefix_ends_at_itself), "prefix", "startswith"),
    "LIKE as its prefix": Twin(Like, Rule(may=_like_is_its_prefix), "prefix", "LIKE prefix and more"),
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
    "no zone": Twin(trees.Cast, Rule(range=_no_zone), "cast", "date to timestamp, ANSI"),
    "cast never NULL": Twin(
        trees.Cast, Rule(range=_narrowing_cast_never_null), "cast", "bigint to tinyint, TRY"
    ),
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
    """Each family of rules, the number of its proofs, and every twin by name."""
    text = (Path(__file__).parents[2] / "docs" / "PROPERTIES.md").read_text(encoding="utf-8")
    rows = [
        line.split("|")[1:-1] for line in text.partition("## Rules")[2].splitlines() if line.startswith("| `")
    ]
    documented = {cells[0].strip(" `"): cells for cells in rows}
    assert {family: int(cells[2]) for family, cells in documented.items()} == {
        family: len(subjects) for family, subjects in SUBJECTS.items()
    }
    named = {name.strip().replace("`", "") for cells in rows for name in cells[3].split(";")}
    assert named == set(TWINS)
