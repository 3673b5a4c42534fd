"""Listing: paths, directories and patterns become files with their sizes and times."""

import contextlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import fs

from pruning.arguments import check_text, describe_value
from pruning.errors import InputError
from pruning.metadata.files import globs
from pruning.metadata.files.locations import (
    NoFileSystem,
    address,
    common_directory,
    is_local,
    is_uri,
    locate,
    path_below,
)

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# With more files of one remote directory than this, the directory is listed instead of asking about each.
_ASKED_ALONE_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """One file: its spelling by the caller, its path, and the size and time that change when it is written.

    The path of a remote file is a URI without escapes (`pruning.metadata.files.locations.address`). `named`
    is False for a file that was found in a directory or by a pattern, and `by_session` is True for one that
    a Spark session has listed.
    """

    file: str
    path: str
    local: bool
    size_bytes: int
    modified_ns: int | None
    named: bool = True
    by_session: bool = False


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
        folders: Of each remote directory that was listed at all depths, as it is spelled, the relative paths
            of those below it, hidden ones included. They do not count for equality.
    """

    files: tuple[ListedFile, ...]
    parent: str | None
    whole: bool = False
    looked_us: int = field(default_factory=lambda: time.time_ns() // 1_000, compare=False)
    folders: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # A listing of many files is looked up in several caches.
        object.__setattr__(self, "_hash", hash((self.files, self.parent, self.whole)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The data files at one path.

    Attributes:
        files: The files, sorted.
        parent: The directory that contains them: a local one, or a URI.
        whole: True if the caller has named that directory.
        folders: As in `Listing`.
    """

    files: Sequence[ListedFile]
    parent: str
    whole: bool = False
    folders: Mapping[str, frozenset[str]] = field(default_factory=dict)


class PathLister(Protocol):
    """Lists what Arrow has no file system for."""

    def contents(self, path: str, *, patterns: bool) -> list[Contents]:
        """Return the files at a path, or those of each match of a pattern, as `list_files` does.

        Raises:
            InputError: as `list_files`.
        """


def list_files(paths: Paths, *, patterns: bool = True, session: PathLister | None = None) -> Listing:
    """List the data files under `paths`: those of a directory sorted by path, sequences in their order.

    Args:
        paths: Files and directories; with `patterns`, patterns of `pruning.metadata.files.globs`, too.
            A file whose name is a pattern's text is preferred to the files that the pattern matches.
        patterns: Whether a path that does not exist may be a pattern.
        session: Lists the remote paths that Arrow cannot list.
    Raises:
        InputError: nothing was given, or something that is no path; a path does not exist, a pattern
            matches nothing, or a directory holds no data.
    """
    looked_us = time.time_ns() // 1_000
    path_texts = texts_of_paths(paths)
    contents = [
        part
        for path, place in zip(path_texts, _locate_all(path_texts, session), strict=True)
        for part in _contents(path, place, session, patterns=patterns)
    ]
    return Listing(
        files=tuple(listed for part in contents for listed in part.files),
        parent=_common_parent({part.parent for part in contents}),
        whole=len(contents) == 1 and contents[0].whole,
        looked_us=looked_us,
        folders={root: folders for part in contents for root, folders in part.folders.items()},
    )


def listings_by_place(listing: Listing) -> list[Listing]:
    """Return the listing, and that of the same files named one by one if its directory is another one.

    What is kept beside the data is looked up by that directory.
    """
    by_file = list_files([listed.file for listed in listing.files], patterns=False)
    return [listing] if by_file.parent == listing.parent else [listing, by_file]


def texts_of_paths(paths: Any) -> list[str]:
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


@dataclass(frozen=True, slots=True)
class _Place:
    """A path on a file system of Arrow's, and what is there if that is known already."""

    system: fs.FileSystem
    path: str
    info: fs.FileInfo | None = None


def _locate_all(path_texts: Sequence[str], session: PathLister | None) -> list[_Place | None]:
    """Return the place of each path; None where the session has to list it.

    Raises:
        InputError: an address is unknown, and there is no session.
    """
    places: list[_Place | None] = []
    for path in path_texts:
        try:
            places.append(_Place(*locate(path)))
        except NoFileSystem:
            if session is None:
                raise
            places.append(None)
    located = [place for place in places if place is not None]
    if located and all(is_local(place.system) for place in located):
        infos = _local_infos(located)
    else:
        infos = _infos_by_directory(located)
    return [place and _Place(place.system, place.path, infos.get(place.path)) for place in places]


def _local_infos(places: Sequence[_Place]) -> dict[str, fs.FileInfo]:
    """Return what is at local paths, fetched together."""
    try:
        infos = places[0].system.get_file_info([place.path for place in places])
    except (OSError, pa.ArrowException):
        return {}
    return dict(zip((place.path for place in places), infos, strict=True))


def _infos_by_directory(places: Sequence[_Place]) -> dict[str, fs.FileInfo]:
    """Return what is at paths of which many are in one directory, from listings of the directories."""
    groups: dict[tuple[int, str], list[_Place]] = {}
    for place in places:
        if not is_local(place.system):
            groups.setdefault((id(place.system), place.path.rpartition("/")[0]), []).append(place)
    infos: dict[str, fs.FileInfo] = {}
    for (_, directory), group in groups.items():
        if directory and len(group) > _ASKED_ALONE_MAX:
            # What is not in the listing is asked for alone, and so is everything where it fails.
            with contextlib.suppress(OSError, pa.ArrowException):
                entries = group[0].system.get_file_info(fs.FileSelector(directory, allow_not_found=True))
                infos |= {entry.path: entry for entry in entries}
    return {place.path: infos[place.path] for place in places if place.path in infos}


def _contents(
    path_text: str, place: _Place | None, session: PathLister | None, *, patterns: bool
) -> list[Contents]:
    """Return the files of one path, or of each match of a pattern."""
    if place is not None:
        try:
            return _expand(path_text, place, patterns=patterns)
        except (OSError, pa.ArrowException) as error:
            if session is None or is_local(place.system):
                raise InputError(f"{path_text}: cannot be listed ({error}); check its permissions") from error
    assert session is not None
    return session.contents(path_text, patterns=patterns)


def _expand(path_text: str, place: _Place, *, patterns: bool) -> list[Contents]:
    system, path, info = place.system, place.path, place.info
    # In the URI of a remote store, `?` begins the query.
    spelled = path_text if is_local(system) else path_text.partition("?")[0]
    pattern = patterns and globs.is_pattern(spelled)
    if info is None and not is_local(system) and not pattern and not path.endswith(".parquet"):
        # This is a directory most likely, and one request tells.
        with contextlib.suppress(OSError, pa.ArrowException):
            entries = _entries(path, system)
            if entries:
                return [_directory_contents(path_text, path, system, entries, named=True)]
    info = info or system.get_file_info(path)
    if info.type is not fs.FileType.NotFound:
        return [part for part in [_contents_at(path_text, path, system, info, named=True)] if part]
    if not pattern:
        raise InputError(f"{path_text}: does not exist; check the path")
    matches = globs.matches(path_text, system)
    if not matches:
        raise InputError(f"{path_text}: matches no file or directory; check the pattern")
    parts = [_contents_at(match.spelled, match.path, system, match.info, named=False) for match in matches]
    contents = [part for part in parts if part is not None and part.files]
    if not contents:
        raise InputError(f"{path_text}: matches no data files; check the pattern")
    return contents


def _contents_at(
    path_text: str, path: str, system: fs.FileSystem, info: fs.FileInfo, *, named: bool
) -> Contents | None:
    """Return the files at a path; None for a hidden file that a pattern matches."""
    if not named and info.is_file and _is_hidden(info.base_name):
        return None
    if info.is_file:
        identity = path if is_local(system) else address(path_text)
        listed = _listed_file(path_text, identity, info, is_local(system), named=named)
        return Contents(files=[listed], parent=identity.rpartition("/")[0] or "/")
    if info.type is not fs.FileType.Directory:
        raise InputError(f"{path_text}: is neither a file nor a directory; check the path")
    return _directory_contents(path_text, path, system, _entries(path, system), named=named)


def _directory_contents(
    path_text: str, path: str, system: fs.FileSystem, entries: Iterable[fs.FileInfo], *, named: bool
) -> Contents:
    root = path.rstrip("/") + "/"
    local = is_local(system)
    parent = path if local else address(path_text)
    below = sorted((entry.path[len(root) :], entry) for entry in entries)
    files = [
        _listed_file(
            path_below(path_text, relative),
            entry.path if local else f"{parent}/{relative}",
            entry,
            local,
            named=False,
        )
        for relative, entry in below
        if entry.type is fs.FileType.File and is_data(relative)
    ]
    if not files and named:
        raise InputError(f"{path_text}: holds no data files; name a directory with Parquet files in it")
    folders = {} if local else {path_text: directories_above(relative for relative, _ in below)}
    return Contents(files=files, parent=parent, whole=named, folders=folders)


def directories_above(relatives: Iterable[str]) -> frozenset[str]:
    """Return the directories that relative paths are in, at all depths."""
    directories = {relative.rpartition("/")[0] for relative in relatives}
    for directory in tuple(directories):
        while directory:
            directory = directory.rpartition("/")[0]
            directories.add(directory)
    return frozenset(directories - {""})


def _entries(path: str, system: fs.FileSystem) -> list[fs.FileInfo]:
    """Return what is below a directory, without opening hidden local directories; nothing if there is none.

    Hidden local directories may belong to another user. A remote store has no such permissions and lists
    all levels in one request.
    """
    if not is_local(system):
        selector = fs.FileSelector(path, recursive=True, allow_not_found=True)
        entries: list[fs.FileInfo] = system.get_file_info(selector)
        return [entry for entry in entries if entry.type is fs.FileType.File]
    files: list[fs.FileInfo] = []
    pending = [path]
    while pending:
        for entry in system.get_file_info(fs.FileSelector(pending.pop())):
            if entry.type is fs.FileType.File:
                files.append(entry)
            elif entry.type is fs.FileType.Directory and not _is_hidden(entry.base_name):
                pending.append(entry.path)
    return files


def _listed_file(file: str, path: str, info: fs.FileInfo, local: bool, *, named: bool) -> ListedFile:
    return ListedFile(
        file=file,
        path=path,
        local=local,
        size_bytes=info.size,
        modified_ns=info.mtime_ns,
        named=named,
    )


def _common_parent(parents: Iterable[str]) -> str | None:
    """Return the directory that contains all of these, local ones or URIs; None if there is none."""
    directories = list(parents)
    return common_directory(directories) if any(map(is_uri, directories)) else os.path.commonpath(directories)
