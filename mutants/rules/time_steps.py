"""Mutants of the steps of dates and times: an attribute of a module or a class, and a wrong value for it."""

from collections.abc import Mapping
from dataclasses import replace

from mutants.replacements import Replacement
from pruning.rules.time import calendar, cycles, steps, zones
from pruning.rules.time.steps import Action

NEW_YORK = "America/New_York"


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


MUTANTS: Mapping[str, Replacement] = {
    "a week that starts on Sunday": Replacement(calendar, "_MONDAY_OF_WEEK_0", -4),
    "a month later that is not cut": Replacement(calendar, "plus_months", _uncut),
    "a gap that is left backward": Replacement(
        steps, "zone_of", lambda step: replace(_zone(), earliest=_backward())
    ),
    "the later instant of an overlap": Replacement(
        steps, "zone_of", lambda step: replace(_zone(), earliest=_zone().latest)
    ),
    "an hour truncated at another offset than its own": Replacement(
        zones.Zone, "instant_at_offset", lambda zone, local, offset: zone.earliest.at(local)
    ),
    "before 1970 toward zero": Replacement(
        steps, "_VALUES", {**steps._VALUES, Action.INDEX: lambda step, x, _: int(x / step.number)}
    ),
    "a day later as 24 hours": Replacement(
        steps,
        "_VALUES",
        {**steps._VALUES, Action.DAYS_LATER: lambda step, x, _: x + step.number * 86_400_000_000},
    ),
    "months to come as months begun": Replacement(
        calendar, "toward_zero", lambda number, unit: number // unit
    ),
    "a leap day forgotten": Replacement(cycles, "CYCLES_MAX", 1),
}
