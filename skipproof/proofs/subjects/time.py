"""The expressions whose proofs are those of the rules of dates and times."""

from pruning.expressions.trees import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    IsNull,
    Literal,
)
from pruning.expressions.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ
from pruning.rules.time.cycles import CYCLES

ZONE = "America/St_Johns"
D, E = Column("d", DATE), Column("e", DATE)
T, U = Column("t", TIMESTAMP), Column("u", TIMESTAMP)
N = Column("n", TIMESTAMP_NTZ)
K = Column("k", INTEGER)


def _trunc(unit: str, operand: Expression) -> Call:
    return Call(Function.DATE_TRUNC, (Literal(unit.encode(), STRING), operand), TIMESTAMP, zone=ZONE)


def _field(function: Function, operand: Expression) -> Call:
    return Call(function, (operand,), INTEGER, zone=ZONE)


def _compare(operator: Comparison, left: Expression, right: Expression) -> Compare:
    return Compare(operator, left, right)


def _in(operand: Expression, *values: int) -> In:
    return In(operand, tuple(Literal(value, INTEGER) for value in values))


def _plus(operand: Column, months: int = 0, days: int = 0, micros: int = 0) -> Call:
    parts = Literal(months, INTEGER), Literal(days, INTEGER), Literal(micros, LONG)
    zone = ZONE if operand.type == TIMESTAMP else ""
    return Call(Function.PLUS_INTERVAL, (operand, *parts), operand.type, zone=zone)


def _between(unit: str, start: Expression, end: Expression) -> Call:
    return Call(Function.TIMESTAMPDIFF, (Literal(unit.encode(), STRING), start, end), LONG, zone=ZONE)


def _months(end: Expression, start: Expression) -> Call:
    return Call(Function.MONTHS_BETWEEN, (end, start, Literal(True, BOOLEAN)), DOUBLE, zone=ZONE)


def _through_utc(function: Function, operand: Expression) -> Call:
    return Call(function, (operand, Literal(ZONE.encode(), STRING)), TIMESTAMP)


_NOON = Literal(1_583_033_400_000_000, TIMESTAMP)
_DAY_OF_T = Cast(T, DATE, zone=ZONE)
_DAY_TEXT = Call(Function.DATE_FORMAT, (T, Literal(b"yyyy-MM-dd", STRING)), STRING, zone=ZONE)
_OF_TIME = (Function.HOUR, Function.MINUTE, Function.SECOND)
_TIMES: dict[str, Expression] = {
    "date_trunc =": _compare(Comparison.EQUAL, _trunc("MONTH", T), Literal(1_583_033_400_000_000, TIMESTAMP)),
    "trunc =": _compare(
        Comparison.EQUAL, Call(Function.TRUNC, (D, Literal(b"MM", STRING)), DATE), Literal(19_783, DATE)
    ),
    "last_day =": _compare(Comparison.EQUAL, Call(Function.LAST_DAY, (D,), DATE), Literal(19_782, DATE)),
    "date_add =": _compare(
        Comparison.EQUAL, Call(Function.DATE_ADD, (D, Literal(3, INTEGER)), DATE), Literal(19_783, DATE)
    ),
    "add_months =": _compare(
        Comparison.EQUAL, Call(Function.ADD_MONTHS, (D, Literal(1, INTEGER)), DATE), Literal(19_783, DATE)
    ),
    "year of an instant =": _compare(
        Comparison.EQUAL, _field(Function.YEAR, _DAY_OF_T), Literal(2024, INTEGER)
    ),
    "hour of two instants": _compare(Comparison.EQUAL, _trunc("HOUR", T), _trunc("HOUR", U)),
    "month of two instants": _compare(Comparison.LESS, _trunc("MONTH", T), _trunc("MONTH", U)),
    "second": _compare(Comparison.LESS, _trunc("SECOND", T), U),
    "trunc": _compare(Comparison.LESS, Call(Function.TRUNC, (D, Literal(b"MM", STRING)), DATE), E),
    "years": _compare(Comparison.EQUAL, _field(Function.YEAR, D), _field(Function.YEAR, E)),
    "last_day": _compare(Comparison.LESS, Call(Function.LAST_DAY, (D,), DATE), E),
    "date_add": _compare(Comparison.LESS, D, Call(Function.DATE_ADD, (E, Literal(3, INTEGER)), DATE)),
    "date_sub of a column": _compare(Comparison.LESS, D, Call(Function.DATE_SUB, (E, K), DATE)),
    "add_months": _compare(Comparison.LESS, D, Call(Function.ADD_MONTHS, (E, Literal(-2, INTEGER)), DATE)),
    "datediff": _compare(Comparison.LESS, Literal(30, INTEGER), Call(Function.DATEDIFF, (D, E), INTEGER)),
    "datediff to a literal": _compare(
        Comparison.LESS, Literal(30, INTEGER), Call(Function.DATEDIFF, (Literal(100, DATE), E), INTEGER)
    ),
    "unix_timestamp": _compare(Comparison.LESS, Literal(9, LONG), Call(Function.UNIX_TIMESTAMP, (T,), LONG)),
    "an instant's date": _compare(Comparison.EQUAL, _DAY_OF_T, D),
    "an instant's local time": _compare(Comparison.LESS, Cast(T, TIMESTAMP_NTZ, zone=ZONE), N),
    "a local time's instant": _compare(Comparison.LESS, Cast(N, TIMESTAMP, zone=ZONE), T),
    "a date's first instant": _compare(Comparison.LESS, Cast(D, TIMESTAMP, zone=ZONE), T),
    "+ hours =": _compare(Comparison.EQUAL, _plus(T, micros=10_800_000_000), _NOON),
    "+ days": _compare(Comparison.LESS, _plus(T, days=1), U),
    "+ days =": _compare(Comparison.EQUAL, _plus(T, days=-3), _NOON),
    "+ months": _compare(Comparison.LESS, U, _plus(T, months=2)),
    "+ months of a local time": _compare(Comparison.LESS, N, _plus(N, months=-1)),
    "+ months, days and hours": _compare(Comparison.LESS, U, _plus(T, 1, -2, 3_600_000_000)),
    "timestampdiff": _compare(Comparison.LESS, Literal(3, LONG), _between("DAY", T, U)),
    "timestampdiff =": _compare(Comparison.EQUAL, Literal(-3, LONG), _between("HOUR", _NOON, T)),
    "timestampdiff of months =": _compare(Comparison.EQUAL, Literal(3, LONG), _between("MONTH", _NOON, T)),
    "months_between": _compare(Comparison.LESS, Literal(3.0, DOUBLE), _months(T, U)),
    "months_between from a literal": _compare(Comparison.AT_MOST, _months(T, _NOON), Literal(3.0, DOUBLE)),
    "months_between IS NULL": IsNull(_months(_NOON, T)),
    "from_utc_timestamp": _compare(Comparison.LESS, _through_utc(Function.FROM_UTC, T), U),
    "to_utc_timestamp": _compare(Comparison.LESS, _through_utc(Function.TO_UTC, T), U),
    "seconds' instant": _compare(Comparison.LESS, Cast(K, TIMESTAMP), T),
    "a local time's date": _compare(Comparison.LESS, Cast(N, DATE), Literal(19_000, DATE)),
}
_FIELDS: dict[str, Expression] = {
    **{
        f"{function.value} among values": _in(_field(function, T if function is Function.HOUR else D), 1, 3)
        for function in (Function.MONTH, Function.DAY, Function.WEEKOFYEAR, Function.HOUR)
    },
    "months": _compare(Comparison.EQUAL, _field(Function.MONTH, D), _field(Function.MONTH, E)),
    "hours": _compare(Comparison.EQUAL, _field(Function.HOUR, T), K),
    "weekday of an instant": _in(_field(Function.DAYOFWEEK, _DAY_OF_T), 1, 7),
    "a month, and before a date": And((_in(_field(Function.MONTH, D), 3), _compare(Comparison.LESS, D, E))),
}
_FIELDS |= {
    f"{function.value} of two": _compare(Comparison.EQUAL, _field(function, D), _field(function, E))
    for function in CYCLES
    if function not in _OF_TIME
} | {f"{function.value} IS NULL": IsNull(_field(function, T)) for function in _OF_TIME}
_TEXTS: dict[str, Expression] = {
    "date_format IS NULL": IsNull(_DAY_TEXT),
    "date_format =": _compare(Comparison.EQUAL, _DAY_TEXT, Literal(b"2024-03-10", STRING)),
    "month as text =": _compare(
        Comparison.EQUAL,
        Call(Function.DATE_FORMAT, (T, Literal(b"MM", STRING)), STRING, zone=ZONE),
        Literal(b"03", STRING),
    ),
}
SUBJECTS: dict[str, dict[str, Expression]] = {"time": _TIMES, "fields": _FIELDS, "date_fields": _TEXTS}
