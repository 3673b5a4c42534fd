"""What the scheduler remembers of each dynamic table, and the periods of tables that hang together."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dynamic_tables.catalog.graphs import Node
from dynamic_tables.catalog.lags import PERIODS_US, Downstream, lags_in_force, own_period, periods
from dynamic_tables.scheduling.events import Trigger
from dynamic_tables.storage.frontiers import TableId

# How many past data timestamps of a table are remembered, for tables that are created on it.
TIMESTAMPS_KEPT = 128
# Of what a refresh was expected to cost, how much less is expected after one that cost nothing.
COST_DECAY = 8
# That of a table which was never refreshed.
NEVER_US = -1
WAITING = -1


class Job:
    """One data timestamp that a table is to get: it waits for its upstream tables, or runs.

    Attributes:
        waits: How many of the tables that it reads are still to get the timestamp.
        planned_us: When it was planned, which may be long after its timestamp.
        started_us: When its present attempt began; WAITING before.
        attempt: Which attempt it is, from 0.
        resting: Whether an attempt failed and the next is to follow.
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


class Tracked:
    """One dynamic table.

    Attributes:
        upstream, downstream: The tables that it reads and that read it, directly; those dropped apart.
        data_us: Its data timestamp; NEVER_US before the first.
        recent: Its last data timestamps.
        jobs: The timestamps that it is to get, in their order; the first may run.
        errors: Consecutive errors of scheduled refreshes (R-DVS-34).
        suspended: Why it is not scheduled; None if it is.
        lag_us: The lag in force; None: it is never scheduled.
        own: The index of the period that it would choose.
        period: The index of its period; None: it is not scheduled.
        cost_us: What a refresh is expected to wait and to run, together.
        group: Which tables it hangs together with.
    """

    __slots__ = (
        "cost_us", "data_us", "downstream", "dropped", "errors", "group", "jobs", "lag_us", "node",
        "own", "period", "readable_from_us", "recent", "suspended", "table", "upstream",
    )  # fmt: skip

    def __init__(self, node: Node) -> None:
        self.table: TableId = node.table
        self.node = node
        self.upstream: list[Tracked] = []
        self.downstream: list[Tracked] = []
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
        """Its period; None: it is not scheduled."""
        return None if self.period is None else PERIODS_US[self.period]

    @property
    def newest_us(self) -> int:
        """The newest data timestamp that it has or is to get."""
        return self.jobs[-1].data_us if self.jobs else self.data_us

    @property
    def running(self) -> Job | None:
        """The job that runs, or waits for its next attempt."""
        return self.jobs[0] if self.jobs and self.jobs[0].started_us != WAITING else None

    def is_to_get(self, data_us: int) -> bool:
        """Whether a timestamp is among its jobs."""
        for job in self.jobs:  # noqa: SIM110 - every refresh asks, and `any` takes thrice the time
            if job.data_us == data_us:
                return True
        return False

    def has(self, data_us: int) -> bool:
        """Whether it got a timestamp, of those remembered."""
        return self.data_us == data_us or data_us in self.recent

    def timestamps(self) -> list[int]:
        """The data timestamps that it has or is to get."""
        return [*self.recent, *(job.data_us for job in self.jobs)]

    def finished(self, data_us: int) -> None:
        """It got a timestamp."""
        self.data_us = data_us
        self.recent.append(data_us)

    def learn_cost(self, cost_us: int) -> bool:
        """Expect what was seen: more at once, less slowly. Whether it would choose another period now."""
        self.cost_us = max(cost_us, self.cost_us - self.cost_us // COST_DECAY)
        return self.lag_us is not None and own_period(self.lag_us, self.cost_us) != self.own


class Status(NamedTuple):
    """What the scheduler remembers of a table, for those who ask.

    Attributes:
        data_us: None before the first refresh.
        target_us: The timestamp that it is to get next; None if none is planned.
        trigger: Why.
        started_us: When the present attempt at it began; None while it waits.
        heartbeat_us: When it was last heard of.
        period_us: None: it is not scheduled.
        cost_us: What a refresh is expected to wait and to run, together.
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


def status_of(tracked: Tracked) -> Status:
    """What is remembered of a table now."""
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


def reachable(starts: Iterable[Tracked], step: Callable[[Tracked], Iterable[Tracked]]) -> list[Tracked]:
    """All that can be reached, starts first."""
    found = dict.fromkeys(starts)
    open_tables = list(found)
    while open_tables:
        for table in step(open_tables.pop()):
            if table not in found:
                found[table] = None
                open_tables.append(table)
    return list(found)


def in_order(tables: Iterable[Tracked]) -> list[Tracked]:
    """Tables, upstream before downstream; of the tables that they read only those among them count."""
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


def with_upstream(table: Tracked) -> list[Tracked]:
    """A table and all that it is computed from, upstream first."""
    return in_order(reachable([table], lambda other: other.upstream))


class Calendar:
    """Which tables are due at which tick; periods are set anew where the graph or a cost changed.

    Tables that hang together form a group, and only groups with a changed table are looked at again.
    """

    def __init__(self) -> None:
        """No tables."""
        # By period, and by group: the tables, upstream first.
        self._due: list[dict[int, list[Tracked]]] = [{} for _ in PERIODS_US]
        self._unsettled: dict[Tracked, None] = {}
        self._group_count = 0

    def unsettle(self, table: Tracked) -> None:
        """Its group is to be looked at again."""
        self._unsettled[table] = None

    def due(self, ticks: int) -> Iterator[Tracked]:
        """The tables that have the tick of this number, upstream before downstream.

        A table's period is never shorter than those of the tables it reads, so shorter ones come first.
        """
        if self._unsettled:
            self.settle()
        last = (ticks & -ticks).bit_length() - 1 if ticks else len(PERIODS_US) - 1
        for groups in self._due[: last + 1]:
            for tables in groups.values():
                yield from tables

    def in_use(self) -> list[int]:
        """The indices of the periods that tables have."""
        if self._unsettled:
            self.settle()
        return [period for period, groups in enumerate(self._due) if groups]

    def settle(self) -> None:
        """Set lags and periods where something changed."""
        unsettled, self._unsettled = self._unsettled, {}
        seen: set[Tracked] = set()
        for table in unsettled:
            if table not in seen:
                group = reachable([table], lambda other: (*other.upstream, *other.downstream))
                seen.update(group)
                self._settle_group(in_order(group))

    def _settle_group(self, tables: list[Tracked]) -> None:
        for old in {table.group: None for table in tables}:
            for groups in self._due:
                groups.pop(old, None)
        self._group_count += 1
        self._choose_periods([table for table in tables if table.suspended is None and not table.dropped])
        for table in tables:
            table.group = self._group_count
            if table.suspended is not None or table.dropped:
                table.lag_us = table.own = table.period = None
            if table.period is not None:
                self._due[table.period].setdefault(table.group, []).append(table)

    def _choose_periods(self, tables: list[Tracked]) -> None:
        """The longest periods that try to meet the lags, none shorter than upstream's."""
        active = set(tables)
        lags = {table: table.node.lag for table in tables}
        consumers = {table: [other for other in table.downstream if other in active] for table in tables}
        for table, lag_us in lags_in_force(lags, consumers, tables).items():
            table.lag_us = lag_us
            table.own = None if lag_us is None else own_period(lag_us, table.cost_us)
        own = {table: table.own for table in tables}
        for table, period in periods(own, {table: table.upstream for table in tables}).items():
            table.period = period


def lag_to_start_within(node: Node) -> int | None:
    """How old the first data timestamp of a new table may be, which nobody reads yet (R-DVS-09)."""
    return None if isinstance(node.lag, Downstream) else node.lag
