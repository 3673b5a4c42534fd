"""Accounts: a catalog, tables and an engine, and the operations of users on them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from dynamic_tables.bags.backends import Backend
from dynamic_tables.catalog.applying import Step
from dynamic_tables.catalog.ddl import Name, Privilege, Role, Statement
from dynamic_tables.catalog.entities import SYSTEM, Entity, EntityKind, State, require
from dynamic_tables.catalog.graphs import Node, affected_tables, node_of, nodes
from dynamic_tables.catalog.log import Catalog
from dynamic_tables.refreshes.actions import RefreshRecord
from dynamic_tables.refreshes.engine import Binder, Engine, stamp
from dynamic_tables.scheduling.events import GraphChanged, ManualRefresh, TableUpdate
from dynamic_tables.scheduling.tracking import TIMESTAMPS_KEPT
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.versions import Table
from dynamic_tables.values.changes import Contents, Delta
from pruning.errors import InputError


class AbstractAccount(ABC):
    """The catalog of one account, its tables in stores of any kind, and the engine that refreshes them.

    Attributes:
        tables: By identity, including dropped tables, which can be restored.
        engine: The engine that refreshes the dynamic tables.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        bind: Binder,
        log: Callable[[RefreshRecord], None] | None = None,
        engine: Callable[..., Engine] = Engine,
    ) -> None:
        """Create an empty account; a mutant passes another engine."""
        self.catalog = Catalog()
        self.tables: dict[TableId, Any] = {}
        self.engine = engine(catalog=self.catalog, tables=self.tables, backend=backend, bind=bind, log=log)

    @abstractmethod
    def create_table(self, entity: Entity, committed: Timestamp) -> Any:
        """Return the store of a new table."""

    @abstractmethod
    def clone_table(self, entity: Entity, original: Any, clones: Mapping[TableId, TableId]) -> Any:
        """Return the store of a clone, which shares the versions of its original (R-DVS-46).

        Args:
            entity: The clone.
            original: The store of the original.
            clones: The identities of the clones that the same statement made, by those of their originals.
        """

    def execute(
        self, statement: Statement, *, clock: Clock, wall_us: int, role: Role = SYSTEM
    ) -> GraphChanged:
        """Execute a statement; return the event for the scheduler.

        Raises:
            InputError: The statement is refused.
        """
        if self.catalog.last is not None:
            clock.receive(self.catalog.last)
        clock.pass_over(self.catalog.read_us)
        committed = clock.tick(wall_us)
        return self.apply(statement, role=role, committed=committed)

    def apply(self, statement: Statement, *, role: Role, committed: Timestamp) -> GraphChanged:
        """Apply the next statement of the catalog's log; return the event for the scheduler.

        Raises:
            InputError: The statement is refused.
        """
        before = self.catalog.state
        step = self.catalog.append(statement, role=role, committed=committed)
        self._create_tables(step, committed)
        return self._graph_change(before, step)

    def _create_tables(self, step: Step, committed: Timestamp) -> None:
        """Create storage for new tables."""
        named = map(step.state.find, step.names)
        new = [entity for entity in named if entity is not None and entity.identity not in self.tables]
        clones = {entity.original: entity.identity for entity in new if entity.original is not None}
        for entity in new:
            if entity.kind is EntityKind.VIEW:
                continue
            if entity.original is None:
                self.tables[entity.identity] = self.create_table(entity, committed)
            else:
                original = self.tables[entity.original]
                self.tables[entity.identity] = self.clone_table(entity, original, clones)

    def _graph_change(self, before: State, step: Step) -> GraphChanged:
        named = (before.find(name) for name in step.names)
        gone = (entity for entity in named if entity and entity.identity not in step.state.entities)
        dropped = sorted(entity.identity for entity in gone if entity.kind is EntityKind.DYNAMIC_TABLE)
        updates = tuple(
            self._table_update(node_of(step.state, entity))
            for entity in affected_tables(step.state, step.names)
        )
        return GraphChanged(updates, tuple(dropped))

    def initial_event(self) -> GraphChanged:
        """Return the event that a new scheduler has to get first."""
        updates = []
        for node in nodes(self.catalog.state).values():
            past_us = self.tables[node.table].refresh_timestamps()[-TIMESTAMPS_KEPT:-1]
            updates.append(self._table_update(node)._replace(past_us=past_us))
        return GraphChanged(tuple(updates), anew=True)

    def _table_update(self, node: Node) -> TableUpdate:
        frontier = self.tables[node.table].frontier
        since_us = max((self.tables[source].readable_from_us for source in node.base), default=0)
        return TableUpdate(node, None if frontier is None else frontier.data_us, since_us)

    def request_refresh(
        self, name: Name, *, clock: Clock, wall_us: int, role: Role = SYSTEM
    ) -> ManualRefresh:
        """Return the event for the scheduler when a role requests a refresh (R-DVS-07, R-DVS-48).

        Raises:
            InputError: There is no such dynamic table, or the role lacks the privilege.
        """
        entity = self.catalog.state.get(name)
        require(entity, role, Privilege.OPERATE)
        if entity.kind is not EntityKind.DYNAMIC_TABLE:
            raise InputError(f"{name} is a {entity.kind.value}; only dynamic tables are refreshed")
        return ManualRefresh(entity.identity, clock.tick(wall_us).physical_us)


class Account(AbstractAccount):
    """An account with tables in memory; callers pass in the clock and the time."""

    tables: dict[TableId, Table]

    def __init__(self, *, table: type[Table] = Table, **options: Any) -> None:
        """Create an empty account with the options of `AbstractAccount`; a mutant passes another table."""
        super().__init__(**options)
        self._table = table

    def create_table(self, entity: Entity, committed: Timestamp) -> Table:
        """Return an empty table."""
        return self._table(committed)

    def clone_table(self, entity: Entity, original: Table, clones: Mapping[TableId, TableId]) -> Table:
        """Return a table with the versions of its original."""
        table = original.clone()
        if table.frontier is not None:
            table.frontier = table.frontier.with_sources(clones)
        return table

    def write(self, changes: Mapping[Name, Delta], *, clock: Clock, wall_us: int) -> Timestamp:
        """Change base tables in one commit; an empty delta is maintenance (trap 29)."""
        written = {name: self._base_table(name) for name in changes}
        committed = stamp(clock, wall_us, tuple(written.values()))
        for name, delta in changes.items():
            written[name].commit(committed, delta)
        return committed

    def _base_table(self, name: Name) -> Table:
        entity = self.catalog.state.get(name)
        if entity.kind is not EntityKind.TABLE:
            raise InputError(f"{name} is a {entity.kind.value} and cannot be written")
        return self.tables[entity.identity]

    def purge(self, horizon_us: int) -> None:
        """Remove old versions of all tables, replaced before a time."""
        for table in self.tables.values():
            table.purge(horizon_us)

    def read(self, name: Name, *, role: Role = SYSTEM) -> Contents:
        """Return the present contents of a table; of a dynamic table, as of its data timestamp (R-DVS-04).

        Raises:
            InputError: The table has no contents yet (R-DVS-03), or the role lacks the privilege.
        """
        entity = self.catalog.state.get(name)
        require(entity, role, Privilege.SELECT)
        table = self.tables[entity.identity]
        if entity.kind is EntityKind.DYNAMIC_TABLE and table.frontier is None:
            raise InputError(f"{name} is not initialized yet; wait for its first refresh, or refresh it")
        return table.contents(table.latest.number)
