"""Detection of table formats whose logs remove files, which a plain Parquet reader would still read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.files import globs
from pruning.metadata.files.listing import Listing
from pruning.metadata.files.locations import (
    is_local,
    is_on_local_disk,
    locate,
    parent_and_name,
    path_below,
    relative_to,
)

# The path or URI of a directory, and the end of the name of a file that must be in it; "" if none must be.
Marker = tuple[str, str]
# Tells of each marker whether it is there; of one that cannot be looked for, that it is not.
MarkerCheck = Callable[[Sequence[Marker]], Sequence[bool]]

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


DELTA, ICEBERG = "Delta Lake", "Iceberg"
_FORMATS = (
    _TableFormat(DELTA, "_delta_log"),
    _TableFormat(ICEBERG, "metadata", suffix=".json"),
    _TableFormat("Hudi", ".hoodie"),
)


def table_format_notes(
    roots: Iterable[str], files: Iterable[str], *, has_markers: MarkerCheck | None = None
) -> tuple[str, ...]:
    """Return a warning for each table of another format whose directory is read as plain Parquet.

    The directories that are checked are the roots, those that hold files, and those above partitions and
    above Iceberg's `data`. A directory that cannot be listed is skipped.

    Args:
        roots: The paths or URIs that the caller gave: directories or files.
        files: The files in them, as paths or URIs.
        has_markers: Looks for the directories that identify formats; by default, Arrow's file systems do.
    """
    holding = {file: parent_and_name(file)[0] for file in files}
    directories = dict.fromkeys(directory for directory in holding.values() if directory is not None)
    starts = [
        *islice(
            (root for root in roots if root not in holding and not _is_remote_pattern(root)), _STARTS_MAX
        ),
        *islice(dict.fromkeys(map(_table_root, directories)), _STARTS_MAX),
    ]
    candidates = dict.fromkeys(directory for start in starts for directory in _table_roots(start))
    # A directory may be spelled with and without a slash at its end.
    notes: dict[Marker, tuple[str, _TableFormat]] = {}
    for directory in candidates:
        for format_ in _FORMATS:
            marker = path_below(directory, format_.marker), format_.suffix
            notes.setdefault(marker, (directory, format_))
    answers = (has_markers or arrow_has_markers)(list(notes))
    there = [note for note, is_there in zip(notes.values(), answers, strict=True) if is_there]
    return tuple(dict.fromkeys(_note(*note) for note in there))


def table_format(directory: str, *, has_markers: MarkerCheck | None = None) -> str | None:
    """Return the name of the first format that a directory is a table of; None if it is of none.

    Args:
        directory: Its path or URI.
        has_markers: As for `table_format_notes`.
    """
    markers = [(path_below(directory, format_.marker), format_.suffix) for format_ in _FORMATS]
    answers = (has_markers or arrow_has_markers)(markers)
    return next((format_.name for format_, is_there in zip(_FORMATS, answers, strict=True) if is_there), None)


def _is_remote_pattern(path: str) -> bool:
    """Tell whether a remote path may be a pattern, which has no directory of its own."""
    # In the URI of a remote store, `?` begins the query.
    return not is_on_local_disk(path) and globs.is_pattern(path.partition("?")[0])


def listed_marker(listing: Listing, marker: Marker) -> bool | None:
    """Tell whether a listing has a marker; None if it does not cover the place."""
    path, suffix = marker
    for root, folders in listing.folders.items():
        relative = relative_to(root, path)
        if relative is not None:
            files = (relative_to(path, listed.file) for listed in listing.files)
            return relative in folders and (not suffix or any(f and f.endswith(suffix) for f in files))
    return None


def arrow_has_markers(markers: Sequence[Marker]) -> list[bool]:
    """Tell of each marker whether Arrow's file systems have it."""
    return [_arrow_has_marker(*marker) for marker in markers]


def _arrow_has_marker(marker: str, suffix: str) -> bool:
    try:
        system, path = locate(marker)
        if is_local(system) and system.get_file_info(path).type is not fs.FileType.Directory:
            return False
        # Of a remote store, one request tells whether there is anything.
        inside = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (InputError, OSError, pa.ArrowException):
        return False
    if not suffix:
        return bool(inside) or is_local(system)
    return any(entry.is_file and entry.path.endswith(suffix) for entry in inside)


def _table_root(directory: str) -> str:
    """Return the nearest directory, from this one upwards, that is not a partition."""
    parent, name = parent_and_name(directory)
    while "=" in name and parent is not None:
        directory = parent
        parent, name = parent_and_name(directory)
    return directory


def _table_roots(start: str) -> Iterator[str]:
    """Yield the directories that are roots of tables if a directory is one, or the data directory of one."""
    directory = _table_root(start)
    yield directory
    parent, name = parent_and_name(directory)
    if name == _ICEBERG_DATA and parent is not None:
        yield parent


def _note(directory: str, format_: _TableFormat) -> str:
    name = locate(directory)[1] if is_on_local_disk(directory) else directory
    return (
        f"{name}: is a {format_.name} table (it has {format_.marker}); as plain Parquet, files that the "
        f"table has removed are read too: use a reader of {format_.name}"
    )
