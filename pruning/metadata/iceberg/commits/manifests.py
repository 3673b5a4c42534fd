"""Manifests and manifest lists of a new snapshot, written by PyIceberg's writers."""

import contextlib
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest,
    write_manifest_list,
)

# Every reader has it, and Iceberg's own writers take it for manifests whatever the table's property says.
_COMPRESSION = "gzip"


# PyIceberg has no types, so that its classes are unknown to the checker of types.
class _DeleteManifestWriter(ManifestWriterV2):  # type: ignore[misc]
    """A writer of manifests of delete files, which PyIceberg has not."""

    def content(self) -> Any:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class SnapshotWriter:
    """The files of one new snapshot.

    Attributes:
        written: The addresses of the files that were written, or perhaps in part.
    """

    def __init__(self, table: Any, snapshot_id: int) -> None:
        self._table, self._metadata = table, table.metadata
        self._snapshot_id = snapshot_id
        self._id = uuid.uuid4()
        self.written: list[str] = []

    def add_files(self, data_files: Iterable[Any], content: Any) -> list[Any]:
        """Return new manifests of files that the snapshot adds, one for each partition spec.

        Args:
            data_files: Data files, or delete files.
            content: What they are, a `ManifestContent`.
        """
        entries = defaultdict(list)
        for data_file in data_files:
            # Without numbers, an entry has the sequence number that the snapshot gets when it is committed.
            entry = ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED,
                snapshot_id=self._snapshot_id,
                sequence_number=None,
                file_sequence_number=None,
                data_file=data_file,
            )
            entries[data_file.spec_id].append(entry)
        return [self._manifest(spec_id, content, rows) for spec_id, rows in sorted(entries.items())]

    def remove_files(self, manifest: Any, entries: Sequence[Any], removed: Collection[str]) -> Any:
        """Return a manifest with the same live entries, in which the snapshot removes some files.

        Args:
            manifest: The `ManifestFile` that is replaced.
            entries: Its live entries.
            removed: The paths of the removed files.
        """
        rewritten = [
            ManifestEntry.from_args(
                status=ManifestEntryStatus.DELETED if is_removed else ManifestEntryStatus.EXISTING,
                snapshot_id=self._snapshot_id if is_removed else entry.snapshot_id,
                sequence_number=entry.sequence_number,
                file_sequence_number=entry.file_sequence_number,
                data_file=entry.data_file,
            )
            for entry in entries
            for is_removed in [entry.data_file.file_path in removed]
        ]
        return self._manifest(manifest.partition_spec_id, manifest.content, rewritten)

    def _manifest(self, spec_id: int, content: Any, entries: Iterable[Any]) -> Any:
        spec = self._metadata.specs()[spec_id]
        schema = schema_of_spec(self._metadata, spec)
        output = self._table.io.new_output(self._new_location(f"{self._id}-m{len(self.written)}.avro"))
        if content == ManifestContent.DELETES:
            writer = _DeleteManifestWriter(spec, schema, output, self._snapshot_id, _COMPRESSION)
        else:
            version = self._metadata.format_version
            writer = write_manifest(version, spec, schema, output, self._snapshot_id, _COMPRESSION)
        with writer:
            for entry in entries:
                writer.add_entry(entry)
        return writer.to_manifest_file()

    def list_manifests(self, manifests: list[Any], parent: int | None, sequence_number: int) -> str:
        """Write the manifest list, and return its address."""
        location = self._new_location(f"snap-{self._snapshot_id}-0-{self._id}.avro")
        with write_manifest_list(
            format_version=self._metadata.format_version,
            output_file=self._table.io.new_output(location),
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=parent,
            sequence_number=sequence_number,
            avro_compression=_COMPRESSION,
        ) as writer:
            writer.add_manifests(manifests)
        return location

    def _new_location(self, name: str) -> str:
        location: str = self._table.location_provider().new_metadata_location(name)
        self.written.append(location)
        return location

    def discard(self) -> None:
        """Delete the files; only for a snapshot that is certain not to be in the table."""
        delete_files(self._table.io, self.written)


def delete_files(io: Any, locations: Iterable[str]) -> None:
    """Delete files that nothing refers to, as far as that is possible."""
    for location in locations:
        # File systems raise errors of many packages; a file that stays is an orphan, which is no damage.
        with contextlib.suppress(Exception):
            io.delete(location)


def schema_of_spec(metadata: Any, spec: Any) -> Any:
    """Return the newest schema that has all source columns of a partition spec, the current one if it does.

    PyIceberg would write a partition's value as NULL if the schema lacks its source column.
    """
    sources = {field.source_id for field in spec.fields}
    current = metadata.schema()
    older = sorted(metadata.schemas, key=lambda schema: schema.schema_id, reverse=True)
    return next(
        (schema for schema in [current, *older] if sources <= schema._lazy_id_to_field.keys()),
        current,
    )


def is_live(manifest: Any) -> bool:
    """Tell if a manifest has entries of files that are in the table."""
    return bool(manifest.has_added_files() or manifest.has_existing_files())
