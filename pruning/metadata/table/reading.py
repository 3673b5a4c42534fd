"""Reading many footers at once: by threads, or by a Spark job if there are very many."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.files.listing import ListedFile, PathLister
from pruning.metadata.files.table_formats import Marker
from pruning.metadata.footers.footer import Footer, parse_footer, read_footer_bytes
from pruning.metadata.footers.footer_batches import read_batch
from pruning.metadata.footers.frame_files import FrameFiles, facts_of_footers
from pruning.metadata.footers.frames import FrameParser
from pruning.metadata.table.believing import block_parts
from pruning.metadata.table.blocks import Shard, make_shards

# Below this many files, starting Spark's tasks costs more than reading the footers here.
SPARK_FILES_MIN = 1_000
# Each task starts anew in Python, which takes as long as reading a few hundred footers.
_FILES_PER_TASK = 1_000
# Threads overlap the waiting for storage; more of them would not speed up decoding, which holds the GIL.
_THREADS = 16
# The footers of one batch are read side by side; the arrays of a larger one leave the processor's caches.
_BATCH_BYTES = 8 << 20
# The most frames of footers to remember after a batch; a lake may have as many as files.
_FRAMES_MAX = 10_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The block metadata of the files that could be read, and a sentence about each that could not.

    Attributes:
        shards: The block metadata.
        failures: The sentences, by file.
        footers: The bytes of the footers that were read; empty if other parts of the files were read.
    """

    shards: list[Shard]
    failures: dict[str, str]
    footers: dict[str, bytes] = field(default_factory=dict)


class SessionFiles(PathLister, Protocol):
    """The files that a Spark session reaches: those of addresses that Arrow has no file system for."""

    def read_footers(self, listed_files: Sequence[ListedFile]) -> ReadResult:
        """Read the footers of listed files."""

    def is_parquet(self, listed: ListedFile) -> bool:
        """Tell as `pruning.metadata.footers.footer.is_parquet` does."""

    def has_markers(self, markers: Sequence[Marker]) -> Sequence[bool]:
        """Tell as `pruning.metadata.files.table_formats.MarkerCheck` does."""


def read_listed_footers(
    listed_files: Sequence[ListedFile], *, spark: Any = None, session: SessionFiles | None = None
) -> ReadResult:
    """Read the footers of listed files, those that a session has listed by `session`.

    Args:
        listed_files: The files.
        spark: As for `read_footers`.
        session: Needed if it has listed any of them.
    """
    by_session = [listed for listed in listed_files if listed.by_session]
    result = read_footers([listed.file for listed in listed_files if not listed.by_session], spark=spark)
    if not by_session:
        return result
    assert session is not None
    other = session.read_footers(by_session)
    return ReadResult(
        [*result.shards, *other.shards], result.failures | other.failures, result.footers | other.footers
    )


def read_footers(files: Sequence[str], *, spark: Any = None) -> ReadResult:
    """Read the footers of the files, each once, by a Spark job if there are many and `spark` is given.

    Executors need this package; if they cannot import it or the job fails, threads read the footers.
    """
    once = list(dict.fromkeys(files))
    if spark is None or len(once) < SPARK_FILES_MIN:
        return read_in_threads(once)
    try:
        return _read_in_spark(once, spark)
    # Whatever stops the job, the files can still be read here; an error in a file occurs again then.
    except Exception as error:
        _log.warning("reading footers by Spark failed (%s); reading them in threads", type(error).__name__)
        return read_in_threads(once)


def read_in_threads(files: Iterable[str]) -> ReadResult:
    """Read the footers of the files in this process."""
    failures: dict[str, str] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        answers = pool.map(_footer_or_error, files)
        return _read_all(_without_errors(answers, failures), failures)


def shards_of_footers(footers: Iterable[tuple[str, bytes]]) -> ReadResult:
    """Return the block metadata of files, each named once, from the bytes of their footers."""
    return _read_all(footers, {})


def footer_facts(
    footers: Iterable[tuple[str, bytes]], failures: dict[str, str]
) -> Iterator[list[FrameFiles]]:
    """Yield the facts of files, many at once, from the bytes of their footers.

    Args:
        footers: Each file, named once, and the bytes of its footer.
        failures: A sentence is added to it about each file whose footer cannot be read.
    """
    parser = FrameParser()
    for batch in _batches(footers):
        if len(parser) > _FRAMES_MAX:
            parser = FrameParser()
        facts, alone = read_batch(batch, parser)
        parsed: list[tuple[str, Footer]] = []
        for file, raw in alone:
            try:
                parsed.append((file, parse_footer(file, raw)))
            except InputError as error:
                failures[file] = str(error)
        yield [*facts, *facts_of_footers(parsed)]


def _read_all(footers: Iterable[tuple[str, bytes]], failures: dict[str, str]) -> ReadResult:
    """Return the block metadata of the footers; add to the failures those that cannot be read."""
    raw_footers: dict[str, bytes] = {}

    def keep() -> Iterator[tuple[str, bytes]]:
        for file, raw in footers:
            raw_footers[file] = raw
            yield file, raw

    parts = [part for facts in footer_facts(keep(), failures) for part in block_parts(facts)]
    for file in failures:
        raw_footers.pop(file, None)
    return ReadResult(make_shards(parts, list(raw_footers)), failures, raw_footers)


def _batches(footers: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Yield the footers in lists of limited size."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for file, raw in footers:
        batch.append((file, raw))
        size += len(raw)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def to_bytes(part: Shard) -> bytes:
    """Write a shard's table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.table.schema) as writer:
        writer.write_table(part.table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(files: Sequence[str], data: Any) -> Shard:
    """Read the shard of `files` from the bytes of its table, without copying them."""
    with pa.ipc.open_stream(data) as reader:
        return Shard(tuple(files), reader.read_all())


def _footer_or_error(file: str) -> tuple[str, bytes | str]:
    """Return a file's footer, or the sentence of the error."""
    try:
        return file, read_footer_bytes(file)
    except InputError as error:
        return file, str(error)


def _without_errors(
    answers: Iterable[tuple[str, bytes | str]], failures: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the footers among the answers; add the errors to the failures."""
    for file, answer in answers:
        if isinstance(answer, str):
            failures[file] = answer
        else:
            yield file, answer


def _read_in_spark(files: list[str], spark: Any) -> ReadResult:
    tasks = max(spark.sparkContext.defaultParallelism, -(-len(files) // _FILES_PER_TASK))
    answers = spark.sparkContext.parallelize(files, tasks).mapPartitions(_read_partition).collect()
    outcome = ReadResult([], {})
    for parts, failures, footers in answers:
        outcome.shards.extend(from_bytes(names, data) for names, data in parts)
        outcome.failures.update(failures)
        outcome.footers.update(footers)
    return outcome


def _read_partition(
    files: Iterator[str],
) -> Iterator[tuple[list[tuple[tuple[str, ...], bytes]], dict[str, str], dict[str, bytes]]]:
    outcome = read_in_threads(files)
    shards = [(part.files, to_bytes(part)) for part in outcome.shards]
    yield shards, outcome.failures, outcome.footers
