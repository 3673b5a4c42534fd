"""Versions of tables in files, as the engine of refreshes reads them."""

from dataclasses import dataclass

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import SourceVersion
from dynamic_tables.stores.manifests import Manifest


@dataclass(frozen=True)
class TableVersion:
    """One version of a table in files."""

    manifest: Manifest

    @property
    def source_version(self) -> SourceVersion:
        """The version's number and commit time."""
        return SourceVersion(self.manifest.number, self.manifest.committed)

    @property
    def number(self) -> int:
        """The number of the version."""
        return self.manifest.number

    @property
    def commit_time(self) -> Timestamp:
        """The time of the commit."""
        return self.manifest.committed


def live_rows(manifest: Manifest) -> int:
    """Return the number of rows of a version."""
    deleted = sum(file.rows for file in manifest.deletions)
    return sum(file.rows for file in manifest.data) - deleted
