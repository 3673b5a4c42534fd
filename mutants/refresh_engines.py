"""Engines that are wrong on purpose, each in one decision (`mutants.refreshes`)."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.refreshes.actions import RefreshFailed, RefreshPlan, StagedRefresh
from dynamic_tables.refreshes.engine import Engine, stamp
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.scheduling.scheduler import TICK_US
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import Dependencies, Frontier, SourceVersion, TableId
from dynamic_tables.storage.versions import NoVersion, Purged, Version
from dynamic_tables.values.changes import Delta


class NewestOfBases(Engine):
    """Base tables are read as they are now."""

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        if entity.kind is EntityKind.TABLE:
            return self._tables[source].latest
        return super()._version(entity, source, data_us)


class ByCommitTime(Engine):
    """Dynamic tables are read as of a time."""

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        return super()._version(replace(entity, kind=EntityKind.TABLE), source, data_us)


class OpenEnd(Engine):
    """A commit of the very microsecond is not seen."""

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        if entity.kind is EntityKind.TABLE:
            return super()._version(entity, source, data_us - 1)
        return super()._version(entity, source, data_us)


class UnseenReads(Engine):
    """Writers do not learn what was read."""

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        table = self._tables[source]
        before_us = table.read_us
        try:
            return super()._version(entity, source, data_us)
        finally:
            table.read_us = before_us


class FrontierFirst(Engine):
    """The frontier moves when a refresh begins."""

    def begin(self, table_id: TableId, data_us: int, *, now_us: int) -> RefreshPlan:
        plan = super().begin(table_id, data_us, now_us=now_us)
        table = self._tables[table_id]
        if plan.base is not None:
            table.frontier = Frontier(data_us, plan.base.committed, plan.versions, plan.dependencies)
        return plan

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us == staged.plan.data_us:
            table.frontier = staged.plan.base
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


class SkipLosesAnInterval(Engine):
    """Changes are those of one period."""

    def _incremental(self, plan: RefreshPlan) -> Delta:
        assert plan.base is not None, "the first refresh is not incremental"
        begins = {
            source: self._since(source, old, plan.data_us) for source, old in plan.base.versions.items()
        }
        return super()._incremental(plan._replace(base=plan.base._replace(versions=begins)))

    def _since(self, source: TableId, old: SourceVersion, data_us: int) -> SourceVersion:
        table = self._tables[source]
        try:
            return max(old, table.as_of(data_us - TICK_US).consumed) if table.frontier is None else old
        except LookupError:
            return old


class PurgeUnseen(Engine):
    """Changes that are not retained are none."""

    def _count_changes(self, base: Frontier, versions: Mapping[TableId, SourceVersion]) -> tuple[bool, int]:
        try:
            return super()._count_changes(base, versions)
        except Purged:
            return False, 0


class ReplaceUnseen(Engine):
    """A query stays bound to what it first read."""

    _known: Mapping[TableId, Entity] = MappingProxyType({})

    def _as_of(self, table_id: TableId, data_us: int) -> tuple[State, Entity]:
        state, entity = super()._as_of(table_id, data_us)
        self._known = {**self._known, **state.entities}
        if self._tables[table_id].frontier is None:
            return state, entity
        # Tables that were dropped since are read as if they still existed.
        return replace(state, entities=self._known), entity

    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        frontier = self._tables[entity.identity].frontier
        return super().dependencies(state, entity) if frontier is None else frontier.dependencies


class FewAreNone(Engine):
    """One changed row is none."""

    def _count_changes(self, base: Frontier, versions: Mapping[TableId, SourceVersion]) -> tuple[bool, int]:
        changed, count = super()._count_changes(base, versions)
        return changed and count > 1, count


class VersionsAreChanges(Engine):
    """A new version is a change."""

    def _count_changes(self, base: Frontier, versions: Mapping[TableId, SourceVersion]) -> tuple[bool, int]:
        _, count = super()._count_changes(base, versions)
        return any(base.versions[source] != consumed for source, consumed in versions.items()), count


class AppliedTwice(Engine):
    """A commit that comes twice is done twice."""

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us == staged.plan.data_us:
            table.commit(stamp(clock, wall_us, (table,)), staged.changes)
            return True
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


class Torn(Engine):
    """Contents come before their frontier."""

    def compute(self, plan: RefreshPlan) -> StagedRefresh:
        staged = super().compute(plan)
        table = self._tables[plan.table]
        if staged.changes and plan.base is not None:
            late = table.latest.commit_time
            table.commit(Timestamp(max(late.physical_us, table.read_us) + 1, 0, late.node), staged.changes)
            return StagedRefresh(plan, ())
        return staged


class LastWriterWins(Engine):
    """A refresh of an old frontier is committed."""

    def _require_base(self, plan: RefreshPlan) -> None:
        if not self._overtaken(plan):
            super()._require_base(plan)

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        if self._overtaken(staged.plan):
            self._tables[staged.plan.table].frontier = None
            staged = StagedRefresh(staged.plan._replace(base=None), staged.changes)
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)

    def _overtaken(self, plan: RefreshPlan) -> bool:
        """Tell whether a refresh to another timestamp was committed since this one began."""
        table = self._tables[plan.table]
        try:
            table.refreshed_at(plan.data_us)
        except LookupError:
            return table.frontier is not plan.base
        return False


class ColumnsByPlace(Engine):
    """Columns are those of stored rows."""

    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        dependencies = super().dependencies(state, entity)
        return Dependencies(dependencies.query, frozenset(), dict.fromkeys(dependencies.layouts))


class IntervalOfOneNumber(Engine):
    """All intervals begin at the newest."""

    def _incremental(self, plan: RefreshPlan) -> Delta:
        assert plan.base is not None, "the first refresh is not incremental"
        newest = max(consumed.committed for consumed in plan.base.versions.values())
        begins = {}
        for source, old in plan.base.versions.items():
            try:
                begins[source] = self._tables[source].as_of(newest.physical_us).consumed
            except (NoVersion, Purged):
                begins[source] = old
        return super()._incremental(plan._replace(base=plan.base._replace(versions=begins)))


class ErrorsAreEmpty(Engine):
    """A query that fails changes nothing."""

    def compute(self, plan: RefreshPlan) -> StagedRefresh:
        try:
            return super().compute(plan)
        except RefreshFailed as error:
            if error.fault is not Fault.USER:
                raise
            return StagedRefresh(plan, ())
