"""Engines, schedulers, clocks and backends that are wrong on purpose: what no check finds is not checked.

Each is the project's own with one decision replaced, as somebody might write it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dynamic_tables.actions import Plan, RefreshFailed, Staged
from dynamic_tables.algebra import Group, Join, JoinKind, Relation, UnionAll
from dynamic_tables.bag_backend import BagBackend
from dynamic_tables.bags import KERNELS, Kernel
from dynamic_tables.changes import Delta
from dynamic_tables.clock import Clock, Timestamp
from dynamic_tables.differentiation import RULES, Rule, group, netted, outer_join
from dynamic_tables.entities import Entity, Kind, State
from dynamic_tables.events import Failed, Fault
from dynamic_tables.frontiers import Consumed, Dependencies, Frontier, TableId
from dynamic_tables.graphs import Node
from dynamic_tables.jobs import Jobs
from dynamic_tables.plans import Changes, Moment, Paired, Recomputed, Snapshot, Sum
from dynamic_tables.refreshing import Engine, stamp
from dynamic_tables.scheduling import TICK_US, Scheduler
from dynamic_tables.tracking import Calendar, Tracked
from dynamic_tables.versions import NoVersion, Purged, Version
from sim.refreshes.cloud import Cast
from sim.refreshes.semantics import PersistedEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something wrong, and who plays it."""

    name: str
    what: str
    cast: Cast


# Engines


class _NewestOfBases(Engine):
    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        if entity.kind is Kind.TABLE:
            return self._tables[source].latest
        return super()._version(entity, source, data_us)


class _ByCommitTime(Engine):
    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        return super()._version(replace(entity, kind=Kind.TABLE), source, data_us)


class _OpenEnd(Engine):
    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        if entity.kind is Kind.TABLE:
            return super()._version(entity, source, data_us - 1)
        return super()._version(entity, source, data_us)


class _UnseenReads(Engine):
    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        table = self._tables[source]
        before_us = table.read_us
        try:
            return super()._version(entity, source, data_us)
        finally:
            table.read_us = before_us


class _FrontierFirst(Engine):
    def begin(self, table_id: TableId, data_us: int, *, now_us: int) -> Plan:
        plan = super().begin(table_id, data_us, now_us=now_us)
        table = self._tables[table_id]
        if plan.base is not None:
            table.frontier = Frontier(data_us, plan.base.committed, plan.versions, plan.dependencies)
        return plan

    def commit(self, staged: Staged, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us == staged.plan.data_us:
            table.frontier = staged.plan.base
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


class _SkipLosesAnInterval(Engine):
    def _incremental(self, plan: Plan) -> Delta:
        assert plan.base is not None, "the first refresh is not incremental"
        begins = {
            source: self._since(source, old, plan.data_us) for source, old in plan.base.versions.items()
        }
        return super()._incremental(plan._replace(base=plan.base._replace(versions=begins)))

    def _since(self, source: TableId, old: Consumed, data_us: int) -> Consumed:
        table = self._tables[source]
        try:
            return max(old, table.as_of(data_us - TICK_US).consumed) if table.frontier is None else old
        except LookupError:
            return old


class _PurgeUnseen(Engine):
    def _changed(self, base: Frontier, versions: Mapping[TableId, Consumed]) -> tuple[bool, int]:
        try:
            return super()._changed(base, versions)
        except Purged:
            return False, 0


class _ReplaceUnseen(Engine):
    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        frontier = self._tables[entity.identity].frontier
        return super().dependencies(state, entity) if frontier is None else frontier.dependencies


class _FewAreNone(Engine):
    def _changed(self, base: Frontier, versions: Mapping[TableId, Consumed]) -> tuple[bool, int]:
        changed, count = super()._changed(base, versions)
        return changed and count > 1, count


class _VersionsAreChanges(Engine):
    def _changed(self, base: Frontier, versions: Mapping[TableId, Consumed]) -> tuple[bool, int]:
        _, count = super()._changed(base, versions)
        return any(base.versions[source] != consumed for source, consumed in versions.items()), count


class _AppliedTwice(Engine):
    def commit(self, staged: Staged, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us == staged.plan.data_us:
            table.commit(stamp(clock, wall_us, (table,)), staged.changes)
            return True
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


class _Torn(Engine):
    def compute(self, plan: Plan) -> Staged:
        staged = super().compute(plan)
        table = self._tables[plan.table]
        if staged.changes and plan.base is not None:
            late = table.latest.committed
            table.commit(Timestamp(max(late.physical_us, table.read_us) + 1, 0, late.node), staged.changes)
            return Staged(plan, ())
        return staged


class _LastWriterWins(Engine):
    def commit(self, staged: Staged, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        frontier = self._tables[staged.plan.table].frontier
        return super().commit(
            Staged(staged.plan._replace(base=frontier), staged.changes),
            clock=clock,
            wall_us=wall_us,
            now_us=now_us,
        )


class _ColumnsByPlace(Engine):
    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        found = super().dependencies(state, entity)
        return Dependencies(found.query, frozenset(), dict.fromkeys(found.layouts))


class _IntervalOfOneNumber(Engine):
    def _incremental(self, plan: Plan) -> Delta:
        assert plan.base is not None, "the first refresh is not incremental"
        newest = max(consumed.committed for consumed in plan.base.versions.values())
        begins = {}
        for source, old in plan.base.versions.items():
            try:
                begins[source] = self._tables[source].as_of(newest.physical_us).consumed
            except (NoVersion, Purged):
                begins[source] = old
        return super()._incremental(plan._replace(base=plan.base._replace(versions=begins)))


class _ErrorsAreEmpty(Engine):
    def compute(self, plan: Plan) -> Staged:
        try:
            return super().compute(plan)
        except RefreshFailed as error:
            if error.fault is not Fault.USER:
                raise
            return Staged(plan, ())


# Clocks


class _WallTime(Clock):
    def tick(self, wall_us: int) -> Timestamp:
        self._physical_us, self._logical = wall_us, self._logical + 1
        return Timestamp(wall_us, self._logical, self._node)


class _PassesNothing(Clock):
    def pass_over(self, data_us: int) -> None:
        return


# Schedulers


class _TwoAtOnce(Scheduler):
    def _obstacle(self, table: Tracked, data_us: int) -> Any:
        reason = super()._obstacle(table, data_us)
        if table.jobs and reason is not None:
            table.jobs.clear()
        return super()._obstacle(table, data_us)


class _WaitsForNothing(Jobs):
    def waits(self, table: Tracked, data_us: int) -> int:
        return 0


class _ForgetsWhoWaits(Jobs):
    def not_got(self, table: Tracked, data_us: int) -> None:
        return


class _OwnPeriods(Calendar):
    def _choose_periods(self, tables: list[Tracked]) -> None:
        super()._choose_periods(tables)
        for table in tables:
            table.period = table.own


class _SuspendedToo(Calendar):
    def _settle_group(self, tables: list[Tracked]) -> None:
        hidden = {table: table.suspended for table in tables}
        for table in tables:
            table.suspended = None
        super()._settle_group(tables)
        for table, reason in hidden.items():
            table.suspended = reason


class _OffTheGrid(Calendar):
    def due(self, ticks: int) -> Any:
        return super().due(ticks + 1)


class _ManualAlone(Scheduler):
    def _refreshed_with(self, table: Tracked) -> list[Tracked]:
        return [table]


class _NeverResets(Scheduler):
    def _reset_errors(self, table: Tracked) -> None:
        return


class _NeverCounts(Scheduler):
    def _count_error(self, table: Tracked) -> None:
        return


class _SystemFaultsCount(Scheduler):
    def _failed(self, event: Failed) -> None:
        table = self._tables.get(event.table)
        if table is not None and event.fault is Fault.SYSTEM and table.running is not None:
            self._count_error(table)
        super()._failed(event)


class _Blind(Scheduler):
    def _watch(self) -> None:
        return


class _DeafToFailures(Scheduler):
    def _failed(self, event: Failed) -> None:
        if event.fault is not Fault.SYSTEM:
            super()._failed(event)

    def _watch(self) -> None:
        return


class _AnyAttempt(Scheduler):
    def _failed(self, event: Failed) -> None:
        table = self._tables.get(event.table)
        job = table.running if table else None
        if job is not None:
            event = event._replace(data_us=job.data_us, attempt=job.attempt)
        super()._failed(event)


class _NewestOfAny(Scheduler):
    def _initial_timestamp(self, table: Tracked) -> int | None:
        known = [data_us for source in table.upstream for data_us in source.timestamps()]
        return max((one for one in known if one >= 0), default=None)


class _StaysSuspended(Scheduler):
    def _follow_suspension(self, table: Tracked, before: Node | None) -> None:
        if before is None or table.node.suspended is not None:
            super()._follow_suspension(table, before)


# Backends


def _inner(rule: Callable[[Join], Changes]) -> Rule:
    return lambda relation: rule(relation) if relation.kind is JoinKind.INNER else outer_join(relation)


def _old_and_old(relation: Join) -> Changes:
    left, right = relation.left, relation.right
    return Sum(
        (
            Paired(relation, netted(left), Snapshot(right, Moment.BEFORE)),
            Paired(relation, Snapshot(left, Moment.BEFORE), netted(right)),
        )
    )


def _without_null_group(relation: Group) -> Changes:
    plan = group(relation)
    if not isinstance(plan, Recomputed):
        return plan
    before = tuple(replace(one, nulls_of=Sum(())) for one in plan.before)
    return replace(plan, before=before, after=tuple(replace(one, nulls_of=Sum(())) for one in plan.after))


def _without_branches(relation: UnionAll) -> Kernel:
    return lambda *branches: [pair for rows in branches for pair in rows]


def _with_rule(operator: type[Relation], rule: Rule) -> Callable[[], BagBackend]:
    return lambda: BagBackend(rules={**RULES, operator: rule})


def _play(name: str, what: str, **cast: Any) -> Flaw:
    return Flaw(name=name, what=what, cast=Cast(**cast))


def _with_jobs(jobs: type[Jobs]) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(jobs=jobs(), **options)


def _with_calendar(calendar: type[Calendar]) -> Callable[..., Scheduler]:
    return lambda **options: Scheduler(calendar=calendar(), **options)


FLAWS: Mapping[str, Flaw] = {
    flaw.name: flaw
    for flaw in (
        _play("persisted tables", "A table reads what those upstream hold now.", engine=PersistedEngine),
        _play("newest of base tables", "Base tables are read as they are now.", engine=_NewestOfBases),
        _play("upstream by commit time", "Dynamic tables are read as of a time.", engine=_ByCommitTime),
        _play("open interval", "A commit of the very microsecond is not seen.", engine=_OpenEnd),
        _play("reads leave no mark", "Writers do not learn what was read.", engine=_UnseenReads),
        _play("frontier before commit", "The frontier moves when a refresh begins.", engine=_FrontierFirst),
        _play("skip loses an interval", "Changes are those of one period.", engine=_SkipLosesAnInterval),
        _play("purge unseen", "Changes that are not retained are none.", engine=_PurgeUnseen),
        _play("replace unseen", "A query stays bound to what it first read.", engine=_ReplaceUnseen),
        _play("NO_DATA although changed", "One changed row is none.", engine=_FewAreNone),
        _play("maintenance is a change", "A new version is a change.", engine=_VersionsAreChanges),
        _play("applied twice", "A commit that comes twice is done twice.", engine=_AppliedTwice),
        _play("torn commit", "Contents come before their frontier.", engine=_Torn),
        _play("last writer wins", "A refresh of an old frontier is committed.", engine=_LastWriterWins),
        _play("columns by place", "Columns are those of stored rows.", engine=_ColumnsByPlace),
        _play("one number for all", "All intervals begin at the newest.", engine=_IntervalOfOneNumber),
        _play("errors are empty", "A query that fails changes nothing.", engine=_ErrorsAreEmpty),
        _play("clock going back", "Timestamps are wall times.", clock=_WallTime),
        _play("clock passes nothing", "A commit may come before a read.", clock=_PassesNothing),
        _play("two refreshes at once", "A tick does not wait.", scheduler=_TwoAtOnce),
        _play("downstream first", "Nobody waits upstream.", scheduler=_with_jobs(_WaitsForNothing)),
        _play("waits for ever", "What fails is not told below.", scheduler=_with_jobs(_ForgetsWhoWaits)),
        _play("own periods", "Upstream's are not asked.", scheduler=_with_calendar(_OwnPeriods)),
        _play("off the grid", "Ticks are counted from another.", scheduler=_with_calendar(_OffTheGrid)),
        _play("suspension ignored", "Ticks go on.", scheduler=_with_calendar(_SuspendedToo)),
        _play("manual without upstream", "One table is refreshed.", scheduler=_ManualAlone),
        _play("errors never reset", "A success ends no row of errors.", scheduler=_NeverResets),
        _play("errors never counted", "Nothing is ever suspended.", scheduler=_NeverCounts),
        _play("system faults counted", "All faults are the user's.", scheduler=_SystemFaultsCount),
        _play("blind monitor", "Silence is not noticed.", scheduler=_Blind),
        _play("deaf to failures", "Only users' faults are heard.", scheduler=_DeafToFailures),
        _play("any attempt", "An old attempt's failure is the new one's.", scheduler=_AnyAttempt),
        _play("newest of any", "A table begins where one upstream is.", scheduler=_NewestOfAny),
        _play("stays suspended", "Nobody is resumed.", scheduler=_StaysSuspended),
        _play(
            "join old and old",
            "Changes of two sides miss each other.",
            backend=_with_rule(Join, _inner(_old_and_old)),
        ),
        _play("NULL group dropped", "NULL is no group.", backend=_with_rule(Group, _without_null_group)),
        _play(
            "union without branches",
            "Rows of branches have one id.",
            backend=lambda: BagBackend(kernels={**KERNELS, UnionAll: _without_branches}),
        ),
    )
}
