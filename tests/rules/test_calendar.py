"""TIME-1: the calendar is the proleptic Gregorian one, of ints and arrays; fields come round in it."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from times import drawn_days

from pruning.expressions.trees import Function
from pruning.rules.time import calendar, cycles
from pruning.rules.time.cycles import CYCLES, OF_TIME

EPOCH = datetime.date(1970, 1, 1)
DATES = st.dates()
UNITS = sorted(calendar.MONTHS_OF_UNIT)
OF_DAYS = sorted(set(CYCLES) - OF_TIME, key=str)
PERIOD = 146_097  # days after which the calendar repeats


def number(date: datetime.date) -> int:
    return (date - EPOCH).days


@given(DATES)
def test_it_agrees_with_python_on_the_dates_that_python_has(date: datetime.date) -> None:
    day, month = number(date), date.year * 12 + date.month - 1
    assert (calendar.month_of(day), calendar.day_of(day)) == (month, date.day)
    assert calendar.month_start(month) == number(date.replace(day=1))
    assert calendar.year_of(day) == date.year
    year, week, weekday = date.isocalendar()
    assert calendar.week_year_of(calendar.week_of(day)) == year
    fields = {function: CYCLES[function].field(day) for function in OF_DAYS}
    assert fields == {
        Function.MONTH: date.month,
        Function.QUARTER: (date.month + 2) // 3,
        Function.DAY: date.day,
        Function.DAYOFYEAR: date.timetuple().tm_yday,
        Function.DAYOFWEEK: weekday % 7 + 1,
        Function.WEEKDAY: weekday - 1,
        Function.WEEKOFYEAR: week,
    }


@given(drawn_days(), st.integers(-5, 5))
def test_it_repeats_every_400_years(day: int, periods: int) -> None:
    later = day + periods * PERIOD
    assert calendar.month_of(later) == calendar.month_of(day) + periods * 4_800
    assert calendar.day_of(later) == calendar.day_of(day)
    assert calendar.month_start(calendar.month_of(later)) - calendar.month_start(calendar.month_of(day)) == (
        periods * PERIOD
    )


@given(st.lists(drawn_days(), min_size=1, max_size=20), st.sampled_from(UNITS), st.integers(-3_000, 3_000))
def test_arrays_give_what_ints_give(days: list[int], unit: str, months: int) -> None:
    lanes = np.array(days, np.int64)
    functions = (
        calendar.month_of,
        calendar.day_of,
        calendar.last_day,
        lambda day: calendar.unit_start(day, unit),
        lambda day: calendar.next_unit_start(day, unit),
        lambda day: calendar.plus_months(day, months),
        *(CYCLES[function].field for function in OF_DAYS),
    )
    for function in functions:
        assert function(lanes).tolist() == [function(day) for day in days]


@given(drawn_days(), st.sampled_from(UNITS))
def test_a_unit_starts_at_or_before_its_day_and_the_next_one_after(day: int, unit: str) -> None:
    start, following = calendar.unit_start(day, unit), calendar.next_unit_start(day, unit)
    assert start <= day < following
    assert calendar.unit_start(start, unit) == calendar.unit_start(following - 1, unit) == start
    assert calendar.unit_start(following, unit) == following


@given(drawn_days(), st.integers(-3_000, 3_000))
def test_months_later_are_cut_to_the_last_day(day: int, months: int) -> None:
    later = calendar.plus_months(day, months)
    assert calendar.month_of(later) == calendar.month_of(day) + months
    assert calendar.day_of(later) in (calendar.day_of(day), calendar.day_of(calendar.last_day(later)))
    assert calendar.day_of(later) <= calendar.day_of(day)


@given(st.data(), st.sampled_from(OF_DAYS))
def test_the_next_and_the_previous_day_with_a_field_are_found(data: st.DataObject, field: Function) -> None:
    cycle, day = CYCLES[field], data.draw(st.integers(-800_000, 800_000))
    wanted = frozenset(data.draw(st.sets(st.sampled_from(cycle.values), min_size=1, max_size=3)))
    following, last = cycles.next_with(field, wanted, day), cycles.previous_with(field, wanted, day)
    assert last <= day <= following
    between = np.arange(day - 400, day + 400)
    has_field = between[np.isin(cycle.field(between), sorted(wanted))]
    ahead, behind = has_field[has_field >= day], has_field[has_field <= day]
    if len(ahead):
        assert following == ahead[0]
    else:
        assert following > between[-1]
    if len(behind):
        assert last == behind[-1]
    else:
        assert last < between[0]


@pytest.mark.parametrize(
    ("field", "wanted", "day", "expected"),
    [
        (Function.DAYOFYEAR, 366, datetime.date(1897, 1, 1), datetime.date(1904, 12, 31)),
        (Function.WEEKOFYEAR, 53, datetime.date(1899, 1, 1), datetime.date(1903, 12, 28)),
        (Function.DAY, 31, datetime.date(2024, 2, 1), datetime.date(2024, 3, 31)),
        (Function.WEEKOFYEAR, 1, datetime.date(2024, 12, 20), datetime.date(2024, 12, 30)),
    ],
)
def test_a_field_is_looked_for_over_years_without_it(
    field: Function, wanted: int, day: datetime.date, expected: datetime.date
) -> None:
    assert cycles.next_with(field, frozenset({wanted}), number(day)) == number(expected)
