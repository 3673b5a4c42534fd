"""The functions from instants to local times of a zone and back, each a shift on every piece of time.

Axiom ZONES: between two transitions a zone's local time is the instant plus a fixed offset, Java's
transitions are those of the `tzdata` package, and its yearly rules go on for ever. The caller that passes
the name of a session's zone has compared the two.

Where clocks go back, local time decreases: it is not monotone, and a date may occur twice. Its envelopes
are monotone: the least local time at or after an instant, and the greatest one at or before it.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from pruning.rules.sets.cuts import Cuts, union
from pruning.rules.sets.primitives import MICROS_PER_DAY, ZONE_OFFSET_MICROS_MAX
from pruning.rules.time import calendar
from pruning.rules.time.zone_rules import ZoneData, read_zone

# The calendar repeats after 400 years, which are whole weeks: so do yearly rules.
PERIOD_YEARS = 400
PERIOD_MICROS = 146_097 * MICROS_PER_DAY
REACH_MICROS = 2 * MICROS_PER_DAY  # more than any offset moves a time
_MICROS = 1_000_000
_FIXED = re.compile(r"(?:UTC|GMT|UT)?(?:([+-])(\d{1,2})(?::?(\d\d)(?::?(\d\d))?)?)?")
_UTC_NAMES = frozenset({"Z", "UTC", "GMT", "UT", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/Zulu"})


@dataclass(frozen=True, slots=True)
class PiecewiseShift:
    """A function that adds a constant on each of some pieces of the integers.

    Attributes:
        starts: The start of each piece but the first, which has none; ascending.
        shifts: The constant that is added on each piece.
        repeats_from: From here on the function repeats with period `PERIOD_MICROS`; None if it does not.
        least_later: The least value at or after the start of each piece but the first.
        greatest_earlier: The greatest value before the start of each piece.
    """

    starts: tuple[int, ...]
    shifts: tuple[int, ...]
    repeats_from: int | None
    least_later: tuple[int, ...]
    greatest_earlier: tuple[int, ...]

    def periods(self, value: int) -> int:
        """Return the number of periods to go back from a number to reach the table."""
        if self.repeats_from is None:
            return 0
        return max(0, (value - self.repeats_from) // PERIOD_MICROS)

    def at(self, value: int) -> int:
        """Return the value of the function at a number."""
        home = value - self.periods(value) * PERIOD_MICROS
        return value + self.shifts[bisect_right(self.starts, home)]

    def least_from(self, value: int) -> int:
        """Return the least value of the function at or after a number."""
        moved = self.periods(value) * PERIOD_MICROS
        piece = bisect_right(self.starts, value - moved)
        own = value + self.shifts[piece]
        return min(own, self.least_later[piece] + moved) if piece < len(self.starts) else own

    def greatest_to(self, value: int) -> int:
        """Return the greatest value of the function at or before a number."""
        moved = self.periods(value) * PERIOD_MICROS
        piece = bisect_right(self.starts, value - moved)
        own = value + self.shifts[piece]
        return max(own, self.greatest_earlier[piece - 1] + moved) if piece else own

    def pieces(self, first: int, last: int) -> list[tuple[int | None, int | None, int]]:
        """Return start, end and shift of the pieces that meet [first, last]; None for the outer ends."""
        moved = self.periods(first) * PERIOD_MICROS
        low = bisect_right(self.starts, first - moved)
        high = bisect_right(self.starts, last - moved)
        edges = [None, *(start + moved for start in self.starts[low:high]), None]
        return [(start, end, self.shifts[low + place]) for place, (start, end) in enumerate(pairwise(edges))]

    def below(self, value: int) -> Cuts:
        """Return the numbers on which the function is below a value."""
        parts = []
        for start, end, shift in self.pieces(value - REACH_MICROS, value + REACH_MICROS):
            stop = value - shift if end is None else min(end, value - shift)
            if start is None:
                parts.append(Cuts(True, ((stop, False),)))
            elif start < stop:
                parts.append(Cuts(False, ((start, False), (stop, False))))
        below = parts[0]
        for part in parts[1:]:
            below = union(below, part)
        return below


@dataclass(frozen=True, slots=True)
class Zone:
    """The functions between instants and local times of a zone, both in microseconds.

    Attributes:
        local: The local time of an instant.
        earliest: The instant of a local time: of two the earlier one; a local time that the clocks skip
            is first moved on by the length of the gap, as java.time does it.
        latest: The same, but of two the later one.
    """

    local: PiecewiseShift
    earliest: PiecewiseShift
    latest: PiecewiseShift

    def instant_at_offset(self, local: int, offset: int) -> int:
        """Return the instant of a local time, at the given offset if it is one of its own."""
        kept = local - offset
        return kept if self.local.at(kept) == local else self.earliest.at(local)

    def midnight(self, days: int) -> int:
        """Return the first instant of a date: where midnight is skipped, the end of the gap."""
        local = days * MICROS_PER_DAY
        instant = self.earliest.at(local)
        local_again = self.local.at(instant)
        # If midnight lies in a gap, `instant` is after the transition that ends the gap.
        return instant if local_again == local else self._transition_before(instant)

    def _transition_before(self, instant: int) -> int:
        """Return the last transition at or before an instant."""
        starts = self.local.starts
        moved = self.local.periods(instant) * PERIOD_MICROS
        return starts[bisect_right(starts, instant - moved) - 1] + moved


@lru_cache(maxsize=256)
def zone(name: str) -> Zone | None:
    """Return the zone that Java knows by this name; None if it is not known, or may mean another one."""
    if name in _UTC_NAMES:
        return _zone_from_transitions(0, [], None)
    fixed = _FIXED.fullmatch(name)
    if fixed is not None and name:
        sign, *parts = fixed.groups()
        hours, minutes, seconds = (int(part or 0) for part in parts)
        offset = (hours * 3_600 + minutes * 60 + seconds) * _MICROS * (-1 if sign == "-" else 1)
        legal = minutes < 60 and seconds < 60 and abs(offset) <= ZONE_OFFSET_MICROS_MAX
        return _zone_from_transitions(offset, [], None) if legal else None
    data = read_zone(name)
    return None if data is None else _zone_from_data(data)


def _zone_from_data(data: ZoneData) -> Zone | None:
    """Return the zone of the database's entry."""
    listed = [(instant * _MICROS, offset * _MICROS) for instant, offset in data.transitions]
    repeats_from = None
    if data.yearly is not None:
        last = listed[-1][0] if listed else 0
        year = int(calendar.year_of(last // MICROS_PER_DAY))
        for later in range(year, year + PERIOD_YEARS + 10):
            for instant, offset in data.yearly.transitions(later):
                if not listed or instant * _MICROS > last:
                    listed.append((instant * _MICROS, offset * _MICROS))
        # The year before this follows the rule alone, as do all years after the listed period.
        repeats_from = int(calendar.year_start(year + 2)) * MICROS_PER_DAY
    return _zone_from_transitions(data.first * _MICROS, listed, repeats_from)


def _zone_from_transitions(
    first: int, transitions: list[tuple[int, int]], repeats_from: int | None
) -> Zone | None:
    """Return the zone with these transitions; None if two lie too close for local times in order."""
    changes: list[tuple[int, int, int]] = []
    offset = first
    for instant, after in transitions:
        if after != offset:
            changes.append((instant, offset, after))
        offset = after
    instants = [instant for instant, _, _ in changes]
    firsts = [instant + max(before, after) for instant, before, after in changes]
    lasts = [instant + after for instant, _, after in changes]
    offsets = [first, *(after for _, _, after in changes)]
    if any(abs(offset) > ZONE_OFFSET_MICROS_MAX for offset in offsets) or not all(
        low < high for places in (instants, firsts, lasts) for low, high in pairwise(places)
    ):
        return None
    backward = [-offset for offset in offsets]
    return Zone(
        local=_piecewise_shift(instants, offsets, repeats_from),
        earliest=_piecewise_shift(firsts, backward, repeats_from),
        latest=_piecewise_shift(lasts, backward, repeats_from),
    )


def _piecewise_shift(starts: list[int], shifts: list[int], repeats_from: int | None) -> PiecewiseShift:
    """Return the function that adds each shift from its start on, with its envelopes."""
    begun = [start + shift for start, shift in zip(starts, shifts[1:], strict=True)]
    ended = [start - 1 + shift for start, shift in zip(starts, shifts, strict=False)]
    return PiecewiseShift(
        starts=tuple(starts),
        shifts=tuple(shifts),
        repeats_from=repeats_from,
        least_later=tuple(reversed(list(accumulate(reversed(begun), min)))),
        greatest_earlier=tuple(accumulate(ended, max)),
    )
