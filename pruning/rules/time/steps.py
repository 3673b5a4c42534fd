"""The steps of which functions of dates and times are composed, on exact integers.

Dates are days, instants and local times are microseconds. Most steps are monotone (never decrease). A step
through a time zone is monotone only on each piece of constant offset, but its envelopes are monotone: the
least value at or after a number, and the greatest value at or before it. They enclose the step.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pruning.expressions.trees import Function
from pruning.expressions.types import Value
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar, cycles, date_text
from pruning.rules.time.calendar import Whole
from pruning.rules.time.cycles import CYCLES, OF_TIME
from pruning.rules.time.zones import REACH_MICROS, Zone, zone

# Beyond these Spark may raise or wrap round, so steps have no value there. The margin is 9 years.
MICROS_MAX = 2**63 - 2**58
DAYS_MAX = MICROS_MAX // MICROS_PER_DAY
UTC = "UTC"  # the zone of local times that have none
PIECES_MAX = 8  # pieces of constant offset that are searched for the next hour, minute or second


class Action(enum.Enum):
    """The kinds of steps, each with the number that it makes of its operand."""

    LOCAL = "the local time of an instant in a zone"
    INSTANT = "the instant of a local time in a zone"
    MIDNIGHT = "the first instant of a date in a zone"
    TRUNCATE = "the instant at the start of a local minute, hour or day, at its own offset if it can be"
    UNIT_INSTANT = "the same at the start of a local week, month, quarter or year"
    FLOOR = "the multiple of `number` at or below"
    INDEX = "how many times `number`, rounded down"
    SHIFT = "`number` more"
    REFLECT = "`number` less it"
    UNIT_START = "the first day of a week, month, quarter or year"
    LAST_DAY = "the last day of the month"
    PLUS_MONTHS = "the day `number` months later"
    LOCAL_MONTHS = "the local time `number` months later"
    DAYS_LATER = "the instant `number` days of local time later, at its own offset if it can be"
    MONTHS_LATER = "the instant `number` months of local time later, at its own offset if it can be"
    QUOTIENT = "how many times `number`, rounded toward zero"
    MONTHS_SINCE = "how many whole months since the local time `number`"
    EVEN_DAY = "the number of a day if every month had 31 days"
    TIMES = "`number` times it"
    YEAR = "the year of a day"
    TEXT = "a local time in the words of a pattern"
    FIELD = "a field of a day or a local time; it comes round again"
    CYCLE = "the first step of the cycle that the field is in"
    NEXT = "the least number from here on whose field is wanted"
    PREVIOUS = "the greatest number up to here whose field is wanted"


class Envelope(enum.Enum):
    """The step itself, or the monotone function that encloses it from below or above."""

    HERE = "at the number itself"
    LOW = "the least from the number on"
    HIGH = "the greatest up to the number"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `unit` is a unit of days, or a pattern; `wanted` are values of the field."""

    action: Action
    number: int = 0
    unit: str = ""
    zone: str = ""
    field: Function = Function.MONTH
    wanted: frozenset[int] = frozenset()


def value(step: Step, number: int, bend: Envelope = Envelope.HERE) -> Value | None:
    """Return the value of a step, or of its envelope, at a number; None beyond the limits."""
    if abs(number) > greatest_operand(step):
        return None
    return _VALUES[step.action](step, number, bend)


def greatest_operand(step: Step) -> int:
    """Return the greatest number at which a step has a value."""
    match step.action:
        case Action.MIDNIGHT:
            return DAYS_MAX
        case Action.TIMES:
            return MICROS_MAX // step.number
        case _:
            return MICROS_MAX


def zone_of(step: Step) -> Zone:
    """Return the zone that a step passes through."""
    zone_of_step = zone(step.zone)
    assert zone_of_step is not None, step.zone
    return zone_of_step


def _local(step: Step, number: int, bend: Envelope) -> int:
    """Return the local time of an instant."""
    shifts = zone_of(step).local
    if bend is Envelope.HERE:
        return shifts.at(number)
    return shifts.least_from(number) if bend is Envelope.LOW else shifts.greatest_to(number)


def _instant(step: Step, number: int, bend: Envelope) -> int:
    """Return the instant of a local time."""
    zone_of_step = zone_of(step)
    if bend is Envelope.HERE:
        return zone_of_step.earliest.at(number)
    return (
        zone_of_step.earliest.least_from(number)
        if bend is Envelope.LOW
        else zone_of_step.latest.greatest_to(number)
    )


def _truncate(step: Step, number: int, _: Envelope) -> int:
    """Return the instant at which a local unit starts, at the operand's own offset if possible."""
    zone_of_step = zone_of(step)
    local = zone_of_step.local.at(number)
    return zone_of_step.instant_at_offset(local - local % step.number, local - number)


def _unit_instant(step: Step, number: int, _: Envelope) -> int:
    """Return the instant at which a unit of days starts, at the operand's own offset if possible."""
    zone_of_step = zone_of(step)
    local = zone_of_step.local.at(number)
    days = int(calendar.unit_start(local // MICROS_PER_DAY, step.unit))
    kept = days * MICROS_PER_DAY - (local - number)
    return kept if zone_of_step.local.at(kept) == days * MICROS_PER_DAY else zone_of_step.midnight(days)


def _later(step: Step, number: int, _: Envelope) -> int:
    """Return the instant some days or months of local time later, at the operand's own offset if possible."""
    zone_of_step = zone_of(step)
    local = zone_of_step.local.at(number)
    if step.action is Action.DAYS_LATER:
        later = local + step.number * MICROS_PER_DAY
    else:
        later = int(calendar.plus_months_of_time(local, step.number))
    return zone_of_step.instant_at_offset(later, local - number)


def _local_months(step: Step, number: int, bend: Envelope) -> int:
    """Return the local time some months later; days that a shorter month lacks become its last day."""
    return int(LOCAL_MONTHS[bend](number, step.number))


LOCAL_MONTHS: Mapping[Envelope, Callable[[Whole, int], Whole]] = {
    Envelope.HERE: calendar.plus_months_of_time,
    Envelope.LOW: calendar.least_plus_months_of_time,
    Envelope.HIGH: calendar.greatest_plus_months_of_time,
}


def _field(step: Step, number: int, _: Envelope) -> int:
    """Return the field of a day or a local time."""
    return int(CYCLES[step.field].field(number))


def _cycle(step: Step, number: int, _: Envelope) -> int:
    """Return the first step of the cycle that a day or a local time is in."""
    cycle = CYCLES[step.field]
    return int(cycle.first(cycle.step(number)))


def _next(step: Step, number: int, _: Envelope) -> int:
    """Return the least number from `number` on whose field is wanted, or one before it."""
    if step.field not in OF_TIME:
        return cycles.next_with(step.field, step.wanted, number)
    shifts, at = zone_of(step).local, number
    for _piece in range(PIECES_MAX):
        ((_start, end, shift), *_rest) = shifts.pieces(at, at + 8 * REACH_MICROS)
        number_in_piece = cycles.next_with(step.field, step.wanted, at + shift) - shift
        if end is None or number_in_piece < end:
            return number_in_piece
        at = end
    return at


def _previous(step: Step, number: int, _: Envelope) -> int:
    """Return the greatest number up to `number` whose field is wanted, or one after it."""
    if step.field not in OF_TIME:
        return cycles.previous_with(step.field, step.wanted, number)
    shifts, at = zone_of(step).local, number
    for _piece in range(PIECES_MAX):
        (*_rest, (start, _end, shift)) = shifts.pieces(at - 8 * REACH_MICROS, at)
        number_in_piece = cycles.previous_with(step.field, step.wanted, at + shift) - shift
        if start is None or number_in_piece >= start:
            return number_in_piece
        at = start - 1
    return at


_VALUES: Mapping[Action, Callable[[Step, int, Envelope], Value | None]] = {
    Action.LOCAL: _local,
    Action.INSTANT: _instant,
    Action.MIDNIGHT: lambda step, number, _: zone_of(step).midnight(number),
    Action.TRUNCATE: _truncate,
    Action.UNIT_INSTANT: _unit_instant,
    Action.FLOOR: lambda step, number, _: number // step.number * step.number,
    Action.INDEX: lambda step, number, _: number // step.number,
    Action.SHIFT: lambda step, number, _: number + step.number,
    Action.REFLECT: lambda step, number, _: step.number - number,
    Action.UNIT_START: lambda step, number, _: int(calendar.unit_start(number, step.unit)),
    Action.LAST_DAY: lambda _step, number, _: int(calendar.last_day(number)),
    Action.PLUS_MONTHS: lambda step, number, _: int(calendar.plus_months(number, step.number)),
    Action.LOCAL_MONTHS: _local_months,
    Action.DAYS_LATER: _later,
    Action.MONTHS_LATER: _later,
    Action.QUOTIENT: lambda step, number, _: int(calendar.toward_zero(number, step.number)),
    Action.MONTHS_SINCE: lambda step, number, _: int(calendar.months_between(step.number, number)),
    Action.EVEN_DAY: lambda _step, number, _: int(calendar.even_day_of(number)),
    Action.TIMES: lambda step, number, _: number * step.number,
    Action.YEAR: lambda _step, number, _: int(calendar.year_of(number)),
    Action.TEXT: lambda step, number, _: date_text.text(step.unit, number),
    Action.FIELD: _field,
    Action.CYCLE: _cycle,
    Action.NEXT: _next,
    Action.PREVIOUS: _previous,
}
