"""The commit of a change to an Iceberg table: one new snapshot, or none.

Files are written first, and the last step makes them the table's: a catalog replaces its pointer, or the
next metadata file gets its name, on condition that the main branch is where the new snapshot's parent is. A
failure before it leaves the old version, and files that belong to none.
"""

import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import StaticTable
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertCurrentSchemaId,
    AssertRefSnapshotId,
    AssertTableUUID,
    SetSnapshotRefUpdate,
)

from pruning.errors import InputError
from pruning.metadata.iceberg.commits.added_files import added_data_file
from pruning.metadata.iceberg.commits.changes import CommittedChange, TableChange
from pruning.metadata.iceberg.commits.conflicts import SnapshotConflict, check_conflicts, snapshots_since
from pruning.metadata.iceberg.commits.manifests import SnapshotWriter, delete_files
from pruning.metadata.iceberg.commits.new_snapshots import CommitFiles, check_properties, write_snapshot
from pruning.metadata.iceberg.commits.position_files import sorted_positions, write_position_file
from pruning.metadata.iceberg.commits.refusals import check_address, check_writable
from pruning.metadata.iceberg.commits.snapshot_files import Manifests

_BRANCH = "main"
# Iceberg's properties of how often and after which time a writer tries again, and their defaults.
_RETRIES = ("commit.retry.num-retries", 4)
_WAIT_MS, _LONGEST_WAIT_MS = ("commit.retry.min-wait-ms", 100), ("commit.retry.max-wait-ms", 60_000)


def commit_change(table: Any, change: TableChange) -> CommittedChange:
    """Commit a change to a table, in one new snapshot of its main branch.

    Where other writers commit first, the change is tried again on what they left, as long as it still means
    the same. The files that the change adds stay where they are if it is not committed.

    Args:
        table: A `Table` of PyIceberg from a catalog, or of `hadoop_tables.open_hadoop_table`.
        change: The change.
    Raises:
        InputError: the table cannot be written, or the change does not fit it; nothing is committed.
        UncertainSnapshot: the change may have been committed.
        SnapshotConflict: other writers committed what the change should have seen, or were faster each time;
            nothing is committed.
        Exception: what the catalog or file system raises. The table has the old version, unless a catalog
            that gives no answer now completes the commit later.
    """
    if isinstance(table, StaticTable):
        raise InputError(
            f"{table.metadata_location}: the table was loaded from a metadata file alone, which cannot be "
            "replaced; load it from its catalog."
        )
    return _Commit(table.catalog.load_table(table.name()), change).run()


class UncertainSnapshot(InputError):
    """A change may be in the table, or may still get into it; the message tells what has failed."""


@dataclass(frozen=True, kw_only=True)
class _WrittenFiles:
    """The data files of a change, and its position-delete files by the data file that each concerns."""

    data: list[Any]
    deletes: Mapping[str, Any]


class _Commit:
    """One change on its way into a table, over all attempts."""

    def __init__(self, table: Any, change: TableChange) -> None:
        self._table, self._change = table, change
        self._name = ".".join(table.name())
        # The same for all attempts: if it is in the table, one of them was successful.
        self._snapshot_id: int = table.metadata.new_snapshot_id()
        self._manifests = Manifests(table)
        self._read = self._read_snapshot()
        self._entries: Mapping[str, Any] = {}
        self._passed: tuple[int, ...] = ()
        # True while the catalog may have the snapshot, so that none of its files may be deleted.
        self._is_undecided = False

    def run(self) -> CommittedChange:
        self.prepare()
        files = self._write_files()
        try:
            return self._try_repeatedly(files)
        except InputError as error:
            if self._is_undecided:
                raise UncertainSnapshot(
                    f"{error}; look whether the table has the snapshot {self._snapshot_id} before the change "
                    "is made again"
                ) from error
            delete_files(self._table.io, [entry.file_path for entry in files.deletes.values()])
            raise

    def prepare(self) -> None:
        """Check the change before anything is written."""
        check_properties(self._change.properties)
        self._check_change()
        self._entries = self._entries_read()
        self._check_conflicts()

    def _read_snapshot(self) -> Any | None:
        """Return the snapshot that the statement read; None if it read an empty table.

        Raises:
            SnapshotConflict: the table has it no longer.
        """
        number = self._change.read_snapshot
        snapshot = None if number is None else self._table.metadata.snapshot_by_id(number)
        if snapshot is None and number is not None:
            raise SnapshotConflict(
                f"{self._name}: the table has no snapshot {number}, which the statement read; run it again."
            )
        return snapshot

    def _check_change(self) -> None:
        """Check that the change fits the table's present version."""
        metadata, change = self._table.metadata, self._change
        check_writable(self._name, metadata, deletes_positions=bool(change.deleted_positions))
        provider = self._table.location_provider()
        for address in (provider.new_data_location("x"), provider.new_metadata_location("x")):
            check_address(address)
        if metadata.current_schema_id != change.schema_id and change.added_files:
            raise SnapshotConflict(
                f"{self._name}: the table's columns have changed since the statement read them; run it again."
            )
        twice = change.removed_files & change.deleted_positions.keys()
        if twice:
            raise InputError(
                f"{min(twice)}: the file is removed, so that no rows of it can be deleted too; leave out its "
                "positions."
            )

    def _entries_read(self) -> dict[str, Any]:
        """Return the entries of the data files that the change names, in the snapshot that was read."""
        change = self._change
        neighbors = {added.beside for added in change.added_files if added.beside is not None}
        paths = change.touched_files | neighbors
        entries = self._manifests.data_files_at(self._read, paths)
        missing = paths - entries.keys()
        if missing:
            raise InputError(
                f"{self._name}: snapshot {change.read_snapshot} has no data file {min(missing)}; name files "
                "as the table's metadata does."
            )
        return entries

    def _check_conflicts(self) -> frozenset[str]:
        """Check the change against the snapshots since; return its files that need not exist, and do not."""
        change = self._change
        effects = snapshots_since(self._name, self._table.metadata, change.read_snapshot, self._manifests)
        self._passed = tuple(effect.snapshot.snapshot_id for effect in effects)
        touched = {path: self._entries[path] for path in change.touched_files}
        return check_conflicts(self._name, change, touched, self._read, effects, self._manifests)

    def _write_files(self) -> _WrittenFiles:
        io, change = self._table.io, self._change
        positions = {
            path: sorted_positions(self._entries[path].data_file, rows)
            for path, rows in sorted(change.deleted_positions.items())
        }
        data = [
            added_data_file(io, self._table.metadata, added, self._entries) for added in change.added_files
        ]
        provider, prefix = self._table.location_provider(), uuid.uuid4()
        deletes = {
            path: write_position_file(
                io,
                provider.new_data_location(f"{prefix}-{number:05}-deletes.parquet"),
                self._entries[path].data_file,
                rows,
            )
            for number, (path, rows) in enumerate(positions.items())
        }
        return _WrittenFiles(data=data, deletes=deletes)

    def _try_repeatedly(self, files: _WrittenFiles) -> CommittedChange:
        attempts = 1 + max(0, _number(self._table.metadata, _RETRIES))
        for attempt in range(attempts):
            if attempt:
                _wait(self._table.metadata, attempt)
                self._load()
            self._check_change()
            committed = self._try(files, self._check_conflicts())
            if committed is not None:
                return committed
        self._check_conflicts()
        raise SnapshotConflict(
            f"{self._name}: other writers committed first in each of {attempts} attempts; try again, or set "
            f"the table's property {_RETRIES[0]!r} higher.",
            self._passed,
        )

    def _try(self, files: _WrittenFiles, gone: frozenset[str]) -> CommittedChange | None:
        """Try to commit once; None if another writer was faster."""
        changes = CommitFiles(
            added_data=files.data,
            added_deletes=[entry for path, entry in files.deletes.items() if path not in gone],
            removed=self._change.removed_files - gone,
            properties=self._change.properties,
        )
        writer = SnapshotWriter(self._table, self._snapshot_id)
        snapshot = write_snapshot(self._table, self._manifests, writer, self._snapshot_id, changes)
        self._is_undecided = True
        try:
            response = self._table.catalog.commit_table(
                self._table, _requirements(self._table.metadata), _updates(snapshot)
            )
        # An error of any class may mean that the answer was lost on its way; only the table tells.
        except Exception as error:
            self._load()
            if self._table.metadata.snapshot_by_id(self._snapshot_id) is not None:
                return self._committed_change(self._table.metadata_location)
            if isinstance(error, CommitFailedException):
                self._is_undecided = False
                writer.discard()
                return None
            # The commit may still be under way, so its files stay.
            raise
        return self._committed_change(response.metadata_location)

    def _load(self) -> None:
        self._table = self._table.catalog.load_table(self._table.name())

    def _committed_change(self, location: str) -> CommittedChange:
        return CommittedChange(snapshot_id=self._snapshot_id, metadata_location=location, passed=self._passed)


def _requirements(metadata: Any) -> tuple[Any, ...]:
    """Return the conditions of a commit: the same table and columns, and no snapshot after the parent."""
    head = metadata.current_snapshot()
    parent = None if head is None else head.snapshot_id
    return (
        AssertTableUUID(uuid=metadata.table_uuid),
        AssertCurrentSchemaId(current_schema_id=metadata.current_schema_id),
        AssertRefSnapshotId(ref=_BRANCH, snapshot_id=parent),
    )


def _updates(snapshot: Any) -> tuple[Any, ...]:
    return (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(ref_name=_BRANCH, snapshot_id=snapshot.snapshot_id, type=SnapshotRefType.BRANCH),
    )


def _wait(metadata: Any, attempt: int) -> None:
    """Wait before the next attempt: twice as long each time, and not as long as other writers do."""
    wait_ms = min(_number(metadata, _WAIT_MS) * 2 ** (attempt - 1), _number(metadata, _LONGEST_WAIT_MS))
    time.sleep(random.uniform(0.5, 1.5) * max(0, wait_ms) / 1000)


def _number(metadata: Any, setting: tuple[str, int]) -> int:
    name, default = setting
    value = metadata.properties.get(name, default)
    try:
        return int(value)
    except ValueError:
        raise InputError(f"The table's property {name!r} is {value!r}; set it to a whole number.") from None
