"""Schedulers that are wrong on purpose, each in one decision or one step.

The functions replace a decision of `SchedulerPolicy` or of `Calendar`; the classes are jobs, calendars and
schedulers whose steps are wrong.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dynamic_tables.catalog.graphs import Node
from dynamic_tables.scheduling.events import Failed, Fault, GraphChanged, Reason, TableUpdate, Trigger
from dynamic_tables.scheduling.jobs import Jobs
from dynamic_tables.scheduling.policy import (
    FailureResponse,
    SchedulerPolicy,
    after_asking,
    obstacle,
    respond_to_failure,
)
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.scheduling.tracking import Calendar, TrackedTable

# No refresh is silent for this long (R-DVS-37).
NEVER_SILENT_US = 1 << 62

# Decisions on ticks


def busy_unseen(table: TrackedTable, data_us: int) -> Reason | None:
    """A tick is planned while the refresh before runs, which is forgotten (R-DVS-30)."""
    if obstacle(table, data_us) is Reason.BUSY:
        table.jobs.clear()
    return obstacle(table, data_us)


def own_periods(own: Mapping[TrackedTable, int | None], upstream: Any) -> Mapping[TrackedTable, int | None]:
    """Each table has the period that it would choose (R-DVS-74)."""
    return own


def unless_dropped(table: TrackedTable) -> bool:
    """Suspended tables are scheduled."""
    return not table.dropped


# Decisions on refreshes that a user asks for


def manual_alone(table: TrackedTable) -> list[TrackedTable]:
    """A user's table is refreshed without those upstream (R-DVS-07)."""
    return [table]


def before_asking(now_us: int, asked_us: int) -> int:
    """A user gets the data timestamp of the moment before (R-DVS-07)."""
    return after_asking(now_us, asked_us) - 1


def by_its_own_clock(now_us: int, asked_us: int) -> int:
    """A user's clock plays no part (R-DVS-07)."""
    return now_us + 1


# Decisions on errors


def never_resets(table: TrackedTable) -> None:
    """A success ends no row of errors (R-DVS-34)."""
    return


def never_counts(table: TrackedTable) -> bool:
    """No error is counted."""
    return False


def counts_for_nothing(table: TrackedTable) -> bool:
    """A table fails for ever (R-DVS-34)."""
    table.errors += 1
    return False


def count_system_faults(table: TrackedTable, event: Failed) -> FailureResponse:
    """Faults of the system are counted as the user's."""
    counted = FailureResponse.COUNT if event.fault is Fault.SYSTEM else FailureResponse.NONE
    return respond_to_failure(table, event) | counted


def count_manual_errors(table: TrackedTable, event: Failed) -> FailureResponse:
    """Errors of manual refreshes are counted (R-DVS-34)."""
    if table.running is not None and table.running.trigger is Trigger.MANUAL:
        table.running.trigger = Trigger.SCHEDULED
    return respond_to_failure(table, event)


def ignore_system_faults(table: TrackedTable, event: Failed) -> FailureResponse:
    """Only users' faults are heard."""
    return FailureResponse.NONE if event.fault is Fault.SYSTEM else respond_to_failure(table, event)


def take_for_running(table: TrackedTable, event: Failed) -> FailureResponse:
    """The failure of an old attempt is that of the new one."""
    job = table.jobs[0]
    return respond_to_failure(table, event._replace(data_us=job.data_us, attempt=job.attempt))


def resume_nobody(table: TrackedTable) -> list[TrackedTable]:
    """A resumed table stays suspended (R-DVS-35)."""
    return []


# Decisions on first refreshes


def newest_of_any(table: TrackedTable) -> int | None:
    """A table begins at a timestamp that one of those it reads has (R-DVS-09)."""
    timestamps = [data_us for source in table.upstream for data_us in source.timestamps()]
    return max((data_us for data_us in timestamps if data_us >= 0), default=None)


def at_creation(table: TrackedTable) -> int | None:
    """Each table begins at its creation (R-DVS-10)."""
    return None


# Jobs


class WaitsForNothing(Jobs):
    """Starts a table with those that it reads (R-DVS-72)."""

    def waits(self, table: TrackedTable, data_us: int) -> int:
        return 0


class ForgetsWhoWaits(Jobs):
    """Leaves those who wait for a table that failed waiting."""

    def not_got(self, table: TrackedTable, data_us: int) -> None:
        return


class IgnoresUpstreamFailures(Jobs):
    """Goes on below a table that failed (R-DVS-36)."""

    def not_got(self, table: TrackedTable, data_us: int) -> None:
        for reader in table.downstream:
            for job in reader.jobs:
                if job.data_us == data_us:
                    job.waits -= 1
            self.start_next(reader)


class TwoAtOnce(Jobs):
    """Starts a refresh while another of the table runs (R-DVS-30)."""

    def add(self, table: TrackedTable, data_us: int, trigger: Trigger) -> None:
        running = table.running
        super().add(table, data_us, trigger)
        if running is not None and table.jobs[-1].waits == 0:
            self.start(table, table.jobs[-1])


class NeverRetries(Jobs):
    """Makes no attempt after one that failed (R-DVS-38)."""

    def start_retries(self) -> None:
        while self._later and self._later[0][0] <= self.now_us:
            self._later.pop(0)


# Calendars


class NextTick(Calendar):
    """Takes those due at the next tick for those due at this."""

    def due(self, ticks: int) -> Iterator[TrackedTable]:
        return super().due(ticks + 1)


# Schedulers


class MovesItsPhase(Scheduler):
    """Takes the time at which it looks for the tick (R-DVS-73)."""

    def _tick(self, ticks: int) -> None:
        self._phase_us += 1
        super()._tick(ticks)


class IgnoresSuspensions(Scheduler):
    """Schedules a table that a user suspended (R-DVS-34)."""

    def _follow_suspension(self, table: TrackedTable, before: Node | None) -> None:
        table.suspended = None


class ForgetsFrontiers(Scheduler):
    """Takes each table for one that was never refreshed."""

    def _track(self, update: TableUpdate) -> Node | None:
        return super()._track(update._replace(data_us=None))


class FollowsAgain(Scheduler):
    """Suspends whoever reads a suspended table, as when that was new."""

    def _handle_graph_changed(self, event: GraphChanged) -> None:
        super()._handle_graph_changed(event._replace(anew=False))


class PassesOverTicks(Scheduler):
    """Begins with the next tick, as on the first day."""

    def _handle_graph_changed(self, event: GraphChanged) -> None:
        super()._handle_graph_changed(event)
        self._ticks = None


# A scheduler with one of these


def with_jobs(jobs: type[Jobs]) -> Callable[..., Scheduler]:
    """Return a function that makes a scheduler of other jobs."""
    return lambda **options: Scheduler(jobs=jobs(), **options)


def with_policy(**decisions: Any) -> Callable[..., Scheduler]:
    """Return a function that makes a scheduler with other decisions."""
    return lambda **options: Scheduler(policy=SchedulerPolicy(**decisions), **options)


def with_calendar(**decisions: Any) -> Callable[..., Scheduler]:
    """Return a function that makes a scheduler whose calendar has other decisions."""
    return lambda **options: Scheduler(calendar=Calendar(**decisions), **options)


def with_next_tick(**options: Any) -> Scheduler:
    """Make a scheduler that is a tick ahead."""
    return Scheduler(calendar=NextTick(), **options)
