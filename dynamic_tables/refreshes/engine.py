"""The refresh of one table: begin, compute, commit; a refresh that is lost in between leaves no trace.

The details are those of [D] 5.4 (R-DVS-90): (1) expand and bind the query as of the data timestamp, (2) find
the version of each source, (3) compare with the definition of the present contents, (4) choose the action,
(5) compute, (6) validate, (7) merge the changes and move the frontier in one commit.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dynamic_tables.bags.backends import Backend, FullIsCheaper
from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.graphs import referenced_entities
from dynamic_tables.catalog.log import Catalog
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.actions import (
    AlreadyRefreshed,
    Cause,
    RefreshAction,
    RefreshFailed,
    RefreshPlan,
    RefreshRecord,
    StagedRefresh,
    ValidationFailed,
)
from dynamic_tables.refreshes.policy import POLICY, EnginePolicy, NewVersions
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import Dependencies, Frontier, SourceVersion, TableId, agree
from dynamic_tables.storage.staging import NO_CHANGES, InvalidChanges, StagedChanges
from dynamic_tables.storage.stores import StoredVersion, TableStore
from dynamic_tables.storage.versions import NoVersion, Purged
from dynamic_tables.values.errors import DuplicateRowId, UserError
from dynamic_tables.values.types import Field
from pruning.errors import InputError

# Returns the columns of a table or a dynamic table in the state in which another table is bound.
Columns: TypeAlias = Callable[[Entity], tuple[Field, ...]]
# Binds the definition of a table to the meaning of its names in a state, expanding views.
Binder: TypeAlias = Callable[[State, Entity, Columns], Query]

# The action of most refreshes, its cause, and the number of changed source rows.
NOTHING = (RefreshAction.NO_DATA, Cause.UNCHANGED, 0)


class Engine:
    """The engine that refreshes the dynamic tables of one account.

    Args:
        tables: By identity, including dropped ones.
        log: Called once with each committed refresh; None: nothing is called.
        policy: The decisions on single refreshes; a mutant replaces one.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        tables: Mapping[TableId, TableStore],
        backend: Backend,
        bind: Binder,
        log: Callable[[RefreshRecord], None] | None = None,
        policy: EnginePolicy = POLICY,
    ) -> None:
        self._catalog = catalog
        self._tables = tables
        self._backend = backend
        self._bind = bind
        self._log = log
        self._policy = policy
        # For each table: a state, the meaning of the table's names there, and the bound query.
        self._bound: dict[TableId, tuple[State, tuple[object, ...], Dependencies]] = {}

    # Begin

    def begin(self, table_id: TableId, data_us: int, *, now_us: int) -> RefreshPlan:
        """Choose the action of a refresh, reading metadata only (R-DVS-23).

        Raises:
            AlreadyRefreshed: There is nothing to do.
            RefreshFailed: The refresh is not possible.
        """
        table = self._tables[table_id]
        base = table.frontier
        self._require_forward(table, base, data_us)
        state, entity = self._as_of(table_id, data_us)
        dependencies = self.dependencies(state, entity)
        versions = {
            source: self._version(state.entities[source], source, data_us).source_version
            for source in dependencies.query.sources
        }
        action, cause, changed_count = self._choose(entity, base, dependencies, versions)
        return RefreshPlan(
            table_id, data_us, action, cause, dependencies, base, versions, changed_count, now_us
        )

    def _require_forward(self, table: TableStore, base: Frontier | None, data_us: int) -> None:
        """Raise unless the data timestamp goes forward (R-DVS-04)."""
        if base is None or base.data_us < data_us:
            return
        try:
            table.refreshed_at(data_us)
        except LookupError:
            message = f"the table is at {base.data_us} us, and cannot go back to {data_us} us"
            raise RefreshFailed(Fault.SYSTEM, message) from None
        raise AlreadyRefreshed

    def _as_of(self, table_id: TableId, data_us: int) -> tuple[State, Entity]:
        """Return the catalog for a data timestamp, and the table there."""
        now = self._catalog.state.entities.get(table_id)
        if now is None:
            raise RefreshFailed(Fault.USER, "the table is dropped")
        state = self._policy.choose_state(self._catalog, now, data_us)
        return state, state.entities.get(table_id, now)

    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        """Return the bound query of a table; the same object for as long as its names have the same meaning.

        Raises:
            RefreshFailed: A name does not exist, or its table does not fit (R-DVS-41).
        """
        bound = self._bound.get(entity.identity)
        if bound is not None and bound[0] is state:
            return bound[2]
        means = self._binding_context(state, entity)
        if bound is not None and bound[1] == means:
            dependencies = bound[2]
        else:
            try:
                dependencies = dependencies_of(state, self._bind(state, entity, self.columns_in(state)))
            except InputError as error:
                raise RefreshFailed(Fault.USER, str(error)) from error
        self._bound[entity.identity] = (state, means, dependencies)
        return dependencies

    def columns_in(self, state: State) -> Columns:
        """Return a function that gives the columns of tables in a state."""

        def columns_of(entity: Entity) -> tuple[Field, ...]:
            if entity.kind is EntityKind.DYNAMIC_TABLE:
                return self.dependencies(state, entity).query.fields
            return tuple(column.field for column in entity.columns)

        return columns_of

    def _binding_context(self, state: State, entity: Entity) -> tuple[object, ...]:
        """Return all on which a bound query depends: entities, and dependencies of dynamic tables.

        The columns of a dynamic table are those of its query, which may depend on the tables below it.
        """
        entities = referenced_entities(state, entity)
        dynamic = (source for source in entities[1:] if source and source.kind is EntityKind.DYNAMIC_TABLE)
        return (*entities, *(self.dependencies(state, source) for source in dynamic))

    def _version(self, entity: Entity, source: TableId, data_us: int) -> StoredVersion:
        """Return the version that a refresh reads of a source; without one, the refresh fails (R-DVS-82)."""
        try:
            return self._policy.choose_version(self._tables[source], entity.kind, data_us)
        except (NoVersion, Purged) as error:
            message = f"{entity.name} cannot be read at {data_us} us: {error}"
            raise ValidationFailed(1, Fault.UPSTREAM, message) from error

    def _choose(
        self,
        entity: Entity,
        base: Frontier | None,
        dependencies: Dependencies,
        versions: Mapping[TableId, SourceVersion],
    ) -> tuple[RefreshAction, Cause, int]:
        """Return the action, its cause, and the number of changed source rows."""
        if base is None:
            return _full_action(entity), Cause.FIRST, 0
        if self._has_other_definition(base, dependencies):
            return _full_action(entity), Cause.EVOLVED, 0
        try:
            changed, changed_count = self._count_changes(base, versions)
        except Purged:
            return _full_action(entity), Cause.PURGED, 0
        if not changed:
            return (RefreshAction.FULL, Cause.TIME, 0) if dependencies.query.reads_time else NOTHING
        if entity.mode is Mode.FULL:
            return RefreshAction.FULL, Cause.MODE, changed_count
        return RefreshAction.INCREMENTAL, Cause.CHANGED, changed_count

    def _has_other_definition(self, base: Frontier, dependencies: Dependencies) -> bool:
        """Tell whether the contents come from another definition or other source columns (R-DVS-42 to 44)."""
        if not agree(base.dependencies, dependencies):
            return True
        for source, consumed in base.versions.items():
            if consumed.number < self._tables[source].columns_since:
                return True
        return False

    def _count_changes(self, base: Frontier, versions: Mapping[TableId, SourceVersion]) -> tuple[bool, int]:
        """Tell from metadata whether a source changed since the last refresh, and how many rows.

        Raises:
            Purged: The metadata is not retained (trap 32).
        """
        sources = []
        for source, consumed in versions.items():
            old = base.versions[source].number
            if old != consumed.number:
                sources.append(NewVersions(self._tables[source], old, consumed.number))
        return self._policy.count_changes(sources)

    # Compute

    def compute(self, plan: RefreshPlan) -> StagedRefresh:
        """Compute the changes of a refresh; nothing is written.

        Raises:
            AlreadyRefreshed: Another attempt was faster.
            RefreshFailed: The query or a validation failed on these rows, or the table has moved on.
        """
        self._require_base(plan)  # otherwise validation and contents could refer to different versions
        if plan.action is RefreshAction.NO_DATA:
            return StagedRefresh(plan, NO_CHANGES)
        try:
            if plan.action is RefreshAction.INCREMENTAL:
                try:
                    return StagedRefresh(plan, self._incremental(plan))
                except FullIsCheaper:
                    plan = plan._replace(action=RefreshAction.FULL, cause=Cause.CHEAPER)
            return StagedRefresh(plan, self._overwriting(plan))
        except (UserError, InputError) as error:
            raise RefreshFailed(Fault.USER, str(error)) from error
        except Purged as error:
            raise RefreshFailed(Fault.SYSTEM, f"purged while it was read: {error}") from error
        except InvalidChanges as error:
            raise ValidationFailed(error.validation, Fault.SYSTEM, str(error)) from error
        except DuplicateRowId as error:
            raise ValidationFailed(2, Fault.SYSTEM, str(error)) from error

    def _overwriting(self, plan: RefreshPlan) -> StagedChanges:
        """Return the query's result, staged in place of the table's contents."""
        layouts = plan.dependencies.layouts
        sources = {
            source: self._tables[source].rows(consumed.number, layouts[source])
            for source, consumed in plan.versions.items()
        }
        query = plan.dependencies.query.at(plan.data_us)
        return self._tables[plan.table].stage_whole(self._backend.full(query, sources))

    def _incremental(self, plan: RefreshPlan) -> StagedChanges:
        """Return the changes of the query's result, staged."""
        changes = self._policy.compute_delta(plan, self._tables, self._backend)
        return self._tables[plan.table].stage(changes)

    # Commit

    def commit(self, staged: StagedRefresh, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        """Commit contents and frontier at once; return False if the table has them already (R-DVS-38).

        Args:
            clock, wall_us: The source of the commit timestamp.
            now_us: The time of the commit, on the clock on which the refresh began.

        Raises:
            RefreshFailed: The table was refreshed by others since this refresh began.
        """
        plan = staged.plan
        table = self._tables[plan.table]
        try:
            self._require_base(plan)
        except AlreadyRefreshed:
            return False
        # A commit comes after everything it was computed from, even if this node's clock is far behind.
        clock.pass_over(plan.data_us)
        for consumed in plan.versions.values():
            clock.receive(consumed.committed)
        committed = stamp(clock, wall_us, (table,))
        frontier = Frontier(plan.data_us, committed, plan.versions, plan.dependencies)
        table.commit_refresh(frontier, staged.changes)
        if self._log is not None:
            self._log(self._record_of(staged, now_us))
        return True

    def _require_base(self, plan: RefreshPlan) -> None:
        """Raise unless the table is as it was when the refresh began."""
        table = self._tables[plan.table]
        if table.frontier is not plan.base:
            self._require_forward(table, table.frontier, plan.data_us)
            raise RefreshFailed(Fault.SYSTEM, "another refresh was committed since this one began")

    def _record_of(self, staged: StagedRefresh, ended_us: int) -> RefreshRecord:
        plan, changes = staged
        return RefreshRecord(
            table=plan.table,
            data_us=plan.data_us,
            action=plan.action,
            cause=plan.cause,
            inserted_count=changes.inserted_count,
            deleted_count=changes.deleted_count,
            began_us=plan.began_us,
            ended_us=ended_us,
        )


def _full_action(entity: Entity) -> RefreshAction:
    return RefreshAction.FULL if entity.mode is Mode.FULL else RefreshAction.REINITIALIZE


def stamp(clock: Clock, wall_us: int, tables: tuple[TableStore, ...]) -> Timestamp:
    """Return a commit timestamp above the tables' versions and everything read of them (R-DVS-83)."""
    for table in tables:
        clock.receive(table.latest.source_version.committed)
        clock.pass_over(table.read_us)
    return clock.tick(wall_us)


def dependencies_of(state: State, query: Query) -> Dependencies:
    """Return the dependencies of a query that was bound in a state."""
    columns = {source: state.entities[source].columns for source in query.sources}
    used = frozenset(
        (source, column.field.name, column.position)
        for source in query.sources
        for column in columns[source]
        if column.field.name in query.used_columns[source]
    )
    return Dependencies(query, used, {source: layout(state.entities[source]) for source in query.sources})


def layout(entity: Entity) -> tuple[int, ...] | None:
    """Return the positions of a table's columns in its stored rows; None: as stored."""
    return tuple(column.position for column in entity.columns) if entity.altered else None
