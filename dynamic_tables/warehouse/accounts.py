"""The account of a warehouse: its catalog is a log that processes share, its tables are in files."""

import json
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.ddl import Role, Statement
from dynamic_tables.catalog.entities import Entity, EntityKind
from dynamic_tables.catalog.graphs import nodes
from dynamic_tables.refreshes.accounts import AbstractAccount
from dynamic_tables.refreshes.actions import RefreshPlan, RefreshRecord, StagedRefresh
from dynamic_tables.scheduling.events import GraphChanged
from dynamic_tables.sql.binding import bind
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import Frontier, TableId, agree
from dynamic_tables.stores.arrow_rows import stored_field
from dynamic_tables.stores.formats import log_of
from dynamic_tables.stores.manifests import Layout, Manifest
from dynamic_tables.stores.parquet_table import Staged
from dynamic_tables.stores.published_tables import open_copy, publish
from dynamic_tables.warehouse import frontiers_json, statements_json
from dynamic_tables.warehouse.attached_tables import follow
from dynamic_tables.warehouse.backend import WarehouseBackend
from dynamic_tables.warehouse.database import Database, timestamp_of
from dynamic_tables.warehouse.events import EventKind, EventLog
from dynamic_tables.warehouse.limits import LIMITS, Limits
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from dynamic_tables.warehouse.timestamps import Timestamps
from pruning.errors import InputError

TABLES = "tables"


def layout_of(entity: Entity) -> Layout:
    """Return the columns of a base table as they are stored."""
    return {column.position: stored_field(column.field, short=True) for column in entity.columns}


def wall_us() -> int:
    """Return the time of this machine, in microseconds since 1970."""
    return time.time_ns() // 1000


class WarehouseAccount(AbstractAccount):
    """The account of one process that uses a warehouse.

    Attributes:
        changes: The events that other processes and this one caused, for a scheduler to take.
    """

    tables: dict[TableId, WarehouseTable]

    def __init__(
        self,
        directory: Path,
        spark: Callable[[], SparkSession],
        *,
        now_us: Callable[[], int] = wall_us,
        limits: Limits = LIMITS,
    ) -> None:
        """Open the account.

        Args:
            directory: That of the warehouse.
            spark: Returns a session, when one is needed.
            now_us: The wall clock.
            limits: The numbers of rows above which Spark computes.

        Raises:
            InputError: The directory is no warehouse.
        """
        self.backend = WarehouseBackend(spark, limits)
        super().__init__(backend=self.backend, bind=bind, log=self.write_record)
        self.directory = directory
        self.spark = spark
        self.now_us = now_us
        self.database = Database(directory)
        self.log_of_tables = log_of(self.database.setting("format"))
        self.timestamps = Timestamps(self.database)
        self.events = EventLog(self.database)
        self.changes: list[GraphChanged] = []
        # True while this process executes a statement, False while it repeats one of another process.
        self.makes_files = False
        self.catch_up()

    def create_table(self, entity: Entity, committed: Timestamp) -> WarehouseTable:
        """Return the store of a new table, whose files are made when it is first used."""
        directory = self.directory / TABLES / entity.identity
        if self.makes_files:
            # What a process left that ended before it saved its statement.
            shutil.rmtree(directory, ignore_errors=True)
        table = WarehouseTable(
            entity.identity,
            directory,
            [stored_field(column.field, short=True) for column in entity.columns],
            committed,
            log=self.log_of_tables,
            database=self.database,
            timestamps=self.timestamps,
            spark=self.spark,
            limits=self.backend.limits,
        )
        table.learn_layout(layout_of(entity))
        return table

    def apply(self, statement: Statement, *, role: Role, committed: Timestamp) -> GraphChanged:
        """Apply a statement; stores of base tables learn of other columns."""
        event = super().apply(statement, role=role, committed=committed)
        if isinstance(statement, ddl.AddColumn | ddl.DropColumn):
            entity = self.catalog.state.get(statement.name)
            self.tables[entity.identity].learn_layout(layout_of(entity))
        return event

    def clone_table(
        self, entity: Entity, original: WarehouseTable, clones: Mapping[TableId, TableId]
    ) -> WarehouseTable:
        """Return the store of a clone, with the versions that cloned tables were computed from."""
        clone = self.create_table(entity, entity.created)
        clone.columns_ever |= original.columns_ever
        if not self.makes_files:
            return clone
        present = original.files.latest().number
        frontiers = [self.tables[identity].frontier for identity in clones if identity in self.tables]
        read = [frontier.versions.get(original.identity) for frontier in frontiers if frontier is not None]
        first = min([present, *(version.number for version in read if version is not None)])
        state = original.read_frontier()
        body = None
        if state is not None:
            frontier = self.cloned_frontier(original.identity, state[0], clones)
            body = frontiers_json.to_json(frontier, columns_since=state[1])
        original.files.clone_to(clone.directory, first, body)
        if body is not None:
            clone.record(body, present)
        return clone

    def cloned_frontier(
        self, identity: TableId, frontier: Frontier, clones: Mapping[TableId, TableId]
    ) -> Frontier:
        """Return the frontier of a clone, whose sources may be clones."""
        if not clones.keys() & frontier.versions.keys():
            return frontier
        state = self.catalog.state
        dependencies = self.engine.dependencies(state, state.entities[identity])
        if agree(frontier.dependencies, dependencies):
            frontier = frontier._replace(dependencies=dependencies)
        return frontier.with_sources(clones)

    # The catalog

    def catch_up(self) -> None:
        """Apply the statements that other processes added to the catalog's log.

        Raises:
            InputError: This process applied a statement that it could not save.
        """
        count = len(self.catalog.log)
        ((saved_count,),) = self.database.rows("SELECT count(*) FROM statements")
        if count > saved_count:
            raise InputError(f"{self.database.path}: a statement was not saved: open the warehouse again")
        for number, committed, role, body in self.database.rows(
            "SELECT number, committed, role, body FROM statements WHERE number > ? ORDER BY number", count
        ):
            assert number == len(self.catalog.log) + 1, "statements are numbered one after the other"
            statement = statements_json.from_json(body)
            self.changes.append(self.apply(statement, role=role, committed=timestamp_of(committed)))

    def run(self, statement: Statement, role: Role) -> GraphChanged:
        """Execute a statement and add it to the log.

        Raises:
            InputError: The statement is refused.
        """
        with self.database.transaction() as clock:
            self.catch_up()
            self.makes_files = True
            try:
                event = self.execute(statement, clock=clock, wall_us=self.now_us(), role=role)
            finally:
                self.makes_files = False
            committed = self.catalog.last
            self.database.run(
                "INSERT INTO statements VALUES (?, ?, ?, ?)",
                len(self.catalog.log),
                json.dumps(committed),
                role,
                statements_json.to_json(statement),
            )
        self.changes.append(event)
        return event

    def take_changes(self) -> list[GraphChanged]:
        """Return the events that no scheduler took yet."""
        changes, self.changes = self.changes, []
        return changes

    # Refreshes

    def resolve(self, data_us: int) -> None:
        """Settle which version of each base table a data timestamp sees, and the catalog that it sees.

        What others write is read before.
        """
        if self.timestamps.is_resolved(data_us):
            return
        unreadable = self.follow_sources(self.sources_read())
        self.timestamps.resolve(data_us, lambda: self.heads(unreadable))

    def heads(self, unreadable: Collection[TableId]) -> dict[TableId, int | None]:
        """Return the newest version of each base table; None of those that cannot be read."""
        self.catch_up()
        entities = self.catalog.state.entities.values()
        bases = [entity.identity for entity in entities if entity.kind is EntityKind.TABLE]
        return {
            identity: None if identity in unreadable else self.tables[identity].latest.number
            for identity in bases
        }

    def sources_read(self) -> list[TableId]:
        """Return the base tables that dynamic tables read."""
        graph = nodes(self.catalog.state).values()
        return list(dict.fromkeys(base for node in graph for base in node.base))

    def follow_sources(self, identities: Iterable[TableId]) -> set[TableId]:
        """Bring tables that others write to their newest versions; return those that cannot be read."""
        unreadable = set()
        for identity in identities:
            entity = self.catalog.state.entities.get(identity)
            if entity is None or not entity.location:
                continue
            try:
                follow(self.tables[identity], entity, self.now_us)
            except (InputError, OSError, pa.ArrowException) as error:
                unreadable.add(identity)
                self.events.add(identity, EventKind.UNREADABLE, at_us=self.now_us(), message=str(error))
        return unreadable

    def begin(self, identity: TableId, data_us: int) -> RefreshPlan:
        """Begin a refresh.

        Raises:
            AlreadyRefreshed: There is nothing to do.
            RefreshFailed: The refresh is not possible.
        """
        self.resolve(data_us)
        return self.engine.begin(identity, data_us, now_us=self.now_us())

    def commit(self, staged: StagedRefresh) -> bool:
        """Commit a refresh; return False if the table has it already.

        Raises:
            RefreshFailed: The table was refreshed by others since this refresh began.
        """
        with self.database.transaction() as clock:
            now_us = self.now_us()
            return self.engine.commit(staged, clock=clock, wall_us=now_us, now_us=now_us)

    def commit_rows(self, identity: TableId, staged: Staged, parent: Manifest) -> bool:
        """Commit changes of a base table; return False if its rows or columns are others by now."""
        table = self.tables[identity]
        with self.database.transaction():
            self.catch_up()
            if list(table.head().layout) != list(parent.layout) or table.reused_names():
                return False
            return table.commit_rows(staged, parent, self.now_us)

    def publish(self, identity: TableId) -> None:
        """Bring the copies of a table to its newest version; a failure is made good by the next refresh."""
        entity = self.catalog.state.entities.get(identity)
        if entity is None or self.tables[identity].frontier is None:
            return
        for location, format in entity.copies.items():
            outcome = {"location": location}
            try:
                if not publish(self.tables[identity].files, open_copy(format, location)):
                    continue
            except Exception as error:  # a format's writer may raise anything; the table itself is right
                outcome["message"] = f"{type(error).__name__}: {error}".splitlines()[0]
            self.events.add(identity, EventKind.PUBLISHED, at_us=self.now_us(), **outcome)

    def repair(self) -> None:
        """Write to the catalog the refreshes whose writers died before they did so."""
        for entity in self.catalog.state.dynamic_tables():
            table = self.tables[entity.identity]
            data_us = table.repair()
            if data_us is not None:
                self.events.add(
                    entity.identity,
                    EventKind.REFRESHED,
                    at_us=self.now_us(),
                    data_us=data_us,
                    action="RECOVERED",
                    **self.origin_of(entity.identity),
                )

    def write_record(self, record: RefreshRecord) -> None:
        """Write a committed refresh to the log of events."""
        self.events.add(
            record.table,
            EventKind.REFRESHED,
            at_us=record.ended_us,
            data_us=record.data_us,
            action=record.action.name,
            cause=record.cause.value,
            inserted=record.inserted_count,
            deleted=record.deleted_count,
            began_us=record.began_us,
            **self.origin_of(record.table),
        )

    def origin_of(self, identity: TableId) -> dict[str, Any]:
        """Return the commit time of a table's contents, and the version of each source that they are from.

        A version of a dynamic table is named by its data timestamp.
        """
        frontier = self.tables[identity].frontier
        assert frontier is not None, "it was refreshed"
        sources = [
            [source, self.tables[source].name_of(read.number, frontier.data_us)]
            for source, read in frontier.versions.items()
        ]
        return {"committed": list(frontier.committed), "sources": sources}
