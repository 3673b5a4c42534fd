"""Mutants of tables in Parquet files: each is one mistake in what a version holds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.stores.manifests import DataFile, Manifest, StoredField
from dynamic_tables.stores.parquet_table import ROWS_OF_FILE, ParquetTable, Staged
from dynamic_tables.values.changes import Contents, RowId


class DeletionsForgotten(ParquetTable):
    """Deleted rows stay."""

    def deletions(self, manifest: Manifest) -> dict[RowId, int]:
        """Return no deletion."""
        return {}


class DeletionsForEver(ParquetTable):
    """A row that comes again under its id stays deleted."""

    def deletions(self, manifest: Manifest) -> dict[RowId, int]:
        """Return deletions in versions that never were."""
        return dict.fromkeys(super().deletions(manifest), 2**62)


class DeletionsOfTheParent(ParquetTable):
    """Rows are deleted as of the version before, so that rows of that version stay."""

    def deletions(self, manifest: Manifest) -> dict[RowId, int]:
        """Return the last version before that in which each id was deleted."""
        return {row_id: version - 1 for row_id, version in super().deletions(manifest).items()}


class OverwritingAdds(ParquetTable):
    """The rows of a whole version are added to those of its parent."""

    def stage_whole(
        self, contents: Contents, parent: Manifest, columns: Sequence[StoredField] | None = None
    ) -> Staged:
        """Write all rows, as if they were new."""
        version = parent.number + 1
        return Staged(version, self.write(contents.items(), parent.columns, version))


class CompactionRevives(ParquetTable):
    """Compaction writes deleted rows anew, and forgets that they are deleted."""

    compacts = False

    def compact(self, committed: Timestamp, *, rows_min: int = ROWS_OF_FILE) -> Manifest:
        """Write files anew."""
        self.compacts = True
        manifest = super().compact(committed, rows_min=rows_min)
        self.compacts = False
        return manifest

    def deletions(self, manifest: Manifest) -> dict[RowId, int]:
        """Return no deletion while files are written anew."""
        return {} if self.compacts else super().deletions(manifest)


class RewritingKeepsDeleted(ParquetTable):
    """Files with deleted rows are not written anew."""

    def files_without(self, row_ids: pa.Array, parent: Manifest) -> tuple[DataFile, ...]:
        """Return the files as they are."""
        return parent.data


class RewritingLosesOthers(ParquetTable):
    """Files with deleted rows are left out as a whole."""

    def files_without(self, row_ids: pa.Array, parent: Manifest) -> tuple[DataFile, ...]:
        """Return the files of which no row is deleted."""
        there = set(parent.data)
        return tuple(file for file in super().files_without(row_ids, parent) if file in there)


class RewritingOfTheFirst(ParquetTable):
    """Only the first file that has deleted rows is written anew."""

    def files_without(self, row_ids: pa.Array, parent: Manifest) -> tuple[DataFile, ...]:
        """Return the files without the rows of the first one that are deleted."""
        first = next(file for file in parent.data if pc.any(pc.is_in(self.row_ids(file), row_ids)).as_py())
        others = tuple(file for file in parent.data if file != first)
        return super().files_without(row_ids, replace(parent, data=(first,))) + others


REWRITING_MUTANTS: Mapping[str, type[ParquetTable]] = {
    "deleted rows stay": RewritingKeepsDeleted,
    "rows beside deleted ones go": RewritingLosesOthers,
    "one file is rewritten": RewritingOfTheFirst,
}
PARQUET_MUTANTS: Mapping[str, type[ParquetTable]] = {
    "deleted rows stay": DeletionsForgotten,
    "deleted rows never come again": DeletionsForEver,
    "rows of the version before are not deleted": DeletionsOfTheParent,
    "overwriting adds": OverwritingAdds,
    "compaction revives deleted rows": CompactionRevives,
}
