"""Every function of dates and times, and its value by exact steps, for the tests of time."""

import functools
from functools import cache
from typing import Any

from hypothesis import strategies as st
from times import DATES_MAX, HOUR, drawn_days, drawn_instants, drawn_locals, known

from pruning.expressions.trees import Call, Cast, Column, Expression, Function, Literal, type_of
from pruning.expressions.types import (
    DATE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    Value,
)
from pruning.rules.time import steps
from pruning.rules.time.cycles import CYCLES, OF_TIME
from pruning.rules.time.step_chains import StepChain, step_chain

T, D, N = Column("t", TIMESTAMP), Column("d", DATE), Column("n", TIMESTAMP_NTZ)
UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
PATTERNS = ("yyyy", "yyyy-MM", "yyyyMMdd", "yyyy-MM-dd HH", "yyyy/MM/dd'T'HH:mm:ss.SSS")
DAY = 24 * HOUR
# Months, days and microseconds.
INTERVALS = {
    "+ hours": (0, 0, 30 * HOUR),
    "+ days": (0, 1, 0),
    "- days": (0, -7, 0),
    "+ months": (1, 0, 0),
    "- months": (-13, 0, 0),
    "+ a mixture": (1, -1, 5 * HOUR),
}
DIFFERENCES = ("DAY", "HOUR", "MICROSECOND", "WEEK", "MONTH", "QUARTER", "YEAR")


def text(value: str) -> Literal:
    return Literal(value.encode(), STRING)


def whole(value: int) -> Literal:
    return Literal(value, INTEGER)


def increasing(name: str) -> dict[str, Expression]:
    """Each function that never decreases inside a piece, under a zone."""
    calls: dict[str, Expression] = {
        **{
            f"date_trunc {unit}": Call(Function.DATE_TRUNC, (text(unit), T), TIMESTAMP, zone=name)
            for unit in UNITS
        },
        **{
            f"trunc {unit}": Call(Function.TRUNC, (D, text(unit)), DATE)
            for unit in ("WEEK", "MM", "QUARTER", "YY")
        },
        "year": Call(Function.YEAR, (D,), INTEGER),
        "last_day": Call(Function.LAST_DAY, (D,), DATE),
        "date_add": Call(Function.DATE_ADD, (D, whole(45)), DATE),
        "date_sub": Call(Function.DATE_SUB, (D, whole(45)), DATE),
        "add_months": Call(Function.ADD_MONTHS, (D, whole(1)), DATE),
        "add_months back": Call(Function.ADD_MONTHS, (D, whole(-13)), DATE),
        "datediff": Call(Function.DATEDIFF, (D, Literal(19_000, DATE)), INTEGER),
        "datediff of a literal": Call(Function.DATEDIFF, (Literal(19_000, DATE), D), INTEGER),
        "unix_timestamp": Call(Function.UNIX_TIMESTAMP, (T,), LONG, zone=name),
        **{
            f"date_format {pattern}": Call(Function.DATE_FORMAT, (T, text(pattern)), STRING, zone=name)
            for pattern in PATTERNS
        },
    }
    calls |= {
        f"{column.type} {label}": plus(column, *parts, zone=name)
        for column in (T, N)
        for label, parts in INTERVALS.items()
    }
    since, until = (Literal(at, TIMESTAMP) for at in (1_130_649_300_000_000, -86_400_000_001))
    calls |= {
        f"timestampdiff {unit}": Call(Function.TIMESTAMPDIFF, (text(unit), since, T), LONG, zone=name)
        for unit in DIFFERENCES
    }
    calls |= {
        f"timestampdiff {unit} to a literal": Call(
            Function.TIMESTAMPDIFF, (text(unit), T, until), LONG, zone=name
        )
        for unit in DIFFERENCES[:3]
    }
    calls |= {
        function.value: Call(function, (T, text(name)), TIMESTAMP)
        for function in (Function.FROM_UTC, Function.TO_UTC)
    }
    casts = [(T, DATE), (T, TIMESTAMP_NTZ), (N, TIMESTAMP), (N, DATE), (D, TIMESTAMP), (D, TIMESTAMP_NTZ)]
    casts += [(T, STRING), (N, STRING), (D, STRING), (T, LONG)]
    return calls | {f"{column.type} as {type_}": Cast(column, type_, zone=name) for column, type_ in casts}


def plus(operand: Expression, months: int, days: int, micros: int, *, zone: str) -> Call:
    """A time plus an interval."""
    parts = whole(months), whole(days), Literal(micros, LONG)
    return Call(
        Function.PLUS_INTERVAL, (operand, *parts), type_of(operand), zone=zone if operand == T else ""
    )


INCREASING = tuple(increasing("UTC"))


def operand(node: Expression) -> Column:
    found = chain_of(node).operand
    assert isinstance(found, Column)
    return found


@cache
def chain_of(node: Expression) -> StepChain:
    found = step_chain(node)
    assert found is not None
    return found


def value_of(node: Expression, number: int) -> Value | None:
    """The function's value; None where the operand is not inside."""
    values = values_of(node, number)
    return values[0] if values else None


def values_of(node: Expression, number: int) -> list[Value]:
    """The function's value in one release of Spark and, where that may differ, in another."""
    found = chain_of(node)
    if not found.inside.holds(number):
        return []
    values: list[Value] = []
    for chained in filter(None, (found.steps, found.otherwise)):
        value: Any = number
        for step in chained:
            value = value_of_step(step, value)
        values.append(value)
    return values


def value_of_step(step: steps.Step, number: int) -> Any:
    """The value of a step; of a quotient also beyond the limits within which the rules compute steps."""
    value = steps.value(step, number)
    return number // step.number if value is None and step.action is steps.Action.INDEX else value


@functools.cache
def drawn(type_: Type, name: str) -> st.SearchStrategy[int]:
    """Values of a column."""
    if type_ == DATE:
        ends = st.integers(-DATES_MAX - 1, DATES_MAX)
        near = drawn_instants(name).map(lambda instant: instant // DAY)
        return near | drawn_days() | ends
    return drawn_instants(name) if type_ == TIMESTAMP else drawn_locals(name)


def fields(name: str) -> dict[str, Call]:
    """Each field, of a date or of a time under a zone."""
    of_days = {str(field.value): Call(field, (D,), INTEGER) for field in CYCLES if field not in OF_TIME}
    of_times = {str(field.value): Call(field, (T,), INTEGER, zone=name) for field in OF_TIME}
    return of_days | of_times | {f"{field.value} of ntz": Call(field, (N,), INTEGER) for field in OF_TIME}


FIELDS = tuple(fields("UTC"))


def field_of(node: Call, number: int) -> int:
    """The field's value, by the scalar steps."""
    local = known(node.zone).local.at(number) if node.operands[0] == T else number
    return int(CYCLES[node.function].field(local))
