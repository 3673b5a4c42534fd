"""The data files of a table: their rows, and the metadata of their row groups."""

import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dynamic_tables.bags.operators import Pairs
from dynamic_tables.stores.arrow_rows import ROW_ID, VERSION, in_layout, table_of, types_of, versioned_rows
from dynamic_tables.stores.manifests import DataFile, Layout, Manifest, StoredField
from dynamic_tables.stores.version_logs import DATA, sync_directory
from dynamic_tables.values.changes import RowId
from pruning.errors import InputError
from pruning.expressions import trees
from pruning.metadata.store.collecting import read_blocks
from pruning.verdicts.classification import classify_blocks

# The folder of files that are being written.
TEMPORARY = "temporary"
# Row groups are what reading few rows reads: of a hundred scattered keys, a hundred of them.
ROWS_OF_GROUP = 20_000


class TableFiles:
    """The files in the directory of a table, which never change.

    Attributes:
        directory: Has a folder of data files.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.blocks_by_file: dict[str, pa.Table] = {}

    def path(self, file: DataFile) -> Path:
        """Return the path of a data file."""
        return self.directory / DATA / file.name

    def groups(self, files: Sequence[DataFile], condition: trees.Expression | None) -> pa.Table:
        """Return the row groups of files that may have rows that meet a condition.

        Returns:
            The columns file, row_group and row_count.

        Raises:
            InputError: A file cannot be read.
        """
        # Files that were written before a column was added, or dropped, have metadata of other columns.
        by_schema: dict[pa.Schema, list[pa.Table]] = {}
        for blocks in self.blocks(files):
            by_schema.setdefault(blocks.schema.remove_metadata(), []).append(blocks)
        result = []
        for alike in by_schema.values():
            blocks = pa.concat_tables(alike)
            if condition is not None:
                blocks = blocks.filter(pc.not_equal(classify_blocks(condition, blocks), 0))
            result.append(blocks.select(["file", "row_group", "row_count"]))
        return pa.concat_tables(result)

    def blocks(self, files: Sequence[DataFile]) -> list[pa.Table]:
        """Return the metadata of the row groups of each file, which never change.

        Raises:
            InputError: A file cannot be read.
        """
        new = [str(self.path(file)) for file in files if file.name not in self.blocks_by_file]
        if new:
            read = read_blocks(new, cache=False)
            for sentence in read.failures.values():
                raise InputError(sentence)
            for path in new:
                of_file = pc.equal(read.metadata["file"], path)
                self.blocks_by_file[Path(path).name] = read.metadata.filter(of_file)
        return [self.blocks_by_file[file.name] for file in files]

    def row_ids(self, file: DataFile) -> pa.ChunkedArray:
        """Return the ids of the rows of a file."""
        return pq.ParquetFile(self.path(file)).read(columns=[ROW_ID])[ROW_ID]

    def deletions(self, manifest: Manifest) -> dict[RowId, int]:
        """Return the last version in which each id was deleted."""
        deleted: dict[RowId, int] = {}
        for file in manifest.deletions:
            for row_id, version, _ in self.rows(file, manifest, {}):
                deleted[row_id] = max(version, deleted.get(row_id, -1))
        return deleted

    def rows(
        self, file: DataFile, manifest: Manifest, layout: Layout | None = None
    ) -> list[tuple[RowId, int, Any]]:
        """Return the rows of a file of a version, each with its id and version, and in a layout."""
        layout = manifest.layout if layout is None else layout
        rows = in_layout(self.table(file), manifest.layout, layout)
        return versioned_rows(rows, types_of(list(layout.values())))

    def table(self, file: DataFile) -> pa.Table:
        """Return a file as an Arrow table.

        Raises:
            InputError: The file is gone.
        """
        try:
            return pq.ParquetFile(self.path(file)).read()
        except FileNotFoundError:
            raise InputError(f"{self.path(file)} is gone: restore it, or reinitialize the table") from None

    # Writing

    def write(self, rows: Pairs, columns: Sequence[StoredField], version: int) -> tuple[DataFile, ...]:
        """Write rows to a file, on disk before this returns; no rows need no file."""
        return self.write_table(table_of(rows, columns, version), version)

    def write_table(self, rows: pa.Table, version: int) -> tuple[DataFile, ...]:
        """Write stored rows to a file."""
        if not len(rows):
            return ()
        file = new_file(version, len(rows))
        with open(self.path(file), "xb") as sink:
            pq.write_table(rows, sink, row_group_size=ROWS_OF_GROUP)
            sink.flush()
            os.fsync(sink.fileno())
        sync_directory(self.directory / DATA)
        return (file,)

    def take_file(self, path: Path, version: int, row_count: int) -> DataFile:
        """Make a file that another program wrote one of the table's, on disk before this returns."""
        file = new_file(version, row_count)
        with open(path, "rb+") as written:
            os.fsync(written.fileno())
        os.rename(path, self.path(file))
        sync_directory(self.directory / DATA)
        return file


def new_file(version: int, row_count: int) -> DataFile:
    """Return a file with a name of its own."""
    return DataFile(f"{version:020}-{uuid.uuid4().hex}.parquet", row_count)


def without_deleted(rows: pa.Table, deletions: Mapping[RowId, int]) -> pa.Table:
    """Return the rows that are not deleted."""
    if not deletions:
        return rows
    pairs = zip(rows[ROW_ID].to_pylist(), rows[VERSION].to_pylist(), strict=True)
    return rows.filter(pa.array([deletions.get(row_id, -1) <= version for row_id, version in pairs]))
