"""Which files a caller means: paths and directories become files with their sizes and times."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import fs

from pruning.arguments import check_text, shown
from pruning.errors import InputError
from pruning.metadata.files import globs
from pruning.metadata.files.locations import below, is_local, locate

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One file: as the caller spells it, where it is, and what tells whether it has changed.

    `named` is False of one that was found in a directory, or by a pattern.
    """

    file: str
    path: str
    local: bool
    size_bytes: int
    modified_ns: int | None
    named: bool = True


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


def list_files(paths: Paths, *, patterns: bool = True) -> Listing:
    """The data files under `paths`: a file as given, a directory's by path, lists in their order.

    Args:
        paths: Files and directories; with `patterns`, patterns of `pruning.metadata.files.globs`, too.
            What exists under a name with such signs is meant before what the pattern matches.
        patterns: Whether a path that does not exist may be a pattern.
    Raises:
        InputError: nothing was given, or something that is no path; a path does not exist, a pattern
            matches nothing, or a directory holds no data.
    """
    given = _spelling(paths)
    found: list[Listed] = []
    parents: dict[str | None, None] = {}
    for path, (system, place), info in zip(given, *_looked_up(given), strict=True):
        for files, parent in _expand(path, place, system, info, patterns=patterns):
            found.extend(files)
            parents[parent] = None
    return Listing(tuple(found), _common(list(parents)))


def _spelling(paths: Any) -> list[str]:
    """The paths as texts.

    Raises:
        InputError: there is none, or something else.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if isinstance(paths, bytes | bytearray | Mapping) or not isinstance(paths, Iterable):
        raise InputError(f"The path is {shown(paths)}; name a Parquet file or a directory of them")
    spelled = []
    for path in paths:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
        if not isinstance(text, str):
            raise InputError(f"A path is {shown(path)}; name a Parquet file or a directory of them")
        check_text("A path", text)
        if not text or "\0" in text:
            raise InputError(f"The path {text!r} is of no file; name a Parquet file or a directory of them")
        spelled.append(text)
    if not spelled:
        raise InputError("No path was given; name a Parquet file or a directory of them")
    return spelled


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
    given: str, path: str, system: fs.FileSystem, info: fs.FileInfo | None, *, patterns: bool
) -> list[tuple[list[Listed], str | None]]:
    """The files that one path, or each match of a pattern, stands for, and the local directory of each."""
    try:
        info = info or system.get_file_info(path)
        if info.type is not fs.FileType.NotFound:
            return [_at(given, path, system, info, named=True)]
        if not patterns or not globs.is_pattern(given):
            raise InputError(f"{given}: does not exist; check the path")
        matches = globs.matches(given, system)
        if not matches:
            raise InputError(f"{given}: matches no file or directory; check the pattern")
        expanded = [_at(match.spelled, match.path, system, match.info, named=False) for match in matches]
        if not any(files for files, _ in expanded):
            raise InputError(f"{given}: matches no data files; check the pattern")
        return [(files, parent) for files, parent in expanded if files]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{given}: cannot be listed ({error}); check its permissions") from error


def _at(
    given: str, path: str, system: fs.FileSystem, info: fs.FileInfo, *, named: bool
) -> tuple[list[Listed], str | None]:
    """The files that are at a place, and the local directory that holds them."""
    local = is_local(system)
    if not named and info.is_file and _hidden(info.base_name):
        return [], None
    if info.is_file:
        return [_listed(given, info, local, named=named)], (path.rpartition("/")[0] or "/") if local else None
    if info.type is not fs.FileType.Directory:
        raise InputError(f"{given}: is neither a file nor a directory; check the path")
    files = _in_directory(given, path, system)
    if not files and named:
        raise InputError(f"{given}: holds no data files; name a directory with Parquet files in it")
    return files, path if local else None


def _in_directory(given: str, path: str, system: fs.FileSystem) -> list[Listed]:
    root = path.rstrip("/") + "/"
    data = sorted((entry.path[len(root) :], entry) for entry in _entries(path, system))
    data = [(relative, entry) for relative, entry in data if is_data(relative)]
    local = is_local(system)
    return [_listed(below(given, relative), entry, local, named=False) for relative, entry in data]


def _entries(path: str, system: fs.FileSystem) -> Iterator[fs.FileInfo]:
    """Yield the files below a directory; local hidden directories are not opened.

    They may be another user's. A remote store lists all levels in one request, and has no such modes.
    """
    if not is_local(system):
        entries = system.get_file_info(fs.FileSelector(path, recursive=True))
        yield from (entry for entry in entries if entry.type is fs.FileType.File)
        return
    pending = [path]
    while pending:
        for entry in system.get_file_info(fs.FileSelector(pending.pop())):
            if entry.type is fs.FileType.File:
                yield entry
            elif entry.type is fs.FileType.Directory and not _hidden(entry.base_name):
                pending.append(entry.path)


def _listed(file: str, info: fs.FileInfo, local: bool, *, named: bool) -> Listed:
    return Listed(
        file=file,
        path=info.path,
        local=local,
        size_bytes=info.size,
        modified_ns=info.mtime_ns,
        named=named,
    )


def _common(parents: list[str | None]) -> str | None:
    known = [parent for parent in parents if parent is not None]
    return os.path.commonpath(known) if known and len(known) == len(parents) else None
