"""The steps of dates and times on many lanes at once, each the answer of `rules.time.steps`."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa

from pruning.expressions.types import Type
from pruning.rules.interpreters.arrow.kernels import Lanes
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar, cycles, steps
from pruning.rules.time.cycles import CYCLES, CYCLES_MAX, OF_TIME
from pruning.rules.time.steps import MICROS_MAX, PIECES_MAX, Action, Envelope, Step, zone_of
from pruning.rules.time.zones import PERIOD_MICROS, PiecewiseShift

_END = 2**63 - 1  # of a piece that has none
_ONE_BY_ONE = frozenset({Action.TEXT, Action.TRUNCATE, Action.UNIT_INSTANT})


def apply(step: Step, bend: Envelope, bound: pa.Array, target: Type, lane_type: pa.DataType) -> Lanes:
    """What a step makes of each lane; null where nothing is said, or where it does not fit."""
    valid = bound.is_valid().to_numpy(zero_copy_only=False)
    numbers = bound.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    limit = steps.DAYS_MAX if step.action is Action.MIDNIGHT else MICROS_MAX
    valid &= (numbers <= limit) & (numbers >= -limit)
    if step.action in _ONE_BY_ONE:
        return _one_by_one(step, bend, numbers, valid, lane_type)
    found = _LANES[step.action](step, np.where(valid, numbers, 0), bend)
    assert target.integer_range is not None
    least, greatest = target.integer_range
    valid &= (found >= least) & (found <= greatest)
    return pa.array(np.where(valid, found, 0), pa.int64(), mask=~valid).cast(lane_type)


def _one_by_one(
    step: Step, bend: Envelope, numbers: np.ndarray, valid: np.ndarray, lane_type: pa.DataType
) -> pa.Array:
    distinct, place = np.unique(numbers[valid], return_inverse=True)
    answers = pa.array([steps.value(step, int(number), bend) for number in distinct], lane_type)
    places = np.zeros(len(numbers), np.int64)
    places[valid] = place.ravel()
    return answers.take(pa.array(places, mask=~valid)) if len(distinct) else pa.nulls(len(valid), lane_type)


class _Table:
    """The pieces of `PiecewiseShift` as arrays; those without a neighbour have one out of reach."""

    __slots__ = ("greatest_earlier", "least_later", "repeats_from", "shifts", "starts")

    def __init__(self, shifts: PiecewiseShift) -> None:
        self.starts = np.array(shifts.starts, np.int64)
        self.shifts = np.array(shifts.shifts, np.int64)
        self.least_later = np.array([*shifts.least_later, _END], np.int64)
        self.greatest_earlier = np.array([-_END, *shifts.greatest_earlier], np.int64)
        self.repeats_from = shifts.repeats_from

    def moved(self, numbers: np.ndarray) -> np.ndarray:
        """How much earlier each number has its like in the table."""
        if self.repeats_from is None:
            return np.zeros_like(numbers)
        moved: np.ndarray = np.maximum((numbers - self.repeats_from) // PERIOD_MICROS, 0) * PERIOD_MICROS
        return moved

    def piece(self, numbers: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Which piece each number is in."""
        pieces: np.ndarray = np.searchsorted(self.starts, numbers - moved, side="right")
        return pieces

    def end(self, piece: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Where the piece ends."""
        ends: np.ndarray = np.append(self.starts, _END)[piece] + moved
        return ends

    def start(self, piece: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Where the piece begins."""
        starts: np.ndarray = np.insert(self.starts, 0, -_END)[piece] + moved
        return starts


@lru_cache(maxsize=256)
def _table(shifts: PiecewiseShift) -> _Table:
    return _Table(shifts)


def _shifted(shifts: PiecewiseShift, numbers: np.ndarray, bend: Envelope) -> np.ndarray:
    table = _table(shifts)
    moved = table.moved(numbers)
    piece = table.piece(numbers, moved)
    own: np.ndarray = numbers + table.shifts[piece]
    if bend is Envelope.HERE:
        return own
    home = own - moved
    beside = table.least_later if bend is Envelope.LOW else table.greatest_earlier
    outermost = np.minimum if bend is Envelope.LOW else np.maximum
    enclosed: np.ndarray = outermost(home, beside[piece]) + moved
    return enclosed


def _instant(step: Step, numbers: np.ndarray, bend: Envelope) -> np.ndarray:
    known = zone_of(step)
    return _shifted(known.latest if bend is Envelope.HIGH else known.earliest, numbers, bend)


def _midnight(step: Step, days: np.ndarray, _: Envelope) -> np.ndarray:
    known = zone_of(step)
    midnights = days * MICROS_PER_DAY
    instants = _shifted(known.earliest, midnights, Envelope.HERE)
    seen = _shifted(known.local, instants, Envelope.HERE)
    table = _table(known.local)
    moved = table.moved(instants)
    before = table.start(table.piece(instants, moved), moved)
    return np.where(seen == midnights, instants, before)


def _cycle(step: Step, numbers: np.ndarray, _: Envelope) -> np.ndarray:
    cycle = CYCLES[step.field]
    first: np.ndarray = cycle.first(cycle.step(numbers))
    return first


def _next(step: Step, numbers: np.ndarray, _: Envelope) -> np.ndarray:
    return _sought(step, numbers, _next_here) if step.field in OF_TIME else _next_here(step, numbers)


def _previous(step: Step, numbers: np.ndarray, _: Envelope) -> np.ndarray:
    if step.field not in OF_TIME:
        return _previous_here(step, numbers)
    return _sought(step, numbers, _previous_here)


def _sought(step: Step, numbers: np.ndarray, find: Callable[[Step, np.ndarray], np.ndarray]) -> np.ndarray:
    """The next (the previous) one by local time, piece by piece of constant offset."""
    table, forward = _table(zone_of(step).local), step.action is Action.NEXT
    at, done = numbers, np.zeros(len(numbers), np.bool_)
    for _ in range(PIECES_MAX):
        moved = table.moved(at)
        piece = table.piece(at, moved)
        shift = table.shifts[piece]
        found = find(step, at + shift) - shift
        edge = table.end(piece, moved) if forward else table.start(piece, moved)
        inside = found < edge if forward else found >= edge
        at = np.where(done, at, np.where(inside, found, edge if forward else edge - 1))
        done = done | inside
        if done.all():
            break
    return at


def _next_here(step: Step, numbers: np.ndarray) -> np.ndarray:
    cycle = CYCLES[step.field]
    places = np.array(cycles.places_from(step.field, step.wanted), np.int64)
    number, done = cycle.step(numbers), np.zeros(len(numbers), np.bool_)
    for _ in range(CYCLES_MAX):
        first, following = cycle.first(number), cycle.following(number)
        found = first + places[np.where(done, 0, number - first)]
        inside = found < following
        number = np.where(done, number, np.where(inside, found, following))
        done = done | inside
        if done.all():
            break
    found_at: np.ndarray = np.maximum(numbers, cycle.start(number))
    return found_at


def _previous_here(step: Step, numbers: np.ndarray) -> np.ndarray:
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
    Action.LOCAL: lambda step, numbers, bend: _shifted(zone_of(step).local, numbers, bend),
    Action.INSTANT: _instant,
    Action.MIDNIGHT: _midnight,
    Action.FLOOR: lambda step, numbers, _: numbers // step.number * step.number,
    Action.INDEX: lambda step, numbers, _: numbers // step.number,
    Action.SHIFT: lambda step, numbers, _: numbers + step.number,
    Action.REFLECT: lambda step, numbers, _: step.number - numbers,
    Action.UNIT_START: lambda step, numbers, _: calendar.unit_start(numbers, step.unit),
    Action.LAST_DAY: lambda _step, numbers, _: calendar.last_day(numbers),
    Action.PLUS_MONTHS: lambda step, numbers, _: calendar.plus_months(numbers, step.number),
    Action.YEAR: lambda _step, numbers, _: calendar.year_of(numbers),
    Action.FIELD: lambda step, numbers, _: CYCLES[step.field].field(numbers),
    Action.CYCLE: _cycle,
    Action.NEXT: _next,
    Action.PREVIOUS: _previous,
}
