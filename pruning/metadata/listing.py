"""Which files a caller means: paths and directories become files with their sizes and times."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.locations import below, is_local, locate

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One file: as the caller spells it, where it is, and what tells whether it has changed."""

    file: str
    path: str
    local: bool
    size_bytes: int
    modified_ns: int | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """The size of a file in bytes and the time of its last change in ms, as somebody else has listed them."""

    size_bytes: int
    modified_ms: int

    def is_of(self, listed: Listed) -> bool:
        """Return whether a file has kept its size and time; a time in whole seconds is compared as such."""
        if self.size_bytes != listed.size_bytes:
            return False
        if listed.modified_ns is None:
            return True
        modified_ms = listed.modified_ns // 1_000_000
        # Java before 10 knows the time of local files in seconds.
        if self.modified_ms % 1_000 == 0:
            modified_ms -= modified_ms % 1_000
        return self.modified_ms == modified_ms


@dataclass(frozen=True, slots=True)
class Listing:
    """The files in order, and the deepest local directory above all that was asked for, if any."""

    files: tuple[Listed, ...]
    parent: str | None


def list_files(paths: Paths) -> Listing:
    """The data files under `paths`: a file as given, a directory's by path, lists in their order.

    Raises:
        InputError: nothing was given, a path does not exist, or a directory holds no data.
    """
    given = (
        [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]
    )
    if not given:
        raise InputError("No path was given; name a Parquet file or a directory of them")
    found: list[Listed] = []
    parents: dict[str | None, None] = {}
    for path, (system, place), info in zip(given, *_looked_up(given), strict=True):
        files, parent = _expand(path, place, system, info)
        found.extend(files)
        parents[parent] = None
    return Listing(tuple(found), _common(list(parents)))


def is_data(relative: str) -> bool:
    """Whether Spark reads a file at this path below the directory it was given.

    Names that start with `_` or `.` are hidden, at any depth, except that `_name=value` is a
    partition; so is what is still being copied.
    """
    return not any(_hidden(part) for part in relative.split("/"))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _looked_up(given: Sequence[str]) -> tuple[list[tuple[fs.FileSystem, str]], list[fs.FileInfo | None]]:
    """Where each path leads, and what is there if that could be asked of all together, as of local files."""
    places = [locate(path) for path in given]
    if not all(is_local(system) for system, _ in places):
        return places, [None] * len(places)
    try:
        return places, places[0][0].get_file_info([path for _, path in places])
    except (OSError, pa.ArrowException):
        return places, [None] * len(places)


def _expand(
    given: str, path: str, system: fs.FileSystem, info: fs.FileInfo | None
) -> tuple[list[Listed], str | None]:
    """The files one path stands for, and the local directory that holds them."""
    local = is_local(system)
    try:
        info = info or system.get_file_info(path)
        if info.is_file:
            return [_listed(given, info, local)], (path.rpartition("/")[0] or "/") if local else None
        if info.type is not fs.FileType.Directory:
            raise InputError(f"{given}: does not exist; check the path")
        return _in_directory(given, path, system), path if local else None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{given}: cannot be listed ({error}); check its permissions") from error


def _in_directory(given: str, path: str, system: fs.FileSystem) -> list[Listed]:
    root = path.rstrip("/") + "/"
    inside = [
        (entry.path[len(root) :], entry)
        for entry in system.get_file_info(fs.FileSelector(path, recursive=True))
        if entry.type is fs.FileType.File
    ]
    data = sorted((relative, entry) for relative, entry in inside if is_data(relative))
    if not data:
        raise InputError(f"{given}: holds no data files; name a directory with Parquet files in it")
    return [_listed(below(given, relative), entry, is_local(system)) for relative, entry in data]


def _listed(file: str, info: fs.FileInfo, local: bool) -> Listed:
    return Listed(file=file, path=info.path, local=local, size_bytes=info.size, modified_ns=info.mtime_ns)


def _common(parents: list[str | None]) -> str | None:
    known = [parent for parent in parents if parent is not None]
    return os.path.commonpath(known) if known and len(known) == len(parents) else None
