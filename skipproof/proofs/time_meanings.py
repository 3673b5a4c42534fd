"""The meaning of functions of dates and times on Z3 terms, for the prover.

A meaning is made of the same uninterpreted steps that programs run on, put together here once more
from Spark's definition and not from the rule's chain. Where a result may not fit, anything holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import z3

from oracles.symbolic.evaluation import Meaning, SymbolicValue
from pruning.expressions.trees import Call, Cast, Expression, Function, Literal, Opaque, type_of
from pruning.expressions.types import BYTES, TIMESTAMP, TIMESTAMP_NTZ, Kind, Type
from pruning.rules.interpreters.solver.steps import step_of
from pruning.rules.interpreters.solver.theory import Theory
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar
from pruning.rules.time.calendar import MONTHS_OF_UNIT
from pruning.rules.time.cycles import CYCLES
from pruning.rules.time.steps import Action, Envelope, Step
from pruning.rules.time.zones import zone

_SECOND = 1_000_000
_MICROS_OF_UNIT = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "DAY": MICROS_PER_DAY,
    "DD": MICROS_PER_DAY,
}
_MICROS_OF_WHOLE = {
    **{unit: micros for unit, micros in _MICROS_OF_UNIT.items() if unit != "DD"},
    "WEEK": 7 * MICROS_PER_DAY,
}
_MONTHS_OF_UNIT = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


def times(theory: Theory) -> Callable[[Meaning, Expression], SymbolicValue | None]:
    """Return a function that gives the meaning of calls and casts of times; None of any other node."""

    def meaning(context: Meaning, node: Expression) -> SymbolicValue | None:
        make_outcome = _meaning_of(node)
        if make_outcome is None:
            return None
        # A row has one value of an expression, so equal expressions share one symbolic value.
        if node not in context.opaque_outcomes:
            context.opaque_outcomes[node] = make_outcome(theory, context, node)
        return context.opaque_outcomes[node]

    return meaning


def _meaning_of(node: Expression) -> Callable[..., SymbolicValue] | None:
    if isinstance(node, Call):
        return None if _unit_is_open(node) else _CALLS.get(node.function)
    if not isinstance(node, Cast) or type_of(node.operand) == node.type:
        return None
    source, target = type_of(node.operand).kind, node.type.kind
    if (source in BYTES) is not (target in BYTES):
        return _cast_of_text
    if target is Kind.TIMESTAMP and type_of(node.operand).integral:
        return _cast_of_seconds
    return _cast if source in _TIMES and target in _TIMES and _knows_zone(node) else None


def _unit_is_open(node: Call) -> bool:
    """Tell whether a call has a unit, a number or a zone that means no step."""
    match node.function:
        case Function.DATE_TRUNC:
            return _unit(node.operands[0]) not in {*_MICROS_OF_UNIT, *MONTHS_OF_UNIT}
        case Function.TRUNC:
            return _unit(node.operands[1]) not in MONTHS_OF_UNIT
        case Function.ADD_MONTHS | Function.PLUS_INTERVAL | Function.FROM_UTC | Function.TO_UTC:
            return any(_number_or_text(part) is None for part in node.operands[1:])
        case Function.TIMESTAMPDIFF:
            unit, start, _ = node.operands
            months = _unit(unit) in _MONTHS_OF_UNIT and _number_or_text(start) is not None
            return _unit(unit) not in _MICROS_OF_WHOLE and not months
    return False


def _number_or_text(operand: Expression) -> Any:
    """The value of a literal; None of NULL and of any other operand."""
    return operand.value if isinstance(operand, Literal) else None


def _knows_zone(node: Cast) -> bool:
    return bool(node.zone) or (type_of(node.operand).kind, node.type.kind) == (Kind.TIMESTAMP_NTZ, Kind.DATE)


def _unit(operand: Expression) -> str | None:
    """The unit that a literal names; None where it names none."""
    if not isinstance(operand, Literal) or not isinstance(operand.value, bytes):
        return None
    return operand.value.decode(errors="replace").upper()


def _step(theory: Theory, action: Action, value: Any, **parts: Any) -> Any:
    return step_of(theory, Step(action, **parts), Envelope.HERE, value)


def _local(theory: Theory, value: Any, zone: str) -> Any:
    return _step(theory, Action.LOCAL, value, zone=zone)


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
    unit, operand, zone = str(_unit(node.operands[0])), context.of(node.operands[1]), node.zone
    micros = _MICROS_OF_UNIT.get(unit)
    if micros is None:
        day = _local(theory, operand.value, zone) / MICROS_PER_DAY
        start = _step(theory, Action.UNIT_START, day, unit=unit)
        first = _step(theory, Action.MIDNIGHT, start, zone=zone)
        own = _step(theory, Action.UNIT_INSTANT, operand.value, unit=unit, zone=zone)
        value = z3.If(z3.Bool(context.fresh("release")), own, first)
    elif micros <= _SECOND:
        value = operand.value / micros * micros
    else:
        value = _step(theory, Action.TRUNCATE, operand.value, number=micros, zone=zone)
    return _result(context, operand, value, TIMESTAMP, wraps=micros is not None and micros <= _SECOND)


def _trunc(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
    operand, unit = context.of(node.operands[0]), str(_unit(node.operands[1]))
    value = _step(theory, Action.UNIT_START, operand.value, unit=unit)
    return _result(context, operand, value, node.type, wraps=True)


def _of_date(action: Action, *, wraps: bool) -> Callable[..., SymbolicValue]:
    def call(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
        operand = context.of(node.operands[0])
        number = node.operands[1] if len(node.operands) > 1 else None
        parts = {"number": number.value} if isinstance(number, Literal) else {}
        value = _step(theory, action, operand.value, **parts)
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
        value = _local(theory, value, node.zone)
    field = _step(theory, Action.FIELD, value, field=node.function)
    return _result(context, operand, field, node.type)


def _plus_interval(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
    operand, zone = context.of(node.operands[0]), node.zone
    months, days, micros = map(_number_or_text, node.operands[1:])
    value = operand.value
    local = node.type == TIMESTAMP_NTZ
    if months and local:
        value = _step(theory, Action.LOCAL_MONTHS, value, number=months)
    elif months:
        value = _step(theory, Action.MONTHS_LATER, value, number=months, zone=zone)
    if days and local:
        value = value + days * MICROS_PER_DAY
    elif days:
        value = _step(theory, Action.DAYS_LATER, value, number=days, zone=zone)
    return _result(context, operand, value + micros, node.type)


def _whole_units(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
    start, end = (context.of(operand) for operand in node.operands[1:])
    first, last = (_local(theory, moment.value, node.zone) for moment in (start, end))
    unit = str(_unit(node.operands[0]))
    both = replace(start, raises=z3.Or(start.raises, end.raises), null=z3.Or(start.null, end.null))
    if unit in _MONTHS_OF_UNIT:
        at = _local_literal(_number_or_text(node.operands[1]), node.zone)
        whole, size = _step(theory, Action.MONTHS_SINCE, last, number=at), _MONTHS_OF_UNIT[unit]
    else:
        whole, size = last - first, _MICROS_OF_WHOLE[unit]
    return _result(context, both, z3.If(whole >= 0, whole / size, -((-whole) / size)), node.type)


def _months_between(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
    """MONTHS: the months between two dates, and days with what has passed of them: less than 60 hours.

    A number of a day is 31 times its month and its day. The last day of a month is at least the 28th.
    """
    theory.rounding.keeps_integers = True
    end, start = (context.of(moment) for moment in node.operands[:2])
    (last_month, last_day), (first_month, first_day) = (
        _month_and_day(theory, context, moment, node.zone) for moment in node.operands[:2]
    )
    passed, value = z3.Real(context.fresh("passed")), z3.Real(context.fresh("months"))
    months, days = last_month - first_month, last_day - first_day
    are_last = z3.And(z3.Bool(context.fresh("both are last")), last_day >= 28, first_day >= 28)
    error = 31 * (value - months) - days - passed
    rest = z3.And(error < 0.0001, error > -0.0001)
    context.assumptions += [
        passed < 2.5,
        passed > -2.5,
        z3.If(z3.Or(days == 0, are_last), value == months, rest),
    ]
    sign, rounded = context.ideals.rounded(value)
    raises, null = z3.Or(start.raises, end.raises), z3.Or(start.null, end.null)
    return replace(start, raises=raises, null=null, value=rounded, sign=sign)


def _month_and_day(theory: Theory, context: Meaning, moment: Expression, name: str) -> tuple[Any, Any]:
    """The month and the day of the month of an instant's local date."""
    literal = _number_or_text(moment)
    if literal is None:
        number = _step(
            theory, Action.EVEN_DAY, _local(theory, context.of(moment).value, name) / MICROS_PER_DAY
        )
    else:
        number = int(calendar.even_day_of(_local_literal(literal, name) // MICROS_PER_DAY))
    month, day = z3.Int(context.fresh("month")), z3.Int(context.fresh("day"))
    context.assumptions += [number == 31 * month + day, day >= 1, day <= 31]
    return month, day


def _local_literal(instant: int, name: str) -> int:
    zone_of_name = zone(name)
    assert zone_of_name is not None
    return zone_of_name.local.at(instant)


def _through_utc(action: Action) -> Callable[..., SymbolicValue]:
    def call(theory: Theory, context: Meaning, node: Call) -> SymbolicValue:
        operand = context.of(node.operands[0])
        value = _step(theory, action, operand.value, zone=_number_or_text(node.operands[1]).decode())
        return _result(context, operand, value, node.type)

    return call


def _seconds(_: Theory, context: Meaning, node: Call) -> SymbolicValue:
    operand = context.of(node.operands[0])
    return replace(operand, value=operand.value / 1_000_000)


def _cast(theory: Theory, context: Meaning, node: Cast) -> SymbolicValue:
    operand = context.of(node.operand)
    match type_of(node.operand).kind, node.type.kind:
        case Kind.TIMESTAMP, Kind.DATE:
            value = _local(theory, operand.value, node.zone) / MICROS_PER_DAY
        case Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ:
            value = _local(theory, operand.value, node.zone)
        case Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP:
            value = _step(theory, Action.INSTANT, operand.value, zone=node.zone)
        case Kind.DATE, Kind.TIMESTAMP:
            value = _step(theory, Action.MIDNIGHT, operand.value, zone=node.zone)
        case source, target:
            assert (source, target) == (Kind.TIMESTAMP_NTZ, Kind.DATE)
            value = operand.value / MICROS_PER_DAY
    return _result(context, operand, value, node.type)


def _cast_of_seconds(_: Theory, context: Meaning, node: Cast) -> SymbolicValue:
    operand = context.of(node.operand)
    return _result(context, operand, operand.value * _SECOND, TIMESTAMP, wraps=True)


def _cast_of_text(theory: Theory, context: Meaning, node: Cast) -> SymbolicValue:
    """Anything, but NULL of NULL."""
    operand = context.of(node.operand)
    result = context.of(Opaque("cast of a text", node.type))
    context.assumptions.append(z3.Implies(operand.null, result.null))
    return replace(result, raises=operand.raises)


_CALLS: Mapping[Function, Callable[..., SymbolicValue]] = {
    Function.DATE_TRUNC: _date_trunc,
    Function.TRUNC: _trunc,
    Function.YEAR: _of_date(Action.YEAR, wraps=False),
    Function.LAST_DAY: _of_date(Action.LAST_DAY, wraps=True),
    Function.DATE_ADD: _sum(1),
    Function.DATE_SUB: _sum(-1),
    Function.ADD_MONTHS: _of_date(Action.PLUS_MONTHS, wraps=False),
    Function.DATEDIFF: _sum(-1),
    Function.UNIX_TIMESTAMP: _seconds,
    Function.PLUS_INTERVAL: _plus_interval,
    Function.TIMESTAMPDIFF: _whole_units,
    Function.MONTHS_BETWEEN: _months_between,
    Function.FROM_UTC: _through_utc(Action.LOCAL),
    Function.TO_UTC: _through_utc(Action.INSTANT),
    **dict.fromkeys(CYCLES, _field_of),
}
