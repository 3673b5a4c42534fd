"""The scheduler: which table is refreshed to which timestamp when, as a state machine ([D] 3.3.3, 5.2).

`step(now, event)` gives commands. It does no input or output, reads no clock, draws nothing: the same
steps give the same commands, in a simulator and under a wall clock.

A data timestamp goes through a graph from upstream to downstream. All tables that are due at a tick get
a job each; one without upstream starts at once, the others when the last table that they read has
committed that very timestamp (R-DVS-72). What a table does not get, none below it gets (R-DVS-36).
"""

from collections.abc import Callable, Mapping
from typing import Any

from dynamic_tables.catalog.ddl import Initialize
from dynamic_tables.catalog.graphs import Node
from dynamic_tables.catalog.lags import PERIODS_US, initial_timestamp
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
    Known,
    ManualRefresh,
    Reason,
    Resume,
    Skip,
    Suspend,
    Tick,
    Timer,
    Trigger,
)
from dynamic_tables.scheduling.jobs import Jobs
from dynamic_tables.scheduling.tracking import (
    NEVER_US,
    Calendar,
    Status,
    Tracked,
    in_order,
    lag_to_start_within,
    reachable,
    status_of,
    with_upstream,
)
from dynamic_tables.storage.frontiers import TableId

TICK_US = PERIODS_US[0]
# More consecutive errors of scheduled refreshes suspend a table (R-DVS-34).
ERRORS_MAX = 5
# After a fault of the system an attempt follows after 1, 2, 4 ... seconds, at most this often.
ATTEMPTS_MAX = 4
RETRY_US = 1_000_000
# A refresh not heard of for so long is told to the operators; for twice as long, taken for lost.
SILENCE_US_MAX = 60_000_000
# More refreshes of one table are not planned ahead; only users who ask again and again get there.
JOBS_MAX = 100
# The last tick of a scheduler that starts anew: the newest of each period may have been lost with the other.
BEFORE_ALL = -1

ERRORS = f"more than {ERRORS_MAX} refreshes in a row failed"
FOLLOWS = "a table that it reads is suspended"


class Scheduler:
    """The scheduler of one account.

    Args:
        phase_us: When ticks are: this, and each multiple of the shortest period after it (R-DVS-73).
        jobs, calendar: What it decides with; others make a broken twin.
    """

    def __init__(
        self, *, phase_us: int = 0, jobs: Jobs | None = None, calendar: Calendar | None = None
    ) -> None:
        self._phase_us = phase_us
        self._ticks: int | None = None  # the number of the last tick that was dealt with
        self._timer_us: int | None = None
        self._tables: dict[TableId, Tracked] = {}
        self._jobs = Jobs() if jobs is None else jobs
        self._calendar = Calendar() if calendar is None else calendar
        # Bound here, so that a twin which replaces a method is asked.
        self._handlers: Mapping[type[Event], Callable[[Any], None]] = {
            Tick: self._ticked,
            GraphChanged: self._graph_changed,
            ManualRefresh: self._manual_refresh,
            Heartbeat: self._heartbeat,
            Finished: self._finished,
            Failed: self._failed,
        }

    def step(self, now_us: int, event: Event) -> list[Command]:
        """Take one event, and what has become due. Time that goes back stands still."""
        jobs = self._jobs
        if now_us > jobs.now_us:
            jobs.now_us = now_us
        self._handlers[type(event)](event)
        if self._timer_us is None or jobs.now_us >= self._timer_us:
            self._deal_with_time()
        commands, jobs.commands = jobs.commands, []
        return commands

    def status(self, table: TableId) -> Status | None:
        """What is remembered of a table; None: nothing, it is not known."""
        tracked = self._tables.get(table)
        return None if tracked is None else status_of(tracked)

    def period_us(self, table: TableId) -> int | None:
        """The period of a table; None: it is not scheduled."""
        tracked = self._tables.get(table)
        return None if tracked is None else tracked.period_us

    # Time

    def _ticked(self, event: Tick) -> None:
        """What has become due is looked at after each event."""

    def _deal_with_time(self) -> None:
        """Attempts that are to follow, refreshes not heard of, ticks; then the next timer."""
        self._jobs.start_due()
        newest = (self._jobs.now_us - self._phase_us) // TICK_US
        if newest != self._ticks:
            self._watch()
            for ticks in self._missed_ticks(newest):
                self._tick(ticks)
            self._ticks = newest
        self._set_timer(self._phase_us + (newest + 1) * TICK_US)

    def _set_timer(self, next_tick_us: int) -> None:
        """Ask to be woken when something is due next."""
        times = [self._jobs.due_us(), next_tick_us if self._tables else None]
        at_us = min((time for time in times if time is not None), default=None)
        if at_us is not None:
            self._jobs.commands.append(Timer(at_us))
        self._timer_us = at_us

    def _missed_ticks(self, newest: int) -> list[int]:
        """The ticks to deal with: the newest of each period that a table has, oldest first; usually one."""
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
                continue  # the scheduler before this one saw to it
            reason = self._obstacle(table, data_us)
            if reason is None:
                self._jobs.add(table, data_us, Trigger.SCHEDULED)
            else:
                self._jobs.commands.append(Skip(table.table, data_us, reason))

    def _obstacle(self, table: Tracked, data_us: int) -> Reason | None:
        """Why a table cannot get the timestamp of a tick; None if it can."""
        if table.jobs:
            return Reason.BUSY
        if table.data_us >= data_us:
            return Reason.PASSED
        for source in table.upstream:
            if not source.is_to_get(data_us) and not source.has(data_us):
                return Reason.UPSTREAM
        return None

    def _watch(self) -> None:
        """Tell of refreshes without a heartbeat, and give up those silent for long (R-DVS-37)."""
        for table in list(self._jobs.running):
            job = table.jobs[0]
            silent_us = self._jobs.now_us - job.heartbeat_us
            if silent_us > 2 * SILENCE_US_MAX:
                self._failed(Failed(table.table, job.data_us, job.attempt, Fault.SYSTEM))
            elif silent_us > SILENCE_US_MAX and not job.flagged:
                job.flagged = True
                self._jobs.commands.append(Flag(table.table, job.data_us, silent_us))

    # What becomes of refreshes

    def _heartbeat(self, event: Heartbeat) -> None:
        table = self._tables.get(event.table)
        job = table.running if table else None
        if job and (job.data_us, job.attempt) == (event.data_us, event.attempt):
            job.heartbeat_us = self._jobs.now_us
            job.flagged = False

    def _finished(self, event: Finished) -> None:
        """A refresh is committed, by whichever attempt; told twice, the second time is ignored."""
        table = self._tables.get(event.table)
        job = table.running if table else None
        if table is None or job is None or job.data_us != event.data_us:
            return
        self._jobs.finish(table)
        if table.errors:
            self._reset_errors(table)
        if event.changed:
            # Of a timestamp that was old when it was planned, its age is no cost.
            cost_us = self._jobs.now_us - max(job.data_us, job.planned_us)
            if table.learn_cost(cost_us):
                self._calendar.unsettle(table)
        self._forget_dropped(table)

    def _reset_errors(self, table: Tracked) -> None:
        """A success, also of a manual refresh, ends a row of errors (R-DVS-34)."""
        table.errors = 0

    def _failed(self, event: Failed) -> None:
        table = self._tables.get(event.table)
        job = table.running if table else None
        if not table or not job or (job.data_us, job.attempt) != (event.data_us, event.attempt):
            return
        if event.fault is Fault.SYSTEM and job.attempt + 1 < ATTEMPTS_MAX and not table.dropped:
            self._jobs.try_again(table, RETRY_US << job.attempt)
            self._timer_us = None
            return
        self._jobs.fail(table)
        if event.fault is Fault.USER and job.trigger is Trigger.SCHEDULED:
            self._count_error(table)
        self._forget_dropped(table)

    def _count_error(self, table: Tracked) -> None:
        """One more consecutive error; too many suspend the table (R-DVS-34)."""
        table.errors += 1
        if table.errors > ERRORS_MAX and table.suspended is None:
            self._suspend(table, ERRORS)

    def _forget_dropped(self, table: Tracked) -> None:
        if table.dropped and not table.jobs:
            self._tables.pop(table.table, None)

    # Refreshes that no tick asks for

    def _manual_refresh(self, event: ManualRefresh) -> None:
        """A table, and all that it is computed from, after the time of asking (R-DVS-07).

        A timestamp that is ahead of this clock needs no wait: once it was read, whatever is committed
        later comes after it (R-DVS-83).
        """
        table = self._tables.get(event.table)
        if table is None or table.dropped:
            return
        data_us = self._after_asking(event)
        if len(table.jobs) >= JOBS_MAX:
            self._jobs.commands.append(Fail(table.table, data_us, Trigger.MANUAL, Reason.BUSY))
        else:
            self._refresh_all(self._refreshed_with(table), data_us, Trigger.MANUAL)

    def _after_asking(self, event: ManualRefresh) -> int:
        """A timestamp after all that a user can have committed before."""
        return max(self._jobs.now_us, event.asked_us) + 1

    def _refreshed_with(self, table: Tracked) -> list[Tracked]:
        """What is refreshed when a user asks for a table, upstream first."""
        return with_upstream(table)

    def _refresh_all(self, tables: list[Tracked], data_us: int, trigger: Trigger) -> None:
        """Refresh tables to one timestamp, after what they are to get already; nothing is skipped."""
        data_us = max(data_us, *(table.newest_us for table in tables))
        for table in tables:
            if table.newest_us != data_us:
                self._jobs.add(table, data_us, trigger)

    def _initialize(self, table: Tracked) -> None:
        """Begin with a timestamp that the tables read have or are to get, if there is one (R-DVS-09)."""
        data_us = self._initial_timestamp(table)
        if data_us is None:
            created_us = max(self._jobs.now_us, table.node.created_us)  # a commit may be ahead of this clock
            self._refresh_all(with_upstream(table), created_us, Trigger.INITIAL)
        else:
            self._jobs.add(table, data_us, Trigger.INITIAL)

    def _initial_timestamp(self, table: Tracked) -> int | None:
        return initial_timestamp(
            [source.timestamps() for source in table.upstream],
            created_us=table.node.created_us,
            lag_us=lag_to_start_within(table.node),
            since_us=table.readable_from_us,
        )

    # The graph

    def _graph_changed(self, event: GraphChanged) -> None:
        for table_id in event.dropped:
            if table_id in self._tables:
                self._drop(self._tables[table_id])
        before = {known.node.table: self._tracked(known) for known in event.tables}
        changed = [self._tables[table_id] for table_id in before]
        for table in changed:
            self._link(table)
        for table in in_order(changed):
            self._jobs.check(table)
            if not event.anew:  # the catalog has who followed whom, and whom a user resumed since
                self._follow_suspension(table, before[table.table])
            never = table.data_us == NEVER_US and not table.jobs
            if before[table.table] is None and never and self._initializes(table):
                self._initialize(table)
        if event.anew:
            self._ticks = BEFORE_ALL
        self._timer_us = None

    def _initializes(self, table: Tracked) -> bool:
        """Whether a new table is refreshed at once (R-DVS-03)."""
        return table.suspended is None and table.node.initialize is Initialize.ON_CREATE

    def _tracked(self, known: Known) -> Node | None:
        """Note what a table is now; what it was before, None if it is new or restored."""
        table = self._tables.get(known.node.table)
        if table is None:
            table = self._tables[known.node.table] = Tracked(known.node)
            table.dropped = True
        before = None if table.dropped else table.node
        if before is None:
            table.suspended = known.node.suspended
            table.errors = 0
            table.dropped = False
        table.node = known.node
        table.readable_from_us = known.readable_from_us
        if before is None and known.data_us is not None and known.data_us > table.data_us:
            table.data_us = known.data_us
            table.recent.extend((*known.past_us, known.data_us))
        return before

    def _link(self, table: Tracked) -> None:
        """Read the tables that the catalog says, those that there are."""
        found = (self._tables.get(source) for source in table.node.upstream)
        self._read(table, [source for source in found if source is not None and not source.dropped])

    def _read(self, table: Tracked, upstream: list[Tracked]) -> None:
        for source in table.upstream:
            source.downstream.remove(table)
            self._calendar.unsettle(source)
        for source in upstream:
            source.downstream.append(table)
        table.upstream = upstream
        self._calendar.unsettle(table)

    def _drop(self, table: Tracked) -> None:
        """Forget a table; if it runs, when it ends."""
        table.dropped = True
        planned = [job.data_us for job in table.jobs]
        for data_us in reversed(planned):
            self._jobs.give_up(table.downstream, data_us, Reason.UPSTREAM)
            self._jobs.give_up([table], data_us, Reason.DROPPED)
        for reader in table.downstream:
            reader.upstream.remove(table)
            self._calendar.unsettle(reader)
        table.downstream = []
        self._read(table, [])
        self._forget_dropped(table)

    def _follow_suspension(self, table: Tracked, before: Node | None) -> None:
        """Suspend or resume as the catalog says, if that is new."""
        was = before.suspended if before else None
        now = table.node.suspended
        if now is not None and was is None:
            if table.suspended is None or before is None:
                self._suspend(table, now, told=True)
            table.suspended = now
        elif now is None and was is not None:
            self._resume(table)

    def _suspend(self, table: Tracked, reason: str, *, told: bool = False) -> None:
        """No scheduled refreshes, of the table and of all that read it (R-DVS-34)."""
        for other in reachable([table], lambda reached: reached.downstream):
            if other is not table and other.suspended is not None:
                continue
            other.suspended = reason if other is table else FOLLOWS
            self._calendar.unsettle(other)
            if not (told and other is table):
                self._jobs.commands.append(Suspend(other.table, other.suspended))
            for data_us in [job.data_us for job in other.jobs if job.trigger is Trigger.SCHEDULED]:
                self._jobs.give_up([other], data_us, Reason.SUSPENDED)

    def _resume(self, table: Tracked) -> None:
        """Scheduled refreshes again, from the old frontier (R-DVS-35), of those suspended with it too."""
        for other in in_order(reachable([table], lambda reached: reached.downstream)):
            free = all(source.suspended is None for source in other.upstream)
            if other is table or (other.suspended == FOLLOWS and free):
                other.suspended = None
                other.errors = 0
                self._calendar.unsettle(other)
                if other is not table:
                    self._jobs.commands.append(Resume(other.table))
