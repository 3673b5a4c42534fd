"""PROOF-T: rules of times hold for all blocks and rows, by the axioms of `solver_times`; twins do not."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from faults import NothingPossible, NullForgotten
from proving import Proof
from subjects_of_time import SUBJECTS, meanings

from pruning.expressions.trees import Call, Expression, Function
from pruning.expressions.types import DATE, LONG
from pruning.rules import calendar, cycles, steps, time, zones
from pruning.rules.analysis import Analysis, Rule, RuleKey
from pruning.rules.builder import Builder
from pruning.rules.environment import Environment
from pruning.rules.functions import Apply, Side
from pruning.rules.interpreters.solver import Solver
from pruning.rules.program import Bound
from pruning.rules.ranges import Range
from pruning.rules.steps import Action, Step
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
    assert isinstance(node, Call)
    build = analysis.build
    date, days = (analysis.range(operand, environment) for operand in node.operands)
    ends = ((date.lower, days.upper), (date.upper, days.lower))
    lower, upper = (
        time._whole(build, build.subtract(*(time._whole(build, bound, LONG) for bound in pair)), DATE)
        for pair in ends
    )
    return replace(time.sum_range(analysis, node, environment), lower=lower, upper=upper)


def _month_without_year(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Between the fields of the bounds, whatever lies between."""
    assert isinstance(node, Call)
    build, known = analysis.build, analysis.range(node.operands[0], environment)
    field = Apply(Step(Action.FIELD, field=node.function))
    lower, upper = (build.apply(field, bound, type_=node.type) for bound in (known.lower, known.upper))
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


def _day(year: int, month: int, day: int) -> int:
    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days


def _micros(*moment: int) -> int:
    instant = datetime.datetime(*moment, tzinfo=datetime.UTC)
    return (instant - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(
        microseconds=1
    )


def _value(action: Action, at: int, **parts: Any) -> Any:
    return steps.value(Step(action, **parts), at)


def _uncut(day: int, months: int) -> int:
    return int(calendar.month_start(calendar.month_of(day) + months) + calendar.day_of(day) - 1)


_SUNDAY, NEW_YORK = _day(2024, 5, 5), "America/New_York"
# What Spark gives, and a mistake that gives something else.
FACTS: Mapping[str, tuple[Callable[[], Any], Any, tuple[Any, str, Any]]] = {
    "a week that starts on Sunday": (
        lambda: _value(Action.UNIT_START, _SUNDAY, unit="WEEK"),
        _day(2024, 4, 29),
        (calendar, "_MONDAY_OF_WEEK_0", -4),
    ),
    "a month later that is not cut": (
        lambda: _value(Action.PLUS_MONTHS, _day(2024, 1, 31), number=1),
        _day(2024, 2, 29),
        (calendar, "plus_months", _uncut),
    ),
    "a gap that is left backward": (
        lambda: _value(Action.INSTANT, _micros(2024, 3, 10, 2, 30), zone=NEW_YORK),
        _micros(2024, 3, 10, 7, 30),
        (steps, "known_zone", lambda step: replace(_zone(), earliest=_backward())),
    ),
    "the later instant of an overlap": (
        lambda: _value(Action.INSTANT, _micros(2024, 11, 3, 1, 30), zone=NEW_YORK),
        _micros(2024, 11, 3, 5, 30),
        (steps, "known_zone", lambda step: replace(_zone(), earliest=_zone().latest)),
    ),
    "an hour truncated at another offset than its own": (
        lambda: _value(Action.TRUNCATE, _micros(2024, 11, 3, 6, 30), number=3_600_000_000, zone=NEW_YORK),
        _micros(2024, 11, 3, 6),
        (zones.Zone, "resolved", lambda zone, local, offset: zone.earliest.at(local)),
    ),
    "before 1970 toward zero": (
        lambda: _value(Action.INDEX, -500_000, number=1_000_000),
        -1,
        (steps, "_VALUES", {**steps._VALUES, Action.INDEX: lambda step, x, _: int(x / step.number)}),
    ),
    "a leap day forgotten": (
        lambda: cycles.next_with(Function.DAYOFYEAR, frozenset({366}), _day(2023, 1, 1)),
        _day(2024, 12, 31),
        (cycles, "CYCLES_MAX", 1),
    ),
}


def _zone() -> zones.Zone:
    found = zones.zone(NEW_YORK)
    assert found is not None
    return found


def _backward() -> zones.Shifts:
    """Of a local time that is skipped the instant at the offset after the gap."""
    starts = tuple(start - 3_600_000_000 for start in _zone().latest.starts)
    return replace(_zone().earliest, starts=starts)


@pytest.mark.parametrize("name", FACTS)
def test_a_mistake_in_a_step_gives_another_value_than_spark(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, expected, (where, attribute, broken) = FACTS[name]
    assert compute() == expected
    monkeypatch.setattr(where, attribute, broken)
    assert compute() != expected
