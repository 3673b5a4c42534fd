"""Which steps a function of dates and times is made of, as Spark computes it.

A chain is the function wherever its operand is *inside*: elsewhere the result does not fit, and
Spark raises, wraps round or, in `try_cast`, gives NULL, differently from release to release.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pruning.expressions.trees import Call, Cast, Expression, Function, Literal, Mode, type_of
from pruning.expressions.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Kind, Type, Value
from pruning.rules.sets.cuts import FULL, Cuts
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import date_text
from pruning.rules.time.calendar import MONTHS_OF_UNIT
from pruning.rules.time.step_preimages import preimage
from pruning.rules.time.steps import DAYS_MAX, MICROS_MAX, UTC, Action, Step
from pruning.rules.time.zones import zone

DATES_MAX = 2**31 - 1
_SECOND = 1_000_000
_UNITS_OF_TIME = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "DAY": MICROS_PER_DAY,
    "DD": MICROS_PER_DAY,
}
_YEAR_DAYS_MAX = 366
_INSIDE_MAX = MICROS_MAX - 2**56  # 2 years more, so that a unit's start is no problem either
_MONTH_DAYS_MAX = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChain:
    """A function of one operand as steps, the first one first.

    Attributes:
        steps: What makes the value, on operands that are inside.
        otherwise: What makes it in other releases of Spark, if that is something else.
        enclosing: Steps whose least and greatest values enclose it; the same ones, as a rule.
        inside: Operands on which that is so.
        wraps: Whether what does not fit may become a value, instead of raising.
        null_beyond: Whether it may be NULL on operands that are not inside.
    """

    operand: Expression
    steps: tuple[Step, ...]
    otherwise: tuple[Step, ...] = ()
    enclosing: tuple[Step, ...]
    inside: Cuts
    wraps: bool = False
    null_beyond: bool = False


def step_chain(node: Expression) -> StepChain | None:
    """The steps of a call or a cast; None where it is none of those, or its zone is not known."""
    if isinstance(node, Cast):
        return _cast_chain(node)
    if not isinstance(node, Call) or node.function not in _CHAINS:
        return None
    return _CHAINS[node.function](node)


def always_null(node: Expression) -> bool:
    """Whether a call is NULL on every row: its unit is none that Spark knows, or a literal is NULL."""
    if not isinstance(node, Call):
        return False
    if node.function is Function.DATE_TRUNC:
        unit = _literal_text(node.operands[0])
        return unit is not None and unit not in _UNITS_OF_TIME and unit not in MONTHS_OF_UNIT
    if node.function is Function.TRUNC:
        unit = _literal_text(node.operands[1])
        return unit is not None and unit not in MONTHS_OF_UNIT
    return any(isinstance(operand, Literal) and operand.value is None for operand in node.operands)


def _literal_text(operand: Expression) -> str | None:
    """A literal text; one that is NULL is in no table either; None of what is no literal."""
    if not isinstance(operand, Literal):
        return None
    return operand.value.decode() if isinstance(operand.value, bytes) else ""


def _literal_number(operand: Expression) -> int | None:
    value: Value | None = operand.value if isinstance(operand, Literal) else None
    return value if isinstance(value, int) else None


def _bounded_chain(
    operand: Expression,
    source: Type,
    *steps: Step,
    spare: int | None = None,
    wraps: bool = False,
    null_beyond: bool = False,
) -> StepChain | None:
    """A chain over operands of a type; `spare` days at either end of dates are not inside."""
    if type_of(operand) != source:
        return None
    greatest = _INSIDE_MAX if spare is None else DATES_MAX - spare
    if greatest <= 0:
        return None
    inside = Cuts(False, ((-greatest, False), (greatest + 1, False)))
    return StepChain(
        operand=operand, steps=steps, enclosing=steps, inside=inside, wraps=wraps, null_beyond=null_beyond
    )


def _total_chain(operand: Expression, source: Type, *steps: Step) -> StepChain | None:
    """A chain that holds of every value of the type."""
    if type_of(operand) != source:
        return None
    return StepChain(operand=operand, steps=steps, enclosing=steps, inside=FULL)


def _date_trunc(node: Call) -> StepChain | None:
    unit, operand = _literal_text(node.operands[0]), node.operands[1]
    if unit in MONTHS_OF_UNIT:
        return _unit_of_days(operand, str(unit), node.zone) if zone(node.zone) else None
    micros = _UNITS_OF_TIME.get(unit or "")
    if micros is None:
        return None
    if micros <= _SECOND:
        return _bounded_chain(operand, TIMESTAMP, Step(Action.FLOOR, micros), wraps=True)
    return _at_own_offset(operand, micros, node.zone) if zone(node.zone) else None


def _unit_of_days(operand: Expression, unit: str, name: str) -> StepChain | None:
    """Of two midnights Spark 4.3 takes the one at the offset it came from, others the first one."""
    local, days = Step(Action.LOCAL, zone=name), Step(Action.INDEX, MICROS_PER_DAY)
    start = Step(Action.UNIT_START, unit=unit)
    return _chain_through_offsets(
        operand,
        steps=(local, days, start, Step(Action.MIDNIGHT, zone=name)),
        otherwise=(Step(Action.UNIT_INSTANT, unit=unit, zone=name),),
        enclosing=(local, days, start, Step(Action.MIDNIGHT, zone=UTC), Step(Action.INSTANT, zone=name)),
    )


def _at_own_offset(operand: Expression, micros: int, name: str) -> StepChain | None:
    """Of the two instants of a local time Spark takes the one at the offset it came from."""
    local, instant = Step(Action.LOCAL, zone=name), Step(Action.INSTANT, zone=name)
    return _chain_through_offsets(
        operand,
        steps=(Step(Action.TRUNCATE, micros, zone=name),),
        enclosing=(local, Step(Action.FLOOR, micros), instant),
    )


def _chain_through_offsets(
    operand: Expression,
    *,
    steps: tuple[Step, ...],
    enclosing: tuple[Step, ...],
    otherwise: tuple[Step, ...] = (),
) -> StepChain | None:
    if type_of(operand) != TIMESTAMP:
        return None
    return StepChain(
        operand=operand, steps=steps, otherwise=otherwise, enclosing=enclosing, inside=_MICROS_INSIDE
    )


_MICROS_INSIDE = Cuts(False, ((-_INSIDE_MAX, False), (_INSIDE_MAX + 1, False)))


def _trunc(node: Call) -> StepChain | None:
    unit = _literal_text(node.operands[1])
    if unit not in MONTHS_OF_UNIT:
        return None
    step = Step(Action.UNIT_START, unit=unit)
    return _bounded_chain(node.operands[0], DATE, step, spare=_YEAR_DAYS_MAX, wraps=True)


def _date_add(node: Call) -> StepChain | None:
    days = _literal_number(node.operands[1])
    if days is None:
        return None
    step = Step(Action.SHIFT, -days if node.function is Function.DATE_SUB else days)
    return _bounded_chain(node.operands[0], DATE, step, spare=abs(days) + 1, wraps=True)


def _add_months(node: Call) -> StepChain | None:
    months = _literal_number(node.operands[1])
    if months is None:
        return None
    spare = _MONTH_DAYS_MAX * (abs(months) + 1)
    return _bounded_chain(node.operands[0], DATE, Step(Action.PLUS_MONTHS, months), spare=spare)


def _datediff(node: Call) -> StepChain | None:
    """Of one date and a literal one; `rules.families.time_functions` knows two."""
    end, start = node.operands
    if (day := _literal_number(start)) is not None:
        return _bounded_chain(end, DATE, Step(Action.SHIFT, -day), spare=abs(day) + 1, wraps=True)
    if (day := _literal_number(end)) is not None:
        return _bounded_chain(start, DATE, Step(Action.REFLECT, day), spare=abs(day) + 1, wraps=True)
    return None


def _date_format(node: Call) -> StepChain | None:
    pattern = _literal_text(node.operands[1])
    if pattern is None or date_text.tokens(pattern) is None or not zone(node.zone):
        return None
    return _text_chain(node.operands[0], TIMESTAMP, pattern, Step(Action.LOCAL, zone=node.zone))


def _text_chain(operand: Expression, source: Type, pattern: str, *before: Step) -> StepChain | None:
    """The text of a local time that the steps before make; inside are the years whose texts are in order."""
    if type_of(operand) != source:
        return None
    inside = date_text.WRITTEN
    for step in reversed(before):
        inside = preimage(step, inside)
    steps = (*before, Step(Action.TEXT, unit=pattern))
    return StepChain(operand=operand, steps=steps, enclosing=steps, inside=inside, wraps=True)


def _cast_chain(node: Cast) -> StepChain | None:
    operand, source, target = node.operand, type_of(node.operand), node.type
    days = Step(Action.INDEX, MICROS_PER_DAY)
    if target == STRING and source.kind in _TIMES:
        return _cast_to_text(operand, source, node.zone)
    match source.kind, target.kind:
        case Kind.TIMESTAMP_NTZ, Kind.DATE:
            return _total_chain(operand, source, days)
        case Kind.TIMESTAMP, Kind.LONG:
            return _total_chain(operand, source, Step(Action.INDEX, _SECOND))
        case Kind.DATE, Kind.TIMESTAMP_NTZ:
            return _midnight_chain(operand, UTC, node.mode)
    if source.kind not in _TIMES or target.kind not in _TIMES or not zone(node.zone):
        return None
    local, instant = Step(Action.LOCAL, zone=node.zone), Step(Action.INSTANT, zone=node.zone)
    match source.kind, target.kind:
        case Kind.TIMESTAMP, Kind.DATE:
            return _bounded_chain(operand, TIMESTAMP, local, days)
        case Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ:
            return _bounded_chain(operand, TIMESTAMP, local, null_beyond=node.mode is not Mode.ANSI)
        case Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP:
            return _bounded_chain(operand, TIMESTAMP_NTZ, instant, null_beyond=node.mode is not Mode.ANSI)
        case Kind.DATE, Kind.TIMESTAMP:
            return _midnight_chain(operand, node.zone, node.mode)
    return None


_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


def _midnight_chain(operand: Expression, name: str, mode: Mode) -> StepChain | None:
    step = Step(Action.MIDNIGHT, zone=name)
    return _bounded_chain(
        operand, DATE, step, spare=DATES_MAX - DAYS_MAX + _YEAR_DAYS_MAX, null_beyond=mode is not Mode.ANSI
    )


def _cast_to_text(operand: Expression, source: Type, name: str) -> StepChain | None:
    if source == DATE:
        return _text_chain(operand, DATE, date_text.DATE_PATTERN, Step(Action.MIDNIGHT, zone=UTC))
    if source == TIMESTAMP_NTZ:
        return _text_chain(operand, TIMESTAMP_NTZ, date_text.CAST_PATTERN)
    if not zone(name):
        return None
    return _text_chain(operand, TIMESTAMP, date_text.CAST_PATTERN, Step(Action.LOCAL, zone=name))


_CHAINS: Mapping[Function, Callable[[Call], StepChain | None]] = {
    Function.DATE_TRUNC: _date_trunc,
    Function.TRUNC: _trunc,
    Function.YEAR: lambda node: _total_chain(node.operands[0], DATE, Step(Action.YEAR)),
    Function.LAST_DAY: lambda node: _bounded_chain(
        node.operands[0], DATE, Step(Action.LAST_DAY), spare=_MONTH_DAYS_MAX, wraps=True
    ),
    Function.DATE_ADD: _date_add,
    Function.DATE_SUB: _date_add,
    Function.ADD_MONTHS: _add_months,
    Function.DATEDIFF: _datediff,
    Function.UNIX_TIMESTAMP: lambda node: _total_chain(
        node.operands[0], TIMESTAMP, Step(Action.INDEX, _SECOND)
    ),
    Function.DATE_FORMAT: _date_format,
}
