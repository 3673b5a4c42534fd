"""The new snapshot of a change: its manifests, its manifest list, and its summary."""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.manifest import ManifestContent
from pyiceberg.table.snapshots import (
    Operation,
    Snapshot,
    SnapshotSummaryCollector,
    Summary,
    update_snapshot_summaries,
)

from pruning.errors import InputError
from pruning.metadata.iceberg.commits.conflicts import names_only
from pruning.metadata.iceberg.commits.manifests import SnapshotWriter, schema_of_spec
from pruning.metadata.iceberg.commits.snapshot_files import Manifests

# How the names of a summary's own properties begin.
_COUNTED = ("operation", "added-", "changed-", "deleted-", "partition", "removed-", "total-")


@dataclass(frozen=True, kw_only=True)
class CommitFiles:
    """The files that a snapshot adds and removes.

    Attributes:
        added_data: The `DataFile`s of data files that it adds.
        added_deletes: Those of delete files.
        removed: The paths of data files that it removes.
        properties: Further properties of its summary.
    """

    added_data: Collection[Any]
    added_deletes: Collection[Any]
    removed: frozenset[str]
    properties: Mapping[str, str]

    @property
    def operation(self) -> Any:
        """The kind of the snapshot, as the specification defines it."""
        if not self.added_data:
            return Operation.DELETE
        return Operation.OVERWRITE if self.removed or self.added_deletes else Operation.APPEND


def write_snapshot(
    table: Any, manifests: Manifests, writer: SnapshotWriter, snapshot_id: int, changes: CommitFiles
) -> Any:
    """Write the manifests of a snapshot that follows the table's current one, and return it."""
    metadata = table.metadata
    parent = metadata.current_snapshot()
    removed: list[Any] = []
    listed = writer.add_files(changes.added_data, ManifestContent.DATA)
    listed += writer.add_files(changes.added_deletes, ManifestContent.DELETES)
    for content in (ManifestContent.DATA, ManifestContent.DELETES):
        for manifest in manifests.of(parent, content):
            # Manifests need not be read if nothing leaves.
            entries = manifests.entries(manifest) if changes.removed else []
            leaving = [
                entry.data_file for entry in entries if _leaves(entry.data_file, content, changes.removed)
            ]
            paths = {data_file.file_path for data_file in leaving}
            listed.append(writer.remove_files(manifest, entries, paths) if paths else manifest)
            removed += leaving
    missing = changes.removed - {data_file.file_path for data_file in removed}
    assert not missing, f"to be removed, but not in the table: {missing}"
    sequence_number = metadata.next_sequence_number()
    parent_id = None if parent is None else parent.snapshot_id
    return Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=parent_id,
        sequence_number=sequence_number,
        # Clocks differ, and Iceberg refuses snapshots in an order that their times contradict.
        timestamp_ms=max(int(time.time() * 1000), metadata.last_updated_ms),
        manifest_list=writer.list_manifests(listed, parent_id, sequence_number),
        summary=_summary(metadata, parent, removed, changes),
        schema_id=metadata.current_schema_id,
    )


def check_properties(properties: Mapping[str, str]) -> None:
    """Check that properties can be in a summary beside its counts.

    Raises:
        InputError: one has a name that the summary needs itself.
    """
    for key in sorted(properties):
        if key.startswith(_COUNTED):
            raise InputError(
                f"The snapshot's property {key!r} is counted by the commit itself; leave it out."
            )


def _leaves(data_file: Any, content: Any, removed: frozenset[str]) -> bool:
    """Tell if a file leaves the table: a removed data file, or a delete file that concerns one alone."""
    if content == ManifestContent.DATA:
        return data_file.file_path in removed
    return names_only(data_file, removed)


def _summary(metadata: Any, parent: Any | None, removed: Iterable[Any], changes: CommitFiles) -> Any:
    limit = int(metadata.properties.get("write.summary.partition-limit", 0))
    collector = SnapshotSummaryCollector(partition_summary_limit=limit)
    specs = metadata.specs()

    def count(action: Any, data_file: Any) -> None:
        spec = specs[data_file.spec_id]
        action(data_file=data_file, partition_spec=spec, schema=schema_of_spec(metadata, spec))

    for data_file in (*changes.added_data, *changes.added_deletes):
        count(collector.add_file, data_file)
    for data_file in removed:
        count(collector.remove_file, data_file)
    counts = collector.build()
    summary = Summary(operation=changes.operation, **counts, **changes.properties)
    if parent is None:
        return update_snapshot_summaries(summary)
    # Totals that the parent does not tell stay unknown; without any property they would be counted from zero.
    return update_snapshot_summaries(summary, parent.summary or {"operation": "unknown"})
