"""Readers of Iceberg's metadata that apply deletes, partitions or field ids wrongly."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from mutants.replacements import Replacement
from pruning.metadata.iceberg import applied_deletes, equality_deletes, layouts, opening, snapshot_files
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes
from pruning.metadata.versioned.table_version import EVERY_PARTITION, SEQUENCE

_position_files = AppliedDeletes.position_files
_rows = equality_deletes._rows


def _all_but_the_first(applied: AppliedDeletes, place: int) -> list[int]:
    return _position_files(applied, place)[1:]


def _beside_the_vector(applied: AppliedDeletes, place: int) -> list[int]:
    return _position_files(replace(applied, vectors={}), place)


def _without_the_partition(applied: AppliedDeletes, place: int) -> list[int]:
    return _position_files(replace(applied, partitioned={}), place)


def _rows_of_the_same_commit_too(*arguments: Any) -> Any:
    table = _rows(*arguments)
    place = table.column_names.index(SEQUENCE)
    return table.set_column(place, SEQUENCE, pc.add(table.column(SEQUENCE), 1))


def _number_of_the_manifest(numbers: Any, manifest: Any) -> Any:
    return np.full(len(numbers), manifest.sequence_number, np.int64)


def _every_partition(*arguments: Any) -> int:
    return EVERY_PARTITION


def _the_first_spec(files: Any, delete: int, specs: Any) -> int:
    return int(files.partition_ids[delete])


def _written_rows(applied: AppliedDeletes) -> Any:
    return applied.files.row_counts[applied.data]


def _less_all_positions(applied: AppliedDeletes) -> Any:
    live = applied.files.row_counts[applied.data].copy()
    for lane, place in enumerate(applied.data.tolist()):
        deletes = {*_beside_the_vector(applied, place)} | {applied.vectors.get(place, place)} - {place}
        live[lane] -= sum(applied.files.row_counts[delete] for delete in deletes)
    return np.maximum(live, 0)


def _any_equal_bounds(bounds: tuple[bytes | None, bytes | None], ordered_paths: Any) -> str | None:
    lower, upper = bounds
    return lower.decode() if lower is not None and lower == upper else None


def _always(*arguments: Any) -> bool:
    return True


MUTANTS: Mapping[str, Replacement] = {
    "a file with positions is forgotten": Replacement(AppliedDeletes, "position_files", _all_but_the_first),
    "positions delete beside a vector": Replacement(AppliedDeletes, "position_files", _beside_the_vector),
    "only named data files lose positions": Replacement(
        AppliedDeletes, "position_files", _without_the_partition
    ),
    "values delete rows of their own commit": Replacement(
        equality_deletes, "_rows", _rows_of_the_same_commit_too
    ),
    "an old entry has its manifest's number": Replacement(
        snapshot_files, "_with_inherited", _number_of_the_manifest
    ),
    "values delete in every partition": Replacement(applied_deletes, "_partition_of", _every_partition),
    "values without partitions delete in one": Replacement(applied_deletes, "_partition_of", _the_first_spec),
    "deleted rows are counted": Replacement(opening, "live_counts", _written_rows),
    "rows are deleted once by each file": Replacement(opening, "live_counts", _less_all_positions),
    "cut bounds name a data file": Replacement(applied_deletes, "_only_path", _any_equal_bounds),
    "fields are found by their names": Replacement(opening, "has_one_layout", _always),
    "names are plain": Replacement(layouts, "_PLAIN_NAME", re.compile(".*")),
    "every data file has the partition": Replacement(opening, "_is_constant", _always),
}
