"""Footers by the session's own Hadoop file systems: whatever Spark reads, with its configuration.

Arrow's file systems know neither all of Hadoop's schemes (`viewfs`, `abfss`, `dbfs`) nor the credentials in
Spark's configuration. So all files that are not local are asked for in the Java process of the session, many
in one call, by the class `HadoopFooters` beside this module. It is compiled there, by the compiler that Spark
itself uses for queries.
"""

import functools
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.errors import InputError
from pruning.metadata.files.listing import ListedFile, Listing, Stamp
from pruning.metadata.files.locations import table_directory
from pruning.metadata.footers.footer import TRAILER_BYTES, footer_length
from pruning.metadata.store.collecting import BlocksRead, changed_files, read_listed_blocks
from pruning.metadata.store.searching import Question
from pruning.metadata.table.reading import ReadResult, shards_of_footers
from pruning.spark.jvm.gateway import Java, first_line, jvm

_CLASS = "HadoopFooters"
# Threads of the Java process overlap the waiting for storage.
_THREADS = 16
# The answer to one call has about so many bytes, and is about so many files.
_ANSWER_BYTES, _ANSWER_FILES_MAX = 8 << 20, 2_000
_FIRST_ANSWER_FILES = 100
# Before each end in an answer: 0 or, if there is none, 1, and the length.
_HEAD = struct.Struct(">bi")
# No path holds this character.
_SEPARATOR = "\0"


def read_hadoop_blocks(
    spark: SparkSession,
    paths: Sequence[str],
    stamps: Sequence[Stamp],
    columns: frozenset[str] | None = None,
    question: Question | None = None,
) -> BlocksRead:
    """Return the block metadata of files that Spark lists.

    The metadata is kept in the directory that the environment variable `SKIPPROOF_METADATA` names, if any.

    Args:
        spark: The session.
        paths: The files as Spark lists them, with URI escapes.
        stamps: Their sizes and times in that listing. A file that has changed since is not read.
        columns: The top-level columns that are needed; None for all.
        question: As for `pruning.metadata.store.collecting.read_blocks`.
    """
    hadoop = HadoopFiles(spark)
    looked_us = time.time_ns() // 1_000
    statuses = hadoop.statuses(paths)
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
    listing = Listing(listed_files, parent, looked_us=looked_us)
    blocks = read_listed_blocks(
        listing, read=hadoop.read_footers, columns=columns, question=question, spark=spark
    )
    return blocks._replace(failures=failures | blocks.failures)


def _listed_file(path: str, status: Stamp) -> ListedFile:
    return ListedFile(
        file=path,
        path=unquote(path),
        local=False,
        size_bytes=status.size_bytes,
        modified_ns=status.modified_ms * 1_000_000,
    )


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

    def read_footers(self, listed_files: Sequence[ListedFile]) -> ReadResult:
        """Read the footers of listed files, in a call for many."""
        failures: dict[str, str] = {}
        outcome = shards_of_footers(self._footers(listed_files, failures))
        return replace(outcome, failures=outcome.failures | failures)

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
        ends: bytes = _java_side(self.spark).footers(self._configuration(), names, sizes, _THREADS)
        return ends

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
    return _compile(spark.sparkContext._gateway._gateway_client, jvm(spark))


@functools.cache
def _compile(client: Any, java: Java) -> Java:
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.cook(files(__package__).joinpath(f"{_CLASS}.java").read_text(encoding="utf-8"))
    return compiler.getClassLoader().loadClass(_CLASS).newInstance()
