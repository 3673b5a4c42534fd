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
    parents: list[str | None] = []
    for path in given:
        files, parent = _expand(path)
        found.extend(files)
        parents.append(parent)
    return Listing(tuple(found), _common(parents))


def is_data(relative: str) -> bool:
    """Whether Spark reads a file at this path below the directory it was given.

    Names that start with `_` or `.` are hidden, at any depth, except that `_name=value` is a
    partition; so is what is still being copied.
    """
    return not any(_hidden(part) for part in relative.split("/"))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _expand(given: str) -> tuple[list[Listed], str | None]:
    """The files one path stands for, and the local directory that holds them."""
    system, path = locate(given)
    local = is_local(system)
    try:
        info = system.get_file_info(path)
        if info.type is fs.FileType.File:
            return [_listed(given, info, local)], os.path.dirname(path) if local else None
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
