"""The scheduler's records of dynamic tables, and the periods of connected tables."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from dynamic_tables.catalog.graphs import Node
from dynamic_tables.catalog.lags import PERIODS_US, Downstream, lags_in_force, own_period, periods
from dynamic_tables.scheduling.events import Trigger
from dynamic_tables.storage.frontiers import TableId

# The number of past data timestamps remembered per table, for tables that are created on it.
TIMESTAMPS_KEPT = 128
# The expected cost falls by one part in this many after a refresh that cost less.
COST_DECAY = 8
# The data timestamp of a table that was never refreshed.
NEVER_US = -1
WAITING = -1


class Job:
    """One data timestamp that a table is to get: the job waits for upstream tables, or runs.

    Attributes:
        waits: The number of sources of the table that have yet to get the timestamp.
        planned_us: The time of planning, which may be long after the timestamp.
        started_us: The start of the present attempt; WAITING before.
        attempt: The number of the attempt, from 0.
        resting: True if an attempt failed and the next one is planned.
    """

    __slots__ = (
        "attempt", "data_us", "flagged", "heartbeat_us", "planned_us", "resting", "started_us", "trigger",
        "waits",
    )  # fmt: skip

    def __init__(self, data_us: int, trigger: Trigger, waits: int, planned_us: int) -> None:
        self.data_us = data_us
        self.planned_us = planned_us
        self.trigger = trigger
        self.waits = waits
        self.started_us = WAITING
        self.heartbeat_us = WAITING
        self.attempt = 0
        self.flagged = False
        self.resting = False


class TrackedTable:
    """The record of one dynamic table.

    Attributes:
        upstream, downstream: The tables that it directly reads and that directly read it, without dropped
            ones.
        data_us: Its data timestamp; NEVER_US before the first.
        recent: Its last data timestamps.
        jobs: The timestamps that it is to get, in order; the first may be running.
        errors: The consecutive errors of scheduled refreshes (R-DVS-34).
        suspended: The reason why it is not scheduled; None if it is scheduled.
        lag_us: The lag in force; None: it is never scheduled.
        own: The index of the period that it would choose by itself.
        period: The index of its period; None: it is not scheduled.
        cost_us: The expected time that a refresh waits and runs, together.
        group: The number of its group of connected tables.
    """

    __slots__ = (
        "cost_us", "data_us", "downstream", "dropped", "errors", "group", "jobs", "lag_us", "node",
        "own", "period", "readable_from_us", "recent", "suspended", "table", "upstream",
    )  # fmt: skip

    def __init__(self, node: Node) -> None:
        self.table: TableId = node.table
        self.node = node
        self.upstream: list[TrackedTable] = []
        self.downstream: list[TrackedTable] = []
        self.data_us = NEVER_US
        self.recent: deque[int] = deque(maxlen=TIMESTAMPS_KEPT)
        self.jobs: list[Job] = []
        self.errors = 0
        self.suspended: str | None = None
        self.dropped = False
        self.readable_from_us = 0
        self.lag_us: int | None = None
        self.own: int | None = None
        self.period: int | None = None
        self.cost_us = 0
        self.group = 0

    @property
    def period_us(self) -> int | None:
        """The period; None: the table is not scheduled."""
        return None if self.period is None else PERIODS_US[self.period]

    @property
    def newest_us(self) -> int:
        """The newest data timestamp that the table has or is to get."""
        return self.jobs[-1].data_us if self.jobs else self.data_us

    @property
    def running(self) -> Job | None:
        """The job that is running or waits for its next attempt."""
        return self.jobs[0] if self.jobs and self.jobs[0].started_us != WAITING else None

    def is_to_get(self, data_us: int) -> bool:
        """Tell whether a timestamp is among the table's jobs."""
        for job in self.jobs:  # noqa: SIM110 - a hot path: `any` takes three times as long
            if job.data_us == data_us:
                return True
        return False

    def has(self, data_us: int) -> bool:
        """Tell whether the table has or had a timestamp, as far as remembered."""
        return self.data_us == data_us or data_us in self.recent

    def timestamps(self) -> list[int]:
        """Return the data timestamps that the table has or is to get."""
        return [*self.recent, *(job.data_us for job in self.jobs)]

    def record_refresh(self, data_us: int) -> None:
        """Record that the table got a timestamp."""
        self.data_us = data_us
        self.recent.append(data_us)

    def learn_cost(self, cost_us: int) -> bool:
        """Update the expected cost: up at once, down slowly. True if this changes the chosen period."""
        self.cost_us = max(cost_us, self.cost_us - self.cost_us // COST_DECAY)
        return self.lag_us is not None and own_period(self.lag_us, self.cost_us) != self.own


class Status(NamedTuple):
    """The scheduler's record of a table, as others may read it.

    Attributes:
        data_us: None before the first refresh.
        target_us: The timestamp that the table will get next; None if none is planned.
        trigger: The reason for that refresh.
        started_us: The start of the present attempt; None while it waits.
        heartbeat_us: The time of the last heartbeat.
        period_us: None: the table is not scheduled.
        cost_us: The expected time that a refresh waits and runs, together.
    """

    data_us: int | None
    target_us: int | None
    trigger: Trigger | None
    started_us: int | None
    heartbeat_us: int | None
    attempt: int
    errors: int
    suspended: str | None
    lag_us: int | None
    period_us: int | None
    cost_us: int


def status_of(tracked: TrackedTable) -> Status:
    """Return the present status of a table."""
    job = tracked.jobs[0] if tracked.jobs else None
    started = job is not None and job.started_us != WAITING and not job.resting
    return Status(
        data_us=None if tracked.data_us == NEVER_US else tracked.data_us,
        target_us=job.data_us if job else None,
        trigger=job.trigger if job else None,
        started_us=job.started_us if job and started else None,
        heartbeat_us=job.heartbeat_us if job and started else None,
        attempt=job.attempt if job else 0,
        errors=tracked.errors,
        suspended=tracked.suspended,
        lag_us=tracked.lag_us,
        period_us=tracked.period_us,
        cost_us=tracked.cost_us,
    )


def reachable(
    starts: Iterable[TrackedTable], step: Callable[[TrackedTable], Iterable[TrackedTable]]
) -> list[TrackedTable]:
    """Return all tables that can be reached from the starts, which come first."""
    reached = dict.fromkeys(starts)
    open_tables = list(reached)
    while open_tables:
        for table in step(open_tables.pop()):
            if table not in reached:
                reached[table] = None
                open_tables.append(table)
    return list(reached)


def upstream_first(tables: Iterable[TrackedTable]) -> list[TrackedTable]:
    """Sort tables, upstream before downstream; only sources among them count."""
    above = dict.fromkeys(tables, 0)
    for table in above:
        above[table] = sum(source in above for source in table.upstream)
    ready = deque(table for table, count in above.items() if count == 0)
    order = []
    while ready:
        table = ready.popleft()
        order.append(table)
        for reader in table.downstream:
            if reader in above:
                above[reader] -= 1
                if above[reader] == 0:
                    ready.append(reader)
    assert len(order) == len(above), "the catalog refuses cycles"
    return order


def with_upstream(table: TrackedTable) -> list[TrackedTable]:
    """Return a table and all tables that it is computed from, upstream first."""
    return upstream_first(reachable([table], lambda other: other.upstream))


def is_scheduled(table: TrackedTable) -> bool:
    """Tell whether ticks refresh a table: it is neither suspended nor dropped."""
    return table.suspended is None and not table.dropped


# Returns the index of each table's period, from the periods that tables would choose and from what they read.
ChoosePeriods: TypeAlias = Callable[
    [Mapping[TrackedTable, int | None], Mapping[TrackedTable, Iterable[TrackedTable]]],
    Mapping[TrackedTable, int | None],
]


class Calendar:
    """The tables that are due at each tick; periods are chosen again where the graph or a cost changed.

    Connected tables form a group, and only groups with a changed table are settled again.

    Args:
        choose_periods: Fits the periods of connected tables to each other (R-DVS-74).
        is_scheduled: Tells whether a table has a period at all.
    """

    def __init__(
        self,
        *,
        choose_periods: ChoosePeriods = periods,
        is_scheduled: Callable[[TrackedTable], bool] = is_scheduled,
    ) -> None:
        """Start without tables."""
        self._periods = choose_periods
        self._is_scheduled = is_scheduled
        # For each period, the tables of each group, upstream first.
        self._due: list[dict[int, list[TrackedTable]]] = [{} for _ in PERIODS_US]
        self._unsettled: dict[TrackedTable, None] = {}
        self._group_count = 0

    def unsettle(self, table: TrackedTable) -> None:
        """Mark a table's group, so that its periods are chosen again."""
        self._unsettled[table] = None

    def due(self, ticks: int) -> Iterator[TrackedTable]:
        """Yield the tables that are due at the tick of this number, upstream before downstream.

        A table's period is never shorter than those of its sources, so shorter periods come first.
        """
        if self._unsettled:
            self.settle()
        last = (ticks & -ticks).bit_length() - 1 if ticks else len(PERIODS_US) - 1
        for groups in self._due[: last + 1]:
            for tables in groups.values():
                yield from tables

    def in_use(self) -> list[int]:
        """Return the indices of the periods that tables have."""
        if self._unsettled:
            self.settle()
        return [period for period, groups in enumerate(self._due) if groups]

    def settle(self) -> None:
        """Choose lags and periods again for all marked groups."""
        unsettled, self._unsettled = self._unsettled, {}
        settled: set[TrackedTable] = set()
        for table in unsettled:
            if table not in settled:
                group = reachable([table], lambda other: (*other.upstream, *other.downstream))
                settled.update(group)
                self._settle_group(upstream_first(group))

    def _settle_group(self, tables: list[TrackedTable]) -> None:
        for old in {table.group: None for table in tables}:
            for groups in self._due:
                groups.pop(old, None)
        self._group_count += 1
        self._choose_periods([table for table in tables if self._is_scheduled(table)])
        for table in tables:
            table.group = self._group_count
            if not self._is_scheduled(table):
                table.lag_us = table.own = table.period = None
            if table.period is not None:
                self._due[table.period].setdefault(table.group, []).append(table)

    def _choose_periods(self, tables: list[TrackedTable]) -> None:
        """Choose the longest periods that try to meet the lags, none shorter than upstream's."""
        active = set(tables)
        lags = {table: table.node.lag for table in tables}
        consumers = {table: [other for other in table.downstream if other in active] for table in tables}
        for table, lag_us in lags_in_force(lags, consumers, tables).items():
            table.lag_us = lag_us
            table.own = None if lag_us is None else own_period(lag_us, table.cost_us)
        own = {table: table.own for table in tables}
        for table, period in self._periods(own, {table: table.upstream for table in tables}).items():
            table.period = period


def initial_lag_max(node: Node) -> int | None:
    """Return the greatest age of a new table's first data timestamp; no table reads it yet (R-DVS-09)."""
    return None if isinstance(node.lag, Downstream) else node.lag
