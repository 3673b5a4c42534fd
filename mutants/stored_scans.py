"""Scans of stored tables that lose rows, or show those of another time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mutants.replacements import Replacement
from pruning.spark.drive import stored_scans

_directories_left, _search = stored_scans._directories_left, stored_scans._search


def _without_check(spark: Any, listing: Any) -> None:
    return None


def _other_directories(stored: Any, examples: Any, predicate: Any) -> Any:
    left = _directories_left(stored, examples, predicate)
    return None if left is None else frozenset(stored.snapshot.directories) - left


def _one_file_less(*arguments: Any) -> Any:
    left = _search(*arguments)
    return left._replace(files=left.files.slice(0, max(0, len(left.files) - 1)))


def _under_other_names(left: Any, listing: Any, names: Any) -> Any:
    turned = zip(listing.files, reversed(listing.files), strict=True)
    files = tuple(replace(file, file=other.file) for file, other in turned)
    return _read(left, replace(listing, files=files), names)


_read = stored_scans._read

MUTANTS: Mapping[str, Replacement] = {
    "a file may have been written since": Replacement(stored_scans, "check_unchanged", _without_check),
    "the directories that are excluded are left": Replacement(
        stored_scans, "_directories_left", _other_directories
    ),
    "the last file is lost": Replacement(stored_scans, "_search", _one_file_less),
    "metadata is given to other files": Replacement(stored_scans, "_read", _under_other_names),
}
