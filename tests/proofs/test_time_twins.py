"""PROOF-2 for times: an algebra without zones is refuted, and each mistake in a step gives a wrong value."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from proving import Proof
from subjects import SUBJECTS

from pruning.expressions.trees import Function
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Bound
from pruning.rules.time import calendar, cycles, steps, zones
from pruning.rules.time.steps import Action, Step


class Straight(Builder):
    """Takes local time, and the instant of a local time, for increasing functions."""

    def apply(self, call: Apply, *bounds: Bound, type_: Any) -> Bound:
        return super().apply(replace(call, side=Side.VALUE), *bounds, type_=type_)


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
    witnesses = Proof(SUBJECTS[family][name], build=Straight()).refuted(limit=1)
    assert any("not decided" not in witness for witness in witnesses)


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
        (steps, "zone_of", lambda step: replace(_zone(), earliest=_backward())),
    ),
    "the later instant of an overlap": (
        lambda: _value(Action.INSTANT, _micros(2024, 11, 3, 1, 30), zone=NEW_YORK),
        _micros(2024, 11, 3, 5, 30),
        (steps, "zone_of", lambda step: replace(_zone(), earliest=_zone().latest)),
    ),
    "an hour truncated at another offset than its own": (
        lambda: _value(Action.TRUNCATE, _micros(2024, 11, 3, 6, 30), number=3_600_000_000, zone=NEW_YORK),
        _micros(2024, 11, 3, 6),
        (zones.Zone, "instant_at_offset", lambda zone, local, offset: zone.earliest.at(local)),
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


def _backward() -> zones.PiecewiseShift:
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
