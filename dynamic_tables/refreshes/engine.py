"""The refresh of one table: begin, compute, commit; between any two it may be lost without a trace.

Steps are those of [D] 5.4 (R-DVS-90): (1) expand and bind the query as of the data timestamp, (2) find the
version of each source, (3) compare with what the contents were computed by, (4) choose the action,
(5) compute, (6) validate, (7) merge and move the frontier in one commit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from dynamic_tables.bags.backends import Backend
from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import Entity, Kind, State
from dynamic_tables.catalog.graphs import meaning
from dynamic_tables.catalog.log import Catalog
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.actions import (
    AlreadyRefreshed,
    Cause,
    Committed,
    Plan,
    RefreshAction,
    RefreshFailed,
    Staged,
    ValidationFailed,
)
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import Consumed, Dependencies, Frontier, TableId
from dynamic_tables.storage.netting import difference, reshaped, reshaped_delta
from dynamic_tables.storage.versions import NoVersion, Purged, Table, Version
from dynamic_tables.values.changes import Action, Contents, Delta
from dynamic_tables.values.errors import DuplicateRowId, UserError
from dynamic_tables.values.types import Field
from pruning.errors import InputError

# The columns of a table or a dynamic table in the state in which another is bound.
Columns: TypeAlias = Callable[[Entity], tuple[Field, ...]]
# Binds the definition of a table to what its names mean in a state, with views expanded.
Binder: TypeAlias = Callable[[State, Entity, Columns], Query]

# What most refreshes do, and why, and how many rows of sources changed.
NOTHING = (RefreshAction.NO_DATA, Cause.UNCHANGED, 0)


@dataclass(frozen=True)
class TableInterval:
    """One source over one interval, as backends ask for it.

    Attributes:
        positions: Where the present columns stand in stored rows; None: as they are.
    """

    table: Table
    old: int
    new: int
    positions: tuple[int, ...] | None

    @cached_property
    def before(self) -> Contents:
        """At the old version."""
        return reshaped(self.table.contents(self.old), self.positions)

    @cached_property
    def after(self) -> Contents:
        """At the new version."""
        return reshaped(self.table.contents(self.new), self.positions)

    @cached_property
    def changes(self) -> Delta:
        """Between them, netted."""
        return reshaped_delta(self.table.changes(self.old, self.new), self.positions)


class Engine:
    """Refreshes the dynamic tables of one account.

    Args:
        tables: By identity; dropped ones too.
        log: Where each committed refresh is told, once; None: nowhere.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        tables: Mapping[TableId, Table],
        backend: Backend,
        bind: Binder,
        log: Callable[[Committed], None] | None = None,
    ) -> None:
        self._catalog = catalog
        self._tables = tables
        self._backend = backend
        self._bind = bind
        self._log = log
        # Of each table: a state, what its names mean there, and the bound query.
        self._bound: dict[TableId, tuple[State, tuple[object, ...], Dependencies]] = {}

    # Begin

    def begin(self, table_id: TableId, data_us: int, *, now_us: int) -> Plan:
        """Choose what a refresh does; metadata is all that is read (R-DVS-23).

        Raises:
            AlreadyRefreshed: There is nothing to do.
            RefreshFailed: It cannot be done.
        """
        table = self._tables[table_id]
        base = table.frontier
        self._require_forward(table, base, data_us)
        state, entity = self._as_of(table_id, data_us)
        dependencies = self.dependencies(state, entity)
        versions = {
            source: self._version(state.entities[source], source, data_us).consumed
            for source in dependencies.query.sources
        }
        action, cause, changed_count = self._choose(entity, base, dependencies, versions)
        return Plan(table_id, data_us, action, cause, dependencies, base, versions, changed_count, now_us)

    def _require_forward(self, table: Table, base: Frontier | None, data_us: int) -> None:
        """Data timestamps go forward (R-DVS-04)."""
        if base is None or base.data_us < data_us:
            return
        try:
            table.refreshed_at(data_us)
        except LookupError:
            message = f"the table is at {base.data_us} us, and cannot go back to {data_us} us"
            raise RefreshFailed(Fault.SYSTEM, message) from None
        raise AlreadyRefreshed

    def _as_of(self, table_id: TableId, data_us: int) -> tuple[State, Entity]:
        """The catalog at the data timestamp, but not before the table came; and the table there."""
        now = self._catalog.state.entities.get(table_id)
        if now is None:
            raise RefreshFailed(Fault.USER, "the table is dropped")
        created_us = now.created.physical_us
        state = self._catalog.as_of(data_us if data_us > created_us else created_us)
        return state, state.entities.get(table_id, now)

    def dependencies(self, state: State, entity: Entity) -> Dependencies:
        """The bound query of a table; the same object as long as its names mean the same.

        Raises:
            RefreshFailed: A name means nothing, or nothing that fits (R-DVS-41).
        """
        bound = self._bound.get(entity.identity)
        if bound is not None and bound[0] is state:
            return bound[2]
        means = self._means(state, entity)
        if bound is not None and bound[1] == means:
            dependencies = bound[2]
        else:
            try:
                dependencies = dependencies_of(state, self._bind(state, entity, self.columns(state)))
            except InputError as error:
                raise RefreshFailed(Fault.USER, str(error)) from error
        self._bound[entity.identity] = (state, means, dependencies)
        return dependencies

    def columns(self, state: State) -> Columns:
        """What tells the columns of tables in a state."""

        def columns_of(entity: Entity) -> tuple[Field, ...]:
            if entity.kind is Kind.DYNAMIC_TABLE:
                return self.dependencies(state, entity).query.fields
            return tuple(column.field for column in entity.columns)

        return columns_of

    def _means(self, state: State, entity: Entity) -> tuple[object, ...]:
        """All on which the bound query depends: entities and, of dynamic tables, how they are bound.

        The columns of a dynamic table are those of its query, which may be those of what it reads.
        """
        found = meaning(state, entity)
        dynamic = (source for source in found[1:] if source and source.kind is Kind.DYNAMIC_TABLE)
        return (*found, *(self.dependencies(state, source) for source in dynamic))

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        """The version of a source for a data timestamp: of a dynamic table its own (R-DVS-06, R-DVS-82)."""
        table = self._tables[source]
        try:
            if entity.kind is Kind.DYNAMIC_TABLE:
                return table.refreshed_at(data_us)
            return table.read_at(data_us)
        except (NoVersion, Purged) as error:
            message = f"{entity.name} cannot be read at {data_us} us: {error}"
            raise ValidationFailed(1, Fault.UPSTREAM, message) from error

    def _choose(
        self,
        entity: Entity,
        base: Frontier | None,
        dependencies: Dependencies,
        versions: Mapping[TableId, Consumed],
    ) -> tuple[RefreshAction, Cause, int]:
        """The action, why, and how many rows of sources changed."""
        if base is None:
            return _anew(entity), Cause.FIRST, 0
        if self._evolved(base, dependencies):
            return _anew(entity), Cause.EVOLVED, 0
        try:
            changed, changed_count = self._changed(base, versions)
        except Purged:
            return _anew(entity), Cause.PURGED, 0
        if not changed:
            return NOTHING
        if entity.mode is Mode.FULL:
            return RefreshAction.FULL, Cause.MODE, changed_count
        return RefreshAction.INCREMENTAL, Cause.CHANGED, changed_count

    def _evolved(self, base: Frontier, dependencies: Dependencies) -> bool:
        """Whether the contents were computed by another definition, or from others (R-DVS-42 to 44)."""
        if base.dependencies is not dependencies and not base.dependencies.agree_with(dependencies):
            return True
        for source, consumed in base.versions.items():
            if consumed.number < self._tables[source].columns_since:
                return True
        return False

    def _changed(self, base: Frontier, versions: Mapping[TableId, Consumed]) -> tuple[bool, int]:
        """Whether a source changed since, by metadata, and how many rows.

        Raises:
            Purged: That cannot be told any more (trap 32).
        """
        changed_count = 0
        for source, consumed in versions.items():
            old = base.versions[source].number
            if old != consumed.number:
                changed_count += self._tables[source].changed_count(old, consumed.number)
        return changed_count > 0, changed_count

    # Compute

    def compute(self, plan: Plan) -> Staged:
        """What the refresh changes; nothing is written.

        Raises:
            AlreadyRefreshed: Another attempt was faster.
            RefreshFailed: The query fails over these rows, or a validation does, or the table has moved on.
        """
        self._require_base(plan)  # else what is validated is of one version, and what is held of another
        if plan.action is RefreshAction.NO_DATA:
            return Staged(plan, ())
        try:
            if plan.action is RefreshAction.INCREMENTAL:
                return Staged(plan, self._incremental(plan))
            return Staged(plan, self._overwriting(plan))
        except (UserError, InputError) as error:
            raise RefreshFailed(Fault.USER, str(error)) from error
        except Purged as error:
            raise RefreshFailed(Fault.SYSTEM, f"purged while it was read: {error}") from error
        except DuplicateRowId as error:
            raise ValidationFailed(2, Fault.SYSTEM, str(error)) from error

    def _overwriting(self, plan: Plan) -> Delta:
        """The difference between what the table holds and what the query gives."""
        layouts = plan.dependencies.layouts
        sources = {
            source: reshaped(self._tables[source].contents(consumed.number), layouts[source])
            for source, consumed in plan.versions.items()
        }
        return difference(self._held(plan), self._backend.full(plan.dependencies.query, sources))

    def _incremental(self, plan: Plan) -> Delta:
        """The changes of the query's result, validated."""
        assert plan.base is not None, "the first refresh is not incremental"
        layouts = plan.dependencies.layouts
        sources = {
            source: TableInterval(
                self._tables[source], plan.base.versions[source].number, consumed.number, layouts[source]
            )
            for source, consumed in plan.versions.items()
        }
        changes = self._backend.changes(plan.dependencies.query, sources)
        self._validate(changes, self._held(plan))
        return changes

    def _held(self, plan: Plan) -> Contents:
        """What the table holds while it is refreshed."""
        table = self._tables[plan.table]
        return table.contents(table.latest.number)

    def _validate(self, changes: Delta, held: Contents) -> None:
        """Each id at most once with each action, and no deletion of what is not there (R-DVS-92)."""
        deleted = [change.row_id for change in changes if change.action is Action.DELETE]
        inserted = [change.row_id for change in changes if change.action is Action.INSERT]
        for ids in (deleted, inserted):
            if len(set(ids)) != len(ids):
                raise ValidationFailed(2, Fault.SYSTEM, "a delta has one row id twice with one action")
        missing = next((row_id for row_id in deleted if row_id not in held), None)
        if missing is not None:
            raise ValidationFailed(3, Fault.SYSTEM, f"a delta deletes row {missing}, which does not exist")
        repeated = next(
            (row_id for row_id in inserted if row_id in held and row_id not in set(deleted)), None
        )
        if repeated is not None:
            raise ValidationFailed(4, Fault.SYSTEM, f"a delta inserts row {repeated}, which exists")

    # Commit

    def commit(self, staged: Staged, *, clock: Clock, wall_us: int, now_us: int) -> bool:
        """Give the table its contents and its frontier, at once; False if it has them already (R-DVS-38).

        Args:
            clock, wall_us: What gives the commit timestamp.
            now_us: When that is, by the clock by which the refresh began.
        Raises:
            RefreshFailed: The table has moved on from where this refresh started.
        """
        plan = staged.plan
        table = self._tables[plan.table]
        try:
            self._require_base(plan)
        except AlreadyRefreshed:
            return False
        # A commit comes after all that it was computed from, however far behind this node's clock is.
        clock.pass_over(plan.data_us)
        for consumed in plan.versions.values():
            clock.receive(consumed.committed)
        committed = stamp(clock, wall_us, (table,))
        frontier = Frontier(plan.data_us, committed, plan.versions, plan.dependencies)
        table.commit_refresh(frontier, staged.changes)
        if self._log is not None:
            self._log(self._committed(staged, now_us))
        return True

    def _require_base(self, plan: Plan) -> None:
        """The table is as it was when the refresh began."""
        table = self._tables[plan.table]
        if table.frontier is not plan.base:
            self._require_forward(table, table.frontier, plan.data_us)
            raise RefreshFailed(Fault.SYSTEM, "another refresh was committed since this one began")

    def _committed(self, staged: Staged, ended_us: int) -> Committed:
        plan, changes = staged
        inserted_count = sum(change.action is Action.INSERT for change in changes)
        return Committed(
            table=plan.table,
            data_us=plan.data_us,
            action=plan.action,
            cause=plan.cause,
            inserted_count=inserted_count,
            deleted_count=len(changes) - inserted_count,
            began_us=plan.began_us,
            ended_us=ended_us,
        )


def _anew(entity: Entity) -> RefreshAction:
    return RefreshAction.FULL if entity.mode is Mode.FULL else RefreshAction.REINITIALIZE


def stamp(clock: Clock, wall_us: int, tables: tuple[Table, ...]) -> Timestamp:
    """A commit timestamp above those of tables, and above what was read of them (R-DVS-83)."""
    for table in tables:
        clock.receive(table.latest.consumed.committed)
        clock.pass_over(table.read_us)
    return clock.tick(wall_us)


def dependencies_of(state: State, query: Query) -> Dependencies:
    """What a query that was bound in a state depends on."""
    columns = {source: state.entities[source].columns for source in query.sources}
    used = frozenset(
        (source, column.field.name, column.position)
        for source in query.sources
        for column in columns[source]
        if column.field.name in query.used_columns[source]
    )
    return Dependencies(query, used, {source: layout(state.entities[source]) for source in query.sources})


def layout(entity: Entity) -> tuple[int, ...] | None:
    """Where the columns of a table stand in its stored rows; None: as they are."""
    return tuple(column.position for column in entity.columns) if entity.altered else None
