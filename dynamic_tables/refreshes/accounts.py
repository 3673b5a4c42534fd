"""One account: its catalog, its tables and its engine, as users, workers and the scheduler meet them."""

from collections.abc import Callable, Mapping

from dynamic_tables.bags.backends import Backend
from dynamic_tables.catalog.applying import Step
from dynamic_tables.catalog.ddl import Name, Privilege, Role, Statement
from dynamic_tables.catalog.entities import SYSTEM, Kind, State, require
from dynamic_tables.catalog.graphs import Node, node_of, nodes, touched
from dynamic_tables.catalog.log import Catalog
from dynamic_tables.refreshes.actions import Committed
from dynamic_tables.refreshes.engine import Binder, Engine, stamp
from dynamic_tables.scheduling.events import GraphChanged, Known, ManualRefresh
from dynamic_tables.scheduling.tracking import TIMESTAMPS_KEPT
from dynamic_tables.storage.clock import Clock, Timestamp
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.versions import Table
from dynamic_tables.values.changes import Contents, Delta
from pruning.errors import InputError


class Account:
    """What is stored, and what users do with it. It keeps no time: whoever calls brings a clock.

    Attributes:
        tables: By identity; dropped ones too, which can be restored.
        engine: Refreshes the dynamic tables.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        bind: Binder,
        log: Callable[[Committed], None] | None = None,
        engine: type[Engine] = Engine,
        table: type[Table] = Table,
    ) -> None:
        """An empty account; another class of engine or table makes a broken twin."""
        self._table = table
        self.catalog = Catalog()
        self.tables: dict[TableId, Table] = {}
        self.engine = engine(catalog=self.catalog, tables=self.tables, backend=backend, bind=bind, log=log)

    def execute(
        self, statement: Statement, *, clock: Clock, wall_us: int, role: Role = SYSTEM
    ) -> GraphChanged:
        """Execute a statement; what the scheduler is to be told of it.

        Raises:
            InputError: It is refused.
        """
        before = self.catalog.state
        if self.catalog.last is not None:
            clock.receive(self.catalog.last)
        clock.pass_over(self.catalog.read_us)
        committed = clock.tick(wall_us)
        step = self.catalog.append(statement, role=role, committed=committed)
        self._make_tables(step, committed)
        return self._changed(before, step)

    def _make_tables(self, step: Step, committed: Timestamp) -> None:
        """Storage for the tables that a statement made; of clones, their originals' (R-DVS-46)."""
        named = map(step.state.find, step.names)
        new = [entity for entity in named if entity is not None and entity.identity not in self.tables]
        clones = {entity.original: entity.identity for entity in new if entity.original is not None}
        for entity in new:
            if entity.kind is Kind.VIEW:
                continue
            if entity.original is None:
                self.tables[entity.identity] = self._table(committed)
                continue
            table = self.tables[entity.identity] = self.tables[entity.original].clone()
            if table.frontier is not None:
                table.frontier = table.frontier.rewired(clones)

    def _changed(self, before: State, step: Step) -> GraphChanged:
        named = (before.find(name) for name in step.names)
        gone = (entity for entity in named if entity and entity.identity not in step.state.entities)
        dropped = sorted(entity.identity for entity in gone if entity.kind is Kind.DYNAMIC_TABLE)
        known = tuple(self._known(node_of(step.state, entity)) for entity in touched(step.state, step.names))
        return GraphChanged(known, tuple(dropped))

    def everything(self) -> GraphChanged:
        """What a scheduler that starts anew is to be told first."""
        known = []
        for node in nodes(self.catalog.state).values():
            past_us = self.tables[node.table].refresh_timestamps()[-TIMESTAMPS_KEPT:-1]
            known.append(self._known(node)._replace(past_us=past_us))
        return GraphChanged(tuple(known), anew=True)

    def _known(self, node: Node) -> Known:
        frontier = self.tables[node.table].frontier
        since_us = max((self.tables[source].readable_from_us for source in node.base), default=0)
        return Known(node, None if frontier is None else frontier.data_us, since_us)

    # Base tables

    def write(self, changes: Mapping[Name, Delta], *, clock: Clock, wall_us: int) -> Timestamp:
        """Change base tables in one commit; an empty delta is maintenance (trap 29)."""
        written = {name: self._base_table(name) for name in changes}
        committed = stamp(clock, wall_us, tuple(written.values()))
        for name, delta in changes.items():
            written[name].commit(committed, delta)
        return committed

    def _base_table(self, name: Name) -> Table:
        entity = self.catalog.state.get(name)
        if entity.kind is not Kind.TABLE:
            raise InputError(f"{name} is a {entity.kind.value} and cannot be written")
        return self.tables[entity.identity]

    def purge(self, horizon_us: int) -> None:
        """Forget what was overwritten before a time, in all tables."""
        for table in self.tables.values():
            table.purge(horizon_us)

    # Dynamic tables

    def read(self, name: Name, *, role: Role = SYSTEM) -> Contents:
        """What a table holds now: of a dynamic table, as of its data timestamp (R-DVS-04).

        Raises:
            InputError: It has no contents yet (R-DVS-03), or the role may not.
        """
        entity = self.catalog.state.get(name)
        require(entity, role, Privilege.SELECT)
        table = self.tables[entity.identity]
        if entity.kind is Kind.DYNAMIC_TABLE and table.frontier is None:
            raise InputError(f"{name} is not initialized yet; wait for its first refresh, or refresh it")
        return table.contents(table.latest.number)

    def to_refresh(self, name: Name, *, clock: Clock, wall_us: int, role: Role = SYSTEM) -> ManualRefresh:
        """What the scheduler is to be told when a role asks for a refresh (R-DVS-07, R-DVS-48).

        Raises:
            InputError: There is no such dynamic table, or the role may not.
        """
        entity = self.catalog.state.get(name)
        require(entity, role, Privilege.OPERATE)
        if entity.kind is not Kind.DYNAMIC_TABLE:
            raise InputError(f"{name} is a {entity.kind.value}; only dynamic tables are refreshed")
        return ManualRefresh(entity.identity, clock.tick(wall_us).physical_us)
