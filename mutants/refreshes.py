"""Engines, schedulers, clocks and backends that are wrong on purpose; each must be found by a check.

Each is the project's own with one decision replaced, as somebody might write it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.operators import KERNELS, Kernel
from dynamic_tables.maintenance.algebra import Group, Join, JoinKind, Relation, UnionAll
from dynamic_tables.maintenance.differentiation import RULES, Rule, group, net_changes, outer_join
from dynamic_tables.maintenance.plans import Changes, DeltaJoin, Moment, Recomputation, Snapshot, Sum
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.refreshes.policy import EnginePolicy
from dynamic_tables.scheduling.events import Failed, Fault, Reason
from dynamic_tables.scheduling.jobs import Jobs
from dynamic_tables.scheduling.policy import FailureResponse, SchedulerPolicy, obstacle, respond_to_failure
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.scheduling.tracking import Calendar, TrackedTable
from dynamic_tables.storage.clock import Clock, Timestamp
from mutants import refresh_engines as engines
from sim.refreshes.cloud import RefreshImplementations
from sim.refreshes.semantics import persisted_engine

# No refresh of a simulated world is silent for this long.
NEVER_SILENT_US = 1 << 62


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


def _own_periods(own: Mapping[TrackedTable, int | None], upstream: Any) -> Mapping[TrackedTable, int | None]:
    return own


def _unless_dropped(table: TrackedTable) -> bool:
    return not table.dropped


class _OffTheGrid(Calendar):
    def due(self, ticks: int) -> Any:
        return super().due(ticks + 1)


def _manual_alone(table: TrackedTable) -> list[TrackedTable]:
    return [table]


def _never_resets(table: TrackedTable) -> None:
    return


def _never_counts(table: TrackedTable) -> bool:
    return False


def _count_system_faults(table: TrackedTable, event: Failed) -> FailureResponse:
    counted = FailureResponse.COUNT if event.fault is Fault.SYSTEM else FailureResponse.NONE
    return respond_to_failure(table, event) | counted


def _ignore_system_faults(table: TrackedTable, event: Failed) -> FailureResponse:
    return FailureResponse.NONE if event.fault is Fault.SYSTEM else respond_to_failure(table, event)


def _take_for_running(table: TrackedTable, event: Failed) -> FailureResponse:
    job = table.jobs[0]
    return respond_to_failure(table, event._replace(data_us=job.data_us, attempt=job.attempt))


def _newest_of_any(table: TrackedTable) -> int | None:
    timestamps = [data_us for source in table.upstream for data_us in source.timestamps()]
    return max((data_us for data_us in timestamps if data_us >= 0), default=None)


def _resume_nobody(table: TrackedTable) -> list[TrackedTable]:
    return []


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


def _engine_decision(name: str, **decision: Callable[..., Any]) -> RefreshMutant:
    (wrong,) = decision.values()
    policy = EnginePolicy(**decision)
    return _mutant(name, wrong.__doc__ or "", engine=partial(Engine, policy=policy))


def _with_jobs(jobs: type[Jobs]) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(jobs=jobs(), **options)


def _with_policy(**decisions: Any) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(policy=SchedulerPolicy(**decisions), **options)


def _with_calendar(**decisions: Any) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(calendar=Calendar(**decisions), **options)


def _off_the_grid(**options: Any) -> Scheduler:
    return Scheduler(calendar=_OffTheGrid(), **options)


MUTANTS: Mapping[str, RefreshMutant] = {
    mutant.name: mutant
    for mutant in (
        _mutant("persisted tables", "A table reads what those upstream hold now.", engine=persisted_engine),
        _engine_decision("newest of base tables", choose_version=engines.newest_of_bases),
        _engine_decision("upstream by commit time", choose_version=engines.by_commit_time),
        _engine_decision("open interval", choose_version=engines.open_end),
        _engine_decision("reads leave no mark", choose_version=engines.unseen_reads),
        _engine("frontier before commit", engines.FrontierFirst),
        _engine_decision("skip loses an interval", compute_delta=engines.skip_loses_an_interval),
        _engine_decision("purge unseen", count_changes=engines.purge_unseen),
        _engine("replace unseen", engines.ReplaceUnseen),
        _engine_decision("NO_DATA although changed", count_changes=engines.few_are_none),
        _engine_decision("maintenance is a change", count_changes=engines.versions_are_changes),
        _engine("applied twice", engines.AppliedTwice),
        _engine("torn commit", engines.Torn),
        _engine("last writer wins", engines.LastWriterWins),
        _engine("columns by place", engines.ColumnsByPlace),
        _engine_decision("one number for all", compute_delta=engines.interval_of_one_number),
        _engine("errors are empty", engines.ErrorsAreEmpty),
        _mutant("clock going back", "Timestamps are wall times.", clock=_WallTime),
        _mutant("clock passes nothing", "A commit may come before a read.", clock=_PassesNothing),
        _mutant(
            "two refreshes at once", "A tick does not wait.", scheduler=_with_policy(obstacle=_two_at_once)
        ),
        _mutant("downstream first", "Nobody waits upstream.", scheduler=_with_jobs(_WaitsForNothing)),
        _mutant("waits for ever", "What fails is not told below.", scheduler=_with_jobs(_ForgetsWhoWaits)),
        _mutant(
            "own periods", "Upstream's are not asked.", scheduler=_with_calendar(choose_periods=_own_periods)
        ),
        _mutant("off the grid", "Ticks are counted from another.", scheduler=_off_the_grid),
        _mutant("suspension ignored", "Ticks go on.", scheduler=_with_calendar(is_scheduled=_unless_dropped)),
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
        _mutant(
            "system faults counted",
            "All faults are the user's.",
            scheduler=_with_policy(respond_to_failure=_count_system_faults),
        ),
        _mutant(
            "blind monitor", "Silence is not noticed.", scheduler=_with_policy(silence_us_max=NEVER_SILENT_US)
        ),
        _mutant(
            "deaf to failures",
            "Only users' faults are heard.",
            scheduler=_with_policy(respond_to_failure=_ignore_system_faults, silence_us_max=NEVER_SILENT_US),
        ),
        _mutant(
            "any attempt",
            "An old attempt's failure is the new one's.",
            scheduler=_with_policy(respond_to_failure=_take_for_running),
        ),
        _mutant(
            "newest of any",
            "A table begins where one upstream is.",
            scheduler=_with_policy(first_timestamp=_newest_of_any),
        ),
        _mutant("stays suspended", "Nobody is resumed.", scheduler=_with_policy(resumed_with=_resume_nobody)),
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
