"""Listing: paths, directories and patterns become files with their sizes and times."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import fs

from pruning.arguments import check_text, describe_value
from pruning.errors import InputError
from pruning.metadata.files import globs
from pruning.metadata.files.locations import is_local, locate, path_below

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """One file: its spelling by the caller, its path, and the size and time that change when it is written.

    `named` is False for a file that was found in a directory or by a pattern.
    """

    file: str
    path: str
    local: bool
    size_bytes: int
    modified_ns: int | None
    named: bool = True


@dataclass(frozen=True, slots=True)
class Stamp:
    """The size of a file in bytes and the time of its last change in ms, from an earlier listing."""

    size_bytes: int
    modified_ms: int

    def is_of(self, listed: ListedFile) -> bool:
        """Tell whether a file still has this size and time; whole seconds are compared in seconds."""
        if self.size_bytes != listed.size_bytes:
            return False
        if listed.modified_ns is None:
            return True
        modified_ms = listed.modified_ns // 1_000_000
        # Java before 10 reports the time of local files in seconds.
        if self.modified_ms % 1_000 == 0:
            modified_ms -= modified_ms % 1_000
        return self.modified_ms == modified_ms


@dataclass(frozen=True, slots=True)
class Listing:
    """Listed files.

    Attributes:
        files: The files in order.
        parent: A directory that contains them all, if any: a local one, or a URI.
        whole: True if these are all data files of that directory.
        looked_us: When the listing began, in microseconds since 1970. It does not count for equality.
    """

    files: tuple[ListedFile, ...]
    parent: str | None
    whole: bool = False
    looked_us: int = field(default_factory=lambda: time.time_ns() // 1_000, compare=False)


def list_files(paths: Paths, *, patterns: bool = True) -> Listing:
    """List the data files under `paths`: those of a directory sorted by path, sequences in their order.

    Args:
        paths: Files and directories; with `patterns`, patterns of `pruning.metadata.files.globs`, too.
            A file whose name is a pattern's text is preferred to the files that the pattern matches.
        patterns: Whether a path that does not exist may be a pattern.
    Raises:
        InputError: nothing was given, or something that is no path; a path does not exist, a pattern
            matches nothing, or a directory holds no data.
    """
    looked_us = time.time_ns() // 1_000
    path_texts = _path_texts(paths)
    listed_files: list[ListedFile] = []
    parents: dict[str | None, None] = {}
    places, infos = _locate_all(path_texts)
    for path, (system, place), info in zip(path_texts, places, infos, strict=True):
        for files, parent in _expand(path, place, system, info, patterns=patterns):
            listed_files.extend(files)
            parents[parent] = None
    parent = _common_parent(list(parents))
    # The parent of a file, or of what a pattern matches, is not the path itself.
    whole = parent is not None and [place.rstrip("/") for _, place in places] == [parent]
    return Listing(tuple(listed_files), parent, whole, looked_us)


def listings_by_place(listing: Listing) -> list[Listing]:
    """Return the listing, and that of the same files named one by one if its directory is another one.

    What is kept beside the data is looked up by that directory.
    """
    by_file = list_files([listed.file for listed in listing.files], patterns=False)
    return [listing] if by_file.parent == listing.parent else [listing, by_file]


def _path_texts(paths: Any) -> list[str]:
    """Return the paths as a list of strings.

    Raises:
        InputError: there is no path, or something is not a path.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if isinstance(paths, bytes | bytearray | Mapping) or not isinstance(paths, Iterable):
        raise InputError(f"The path is {describe_value(paths)}; name a Parquet file or a directory of them")
    spelled = []
    for path in paths:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
        if not isinstance(text, str):
            raise InputError(f"A path is {describe_value(path)}; name a Parquet file or a directory of them")
        check_text("A path", text)
        if not text or "\0" in text:
            raise InputError(f"The path {text!r} is of no file; name a Parquet file or a directory of them")
        spelled.append(text)
    if not spelled:
        raise InputError("No path was given; name a Parquet file or a directory of them")
    return spelled


def is_data(relative: str) -> bool:
    """Tell whether Spark reads a file at this path below a directory that it reads.

    Names that start with `_` or `.` are hidden, at any depth, except that `_name=value` is a
    partition; files that are still being copied are hidden too.
    """
    return not any(_is_hidden(part) for part in relative.split("/"))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _locate_all(
    path_texts: Sequence[str],
) -> tuple[list[tuple[fs.FileSystem, str]], list[fs.FileInfo | None]]:
    """Return each path's file system and place, and the file infos, fetched together if all are local."""
    places = [locate(path) for path in path_texts]
    if not all(is_local(system) for system, _ in places):
        return places, [None] * len(places)
    try:
        return places, places[0][0].get_file_info([path for _, path in places])
    except (OSError, pa.ArrowException):
        return places, [None] * len(places)


def _expand(
    path_text: str, path: str, system: fs.FileSystem, info: fs.FileInfo | None, *, patterns: bool
) -> list[tuple[list[ListedFile], str | None]]:
    """Return the files of one path, or of each match of a pattern, each with its local directory."""
    try:
        info = info or system.get_file_info(path)
        if info.type is not fs.FileType.NotFound:
            return [_files_at(path_text, path, system, info, named=True)]
        if not patterns or not globs.is_pattern(path_text):
            raise InputError(f"{path_text}: does not exist; check the path")
        matches = globs.matches(path_text, system)
        if not matches:
            raise InputError(f"{path_text}: matches no file or directory; check the pattern")
        expanded = [
            _files_at(match.spelled, match.path, system, match.info, named=False) for match in matches
        ]
        if not any(files for files, _ in expanded):
            raise InputError(f"{path_text}: matches no data files; check the pattern")
        return [(files, parent) for files, parent in expanded if files]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path_text}: cannot be listed ({error}); check its permissions") from error


def _files_at(
    path_text: str, path: str, system: fs.FileSystem, info: fs.FileInfo, *, named: bool
) -> tuple[list[ListedFile], str | None]:
    """Return the files at a path, and the local directory that contains them."""
    local = is_local(system)
    if not named and info.is_file and _is_hidden(info.base_name):
        return [], None
    if info.is_file:
        return [_listed_file(path_text, info, local, named=named)], (
            path.rpartition("/")[0] or "/"
        ) if local else None
    if info.type is not fs.FileType.Directory:
        raise InputError(f"{path_text}: is neither a file nor a directory; check the path")
    files = _files_in(path_text, path, system)
    if not files and named:
        raise InputError(f"{path_text}: holds no data files; name a directory with Parquet files in it")
    return files, path if local else None


def _files_in(path_text: str, path: str, system: fs.FileSystem) -> list[ListedFile]:
    root = path.rstrip("/") + "/"
    data = sorted((entry.path[len(root) :], entry) for entry in _entries(path, system))
    data = [(relative, entry) for relative, entry in data if is_data(relative)]
    local = is_local(system)
    return [
        _listed_file(path_below(path_text, relative), entry, local, named=False) for relative, entry in data
    ]


def _entries(path: str, system: fs.FileSystem) -> Iterator[fs.FileInfo]:
    """Yield the files below a directory, without opening hidden local directories.

    Hidden local directories may belong to another user. A remote store has no such permissions and lists
    all levels in one request.
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
            elif entry.type is fs.FileType.Directory and not _is_hidden(entry.base_name):
                pending.append(entry.path)


def _listed_file(file: str, info: fs.FileInfo, local: bool, *, named: bool) -> ListedFile:
    return ListedFile(
        file=file,
        path=info.path,
        local=local,
        size_bytes=info.size,
        modified_ns=info.mtime_ns,
        named=named,
    )


def _common_parent(parents: list[str | None]) -> str | None:
    directories = [parent for parent in parents if parent is not None]
    return os.path.commonpath(directories) if directories and len(directories) == len(parents) else None
