"""How far behind each dynamic table was as time went by: pure functions of a run.

Lag rises by a second each second. When a refresh is committed, it falls to the age of the data timestamp:
the sawtooth of [D] Figure 4.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

from dynamic_tables.catalog.entities import State
from dynamic_tables.catalog.graphs import nodes
from dynamic_tables.catalog.lags import lags_in_force
from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.events import Committed, Named
from sim.refreshes.graphs import in_order
from sim.refreshes.naming import named
from sim.refreshes.recording import Stated
from sim.refreshes.run import Run

# When, and how far behind.
Point: TypeAlias = tuple[int, int]
# From when on, and which lag is to be met; None: none is.
Target: TypeAlias = tuple[int, int | None]


class Spell(NamedTuple):
    """A time in which a table was farther behind than its target: with one data timestamp and one target."""

    from_us: int
    until_us: int
    data_us: int
    target_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawtooth:
    """The lag of one table.

    Attributes:
        refreshed: When it got contents, and as of when they are, in us. A clone gets those of its original.
        until_us: When it was dropped, or the run ended.
        targets: In the order of time.
    """

    table: TableId
    name: str
    refreshed: tuple[Point, ...]
    until_us: int
    targets: tuple[Target, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """The corners of its lag: after each refresh, and before the next."""
        return tuple(
            (at_us, at_us - data_us)
            for began_us, ended_us, data_us in self._held
            for at_us in (began_us, ended_us)
        )

    @property
    def peak_us(self) -> int:
        """The most that it was behind."""
        return max(lag_us for _, lag_us in self.points)

    @property
    def spells(self) -> Iterator[Spell]:
        """When it was farther behind than its target lag."""
        for (first_us, target_us), (last_us, _) in pairwise((*self.targets, (self.until_us, None))):
            if target_us is None:
                continue
            for began_us, ended_us, data_us in self._held:
                from_us, until_us = max(began_us, first_us, data_us + target_us), min(ended_us, last_us)
                if from_us < until_us:
                    yield Spell(from_us, until_us, data_us, target_us)

    @property
    def late_us(self) -> int:
        """How long it was farther behind than its target lag."""
        return sum(spell.until_us - spell.from_us for spell in self.spells)

    @property
    def _held(self) -> Iterator[tuple[int, int, int]]:
        """From when until when it had which data timestamp."""
        for (began_us, data_us), (ended_us, _) in pairwise((*self.refreshed, (self.until_us, 0))):
            yield began_us, ended_us, data_us

    @property
    def share_of_target(self) -> float:
        """The most that it was behind, by the least target that it ever had; 0 if it had none."""
        least = min((target_us for _, target_us in self.targets if target_us is not None), default=None)
        return 0 if least is None else self.peak_us / least


def sawtooths(run: Run, *, closer_us: int = 0) -> list[Sawtooth]:
    """Those of all tables that got contents: first those that were late for longest, then the nearest to it.

    Args:
        closer_us: Of statements nearer to each other than that, only what the last leaves counts for targets.
    """
    names = named(run)
    begun = {event.table: event.at_us for event in reversed(run.trace) if isinstance(event, Named)}
    targets = _targets(_thinned(run.record.states, closer_us))
    ends = _dropped(run.record.states)
    found = [
        Sawtooth(
            table=table,
            name=names[table],
            refreshed=refreshed,
            until_us=ends.get(table, run.ended_us),
            targets=tuple(targets[table]),
        )
        for table, refreshed in _refreshed(run, begun).items()
    ]
    return sorted(found, key=lambda one: (-one.late_us, -one.share_of_target))


def _refreshed(run: Run, begun: Mapping[TableId, int]) -> dict[TableId, tuple[Point, ...]]:
    found: dict[TableId, list[Point]] = {}
    for event in run.trace:
        if not isinstance(event, Committed):
            continue
        if event.table not in found:
            # What was behind before its first refresh has the contents of what it is a clone of.
            inherited = (begun[event.table], event.at_us - event.peak_us)
            found[event.table] = [inherited] if event.peak_us else []
        found[event.table].append((event.at_us, event.data_us))
    return {table: tuple(refreshed) for table, refreshed in found.items()}


def _thinned(states: Sequence[Stated], closer_us: int) -> list[Stated]:
    following = (stated.at_us for stated in states[1:])
    return [
        stated
        for stated, next_us in zip(states, (*following, None), strict=True)
        if next_us is None or next_us - stated.at_us >= closer_us
    ]


def _targets(states: Sequence[Stated]) -> Mapping[TableId, list[Target]]:
    """The lags in force, each from the statement on that set it."""
    found: dict[TableId, list[Target]] = defaultdict(list)
    for stated in states:
        for table, lag_us in in_force(stated.state).items():
            if not found[table] or found[table][-1][1] != lag_us:
                found[table].append((stated.at_us, lag_us))
    return found


def in_force(state: State) -> dict[TableId, int | None]:
    """The lag that each table has to meet; None of one that is suspended, or that nobody asks for."""
    graph = nodes(state)
    active = [table for table in in_order(state) if table in graph and graph[table].suspended is None]
    readers: dict[TableId, list[TableId]] = {table: [] for table in active}
    for table in active:
        for source in graph[table].upstream:
            if source in readers:
                readers[source].append(table)
    met = lags_in_force({table: graph[table].lag for table in active}, readers, active)
    return {table: met.get(table) for table in graph}


def _dropped(states: Sequence[Stated]) -> dict[TableId, int]:
    """When those that are not there in the end were seen last."""
    found: dict[TableId, int] = {}
    for before, after in pairwise(states):
        for table in before.state.entities:
            if table not in after.state.entities:
                found[table] = after.at_us
            else:
                found.pop(table, None)
    return found


def thinned(points: Sequence[Point], *, closer_us: int) -> list[Point]:
    """A line of which no more is left than can be seen: its ends, least and most, in each stretch of time."""
    if closer_us <= 0:
        return list(points)
    found: list[Point] = []
    for _, group in groupby(points, key=lambda point: point[0] // closer_us):
        held = list(group)
        kept = {0, len(held) - 1}
        lags = [lag_us for _, lag_us in held]
        kept |= {lags.index(min(lags)), lags.index(max(lags))}
        found += [held[place] for place in sorted(kept)]
    return found


def around(one: Sawtooth, *, teeth: int) -> Iterator[int]:
    """The places in `refreshed` of so many refreshes in a row, with the greatest lag in their middle."""
    peaks = [lag_us for _, lag_us in one.points[1::2]]
    worst = peaks.index(max(peaks))
    first = max(0, min(worst - teeth // 2, len(peaks) - teeth))
    yield from range(first, min(len(peaks), first + teeth))
