"""Spark's functions of dates and times in plain Python, for `oracles.meaning.brute_force`.

Shares   nothing with the rules: dates are Python's dates, zones come from its zone database.
Leaves   years outside 1 to 9999, except where no calendar is needed; letters of DATE_FORMAT other than those
         for year, month, day, hour, minute, second and fraction.
"""

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence

from oracles.meaning.numbers import NoSecondOpinion
from oracles.meaning.zones import (
    US_PER_DAY,
    clock_of,
    day_of,
    days_of,
    instant_of,
    local_of,
    midnight_of,
    offset_us,
)
from pruning.expressions.trees import Function
from pruning.expressions.types import INTEGER, Kind, Type, Value

_YEARS, _MONTHS = ("YEAR", "YYYY", "YY"), ("MONTH", "MM", "MON")
_DATE_UNITS = frozenset({*_YEARS, *_MONTHS, "QUARTER", "WEEK"})
_WITHOUT_ZONE = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000}
_CLOCK_UNITS = {
    "MINUTE": 60 * 1_000_000, "HOUR": 3_600 * 1_000_000, "DAY": 86_400_000_000, "DD": 86_400_000_000,
}  # fmt: skip
_WHOLE_UNITS = {**_WITHOUT_ZONE, **_CLOCK_UNITS, "WEEK": 7 * US_PER_DAY}
_SECONDS_PER_DAY = 86_400
_MONTHS_OF_UNIT = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_FIELDS: Mapping[Function, Callable[[datetime.date], int]] = {
    Function.YEAR: lambda day: day.year,
    Function.QUARTER: lambda day: (day.month + 2) // 3,
    Function.MONTH: lambda day: day.month,
    Function.DAY: lambda day: day.day,
    Function.DAYOFWEEK: lambda day: day.isoweekday() % 7 + 1,
    Function.WEEKDAY: lambda day: day.weekday(),
    Function.DAYOFYEAR: lambda day: day.timetuple().tm_yday,
    Function.WEEKOFYEAR: lambda day: day.isocalendar().week,
    Function.LAST_DAY: lambda day: days_of(_last_day(day)),
}
_CLOCK_FIELDS: Mapping[Function, Callable[[datetime.datetime], int]] = {
    Function.HOUR: lambda clock: clock.hour,
    Function.MINUTE: lambda clock: clock.minute,
    Function.SECOND: lambda clock: clock.second,
}
_LETTERS: Mapping[str, Callable[[datetime.datetime], str]] = {
    "yyyy": lambda clock: f"{clock.year:04}",
    "MM": lambda clock: f"{clock.month:02}",
    "dd": lambda clock: f"{clock.day:02}",
    "HH": lambda clock: f"{clock.hour:02}",
    "mm": lambda clock: f"{clock.minute:02}",
    "ss": lambda clock: f"{clock.second:02}",
    "SSS": lambda clock: f"{clock.microsecond // 1000:03}",
    "SSSSSS": lambda clock: f"{clock.microsecond:06}",
}
_PIECES = re.compile(r"([A-Za-z])\1*|'([^']+)'|[-/.:, ]")


def time_call(
    function: Function, operands: Sequence[Value], types: Sequence[Type], *, zone: str
) -> Value | None:
    """Return `function(operands)`, none of which is NULL; `types` are those of the operands.

    Raises:
        oracles.meaning.numbers.NoSecondOpinion: A year is not within 1 to 9999, or a pattern is not covered.
    """
    if function in _FIELDS:
        return _FIELDS[function](day_of(int(operands[0])))
    if function in _CLOCK_FIELDS:
        local = types[0].kind is Kind.TIMESTAMP_NTZ
        moment = int(operands[0])
        return _CLOCK_FIELDS[function](clock_of(moment if local else local_of(moment, zone)))
    if function is Function.DATE_TRUNC:
        return _truncate(_text(operands[0]), int(operands[1]), zone)
    if function is Function.DATE_FORMAT:
        return _format(clock_of(local_of(int(operands[0]), zone)), _text(operands[1])).encode()
    if function is Function.PLUS_INTERVAL:
        numbers = (int(operand) for operand in operands)
        return _plus_interval(*numbers, zone="UTC" if types[0].kind is Kind.TIMESTAMP_NTZ else zone)
    if function is Function.TIMESTAMPDIFF:
        clocks = (clock_of(local_of(int(operand), zone)) for operand in operands[1:])
        return _whole_units(_text(operands[0]), *clocks)
    if function is Function.MONTHS_BETWEEN:
        end, start, rounds = operands
        return _months_between(int(end), int(start), rounds=bool(rounds), zone=zone)
    return _OTHERS[function](*operands)


def _text(value: Value) -> str:
    assert isinstance(value, bytes)
    return value.decode()


def _truncate(unit: str, instant_us: int, zone: str) -> int | None:
    if unit in _WITHOUT_ZONE:
        return instant_us - instant_us % _WITHOUT_ZONE[unit]
    local = local_of(instant_us, zone)
    if unit in _CLOCK_UNITS:
        now = offset_us(instant_us, zone)
        return instant_of(local - local % _CLOCK_UNITS[unit], zone, preferred_us=now)
    if unit not in _DATE_UNITS:
        return None
    return midnight_of(days_of(_first_day(unit, clock_of(local).date())), zone)


def _plus_interval(moment: int, months: int, days: int, micros: int, *, zone: str) -> int:
    """Return a time later by months, days and microseconds, the first two on the zone's clocks."""
    for size, move in ((months, _add_months), (days, lambda day, count: day + count)):
        if size:
            local = local_of(moment, zone)
            day, clock = divmod(local, US_PER_DAY)
            later = move(day, size) * US_PER_DAY + clock
            moment = instant_of(later, zone, preferred_us=local - moment)
    return moment + micros


def _whole_units(unit: str, start: datetime.datetime, end: datetime.datetime) -> int:
    """Return the whole units from one clock to another, rounded toward zero."""
    if unit in _MONTHS_OF_UNIT:
        return _quotient(_whole_months(start, end), _MONTHS_OF_UNIT[unit])
    return _quotient((end - start) // datetime.timedelta(microseconds=1), _WHOLE_UNITS[unit])


def _whole_months(start: datetime.datetime, end: datetime.datetime) -> int:
    """Return the months of which the last one has the day and the time of day reached."""
    day = end.date()
    if end.date() > start.date() and end.time() < start.time():
        day = day_of(days_of(day) - 1)
    if end.date() < start.date() and end.time() > start.time():
        day = day_of(days_of(day) + 1)
    months = (day.year - start.year) * 12 + day.month - start.month
    if months > 0 and day.day < start.day:
        return months - 1
    return months + 1 if months < 0 and day.day > start.day else months


def _months_between(end: int, start: int, *, rounds: bool, zone: str) -> float:
    """Return the months between two instants; days and seconds are parts of 31 days, or do not count."""
    (last, last_seconds), (first, first_seconds) = (_day_and_seconds(at, zone) for at in (end, start))
    months = float((last.year - first.year) * 12 + last.month - first.month)
    if last.day == first.day or (last == _last_day(last) and first == _last_day(first)):
        return months
    seconds = (last.day - first.day) * _SECONDS_PER_DAY + last_seconds - first_seconds
    exact = months + seconds / (31.0 * _SECONDS_PER_DAY)
    return math.floor(exact * 1e8 + 0.5) / 1e8 if rounds else exact


def _day_and_seconds(at: int, zone: str) -> tuple[datetime.date, int]:
    """Return the local date of an instant, and the whole seconds since that date's first instant."""
    days = local_of(at, zone) // US_PER_DAY
    return day_of(days), (at - midnight_of(days, zone)) // 1_000_000


def _quotient(number: int, unit: int) -> int:
    return abs(number) // unit * (1 if number > 0 else -1)


def _truncate_date(days: Value, unit: Value) -> int | None:
    name = _text(unit)
    return days_of(_first_day(name, day_of(int(days)))) if name in _DATE_UNITS else None


def _first_day(unit: str, day: datetime.date) -> datetime.date:
    if unit in _YEARS:
        return day.replace(month=1, day=1)
    if unit == "QUARTER":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    if unit in _MONTHS:
        return day.replace(day=1)
    return day_of(days_of(day) - day.weekday())


def _last_day(day: datetime.date) -> datetime.date:
    year, month = (day.year + 1, 1) if day.month == 12 else (day.year, day.month + 1)
    if year > datetime.MAXYEAR:
        return datetime.date.max
    return day_of(days_of(datetime.date(year, month, 1)) - 1)


def _add_months(days: Value, months: Value) -> int:
    day = day_of(int(days))
    year, month = divmod(day.year * 12 + day.month - 1 + int(months), 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise NoSecondOpinion(f"no second opinion on the year {year}")
    last = _last_day(datetime.date(year, month + 1, 1))
    return days_of(last.replace(day=min(day.day, last.day)))


def _check_days(days: int) -> int:
    limits = INTEGER.integer_range
    assert limits is not None
    if not limits[0] <= days <= limits[1]:
        raise NoSecondOpinion(f"no second opinion on {days} days, which Spark may wrap")
    return days


def _format(clock: datetime.datetime, pattern: str) -> str:
    place, parts = 0, []
    while place < len(pattern):
        piece = _PIECES.match(pattern, place)
        if piece is None or (piece[1] and piece[0] not in _LETTERS):
            raise NoSecondOpinion(f"no second opinion on the pattern {pattern!r}")
        parts.append(_LETTERS[piece[0]](clock) if piece[1] else piece[2] or piece[0])
        place = piece.end()
    return "".join(parts)


_OTHERS: Mapping[Function, Callable[..., Value | None]] = {
    Function.TRUNC: _truncate_date,
    Function.DATE_ADD: lambda days, count: _check_days(days + count),
    Function.DATE_SUB: lambda days, count: _check_days(days - count),
    Function.ADD_MONTHS: _add_months,
    Function.DATEDIFF: lambda end, start: _check_days(end - start),
    Function.UNIX_TIMESTAMP: lambda instant_us: instant_us // 1_000_000,
    Function.FROM_UTC: lambda instant_us, zone: local_of(instant_us, _text(zone)),
    Function.TO_UTC: lambda local_us, zone: instant_of(local_us, _text(zone)),
}
