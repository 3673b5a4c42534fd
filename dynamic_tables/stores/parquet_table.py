"""A table in Parquet files with a log of versions: a store that needs no catalog.

Changed rows are written beside the older ones: inserted rows to one file, deleted rows to another. So the
changes of a version are read from these files alone. A log that keeps deletions needs no more (merge on
read), and a commit costs what changed; for another one, files with deleted rows are written anew (copy on
write).
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dynamic_tables.on_spark.key_conditions import KEYS_MAX, membership
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.netting import net
from dynamic_tables.storage.versions import NoVersion, Purged
from dynamic_tables.stores.arrow_rows import HIDDEN, ROW_ID, in_layout
from dynamic_tables.stores.manifests import DataFile, Layout, Manifest, StoredField
from dynamic_tables.stores.table_files import TEMPORARY, TableFiles, without_deleted
from dynamic_tables.stores.version_logs import DATA, ManifestLog, VersionExists, VersionLog
from dynamic_tables.values.changes import Action, Change, Contents, Delta
from pruning.errors import InputError
from pruning.expressions import trees, types

ROWS_OF_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Staged:
    """Files that are written but belong to no version yet.

    Attributes:
        version: The version that they are written for.
        inserted, deleted: The files of inserted and of deleted rows.
        overwrites: True if the inserted rows are all rows of the version.
        columns: The columns of the version; None: those of the version before.
        data: All data files of the version, where files of the version before were written anew; None: those
            of the version before, and the inserted ones.
    """

    version: int
    inserted: tuple[DataFile, ...] = ()
    deleted: tuple[DataFile, ...] = ()
    overwrites: bool = False
    columns: tuple[StoredField, ...] | None = None
    data: tuple[DataFile, ...] | None = None

    @property
    def row_counts(self) -> tuple[int, int]:
        """The numbers of inserted and of deleted rows."""
        return sum(file.rows for file in self.inserted), sum(file.rows for file in self.deleted)


class ParquetTable(TableFiles):
    """The versions of one table in a directory.

    Attributes:
        directory: Holds the log and a folder of data files.
        log: The log of versions.
    """

    def __init__(self, directory: Path, log: type[VersionLog] = ManifestLog) -> None:
        """Open a table.

        Raises:
            InputError: There is none in this directory.
        """
        super().__init__(directory)
        self.log = log(directory)
        if not self.log.exists():
            raise InputError(f"{directory} is no table: it has no versions")

    @classmethod
    def create(
        cls,
        directory: Path,
        columns: Sequence[StoredField],
        created: Timestamp,
        log: type[VersionLog] = ManifestLog,
    ) -> "ParquetTable":
        """Create an empty table.

        Raises:
            InputError: There is a table already, or a column has a name that is taken.
        """
        hidden = next((column.field.name for column in columns if column.field.name in HIDDEN), None)
        if hidden is not None:
            raise InputError(
                f"a column cannot be called {hidden}, which each table has: give it another name"
            )
        for folder in (DATA, TEMPORARY):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        try:
            log(directory).create(Manifest(number=0, committed=created, columns=tuple(columns)))
        except VersionExists:
            raise InputError(f"{directory} holds a table already") from None
        return cls(directory, log)

    def clone_to(
        self, directory: Path, first: int, frontier: Mapping[str, Any] | None = None
    ) -> "ParquetTable":
        """Make another table with the versions from `first` on, which shares their files.

        Args:
            directory: That of the new table.
            first: The number of the first version, which is retained.
            frontier: The frontier of the newest version, as JSON.
        """
        for folder in (DATA, TEMPORARY):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        manifests = [self.version(number) for number in range(first, self.latest().number + 1)]
        manifests[-1] = replace(manifests[-1], frontier=frontier)
        for file in {file for manifest in manifests for file in manifest.files}:
            os.link(self.path(file), directory / DATA / file.name)
        # A log begins with a version without rows.
        empty = replace(manifests[0], data=(), deletions=(), inserted=(), deleted=(), frontier=None)
        parent = empty if first == 0 else replace(empty, number=first - 1)
        log = type(self.log)(directory)
        log.create(parent)
        for manifest in manifests[first == 0 :]:
            log.add(manifest, parent)
            parent = manifest
        if first > 0:
            log.discard(first)
        return type(self)(directory, type(self.log))

    # Reading

    def latest(self) -> Manifest:
        """Return the newest version."""
        return self.log.latest()

    def version(self, number: int) -> Manifest:
        """Return the version with a number.

        Raises:
            Purged: The version is not retained.
        """
        try:
            return self.log.read(number)
        except NoVersion as error:
            raise Purged(f"version {number} is not retained") from error

    def changed_count(self, old: int, new: int) -> int:
        """Return the number of rows changed after version `old`, up to `new`, from manifests only.

        It is 0 after maintenance only (trap 29). Of a version that was overwritten, all rows count.

        Raises:
            Purged: The old version is not retained.
        """
        return self.version(new).changed_count - self.version(old).changed_count

    def versions_between(self, old: int, new: int) -> list[Manifest]:
        """Return the versions after `old`, up to `new`.

        Raises:
            Purged: One of them, or the old version, is not retained.
        """
        return [self.version(number) for number in range(old, new + 1)][1:]

    # Writing

    def stage(self, delta: Delta, parent: Manifest) -> Staged:
        """Write the changed rows of the version that follows `parent`; no reader sees them yet."""
        version = parent.number + 1
        inserted = [(change.row_id, change.row) for change in delta if change.action is Action.INSERT]
        deleted = [(change.row_id, change.row) for change in delta if change.action is Action.DELETE]
        inserted_files = self.write(inserted, parent.columns, version)
        return self.stage_files(inserted_files, self.write(deleted, parent.columns, version), parent)

    def stage_files(
        self, inserted: tuple[DataFile, ...], deleted: tuple[DataFile, ...], parent: Manifest
    ) -> Staged:
        """Return files of changed rows as the changes of the version that follows `parent`."""
        data = None
        if deleted and not self.log.keeps_deletions:
            row_ids = pa.chunked_array([self.row_ids(file) for file in deleted]).combine_chunks()
            data = (*self.files_without(row_ids, parent), *inserted)
        return Staged(parent.number + 1, inserted, deleted, data=data)

    def files_without(self, row_ids: pa.Array, parent: Manifest) -> tuple[DataFile, ...]:
        """Write the files of a version that have some rows anew, without these; return all its files."""
        files: list[DataFile] = []
        condition = None
        if len(row_ids) <= KEYS_MAX:
            condition = membership(trees.Column(ROW_ID, types.STRING), set(row_ids.to_pylist()))
        possible = {Path(path).name for path in self.groups(parent.data, condition)["file"].to_pylist()}
        for file in parent.data:
            if file.name in possible and pc.any(pc.is_in(self.row_ids(file), row_ids)).as_py():
                rows = in_layout(self.table(file), parent.layout, parent.layout)
                others = rows.filter(pc.invert(pc.is_in(rows[ROW_ID], row_ids)))
                files += self.write_table(others, parent.number + 1)
            else:
                files.append(file)
        return tuple(files)

    def stage_whole(
        self, contents: Contents, parent: Manifest, columns: Sequence[StoredField] | None = None
    ) -> Staged:
        """Write all rows of the version that follows `parent`, whatever rows and columns that one has."""
        version, columns = parent.number + 1, tuple(parent.columns if columns is None else columns)
        files = self.write(contents.items(), columns, version)
        return Staged(version, files, overwrites=True, columns=columns)

    def commit(
        self,
        staged: Staged,
        parent: Manifest,
        committed: Timestamp,
        frontier: Mapping[str, Any] | None = None,
        source: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Make staged rows the version that follows `parent`, together with a frontier or a source.

        Raises:
            VersionExists: Another writer committed a version after `parent`: nothing was changed.
        """
        assert staged.version == parent.number + 1, "rows are staged for the next version"
        assert committed > parent.committed, "commit timestamps go forward"
        earlier_data = () if staged.overwrites else parent.data
        earlier_deletions = () if staged.overwrites else parent.deletions
        data = (*earlier_data, *staged.inserted) if staged.data is None else staged.data
        deletions = (*earlier_deletions, *staged.deleted) if self.log.keeps_deletions else ()
        changed = (*staged.inserted, *(parent.data if staged.overwrites else staged.deleted))
        manifest = replace(
            parent,
            number=staged.version,
            committed=committed,
            columns=parent.columns if staged.columns is None else staged.columns,
            data=data,
            deletions=deletions,
            inserted=() if staged.overwrites else staged.inserted,
            deleted=staged.deleted,
            overwritten=staged.overwrites,
            changed_count=parent.changed_count + sum(file.rows for file in changed),
            frontier=frontier,
            source=source,
        )
        self.log.add(manifest, parent)
        return manifest

    def compact(self, committed: Timestamp, *, rows_min: int = ROWS_OF_FILE) -> Manifest:
        """Write small files and files with deleted rows anew, as a version without changes (trap 29).

        Args:
            committed: The time of the commit.
            rows_min: Files with fewer rows are small; written files have about as many.

        Raises:
            VersionExists: Another writer was faster: nothing was changed.
        """
        parent = self.latest()
        return self.commit_compaction(self.stage_compaction(parent, rows_min), parent, committed)

    def stage_compaction(
        self, parent: Manifest, rows_min: int = ROWS_OF_FILE, *, all_files: bool = False
    ) -> tuple[DataFile, ...]:
        """Write small files of a version and those with deleted rows anew; return all files with its rows."""
        version, deletions = parent.number + 1, self.deletions(parent)
        files: list[DataFile] = []
        waiting: list[pa.Table] = []
        for file in parent.data:
            rows = in_layout(self.table(file), parent.layout, parent.layout)
            rows = without_deleted(rows, deletions)
            if file.rows == len(rows) >= rows_min and not all_files:
                files.append(file)
                continue
            waiting.append(rows)
            if sum(map(len, waiting)) >= rows_min:
                files += self.write_table(pa.concat_tables(waiting), version)
                waiting = []
        if waiting:
            files += self.write_table(pa.concat_tables(waiting), version)
        return tuple(files)

    def commit_compaction(
        self,
        files: tuple[DataFile, ...],
        parent: Manifest,
        committed: Timestamp,
        frontier: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Make files with the rows of `parent` the version that follows it, with a frontier if one is given.

        Raises:
            VersionExists: Another writer was faster: nothing was changed.
        """
        unchanged = replace(parent, inserted=(), deleted=(), overwritten=False, deletions=())
        dropped = parent.dropped if set(files) & set(parent.data) else ()
        manifest = replace(
            unchanged, number=parent.number + 1, committed=committed, data=files, dropped=dropped
        )
        if frontier is not None:
            manifest = replace(manifest, frontier=frontier)
        self.log.add(manifest, parent)
        return manifest

    def purge(self, first: int, *, staged_before: float) -> int:
        """Remove the versions before `first`, and files of no version; return the number of these files.

        Args:
            first: The first version that is retained.
            staged_before: Files that belong to no version are removed if they were written before this time,
                in seconds since 1970: younger ones may be staged by a writer that is about to commit.
        """
        numbers = self.log.numbers()
        if first > numbers[0]:
            self.log.discard(min(first, numbers[-1]))
        kept = {file.name for number in self.log.numbers() for file in self.log.read(number).files}
        removed_count = 0
        for name in os.listdir(self.directory / DATA):
            path = self.directory / DATA / name
            if name not in kept and path.stat().st_mtime < staged_before:
                os.unlink(path)
                removed_count += 1
        for path in (self.directory / TEMPORARY).glob("*"):
            if path.stat().st_mtime < staged_before:
                shutil.rmtree(path, ignore_errors=True)
        return removed_count

    # Small tables, in Python

    def contents(self, number: int, layout: Layout | None = None) -> Contents:
        """Return the rows of a version, by id, with its columns or other ones."""
        manifest = self.version(number)
        deletions = self.deletions(manifest)
        return {
            row_id: row
            for file in manifest.data
            for row_id, version, row in self.rows(file, manifest, layout)
            if deletions.get(row_id, -1) <= version
        }

    def changes(self, old: int, new: int, layout: Layout | None = None) -> Delta | None:
        """Return the net changes between two versions; None if a version in between was overwritten.

        Args:
            old, new: The numbers of the versions.
            layout: The columns of the rows; None: those of the new version.

        Raises:
            Purged: A version is not retained.
        """
        between = self.versions_between(old, new)
        if any(manifest.overwritten for manifest in between):
            return None
        layout = self.version(new).layout if layout is None else layout
        return net([self.changes_of(manifest, layout) for manifest in between])

    def changes_of(self, manifest: Manifest, layout: Layout) -> Delta:
        """Return the changes of one version that was not overwritten, in a layout."""
        kinds = ((Action.DELETE, manifest.deleted), (Action.INSERT, manifest.inserted))
        return tuple(
            Change(action, row_id, row)
            for action, files in kinds
            for file in files
            for row_id, _, row in self.rows(file, manifest, layout)
        )
