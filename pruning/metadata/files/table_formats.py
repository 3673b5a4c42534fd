"""Detection of table formats whose logs remove files, which a plain Parquet reader would still read."""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.files.listing import Listing
from pruning.metadata.files.locations import (
    is_local,
    is_on_local_disk,
    locate,
    parent_and_name,
    path_below,
    relative_to,
)

# Tells of a path or URI whether it is a directory and, if a suffix is given, holds a file that ends in it.
MarkerCheck = Callable[[str, str], bool]

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


def table_format_notes(
    roots: Iterable[str], files: Iterable[str], *, has_marker: MarkerCheck | None = None
) -> tuple[str, ...]:
    """Return a warning for each table of another format whose directory is read as plain Parquet.

    The directories that are checked are the roots, those that hold files, and those above partitions and
    above Iceberg's `data`. A directory that cannot be listed is skipped.

    Args:
        roots: The paths or URIs that the caller gave: directories or files.
        files: The files in them, as paths or URIs.
        has_marker: Looks for the directories that identify formats; by default, Arrow's file systems do.
    """
    has_marker = functools.cache(has_marker or arrow_has_marker)
    holding = {file: parent_and_name(file)[0] for file in files}
    directories = dict.fromkeys(directory for directory in holding.values() if directory is not None)
    starts = dict.fromkeys(
        [
            *islice((root for root in roots if root not in holding), _STARTS_MAX),
            *islice(dict.fromkeys(map(_table_root, directories)), _STARTS_MAX),
        ]
    )
    return tuple(dict.fromkeys(note for start in starts for note in _notes_upwards(start, has_marker)))


def listed_marker(listing: Listing, marker: str, suffix: str) -> bool | None:
    """Tell whether a listing has a marker, as `MarkerCheck` does; None if it does not cover the place."""
    for root, folders in listing.folders.items():
        relative = relative_to(root, marker)
        if relative is not None:
            return (
                relative in folders
                and any((relative_to(marker, listed.file) or "").endswith(suffix) for listed in listing.files)
                if suffix
                else relative in folders
            )
    return None


def _table_root(directory: str) -> str:
    """Return the nearest directory, from this one upwards, that is not a partition."""
    parent, name = parent_and_name(directory)
    while "=" in name and parent is not None:
        directory = parent
        parent, name = parent_and_name(directory)
    return directory


def _notes_upwards(start: str, has_marker: MarkerCheck) -> Iterator[str]:
    """Yield warnings if a directory is the root of a table, or the data directory of one."""
    directory = _table_root(start)
    parent, name = parent_and_name(directory)
    for place in (directory, parent if name == _ICEBERG_DATA else None):
        if place is not None:
            yield from _notes_on(place, has_marker)


def _notes_on(directory: str, has_marker: MarkerCheck) -> Iterator[str]:
    try:
        shown = locate(directory)[1] if is_on_local_disk(directory) else directory
        for format_ in _FORMATS:
            if has_marker(path_below(directory, format_.marker), format_.suffix):
                yield (
                    f"{shown}: is a {format_.name} table (it has {format_.marker}); as plain Parquet, files "
                    f"that the table has removed are read too: use a reader of {format_.name}"
                )
    except (InputError, OSError, pa.ArrowException):
        return


def arrow_has_marker(marker: str, suffix: str) -> bool:
    """Tell as `MarkerCheck` does, by Arrow's file systems.

    Raises:
        InputError: no file system is known for the URI.
        OSError, pa.ArrowException: the directory cannot be listed.
    """
    system, path = locate(marker)
    if is_local(system) and system.get_file_info(path).type is not fs.FileType.Directory:
        return False
    # Of a remote store, one request tells whether there is anything.
    inside = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    if not suffix:
        return bool(inside) or is_local(system)
    return any(entry.is_file and entry.path.endswith(suffix) for entry in inside)
