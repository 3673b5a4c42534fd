"""The files of a table's log: its commits and checkpoints, and those that one version is made of."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.files.locations import is_local, locate

LOG_DIRECTORY = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(?P<version>\d{20})\.checkpoint"
    r"(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[0-9A-Fa-f-]{36}))?\.(?P<form>parquet|json)"
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the log: its path on the table's file system, and its time, ms since 1970."""

    path: str
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The files of the log that one version is made of: maybe a checkpoint, and the commits after it."""

    version: int
    checkpoint: tuple[str, ...]
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaLog:
    """The log of a table, as its directory was listed.

    Attributes:
        location: The table's directory, without escapes: a path, or a URI of a remote store.
        root: The path of that directory on its file system.
        commits: By version.
        checkpoints: The paths of the parts of a complete checkpoint, by version.
    """

    location: str
    system: fs.FileSystem
    root: str
    commits: Mapping[int, Commit]
    checkpoints: Mapping[int, tuple[str, ...]]

    @property
    def newest(self) -> int:
        """The newest version."""
        return max(self.commits.keys() | self.checkpoints.keys())

    @property
    def oldest(self) -> int:
        """The oldest version that can be read, if no commit is missing after it."""
        return 0 if 0 in self.commits else min(self.checkpoints, default=min(self.commits))

    def segment(self, version: int) -> Segment:
        """Return the files that a version is made of.

        Raises:
            InputError: the table has no such version, or some of its files are gone.
        """
        if not 0 <= version <= self.newest:
            raise InputError(
                f"{self.location}: has no version {version}; its versions are {self.oldest} to {self.newest}"
            )
        checkpoint = max((place for place in self.checkpoints if place <= version), default=None)
        if checkpoint is None and 0 not in self.commits:
            way = f"read a version from {self.oldest} on" if self.checkpoints else "restore them"
            raise InputError(
                f"{self.location}: version {version} can no longer be read, because commits before version "
                f"{self.oldest} are gone from the log; {way}"
            )
        start = 0 if checkpoint is None else checkpoint + 1
        for place in range(start, version + 1):
            if place not in self.commits:
                raise InputError(
                    f"{self.root}/{LOG_DIRECTORY}/{place:020d}.json: is missing, and version {version} of "
                    "the table cannot be read without it; restore it, or read an earlier version"
                )
        return Segment(
            version=version,
            checkpoint=() if checkpoint is None else self.checkpoints[checkpoint],
            commits=tuple(self.commits[place].path for place in range(start, version + 1)),
        )

    def bytes_of(self, path: str) -> bytes:
        """Return the content of a file of the table.

        Raises:
            InputError: it cannot be read.
        """
        try:
            with self.system.open_input_stream(path) as stream:
                content: bytes = stream.read()
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read ({error}); the table needs it: restore it") from error
        return content

    def path_of(self, relative_or_absolute: str) -> str:
        """Return the path or URI of a file from its URL-encoded path in the log, without escapes."""
        path = unquote(relative_or_absolute)
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", relative_or_absolute):
            return locate(relative_or_absolute)[1] if path[:5].lower() == "file:" else path
        return path if path.startswith("/") else f"{self.location}/{path}"


def list_log(path: str) -> DeltaLog:
    """Return the log of the table in a directory.

    Args:
        path: A local path, or a URI that `locate` understands.

    Raises:
        InputError: the directory holds no log.
    """
    system, root = locate(path)
    root = root.rstrip("/")
    location = root if is_local(system) else unquote(path.partition("?")[0]).rstrip("/")
    selector = fs.FileSelector(f"{root}/{LOG_DIRECTORY}", allow_not_found=True)
    try:
        entries = [entry for entry in system.get_file_info(selector) if entry.is_file]
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{location}: its {LOG_DIRECTORY} cannot be listed ({error})") from error
    commits = {
        int(match[1]): Commit(entry.path, (entry.mtime_ns or 0) // 1_000_000)
        for entry in entries
        if (match := _COMMIT.fullmatch(os.path.basename(entry.path)))
    }
    checkpoints = dict(_complete_checkpoints([entry.path for entry in entries]))
    if not commits and not checkpoints:
        raise InputError(
            f"{location}: is no table of Delta Lake, because it has no {LOG_DIRECTORY} with commits; "
            "give the directory that holds it"
        )
    return DeltaLog(location=location, system=system, root=root, commits=commits, checkpoints=checkpoints)


def _complete_checkpoints(paths: list[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the version and the parts of each checkpoint; of several of one version, the plain one last."""
    parts: dict[tuple[int, int], list[str]] = defaultdict(list)
    plain: dict[int, str] = {}
    for path in sorted(paths):
        match = _CHECKPOINT.fullmatch(os.path.basename(path))
        if match is None:
            continue
        version = int(match["version"])
        if match["part"]:
            parts[version, int(match["parts"])].append(path)
        elif match["uuid"] or match["form"] == "parquet":
            plain[version] = path if not match["uuid"] else plain.get(version, path)
    for (version, count), files in parts.items():
        if len(files) == count:
            yield version, tuple(files)
    for version, path in plain.items():
        yield version, (path,)
