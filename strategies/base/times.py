"""Dates and instants at which calendars and clocks are at their worst.

Instants lie around the changes of the zone's clocks, at the borders of years, weeks and hours,
before 1970, at leap days, and around the ten days of 1582 that old calendars lack.
"""

import datetime
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from strategies.base.values import DAY_MAX, DAY_MIN, US_MAX, US_MIN
from strategies.base.zones import UNITS, US_PER_DAY, changes, clock, instant, microseconds, start_of

_MINUTE, _HOUR = 60_000_000, 3_600_000_000
_NEAR_CHANGES = (0, -1, 1, 30 * _MINUTE, -30 * _MINUTE, _HOUR, -_HOUR, _HOUR - 1, 2 * _HOUR, US_PER_DAY)
_MOMENTS = tuple(
    datetime.datetime(*parts)
    for parts in (
        (1970, 1, 1), (2024, 2, 29, 12, 30), (2023, 12, 31, 23, 59, 59, 999_999), (2024, 1, 1),
        (2000, 2, 29), (1900, 2, 28, 23), (1900, 3, 1), (1969, 12, 31, 23, 59, 59, 999_999),
        (1582, 10, 4), (1582, 10, 5), (1582, 10, 15), (2021, 1, 3), (2020, 12, 31), (1, 1, 2), (9999, 12, 30),
        (2024, 3, 31), (2023, 1, 31), (1883, 11, 18, 12, 3), (2024, 6, 30, 23, 30), (999, 12, 31),
        (1000, 1, 1),
    )
)  # fmt: skip


@cache
def instants(zone: str) -> SearchStrategy[int]:
    """Microseconds since the epoch, most of them where the zone's clocks or units change.

    Shrinks to: a change of clocks, else the epoch.
    """
    instants_ = [at for moment in _MOMENTS if (at := instant(moment, zone)) is not None]
    near = [at + step for at in (*changes(zone), *instants_) for step in _NEAR_CHANGES]
    borders = st.builds(
        lambda at, unit: _border(at, unit, zone), st.sampled_from(near), st.sampled_from(UNITS)
    )
    return st.one_of(
        st.sampled_from(instants_),
        st.sampled_from(near),
        borders,
        _close(instants_[3]),
        st.integers(US_MIN, US_MAX),
    )


@cache
def local_times(zone: str) -> SearchStrategy[int]:
    """The local times of such instants, including skipped and repeated ones."""
    return instants(zone).map(lambda at: _local_microseconds(at, zone))


@cache
def days() -> SearchStrategy[int]:
    """Dates of the same moments, the days next to them, and days close together."""
    days_ = [microseconds(moment) // US_PER_DAY for moment in _MOMENTS]
    near = st.builds(lambda day, step: day + step, st.sampled_from(days_), st.integers(-3, 3))
    few = st.integers(19_700, 19_760)
    return st.one_of(st.sampled_from(days_), near, few, st.integers(DAY_MIN, DAY_MAX))


def _close(start: int) -> SearchStrategy[int]:
    """Instants within a few days, so that units hold several of them."""
    return st.builds(
        lambda hours, rest: start + hours * _HOUR + rest,
        st.integers(0, 72),
        st.sampled_from((0, 1, -1, _MINUTE)),
    )


def _border(at: int, unit: str, zone: str) -> int:
    local = clock(at, zone)
    start = None if local is None else instant(start_of(unit, local), zone)
    return at if start is None else start


def _local_microseconds(at: int, zone: str) -> int:
    local = clock(at, zone)
    return at if local is None else microseconds(local)
