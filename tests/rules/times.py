"""Instants and dates where calendars and clocks do something, for the tests of time."""

import functools

from hypothesis import strategies as st

from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar
from pruning.rules.time.steps import MICROS_MAX
from pruning.rules.time.zones import Zone, zone

# With and without daylight saving, of whole, half and quarter hours, of 30 minutes' change, with dates
# that come twice or not at all.
ZONES = (
    "UTC",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "America/Toronto",
    "+05:30",
)
HOUR = 3_600_000_000
YEARS = (-5000, -1, 0, 1, 4, 100, 400, 1582, 1600, 1883, 1900, 1969, 1970, 1987, 2000, 2023, 2024, 2400, 9999)
DATES_MAX = 2**31 - 1


def known(name: str) -> Zone:
    found = zone(name)
    assert found is not None
    return found


def days() -> list[int]:
    """Ends of years and months, leap days, the days that Julian dates skip."""
    starts = [
        int(calendar.month_start(year * 12 + month))
        for year in (*YEARS, 294_200)
        for month in (0, 1, 2, 3, 9)
    ]
    marked = [*starts, -141_428, -141_427, 19_782, 0]
    return sorted({day + beside for day in marked for beside in (-1, 0, 1, 13)})


def transitions(name: str) -> list[int]:
    """The instants at which a zone's offset changes: those listed, some by rule, some far in the future."""
    shifts = known(name).local
    starts = shifts.starts
    return sorted({*starts[:260], *starts[-20:]})


@functools.cache
def instants(name: str) -> list[int]:
    """Instants at and beside transitions, and local midnights of the marked days."""
    zone_ = known(name)
    beside = (-26 * HOUR, -HOUR, -HOUR // 2, -1, 0, 1, HOUR // 2 + 17_000_001, HOUR, 2 * HOUR, 25 * HOUR)
    moments = {start + more for start in transitions(name) for more in beside}
    for day in days():
        midnight = day * MICROS_PER_DAY
        if abs(midnight) < MICROS_MAX:
            moments |= {zone_.earliest.at(midnight) + more for more in (-1, 0, 1, 13 * HOUR + 999_999)}
    return sorted(moment for moment in moments if abs(moment) <= MICROS_MAX)


@functools.cache
def drawn_instants(name: str) -> st.SearchStrategy[int]:
    """Instants: near a transition, near a marked day, or anywhere."""
    near = st.builds(
        lambda start, more: start + more,
        st.sampled_from(transitions(name) or [0]),
        st.integers(-2 * HOUR, 2 * HOUR) | st.sampled_from([-HOUR, -1, 0, 1, HOUR]),
    )
    recent = st.integers(-40 * 366 * MICROS_PER_DAY, 90 * 366 * MICROS_PER_DAY)
    return near | recent | st.sampled_from(instants(name)) | st.integers(-MICROS_MAX, MICROS_MAX)


@functools.cache
def drawn_locals(name: str) -> st.SearchStrategy[int]:
    """Local times: inside and beside gaps and overlaps, or anything that an instant is."""
    zone_ = known(name)
    edges = sorted({*zone_.earliest.starts[:260], *zone_.latest.starts[:260]}) or [0]
    near = st.builds(lambda start, more: start - more, st.sampled_from(edges), st.integers(-HOUR, HOUR))
    return near | drawn_instants(name)


@functools.cache
def drawn_days() -> st.SearchStrategy[int]:
    """Days: marked ones, of our times, or any."""
    return st.sampled_from(days()) | st.integers(-20_000, 40_000) | st.integers(-DATES_MAX, DATES_MAX)
