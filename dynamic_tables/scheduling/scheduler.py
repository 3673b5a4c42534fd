"""The scheduler, a state machine that decides when tables are refreshed to which timestamp ([D] 3.3.3, 5.2).

`step(now, event)` returns commands. It does no input or output, reads no clock and draws no random numbers:
the same steps give the same commands, in a simulator and under a wall clock.

A data timestamp moves through the graph from upstream to downstream. Each table that is due at a tick gets a
job for it. A job of a table without upstream starts at once, any other when the last table that it reads has
committed that very timestamp (R-DVS-72). If a table does not get a timestamp, no table below it does
(R-DVS-36).
"""

from collections.abc import Callable, Mapping
from typing import Any

from dynamic_tables.catalog.ddl import Initialize
from dynamic_tables.catalog.graphs import Node
from dynamic_tables.catalog.lags import PERIODS_US
from dynamic_tables.scheduling.events import (
    Command,
    Event,
    Fail,
    Failed,
    Fault,
    Finished,
    Flag,
    GraphChanged,
    Heartbeat,
    ManualRefresh,
    Reason,
    ResumeTable,
    Skip,
    SuspendTable,
    TableUpdate,
    Tick,
    Timer,
    Trigger,
)
from dynamic_tables.scheduling.jobs import Jobs
from dynamic_tables.scheduling.policy import ERRORS_MAX, FOLLOWS, POLICY, FailureResponse, SchedulerPolicy
from dynamic_tables.scheduling.tracking import (
    NEVER_US,
    Calendar,
    Status,
    TrackedTable,
    reachable,
    status_of,
    upstream_first,
    with_upstream,
)
from dynamic_tables.storage.frontiers import TableId

TICK_US = PERIODS_US[0]
# After a system failure the next attempt follows after 1, 2, 4 ... seconds.
RETRY_US = 1_000_000
# The most jobs of one table; only repeated manual refreshes reach it.
JOBS_MAX = 100
# The number of the last tick for a new scheduler: it repeats the newest tick of each period.
BEFORE_ALL = -1

ERRORS = f"more than {ERRORS_MAX} refreshes in a row failed"


class Scheduler:
    """The scheduler of one account.

    Args:
        phase_us: The time of one tick; the others follow at multiples of the shortest period (R-DVS-73).
        jobs, calendar: The jobs of tables, and their periods; a mutant passes others.
        policy: The decisions on single tables; a mutant replaces one.
    """

    def __init__(
        self,
        *,
        phase_us: int = 0,
        jobs: Jobs | None = None,
        calendar: Calendar | None = None,
        policy: SchedulerPolicy = POLICY,
    ) -> None:
        self._policy = policy
        self._phase_us = phase_us
        self._ticks: int | None = None  # the number of the last tick that was handled
        self._timer_us: int | None = None
        self._tables: dict[TableId, TrackedTable] = {}
        self._jobs = Jobs() if jobs is None else jobs
        self._calendar = Calendar() if calendar is None else calendar
        # Bound per instance, so that a subclass that overrides a handler is called.
        self._handlers: Mapping[type[Event], Callable[[Any], None]] = {
            Tick: self._handle_tick,
            GraphChanged: self._handle_graph_changed,
            ManualRefresh: self._handle_manual_refresh,
            Heartbeat: self._handle_heartbeat,
            Finished: self._handle_finished,
            Failed: self._handle_failed,
        }

    def step(self, now_us: int, event: Event) -> list[Command]:
        """Handle one event and all that is due; time that goes back counts as standing still."""
        jobs = self._jobs
        if now_us > jobs.now_us:
            jobs.now_us = now_us
        self._handlers[type(event)](event)
        if self._timer_us is None or jobs.now_us >= self._timer_us:
            self._handle_time()
        commands, jobs.commands = jobs.commands, []
        return commands

    def status(self, table: TableId) -> Status | None:
        """Return the scheduler's record of a table; None if it does not know the table."""
        tracked = self._tables.get(table)
        return None if tracked is None else status_of(tracked)

    def period_us(self, table: TableId) -> int | None:
        """Return the period of a table; None: it is not scheduled."""
        tracked = self._tables.get(table)
        return None if tracked is None else tracked.period_us

    # Time

    def _handle_tick(self, event: Tick) -> None:
        """Do nothing: `step` handles what is due after each event."""

    def _handle_time(self) -> None:
        """Start due attempts, check heartbeats, handle ticks, and set the next timer."""
        self._jobs.start_retries()
        newest = (self._jobs.now_us - self._phase_us) // TICK_US
        if newest != self._ticks:
            self._watch()
            for ticks in self._missed_ticks(newest):
                self._tick(ticks)
            self._ticks = newest
        self._set_timer(self._phase_us + (newest + 1) * TICK_US)

    def _set_timer(self, next_tick_us: int) -> None:
        """Request a timer for the next time at which something is due."""
        times = [self._jobs.next_retry_us(), next_tick_us if self._tables else None]
        at_us = min((time for time in times if time is not None), default=None)
        if at_us is not None:
            self._jobs.commands.append(Timer(at_us))
        self._timer_us = at_us

    def _missed_ticks(self, newest: int) -> list[int]:
        """Return the ticks to handle: the newest of each period in use, oldest first; usually one."""
        if self._ticks is None:
            return []  # ticks begin after the first table
        if newest == self._ticks + 1:
            return [newest]
        last = {newest >> period << period for period in self._calendar.in_use()}
        return sorted(tick for tick in last if tick > self._ticks)

    def _tick(self, ticks: int) -> None:
        data_us = self._phase_us + ticks * TICK_US
        for table in self._calendar.due(ticks):
            if table.node.created_us > data_us:
                continue
            if self._ticks == BEFORE_ALL and table.data_us >= data_us:
                continue  # the previous scheduler handled this tick
            reason = self._policy.obstacle(table, data_us)
            if reason is None:
                self._jobs.add(table, data_us, Trigger.SCHEDULED)
            else:
                self._jobs.commands.append(Skip(table.table, data_us, reason))

    def _watch(self) -> None:
        """Report refreshes without a heartbeat, and fail those that are silent for long (R-DVS-37)."""
        for table in list(self._jobs.running):
            job = table.jobs[0]
            silent_us = self._jobs.now_us - job.heartbeat_us
            if silent_us > 2 * self._policy.silence_us_max:
                self._handle_failed(Failed(table.table, job.data_us, job.attempt, Fault.SYSTEM))
            elif silent_us > self._policy.silence_us_max and not job.flagged:
                job.flagged = True
                self._jobs.commands.append(Flag(table.table, job.data_us, silent_us))

    # Outcomes of refreshes

    def _handle_heartbeat(self, event: Heartbeat) -> None:
        table = self._tables.get(event.table)
        job = table.running if table else None
        if job and (job.data_us, job.attempt) == (event.data_us, event.attempt):
            job.heartbeat_us = self._jobs.now_us
            job.flagged = False

    def _handle_finished(self, event: Finished) -> None:
        """Complete a refresh, by whichever attempt; a repeated event is ignored."""
        table = self._tables.get(event.table)
        job = table.running if table else None
        if table is None or job is None or job.data_us != event.data_us:
            return
        self._jobs.finish(table)
        if table.errors:
            self._policy.reset_errors(table)
        if event.changed:
            # The age of a timestamp that was old when its job was planned is no cost.
            cost_us = self._jobs.now_us - max(job.data_us, job.planned_us)
            if table.learn_cost(cost_us):
                self._calendar.unsettle(table)
        self._forget_dropped(table)

    def _handle_failed(self, event: Failed) -> None:
        table = self._tables.get(event.table)
        job = table.running if table else None
        if table is None or job is None:
            return
        response = self._policy.respond_to_failure(table, event)
        if FailureResponse.RETRY in response:
            self._jobs.retry(table, RETRY_US << job.attempt)
            self._timer_us = None
        if FailureResponse.END in response:
            self._jobs.fail(table)
        if FailureResponse.COUNT in response and self._policy.count_error(table):
            self._suspend(table, ERRORS)
        self._forget_dropped(table)

    def _forget_dropped(self, table: TrackedTable) -> None:
        if table.dropped and not table.jobs:
            self._tables.pop(table.table, None)

    # Refreshes outside the ticks

    def _handle_manual_refresh(self, event: ManualRefresh) -> None:
        """Refresh a table and all that it is computed from to a timestamp after the request (R-DVS-07).

        A timestamp ahead of this clock needs no wait: once it was read, every later commit comes after it
        (R-DVS-83).
        """
        table = self._tables.get(event.table)
        if table is None or table.dropped:
            return
        data_us = self._policy.after_asking(self._jobs.now_us, event.asked_us)
        if len(table.jobs) >= JOBS_MAX:
            self._jobs.commands.append(Fail(table.table, data_us, Trigger.MANUAL, Reason.BUSY))
        else:
            self._refresh_all(self._policy.refreshed_with(table), data_us, Trigger.MANUAL)

    def _refresh_all(self, tables: list[TrackedTable], data_us: int, trigger: Trigger) -> None:
        """Refresh tables to one timestamp, after their planned jobs; nothing is skipped."""
        data_us = max(data_us, *(table.newest_us for table in tables))
        for table in tables:
            if table.newest_us != data_us:
                self._jobs.add(table, data_us, trigger)

    def _initialize(self, table: TrackedTable) -> None:
        """Start from a timestamp that all tables read have or will get, if there is one (R-DVS-09)."""
        data_us = self._policy.first_timestamp(table)
        if data_us is None:
            created_us = max(self._jobs.now_us, table.node.created_us)  # a commit may be ahead of this clock
            self._refresh_all(with_upstream(table), created_us, Trigger.INITIAL)
        else:
            self._jobs.add(table, data_us, Trigger.INITIAL)

    # The graph

    def _handle_graph_changed(self, event: GraphChanged) -> None:
        for table_id in event.dropped:
            if table_id in self._tables:
                self._drop(self._tables[table_id])
        before = {update.node.table: self._track(update) for update in event.tables}
        changed = [self._tables[table_id] for table_id in before]
        for table in changed:
            self._link_upstream(table)
        for table in upstream_first(changed):
            self._jobs.check(table)
            if not event.anew:  # a new scheduler takes suspensions from the catalog
                self._follow_suspension(table, before[table.table])
            never = table.data_us == NEVER_US and not table.jobs
            if before[table.table] is None and never and self._is_initialized_at_once(table):
                self._initialize(table)
        if event.anew:
            self._ticks = BEFORE_ALL
        self._timer_us = None

    def _is_initialized_at_once(self, table: TrackedTable) -> bool:
        """Tell whether a new table is refreshed at once (R-DVS-03)."""
        return table.suspended is None and table.node.initialize is Initialize.ON_CREATE

    def _track(self, update: TableUpdate) -> Node | None:
        """Update the record of a table; return its node before, or None if it is new or restored."""
        table = self._tables.get(update.node.table)
        if table is None:
            table = self._tables[update.node.table] = TrackedTable(update.node)
            table.dropped = True
        before = None if table.dropped else table.node
        if before is None:
            table.suspended = update.node.suspended
            table.errors = update.errors
            table.cost_us = max(table.cost_us, update.cost_us)
            table.dropped = False
        table.node = update.node
        table.readable_from_us = update.readable_from_us
        if before is None and update.data_us is not None and update.data_us > table.data_us:
            table.data_us = update.data_us
            table.recent.extend((*update.past_us, update.data_us))
        return before

    def _link_upstream(self, table: TrackedTable) -> None:
        """Connect a table to the existing tables that its node reads."""
        sources = (self._tables.get(source) for source in table.node.upstream)
        self._set_upstream(table, [source for source in sources if source is not None and not source.dropped])

    def _set_upstream(self, table: TrackedTable, upstream: list[TrackedTable]) -> None:
        for source in table.upstream:
            source.downstream.remove(table)
            self._calendar.unsettle(source)
        for source in upstream:
            source.downstream.append(table)
        table.upstream = upstream
        self._calendar.unsettle(table)

    def _drop(self, table: TrackedTable) -> None:
        """Remove a table; if it is running, once it ends."""
        table.dropped = True
        planned = [job.data_us for job in table.jobs]
        for data_us in reversed(planned):
            self._jobs.cancel(table.downstream, data_us, Reason.UPSTREAM)
            self._jobs.cancel([table], data_us, Reason.DROPPED)
        for reader in table.downstream:
            reader.upstream.remove(table)
            self._calendar.unsettle(reader)
        table.downstream = []
        self._set_upstream(table, [])
        self._forget_dropped(table)

    def _follow_suspension(self, table: TrackedTable, before: Node | None) -> None:
        """Suspend or resume a table where the catalog says so for the first time."""
        was = before.suspended if before else None
        now = table.node.suspended
        if now is not None and was is None:
            if table.suspended is None or before is None:
                self._suspend(table, now, is_recorded=True)
            table.suspended = now
        elif now is None and was is not None:
            self._resume(table)

    def _suspend(self, table: TrackedTable, reason: str, *, is_recorded: bool = False) -> None:
        """Stop scheduled refreshes of a table and of all that read it (R-DVS-34)."""
        for other in reachable([table], lambda reached: reached.downstream):
            if other is not table and other.suspended is not None:
                continue
            other.suspended = reason if other is table else FOLLOWS
            self._calendar.unsettle(other)
            if not (is_recorded and other is table):
                self._jobs.commands.append(SuspendTable(other.table, other.suspended))
            for data_us in [job.data_us for job in other.jobs if job.trigger is Trigger.SCHEDULED]:
                self._jobs.cancel([other], data_us, Reason.SUSPENDED)

    def _resume(self, table: TrackedTable) -> None:
        """Resume a table, from its old frontier (R-DVS-35), and those that were suspended with it."""
        for other in self._policy.resumed_with(table):
            other.suspended = None
            other.errors = 0
            self._calendar.unsettle(other)
            if other is not table:
                self._jobs.commands.append(ResumeTable(other.table))
