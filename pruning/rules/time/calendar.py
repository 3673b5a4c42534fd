"""The proleptic Gregorian calendar as arithmetic on day numbers, over all integers.

Days count from 1970-01-01, months from January of year 0, weeks from the Monday on or before
1970-01-01. The functions use only `//`, `%` and comparisons, so each takes an int or a numpy array of
them: a test on ints is valid for arrays too, as long as nothing overflows.
"""

from typing import Any, TypeAlias

Whole: TypeAlias = Any  # an int, or a numpy array of 64-bit ones

# The day number, negated, of 0000-03-01, where the internal calendar starts: a leap day ends its year there.
_EPOCH = 719_468
_DAYS_OF_400_YEARS = 146_097
_DAYS_OF_100_YEARS = 36_524
_DAYS_OF_4_YEARS = 1_461
_DAY_MICROS = 86_400_000_000
_PACKED_MONTH = 32
EVEN_MONTH = 31  # the days of the longest month
_THURSDAY = 3
_MONDAY_OF_WEEK_0 = -3  # 1969-12-29
_SURELY_WEEK_1 = 3  # January 4 is in the first week of its year, whatever day it is


def month_of(days: Whole) -> Whole:
    """Return the number of the month that a day is in."""
    return _year_and_month(days)[0]


def year_of(days: Whole) -> Whole:
    """Return the year that a day is in."""
    return month_of(days) // 12


def day_of(days: Whole) -> Whole:
    """Return the day of its month, from 1."""
    return _year_and_month(days)[1]


def _year_and_month(days: Whole) -> tuple[Whole, Whole]:
    """Return the number of a day's month, and the day of the month."""
    since = days + _EPOCH
    day_of_era = since % _DAYS_OF_400_YEARS
    leap_days = (
        day_of_era // (_DAYS_OF_4_YEARS - 1)
        - day_of_era // _DAYS_OF_100_YEARS
        + day_of_era // (_DAYS_OF_400_YEARS - 1)
    )
    year_of_era = (day_of_era - leap_days) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    # Five months from March, and from August, have 153 days.
    month = (5 * day_of_year + 2) // 153
    years = year_of_era + since // _DAYS_OF_400_YEARS * 400
    return years * 12 + month + 2, day_of_year - (153 * month + 2) // 5 + 1


def month_start(month: Whole) -> Whole:
    """Return the first day of a month."""
    since = month - 2
    year, place = since // 12, since % 12
    leap_days = year // 4 - year // 100 + year // 400
    return 365 * year + leap_days + (153 * place + 2) // 5 - _EPOCH


def year_start(year: Whole) -> Whole:
    """Return the first day of a year."""
    return month_start(year * 12)


def week_of(days: Whole) -> Whole:
    """Return the number of the week, from Monday on, that a day is in."""
    return (days - _MONDAY_OF_WEEK_0) // 7


def week_start(week: Whole) -> Whole:
    """Return the Monday of a week."""
    return week * 7 + _MONDAY_OF_WEEK_0


def week_year_of(week: Whole) -> Whole:
    """Return the year that a week belongs to by ISO 8601: that of its Thursday."""
    return year_of(week_start(week) + _THURSDAY)


def first_week(year: Whole) -> Whole:
    """Return the first ISO 8601 week of a year: the one that January 4 is in."""
    return week_of(year_start(year) + _SURELY_WEEK_1)


def plus_months(days: Whole, months: int) -> Whole:
    """Return the same day some months later, or the last day of that month if it is shorter."""
    month = month_of(days) + months
    start, following = month_start(month), month_start(month + 1)
    cut = start + day_of(days) - 1
    return cut - (cut >= following) * (cut - following + 1)


def plus_months_of_time(local: Whole, months: int) -> Whole:
    """Return a local time in microseconds some months later: the day is moved, the time of day stays."""
    return plus_months(local // _DAY_MICROS, months) * _DAY_MICROS + local % _DAY_MICROS


def least_plus_months_of_time(local: Whole, months: int) -> Whole:
    """Return the least local time that those at or after one become some months later.

    Several days may become the last one of a shorter month: those after the first start it anew.
    """
    day = local // _DAY_MICROS
    moved, following = plus_months(day, months), plus_months(day + 1, months)
    return moved * _DAY_MICROS + local % _DAY_MICROS * (following > moved)


def greatest_plus_months_of_time(local: Whole, months: int) -> Whole:
    """Return the greatest local time that those at or before one become some months later."""
    day, clock = local // _DAY_MICROS, local % _DAY_MICROS
    moved, previous = plus_months(day, months), plus_months(day - 1, months)
    return moved * _DAY_MICROS + clock + (previous == moved) * (_DAY_MICROS - 1 - clock)


def toward_zero(number: Whole, unit: int) -> Whole:
    """Return how many times a unit goes into a number, rounded toward zero."""
    return (number + (number < 0) * (unit - 1)) // unit


def months_between(start: int, end: Whole) -> Whole:
    """Return the whole months from one local time to another, both in microseconds; rounded toward zero.

    A last month counts only if the day of the month and the time of day are reached, as java.time has it.
    """
    first_day, first_clock = start // _DAY_MICROS, start % _DAY_MICROS
    day, clock = end // _DAY_MICROS, end % _DAY_MICROS
    day = day - ((day > first_day) & (clock < first_clock)) + ((day < first_day) & (clock > first_clock))
    # A month has fewer than 32 days, so a difference of 32 is a month and of less is none.
    return toward_zero(_pack(day) - _pack(first_day), _PACKED_MONTH)


def even_day_of(days: Whole) -> Whole:
    """Return the number of a day in a calendar in which every month has 31 days."""
    return _pack(days, EVEN_MONTH)


def _pack(days: Whole, month_size: int = _PACKED_MONTH) -> Whole:
    """Return a day as one number, which is ordered like the month and the day of the month."""
    month, day = _year_and_month(days)
    return month * month_size + day


def last_day(days: Whole) -> Whole:
    """Return the last day of the month."""
    return month_start(month_of(days) + 1) - 1


# The number of months in each unit of days that Spark names; 0 for a week.
MONTHS_OF_UNIT = {
    "YEAR": 12,
    "YYYY": 12,
    "YY": 12,
    "QUARTER": 3,
    "MONTH": 1,
    "MM": 1,
    "MON": 1,
    "WEEK": 0,
}


def unit_start(days: Whole, unit: str) -> Whole:
    """Return the first day of the week, month, quarter or year that a day is in."""
    months = MONTHS_OF_UNIT[unit]
    if not months:
        return week_start(week_of(days))
    return month_start(month_of(days) // months * months)


def next_unit_start(days: Whole, unit: str) -> Whole:
    """Return the first day of the next week, month, quarter or year."""
    months = MONTHS_OF_UNIT[unit]
    if not months:
        return week_start(week_of(days) + 1)
    return month_start(month_of(days) // months * months + months)
