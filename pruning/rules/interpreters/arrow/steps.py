"""The steps of dates and times on many lanes at once, with the same results as `rules.time.steps`."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa

from pruning.expressions.types import Type
from pruning.rules.interpreters.arrow.kernels import Lanes
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar, cycles, steps
from pruning.rules.time.cycles import CYCLES, CYCLES_MAX, OF_TIME
from pruning.rules.time.steps import PIECES_MAX, Action, Envelope, Step, zone_of
from pruning.rules.time.zones import PERIOD_MICROS, PiecewiseShift

_END = 2**63 - 1  # the end of a piece that has none
_ONE_BY_ONE = frozenset(
    {Action.TEXT, Action.TRUNCATE, Action.UNIT_INSTANT, Action.DAYS_LATER, Action.MONTHS_LATER}
)


def apply(step: Step, bend: Envelope, bound: pa.Array, target: Type, lane_type: pa.DataType) -> Lanes:
    """Apply a step to each lane; null where it has no value, or one that does not fit."""
    valid = bound.is_valid().to_numpy(zero_copy_only=False)
    numbers = bound.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    limit = steps.greatest_operand(step)
    valid &= (numbers <= limit) & (numbers >= -limit)
    if step.action in _ONE_BY_ONE:
        return _one_by_one(step, bend, numbers, valid, lane_type)
    results = _LANES[step.action](step, np.where(valid, numbers, 0), bend)
    assert target.integer_range is not None
    least, greatest = target.integer_range
    valid &= (results >= least) & (results <= greatest)
    return pa.array(np.where(valid, results, 0), pa.int64(), mask=~valid).cast(lane_type)


def _one_by_one(
    step: Step, bend: Envelope, numbers: np.ndarray, valid: np.ndarray, lane_type: pa.DataType
) -> pa.Array:
    """Apply a step by its exact function, once per distinct number."""
    distinct, place = np.unique(numbers[valid], return_inverse=True)
    answers = pa.array([steps.value(step, int(number), bend) for number in distinct], lane_type)
    places = np.zeros(len(numbers), np.int64)
    places[valid] = place.ravel()
    return answers.take(pa.array(places, mask=~valid)) if len(distinct) else pa.nulls(len(valid), lane_type)


class _ShiftTable:
    """The pieces of a `PiecewiseShift` as arrays; missing neighbours are out of reach."""

    __slots__ = ("greatest_earlier", "least_later", "repeats_from", "shifts", "starts")

    def __init__(self, shifts: PiecewiseShift) -> None:
        self.starts = np.array(shifts.starts, np.int64)
        self.shifts = np.array(shifts.shifts, np.int64)
        self.least_later = np.array([*shifts.least_later, _END], np.int64)
        self.greatest_earlier = np.array([-_END, *shifts.greatest_earlier], np.int64)
        self.repeats_from = shifts.repeats_from

    def period_offsets(self, numbers: np.ndarray) -> np.ndarray:
        """Return the multiple of the period by which each number lies beyond the table."""
        if self.repeats_from is None:
            return np.zeros_like(numbers)
        offsets: np.ndarray = np.maximum((numbers - self.repeats_from) // PERIOD_MICROS, 0) * PERIOD_MICROS
        return offsets

    def piece_indexes(self, numbers: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the piece that each number is in."""
        pieces: np.ndarray = np.searchsorted(self.starts, numbers - offsets, side="right")
        return pieces

    def piece_ends(self, piece: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the end of each piece."""
        ends: np.ndarray = np.append(self.starts, _END)[piece] + offsets
        return ends

    def piece_starts(self, piece: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the start of each piece."""
        starts: np.ndarray = np.insert(self.starts, 0, -_END)[piece] + offsets
        return starts


@lru_cache(maxsize=256)
def _shift_table(shifts: PiecewiseShift) -> _ShiftTable:
    """Return the table of a function, cached."""
    return _ShiftTable(shifts)


def _shift(shifts: PiecewiseShift, numbers: np.ndarray, bend: Envelope) -> np.ndarray:
    """Return the values of a piecewise shift, or of its envelope."""
    table = _shift_table(shifts)
    offsets = table.period_offsets(numbers)
    piece = table.piece_indexes(numbers, offsets)
    own: np.ndarray = numbers + table.shifts[piece]
    if bend is Envelope.HERE:
        return own
    home = own - offsets
    beside = table.least_later if bend is Envelope.LOW else table.greatest_earlier
    outermost = np.minimum if bend is Envelope.LOW else np.maximum
    enclosed: np.ndarray = outermost(home, beside[piece]) + offsets
    return enclosed


def _instant(step: Step, numbers: np.ndarray, bend: Envelope) -> np.ndarray:
    """Return the instants of local times."""
    zone = zone_of(step)
    return _shift(zone.latest if bend is Envelope.HIGH else zone.earliest, numbers, bend)


def _midnight(step: Step, days: np.ndarray, _: Envelope) -> np.ndarray:
    """Return the first instants of days."""
    zone = zone_of(step)
    midnights = days * MICROS_PER_DAY
    instants = _shift(zone.earliest, midnights, Envelope.HERE)
    local_again = _shift(zone.local, instants, Envelope.HERE)
    table = _shift_table(zone.local)
    offsets = table.period_offsets(instants)
    before = table.piece_starts(table.piece_indexes(instants, offsets), offsets)
    return np.where(local_again == midnights, instants, before)


def _cycle(step: Step, numbers: np.ndarray, _: Envelope) -> np.ndarray:
    """Return the first steps of the cycles that numbers are in."""
    cycle = CYCLES[step.field]
    first: np.ndarray = cycle.first(cycle.step(numbers))
    return first


def _next(step: Step, numbers: np.ndarray, _: Envelope) -> np.ndarray:
    """Return the next numbers whose field is wanted."""
    return _search_pieces(step, numbers, _next_here) if step.field in OF_TIME else _next_here(step, numbers)


def _previous(step: Step, numbers: np.ndarray, _: Envelope) -> np.ndarray:
    """Return the last numbers whose field is wanted."""
    if step.field not in OF_TIME:
        return _previous_here(step, numbers)
    return _search_pieces(step, numbers, _previous_here)


def _search_pieces(
    step: Step, numbers: np.ndarray, find: Callable[[Step, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Search the next (the last) wanted number by local time, piece by piece of constant offset."""
    table, forward = _shift_table(zone_of(step).local), step.action is Action.NEXT
    at, done = numbers, np.zeros(len(numbers), np.bool_)
    for _ in range(PIECES_MAX):
        offsets = table.period_offsets(at)
        piece = table.piece_indexes(at, offsets)
        shift = table.shifts[piece]
        candidates = find(step, at + shift) - shift
        edge = table.piece_ends(piece, offsets) if forward else table.piece_starts(piece, offsets)
        inside = candidates < edge if forward else candidates >= edge
        at = np.where(done, at, np.where(inside, candidates, edge if forward else edge - 1))
        done = done | inside
        if done.all():
            break
    return at


def _next_here(step: Step, numbers: np.ndarray) -> np.ndarray:
    """Return the next numbers whose field is wanted, without a zone."""
    cycle = CYCLES[step.field]
    places = np.array(cycles.places_from(step.field, step.wanted), np.int64)
    number, done = cycle.step(numbers), np.zeros(len(numbers), np.bool_)
    for _ in range(CYCLES_MAX):
        first, following = cycle.first(number), cycle.following(number)
        candidates = first + places[np.where(done, 0, number - first)]
        inside = candidates < following
        number = np.where(done, number, np.where(inside, candidates, following))
        done = done | inside
        if done.all():
            break
    found_at: np.ndarray = np.maximum(numbers, cycle.start(number))
    return found_at


def _previous_here(step: Step, numbers: np.ndarray) -> np.ndarray:
    """Return the last numbers whose field is wanted, without a zone."""
    cycle = CYCLES[step.field]
    places = np.array(cycles.places_to(step.field, step.wanted), np.int64)
    number, done = cycle.step(numbers), np.zeros(len(numbers), np.bool_)
    for _ in range(CYCLES_MAX):
        first = cycle.first(number)
        place = places[np.where(done, 0, number - first)]
        inside = place >= 0
        number = np.where(done, number, np.where(inside, first + place, first - 1))
        done = done | inside
        if done.all():
            break
    found_at: np.ndarray = np.minimum(numbers, cycle.start(number + 1) - 1)
    return found_at


_LANES: Mapping[Action, Callable[[Step, np.ndarray, Envelope], np.ndarray]] = {
    Action.LOCAL: lambda step, numbers, bend: _shift(zone_of(step).local, numbers, bend),
    Action.INSTANT: _instant,
    Action.MIDNIGHT: _midnight,
    Action.FLOOR: lambda step, numbers, _: numbers // step.number * step.number,
    Action.INDEX: lambda step, numbers, _: numbers // step.number,
    Action.SHIFT: lambda step, numbers, _: numbers + step.number,
    Action.REFLECT: lambda step, numbers, _: step.number - numbers,
    Action.UNIT_START: lambda step, numbers, _: calendar.unit_start(numbers, step.unit),
    Action.LAST_DAY: lambda _step, numbers, _: calendar.last_day(numbers),
    Action.PLUS_MONTHS: lambda step, numbers, _: calendar.plus_months(numbers, step.number),
    Action.LOCAL_MONTHS: lambda step, numbers, bend: steps.LOCAL_MONTHS[bend](numbers, step.number),
    Action.QUOTIENT: lambda step, numbers, _: calendar.toward_zero(numbers, step.number),
    Action.MONTHS_SINCE: lambda step, numbers, _: calendar.months_between(step.number, numbers),
    Action.EVEN_DAY: lambda _step, numbers, _: calendar.even_day_of(numbers),
    Action.TIMES: lambda step, numbers, _: numbers * step.number,
    Action.YEAR: lambda _step, numbers, _: calendar.year_of(numbers),
    Action.FIELD: lambda step, numbers, _: CYCLES[step.field].field(numbers),
    Action.CYCLE: _cycle,
    Action.NEXT: _next,
    Action.PREVIOUS: _previous,
}
