"""Mutants of tables in Parquet files: each is one mistake in what a version holds."""

from collections.abc import Mapping, Sequence

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.stores.manifests import Manifest, StoredField
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


PARQUET_MUTANTS: Mapping[str, type[ParquetTable]] = {
    "deleted rows stay": DeletionsForgotten,
    "deleted rows never come again": DeletionsForEver,
    "rows of the version before are not deleted": DeletionsOfTheParent,
    "overwriting adds": OverwritingAdds,
    "compaction revives deleted rows": CompactionRevives,
}
