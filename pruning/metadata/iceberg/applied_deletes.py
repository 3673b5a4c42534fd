"""The delete files and deletion vectors that apply to each data file, by Iceberg's specification."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pruning.errors import InputError
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.iceberg.manifests import DATA, EQUALITY_DELETES, POSITION_DELETES
from pruning.metadata.iceberg.snapshot_files import SnapshotFiles
from pruning.metadata.iceberg.table_metadata import PartitionField
from pruning.metadata.versioned.table_version import EVERY_PARTITION

# The field of the data files' paths in files with deleted positions.
_PATH_FIELD = 2147483546
_PUFFIN = "PUFFIN"
_VOID = "void"
# Below any sequence number.
_NEVER = -1


@dataclass(frozen=True, kw_only=True)
class AppliedDeletes:
    """The deletes of a snapshot; places are those of its files among all, data files' too.

    Attributes:
        data: The places of the data files.
        vectors: The place of the deletion vector of each data file that has one.
        scoped: For data files, the files with positions that delete rows of no other data file.
        partitioned: By partition, the files with positions that may delete rows of each of its data files.
        equality: The files with values, and the partition that each is for, or `EVERY_PARTITION`.
        under_equality: True for data files, in their order, of which rows may be deleted by values.
    """

    files: SnapshotFiles
    data: Numbers
    vectors: Mapping[int, int]
    scoped: Mapping[int, tuple[int, ...]]
    partitioned: Mapping[int, tuple[int, ...]]
    equality: tuple[tuple[int, int], ...]
    under_equality: Mask

    def position_files(self, place: int) -> list[int]:
        """Return the files with deleted positions of the data file at a place.

        Claim     They have all rows of it that are deleted by their positions, unless it has a vector.
        Premises  Iceberg's specification, "Scan Planning".
        Proof     (1) A file with positions applies to data files of no greater sequence number,
                  (2) of the same partition of the same spec, or to the only one that it is for,
                  (3) and not to those with a deletion vector, which has the earlier positions too.
        Unsound   if an equal sequence number were taken for a greater one: a commit may delete rows of files
                  that it adds.
        """
        if place in self.vectors:  # (3)
            return []
        numbers = self.files.sequence_numbers
        partition = int(self.files.partition_ids[place])
        candidates = (*self.scoped.get(place, ()), *self.partitioned.get(partition, ()))  # (2)
        return [candidate for candidate in candidates if numbers[candidate] >= numbers[place]]  # (1)


def applied_deletes(files: SnapshotFiles, specs: Mapping[int, Sequence[PartitionField]]) -> AppliedDeletes:
    """Return which deletes apply to the data files of a snapshot.

    Raises:
        InputError: a data file has two deletion vectors.
    """
    data = np.flatnonzero(files.contents == DATA)
    places = {files.paths[place]: int(place) for place in data}
    ordered_paths = sorted(places)
    vectors: dict[int, int] = {}
    scoped: dict[int, list[int]] = {}
    partitioned: dict[int, list[int]] = {}
    positions = np.flatnonzero(files.contents == POSITION_DELETES)
    bounds = _path_bounds(files, positions)
    for delete in positions.tolist():
        reference = files.references[delete] or _only_path(bounds[delete], ordered_paths)
        if files.formats[delete] == _PUFFIN:
            _add_vector(files, delete, places, vectors)
        elif reference is None:
            partitioned.setdefault(int(files.partition_ids[delete]), []).append(delete)
        elif reference in places:
            scoped.setdefault(places[reference], []).append(delete)
    equality = tuple(
        (delete, _partition_of(files, delete, specs))
        for delete in np.flatnonzero(files.contents == EQUALITY_DELETES).tolist()
    )
    return AppliedDeletes(
        files=files,
        data=data,
        vectors=vectors,
        scoped={place: tuple(deletes) for place, deletes in scoped.items()},
        partitioned={partition: tuple(deletes) for partition, deletes in partitioned.items()},
        equality=equality,
        under_equality=_under_equality(files, data, equality),
    )


def _path_bounds(files: SnapshotFiles, deletes: Numbers) -> dict[int, tuple[bytes | None, bytes | None]]:
    if not len(deletes):
        return {}
    sides = [
        files.bounds(name, _PATH_FIELD).take(deletes).to_arrow().to_pylist()
        for name in ("lower_bounds", "upper_bounds")
    ]
    return dict(zip(deletes.tolist(), zip(*sides, strict=True), strict=True))


def _only_path(bounds: tuple[bytes | None, bytes | None], ordered_paths: Sequence[str]) -> str | None:
    """Return the only path that a file with positions names, by the bounds of its paths; None if unknown.

    A bound that begins the path of a data file, without being it, may have been cut.
    """
    lower, upper = bounds
    if lower is None or lower != upper:
        return None
    path = lower.decode(errors="replace")
    place = bisect_left(ordered_paths, path)
    following = ordered_paths[place : place + 2]
    is_cut = any(other.startswith(path) and other != path for other in following)
    return None if is_cut else path


def _add_vector(
    files: SnapshotFiles, delete: int, places: Mapping[str, int], vectors: dict[int, int]
) -> None:
    reference = files.references[delete]
    if reference is None:
        raise InputError(f"{files.paths[delete]}: a deletion vector names no data file; restore the table")
    place = places.get(reference)
    if place is None or files.sequence_numbers[delete] < files.sequence_numbers[place]:
        return
    if place in vectors:
        raise InputError(
            f"{reference}: has two deletion vectors, and Apache Iceberg allows one; restore the table"
        )
    vectors[place] = delete


def _partition_of(files: SnapshotFiles, delete: int, specs: Mapping[int, Sequence[PartitionField]]) -> int:
    """Return the partition to which a file with values applies; a spec without partitions is for all."""
    fields = specs[int(files.spec_ids[delete])]
    is_partitioned = any(field.transform != _VOID for field in fields)
    return int(files.partition_ids[delete]) if is_partitioned else EVERY_PARTITION


def _under_equality(files: SnapshotFiles, data: Numbers, equality: Sequence[tuple[int, int]]) -> Mask:
    """Mark the data files with a sequence number below that of a file with values for their partition."""
    latest = np.full(len(files.partitions) + 1, _NEVER, np.int64)
    for delete, partition in equality:
        # The last lane is that of all partitions.
        lane = len(files.partitions) if partition == EVERY_PARTITION else partition
        latest[lane] = max(latest[lane], files.sequence_numbers[delete])
    newest = np.maximum(latest[files.partition_ids[data]], latest[-1])
    mask: Mask = files.sequence_numbers[data] < newest
    return mask


def deletes_any(applied: AppliedDeletes, delete: int, partition: int) -> bool:
    """Tell whether a file with values applies to a data file."""
    files = applied.files
    numbers, partitions = files.sequence_numbers[applied.data], files.partition_ids[applied.data]
    is_older = numbers < files.sequence_numbers[delete]
    return bool((is_older if partition == EVERY_PARTITION else is_older & (partitions == partition)).any())
