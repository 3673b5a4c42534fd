"""The rows that each snapshot of an Iceberg table has changed, as its manifests say."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyroaring import BitMap

from pruning.errors import InputError
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes, applied_deletes
from pruning.metadata.iceberg.deleted_positions import IcebergDeletedRows
from pruning.metadata.iceberg.metadata_files import read_metadata
from pruning.metadata.iceberg.snapshot_files import files_of
from pruning.metadata.iceberg.table_metadata import TableMetadata, read_table_metadata
from pruning.metadata.versioned.commits import READ_PREDICATE, READ_VERSION, TableCommit

# Gives the number of rows of a data file, which the snapshot has that is named.
RowCountOf = Callable[[int, str], int]


def iceberg_commits(path: str, row_count_of: RowCountOf) -> Iterator[TableCommit]:
    """Yield the snapshots that the table's current one comes from, and this, oldest first.

    Where earlier ones have expired, the first is one that adds all rows.

    Args:
        path: The table's directory, or one of its metadata files.
        row_count_of: Gives the number of rows of a data file by its path, and a snapshot that has the file.
    Raises:
        InputError: there is no such table, its metadata is damaged, or rows were deleted by their values.
    """
    metadata = read_table_metadata(path)
    snapshots = _lineage(metadata)
    before: _LiveRows | None = None
    for document in snapshots:
        after = _LiveRows(metadata, document["snapshot-id"], row_count_of)
        summary: Mapping[str, str] = document.get("summary") or {}
        read_version = summary.get(READ_VERSION)
        yield TableCommit(
            version=after.snapshot_id,
            read_version=int(read_version) if read_version and read_version != "None" else None,
            predicate=summary.get(READ_PREDICATE),
            removed={} if before is None else after.removed_since(before),
            added={
                file: after.rows(file) for file in after.places if before is None or file not in before.places
            },
        )
        before = after


def _lineage(metadata: TableMetadata) -> list[dict[str, Any]]:
    """Return the current snapshot and those that it comes from, oldest first, as the metadata has them."""
    documents = {
        snapshot["snapshot-id"]: snapshot
        for snapshot in json.loads(read_metadata(metadata.file)).get("snapshots") or ()
    }
    lineage = []
    place = metadata.current_snapshot_id
    while place in documents:
        lineage.append(documents.pop(place))
        place = lineage[-1].get("parent-snapshot-id")
    return lineage[::-1]


class _LiveRows:
    """The data files of a snapshot, and the rows of them that are not deleted.

    Attributes:
        places: The places of the data files among the snapshot's, by their paths.
    """

    def __init__(self, metadata: TableMetadata, snapshot_id: int, row_count_of: RowCountOf) -> None:
        """Read the files of a snapshot.

        Raises:
            InputError: rows are deleted by their values.
        """
        self.snapshot_id = snapshot_id
        files = files_of(metadata.snapshots[snapshot_id])
        self._applied: AppliedDeletes = applied_deletes(files, metadata.specs)
        if self._applied.equality:
            raise InputError(
                f"{metadata.location}: snapshot {snapshot_id} deletes rows by their values, so that it is "
                "not known which; compact the table, and judge the snapshots since"
            )
        self._deleted = IcebergDeletedRows(self._applied)
        self._row_count_of = row_count_of
        self.places = {files.paths[place]: number for number, place in enumerate(self._applied.data.tolist())}

    def rows(self, file: str) -> BitMap:
        """Return the positions of the rows of a file that are not deleted."""
        return BitMap(range(self._row_count_of(self.snapshot_id, file))) - self.deleted_positions(file)

    def deleted_positions(self, file: str) -> BitMap:
        """Return the positions of the deleted rows of a file."""
        (rows,) = self._deleted.positions([self.places[file]])
        return rows

    def removed_since(self, before: "_LiveRows") -> dict[str, BitMap]:
        """Return the rows that this snapshot has taken out of the files of the one before.

        Those that its own delete files have are among them, though another one may have them, too.
        """
        removed: dict[str, BitMap] = {}
        for file in before.places:
            if file not in self.places:
                removed[file] = before.rows(file)
                continue
            rows = self._deleted_by_files(file, without=before.delete_files(file))
            if rows:
                removed[file] = rows
        return removed

    def delete_files(self, file: str) -> frozenset[str]:
        """Return the names of the files, or vectors, that delete rows of a data file by their positions."""
        return frozenset(self._deletes_of(file).values())

    def _deleted_by_files(self, file: str, *, without: frozenset[str]) -> BitMap:
        """Return the rows of a file that its delete files have, except some of these files."""
        place = int(self._applied.data[self.places[file]])
        new = [delete for delete, name in self._deletes_of(file).items() if name not in without]
        return self._deleted.positions_in(place, new)

    def _deletes_of(self, file: str) -> dict[int, str]:
        """Return the names of the files with deleted positions of a data file, or of its vector, by place."""
        place = int(self._applied.data[self.places[file]])
        files = self._applied.files
        if place in self._applied.vectors:
            vector = self._applied.vectors[place]
            return {vector: f"{files.paths[vector]}@{files.blob_offsets[vector]}"}
        return {delete: files.paths[delete] for delete in self._applied.position_files(place)}
