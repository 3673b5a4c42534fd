"""Mutants of the steps of dates and times: an attribute of a module or a class, and a wrong value for it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pruning.rules.time import calendar, cycles, steps, zones
from pruning.rules.time.steps import Action

NEW_YORK = "America/New_York"


@dataclass(frozen=True, slots=True)
class StepMutant:
    """The attribute `name` of `owner`, and the wrong value that takes its place."""

    owner: Any
    name: str
    wrong: Any


def _uncut(day: int, months: int) -> int:
    return int(calendar.month_start(calendar.month_of(day) + months) + calendar.day_of(day) - 1)


def _zone() -> zones.Zone:
    zone = zones.zone(NEW_YORK)
    assert zone is not None
    return zone


def _backward() -> zones.PiecewiseShift:
    """Of a local time that is skipped the instant at the offset after the gap."""
    starts = tuple(start - 3_600_000_000 for start in _zone().latest.starts)
    return replace(_zone().earliest, starts=starts)


MUTANTS: Mapping[str, StepMutant] = {
    "a week that starts on Sunday": StepMutant(calendar, "_MONDAY_OF_WEEK_0", -4),
    "a month later that is not cut": StepMutant(calendar, "plus_months", _uncut),
    "a gap that is left backward": StepMutant(
        steps, "zone_of", lambda step: replace(_zone(), earliest=_backward())
    ),
    "the later instant of an overlap": StepMutant(
        steps, "zone_of", lambda step: replace(_zone(), earliest=_zone().latest)
    ),
    "an hour truncated at another offset than its own": StepMutant(
        zones.Zone, "instant_at_offset", lambda zone, local, offset: zone.earliest.at(local)
    ),
    "before 1970 toward zero": StepMutant(
        steps, "_VALUES", {**steps._VALUES, Action.INDEX: lambda step, x, _: int(x / step.number)}
    ),
    "a leap day forgotten": StepMutant(cycles, "CYCLES_MAX", 1),
}
