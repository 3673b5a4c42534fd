"""Engines that are wrong on purpose, each in one decision (`mutants.refreshes`, `mutants.accounts`).

The functions replace a decision of `EnginePolicy`; the classes are engines whose steps are wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dynamic_tables.bags.backends import Backend
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.log import Catalog
from dynamic_tables.refreshes.actions import Cause, RefreshAction, RefreshFailed, RefreshPlan, StagedRefresh
from dynamic_tables.refreshes.engine import Engine, stamp
from dynamic_tables.refreshes.policy import (
    EnginePolicy,
    NewVersions,
    choose_state,
    choose_version,
    compute_delta,
    count_changes,
)
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.scheduling.scheduler import TICK_US
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import Dependencies, Frontier, SourceVersion, TableId
from dynamic_tables.storage.staging import NO_CHANGES
from dynamic_tables.storage.stores import StoredVersion
from dynamic_tables.storage.versions import NoVersion, Purged, Table

# The state and the version that are read of a source


def names_of_now(catalog: Catalog, entity: Entity, data_us: int) -> State:
    """Names are bound as of the moment at which the refresh begins (R-DVS-45)."""
    return catalog.state


def newest_of_bases(table: Table, kind: EntityKind, data_us: int) -> StoredVersion:
    """Base tables are read as they are now."""
    return table.latest if kind is EntityKind.TABLE else choose_version(table, kind, data_us)


def by_commit_time(table: Table, kind: EntityKind, data_us: int) -> StoredVersion:
    """Dynamic tables are read as of a time."""
    return choose_version(table, EntityKind.TABLE, data_us)


def open_end(table: Table, kind: EntityKind, data_us: int) -> StoredVersion:
    """A commit of the very microsecond is not seen."""
    return choose_version(table, kind, data_us - 1 if kind is EntityKind.TABLE else data_us)


def unseen_reads(table: Table, kind: EntityKind, data_us: int) -> StoredVersion:
    """Writers do not learn what was read."""
    before_us = table.read_us
    try:
        return choose_version(table, kind, data_us)
    finally:
        table.read_us = before_us


# The changes since the last refresh


def purge_unseen(sources: Sequence[NewVersions]) -> tuple[bool, int]:
    """Changes that are not retained are none."""
    try:
        return count_changes(sources)
    except Purged:
        return False, 0


def few_are_none(sources: Sequence[NewVersions]) -> tuple[bool, int]:
    """One changed row is none."""
    changed, count = count_changes(sources)
    return changed and count > 1, count


def versions_are_changes(sources: Sequence[NewVersions]) -> tuple[bool, int]:
    """A new version is a change."""
    _, count = count_changes(sources)
    return len(sources) > 0, count


# The delta of an incremental refresh


def skip_loses_an_interval(plan: RefreshPlan, tables: Mapping[TableId, Table], backend: Backend) -> Any:
    """Changes are those of one period."""
    assert plan.base is not None, "the first refresh is not incremental"
    begins = {
        source: _one_period_ago(tables[source], old, plan.data_us)
        for source, old in plan.base.versions.items()
    }
    return compute_delta(_with_begins(plan, plan.base, begins), tables, backend)


def _one_period_ago(table: Table, old: SourceVersion, data_us: int) -> SourceVersion:
    try:
        return max(old, table.as_of(data_us - TICK_US).source_version) if table.frontier is None else old
    except LookupError:
        return old


def interval_of_one_number(plan: RefreshPlan, tables: Mapping[TableId, Table], backend: Backend) -> Any:
    """All intervals begin at the newest."""
    assert plan.base is not None, "the first refresh is not incremental"
    newest = max(consumed.committed for consumed in plan.base.versions.values())
    begins = {}
    for source, old in plan.base.versions.items():
        try:
            begins[source] = tables[source].as_of(newest.physical_us).source_version
        except (NoVersion, Purged):
            begins[source] = old
    return compute_delta(_with_begins(plan, plan.base, begins), tables, backend)


def _with_begins(plan: RefreshPlan, base: Frontier, begins: Mapping[TableId, SourceVersion]) -> RefreshPlan:
    return plan._replace(base=base._replace(versions=begins))


# Engines


class MemoryEngine(Engine):
    """An engine over tables in memory."""

    _tables: Mapping[TableId, Table]


class ReplaceUnseen(MemoryEngine):
    """A query stays bound to what it first read."""

    def __init__(self, **options: Any) -> None:
        super().__init__(policy=EnginePolicy(choose_state=self._with_dropped), **options)
        self._known: dict[TableId, Entity] = {}

    def _with_dropped(self, catalog: Catalog, entity: Entity, data_us: int) -> State:
        """Return a state in which tables that were dropped since are read as if they still existed."""
        state = choose_state(catalog, entity, data_us)
        self._known.update(state.entities)
        if self._tables[entity.identity].frontier is None:
            return state
        return replace(state, entities=dict(self._known))

    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        frontier = self._tables[entity.identity].frontier
        if frontier is None:
            return super().dependencies(state, entity)
        assert isinstance(frontier.dependencies, Dependencies), "tables in memory keep their queries"
        return frontier.dependencies


class ColumnsByPlace(MemoryEngine):
    """Columns are those of stored rows."""

    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        dependencies = super().dependencies(state, entity)
        return Dependencies(dependencies.query, frozenset(), dict.fromkeys(dependencies.layouts))


class FrontierFirst(MemoryEngine):
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


class FrontierBeforeContents(MemoryEngine):
    """Moves the frontier, and dies before the contents are there (trap 31); one commit in five."""

    commits = 0

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        self.commits += 1
        if self.commits % 5:
            return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)
        plan = staged.plan
        table = self._tables[plan.table]
        self._require_forward(table, table.frontier, plan.data_us)
        committed = stamp(clock, wall_us, (table,))
        table.commit_refresh(Frontier(plan.data_us, committed, plan.versions, plan.dependencies), NO_CHANGES)
        raise RefreshFailed(Fault.SYSTEM, "the worker died")


class CountsFirstSource(MemoryEngine):
    """Looks for changes of the first source alone (R-DVS-23)."""

    def _count_changes(self, base: Frontier, versions: Mapping[TableId, SourceVersion]) -> tuple[bool, int]:
        return super()._count_changes(base, dict(list(versions.items())[:1]))


class IgnoresReplacement(MemoryEngine):
    """Goes on with a source that has taken the place of another (R-DVS-42)."""

    def _has_other_definition(self, base: Frontier, dependencies: Dependencies) -> bool:
        return False

    def _count_changes(self, base: Frontier, versions: Mapping[TableId, SourceVersion]) -> tuple[bool, int]:
        common = {source: version for source, version in versions.items() if source in base.versions}
        return super()._count_changes(base, common)


class ColumnsByName(MemoryEngine):
    """Takes a column that was dropped and added again for the same (trap 41)."""

    def _has_other_definition(self, base: Frontier, dependencies: Dependencies) -> bool:
        return base.dependencies.key.fingerprint != dependencies.key.fingerprint


class NeverReinitializes(MemoryEngine):
    """Takes changes of a definition for changes of data (R-DVS-44)."""

    def _choose(
        self,
        entity: Entity,
        base: Frontier | None,
        dependencies: Dependencies,
        versions: Mapping[TableId, SourceVersion],
    ) -> tuple[RefreshAction, Cause, int]:
        action, cause, count = super()._choose(entity, base, dependencies, versions)
        if cause is Cause.EVOLVED and base is not None and base.versions.keys() == versions.keys():
            return RefreshAction.INCREMENTAL, Cause.CHANGED, 1
        return action, cause, count


class MergesAgain(MemoryEngine):
    """Merges what it computed into whatever the table holds (R-DVS-38)."""

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us >= staged.plan.data_us:
            table.frontier = table.frontier._replace(data_us=staged.plan.data_us - 1)
        staged = StagedRefresh(staged.plan._replace(base=table.frontier), staged.changes)
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


class AppliedTwice(MemoryEngine):
    """A commit that comes twice is done twice."""

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if table.frontier is not None and table.frontier.data_us == staged.plan.data_us:
            table.commit(stamp(clock, wall_us, (table,)), staged.changes.changes)
            return True
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


class Torn(MemoryEngine):
    """Contents come before their frontier."""

    def compute(self, plan: RefreshPlan) -> StagedRefresh:
        staged = super().compute(plan)
        table = self._tables[plan.table]
        if staged.changes.changes and plan.base is not None:
            late = table.latest.commit_time
            table.commit(
                Timestamp(max(late.physical_us, table.read_us) + 1, 0, late.node), staged.changes.changes
            )
            return StagedRefresh(plan, NO_CHANGES)
        return staged


class LastWriterWins(MemoryEngine):
    """A refresh of an old frontier is committed."""

    def compute(self, plan: RefreshPlan) -> StagedRefresh:
        table = self._tables[plan.table]
        frontier = table.frontier
        if _is_overtaken(table, plan):
            table.frontier = plan.base
        try:
            return super().compute(plan)
        finally:
            table.frontier = frontier

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        table = self._tables[staged.plan.table]
        if _is_overtaken(table, staged.plan):
            table.frontier = None
            staged = StagedRefresh(staged.plan._replace(base=None), staged.changes)
        return super().commit(staged, clock=clock, wall_us=wall_us, now_us=now_us)


def _is_overtaken(table: Table, plan: RefreshPlan) -> bool:
    """Tell whether a refresh to another timestamp was committed since this one began."""
    try:
        table.refreshed_at(plan.data_us)
    except LookupError:
        return table.frontier is not plan.base
    return False


class ErrorsAreEmpty(MemoryEngine):
    """A query that fails changes nothing."""

    def compute(self, plan: RefreshPlan) -> StagedRefresh:
        try:
            return super().compute(plan)
        except RefreshFailed as error:
            if error.fault is not Fault.USER:
                raise
            return StagedRefresh(plan, NO_CHANGES)
