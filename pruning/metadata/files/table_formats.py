"""Detection of table formats whose logs remove files, which a plain Parquet reader would still read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.files.locations import is_local, locate, parent_and_name

# Each directory takes a few lookups, which are requests where the lake is remote.
_STARTS_MAX = 32
# Iceberg's directory of data files, beside `metadata`.
_ICEBERG_DATA = "data"


@dataclass(frozen=True, slots=True)
class _TableFormat:
    """A table format, and the directory in a table's root that identifies it.

    If there is a suffix, some file in that directory must end in it.
    """

    name: str
    marker: str
    suffix: str = ""


_FORMATS = (
    _TableFormat("Delta Lake", "_delta_log"),
    _TableFormat("Iceberg", "metadata", suffix=".json"),
    _TableFormat("Hudi", ".hoodie"),
)


def table_format_notes(roots: Iterable[str], files: Iterable[str]) -> tuple[str, ...]:
    """Return a warning for each table of another format whose directory is read as plain Parquet.

    The directories that are checked are the roots, those that hold files, and those above partitions and
    above Iceberg's `data`. A directory that cannot be listed is skipped.

    Args:
        roots: The paths or URIs that the caller gave: directories or files.
        files: The files in them, as paths or URIs.
    """
    holding = dict.fromkeys(
        directory for file in files if (directory := parent_and_name(file)[0]) is not None
    )
    starts = [*islice(roots, _STARTS_MAX), *islice(dict.fromkeys(map(_table_root, holding)), _STARTS_MAX)]
    notes: dict[str, None] = {}
    for start in starts:
        notes.update(dict.fromkeys(_notes_upwards(start)))
    return tuple(notes)


def _table_root(directory: str) -> str:
    """Return the nearest directory, from this one upwards, that is not a partition."""
    parent, name = parent_and_name(directory)
    while "=" in name and parent is not None:
        directory = parent
        parent, name = parent_and_name(directory)
    return directory


def _notes_upwards(start: str) -> Iterator[str]:
    """Yield warnings if a directory is the root of a table, or the data directory of one."""
    directory = _table_root(start)
    parent, name = parent_and_name(directory)
    for place in (directory, parent if name == _ICEBERG_DATA else None):
        if place is not None:
            yield from _notes_on(place)


def _notes_on(directory: str) -> Iterator[str]:
    try:
        system, path = locate(directory)
        for format_ in _FORMATS:
            if _has_marker(system, f"{path.rstrip('/')}/{format_.marker}", format_.suffix):
                yield (
                    f"{path if is_local(system) else directory}: is a {format_.name} table (it has "
                    f"{format_.marker}); as plain Parquet, files that the table has removed are read too: "
                    f"use a reader of {format_.name}"
                )
    except (InputError, OSError, pa.ArrowException):
        return


def _has_marker(system: fs.FileSystem, marker: str, suffix: str) -> bool:
    if system.get_file_info(marker).type is not fs.FileType.Directory:
        return False
    if not suffix:
        return True
    inside = system.get_file_info(fs.FileSelector(marker))
    return any(entry.is_file and entry.path.endswith(suffix) for entry in inside)
