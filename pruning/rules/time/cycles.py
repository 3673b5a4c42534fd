"""Fields of dates and times as positions in a cycle: the month in its year, the hour in its day.

Days, or microseconds of local time, are grouped in *steps* on which the field is constant; a cycle is a
run of steps after which the field starts again. So the next day or time whose field has one of some values
is found by a table look-up and a jump. The condition of [M] 5.3.7 that both bounds lie in one cycle is a
special case.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pruning.expressions.trees import Function
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar
from pruning.rules.time.calendar import Whole

CYCLES_MAX = 9  # a 29th of February is at most 8 years away, a 53rd week 7
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """The steps and cycles of one field; every function takes an int or a numpy array.

    Attributes:
        step: The step that a day or a local time is in.
        start: The first day or local time of a step.
        first: The first step of the cycle that a step is in.
        following: The first step of the cycle after that.
        lowest: The field's value on the first step of a cycle.
        size: The number of steps of the longest cycle.
    """

    step: Callable[[Whole], Whole]
    start: Callable[[Whole], Whole]
    first: Callable[[Whole], Whole]
    following: Callable[[Whole], Whole]
    lowest: int
    size: int

    def field(self, value: Whole) -> Whole:
        """Return the field of a day or a local time."""
        step = self.step(value)
        return step - self.first(step) + self.lowest

    @property
    def values(self) -> range:
        """The values that the field can have."""
        return range(self.lowest, self.lowest + self.size)


def _regular(step: int, size: int, *, lowest: int, phase: int = 0) -> Cycle:
    """Return the cycle of a field with steps of one length and `size` of them in each cycle.

    `phase` shifts where cycles begin.
    """
    return Cycle(
        step=lambda value: (value + phase) // step,
        start=lambda number: number * step - phase,
        first=lambda number: number // size * size,
        following=lambda number: number // size * size + size,
        lowest=lowest,
        size=size,
    )


def _days(first: Callable[[Whole], Whole], following: Callable[[Whole], Whole], size: int) -> Cycle:
    """Return the cycle of a field that counts days from the first one of some unit."""
    return Cycle(
        step=lambda day: day, start=lambda day: day, first=first, following=following, lowest=1, size=size
    )


# The fields of days, and those of microseconds of local time.
CYCLES: Mapping[Function, Cycle] = {
    Function.MONTH: Cycle(
        step=calendar.month_of,
        start=calendar.month_start,
        first=lambda month: month // 12 * 12,
        following=lambda month: month // 12 * 12 + 12,
        lowest=1,
        size=12,
    ),
    Function.QUARTER: Cycle(
        step=lambda day: calendar.month_of(day) // 3,
        start=lambda quarter: calendar.month_start(quarter * 3),
        first=lambda quarter: quarter // 4 * 4,
        following=lambda quarter: quarter // 4 * 4 + 4,
        lowest=1,
        size=4,
    ),
    Function.DAY: _days(
        lambda day: calendar.month_start(calendar.month_of(day)),
        lambda day: calendar.month_start(calendar.month_of(day) + 1),
        31,
    ),
    Function.DAYOFYEAR: _days(
        lambda day: calendar.year_start(calendar.year_of(day)),
        lambda day: calendar.year_start(calendar.year_of(day) + 1),
        366,
    ),
    Function.DAYOFWEEK: _regular(1, 7, lowest=1, phase=4),
    Function.WEEKDAY: _regular(1, 7, lowest=0, phase=3),
    Function.WEEKOFYEAR: Cycle(
        step=calendar.week_of,
        start=calendar.week_start,
        first=lambda week: calendar.first_week(calendar.week_year_of(week)),
        following=lambda week: calendar.first_week(calendar.week_year_of(week) + 1),
        lowest=1,
        size=53,
    ),
    Function.HOUR: _regular(_HOUR, 24, lowest=0),
    Function.MINUTE: _regular(_MINUTE, 60, lowest=0),
    Function.SECOND: _regular(_SECOND, 60, lowest=0),
}
OF_TIME = frozenset({Function.HOUR, Function.MINUTE, Function.SECOND})
assert MICROS_PER_DAY == 24 * _HOUR


@lru_cache(maxsize=1024)
def places_from(field: Function, wanted: frozenset[int]) -> tuple[int, ...]:
    """Return, for each position in a cycle, the next wanted one from it on; the cycle's size if none is."""
    cycle = CYCLES[field]
    places, following = [cycle.size] * cycle.size, cycle.size
    for place in reversed(range(cycle.size)):
        following = place if place + cycle.lowest in wanted else following
        places[place] = following
    return tuple(places)


@lru_cache(maxsize=1024)
def places_to(field: Function, wanted: frozenset[int]) -> tuple[int, ...]:
    """Return, for each position in a cycle, the last wanted one up to it; -1 if there is none."""
    cycle = CYCLES[field]
    places, last = [-1] * cycle.size, -1
    for place in range(cycle.size):
        last = place if place + cycle.lowest in wanted else last
        places[place] = last
    return tuple(places)


def next_with(field: Function, wanted: frozenset[int], value: int) -> int:
    """Return the first day or local time, at or after `value`, whose field is wanted; or one before that."""
    cycle, places = CYCLES[field], places_from(field, wanted)
    step = cycle.step(value)
    for _ in range(CYCLES_MAX):
        first, following = cycle.first(step), cycle.following(step)
        wanted_step = first + places[step - first]
        if wanted_step < following:
            return _latest(value, cycle.start(wanted_step))
        step = following
    return _latest(value, cycle.start(step))


def previous_with(field: Function, wanted: frozenset[int], value: int) -> int:
    """Return the last day or local time, at or before `value`, whose field is wanted; or one after that."""
    cycle, places = CYCLES[field], places_to(field, wanted)
    step = cycle.step(value)
    for _ in range(CYCLES_MAX):
        first = cycle.first(step)
        place = places[step - first]
        if place >= 0:
            return _earliest(value, cycle.start(first + place + 1) - 1)
        step = first - 1
    return _earliest(value, cycle.start(step + 1) - 1)


def _latest(left: Any, right: Any) -> int:
    """Return the greater of two numbers as an int."""
    return int(max(left, right))


def _earliest(left: Any, right: Any) -> int:
    """Return the smaller of two numbers as an int."""
    return int(min(left, right))
