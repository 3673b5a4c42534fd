"""Warehouses with many definitions over the same base tables, compared after each refresh."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from as_duckdb import same_bag
from definition_sets import Definition, DefinitionGroup
from second_opinions import SecondOpinion
from spark_intervals import Intervals, full_by_spark
from warehouse_worlds import InlineDriver, WarehouseWorld, no_spark

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.on_spark.spark_backend import SparkBackend
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Contents
from dynamic_tables.warehouse.driver import Driver
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.limits import Limits
from dynamic_tables.warehouse.warehouse import Warehouse
from strategies.dynamic.base_tables import Version, WriteHistory, interval_changes
from strategies.dynamic.cases import maintain_interval
from strategies.dynamic.sql_texts import creation_text, write_text

# Python computes nothing.
NO_ROWS = Limits(full_rows=0, read_rows=0, rows_per_change=0)
# Each query runs once: code that is generated for it, and adaptive plans, take more time than they save.
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
# Refreshes that are computed at a time: while one plans, another one runs.
WORKERS = 3


class PooledDriver(Driver):
    """A driver that computes in threads, and looks for what is to be done at once."""

    def __init__(self, account: Any, **options: Any) -> None:
        super().__init__(account, poll_seconds=0.01, workers=WORKERS, **options)


@dataclass
class MaintainedTable:
    """A definition in a warehouse.

    Attributes:
        name: The name of the dynamic table.
        full: The full results in Python so far.
    """

    name: str
    definition: Definition
    full: list[Contents] = field(default_factory=list)


class DefinitionsWorld(WarehouseWorld):
    """A warehouse that maintains a group of definitions; another process, without Spark, writes to it.

    Args:
        directory: Where the warehouse is made.
        group: The definitions, and the writes to their base tables.
        spark: The session that computes everything; None: Python does.
        format: The format of the tables.
    """

    def __init__(
        self, directory: Path, group: DefinitionGroup, *, spark: Any = None, format: str = "parquet"
    ) -> None:
        self.spark = spark
        super().__init__(directory, driver=InlineDriver if spark is None else PooledDriver, format=format)
        self.writer = Warehouse(directory, no_spark, now_us=self.time)
        self.history = group.history
        self.versions: list[Version] = []
        self.tables = [
            MaintainedTable(f"d{number}", definition) for number, definition in enumerate(group.definitions)
        ]
        for table in self.history.tables:
            self.writer.sql(creation_text(table))
        for table in self.tables:
            self.writer.sql(
                f"CREATE DYNAMIC TABLE {table.name} TARGET_LAG = '1 minute' INITIALIZE = ON_SCHEDULE"
                f" AS {table.definition.text}"
            )

    def open(self) -> Warehouse:
        """The warehouse, as the process opens it that refreshes the tables."""
        if self.spark is None:
            return super().open()
        warehouse = Warehouse(self.directory, lambda: self.spark, now_us=self.time, limits=NO_ROWS)
        for name, value in SETTINGS.items():
            warehouse.account.spark().conf.set(name, value)
        return warehouse

    def check_all_intervals(self) -> None:
        """Write, refresh and compare, for each interval; then compare with Spark's full evaluation."""
        expected = self.history.versions()
        for writes, version in zip(self.history.intervals, expected, strict=True):
            for write in writes:
                self.writer.sql(write_text(write))
            self.take_version(version)
            self.drive(60)
            failures = self.events(EventKind.FAILED)
            assert not failures, [(event.identity, event.body["message"]) for event in failures]
            opinion = SecondOpinion(version)
            for table in self.tables:
                self.check_table(table, opinion)
        self.check_actions()
        if self.spark is not None:
            for table in self.tables:
                self.check_full_by_spark(table)

    def take_version(self, expected: Version) -> None:
        """Read the base tables, which have the rows that were written, with ids that the store gave them."""
        self.versions.append({identity: self.writer.contents(identity) for identity in expected})
        for identity, rows in expected.items():
            assert bag_of(self.versions[-1][identity]) == bag_of(rows), identity

    def check_table(self, table: MaintainedTable, opinion: SecondOpinion) -> None:
        """Compare a table with both ways of computing it in Python, ids included, and with DuckDB."""
        backend, query, text = BagBackend(), table.definition.query, table.definition.text
        contents = self.writer.contents(table.name)
        full = backend.full(query, self.versions[-1])
        assert exact_contents(contents) == exact_contents(full), text
        if table.full:
            changes = interval_changes(*self.versions[-2:])
            outcome = maintain_interval(query, backend, changes, dict(table.full[-1]), full)
            assert outcome.finding is None, f"{outcome}: {text}"
        theirs = opinion.rows(table.definition)
        assert theirs is None or same_bag(list(contents.values()), theirs), text
        table.full.append(full)

    def check_actions(self) -> None:
        """Refreshes after the first are incremental, or have nothing to do."""
        actions = Counter(event.body["action"] for event in self.events(EventKind.REFRESHED))
        assert actions["REINITIALIZE"] == len(self.tables)
        assert set(actions) <= {"REINITIALIZE", "INCREMENTAL", "NO_DATA"}
        assert actions["INCREMENTAL"] >= len(self.tables) * (len(self.versions) - 1) / 2

    def check_full_by_spark(self, table: MaintainedTable) -> None:
        """Compare the results of all intervals with full evaluation by Spark, ids included."""
        types = {part.identity: [field.type for field in part.fields] for part in self.history.tables}
        read = {identity: types[identity] for identity in table.definition.query.sources}
        intervals = Intervals(table.definition.query, read, self.versions, ())
        results = full_by_spark(SparkBackend(self.warehouse.account.spark()), intervals)
        assert results == list(map(exact_contents, table.full)), table.definition.text


def bag_of(contents: Contents) -> Counter[Hashable]:
    """Rows without their ids, as what no expression can tell apart."""
    return Counter(map(exact_key, contents.values()))


def exact_contents(contents: Contents) -> dict[str, Hashable]:
    """Rows by their ids, as what no expression can tell apart."""
    return {row_id: exact_key(row) for row_id, row in contents.items()}


def with_intervals(group: DefinitionGroup, count: int) -> DefinitionGroup:
    """Return a group with fewer intervals."""
    history = WriteHistory(group.history.tables, group.history.intervals[: count + 1])
    return DefinitionGroup(group.definitions, history)
