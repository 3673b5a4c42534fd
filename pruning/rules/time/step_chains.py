"""Functions of dates and times as compositions of steps, in the way Spark computes them.

A chain equals the function wherever its operand is *inside*: elsewhere the result does not fit, and
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
# The lengths of the units that count whole differences of local times, and the months of the others.
UNIT_MICROS: Mapping[str, int] = {
    **{unit: micros for unit, micros in _UNITS_OF_TIME.items() if unit != "DD"},
    "WEEK": 7 * MICROS_PER_DAY,
}
UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SHIFT_MAX = 2**57  # 4,500 years; a shift that is longer has no chain
_INSIDE_MAX = MICROS_MAX - 2**56  # 2 years of margin, so that the start of a unit fits too
_MONTH_DAYS_MAX = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChain:
    """A function of one operand as a composition of steps, the first one first.

    Attributes:
        steps: The steps that compute the value, on operands that are inside.
        otherwise: The steps that other releases of Spark take, if they differ.
        enclosing: Steps whose envelopes enclose the value; as a rule the same ones.
        inside: The operands on which all this holds.
        wraps: Whether a result that does not fit may become another value, instead of raising.
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
    """Return the steps of a call or a cast; None if it has none, or if its zone is not known."""
    if isinstance(node, Cast):
        return _cast_chain(node)
    if not isinstance(node, Call) or node.function not in _CHAINS:
        return None
    return _CHAINS[node.function](node)


def always_null(node: Expression) -> bool:
    """Tell whether a call is NULL on every row: Spark does not know its unit, or a literal is NULL."""
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
    """Return a literal text; empty (in no table) if it is NULL; None of an operand that is no literal."""
    if not isinstance(operand, Literal):
        return None
    return operand.value.decode() if isinstance(operand.value, bytes) else ""


def _literal_number(operand: Expression) -> int | None:
    """Return the number of a literal; None of any other operand."""
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
    """Return a chain over operands of a type; `spare` days at either end of dates are not inside."""
    if type_of(operand) != source:
        return None
    greatest = _INSIDE_MAX if spare is None else DATES_MAX - spare
    if greatest <= 0:
        return None
    return StepChain(
        operand=operand,
        steps=steps,
        enclosing=steps,
        inside=_within(greatest),
        wraps=wraps,
        null_beyond=null_beyond,
    )


def _total_chain(operand: Expression, source: Type, *steps: Step) -> StepChain | None:
    """Return a chain that holds for every value of the type."""
    if type_of(operand) != source:
        return None
    return StepChain(operand=operand, steps=steps, enclosing=steps, inside=FULL)


def _date_trunc(node: Call) -> StepChain | None:
    """Return the chain of DATE_TRUNC."""
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
    """Return the chain to the start of a unit of days.

    Of two midnights Spark 4.3 takes the one at the offset of the operand, other releases the first one.
    """
    local, days = Step(Action.LOCAL, zone=name), Step(Action.INDEX, MICROS_PER_DAY)
    start = Step(Action.UNIT_START, unit=unit)
    return _chain_through_offsets(
        operand,
        steps=(local, days, start, Step(Action.MIDNIGHT, zone=name)),
        otherwise=(Step(Action.UNIT_INSTANT, unit=unit, zone=name),),
        enclosing=(local, days, start, Step(Action.MIDNIGHT, zone=UTC), Step(Action.INSTANT, zone=name)),
    )


def _at_own_offset(operand: Expression, micros: int, name: str) -> StepChain | None:
    """Return the chain to the start of a minute, hour or day.

    Of the two instants of a local time Spark takes the one at the offset of the operand.
    """
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
    """Return a chain over timestamps whose steps pass through the offsets of a zone."""
    if type_of(operand) != TIMESTAMP:
        return None
    return StepChain(
        operand=operand, steps=steps, otherwise=otherwise, enclosing=enclosing, inside=_MICROS_INSIDE
    )


def _within(greatest: int) -> Cuts:
    """Return the numbers that are not further from zero than another."""
    return Cuts(False, ((-greatest, False), (greatest + 1, False)))


_MICROS_INSIDE = _within(_INSIDE_MAX)


def _trunc(node: Call) -> StepChain | None:
    """Return the chain of TRUNC."""
    unit = _literal_text(node.operands[1])
    if unit not in MONTHS_OF_UNIT:
        return None
    step = Step(Action.UNIT_START, unit=unit)
    return _bounded_chain(node.operands[0], DATE, step, spare=_YEAR_DAYS_MAX, wraps=True)


def _date_add(node: Call) -> StepChain | None:
    """Return the chain of DATE_ADD or DATE_SUB of a literal number of days."""
    days = _literal_number(node.operands[1])
    if days is None:
        return None
    step = Step(Action.SHIFT, -days if node.function is Function.DATE_SUB else days)
    return _bounded_chain(node.operands[0], DATE, step, spare=abs(days) + 1, wraps=True)


def _add_months(node: Call) -> StepChain | None:
    """Return the chain of ADD_MONTHS of a literal number of months."""
    months = _literal_number(node.operands[1])
    if months is None:
        return None
    spare = _MONTH_DAYS_MAX * (abs(months) + 1)
    return _bounded_chain(node.operands[0], DATE, Step(Action.PLUS_MONTHS, months), spare=spare)


def _datediff(node: Call) -> StepChain | None:
    """Return the chain of DATEDIFF of one date and a literal; `families.time_functions` handles two dates."""
    end, start = node.operands
    if (day := _literal_number(start)) is not None:
        return _bounded_chain(end, DATE, Step(Action.SHIFT, -day), spare=abs(day) + 1, wraps=True)
    if (day := _literal_number(end)) is not None:
        return _bounded_chain(start, DATE, Step(Action.REFLECT, day), spare=abs(day) + 1, wraps=True)
    return None


def _plus_interval(node: Call) -> StepChain | None:
    """Return the chain of PLUS_INTERVAL: months and days through local time, then microseconds."""
    operand, source = node.operands[0], type_of(node.operands[0])
    months, days, micros = (_literal_number(part) for part in node.operands[1:])
    if months is None or days is None or micros is None or source not in (TIMESTAMP, TIMESTAMP_NTZ):
        return None
    size = (abs(months) * _MONTH_DAYS_MAX + abs(days)) * MICROS_PER_DAY + abs(micros)
    if size > _SHIFT_MAX or (source == TIMESTAMP and not zone(node.zone)):
        return None
    local_steps = (Step(Action.LOCAL_MONTHS, months), Step(Action.SHIFT, days * MICROS_PER_DAY))
    steps = enclosing = [step for step in local_steps if step.number]
    if source == TIMESTAMP:
        local, instant = Step(Action.LOCAL, zone=node.zone), Step(Action.INSTANT, zone=node.zone)
        later = (
            Step(Action.MONTHS_LATER, months, zone=node.zone),
            Step(Action.DAYS_LATER, days, zone=node.zone),
        )
        steps = [step for step in later if step.number]
        enclosing = [part for step in enclosing for part in (local, step, instant)]
    rest = Step(Action.SHIFT, micros)
    return StepChain(
        operand=operand,
        steps=(*steps, rest),
        enclosing=(*enclosing, rest),
        inside=_within(_INSIDE_MAX - size),
    )


def _timestampdiff(node: Call) -> StepChain | None:
    """Return the chain of TIMESTAMPDIFF from or to a literal; of months, quarters and years only from one."""
    unit = _literal_text(node.operands[0]) or ""
    start, end = (_literal_number(operand) for operand in node.operands[1:])
    operand, zone_of_call = node.operands[2 if end is None else 1], zone(node.zone)
    fixed = end if start is None else start
    if fixed is None or zone_of_call is None or type_of(operand) != TIMESTAMP or abs(fixed) > _SHIFT_MAX:
        return None
    since = zone_of_call.local.at(fixed)
    if unit in UNIT_MICROS:
        distance = Step(Action.REFLECT, since) if start is None else Step(Action.SHIFT, -since)
        whole = Step(Action.QUOTIENT, UNIT_MICROS[unit])
    elif unit in UNIT_MONTHS and start is not None:
        distance, whole = Step(Action.MONTHS_SINCE, since), Step(Action.QUOTIENT, UNIT_MONTHS[unit])
    else:
        return None
    steps = (Step(Action.LOCAL, zone=node.zone), distance, whole)
    inside = _within(_INSIDE_MAX - 2 * _SHIFT_MAX)
    return StepChain(operand=operand, steps=steps, enclosing=steps, inside=inside)


def _through_utc(node: Call) -> StepChain | None:
    """Return the chain of FROM_UTC, which reads an instant as local time, or of TO_UTC, its inverse."""
    name = _literal_text(node.operands[1])
    if not name or not zone(name):
        return None
    action = Action.LOCAL if node.function is Function.FROM_UTC else Action.INSTANT
    return _bounded_chain(node.operands[0], TIMESTAMP, Step(action, zone=name))


def _date_format(node: Call) -> StepChain | None:
    """Return the chain of DATE_FORMAT by a pattern whose texts sort like the times."""
    pattern = _literal_text(node.operands[1])
    if pattern is None or date_text.tokens(pattern) is None or not zone(node.zone):
        return None
    return _text_chain(node.operands[0], TIMESTAMP, pattern, Step(Action.LOCAL, zone=node.zone))


def _text_chain(operand: Expression, source: Type, pattern: str, *before: Step) -> StepChain | None:
    """Return the chain to the text of a local time; inside are the years whose texts sort like them."""
    if type_of(operand) != source:
        return None
    inside = date_text.WRITTEN
    for step in reversed(before):
        inside = preimage(step, inside)
    steps = (*before, Step(Action.TEXT, unit=pattern))
    return StepChain(operand=operand, steps=steps, enclosing=steps, inside=inside, wraps=True)


def _cast_chain(node: Cast) -> StepChain | None:
    """Return the chain of a cast among dates and times, or of one to text or to a number."""
    operand, source, target = node.operand, type_of(node.operand), node.type
    days = Step(Action.INDEX, MICROS_PER_DAY)
    if source.integral and target == TIMESTAMP:
        return _seconds_chain(operand)
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


def _seconds_chain(operand: Expression) -> StepChain:
    """Return the chain of a cast from seconds since 1970; beyond its limits Spark saturates or raises."""
    step = Step(Action.TIMES, _SECOND)
    return StepChain(
        operand=operand, steps=(step,), enclosing=(step,), inside=_within(_INSIDE_MAX // _SECOND), wraps=True
    )


_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


def _midnight_chain(operand: Expression, name: str, mode: Mode) -> StepChain | None:
    """Return the chain from a date to its midnight in a zone."""
    step = Step(Action.MIDNIGHT, zone=name)
    return _bounded_chain(
        operand, DATE, step, spare=DATES_MAX - DAYS_MAX + _YEAR_DAYS_MAX, null_beyond=mode is not Mode.ANSI
    )


def _cast_to_text(operand: Expression, source: Type, name: str) -> StepChain | None:
    """Return the chain of a cast to text."""
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
    Function.PLUS_INTERVAL: _plus_interval,
    Function.TIMESTAMPDIFF: _timestampdiff,
    Function.FROM_UTC: _through_utc,
    Function.TO_UTC: _through_utc,
}
