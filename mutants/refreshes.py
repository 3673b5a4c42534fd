"""Engines, schedulers, clocks and backends that are wrong on purpose; each must be found by a check.

Each is the project's own with one decision replaced, as somebody might write it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.operators import KERNELS, Kernel
from dynamic_tables.catalog.graphs import Node
from dynamic_tables.maintenance.algebra import Group, Join, JoinKind, Relation, UnionAll
from dynamic_tables.maintenance.differentiation import RULES, Rule, group, net_changes, outer_join
from dynamic_tables.maintenance.plans import Changes, DeltaJoin, Moment, Recomputation, Snapshot, Sum
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.scheduling.events import Failed, Fault, Reason
from dynamic_tables.scheduling.jobs import Jobs
from dynamic_tables.scheduling.policy import SchedulerPolicy, obstacle
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.scheduling.tracking import Calendar, TrackedTable
from dynamic_tables.storage.clock import Clock, Timestamp
from mutants import refresh_engines as engines
from sim.refreshes.cloud import RefreshImplementations
from sim.refreshes.semantics import PersistedEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshMutant:
    """A wrong implementation of a scheduler, engine, clock or backend."""

    name: str
    what: str
    implementations: RefreshImplementations


# Clocks


class _WallTime(Clock):
    _passed_us = -1

    def tick(self, wall_us: int) -> Timestamp:
        self._logical += 1
        return Timestamp(max(wall_us, self._passed_us), self._logical, self._node)

    def pass_over(self, data_us: int) -> None:
        self._passed_us = max(self._passed_us, data_us + 1)


class _PassesNothing(Clock):
    def pass_over(self, data_us: int) -> None:
        return


# Schedulers


def _two_at_once(table: TrackedTable, data_us: int) -> Reason | None:
    reason = obstacle(table, data_us)
    if table.jobs and reason is not None:
        table.jobs.clear()
    return obstacle(table, data_us)


class _WaitsForNothing(Jobs):
    def waits(self, table: TrackedTable, data_us: int) -> int:
        return 0


class _ForgetsWhoWaits(Jobs):
    def not_got(self, table: TrackedTable, data_us: int) -> None:
        return


class _OwnPeriods(Calendar):
    def _choose_periods(self, tables: list[TrackedTable]) -> None:
        super()._choose_periods(tables)
        for table in tables:
            table.period = table.own


class _SuspendedToo(Calendar):
    def _settle_group(self, tables: list[TrackedTable]) -> None:
        hidden = {table: table.suspended for table in tables}
        for table in tables:
            table.suspended = None
        super()._settle_group(tables)
        for table, reason in hidden.items():
            table.suspended = reason


class _OffTheGrid(Calendar):
    def due(self, ticks: int) -> Any:
        return super().due(ticks + 1)


def _manual_alone(table: TrackedTable) -> list[TrackedTable]:
    return [table]


def _never_resets(table: TrackedTable) -> None:
    return


def _never_counts(table: TrackedTable) -> bool:
    return False


class _SystemFaultsCount(Scheduler):
    def _handle_failed(self, event: Failed) -> None:
        table = self._tables.get(event.table)
        if table is not None and event.fault is Fault.SYSTEM and table.running is not None:
            self._count_error(table)
        super()._handle_failed(event)


class _Blind(Scheduler):
    def _watch(self) -> None:
        return


class _DeafToFailures(Scheduler):
    def _handle_failed(self, event: Failed) -> None:
        if event.fault is not Fault.SYSTEM:
            super()._handle_failed(event)

    def _watch(self) -> None:
        return


class _AnyAttempt(Scheduler):
    def _handle_failed(self, event: Failed) -> None:
        table = self._tables.get(event.table)
        job = table.running if table else None
        if job is not None:
            event = event._replace(data_us=job.data_us, attempt=job.attempt)
        super()._handle_failed(event)


def _newest_of_any(table: TrackedTable) -> int | None:
    timestamps = [data_us for source in table.upstream for data_us in source.timestamps()]
    return max((data_us for data_us in timestamps if data_us >= 0), default=None)


class _StaysSuspended(Scheduler):
    def _follow_suspension(self, table: TrackedTable, before: Node | None) -> None:
        if before is None or table.node.suspended is not None:
            super()._follow_suspension(table, before)


# Backends


def _inner(rule: Callable[[Join], Changes]) -> Rule:
    return lambda relation: rule(relation) if relation.kind is JoinKind.INNER else outer_join(relation)


def _old_and_old(relation: Join) -> Changes:
    left, right = relation.left, relation.right
    return Sum(
        (
            DeltaJoin(relation, net_changes(left), Snapshot(right, Moment.BEFORE)),
            DeltaJoin(relation, Snapshot(left, Moment.BEFORE), net_changes(right)),
        )
    )


def _without_null_group(relation: Group) -> Changes:
    plan = group(relation)
    if not isinstance(plan, Recomputation):
        return plan
    before = tuple(replace(rows, nulls_of=Sum(())) for rows in plan.before)
    return replace(plan, before=before, after=tuple(replace(rows, nulls_of=Sum(())) for rows in plan.after))


def _without_branches(relation: UnionAll) -> Kernel:
    return lambda *branches: [pair for rows in branches for pair in rows]


def _with_rule(operator: type[Relation], rule: Rule) -> Callable[[], BagBackend]:
    return lambda: BagBackend(rules={**RULES, operator: rule})


def _mutant(name: str, what: str, **implementations: Any) -> RefreshMutant:
    return RefreshMutant(name=name, what=what, implementations=RefreshImplementations(**implementations))


def _engine(name: str, engine: type[Engine]) -> RefreshMutant:
    return _mutant(name, engine.__doc__ or "", engine=engine)


def _with_jobs(jobs: type[Jobs]) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(jobs=jobs(), **options)


def _with_policy(**decisions: Any) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(policy=SchedulerPolicy(**decisions), **options)


def _with_calendar(calendar: type[Calendar]) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(calendar=calendar(), **options)


MUTANTS: Mapping[str, RefreshMutant] = {
    mutant.name: mutant
    for mutant in (
        _mutant("persisted tables", "A table reads what those upstream hold now.", engine=PersistedEngine),
        _engine("newest of base tables", engines.NewestOfBases),
        _engine("upstream by commit time", engines.ByCommitTime),
        _engine("open interval", engines.OpenEnd),
        _engine("reads leave no mark", engines.UnseenReads),
        _engine("frontier before commit", engines.FrontierFirst),
        _engine("skip loses an interval", engines.SkipLosesAnInterval),
        _engine("purge unseen", engines.PurgeUnseen),
        _engine("replace unseen", engines.ReplaceUnseen),
        _engine("NO_DATA although changed", engines.FewAreNone),
        _engine("maintenance is a change", engines.VersionsAreChanges),
        _engine("applied twice", engines.AppliedTwice),
        _engine("torn commit", engines.Torn),
        _engine("last writer wins", engines.LastWriterWins),
        _engine("columns by place", engines.ColumnsByPlace),
        _engine("one number for all", engines.IntervalOfOneNumber),
        _engine("errors are empty", engines.ErrorsAreEmpty),
        _mutant("clock going back", "Timestamps are wall times.", clock=_WallTime),
        _mutant("clock passes nothing", "A commit may come before a read.", clock=_PassesNothing),
        _mutant(
            "two refreshes at once", "A tick does not wait.", scheduler=_with_policy(obstacle=_two_at_once)
        ),
        _mutant("downstream first", "Nobody waits upstream.", scheduler=_with_jobs(_WaitsForNothing)),
        _mutant("waits for ever", "What fails is not told below.", scheduler=_with_jobs(_ForgetsWhoWaits)),
        _mutant("own periods", "Upstream's are not asked.", scheduler=_with_calendar(_OwnPeriods)),
        _mutant("off the grid", "Ticks are counted from another.", scheduler=_with_calendar(_OffTheGrid)),
        _mutant("suspension ignored", "Ticks go on.", scheduler=_with_calendar(_SuspendedToo)),
        _mutant(
            "manual without upstream",
            "One table is refreshed.",
            scheduler=_with_policy(refreshed_with=_manual_alone),
        ),
        _mutant(
            "errors never reset",
            "A success ends no row of errors.",
            scheduler=_with_policy(reset_errors=_never_resets),
        ),
        _mutant(
            "errors never counted",
            "Nothing is ever suspended.",
            scheduler=_with_policy(count_error=_never_counts),
        ),
        _mutant("system faults counted", "All faults are the user's.", scheduler=_SystemFaultsCount),
        _mutant("blind monitor", "Silence is not noticed.", scheduler=_Blind),
        _mutant("deaf to failures", "Only users' faults are heard.", scheduler=_DeafToFailures),
        _mutant("any attempt", "An old attempt's failure is the new one's.", scheduler=_AnyAttempt),
        _mutant(
            "newest of any",
            "A table begins where one upstream is.",
            scheduler=_with_policy(first_timestamp=_newest_of_any),
        ),
        _mutant("stays suspended", "Nobody is resumed.", scheduler=_StaysSuspended),
        _mutant(
            "join old and old",
            "Changes of two sides miss each other.",
            backend=_with_rule(Join, _inner(_old_and_old)),
        ),
        _mutant("NULL group dropped", "NULL is no group.", backend=_with_rule(Group, _without_null_group)),
        _mutant(
            "union without branches",
            "Rows of branches have one id.",
            backend=lambda: BagBackend(kernels={**KERNELS, UnionAll: _without_branches}),
        ),
    )
}
