"""Mutants of the engine, the scheduler and what they stand on: each with one mistake."""

from small_world import World

from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.refreshes import engine as refreshing
from dynamic_tables.refreshes.actions import Cause, RefreshAction, RefreshFailed
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.refreshes.policy import EnginePolicy, choose_version, compute_delta, count_changes
from dynamic_tables.scheduling.events import Fault, Reason, Trigger
from dynamic_tables.scheduling.jobs import Jobs
from dynamic_tables.scheduling.policy import SchedulerPolicy, after_asking, obstacle, respond_to_failure
from dynamic_tables.scheduling.scheduler import TICK_US, Scheduler
from dynamic_tables.scheduling.tracking import Calendar
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import Frontier
from dynamic_tables.storage.versions import Purged, Table

# The engine


class FrontierBeforeContents(Engine):
    """Moves the frontier, and dies before the contents are there (trap 31)."""

    commits = 0

    def commit(self, staged, *, clock, wall_us, now_us):
        self.commits += 1
        if self.commits % 5:
            return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)
        table = self._tables[staged.plan.table]
        self._require_forward(table, table.frontier, staged.plan.data_us)
        stamp = refreshing.stamp(clock, wall_us, (table,))
        plan = staged.plan
        table.commit_refresh(Frontier(plan.data_us, stamp, plan.versions, plan.dependencies), ())
        raise RefreshFailed(Fault.SYSTEM, "the worker died")


class PersistedTables(Engine):
    """Reads what a dynamic table holds now (R-DVS-06)."""

    def __init__(self, **options):
        super().__init__(policy=EnginePolicy(choose_version=self._choose_version), **options)

    def _choose_version(self, table, kind, data_us):
        return table.latest if kind is EntityKind.DYNAMIC_TABLE else choose_version(table, kind, data_us)


class NewestOfBaseTables(Engine):
    """Reads what a base table holds now (R-DVS-81)."""

    def __init__(self, **options):
        super().__init__(policy=EnginePolicy(choose_version=self._choose_version), **options)

    def _choose_version(self, table, kind, data_us):
        return table.latest if kind is EntityKind.TABLE else choose_version(table, kind, data_us)


class NoDataAlthoughChanged(Engine):
    """Looks at the first source alone (R-DVS-23)."""

    def _count_changes(self, base, versions):
        return super()._count_changes(base, dict(list(versions.items())[:1]))


class MaintenanceIsChange(Engine):
    """Takes each new version for a change (trap 29)."""

    def __init__(self, **options):
        super().__init__(policy=EnginePolicy(count_changes=self._count), **options)

    def _count(self, sources):
        return len(sources) > 0, count_changes(sources)[1]


class ReplacementNotSeen(Engine):
    """Goes on with a source that has taken the place of another (R-DVS-42)."""

    def _has_other_definition(self, base, dependencies):
        return False

    def _count_changes(self, base, versions):
        known = {source: version for source, version in versions.items() if source in base.versions}
        return super()._count_changes(base, known)


class PurgeNotSeen(Engine):
    """Takes an interval that is purged for one without change (trap 32)."""

    def __init__(self, **options):
        super().__init__(policy=EnginePolicy(count_changes=self._count), **options)

    def _count(self, sources):
        try:
            return count_changes(sources)
        except Purged:
            return False, 0


class SkippedIntervalLost(Engine):
    """Takes what changed since the tick before, not since the frontier (R-DVS-31)."""

    def __init__(self, **options):
        super().__init__(policy=EnginePolicy(compute_delta=self._delta), **options)

    def _delta(self, plan, tables, backend):
        since = {}
        for source, consumed in plan.base.versions.items():
            try:
                late = tables[source].as_of(plan.data_us - TICK_US).consumed
            except LookupError:
                late = consumed
            since[source] = min(max(consumed, late), plan.versions[source])
        return compute_delta(plan._replace(base=plan.base._replace(versions=since)), tables, backend)


class NamesOfNow(Engine):
    """Binds names as of the moment at which the refresh begins (R-DVS-45)."""

    def __init__(self, **options):
        super().__init__(policy=EnginePolicy(choose_state=lambda catalog, *_: catalog.state), **options)


class ColumnsByName(Engine):
    """Takes a column that was dropped and added again for the same (trap 41)."""

    def _has_other_definition(self, base, dependencies):
        return base.dependencies.query.fingerprint != dependencies.query.fingerprint


class CommitsTwice(Engine):
    """Merges what it computed into whatever the table holds (R-DVS-38)."""

    def commit(self, staged, *, clock, wall_us, now_us):
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us >= staged.plan.data_us:
            table.frontier = table.frontier._replace(data_us=staged.plan.data_us - 1)
        plan = staged.plan._replace(base=table.frontier)
        return super().commit(staged._replace(plan=plan), clock=clock, wall_us=wall_us, now_us=now_us)


class NeverAnew(Engine):
    """Takes changes of a definition for changes of data (R-DVS-44)."""

    def _choose(self, entity, base, dependencies, versions):
        action, cause, count = super()._choose(entity, base, dependencies, versions)
        if cause is Cause.EVOLVED and base.versions.keys() == versions.keys():
            return RefreshAction.INCREMENTAL, Cause.CHANGED, 1
        return action, cause, count


# The scheduler


class UpstreamNotAwaited(Jobs):
    """Starts a table with those that it reads (R-DVS-72)."""

    def waits(self, table, data_us):
        return 0


class UpstreamFailureIgnored(Jobs):
    """Goes on below a table that failed (R-DVS-36)."""

    def not_got(self, table, data_us):
        for reader in table.downstream:
            for job in reader.jobs:
                if job.data_us == data_us:
                    job.waits -= 1
            self.start_next(reader)


class TwoAtOnce(Jobs):
    """Starts a refresh while another of the table runs (R-DVS-30)."""

    def add(self, table, data_us, trigger):
        running = table.running
        super().add(table, data_us, trigger)
        if running is not None and table.jobs[-1].waits == 0:
            self.start(table, table.jobs[-1])


class NeverAgain(Jobs):
    """Makes no attempt after one that failed (R-DVS-38)."""

    def start_retries(self):
        while self._later and self._later[0][0] <= self.now_us:
            self._later.pop(0)


class BusyNotSeen(Scheduler):
    """Plans a tick while the refresh before runs, and forgets that (R-DVS-30)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(obstacle=self._obstacle))

    def _obstacle(self, table, data_us):
        reason = obstacle(table, data_us)
        if reason is Reason.BUSY:
            table.jobs.clear()
            return obstacle(table, data_us)
        return reason


class PeriodsOfTheirOwn(Calendar):
    """Gives each table the period that it would choose (R-DVS-74)."""

    def __init__(self):
        super().__init__(choose_periods=lambda own, upstream: own)


class OffTheTicks(Scheduler):
    """Takes the time at which it looks for the tick (R-DVS-73)."""

    def _tick(self, ticks):
        self._phase_us += 1
        super()._tick(ticks)


class UpstreamNotTakenAlong(Scheduler):
    """Refreshes what a user names alone (R-DVS-07)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(refreshed_with=lambda table: [table]))


class ManualTooEarly(Scheduler):
    """Gives a user the data timestamp of the moment before (R-DVS-07)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(after_asking=lambda *times_us: after_asking(*times_us) - 1))


class ManualByItsOwnClock(Scheduler):
    """Asks nobody what a user's clock shows (R-DVS-07)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(after_asking=lambda now_us, asked_us: now_us + 1))


class ErrorsNeverReset(Scheduler):
    """Counts errors over successes (R-DVS-34)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(reset_errors=lambda table: None))


class ManualErrorsCount(Scheduler):
    """Counts errors of manual refreshes (R-DVS-34)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(respond_to_failure=self._respond))

    def _respond(self, table, event):
        if table.running.trigger is Trigger.MANUAL:
            table.running.trigger = Trigger.SCHEDULED
        return respond_to_failure(table, event)


class NeverSuspends(Scheduler):
    """Lets a table fail for ever (R-DVS-34)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(count_error=self._only_count))

    def _only_count(self, table):
        table.errors += 1
        return False


class SilenceNotHeard(Scheduler):
    """Waits for lost workers for ever (R-DVS-37)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(silence_us_max=1 << 62))


class ResumeNotHeard(Scheduler):
    """Leaves a resumed table suspended (R-DVS-35)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(resumed_with=lambda table: []))


class SuspensionNotHeard(Scheduler):
    """Schedules a table that a user suspended (R-DVS-34)."""

    def _follow_suspension(self, table, before):
        table.suspended = None


class InitialTimestampOfOne(Scheduler):
    """Starts a new table from a timestamp that one of those it reads has (R-DVS-09)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(first_timestamp=self._first_timestamp))

    def _first_timestamp(self, table):
        return max((us for source in table.upstream[:1] for us in source.timestamps()), default=None)


class NaiveStart(Scheduler):
    """Starts each new table from its creation (R-DVS-10)."""

    def __init__(self):
        super().__init__(policy=SchedulerPolicy(first_timestamp=lambda table: None))


# Clocks and tables


class WallClock(Clock):
    """Trusts the wall clock of its node (R-DVS-80)."""

    def tick(self, wall_us):
        self._logical += 1
        return Timestamp(wall_us, self._logical, self._node)


class ReadersIgnored(Clock):
    """Commits behind those who have read (R-DVS-83)."""

    def pass_over(self, data_us):
        pass


class EndNotSeen(Table):
    """Reads what was committed before a data timestamp, not at it (R-DVS-81)."""

    def as_of(self, data_us):
        return super().as_of(data_us - 1)


def engine(mutant):
    return lambda: World(engine=mutant)


def jobs(mutant):
    return lambda: World(scheduler=Scheduler(jobs=mutant()))


def calendar(mutant):
    return lambda: World(scheduler=Scheduler(calendar=mutant()))


def scheduler(mutant):
    return lambda: World(scheduler=mutant())


def clock(mutant):
    return lambda: World(clock=mutant)


def table(mutant):
    return lambda: World(table=mutant)


# Of each where it plays, and what is said of it first: the promise that it breaks, or an assertion.
MUTANTS = {
    FrontierBeforeContents: (engine, "R-DVS-02"),
    PersistedTables: (engine, "R-DVS-02"),
    NewestOfBaseTables: (engine, "R-DVS-02"),
    NoDataAlthoughChanged: (engine, "R-DVS-02"),
    MaintenanceIsChange: (engine, "R-DVS-23"),
    ReplacementNotSeen: (engine, "R-DVS-02"),
    PurgeNotSeen: (engine, "R-DVS-02"),
    SkippedIntervalLost: (engine, "R-DVS-02"),
    NamesOfNow: (engine, "R-DVS-02"),
    ColumnsByName: (engine, "R-DVS-02"),
    CommitsTwice: (engine, "R-DVS-04"),
    NeverAnew: (engine, "R-DVS-02"),
    UpstreamNotAwaited: (jobs, "R-DVS-72"),
    UpstreamFailureIgnored: (jobs, "R-DVS-72"),
    TwoAtOnce: (jobs, "R-DVS-30"),
    NeverAgain: (jobs, "R-DVS-12"),
    BusyNotSeen: (scheduler, "R-DVS-30"),
    PeriodsOfTheirOwn: (calendar, "R-DVS-74"),
    OffTheTicks: (scheduler, "R-DVS-73"),
    UpstreamNotTakenAlong: (scheduler, "R-DVS-72"),
    ManualTooEarly: (scheduler, "R-DVS-07"),
    ManualByItsOwnClock: (scheduler, "R-DVS-07"),
    ErrorsNeverReset: (scheduler, "R-DVS-34"),
    ManualErrorsCount: (scheduler, "R-DVS-34"),
    NeverSuspends: (scheduler, "R-DVS-34"),
    SilenceNotHeard: (scheduler, "R-DVS-12"),
    ResumeNotHeard: (scheduler, "R-DVS-34"),
    SuspensionNotHeard: (scheduler, "R-DVS-34"),
    InitialTimestampOfOne: (scheduler, "R-DVS-72"),
    WallClock: (clock, "the log is in the order of its timestamps"),
    ReadersIgnored: (clock, "a reader has seen that there is no such entry"),
    EndNotSeen: (table, "R-DVS-02"),
}
