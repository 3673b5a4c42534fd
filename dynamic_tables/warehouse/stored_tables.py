"""The tables of a warehouse: a store whose data timestamps and refreshes are in the warehouse's catalog.

A refresh that changes rows commits them and its frontier in one manifest; one that changes none is a row of
the catalog, which counts only for the version that it names. The effective frontier is the later of the two.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import Frontier, TableId
from dynamic_tables.storage.staging import StagedChanges
from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.stores.manifests import Layout, Manifest, StoredField
from dynamic_tables.stores.parquet_intervals import ParquetInterval, VersionRows
from dynamic_tables.stores.parquet_table import ROWS_OF_FILE, ParquetTable, Staged
from dynamic_tables.stores.version_logs import VersionLog
from dynamic_tables.warehouse import frontiers_json
from dynamic_tables.warehouse.database import Database
from dynamic_tables.warehouse.events import EventKind, EventLog
from dynamic_tables.warehouse.frontiers_json import DATA_US
from dynamic_tables.warehouse.limits import Limits
from dynamic_tables.warehouse.result_files import ResultFiles
from dynamic_tables.warehouse.results import ComputedChanges, ComputedRows
from dynamic_tables.warehouse.table_versions import TableVersion, live_rows
from dynamic_tables.warehouse.timestamps import Timestamps
from pruning.errors import InputError

# More small files than this are written anew, if they have at most so many rows.
FILES_MAX, COMPACTED_MAX = 64, 5_000_000
# The number of the newest data timestamps of a table that are remembered.
REFRESHES_READ = 256


class WarehouseTable:
    """One table of a warehouse.

    Args:
        identity: The identity of the table.
        directory: The place of its files; a table is made there when it is first needed.
        columns: Those of a base table; none for a dynamic table, whose columns are those of its query.
        created: The time of its creation.
        log: The kind of log of its versions, which is that of its format.
        spark: Returns the session that reads and writes what is too much for Python.
        limits: The numbers of rows above which that is so.
    """

    def __init__(
        self,
        identity: TableId,
        directory: Path,
        columns: Sequence[StoredField],
        created: Timestamp,
        *,
        log: type[VersionLog],
        database: Database,
        timestamps: Timestamps,
        spark: Callable[[], SparkSession],
        limits: Limits,
    ) -> None:
        self.identity = identity
        self.directory = directory
        self.first_columns = columns
        self.created = created
        self.layout: Layout = dict(enumerate(columns))
        self.columns_ever: dict[int, StoredField] = dict(self.layout)
        self.log = log
        self.database = database
        self.timestamps = timestamps
        self.events = EventLog(database)
        self.spark = spark
        self.limits = limits
        # A dynamic table has the columns of its query.
        self.is_refreshed = not columns
        self.frontier_read: tuple[tuple[int, str], Frontier, int] | None = None

    @cached_property
    def files(self) -> ParquetTable:
        """The files of the table."""
        if self.log(self.directory).exists():
            return ParquetTable(self.directory, self.log)
        try:
            return ParquetTable.create(self.directory, self.first_columns, self.created, self.log)
        except InputError:
            if self.log(self.directory).exists():  # another process was faster
                return ParquetTable(self.directory, self.log)
            raise

    # Its columns

    def learn_layout(self, layout: Layout) -> None:
        """Take note of the columns that a base table has from now on."""
        self.layout = dict(layout)
        self.columns_ever |= layout

    def layout_at(self, positions: tuple[int, ...] | None) -> Layout | None:
        """Return the columns with some numbers; None: those of dynamic tables, which are the versions'."""
        if self.is_refreshed:
            return None
        numbers = range(len(self.first_columns)) if positions is None else positions
        return {number: self.columns_ever[number] for number in numbers}

    def head(self) -> Manifest:
        """Return the newest version with the columns that the next one will have."""
        latest = self.files.latest()
        if self.is_refreshed or list(latest.layout) == list(self.layout):
            return latest
        return latest.with_layout(self.layout)

    def reused_names(self) -> set[str]:
        """Return the names of new columns that are also those of dropped ones, which some files have."""
        layout = self.files.latest().layout
        new = {column.field.name for number, column in self.layout.items() if number not in layout}
        return new & set(self.head().dropped)

    def remove_dropped(self, now_us: Callable[[], int]) -> None:
        """Write the table anew if files have a dropped column of the name of a new one."""
        if self.reused_names():
            latest = self.files.latest()
            kept = {number: column for number, column in self.layout.items() if number in latest.layout}
            self.compact(now_us, latest.with_layout(kept))

    # What it is now

    @property
    def latest(self) -> TableVersion:
        """The newest version."""
        return TableVersion(self.files.latest())

    @property
    def frontier(self) -> Frontier | None:
        """The later of the frontiers that the newest manifest and the catalog have."""
        state = self.read_frontier()
        return None if state is None else state[0]

    @property
    def columns_since(self) -> int:
        """The number of the first version whose rows have the present columns."""
        state = self.read_frontier()
        return 0 if state is None else state[1]

    def read_frontier(self) -> tuple[Frontier, int] | None:
        """Return the frontier and the first version with its columns; the same object until it moves."""
        head = self.files.latest()
        bodies = [] if head.frontier is None else [json.dumps(head.frontier)]
        bodies += [
            body
            for (body,) in self.database.rows(
                "SELECT frontier FROM refreshes WHERE identity = ? AND version = ? "
                "ORDER BY data_us DESC LIMIT 1",
                self.identity,
                head.number,
            )
        ]
        if not bodies:
            return None
        body = max(bodies, key=lambda text: json.loads(text)[DATA_US])
        key = (head.number, body)
        if self.frontier_read is None or self.frontier_read[0] != key:
            values = json.loads(body)
            self.frontier_read = key, frontiers_json.from_json(values), values["columns_since"]
        return self.frontier_read[1:]

    @property
    def read_us(self) -> int:
        """The greatest data timestamp at which a table of the warehouse was read."""
        return self.timestamps.newest_us

    @property
    def readable_from_us(self) -> int:
        """The least data timestamp at which the table can be read."""
        return self.created.physical_us

    # Versions

    def read_at(self, data_us: int) -> TableVersion:
        """Return the version of a base table at a data timestamp, which no later commit will change.

        Raises:
            NoVersion: The table was created later.
            Purged: The version is not retained.
        """
        versions = self.timestamps.versions(data_us)
        number = versions.get(self.identity)
        if number is None and self.identity in versions:
            raise NoVersion("what others write could not be read then: see its history")
        if number is None:
            raise NoVersion(f"the table was created after {data_us} us")
        return TableVersion(self.files.version(number))

    def refreshed_at(self, data_us: int) -> TableVersion:
        """Return the version that the refresh with exactly this data timestamp left (R-DVS-82).

        Raises:
            NoVersion: No refresh had this timestamp.
            Purged: One had it, but its version is not retained.
        """
        rows = self.database.rows(
            "SELECT version FROM refreshes WHERE identity = ? AND data_us = ?", self.identity, data_us
        )
        if rows:
            return TableVersion(self.files.version(rows[0][0]))
        head = self.files.latest()
        if head.frontier is not None and head.frontier[DATA_US] == data_us:
            return TableVersion(head)  # its writer died before it wrote to the catalog
        raise NoVersion(f"no refresh had the data timestamp {data_us} us")

    def refreshed_until(self, data_us: int) -> TableVersion:
        """Return the version that the last refresh with at most this data timestamp left.

        Raises:
            NoVersion: No refresh that is remembered had such a timestamp.
            Purged: One had it, but its version is not retained.
        """
        query = "SELECT max(data_us) FROM refreshes WHERE identity = ? AND data_us <= ?"
        ((newest_us,),) = self.database.rows(query, self.identity, data_us)
        return self.refreshed_at(data_us if newest_us is None else newest_us)

    def name_of(self, number: int, until_us: int) -> int | str:
        """Return the name of a version in histories: its number, or of a dynamic table its data timestamp.

        A version may have several: the newest until a given one counts.
        """
        if not self.is_refreshed:
            return number
        query = "SELECT max(data_us) FROM refreshes WHERE identity = ? AND version = ? AND data_us <= ?"
        ((data_us,),) = self.database.rows(query, self.identity, number, until_us)
        if data_us is None:
            frontier = self.files.version(number).frontier
            data_us = -1 if frontier is None else frontier[DATA_US]
        return f"d{data_us}"

    def refresh_timestamps(self) -> tuple[int, ...]:
        """Return the newest data timestamps of the refreshes, oldest first."""
        rows = self.database.rows(
            "SELECT data_us FROM refreshes WHERE identity = ? ORDER BY data_us DESC LIMIT ?",
            self.identity,
            REFRESHES_READ,
        )
        frontier = self.frontier
        newest = () if frontier is None else (frontier.data_us,)
        return tuple(sorted({*(data_us for (data_us,) in rows), *newest}))

    def changed_count(self, old: int, new: int) -> int:
        """Return the number of rows changed after version `old`, up to `new`, from manifests only."""
        return 0 if old == new else self.files.changed_count(old, new)

    def rows(self, number: int, positions: tuple[int, ...] | None = None) -> VersionRows:
        """Return the rows of a version."""
        return VersionRows(self.files, self.files.version(number), self.layout_at(positions))

    def interval(self, old: int, new: int, positions: tuple[int, ...] | None) -> ParquetInterval:
        """Return the table over the interval between two versions."""
        versions = self.files.version(old), self.files.version(new)
        return ParquetInterval(self.spark, self.files, *versions, self.layout_at(positions))

    # Writing

    def stage(self, computed: ComputedChanges) -> StagedChanges:
        """Write changes of the newest version to files, validated (R-DVS-92).

        Raises:
            InvalidChanges: They do not fit its contents.
        """
        return ResultFiles(self.files, self.spark, self.limits).stage(computed)

    def stage_whole(self, computed: ComputedRows) -> StagedChanges:
        """Write other contents to files; of a few rows, only what differs.

        Raises:
            DuplicateRowId: Two rows have the same id.
        """
        return ResultFiles(self.files, self.spark, self.limits).stage_whole(computed)

    def commit_refresh(self, frontier: Frontier, staged: StagedChanges) -> None:
        """Commit a refresh, inside a transaction of the catalog.

        Raises:
            VersionExists: Another writer committed a version: nothing was changed.
        """
        self.repair()
        parent, old = self.files.latest(), self.read_frontier()
        columns_since = parent.number
        if old is not None:
            same = old[0].dependencies.key.columns == frontier.dependencies.key.columns
            columns_since = old[1] if same else parent.number + 1
        body = frontiers_json.to_json(frontier, columns_since=columns_since)
        if staged.changes:
            parent = self.files.commit(staged.changes, parent, frontier.committed, body)
        self.record(body, parent.number)

    def commit_rows(
        self,
        staged: Staged,
        parent: Manifest,
        now_us: Callable[[], int],
        source: Mapping[str, Any] | None = None,
    ) -> bool:
        """Commit changes of a base table; return False if another writer was faster.

        Args:
            staged: The changes of the version `parent`.
            parent: The newest version when they were made.
            now_us: The wall clock.
            source: The version of another program's table that the rows are from, as JSON.
        """
        with self.database.transaction() as clock:
            if self.files.latest().number != parent.number:
                return False
            clock.receive(parent.committed)
            clock.pass_over(self.timestamps.newest_us)
            committed = clock.tick(now_us())
            version = self.files.commit(staged, parent, committed, source=source).number
            body = {"version": version, "committed": list(committed)}
            self.events.add(self.identity, EventKind.WRITTEN, at_us=now_us(), **body)
        return True

    def is_scattered(self) -> bool:
        """Tell whether the rows are in many small files, which cost more to read than to write anew."""
        head = self.files.latest()
        small = [file for file in head.data if file.rows < ROWS_OF_FILE]
        return len(small) + len(head.deletions) > FILES_MAX and live_rows(head) <= COMPACTED_MAX

    def compact(self, now_us: Callable[[], int], changed: Manifest | None = None) -> bool:
        """Write small files and files with deleted rows anew; return False if another writer was faster.

        The frontier in force is committed with them, also where the catalog alone had it.

        Args:
            now_us: The wall clock.
            changed: The newest version with other columns, with which all files are written.
        """
        parent = self.files.latest() if changed is None else changed
        if self.is_refreshed and self.frontier is None:
            return True  # it has no rows yet
        files = self.files.stage_compaction(parent, all_files=changed is not None)
        with self.database.transaction() as clock:
            if self.files.latest().number != parent.number:
                return False
            state = self.read_frontier() if self.is_refreshed else None
            body = None if state is None else frontiers_json.to_json(state[0], columns_since=state[1])
            clock.receive(parent.committed)
            clock.pass_over(self.timestamps.newest_us)
            self.files.commit_compaction(files, parent, clock.tick(now_us()), body)
            self.repair()
        return True

    def repair(self) -> int | None:
        """Write the refresh of the newest manifest to the catalog, if its writer died before it did so.

        Returns:
            Its data timestamp; None if nothing was missing.
        """
        head = self.files.latest()
        if head.frontier is None:
            return None
        data_us: int = head.frontier[DATA_US]
        query = "SELECT max(data_us) FROM refreshes WHERE identity = ?"
        ((newest_us,),) = self.database.rows(query, self.identity)
        if newest_us is not None and newest_us >= data_us:
            return None
        self.record(head.frontier, head.number)
        return data_us

    def record(self, body: Any, version: int) -> None:
        """Write a refresh to the catalog."""
        self.database.run(
            "INSERT OR IGNORE INTO refreshes VALUES (?, ?, ?, ?)",
            self.identity,
            body[DATA_US],
            version,
            json.dumps(body),
        )
