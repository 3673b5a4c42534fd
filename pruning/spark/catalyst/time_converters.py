"""Converters of Catalyst's functions of dates and times.

A timestamp is an instant; its day and hour depend on a time zone, which Spark writes into the expression. An
expression whose time zone is not trusted is not converted.
"""

from collections.abc import Mapping

from pruning.expressions import types
from pruning.expressions.trees import (
    Call,
    Case,
    Cast,
    Compare,
    Comparison,
    Expression,
    Function,
    Literal,
    Mode,
    Opaque,
    type_of,
)
from pruning.expressions.types import Kind, Type
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time.step_chains import UNIT_MICROS, UNIT_MONTHS
from pruning.spark.catalyst.scope import Converter, Operands, Scope, determining_columns, text_of
from pruning.spark.jvm.nodes import Node

# Casts that go through a time zone.
ZONED = frozenset(
    {
        (Kind.DATE, Kind.TIMESTAMP),
        (Kind.TIMESTAMP, Kind.DATE),
        (Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP),
        (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ),
        (Kind.STRING, Kind.TIMESTAMP),
        (Kind.TIMESTAMP, Kind.STRING),
    }
)
_CALENDAR_INTERVAL = "interval"
_UNIT_DAYS = {"DAY": 1, "DAYOFYEAR": 1, "WEEK": 7}
_EPOCH_DAY = Literal(0, types.DATE)
_EPOCH = Literal(0, types.TIMESTAMP)


def cast_zone(node: Node, source: Type, target: Type, scope: Scope) -> str:
    """Return the time zone of a `Cast`; empty where the cast does not use one."""
    return scope.zone(node) if (source.kind, target.kind) in ZONED else ""


def _date_function(function: Function, type_: Type = types.INTEGER) -> Converter:
    """Return the converter of a function of a date alone."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        return Call(function, operands, type_) if _operand_types(operands) == [types.DATE] else None

    return converter


def _time_field(function: Function) -> Converter:
    """Return the converter of a field of the local time of day."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        if _operand_types(operands) == [types.TIMESTAMP_NTZ]:
            return Call(function, operands, types.INTEGER)
        zone = scope.zone(node)
        if _operand_types(operands) != [types.TIMESTAMP] or not zone:
            return None
        return Call(function, operands, types.INTEGER, zone=zone)

    return converter


def _trunc(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    date, unit = operands[0], _unit(operands[1])
    if unit is None or type_of(date) != types.DATE:
        return None
    return Call(Function.TRUNC, (date, unit), types.DATE)


def _date_trunc(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    unit, timestamp, zone = _unit(operands[0]), operands[1], scope.zone(node)
    if unit is None or type_of(timestamp) != types.TIMESTAMP or not zone:
        return None
    return Call(Function.DATE_TRUNC, (unit, timestamp), types.TIMESTAMP, zone=zone)


def _unit(expression: Expression) -> Literal | None:
    """Return the name of a unit in upper case, as Spark reads it; None if it is no ASCII constant."""
    text = text_of(expression)
    return Literal(text.upper(), types.STRING) if text is not None and text.isascii() else None


def _date_shift(function: Function) -> Converter:
    """Return the converter of a function that adds a number of days or months to a date."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        date, count = operands[0], _as_int(operands[1])
        if count is None or type_of(date) != types.DATE:
            return None
        return Call(function, (date, count), types.DATE)

    return converter


def _as_int(count: Expression) -> Expression | None:
    """Return a count as an int, also where Spark takes a shorter integer; None for other types."""
    if type_of(count) == types.INTEGER:
        return count
    if type_of(count) not in (types.BYTE, types.SHORT):
        return None
    if isinstance(count, Literal):
        return Literal(count.value, types.INTEGER)
    return Cast(count, types.INTEGER, Mode.ANSI)


def _add_interval(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert the sum of a date and a constant interval of months."""
    interval = node.children[1]
    count = interval.fields["value"] if interval.name == "Literal" else None
    if type_of(operands[0]) != types.DATE or count is None:
        return None
    return Call(Function.ADD_MONTHS, (operands[0], Literal(int(count), types.INTEGER)), types.DATE)


def plus_interval(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert the sum of a time and a constant interval of days and shorter units, or of all units.

    Spark adds the whole days of an interval of hours to the local time, but hours of `make_interval` to the
    instant.
    """
    interval = node.children[1]
    if interval.name != "Literal":
        return None
    if interval.fields["dataType"] == _CALENDAR_INTERVAL:
        return _plus(operands[0], *_interval_parts(interval), node=node, scope=scope)
    size = int(interval.fields["value"])
    days = abs(size) // MICROS_PER_DAY * (1 if size > 0 else -1)
    return _plus(operands[0], 0, days, size - days * MICROS_PER_DAY, node=node, scope=scope)


def _plus(
    moment: Expression, months: int, days: int, micros: int, *, node: Node, scope: Scope
) -> Expression | None:
    """Return a time plus months, days and microseconds; None if they do not fit or the zone is not known."""
    type_ = type_of(moment)
    local = type_ == types.TIMESTAMP_NTZ
    zone = "" if local else scope.zone(node)
    if not local and (type_ != types.TIMESTAMP or not zone):
        return None
    numbers = ((months, types.INTEGER), (days, types.INTEGER), (micros, types.LONG))
    parts = [Literal(number, type_of_part) for number, type_of_part in numbers if _fits(number, type_of_part)]
    if len(parts) < len(numbers):
        return None
    return Call(Function.PLUS_INTERVAL, (moment, *parts), type_, zone=zone)


def _fits(number: int, type_: Type) -> bool:
    limits = type_.integer_range
    return limits is not None and limits[0] <= number <= limits[1]


def _interval_parts(interval: Node) -> tuple[int, int, int]:
    """Return the months, days and microseconds of a calendar interval."""
    java = interval.java().value()
    period, duration = java.extractAsPeriod(), java.extractAsDuration()
    return period.toTotalMonths(), period.getDays(), duration.toNanos() // 1_000


def _plus_months(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert the sum of a time and a constant interval of months and years."""
    interval = node.children[1]
    if interval.name != "Literal":
        return None
    return _plus(operands[0], int(interval.fields["value"]), 0, 0, node=node, scope=scope)


def _date_plus_interval(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert the sum of a date and a constant interval of months and days."""
    date, interval = operands[0], node.children[1]
    if interval.name != "Literal" or type_of(date) != types.DATE:
        return None
    months, days, micros = _interval_parts(interval)
    if micros:
        return None
    if months:
        date = Call(Function.ADD_MONTHS, (date, Literal(months, types.INTEGER)), types.DATE)
    return Call(Function.DATE_ADD, (date, Literal(days, types.INTEGER)), types.DATE) if days else date


def _timestampadd(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `timestampadd` of a constant; hours and shorter units are added to the instant."""
    count, moment = operands
    unit = str(node.fields["unit"]).upper()
    if not isinstance(count, Literal) or not isinstance(count.value, int):
        return None
    if unit in UNIT_MONTHS:
        return _plus(moment, count.value * UNIT_MONTHS[unit], 0, 0, node=node, scope=scope)
    if unit in _UNIT_DAYS:
        return _plus(moment, 0, count.value * _UNIT_DAYS[unit], 0, node=node, scope=scope)
    return _plus(moment, 0, 0, count.value * UNIT_MICROS[unit], node=node, scope=scope)


def _timestampdiff(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    unit, zone = str(node.fields["unit"]).upper(), scope.zone(node)
    if unit not in {*UNIT_MICROS, *UNIT_MONTHS} or set(_operand_types(operands)) != {types.TIMESTAMP}:
        return None
    name = Literal(unit.encode(), types.STRING)
    return Call(Function.TIMESTAMPDIFF, (name, *operands), types.LONG, zone=zone) if zone else None


def _months_between(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `months_between` of two instants, if it is a constant that says whether it rounds."""
    *moments, rounds = operands
    zone, is_constant = scope.zone(node), isinstance(rounds, Literal) and rounds.value is not None
    if not zone or not is_constant or set(_operand_types(tuple(moments))) != {types.TIMESTAMP}:
        return None
    return Call(Function.MONTHS_BETWEEN, operands, types.DOUBLE, zone=zone)


def _through_utc(function: Function) -> Converter:
    """Return the converter of a function that moves a time to or from a constant zone."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        moment, written = operands[0], text_of(operands[1])
        zone = "" if written is None else scope.named_zone(written.decode())
        if type_of(moment) != types.TIMESTAMP or not zone:
            return None
        return Call(function, (moment, Literal(zone.encode(), types.STRING)), types.TIMESTAMP)

    return converter


def _moment_of_seconds(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `timestamp_seconds` of an integer; where the result does not fit, nothing is claimed."""
    (seconds,) = operands
    return Cast(seconds, types.TIMESTAMP, Mode.ANSI) if type_of(seconds).integral else None


def _from_unixtime(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    seconds, pattern = operands
    moment = _moment_of_seconds(node, (seconds,), scope)
    return None if moment is None else _date_format(node, (moment, pattern), scope)


def _days_between(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return (
        Call(Function.DATEDIFF, operands, types.INTEGER)
        if set(_operand_types(operands)) == {types.DATE}
        else None
    )


def _days(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return _days_between(node, (*operands, _EPOCH_DAY), scope)


def _seconds(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert Spark's `unix_seconds`, which rounds down."""
    fits = _operand_types(operands) == [types.TIMESTAMP]
    return Call(Function.UNIX_TIMESTAMP, operands, types.LONG) if fits else None


def _seconds_toward_zero(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert Spark's `unix_timestamp`, which rounds toward zero; it is not converted for text."""
    moment, type_ = operands[0], type_of(operands[0])
    if type_ == types.DATE:
        # A local midnight is a whole second, so that rounding does not matter.
        midnight = Cast(moment, types.TIMESTAMP, Mode.ANSI, scope.zone(node))
        return _seconds(node, (midnight,), scope)
    down = _seconds(node, (moment,), scope)
    if down is None:
        return None
    before = Compare(Comparison.LESS, moment, _EPOCH)
    return Case(((before, Opaque(node.java().sql(), types.LONG, determining_columns(moment))),), down)


def _date_format(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    (timestamp, pattern), zone = operands, scope.zone(node)
    if text_of(pattern) is None or type_of(timestamp) != types.TIMESTAMP or not zone:
        return None
    if not scope.formats_as_written():
        return None
    return Call(Function.DATE_FORMAT, operands, types.STRING, zone=zone)


def _operand_types(operands: Operands) -> list[Type]:
    return [type_of(operand) for operand in operands]


TIMES: Mapping[str, Converter] = {
    "TruncDate": _trunc,
    "TruncTimestamp": _date_trunc,
    "Year": _date_function(Function.YEAR),
    "Quarter": _date_function(Function.QUARTER),
    "Month": _date_function(Function.MONTH),
    "DayOfMonth": _date_function(Function.DAY),
    "DayOfWeek": _date_function(Function.DAYOFWEEK),
    "WeekDay": _date_function(Function.WEEKDAY),
    "DayOfYear": _date_function(Function.DAYOFYEAR),
    "WeekOfYear": _date_function(Function.WEEKOFYEAR),
    "LastDay": _date_function(Function.LAST_DAY, types.DATE),
    "Hour": _time_field(Function.HOUR),
    "Minute": _time_field(Function.MINUTE),
    "Second": _time_field(Function.SECOND),
    "DateAdd": _date_shift(Function.DATE_ADD),
    "DateSub": _date_shift(Function.DATE_SUB),
    "AddMonths": _date_shift(Function.ADD_MONTHS),
    "DateAddYMInterval": _add_interval,
    "DateAddInterval": _date_plus_interval,
    "TimestampAddYMInterval": _plus_months,
    "TimestampAdd": _timestampadd,
    "TimestampDiff": _timestampdiff,
    "MonthsBetween": _months_between,
    "FromUTCTimestamp": _through_utc(Function.FROM_UTC),
    "ToUTCTimestamp": _through_utc(Function.TO_UTC),
    "SecondsToTimestamp": _moment_of_seconds,
    "FromUnixTime": _from_unixtime,
    "DateDiff": _days_between,
    "UnixDate": _days,
    "UnixSeconds": _seconds,
    "UnixTimestamp": _seconds_toward_zero,
    "ToUnixTimestamp": _seconds_toward_zero,
    "DateFormatClass": _date_format,
}
