"""PROOF-2 for times: an algebra without zones is refuted, and each mistake in a step gives a wrong value."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mutants.rules.builders import LocalTimeIncreases
from mutants.rules.time_steps import MUTANTS, NEW_YORK
from pruning.expressions.trees import Function
from pruning.rules.time import cycles, steps
from pruning.rules.time.steps import Action, Step
from skipproof.proofs.prover import Proof
from skipproof.proofs.subjects.table import SUBJECTS


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("time", "an instant's date"),
        ("time", "a local time's instant"),
        ("fields", "hours"),
        ("time", "hour of two instants"),
    ],
)
def test_local_time_taken_for_increasing_is_refuted(family: str, name: str) -> None:
    assert Proof(SUBJECTS[family][name], build=LocalTimeIncreases()).refutation() is not None


def _day(year: int, month: int, day: int) -> int:
    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days


def _micros(*moment: int) -> int:
    instant = datetime.datetime(*moment, tzinfo=datetime.UTC)
    return (instant - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(
        microseconds=1
    )


def _value(action: Action, at: int, **parts: Any) -> Any:
    return steps.value(Step(action, **parts), at)


_SUNDAY = _day(2024, 5, 5)
# What Spark gives, by the mutant that gives something else.
FACTS: Mapping[str, tuple[Callable[[], Any], Any]] = {
    "a week that starts on Sunday": (
        lambda: _value(Action.UNIT_START, _SUNDAY, unit="WEEK"),
        _day(2024, 4, 29),
    ),
    "a month later that is not cut": (
        lambda: _value(Action.PLUS_MONTHS, _day(2024, 1, 31), number=1),
        _day(2024, 2, 29),
    ),
    "a gap that is left backward": (
        lambda: _value(Action.INSTANT, _micros(2024, 3, 10, 2, 30), zone=NEW_YORK),
        _micros(2024, 3, 10, 7, 30),
    ),
    "the later instant of an overlap": (
        lambda: _value(Action.INSTANT, _micros(2024, 11, 3, 1, 30), zone=NEW_YORK),
        _micros(2024, 11, 3, 5, 30),
    ),
    "an hour truncated at another offset than its own": (
        lambda: _value(Action.TRUNCATE, _micros(2024, 11, 3, 6, 30), number=3_600_000_000, zone=NEW_YORK),
        _micros(2024, 11, 3, 6),
    ),
    "before 1970 toward zero": (
        lambda: _value(Action.INDEX, -500_000, number=1_000_000),
        -1,
    ),
    "a day later as 24 hours": (
        lambda: _value(Action.DAYS_LATER, _micros(2024, 3, 10, 5), number=1, zone=NEW_YORK),
        _micros(2024, 3, 11, 4),
    ),
    "months to come as months begun": (
        lambda: _value(Action.MONTHS_SINCE, _micros(2024, 1, 31), number=_micros(2024, 2, 1)),
        0,
    ),
    "a leap day forgotten": (
        lambda: cycles.next_with(Function.DAYOFYEAR, frozenset({366}), _day(2023, 1, 1)),
        _day(2024, 12, 31),
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_mistake_in_a_step_gives_another_value_than_spark(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, expected = FACTS[name]
    assert compute() == expected
    monkeypatch.setattr(*MUTANTS[name])
    assert compute() != expected


def test_each_mutant_of_a_step_has_a_fact_that_it_contradicts() -> None:
    assert set(FACTS) == set(MUTANTS)
