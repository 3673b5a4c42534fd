"""The live files of a snapshot, with data and with deletes, as columns over all of its manifests."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pruning.metadata.footers.chunk_facts import ByteStrings
from pruning.metadata.footers.thrift_lanes import ABSENT, PADDING, Numbers
from pruning.metadata.iceberg.manifests import (
    Manifest,
    ManifestColumns,
    columns_of,
    manifests_of,
)
from pruning.metadata.iceberg.remembered import BoundedMemory
from pruning.metadata.iceberg.table_metadata import TableSnapshot

_READERS = 8


@dataclass(frozen=True, kw_only=True)
class SnapshotFiles:
    """The live files of a snapshot; arrays have the shape (files,).

    Attributes:
        spec_ids: The partition specs of the files.
        partition_ids: The places of the files' partitions in `partitions`.
        partitions: A partition spec with the partition values by the ids of partition fields; none is twice.
        sequence_numbers: The data sequence numbers, by which deletes apply.
        file_sequence_numbers: The numbers of the snapshots that added the files; 0 in format version 1.
        equality_ids, references, blob_offsets, blob_sizes: As in `ManifestColumns`.
    """

    contents: Numbers
    paths: tuple[str, ...]
    formats: tuple[str, ...]
    spec_ids: Numbers
    partition_ids: Numbers
    partitions: tuple[tuple[int, Mapping[int, Any]], ...]
    row_counts: Numbers
    byte_counts: Numbers
    sequence_numbers: Numbers
    file_sequence_numbers: Numbers
    equality_ids: tuple[tuple[int, ...] | None, ...]
    references: tuple[str | None, ...]
    blob_offsets: Numbers
    blob_sizes: Numbers
    parts: tuple[ManifestColumns, ...]

    def _metric(self, name: str, field_id: int) -> tuple[Numbers, list[pa.Array]]:
        """Return the files that have a metric of a field, and its values in them, an array for each part."""
        places, values = [], []
        start = 0
        for part in self.parts:
            entries, values_here = part.metrics[name].of_field(field_id)
            places.append(start + entries.astype(np.int64))
            values.append(values_here)
            start += len(part.paths)
        return _concatenate(places), values

    def counts(self, name: str, field_id: int) -> Numbers:
        """Return a field's count of one kind in each file, ABSENT where there is none."""
        numbers = np.full(len(self.paths), ABSENT, np.int64)
        places, values = self._metric(name, field_id)
        numbers[places] = _concatenate(part.to_numpy() for part in values)
        return np.where(numbers < 0, ABSENT, numbers)

    def bounds(self, name: str, field_id: int) -> ByteStrings:
        """Return a field's bound of one side in each file."""
        count = len(self.paths)
        places, values = self._metric(name, field_id)
        texts = _byte_strings_of(values)
        starts, sizes = np.zeros(count, np.int64), np.full(count, ABSENT, np.int64)
        starts[places], sizes[places] = texts.starts, texts.sizes
        return ByteStrings(texts.buffer, starts, sizes)


# Of each, the compressed bytes of its manifests count.
_BYTES_MAX = 64 << 20
_SNAPSHOTS: BoundedMemory[SnapshotFiles] = BoundedMemory(_BYTES_MAX)


def byte_strings(texts: Iterable[bytes | None]) -> ByteStrings:
    """Return byte strings in one buffer."""
    values = list(texts)
    sizes = np.array([ABSENT if text is None else len(text) for text in values], np.int64)
    lengths = np.maximum(sizes, 0)
    buffer = b"".join([*(text for text in values if text is not None), PADDING])
    return ByteStrings(buffer, np.cumsum(lengths) - lengths, sizes)


def _byte_strings_of(arrays: Sequence[pa.Array]) -> ByteStrings:
    """Return the byte strings of Arrow arrays without NULL."""
    array = pa.concat_arrays([pa.array([], pa.binary()), *arrays])
    assert array.offset == 0
    _, offsets, content = array.buffers()
    ends = np.frombuffer(offsets, np.int32, len(array) + 1).astype(np.int64)
    buffer = (b"" if content is None else content.to_pybytes()) + PADDING
    return ByteStrings(buffer, ends[:-1], np.diff(ends))


def optional_byte_strings(array: pa.Array) -> ByteStrings:
    """Return the byte strings of an Arrow array, in which NULL stands for none."""
    texts = _byte_strings_of([array.cast(pa.binary()).fill_null(b"")])
    is_there = array.is_valid().to_numpy(zero_copy_only=False)
    return ByteStrings(texts.buffer, texts.starts, np.where(is_there, texts.sizes, ABSENT))


def files_of(snapshot: TableSnapshot | None) -> SnapshotFiles:
    """Return the live files of a snapshot, none of that of a table without any.

    Those of a snapshot that was read before are at hand, as its manifest list never changes.

    Claim     Each has the data sequence number that Iceberg's specification gives it.
    Premises  A manifest's bytes never change, and its location and length name them.
    Proof     An entry without a number was added by the commit that wrote its manifest, and inherits its
              number; format version 1 has no numbers, which stand for 0.
    Unsound   if an entry of an earlier commit, which states its number, were given the manifest's.

    Raises:
        InputError: a manifest is missing, damaged or encrypted.
    """
    if snapshot is None:
        return _united_files(())
    manifests = manifests_of(snapshot.manifest_list)
    weight = 1 + sum(manifest.byte_count for manifest in manifests)
    return _SNAPSHOTS.content(snapshot.manifest_list, weight, lambda: _united_files(manifests))


def _united_files(manifests: Sequence[Manifest]) -> SnapshotFiles:
    with ThreadPoolExecutor(_READERS) as executor:
        parts = tuple(executor.map(columns_of, manifests))
    partition_ids, partitions = _united_partitions(manifests, parts)
    return SnapshotFiles(
        contents=_concatenate(part.contents for part in parts),
        paths=tuple(path for part in parts for path in part.paths),
        formats=tuple(name for part in parts for name in part.formats),
        spec_ids=_concatenate(
            np.full(len(part.paths), manifest.spec_id, np.int64)
            for manifest, part in zip(manifests, parts, strict=True)
        ),
        partition_ids=partition_ids,
        partitions=partitions,
        row_counts=_concatenate(part.row_counts for part in parts),
        byte_counts=_concatenate(part.byte_counts for part in parts),
        sequence_numbers=_concatenate(
            _with_inherited(part.sequence_numbers, manifest)
            for manifest, part in zip(manifests, parts, strict=True)
        ),
        file_sequence_numbers=_concatenate(
            _with_inherited(part.file_sequence_numbers, manifest)
            for manifest, part in zip(manifests, parts, strict=True)
        ),
        equality_ids=tuple(ids for part in parts for ids in part.equality_ids),
        references=tuple(reference for part in parts for reference in part.references),
        blob_offsets=_concatenate(part.blob_offsets for part in parts),
        blob_sizes=_concatenate(part.blob_sizes for part in parts),
        parts=parts,
    )


def _with_inherited(numbers: Numbers, manifest: Manifest) -> Numbers:
    return np.where(numbers == ABSENT, manifest.sequence_number, numbers)


def _concatenate(arrays: Iterable[Numbers]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _united_partitions(
    manifests: Iterable[Manifest], parts: Iterable[ManifestColumns]
) -> tuple[Numbers, tuple[tuple[int, Mapping[int, Any]], ...]]:
    """Return the partition of each file among the distinct ones of all manifests."""
    places: dict[Any, int] = {}
    partitions: list[tuple[int, Mapping[int, Any]]] = []
    numbers = []
    for manifest, part in zip(manifests, parts, strict=True):
        here = []
        for partition, key in zip(part.partitions, part.partition_keys, strict=True):
            place = places.setdefault((manifest.spec_id, key), len(partitions))
            if place == len(partitions):
                partitions.append((manifest.spec_id, partition))
            here.append(place)
        numbers.append(np.array(here, np.int64)[part.partition_ids])
    return _concatenate(numbers), tuple(partitions)
