"""Footers by the session's own Hadoop file systems: whatever Spark reads, with its configuration.

Arrow's file systems know neither all of Hadoop's schemes (`viewfs`, `abfss`, `dbfs`) nor the credentials in
Spark's configuration. So all files that are not local are asked for in the Java process of the session, many
in one call, by the class `HadoopFooters`, which `pruning.spark.jvm.compiling` compiles there.
"""

import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.errors import InputError
from pruning.metadata.files import globs
from pruning.metadata.files.listing import Contents, ListedFile, Listing, Stamp, is_data
from pruning.metadata.files.locations import path_below, table_directory, to_uri
from pruning.metadata.files.table_formats import Marker
from pruning.metadata.footers.footer import MAGICS, TRAILER_BYTES, footer_length
from pruning.metadata.store.collecting import changed_files
from pruning.metadata.table.reading import ReadResult, shards_of_footers
from pruning.spark.jvm.compiling import java_instance
from pruning.spark.jvm.gateway import Java, decode_answer, first_line

_CLASS = "HadoopFooters"
# Threads of the Java process overlap the waiting for storage.
_THREADS = 16
# The answer to one call has about so many bytes, and is about so many files.
_ANSWER_BYTES, _ANSWER_FILES_MAX = 8 << 20, 2_000
_FIRST_ANSWER_FILES = 100
# Before each end in an answer: 0 or, if there is none, 1, and the length.
_HEAD = struct.Struct(">bi")
_MAGIC_BYTES = 4
# The first sign of an answer about a path at which nothing is.
_ABSENT = "?"
# No path holds this character.
_SEPARATOR = "\0"


def hadoop_listing(
    spark: SparkSession, paths: Sequence[str], stamps: Sequence[Stamp]
) -> tuple[Listing, dict[str, str]]:
    """Return the files that are as Spark has listed them, and a sentence about each other one.

    Args:
        spark: The session.
        paths: The files as Spark lists them, with URI escapes.
        stamps: Their sizes and times in that listing.
    """
    looked_us = time.time_ns() // 1_000
    statuses = HadoopFiles(spark).statuses(paths)
    failures = {
        path: f"{path}: {status}"
        for path, status in zip(paths, statuses, strict=True)
        if isinstance(status, str)
    }
    present = [
        (_listed_file(path, status), stamp)
        for path, status, stamp in zip(paths, statuses, stamps, strict=True)
        if isinstance(status, Stamp)
    ]
    failures |= changed_files([listed for listed, _ in present], [stamp for _, stamp in present])
    listed_files = tuple(listed for listed, _ in present if listed.file not in failures)
    parent = table_directory([listed.path for listed in listed_files])
    return Listing(listed_files, parent, looked_us=looked_us), failures


def _listed_file(file: str, status: Stamp, *, named: bool = True) -> ListedFile:
    return ListedFile(
        file=file,
        path=unquote(file),
        local=False,
        size_bytes=status.size_bytes,
        modified_ns=status.modified_ms * 1_000_000,
        named=named,
        by_session=True,
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a directory."""

    name: str
    stamp: Stamp
    is_directory: bool

    @classmethod
    def of(cls, line: str) -> "_Entry":
        """Read a line of the Java side."""
        kind, size, time_ms, name = line.split("/", 3)
        return cls(name, Stamp(int(size), int(time_ms)), kind == "d")


def _is_file(entries: Sequence[_Entry]) -> bool:
    """Tell whether the entries at a path are of a file: itself, without a name."""
    return [entry.name for entry in entries] == [""]


@dataclass(frozen=True, slots=True)
class HadoopFiles:
    """The files that a session reads by its Hadoop file systems."""

    spark: SparkSession

    def statuses(self, paths: Sequence[str]) -> list[Stamp | str]:
        """Return the size and time of each file, or why there is none, in one call."""
        if not paths:
            return []
        try:
            java, configuration = _java_side(self.spark), self._configuration()
            lines = java.statuses(configuration, _join_paths(paths), _THREADS).split(_SEPARATOR)
        except (Py4JError, PySparkException) as error:
            return [_cannot_ask(error)] * len(paths)
        return [
            f"cannot be listed ({line[1:]})" if line.startswith("!") else Stamp(*map(int, line.split()))
            for line in lines
        ]

    def listed_stamps(self, statuses: Java) -> list[Stamp]:
        """Return the sizes and times in Spark's own listing, in one call.

        Args:
            statuses: Scala's Seq of Hadoop's `FileStatus`.
        """
        lines: str = _java_side(self.spark).stamps(statuses)
        return [Stamp(*map(int, line.split())) for line in lines.split(_SEPARATOR)] if lines else []

    def contents(self, path: str, *, patterns: bool) -> list[Contents]:
        """Return the files at a path, or those of each match of a pattern.

        Raises:
            InputError: nothing is there, or it cannot be listed.
        """
        try:
            (entries,) = self._entries([path])
            if entries is not None:
                return [self._contents_at(path, entries, named=True)]
            if not patterns or not globs.is_pattern(path):
                raise InputError(f"{path}: does not exist; check the path")
            matches = [to_uri(match) for match in self._matches(path)]
            if not matches:
                raise InputError(f"{path}: matches no file or directory; check the pattern")
            parts = [
                self._contents_at(match, entries, named=False)
                for match, entries in zip(matches, self._entries(matches), strict=True)
                if entries is not None
            ]
        except (Py4JError, PySparkException) as error:
            raise InputError(f"{path}: {_cannot_ask(error)}; check its scheme") from error
        contents = [part for part in parts if part.files]
        if not contents:
            raise InputError(f"{path}: matches no data files; check the pattern")
        return contents

    def _contents_at(self, path: str, entries: Sequence["_Entry"], *, named: bool) -> Contents:
        """Return the file at a path, or the files below it, level by level."""
        directory = path.rstrip("/")
        if _is_file(entries):
            listed = _listed_file(path, entries[0].stamp, named=named)
            is_hidden = not named and not is_data(listed.path.rpartition("/")[2])
            return Contents(files=[] if is_hidden else [listed], parent=listed.path.rpartition("/")[0])
        stamps: dict[str, Stamp] = {}
        folders: set[str] = set()
        level = {"": entries}
        while level:
            below = {f"{above}{entry.name}": entry for above, inside in level.items() for entry in inside}
            stamps |= {name: entry.stamp for name, entry in below.items() if not entry.is_directory}
            folders |= {name for name, entry in below.items() if entry.is_directory}
            inner = [name for name, entry in below.items() if entry.is_directory and is_data(name)]
            answers = self._entries([path_below(directory, name) for name in inner])
            # A directory that is gone by now holds nothing.
            level = {f"{name}/": answer or [] for name, answer in zip(inner, answers, strict=True)}
        files = [
            _listed_file(path_below(directory, name), stamp, named=False)
            for name, stamp in sorted(stamps.items())
            if is_data(name)
        ]
        if not files and named:
            raise InputError(f"{path}: holds no data files; name a directory with Parquet files in it")
        return Contents(
            files=files, parent=unquote(directory), whole=named, folders={path: frozenset(folders)}
        )

    def is_parquet(self, listed: ListedFile) -> bool:
        """Tell whether a file looks like Parquet, as `pruning.metadata.footers.footer.is_parquet` does."""
        if not listed.size_bytes or listed.file.endswith(".parquet"):
            return bool(listed.size_bytes)
        try:
            java, configuration = _java_side(self.spark), self._configuration()
            begin = bytes(java.beginning(configuration, listed.path, _MAGIC_BYTES))
        except (Py4JError, PySparkException):
            return True
        (end,) = _answers(self._ends([listed]), 1)
        return begin in MAGICS or isinstance(end, str) or end[-_MAGIC_BYTES:] in MAGICS

    def has_markers(self, markers: Sequence[Marker]) -> list[bool]:
        """Tell of each marker of a table format whether it is there, in one call."""
        try:
            answers = self._answers([path for path, _ in markers])
        except (Py4JError, PySparkException):
            return [False] * len(markers)
        return [
            not isinstance(entries, str)
            and not _is_file(entries)
            and (not suffix or any(entry.name.endswith(suffix) for entry in entries))
            for (_, suffix), entries in zip(markers, answers, strict=True)
        ]

    def _entries(self, paths: Sequence[str]) -> list[Sequence["_Entry"] | None]:
        """Return what is in each directory, or the file at a path, in one call; None if nothing is there.

        Raises:
            InputError: a path cannot be listed.
        """
        entries: list[Sequence[_Entry] | None] = []
        for path, answer in zip(paths, self._answers(paths), strict=True):
            if isinstance(answer, str) and not answer.startswith(_ABSENT):
                raise InputError(f"{path}: cannot be listed ({answer[1:]}); check its permissions")
            entries.append(None if isinstance(answer, str) else answer)
        return entries

    def _answers(self, paths: Sequence[str]) -> list[Sequence["_Entry"] | str]:
        """Return the entries at each path, or a sign and why there are none."""
        if not paths:
            return []
        java, configuration = _java_side(self.spark), self._configuration()
        lines = iter(java.entries(configuration, _join_paths(paths), _THREADS).split(_SEPARATOR))
        return [
            [_Entry.of(next(lines)) for _ in range(int(line))] if line.isdecimal() else line for line in lines
        ]

    def _matches(self, pattern: str) -> list[str]:
        matches: str = _java_side(self.spark).matches(self._configuration(), unquote(pattern))
        return matches.split(_SEPARATOR) if matches else []

    def read_footers(self, listed_files: Sequence[ListedFile]) -> ReadResult:
        """Read the footers of listed files, in a call for many."""
        failures: dict[str, str] = {}
        outcome = shards_of_footers(self._footers(listed_files, failures))
        return replace(outcome, failures=outcome.failures | failures)

    def footers(self, sizes: Mapping[str, int]) -> list[bytes]:
        """Return the bytes of the footer of each file.

        Args:
            sizes: The size of each file in bytes, by the file.
        Raises:
            InputError: a file cannot be read, is encrypted, or is no Parquet file.
        """
        failures: dict[str, str] = {}
        listed_files = [_listed_file(file, Stamp(size, 0)) for file, size in sizes.items()]
        footers = [footer for _, footer in self._footers(listed_files, failures)]
        if failures:
            raise InputError(next(iter(failures.values())))
        return footers

    def ranges(self, places: Sequence[tuple[str, int, int]]) -> list[bytes | str]:
        """Return bytes of files by offsets and sizes, fewer at the end of a file, or why there are none."""
        if not places:
            return []
        files, offsets, sizes = zip(*places, strict=True)
        try:
            answer: str = _java_side(self.spark).ranges(
                self._configuration(),
                _join_paths(files),
                _SEPARATOR.join(map(str, offsets)),
                _SEPARATOR.join(map(str, sizes)),
                _THREADS,
            )
        except (Py4JError, PySparkException) as error:
            return [_cannot_ask(error)] * len(places)
        return list(_answers(decode_answer(answer), len(places)))

    def _footers(
        self, listed_files: Sequence[ListedFile], failures: dict[str, str]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the files and their footers; add to the failures those that have none."""
        start, count = 0, _FIRST_ANSWER_FILES
        while start < len(listed_files):
            part = listed_files[start : start + count]
            answer = self._ends(part)
            for listed, end in zip(part, _answers(answer, len(part)), strict=True):
                try:
                    yield listed.file, _footer_of_end(listed, end)
                except InputError as error:
                    failures[listed.file] = str(error)
            start += len(part)
            count = max(1, min(_ANSWER_FILES_MAX, _ANSWER_BYTES * len(part) // max(1, len(answer))))

    def _ends(self, listed_files: Sequence[ListedFile]) -> bytes:
        sizes = _SEPARATOR.join(str(listed.size_bytes) for listed in listed_files)
        names = _join_paths([listed.file for listed in listed_files])
        ends: str = _java_side(self.spark).footers(self._configuration(), names, sizes, _THREADS)
        return decode_answer(ends)

    def _configuration(self) -> Java:
        return self.spark._jsparkSession.sessionState().newHadoopConf()


def _footer_of_end(listed: ListedFile, end: bytes | str) -> bytes:
    """Return the bytes of a file's footer.

    Raises:
        InputError: the file could not be read, is encrypted, or is no Parquet file.
    """
    if isinstance(end, str):
        raise InputError(f"{listed.file}: cannot be read ({end}); check the path and its permissions")
    length = footer_length(listed.file, end, listed.size_bytes)
    return end[len(end) - TRAILER_BYTES - length : len(end) - TRAILER_BYTES]


def _answers(answer: bytes, count: int) -> Iterator[bytes | str]:
    """Yield the ends of files, or why there is none, from the answer about `count` files."""
    position = 0
    for _ in range(count):
        failed, size = _HEAD.unpack_from(answer, position)
        position += _HEAD.size
        body = bytes(answer[position : position + size])
        position += size
        yield body.decode() if failed else body


def _join_paths(paths: Sequence[str]) -> str:
    return _SEPARATOR.join(map(unquote, paths))


def _cannot_ask(error: Exception) -> str:
    return f"its file system cannot be asked ({first_line(error)})"


def _java_side(spark: SparkSession) -> Java:
    """Return an instance of the Java class, compiled once in each Java process."""
    return java_instance(spark, _CLASS)
