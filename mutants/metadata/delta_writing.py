"""Ways to write tables of Delta Lake that are wrong in one way each."""

import os
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
from pyroaring import BitMap

from mutants.replacements import Replacement
from pruning.metadata.delta import (
    changed_files,
    committing,
    conflicts,
    created_files,
    file_statistics,
    vector_files,
)
from pruning.metadata.delta.log_actions import AddedFile, RemovedFile


def _frame_with_checksum_of_size(data: bytes) -> bytes:
    size = len(data).to_bytes(4, "big")
    return size + data + zlib.crc32(size + data).to_bytes(4, "big")


def _with_one_row_more(*arguments: Any, **options: Any) -> Any:
    vectors = vector_files.write_vectors(*arguments, **options)
    return {path: replace(vector, cardinality=vector.cardinality + 1) for path, vector in vectors.items()}


def _removed_without_vector(file: AddedFile, now_ms: int) -> RemovedFile:
    return replace(_REMOVED(file, now_ms), vector=None)


def _overwrite(source: str, target: str) -> None:
    os.replace(source, target)


def _cut_alone(scalar: Any, *, is_upper: bool) -> str:
    text: str = scalar.as_py()
    return text[: file_statistics.STRING_CHARACTERS]


def _rounded_down(value: int, units_per_second: int, *, is_upper: bool) -> str | None:
    return _TIME_TEXT(value, units_per_second, is_upper=False)


_REMOVED = AddedFile.removal
_TIME_TEXT = file_statistics._time_text

VECTOR_MUTANTS: Mapping[str, Replacement] = {
    "the checksum is of the size, too": Replacement(
        vector_files, "frame_vector", _frame_with_checksum_of_size
    ),
    "the cardinality counts one row more": Replacement(changed_files, "write_vectors", _with_one_row_more),
    "a removal has no deletion vector": Replacement(AddedFile, "removal", _removed_without_vector),
    "rows that were deleted before return": Replacement(
        changed_files, "read_vector", lambda root, vector: BitMap()
    ),
}
COMMIT_MUTANTS: Mapping[str, Replacement] = {
    "a version is overwritten": Replacement(created_files, "_link", _overwrite),
    "no conflict is looked for": Replacement(committing, "conflict", lambda commit, reads, entry: None),
    "no later version is looked at": Replacement(committing, "_check_version", lambda *arguments: None),
}
CONFLICT_MUTANTS: Mapping[str, Replacement] = {
    "progress of applications is no matter": Replacement(
        conflicts, "_shared_application", lambda commit, reads, entry: None
    ),
    "added files never match": Replacement(conflicts, "_may_match", lambda reads, added: False),
    "each version may come after the commit": Replacement(
        conflicts, "_comes_after", lambda commit, reads, entry: True
    ),
    "files are the same if spelled alike": Replacement(conflicts, "file_key", lambda path: path),
    "no two files are the same": Replacement(conflicts, "may_share", lambda paths, others: None),
}
STATISTICS_MUTANTS: Mapping[str, Replacement] = {
    "an upper bound of text is only cut": Replacement(file_statistics, "_text_bound", _cut_alone),
    "times are rounded down": Replacement(file_statistics, "_time_text", _rounded_down),
    "NaN is passed over": Replacement(pc, "is_nan", pc.is_null),
}
