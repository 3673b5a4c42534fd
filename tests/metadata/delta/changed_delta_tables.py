"""Tables of Delta Lake that delta-rs has made and reads, and that this package changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyroaring import BitMap

from pruning.metadata.delta.changed_files import FileChanges, delete_rows
from pruning.metadata.delta.commits import DeltaCommit, newest_version
from pruning.metadata.delta.committing import commit_changes
from pruning.metadata.delta.conflicts import TableReads
from pruning.metadata.delta.created_files import root_of
from pruning.metadata.delta.log_actions import AddedFile
from pruning.metadata.delta.table_state import TableState, read_state
from pruning.metadata.delta.writer_protocol import RowChange

VECTORS = {"delta.enableDeletionVectors": "true"}


@dataclass(frozen=True)
class WrittenTable:
    """A table in a directory."""

    root: str

    @property
    def state(self) -> TableState:
        """The newest version."""
        return read_state(self.root, newest_version(self.root))

    @property
    def files(self) -> list[AddedFile]:
        """The files of the newest version, in the order of their paths."""
        return [file for _, file in sorted(self.state.files.items())]

    def reads(self, **options: Any) -> TableReads:
        """Return what a commit depends on that has read the newest version; all of it by default."""
        state = self.state
        return TableReads(version=state.version, protocol=state.protocol, metadata=state.metadata, **options)

    def delete(self, positions: Mapping[str, BitMap], **options: Any) -> FileChanges:
        """Write deletion vectors, and return the actions that delete the rows at positions, by path."""
        state = self.state
        rows = [(file, positions[file.path]) for file in state.files.values() if file.path in positions]
        return delete_rows(self.root, rows, state.protocol, state.metadata, **options)

    def commit(self, changes: FileChanges, reads: TableReads | None = None) -> int:
        """Commit a deletion, and return its version."""
        reads = reads or self.reads()
        return commit_changes(self.root, deletion(changes, reads.version), reads)


def deletion(changes: FileChanges, read_version: int) -> DeltaCommit:
    """Return the commit of a deletion."""
    return DeltaCommit(
        operation="DELETE",
        change=RowChange.DELETE,
        read_version=read_version,
        added=changes.added,
        removed=changes.removed,
        protocol=changes.protocol,
    )


def write_table(folder: Path, *parts: pa.Table, properties: Mapping[str, str] = VECTORS) -> WrittenTable:
    """Write a table of a file for each part."""
    for number, part in enumerate(parts):
        write_deltalake(str(folder), part, mode="append", configuration=None if number else dict(properties))
    return WrittenTable(root_of(str(folder)))


def deleted_by_delta_rs(table: WrittenTable) -> dict[str, BitMap]:
    """Return the deleted positions of each file that has some, by its base name, as delta-rs reads them."""
    masks = pa.table(DeltaTable(table.root).deletion_vectors().read_all()).to_pydict()
    return {
        path.rpartition("/")[2]: BitMap([row for row, is_live in enumerate(mask) if not is_live])
        for path, mask in zip(masks["filepath"], masks["selection_vector"], strict=True)
    }


def rows_by_delta_rs(table: WrittenTable, sql: str = "SELECT x FROM t ORDER BY x") -> list[Any]:
    """Return the first column of a query of the table `t`, as delta-rs answers it."""
    answer = QueryBuilder().register("t", DeltaTable(table.root)).execute(sql).read_all()
    column: list[Any] = pa.table(answer).column(0).to_pylist()
    return column
