"""Prefixes of the digits of a year, merged into as few states as distinguish the wanted years."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from pruning.rules.time import calendar

_LEAP_CYCLE = 400
_FEBRUARY = 2


@dataclass(frozen=True, slots=True)
class YearDigits:
    """The first digits of a year.

    Attributes:
        count: The number of digits.
        value: Their number, if it is a mark; otherwise the least number between the same two marks.
        like: The least number whose years have the same Februaries, whatever digits follow.
    """

    count: int = 0
    value: int = 0
    like: int = 0

    @property
    def february(self) -> int:
        """The number of days of February in a year of these digits."""
        return _days_of_february(self.like)


NO_DIGITS = YearDigits()


def digit_marks(years: Iterable[int], digits_max: int) -> tuple[int, ...]:
    """Return the numbers to distinguish, ascending: the years without sign, and their leading digits."""
    starts = {abs(year) // 10**digits for year in years for digits in range(digits_max + 1)}
    return tuple(sorted(starts | {0}))


def with_digit(digits: YearDigits, digit: int, marked: tuple[int, ...]) -> YearDigits:
    """Return the digits with one more.

    Claim     `value` lies between the same marks as what the digits say, or is the same mark; `like` has
              the same days in February, and so has what follows on equal digits.
    Proof     (1) With a year, what its digits start with is a mark. So where v and w lie between the
                  same marks, 10 v + d and 10 w + d do.
              (2) 10 y + d is a multiple of 4 as 2 y + d is, of 100 if d = 0 and y is one of 10, of 400
                  if it is one of 4 besides: all this `_calendar_like` keeps.
    """
    value = 10 * digits.value + digit
    place = bisect_left(marked, value)
    if place == len(marked) or marked[place] != value:
        value = marked[place - 1] + 1
    return YearDigits(digits.count + 1, value, _FIRST_ALIKE[(10 * digits.like + digit) % _LEAP_CYCLE])


def _days_of_february(year: int) -> int:
    """Return the number of days of February in a year."""
    start = year * 12 + _FEBRUARY - 1
    return int(calendar.month_start(start + 1) - calendar.month_start(start))


def _calendar_like(year: int) -> tuple[int, bool, int]:
    """Return the properties of a year that determine the Februaries of years that start with it."""
    return year % 4, year % 10 == 0, _days_of_february(year)


def _first_alike() -> list[int]:
    """Return, for each year of a leap cycle, the first year with the same properties."""
    first: dict[tuple[int, bool, int], int] = {}
    return [first.setdefault(_calendar_like(year), year) for year in range(_LEAP_CYCLE)]


_FIRST_ALIKE = _first_alike()
