"""The expressions of dates and times that are proved, and what they mean on Z3 terms.

A meaning is made of the same uninterpreted steps that programs run on, put together here once more
from Spark's definition and not from the rule's chain. Where a result may not fit, anything holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import z3

from oracles.symbolic.evaluation import Meaning, SymbolicValue
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
    type_of,
)
from pruning.expressions.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, Kind, Type
from pruning.rules.interpreters.solver.steps import step_of
from pruning.rules.interpreters.solver.theory import Theory
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time.cycles import CYCLES
from pruning.rules.time.steps import Action, Envelope, Step

ZONE = "America/St_Johns"
HOUR = 3_600_000_000
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


def times(theory: Theory) -> Callable[[Meaning, Expression], SymbolicValue | None]:
    """What calls and casts of times mean, by steps of one theory; None of all else."""

    def meaning(context: Meaning, node: Expression) -> SymbolicValue | None:
        known = _meaning_of(node)
        if known is None:
            return None
        if node not in context.opaque_outcomes:  # a row has one value of it, wherever it is asked for
            context.opaque_outcomes[node] = known(theory, context, node)
        return context.opaque_outcomes[node]

    return meaning


def _meaning_of(node: Expression) -> Callable[..., SymbolicValue] | None:
    if isinstance(node, Call):
        return _CALLS.get(node.function)
    if isinstance(node, Cast):
        kinds = type_of(node.operand).kind, node.type.kind
        return _cast if node.zone or kinds == (Kind.TIMESTAMP_NTZ, Kind.DATE) else None
    return None


def _step(theory: Theory, action: Action, value: Any, **parts: Any) -> Any:
    return step_of(theory, Step(action, **parts), Envelope.HERE, value)


def _local(theory: Theory, value: Any) -> Any:
    return _step(theory, Action.LOCAL, value, zone=ZONE)


def _result(
    context: Meaning, operand: SymbolicValue, value: Any, type_: Type, *, wraps: bool = False
) -> SymbolicValue:
    """The value where it fits in the type; elsewhere anything, or nothing but an error."""
    assert type_.integer_range is not None
    least, greatest = type_.integer_range
    fits = z3.And(value >= least, value <= greatest)
    if wraps:
        anything = z3.Int(context.fresh("wrapped"))
        context.assumptions += [anything >= least, anything <= greatest]
        return replace(operand, value=z3.If(fits, value, anything))
    return replace(operand, value=value, raises=z3.Or(operand.raises, z3.Not(fits)))


def _date_trunc(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
    unit, operand = node.operands[0], context.of(node.operands[1])
    assert isinstance(unit, Literal)
    if unit.value == b"HOUR":
        value = _step(theory, Action.TRUNCATE, operand.value, number=HOUR, zone=ZONE)
    elif unit.value == b"SECOND":
        value = operand.value / 1_000_000 * 1_000_000
    else:
        day = _local(theory, operand.value) / MICROS_PER_DAY
        start = _step(theory, Action.UNIT_START, day, unit="MONTH")
        first = _step(theory, Action.MIDNIGHT, start, zone=ZONE)
        own = _step(theory, Action.UNIT_INSTANT, operand.value, unit="MONTH", zone=ZONE)
        value = z3.If(z3.Bool(context.fresh("release")), own, first)
    return _result(context, operand, value, TIMESTAMP, wraps=unit.value == b"SECOND")


def _of_date(action: Action, *, wraps: bool, **parts: Any) -> Callable[..., SymbolicValue]:
    def call(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
        operand = context.of(node.operands[0])
        number = node.operands[1] if len(node.operands) > 1 else None
        more = {"number": number.value} if isinstance(number, Literal) and not parts else parts
        value = _step(theory, action, operand.value, **more)
        return _result(context, operand, value, node.type, wraps=wraps)

    return call


def _sum(sign: int) -> Callable[..., SymbolicValue]:
    def call(_: Theory, context: Meaning, node: Call) -> SymbolicValue:
        left, right = (context.of(operand) for operand in node.operands)
        raises, null = z3.Or(left.raises, right.raises), z3.Or(left.null, right.null)
        both = replace(left, raises=raises, null=null)
        return _result(context, both, left.value + sign * right.value, node.type, wraps=True)

    return call


def _field_of(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
    operand = context.of(node.operands[0])
    value = operand.value
    if type_of(node.operands[0]) == TIMESTAMP:
        value = _local(theory, value)
    field = _step(theory, Action.FIELD, value, field=node.function)
    return _result(context, operand, field, node.type)


def _seconds(_: Theory, context: Meaning, node: Call) -> SymbolicValue:
    operand = context.of(node.operands[0])
    return replace(operand, value=operand.value / 1_000_000)


def _cast(theory: Theory, context: Meaning, node: Cast) -> SymbolicValue:
    operand = context.of(node.operand)
    match type_of(node.operand).kind, node.type.kind:
        case Kind.TIMESTAMP, Kind.DATE:
            value = _local(theory, operand.value) / MICROS_PER_DAY
        case Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ:
            value = _local(theory, operand.value)
        case Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP:
            value = _step(theory, Action.INSTANT, operand.value, zone=ZONE)
        case Kind.DATE, Kind.TIMESTAMP:
            value = _step(theory, Action.MIDNIGHT, operand.value, zone=ZONE)
        case source, target:
            assert (source, target) == (Kind.TIMESTAMP_NTZ, Kind.DATE)
            value = operand.value / MICROS_PER_DAY
    return _result(context, operand, value, node.type)


_CALLS: Mapping[Function, Callable[..., SymbolicValue]] = {
    Function.DATE_TRUNC: _date_trunc,
    Function.TRUNC: _of_date(Action.UNIT_START, wraps=True, unit="MM"),
    Function.YEAR: _of_date(Action.YEAR, wraps=False),
    Function.LAST_DAY: _of_date(Action.LAST_DAY, wraps=True),
    Function.DATE_ADD: _sum(1),
    Function.DATE_SUB: _sum(-1),
    Function.ADD_MONTHS: _of_date(Action.PLUS_MONTHS, wraps=False),
    Function.DATEDIFF: _sum(-1),
    Function.UNIX_TIMESTAMP: _seconds,
    **dict.fromkeys(CYCLES, _field_of),
}
