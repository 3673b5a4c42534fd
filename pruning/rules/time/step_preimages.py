"""Exact preimages of the steps of dates and times, piece by piece of a zone.

Every step is below a value on all sufficiently small numbers and on no sufficiently large one. The numbers
in between span two days; on each piece of constant offset among them the step never decreases, so one
threshold per piece describes them.
"""

from collections.abc import Callable, Mapping

from pruning.expressions.types import Value
from pruning.rules.sets.cuts import Cuts, complement, intersection, union
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar, date_text
from pruning.rules.time.steps import Action, Step, zone_of
from pruning.rules.time.zones import REACH_MICROS, Zone

_YEAR_MICROS = 366 * MICROS_PER_DAY
_MONTH_ENDS_MICROS = 6 * MICROS_PER_DAY  # more than a shorter month moves a day


def preimage(step: Step, values: Cuts) -> Cuts:
    """Return the integers, however large, that the step takes into a set.

    Claim     A number is in the result where, and only where, the step's value is in the set.
    Premises  `_below` gives the numbers on which the step is below a value.
    Proof     `first` says whether a value is in the set if it lies above an odd or an even number of
              its cuts. So membership changes with each cut that the step's value is not below; where
              two of them change at one place, nothing changes.
    """
    if step.action is Action.REFLECT:
        points = tuple((step.number - int(cut) + 1, False) for cut, _ in reversed(values.points))
        return Cuts(values.first is (len(points) % 2 == 0), points)
    first = values.first
    changes: set[Value] = set()
    for cut, after in values.points:
        assert not after, "integers and byte strings have cuts before them only"
        below = _below(step, cut)
        first = first is below.first
        changes ^= {place for place, _ in below.points}
    return Cuts(first, tuple((place, False) for place in sorted(changes)))


def _numbers_before(place: int) -> Cuts:
    """Return the integers below a place."""
    return Cuts(True, ((place, False),))


def _round_up(number: int, unit: int) -> int:
    """Return the multiple of a unit at or above a number."""
    return -(-number // unit) * unit


def _midnight_below(step: Step, value_: int) -> Cuts:
    """Return the days whose first instant is below a value."""
    return _numbers_before(_first_day(zone_of(step), value_))


def _first_day(zone: Zone, value_: int) -> int:
    """Return the first day whose first instant is not below a value."""
    return _least_reaching(lambda day: zone.midnight(day) >= value_, value_ // MICROS_PER_DAY)


def _least_reaching(reached: Callable[[int], bool], guess: int) -> int:
    """Return the least number at which an increasing condition holds, searched from near a guess."""
    width = 1
    while not reached(guess + width):
        width *= 2
    high = guess + width
    width = 1
    while reached(guess - width):
        width *= 2
    low = guess - width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _truncated_below(step: Step, value_: int) -> Cuts:
    """Return the instants whose truncation is below a value, piece by piece of one offset."""
    zone, reach = zone_of(step), REACH_MICROS + (_YEAR_MICROS if step.unit else step.number)
    others = _midnight_instants_below(zone, value_) if step.unit else zone.earliest.below(value_)
    preimage_cuts = Cuts(False)
    for start, end, shift in zone.local.pieces(value_ - reach, value_ + reach):
        starts = _own_instants_below(zone, shift, value_, reach, others)
        here = tuple((_unit_start_from(step, int(place)) - shift, False) for place, _ in starts.points)
        part = Cuts(starts.first, _without_pairs(here))
        preimage_cuts = union(preimage_cuts, _within(part, start, end))
    return preimage_cuts


def _later_below(step: Step, value_: int) -> Cuts:
    """Return the instants that are below a value some local days or months later, piece by piece."""
    zone = zone_of(step)
    if step.action is Action.DAYS_LATER:
        move, around = Step(Action.SHIFT, step.number * MICROS_PER_DAY), value_ - step.number * MICROS_PER_DAY
    else:
        move, around = Step(Action.LOCAL_MONTHS, step.number), _months_before(value_, step.number)
    reach, others = REACH_MICROS + _MONTH_ENDS_MICROS, zone.earliest.below(value_)
    preimage_cuts = Cuts(False)
    for start, end, shift in zone.local.pieces(around - reach, around + reach):
        later = _own_instants_below(zone, shift, value_, reach, others)
        part = preimage(Step(Action.SHIFT, shift), preimage(move, later))
        preimage_cuts = union(preimage_cuts, _within(part, start, end))
    return preimage_cuts


def _months_before(local: int, months: int) -> int:
    """Return a local time some months before another, up to some days."""
    return int(calendar.plus_months_of_time(local, -months))


def _within(part: Cuts, start: int | None, end: int | None) -> Cuts:
    """Return the part of a set between two places; None is no end."""
    if start is not None:
        part = intersection(part, complement(_numbers_before(start)))
    return part if end is None else intersection(part, _numbers_before(end))


def _without_pairs(points: tuple[tuple[Value, bool], ...]) -> tuple[tuple[Value, bool], ...]:
    """Return the cuts without those that come in pairs, which cancel."""
    changes: set[tuple[Value, bool]] = set()
    for point in points:
        changes ^= {point}
    return tuple(sorted(changes))


def _unit_start_from(step: Step, local: int) -> int:
    """Return the first local time, at or after one, at which a unit starts."""
    if not step.unit:
        return _round_up(local, step.number)
    days = -(-local // MICROS_PER_DAY)
    start = int(calendar.unit_start(days, step.unit))
    return MICROS_PER_DAY * (start if start == days else int(calendar.next_unit_start(days, step.unit)))


def _midnight_instants_below(zone: Zone, value_: int) -> Cuts:
    """Return the local times before the first midnight whose instant is not below a value."""
    days = _first_day(zone, value_)
    return _numbers_before((days - 1) * MICROS_PER_DAY + 1)


def _own_instants_below(zone: Zone, offset: int, value_: int, reach: int, others: Cuts) -> Cuts:
    """Return the local times whose instant, at a given offset if they have it, is below a value.

    Those that do not have the offset are taken from `others`.
    """
    own = Cuts(False)
    for start, end, shift in zone.local.pieces(value_ - 2 * reach, value_ + 2 * reach):
        if shift == offset:
            low = Cuts(True) if start is None else complement(_numbers_before(start + shift))
            high = Cuts(True) if end is None else _numbers_before(end + shift)
            own = union(own, intersection(low, high))
    kept = intersection(own, _numbers_before(value_ + offset))
    return union(kept, intersection(complement(own), others))


def _unit_start_below(step: Step, value_: int) -> Cuts:
    """Return the days whose week, month, quarter or year starts below a day."""
    start = int(calendar.unit_start(value_, step.unit))
    return _numbers_before(start if start == value_ else int(calendar.next_unit_start(value_, step.unit)))


def _plus_months_below(step: Step, value_: int) -> Cuts:
    """Return the days that are below a day some months later."""
    guess = int(calendar.plus_months(value_, -step.number))
    return _numbers_before(
        _least_reaching(lambda day: bool(calendar.plus_months(day, step.number) >= value_), guess)
    )


def _local_months_below(step: Step, value_: int) -> Cuts:
    """Return the local times that are below a value some months later.

    Each of the days that become the value's day has its early hours below it.
    """
    day, clock = divmod(value_, MICROS_PER_DAY)
    months = Step(Action.PLUS_MONTHS, step.number)
    first, following = (int(_plus_months_below(months, day + more).points[0][0]) for more in (0, 1))
    preimage_cuts = _numbers_before(first * MICROS_PER_DAY)
    for early in range(first, following) if clock else ():
        start = early * MICROS_PER_DAY
        preimage_cuts = union(preimage_cuts, Cuts(False, ((start, False), (start + clock, False))))
    return preimage_cuts


def _months_since_below(step: Step, value_: int) -> Cuts:
    """Return the local times up to which fewer months than a value have passed."""
    guess = _months_before(step.number, -value_)
    return _numbers_before(
        _least_reaching(lambda local: bool(calendar.months_between(step.number, local) >= value_), guess)
    )


def _quotient_below(step: Step, value_: int) -> Cuts:
    """Return the numbers whose quotient toward zero is below a value."""
    return _numbers_before(value_ * step.number if value_ > 0 else (value_ - 1) * step.number + 1)


def _below(step: Step, cut: Value) -> Cuts:
    """Return the numbers on which a step is below a value."""
    if step.action is Action.TEXT:
        assert isinstance(cut, bytes)
        return date_text.below(step.unit, cut)
    return _BELOW[step.action](step, int(cut))


_BELOW: Mapping[Action, Callable[[Step, int], Cuts]] = {
    Action.LOCAL: lambda step, value_: zone_of(step).local.below(value_),
    Action.INSTANT: lambda step, value_: zone_of(step).earliest.below(value_),
    Action.MIDNIGHT: _midnight_below,
    Action.TRUNCATE: _truncated_below,
    Action.UNIT_INSTANT: _truncated_below,
    Action.FLOOR: lambda step, value_: _numbers_before(_round_up(value_, step.number)),
    Action.INDEX: lambda step, value_: _numbers_before(value_ * step.number),
    Action.SHIFT: lambda step, value_: _numbers_before(value_ - step.number),
    Action.UNIT_START: _unit_start_below,
    Action.LAST_DAY: lambda _, value_: _numbers_before(int(calendar.month_start(calendar.month_of(value_)))),
    Action.PLUS_MONTHS: _plus_months_below,
    Action.LOCAL_MONTHS: _local_months_below,
    Action.DAYS_LATER: _later_below,
    Action.MONTHS_LATER: _later_below,
    Action.QUOTIENT: _quotient_below,
    Action.MONTHS_SINCE: _months_since_below,
    Action.TIMES: lambda step, value_: _numbers_before(-(-value_ // step.number)),
    Action.YEAR: lambda _, value_: _numbers_before(int(calendar.year_start(value_))),
}
