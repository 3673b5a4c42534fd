"""Predicates on dates and times: truncation, fields, arithmetic, casts under a zone, formats."""

import datetime
from collections.abc import Callable, Mapping

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import (
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    Literal,
    Mode,
)
from pruning.expressions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
)
from strategies.base.zones import UNITS, US_PER_DAY, clock, instant, microseconds, start_of
from strategies.choices import choose
from strategies.predicates.sources import Source, cell, comparison, drawn_column

US_PER_HOUR = US_PER_DAY // 24
TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_UNIT_NAMES = (*UNITS, "DD", "MON", "MM", "YY", "YYYY", "MICROSECOND")
_DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "MM", "YYYY")
_UNITS_MEANT = {
    "DD": "DAY",
    "MON": "MONTH",
    "MM": "MONTH",
    "YY": "YEAR",
    "YYYY": "YEAR",
    "MICROSECOND": "MILLISECOND",
}
_PATTERNS = {
    "yyyy": "%Y", "yyyy-MM": "%Y-%m", "yyyy-MM-dd": "%Y-%m-%d", "yyyyMMdd": "%Y%m%d", "MM": "%m",
    "HH:mm": "%H:%M", "yyyy-MM-dd HH": "%Y-%m-%d %H", "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%M:%S",
    "dd/MM/yyyy": "%d/%m/%Y",
}  # fmt: skip
_DATE_FIELDS: Mapping[Function, Callable[[datetime.date], int]] = {
    Function.YEAR: lambda day: day.year,
    Function.QUARTER: lambda day: (day.month + 2) // 3,
    Function.MONTH: lambda day: day.month,
    Function.DAY: lambda day: day.day,
    Function.DAYOFWEEK: lambda day: day.isoweekday() % 7 + 1,
    Function.WEEKDAY: lambda day: day.weekday(),
    Function.DAYOFYEAR: lambda day: day.timetuple().tm_yday,
    Function.WEEKOFYEAR: lambda day: day.isocalendar().week,
}
# Months, days and microseconds.
_INTERVALS = (
    (0, 0, 3 * US_PER_HOUR), (0, 1, 0), (0, -1, 0), (0, 7, 0), (0, 1, 6 * US_PER_HOUR), (1, 0, 0), (-1, 0, 0),
    (12, 0, 0), (1, -1, 1), (0, 0, 0),
)  # fmt: skip
_WHOLE_UNITS = {
    "HOUR": US_PER_HOUR, "DAY": US_PER_DAY, "WEEK": 7 * US_PER_DAY, "MONTH": 30 * US_PER_DAY,
    "QUARTER": 91 * US_PER_DAY, "YEAR": 365 * US_PER_DAY,
}  # fmt: skip
_CLOCK_FIELDS = (Function.HOUR, Function.MINUTE, Function.SECOND)
_EPOCH, _LATE = datetime.datetime(1970, 1, 1), datetime.datetime(9999, 12, 30)


def truncated_instant(draw: DrawFn, source: Source) -> Expression:
    """Draw `date_trunc(unit, t)` against the beginnings of units that hold the table's instants."""
    column = drawn_column(draw, source, Kind.TIMESTAMP)
    unit = choose(draw, _UNIT_NAMES)
    call = Call(Function.DATE_TRUNC, (Literal(unit.encode(), STRING), column), TIMESTAMP, zone=source.zone)
    values: list[Value] = []
    for _ in range(2):
        at = int(cell(draw, source, column, 0))
        local = clock(at, source.zone)
        start = None if local is None else instant(start_of(_UNITS_MEANT.get(unit, unit), local), source.zone)
        values += [at] if start is None else [start, start + choose(draw, (0, 0, 1, -1, US_PER_DAY))]
    return comparison(draw, call, TIMESTAMP, values)


def truncated_date(draw: DrawFn, source: Source) -> Expression:
    """Draw `trunc(d, unit)` or `last_day(d)` against the beginnings and ends of such units."""
    operand, local = _date(draw, source)
    unit = choose(draw, (*_DATE_UNITS, "DAY"))
    start = start_of(_UNITS_MEANT.get(unit, unit), local)
    start_day = microseconds(start) // US_PER_DAY
    if draw(st.integers(0, 3)) == 0:
        last = microseconds(start_of("MONTH", local)) // US_PER_DAY + choose(draw, (29, 30, 27, -1))
        return comparison(draw, Call(Function.LAST_DAY, (operand,), DATE), DATE, [last, last + 1])
    call = Call(Function.TRUNC, (operand, Literal(unit.encode(), STRING)), DATE)
    return comparison(draw, call, DATE, [start_day, start_day + choose(draw, (1, -1, 7, 31))])


def field_of_time(draw: DrawFn, source: Source) -> Expression:
    """Draw `year(d)`, `month(d)`, `hour(t)` ... against their values on a row, and next to them."""
    clocked = source.of_kind(Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
    if clocked and draw(st.integers(0, 2)) == 0:
        column, function = choose(draw, clocked), choose(draw, _CLOCK_FIELDS)
        local = _clock(draw, source, column)
        value = getattr(local, function.value)
        call = Call(function, (column,), INTEGER, zone=source.zone_of(column.type.kind))
    else:
        operand, local = _date(draw, source)
        function = choose(draw, (*_DATE_FIELDS, Function.YEAR, Function.MONTH))
        value = _DATE_FIELDS[function](local.date())
        call = Call(function, (operand,), INTEGER)
    return comparison(draw, call, INTEGER, [value, value + choose(draw, (0, 1, -1, 2))])


def date_arithmetic(draw: DrawFn, source: Source) -> Expression:
    """Draw date arithmetic: added days and months, days between, seconds since the epoch; also of two
    columns.
    """
    operand, local = _date(draw, source)
    day = microseconds(local) // US_PER_DAY
    shape = choose(draw, ("add", "sub", "months", "between", "since", "two"))
    if shape == "since" and source.of_kind(Kind.TIMESTAMP):
        column = drawn_column(draw, source, Kind.TIMESTAMP)
        seconds = int(cell(draw, source, column, 0)) // 1_000_000
        return comparison(draw, Call(Function.UNIX_TIMESTAMP, (column,), LONG), LONG, [seconds, seconds + 1])
    if shape == "between":
        start = day + choose(draw, (0, 1, -7, 30))
        sides = draw(st.permutations((operand, Literal(start, DATE))))
        distance = abs(day - start)
        return comparison(
            draw, Call(Function.DATEDIFF, tuple(sides), INTEGER), INTEGER, [distance, -distance]
        )
    if shape == "two":
        other, _ = _date(draw, source)
        count = Literal(choose(draw, (1, 7, -3, 0)), INTEGER)
        later = Call(Function.DATE_ADD, (other, count), DATE)
        return Compare(choose(draw, Comparison), operand, later)
    function = {"add": Function.DATE_ADD, "sub": Function.DATE_SUB}.get(shape, Function.ADD_MONTHS)
    number = choose(draw, (1, 3, -1, 30, 12, 0))
    size = {"add": 1, "sub": -1}.get(shape, 30) * number
    call = Call(function, (operand, Literal(number, INTEGER)), DATE)
    return comparison(draw, call, DATE, [day + size, day + size + choose(draw, (1, -1, 2))])


def interval_arithmetic(draw: DrawFn, source: Source) -> Expression:
    """Draw a time plus an interval, whole units between times, and times moved to or from a zone.

    Against their value on a row, as if every day had 24 hours, and next to it; or against another time.
    """
    column = drawn_column(draw, source, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
    at = int(cell(draw, source, column, 0))
    shape = choose(draw, ("plus", "plus", "between", "moved")) if column.type == TIMESTAMP else "plus"
    if shape == "between":
        return _whole_units(draw, source, column, at)
    if shape == "moved":
        function = choose(draw, (Function.FROM_UTC, Function.TO_UTC))
        call = Call(function, (column, Literal(source.zone.encode(), STRING)), TIMESTAMP)
        local = clock(at, source.zone)
        moved = at if local is None else microseconds(local)
        return comparison(draw, call, TIMESTAMP, [moved, 2 * at - moved, at])
    months, days, micros = choose(draw, _INTERVALS)
    parts = Literal(months, INTEGER), Literal(days, INTEGER), Literal(micros, LONG)
    call = Call(Function.PLUS_INTERVAL, (column, *parts), column.type, zone=source.zone_of(column.type.kind))
    others = [other for other in source.columns if other.type == column.type]
    if draw(st.integers(0, 3)) == 0:
        return Compare(choose(draw, Comparison), call, choose(draw, others))
    later = at + (months * 30 + days) * US_PER_DAY + micros
    return comparison(
        draw, call, column.type, [later, later + choose(draw, (0, 1, -US_PER_HOUR, US_PER_HOUR))]
    )


def _whole_units(draw: DrawFn, source: Source, column: Column, at: int) -> Expression:
    """Draw `timestampdiff` or `months_between` of a column and a time near a row's, or another column."""
    unit, size = choose(draw, tuple(_WHOLE_UNITS.items()))
    fractions = unit == "MONTH" and draw(st.booleans())
    near = Literal(at + choose(draw, (0, 1, -3)) * size + choose(draw, (0, 1, -1, US_PER_HOUR)), TIMESTAMP)
    others: list[Expression] = [near, near, *source.of_kind(Kind.TIMESTAMP)]
    other = choose(draw, others)
    sides = draw(st.permutations((column, other)))
    if fractions:
        rounds = Literal(choose(draw, (True, False)), BOOLEAN)
        call = Call(Function.MONTHS_BETWEEN, (*sides, rounds), DOUBLE, zone=source.zone)
        return comparison(draw, call, DOUBLE, [0.0, choose(draw, (1.0, -1.0, 3.0, -2.96774194, 1.0 / 31))])
    call = Call(Function.TIMESTAMPDIFF, (Literal(unit.encode(), STRING), *sides), LONG, zone=source.zone)
    return comparison(draw, call, LONG, [0, choose(draw, (1, -1, 3))])


def cast_of_time(draw: DrawFn, source: Source) -> Expression:
    """Draw casts among dates, instants, local times and texts, against literals and columns."""
    column = drawn_column(draw, source, *TIMES)
    target = choose(draw, _TARGETS[column.type.kind])
    zone = source.zone_of(column.type.kind, target.kind)
    operand = Cast(column, target, Mode.ANSI, zone)
    alike = [other for other in source.columns if other.type == target]
    if alike and draw(st.integers(0, 1)) == 0:
        return Compare(choose(draw, Comparison), operand, choose(draw, alike))
    local = _clock(draw, source, column)
    later = min(local, _LATE) + datetime.timedelta(hours=choose(draw, (0, 1)))
    values = [value for time in (local, later) if (value := _literal(time, target, source.zone)) is not None]
    if target == STRING:
        values += [value[:end] for value in values if isinstance(value, bytes) for end in (4, 7, 10)]
    return comparison(draw, operand, target, values)


def time_format(draw: DrawFn, source: Source) -> Expression:
    """Draw `date_format(t, pattern)` against its value on a row; most patterns keep the order."""
    column = drawn_column(draw, source, Kind.TIMESTAMP)
    pattern = choose(draw, tuple(_PATTERNS))
    call = Call(Function.DATE_FORMAT, (column, Literal(pattern.encode(), STRING)), STRING, zone=source.zone)
    texts = [_format(_clock(draw, source, column), _PATTERNS[pattern]) for _ in range(2)]
    return comparison(draw, call, STRING, [*texts, texts[0][:-1]])


def read_date(draw: DrawFn, source: Source) -> Expression:
    """Draw `try_cast(s AS date)` of a string column."""
    column = drawn_column(draw, source, Kind.STRING)
    operand = Cast(column, DATE, Mode.TRY)
    return comparison(draw, operand, DATE, [19_783, 19_782, 19_792])


def _date(draw: DrawFn, source: Source) -> tuple[Expression, datetime.datetime]:
    """Draw a date, or the date of an instant, and the local time of a row there."""
    column = drawn_column(draw, source, *TIMES)
    operand: Expression = column
    if column.type != DATE:
        operand = Cast(column, DATE, Mode.ANSI, source.zone_of(column.type.kind))
    return operand, _clock(draw, source, column)


def _clock(draw: DrawFn, source: Source, column: Column) -> datetime.datetime:
    at = int(cell(draw, source, column, 0))
    at = at * US_PER_DAY if column.type == DATE else at
    return clock(at, source.zone if column.type == TIMESTAMP else "UTC") or _EPOCH


def _literal(local: datetime.datetime, target: Type, zone: str) -> Value | None:
    if target == DATE:
        return microseconds(local) // US_PER_DAY
    if target == TIMESTAMP:
        return instant(local, zone)
    return microseconds(local) if target == TIMESTAMP_NTZ else str(local).encode()


def _format(local: datetime.datetime, pattern: str) -> bytes:
    return local.strftime(pattern).replace(f"{local.year}", f"{local.year:04}", 1).encode()


_TARGETS: Mapping[Kind, tuple[Type, ...]] = {
    Kind.DATE: (TIMESTAMP, TIMESTAMP_NTZ, STRING),
    Kind.TIMESTAMP: (DATE, DATE, TIMESTAMP_NTZ, STRING),
    Kind.TIMESTAMP_NTZ: (TIMESTAMP, DATE, STRING),
}
