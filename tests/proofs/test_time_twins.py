"""PROOF-T: the rules of times hold for all blocks and rows, by the axioms of `solver_times`; twins do not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from faults import NothingPossible, NullForgotten
from proving import Proof
from time_subjects import SUBJECTS, meanings

from pruning.expressions.trees import Expression, Function
from pruning.rules import fields, time
from pruning.rules.analysis import Analysis, Rule, RuleKey
from pruning.rules.builder import Builder
from pruning.rules.environment import Environment
from pruning.rules.functions import Apply, Side
from pruning.rules.interpreters.solver import Solver
from pruning.rules.program import Bound
from pruning.rules.ranges import Range
from pruning.rules.table import RULES


def refuted(
    name: str,
    rules: Mapping[RuleKey, Rule] = RULES,
    build: type[Builder] = Builder,
    *,
    limit: int | None = None,
) -> list[str]:
    solver = Solver()
    with meanings(solver.theory):
        return Proof(SUBJECTS[name], rules, build=build(), solver=solver).refuted(limit=limit)


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_rule_of_time_holds_for_all_blocks_and_rows(name: str) -> None:
    assert refuted(name) == []


@pytest.mark.parametrize("fault", [NothingPossible, NullForgotten])
@pytest.mark.parametrize("name", SUBJECTS)
def test_no_proof_survives_a_fault_of_the_algebra(name: str, fault: type[Builder]) -> None:
    assert any("not decided" not in witness for witness in refuted(name, build=fault, limit=1))


def _turned(range_: Callable[..., Range]) -> Callable[..., Range]:
    """The bounds swapped, as for a function that falls."""

    def twin(analysis: Analysis, node: Expression, environment: Environment) -> Range:
        known = range_(analysis, node, environment)
        return replace(known, lower=known.upper, upper=known.lower)

    return twin


class Straight(Builder):
    """Takes local time, and the instant of a local time, for increasing functions."""

    def apply(self, call: Apply, *bounds: Bound, type_: Any) -> Bound:
        return super().apply(replace(call, side=Side.VALUE), *bounds, type_=type_)


def _unwrapped(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """A sum of days that does not fit is none, not one from the other end."""
    known = time.sum_range(analysis, node, environment)
    unbounded = time.unbounded_where
    try:
        time.unbounded_where = lambda build, range_, flag: range_
        return time.sum_range(analysis, node, environment)
    finally:
        time.unbounded_where = unbounded
        assert known is not None


def _month_without_year(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Between the fields of the bounds, whatever lies between."""
    build, known = analysis.build, analysis.range(node.operands[0], environment)  # type: ignore[union-attr]
    field = Apply(fields.Step(fields.Action.FIELD, field=node.function))  # type: ignore[union-attr]
    lower, upper = (build.apply(field, bound, type_=node.type) for bound in (known.lower, known.upper))  # type: ignore[union-attr]
    return replace(known, lower=lower, upper=upper)


@dataclass(frozen=True, slots=True)
class Twin:
    """A mistake in one rule, and the subject whose proof must see it."""

    breaks: RuleKey
    rule: Rule
    subject: str


TWINS: Mapping[str, Twin] = {
    "falling": Twin(Function.TRUNC, Rule(range=_turned(time.time_range)), "trunc"),
    "years fall": Twin(Function.YEAR, Rule(range=_turned(time.time_range)), "years"),
    "days wrap unseen": Twin(Function.DATE_SUB, Rule(range=_unwrapped), "date_sub of a column"),
    "month without the year": Twin(Function.MONTH, Rule(range=_month_without_year), "months"),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_refuted_with_a_witness(name: str) -> None:
    twin = TWINS[name]
    witnesses = refuted(twin.subject, {**RULES, twin.breaks: twin.rule}, limit=1)
    assert witnesses
    assert "not decided" not in witnesses[0]


@pytest.mark.parametrize(
    "name", ["an instant's date", "a local time's instant", "hours", "hour of two instants"]
)
def test_local_time_taken_for_increasing_is_refuted(name: str) -> None:
    assert any("not decided" not in witness for witness in refuted(name, build=Straight, limit=1))
