"""Dates and times within bounds at which a predicate may change its value, for `oracles.optimum.witnesses`.

Calendars and clocks are constant between borders of units and changes of the zone's offset. So these are the
bounds, the predicate's literals shifted by what it adds, the borders of units around them and next to the
bounds, the changes in between, and the values one microsecond or day to either side of each.
"""

import calendar
import contextlib
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping

from oracles.meaning.numbers import NoSecondOpinion
from oracles.meaning.zones import clock_of, instant_of, local_of
from oracles.optimum.domains import CellFacts
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Call, Expression, Function, Literal
from pruning.expressions.types import Kind, Value
from strategies.base.zones import UNITS, US_PER_DAY, changes, changes_between, microseconds, start_of

TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_OF_MONTHS = frozenset({Function.ADD_MONTHS, Function.PLUS_INTERVAL})
_EPOCH = datetime.date(1970, 1, 1)
_SCANNED_DAYS_MAX = 1_500
_MOVES_MAX = 24
_SMALL = 1_000_000  # numbers up to this may be days, months, years or parts of a clock
# For each repeating field, the unit and the number of borders that cover all its values.
_CYCLES: Mapping[Function, tuple[str, int]] = {
    Function.QUARTER: ("QUARTER", 5),
    Function.MONTH: ("MONTH", 13),
    Function.DAY: ("DAY", 62),
    Function.DAYOFWEEK: ("DAY", 8),
    Function.WEEKDAY: ("DAY", 8),
    Function.DAYOFYEAR: ("DAY", 367),
    Function.WEEKOFYEAR: ("WEEK", 55),
    Function.HOUR: ("HOUR", 26),
    Function.MINUTE: ("MINUTE", 62),
    Function.SECOND: ("SECOND", 62),
    Function.DATE_FORMAT: ("MONTH", 13),
}
_LENGTHS = {
    "SECOND": datetime.timedelta(seconds=1), "MINUTE": datetime.timedelta(minutes=1),
    "HOUR": datetime.timedelta(hours=1), "DAY": datetime.timedelta(days=1),
    "WEEK": datetime.timedelta(days=7), "MONTH": datetime.timedelta(days=32),
    "QUARTER": datetime.timedelta(days=93), "YEAR": datetime.timedelta(days=367),
    "MILLISECOND": datetime.timedelta(milliseconds=1),
}  # fmt: skip
_TIME_TEXT = re.compile(r"(\d{4})(?:-?(\d{2}))?(?:-?(\d{2}))?(?:[ T](\d{2}))?(?::(\d{2}))?(?::(\d{2}))?")
_CLOCK = re.compile(r"(\d{2}):(\d{2})")


def critical_times(
    expression: Expression, facts: CellFacts, all_facts: Mapping[str, CellFacts], zone: str
) -> list[Value]:
    """Return values of a date or time column within its bounds, the likelier witnesses first."""
    ends = list(_instants_of(_bounds([facts]), zone))
    marks = list(_instants_of(_bounds(all_facts.values()), zone)) + list(_literals(expression, zone))
    marks = list(dict.fromkeys(marks))
    moved = [at + move for at in marks for move in _shifts(expression)]
    moved += [moved_at for at in marks for moved_at in _moved_by_months(expression, at)]
    borders = [at for mark in (*ends, *moved) for at in _unit_borders(mark, zone)]
    cycles = [at for end in ends for at in _cycle_borders(expression, end, zone)]
    values: dict[Value, None] = {}
    for at in (*ends, *moved, *borders, *_changes(ends, moved, zone), *cycles):
        for step in (0, -1, 1):
            for value in _values_at(at + step, facts.type.kind, zone):
                if facts.holds(value):
                    values[value] = None
    return list(values)


def _bounds(facts: Iterable[CellFacts]) -> Iterator[tuple[Value, Kind]]:
    for column in facts:
        for side in (column.lower, column.upper):
            if side is not None and column.type.kind in TIMES:
                yield side, column.type.kind


def _instants_of(values: Iterable[tuple[Value, Kind]], zone: str) -> Iterator[int]:
    """Yield each value as two instants: read in UTC, and read in the zone."""
    for value, kind in values:
        place = int(value) * US_PER_DAY if kind is Kind.DATE else int(value)
        yield place
        try:
            yield instant_of(place, zone)
        except (NoSecondOpinion, OverflowError):
            continue


def _literals(expression: Expression, zone: str) -> Iterator[int]:
    for node in walk(expression):
        if not isinstance(node, Literal) or node.value is None:
            continue
        if node.type.kind in TIMES:
            yield from _instants_of([(node.value, node.type.kind)], zone)
        elif isinstance(node.value, bytes):
            yield from _instants_of_text(node.value.decode("utf-8", "ignore"), zone)
        elif isinstance(node.value, int) and not isinstance(node.value, bool):
            yield node.value * 1_000_000
            if 1 <= node.value <= 9998:
                years = (datetime.datetime(node.value + step, 1, 1) for step in (0, 1))
                yield from _instants_of(((microseconds(year), Kind.TIMESTAMP) for year in years), zone)


def _instants_of_text(text: str, zone: str) -> Iterator[int]:
    """Yield the instants that a text like a time, or the start of one, may mean."""
    match = _TIME_TEXT.match(text)
    if match is None:
        return
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        local = datetime.datetime(max(year, 1), max(month, 1), max(day, 1), hour, minute, second)
    except ValueError:
        return
    yield from _instants_of([(microseconds(local), Kind.TIMESTAMP)], zone)


def _shifts(expression: Expression) -> list[int]:
    """Return shifts of a date by the numbers in the predicate, including no shift."""
    functions = {node.function for node in walk(expression) if isinstance(node, Call)}
    moves = [0]
    for node in walk(expression):
        if isinstance(node, Call) and node.function is Function.PLUS_INTERVAL:
            days, micros = (int(part.value or 0) for part in node.operands[2:] if isinstance(part, Literal))
            moves.append(-days * US_PER_DAY - micros)
    if functions & {Function.DATE_ADD, Function.DATE_SUB, Function.DATEDIFF, Function.ADD_MONTHS}:
        for number in _whole_numbers(expression):
            months = [30 * number, 31 * number] if Function.ADD_MONTHS in functions and number < 2_400 else []
            moves += [sign * days * US_PER_DAY for days in (number, *months) for sign in (1, -1)]
    return list(dict.fromkeys(moves))[:_MOVES_MAX]


def _moved_by_months(expression: Expression, at: int) -> Iterator[int]:
    """Yield the days from which the predicate's numbers of months lead to an instant, or to which they do."""
    if not any(isinstance(node, Call) and node.function in _OF_MONTHS for node in walk(expression)):
        return
    days, time_of_day = divmod(at, US_PER_DAY)
    for number in _whole_numbers(expression)[:_MOVES_MAX]:
        for months in (number, -number):
            with contextlib.suppress(ValueError, OverflowError):
                yield _add_months(days, months) * US_PER_DAY + time_of_day


def _add_months(days: int, months: int) -> int:
    """Return the day so many months after a day, both in days since 1970.

    Raises:
        ValueError, OverflowError: Python has no such day.
    """
    day = _EPOCH + datetime.timedelta(days=days)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return (datetime.date(year, month + 1, min(day.day, last)) - _EPOCH).days


def _whole_numbers(expression: Expression) -> list[int]:
    """Return the absolute values of the whole numbers in a predicate that may be days or months."""
    numbers = [
        abs(node.value)
        for node in walk(expression)
        if isinstance(node, Literal) and node.type.integral and isinstance(node.value, int)
    ]
    return [number for number in dict.fromkeys(numbers) if number < _SMALL]


def _unit_borders(at: int, zone: str) -> Iterator[int]:
    """Yield the starts and ends of the units that hold an instant, in the zone and in UTC."""
    for unit in UNITS:
        yield from _unit_starts(at, unit, 2, zone)


def _cycle_borders(expression: Expression, at: int, zone: str) -> Iterator[int]:
    for node in walk(expression):
        if isinstance(node, Call) and node.function in _CYCLES:
            yield from _unit_starts(at, *_CYCLES[node.function], zone)
        if isinstance(node, Literal) and isinstance(node.value, bytes):
            yield from _at_clock(at, node.value.decode("utf-8", "ignore"), zone)


def _unit_starts(at: int, unit: str, count: int, zone: str) -> Iterator[int]:
    """Yield the start of the unit that holds an instant, and those of the units after it."""
    try:
        start = start_of(unit, clock_of(local_of(at, zone)))
        for _ in range(count):
            yield instant_of(microseconds(start), zone)
            yield microseconds(start)
            start = start_of(unit, start + _LENGTHS[unit])
    except (NoSecondOpinion, OverflowError):
        return


def _at_clock(at: int, text: str, zone: str) -> Iterator[int]:
    """Yield the times of day that a text names, on an instant's day and the days next to it."""
    for hour, minute in _CLOCK.findall(text):
        for at_midnight in _unit_starts(at - US_PER_DAY, "DAY", 3, zone):
            yield at_midnight + (int(hour) * 60 + int(minute)) * 60_000_000


def _changes(ends: list[int], marks: list[int], zone: str) -> Iterator[int]:
    """Yield changes of the zone's offset between the bounds, or near the literals if that is far."""
    if zone == "UTC" or not ends:
        return
    low, high = min(ends), max(ends)
    near = [(low, min(high, low + _SCANNED_DAYS_MAX * US_PER_DAY))]
    near += [(mark - 2 * US_PER_DAY, mark + 2 * US_PER_DAY) for mark in marks if low <= mark <= high]
    for first, last in dict.fromkeys(near):
        for change in changes_between(zone, first, last):
            yield change
            yield from _unit_borders(change, zone)
    yield from (change for change in changes(zone) if low <= change <= high)


def _values_at(at: int, kind: Kind, zone: str) -> Iterator[int]:
    """Yield an instant as values of a type, read in the zone and in UTC."""
    places = [at]
    with contextlib.suppress(NoSecondOpinion):
        places.append(local_of(at, zone))
    if kind is Kind.DATE:
        yield from (place // US_PER_DAY + step for place in places for step in (0, 1))
    else:
        yield from places
