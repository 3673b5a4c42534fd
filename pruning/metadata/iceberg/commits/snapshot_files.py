"""The live files of snapshots, and what one snapshot changed: compared, not as its writer tells it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from pyiceberg.manifest import ManifestContent
from pyiceberg.table.snapshots import Operation

from pruning.metadata.iceberg.commits.manifests import is_live
from pruning.metadata.iceberg.commits.refusals import check_manifest


class Manifests:
    """The manifests of a table's snapshots; each is read once."""

    def __init__(self, table: Any) -> None:
        self._io, self._name = table.io, ".".join(table.name())
        self._manifests: dict[str, list[Any]] = {}
        self._entries: dict[str, list[Any]] = {}

    def of(self, snapshot: Any | None, content: Any) -> list[Any]:
        """Return the manifests of a snapshot that have live entries of this content.

        Raises:
            InputError: one is encrypted.
        """
        if snapshot is None:
            return []
        if snapshot.manifest_list not in self._manifests:
            manifests = [manifest for manifest in snapshot.manifests(self._io) if is_live(manifest)]
            for manifest in manifests:
                check_manifest(self._name, manifest)
            self._manifests[snapshot.manifest_list] = manifests
        return [
            manifest for manifest in self._manifests[snapshot.manifest_list] if manifest.content == content
        ]

    def entries(self, manifest: Any) -> list[Any]:
        """Return the live entries of a manifest."""
        entries = self._entries.get(manifest.manifest_path)
        if entries is None:
            entries = manifest.fetch_manifest_entry(self._io, discard_deleted=True)
            self._entries[manifest.manifest_path] = entries
        return entries

    def data_files(self, snapshot: Any | None) -> Iterator[Any]:
        """Return the entries of the live data files of a snapshot."""
        for manifest in self.of(snapshot, ManifestContent.DATA):
            yield from self.entries(manifest)

    def data_files_at(self, snapshot: Any | None, paths: Iterable[str]) -> dict[str, Any]:
        """Return the entries of the live data files with these paths, as far as a snapshot has them."""
        missing = set(paths)
        entries: dict[str, Any] = {}
        for manifest in self.of(snapshot, ManifestContent.DATA):
            if not missing:
                break
            for entry in self.entries(manifest):
                path = entry.data_file.file_path
                if path in missing:
                    entries[path] = entry
                    missing.discard(path)
        return entries


class SnapshotEffect:
    """The changes of one snapshot to the files that its parent has.

    It is the difference of both in live files, so that nothing depends on how a writer records removed files.
    """

    def __init__(self, snapshot: Any, parent: Any | None, manifests: Manifests) -> None:
        self.snapshot = snapshot
        self._parent, self._manifests = parent, manifests

    @property
    def operation(self) -> Any:
        """The kind of the snapshot; the most general one if it does not tell."""
        summary = self.snapshot.summary
        return Operation.OVERWRITE if summary is None else summary.operation

    @property
    def keeps_rows(self) -> bool:
        """True if the table has the same rows after the snapshot as before."""
        return bool(self.operation == Operation.REPLACE)

    @cached_property
    def _data(self) -> "_Difference":
        return self._difference(ManifestContent.DATA)

    @property
    def added_data(self) -> list[Any]:
        """The entries of data files that the snapshot added."""
        return list(self._data.added.values())

    @property
    def removed_data(self) -> Mapping[str, Any]:
        """The entries of data files that the snapshot removed, by path."""
        return self._data.removed

    @cached_property
    def added_deletes(self) -> list[Any]:
        """The entries of delete files that the snapshot added."""
        return list(self._difference(ManifestContent.DELETES).added.values())

    def _difference(self, content: Any) -> "_Difference":
        after = {manifest.manifest_path: manifest for manifest in self._manifests.of(self.snapshot, content)}
        before = {manifest.manifest_path: manifest for manifest in self._manifests.of(self._parent, content)}
        later = self._live(after[path] for path in after.keys() - before.keys())
        earlier = self._live(before[path] for path in before.keys() - after.keys())
        return _Difference(
            {key[0]: later[key] for key in later.keys() - earlier.keys()},
            {key[0]: earlier[key] for key in earlier.keys() - later.keys()},
        )

    def _live(self, manifests: Iterable[Any]) -> dict[tuple[str, int | None], Any]:
        # A file that was removed and added again under its old path has another sequence number.
        return {
            (entry.data_file.file_path, entry.sequence_number): entry
            for manifest in manifests
            for entry in self._manifests.entries(manifest)
        }


class _Difference(NamedTuple):
    added: Mapping[str, Any]
    removed: Mapping[str, Any]
