"""The lag of each dynamic table over time; pure functions of a run.

Lag grows by a second each second. When a refresh is committed, it drops to the age of the data timestamp:
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
from sim.refreshes.graphs import topological_order
from sim.refreshes.naming import display_names
from sim.refreshes.recording import CatalogState
from sim.refreshes.run import RefreshRun

# A time, and the lag then or the data timestamp.
Point: TypeAlias = tuple[int, int]
# The time from which a target lag is in force, and that lag; None: there is none.
Target: TypeAlias = tuple[int, int | None]


class LateSpell(NamedTuple):
    """A span in which a table was later than its target, with one data timestamp and one target."""

    from_us: int
    until_us: int
    data_us: int
    target_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawtooth:
    """The lag of one table over time.

    Attributes:
        refreshed: The time of each refresh and its data timestamp, in us. A clone begins with those of its
            original.
        until_us: The time at which it was dropped, or the run ended.
        targets: In the order of time.
    """

    table: TableId
    name: str
    refreshed: tuple[Point, ...]
    until_us: int
    targets: tuple[Target, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """The corners of the lag: after each refresh, and before the next."""
        return tuple(
            (at_us, at_us - data_us)
            for began_us, ended_us, data_us in self._periods
            for at_us in (began_us, ended_us)
        )

    @property
    def peak_us(self) -> int:
        """The greatest lag."""
        return max(lag_us for _, lag_us in self.points)

    @property
    def spells(self) -> Iterator[LateSpell]:
        """The spans in which the lag was greater than its target."""
        for (first_us, target_us), (last_us, _) in pairwise((*self.targets, (self.until_us, None))):
            if target_us is None:
                continue
            for began_us, ended_us, data_us in self._periods:
                from_us, until_us = max(began_us, first_us, data_us + target_us), min(ended_us, last_us)
                if from_us < until_us:
                    yield LateSpell(from_us, until_us, data_us, target_us)

    @property
    def late_us(self) -> int:
        """The total time in which the lag was greater than its target."""
        return sum(spell.until_us - spell.from_us for spell in self.spells)

    @property
    def _periods(self) -> Iterator[tuple[int, int, int]]:
        """The spans with one data timestamp: beginning, end, and that timestamp."""
        for (began_us, data_us), (ended_us, _) in pairwise((*self.refreshed, (self.until_us, 0))):
            yield began_us, ended_us, data_us

    @property
    def share_of_target(self) -> float:
        """The greatest lag divided by the least target; 0 if there was no target."""
        least = min((target_us for _, target_us in self.targets if target_us is not None), default=None)
        return 0 if least is None else self.peak_us / least


def sawtooths(run: RefreshRun, *, closer_us: int = 0) -> list[Sawtooth]:
    """Return the sawtooths of all tables that got contents, the latest first, then those nearest to their
    target.

    Args:
        closer_us: Of statements closer to each other than this, only the last one counts for targets.
    """
    names = display_names(run)
    begun = {event.table: event.at_us for event in reversed(run.trace) if isinstance(event, Named)}
    targets = _targets(_last_of_close(run.record.states, closer_us))
    ends = _drop_times(run.record.states)
    curves = [
        Sawtooth(
            table=table,
            name=names[table],
            refreshed=refreshed,
            until_us=ends.get(table, run.ended_us),
            targets=tuple(targets[table]),
        )
        for table, refreshed in _refresh_points(run, begun).items()
    ]
    return sorted(curves, key=lambda curve: (-curve.late_us, -curve.share_of_target))


def _refresh_points(run: RefreshRun, begun: Mapping[TableId, int]) -> dict[TableId, tuple[Point, ...]]:
    points: dict[TableId, list[Point]] = {}
    for event in run.trace:
        if not isinstance(event, Committed):
            continue
        if event.table not in points:
            # Contents that are older than the first refresh were inherited when the table was cloned.
            inherited = (begun[event.table], event.at_us - event.peak_us)
            points[event.table] = [inherited] if event.peak_us else []
        points[event.table].append((event.at_us, event.data_us))
    return {table: tuple(refreshed) for table, refreshed in points.items()}


def _last_of_close(states: Sequence[CatalogState], closer_us: int) -> list[CatalogState]:
    """Return the states except those that another follows within `closer_us`."""
    following = (stated.at_us for stated in states[1:])
    return [
        stated
        for stated, next_us in zip(states, (*following, None), strict=True)
        if next_us is None or next_us - stated.at_us >= closer_us
    ]


def _targets(states: Sequence[CatalogState]) -> Mapping[TableId, list[Target]]:
    """Return the lags in force, each from the statement that set it."""
    targets: dict[TableId, list[Target]] = defaultdict(list)
    for stated in states:
        for table, lag_us in lags_of_tables(stated.state).items():
            if not targets[table] or targets[table][-1][1] != lag_us:
                targets[table].append((stated.at_us, lag_us))
    return targets


def lags_of_tables(state: State) -> dict[TableId, int | None]:
    """Return the lag that each table has to meet; None if it is suspended, or nobody asks for one."""
    graph = nodes(state)
    active = [
        table for table in topological_order(state) if table in graph and graph[table].suspended is None
    ]
    readers: dict[TableId, list[TableId]] = {table: [] for table in active}
    for table in active:
        for source in graph[table].upstream:
            if source in readers:
                readers[source].append(table)
    met = lags_in_force({table: graph[table].lag for table in active}, readers, active)
    return {table: met.get(table) for table in graph}


def _drop_times(states: Sequence[CatalogState]) -> dict[TableId, int]:
    """Return the time at which each table that was dropped for good was dropped."""
    dropped_us: dict[TableId, int] = {}
    for before, after in pairwise(states):
        for table in before.state.entities:
            if table not in after.state.entities:
                dropped_us[table] = after.at_us
            else:
                dropped_us.pop(table, None)
    return dropped_us


def thin(points: Sequence[Point], *, closer_us: int) -> list[Point]:
    """Thin a line to what can be seen: the ends, the least and the greatest of each stretch of time."""
    if closer_us <= 0:
        return list(points)
    kept_points: list[Point] = []
    for _, group in groupby(points, key=lambda point: point[0] // closer_us):
        held = list(group)
        kept = {0, len(held) - 1}
        lags = [lag_us for _, lag_us in held]
        kept |= {lags.index(min(lags)), lags.index(max(lags))}
        kept_points += [held[place] for place in sorted(kept)]
    return kept_points


def worst_refreshes(curve: Sawtooth, *, teeth: int) -> Iterator[int]:
    """Yield the places of `teeth` refreshes in a row, with the greatest lag in their middle."""
    peaks = [lag_us for _, lag_us in curve.points[1::2]]
    worst = peaks.index(max(peaks))
    first = max(0, min(worst - teeth // 2, len(peaks) - teeth))
    yield from range(first, min(len(peaks), first + teeth))
