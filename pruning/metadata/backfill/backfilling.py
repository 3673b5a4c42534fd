"""Backfilling: reads the values of files once, and keeps beside the files the statistics of their blocks.

Each batch of files is kept when it has been read, so that a run that is interrupted loses the batches under
way, and the next one leaves out what is done.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from pruning.arguments import LEVELS, check_option, check_texts
from pruning.errors import InputError
from pruning.metadata.backfill.measured_files import measure_files
from pruning.metadata.files.listing import ListedFile, Listing, Paths, list_files, listings_by_place
from pruning.metadata.files.object_stores import reason
from pruning.metadata.files.places import Place, make_folder, places_of
from pruning.metadata.index.block_values import indexable_names
from pruning.metadata.index.child_processes import file_batches, read_in_processes
from pruning.metadata.store.log import FOLDER
from pruning.metadata.store.measured_packs import (
    MEASURED,
    MEASURED_PAGES,
    measured_columns,
    measured_packs,
    measured_shards,
)
from pruning.metadata.store.measured_writing import keep_measured, tidy_measured
from pruning.metadata.table.blocks import Shard, rename
from pruning.metadata.table.measured import DISTINCT
from pruning.metadata.table.reading import SPARK_FILES_MIN, ReadResult, from_bytes, to_bytes
from pruning.metadata.table.schema import column_types, is_nested
from pruning.metadata.table.structs import field_of, whole

# The module that child processes run.
_CHILD = "pruning.metadata.backfill.measured_files"
# The batches of one Spark job, for each task that runs at a time.
_BATCHES_PER_SLOT = 2

_log = logging.getLogger(__name__)

# Is told what is done, the number of files that are done, and that of all.
Step = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBackfill:
    """The measured row groups of one column; in the others, Spark may read other values than Arrow.

    `pages` counts the measured pages in them, by pages. A row group without pages is not measured then.
    """

    name: str
    type: str
    row_groups: int
    measured: int
    pages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillReport:
    """A report on what was measured.

    Attributes:
        files: The files whose statistics were computed and kept now.
        row_groups: Their row groups.
        bytes: The size of these statistics in memory; what is kept is compressed.
        columns: Their columns.
        done_before: The files of which all was kept already.
        failures: A sentence about each file of which nothing is kept.
    """

    files: int
    row_groups: int
    bytes: int
    columns: tuple[ColumnBackfill, ...]
    done_before: int
    failures: dict[str, str]

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready values."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """A sentence about the size of the work."""
        return (
            f"{self.files:,} files, {self.row_groups:,} row groups, {self.bytes:,} bytes of statistics; "
            f"{self.done_before:,} files were done before"
        )

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [
            f"{column.name}: {column.measured:,} of {column.row_groups:,} row groups measured"
            + (f", {column.pages:,} pages" if column.pages else "")
            for column in self.columns
        ]
        return "\n".join([*lines, *self.failures.values()])


def backfill(
    paths: Paths, columns: Sequence[str] | None = None, *, spark: Any = None, level: str = "row_group"
) -> BackfillReport:
    """Compute statistics from the data of Parquet files, and store them beside the files.

    They are the bounds, the numbers of NULL and of NaN, and the number of distinct values, for each row group
    and column. `collect`, `classify`, `prune` and `blocks` use them instead of those in footers, while a
    file's size and modification time are unchanged. Files that are done already are not read again.

    Args:
        paths: As for `pruning.collect`; local files only.
        columns: Top-level columns by exact name; None means all of them.
        spark: A session whose tasks read the data if there are very many files.
        level: "row_group" or "page". By pages, the statistics are those of each page of a column, where the
            file has an offset index, which says where they begin. They are used wherever page indexes are:
            for pages whose bounds the file does not state, or states wrongly, and for NaN, which it does not
            count.
    Raises:
        InputError: an argument is of a wrong type, a path is missing or not local, a column is in no file,
            no file can be read, or nothing can be written.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> table = pa.table({"x": [1.0, 2.0, 8.0, 9.0]})
        >>> pq.write_table(table, f"{folder.name}/t.parquet", row_group_size=2, write_statistics=False)
        >>> pruning.backfill(folder.name).row_groups
        2
        >>> blocks = pruning.collect(folder.name)["columns"].to_pylist()
        >>> [(block["x"]["max"], block["x"]["nan_count"]) for block in blocks]
        [(2.0, 0), (9.0, 0)]
    """
    return backfill_in_steps(paths, columns, spark=spark, level=level)


def backfill_in_steps(
    paths: Paths,
    columns: Sequence[str] | None = None,
    *,
    spark: Any = None,
    level: str = "row_group",
    step: Step = lambda what, done, total: None,
) -> BackfillReport:
    """Do the work of `backfill`, and call `step` after each batch of files."""
    check_option("level", level, LEVELS)
    if columns is not None:
        check_texts("columns", columns)
    for name in columns or ():
        if is_nested(name):
            raise InputError(f"{name}: is inside of a struct or an array; name top-level columns")
    listing = list_files(paths)
    if listing.parent is None:
        raise InputError("Statistics are kept beside local files only; name a local path")
    targets = _targets(listing, MEASURED_PAGES if level == "page" else MEASURED)
    for target in targets:
        tidy_measured(target.place, damaged=True)
    files = list({listed.file: listed for listed in listing.files}.values())
    done = _done_files(targets, columns)
    batches = file_batches([listed for listed in files if listed.file not in done])
    step("reading", len(done), len(files))
    work = _Work(level)
    finished = len(done)
    options = {"columns": None if columns is None else list(columns), "level": level}
    for batch, outcome in zip(batches, _outcomes(batches, options, spark), strict=True):
        _keep(targets, batch, outcome, columns, work)
        finished += len(batch)
        step("reading", finished, len(files))
    for target in targets:
        tidy_measured(target.place)
    _check_work(work, listing, columns, done, targets[0].suffix)
    return work.report(len(done))


@dataclass(frozen=True, slots=True)
class _Target:
    """A place to keep statistics in, and the listed files by their names, as they are looked up there.

    `suffix` is how the names of its packs end.
    """

    place: Place
    suffix: str
    listing: Listing
    files: Mapping[str, ListedFile]

    def part(self, batch: Sequence[ListedFile]) -> Listing:
        """Return the listing of some files alone."""
        names = [listed.file for listed in batch if listed.file in self.files]
        return replace(self.listing, files=tuple(self.files[name] for name in names))


def _targets(listing: Listing, suffix: str) -> list[_Target]:
    """Return the places to keep statistics in, each once; their folders are made.

    Raises:
        InputError: nothing can be kept beside the files.
    """
    targets: dict[Place, _Target] = {}
    for part in listings_by_place(listing):
        for place in places_of(part)[:1]:
            _make_folder(place)
            files = {listed.file: listed for listed in part.files}
            targets.setdefault(place, _Target(place, suffix, part, files))
    if not targets:
        raise InputError(f"{listing.parent}: nothing is kept in the root of a file system; name a directory")
    return list(targets.values())


def _make_folder(place: Place) -> None:
    try:
        make_folder(place, FOLDER)
    except OSError as error:
        raise _unwritable(place, error) from error


@dataclass(slots=True)
class _ColumnWork:
    """The row groups of a column, those with a block that was not measured, and the number of the others.

    A block is a row group or a page.
    """

    row_groups: set[tuple[str, int]] = field(default_factory=set)
    unmeasured: set[tuple[str, int]] = field(default_factory=set)
    blocks: int = 0


@dataclass(slots=True)
class _Work:
    """The sums over what was measured and kept, and a sentence about each file of which nothing is kept."""

    level: str
    files: set[str] = field(default_factory=set)
    row_groups: set[tuple[str, int]] = field(default_factory=set)
    size_bytes: int = 0
    # By the name and the type of a column.
    columns: dict[tuple[str, str], _ColumnWork] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, shard: Shard) -> None:
        """Count a shard that is kept."""
        self.files.update(shard.files)
        self.size_bytes += shard.table.nbytes
        located = (whole(shard.table[name]).to_pylist() for name in ("file", "row_group"))
        groups = list(zip(*located, strict=True))
        self.row_groups.update(groups)
        structs = whole(shard.table["columns"])
        for name, type_ in column_types(shard.table).items():
            is_measured = field_of(field_of(structs, name), DISTINCT).is_valid().to_pylist()
            of_column = self.columns.setdefault((name, type_.sql), _ColumnWork())
            of_column.row_groups.update(groups)
            of_column.blocks += sum(is_measured)
            of_column.unmeasured.update(
                group for group, measured in zip(groups, is_measured, strict=True) if not measured
            )

    def report(self, done_before: int) -> BackfillReport:
        """Return the report; `done_before` files were not read."""
        return BackfillReport(
            files=len(self.files),
            row_groups=len(self.row_groups),
            bytes=self.size_bytes,
            columns=tuple(
                ColumnBackfill(
                    name=name,
                    type=type_,
                    row_groups=len(work.row_groups),
                    measured=len(work.row_groups - work.unmeasured),
                    pages=work.blocks if self.level == "page" else 0,
                )
                for (name, type_), work in self.columns.items()
            ),
            done_before=done_before,
            failures=self.failures,
        )


def _done_files(targets: Sequence[_Target], columns: Sequence[str] | None) -> set[str]:
    """Return the files of which everything that is wanted is kept in each place."""
    done = []
    for target in targets:
        kept = measured_columns(target.listing, target.suffix)
        done.append({file for file, sets in kept.items() if _covers(sets, columns)})
    return set.intersection(*done)


def _covers(sets: Sequence[tuple[str, ...] | None], columns: Sequence[str] | None) -> bool:
    """Tell whether sets of measured columns, None for all, have all of these."""
    if None in sets:
        return True
    return columns is not None and set(columns) <= {name for names in sets for name in names or ()}


def _outcomes(
    batches: Sequence[Sequence[ListedFile]], options: dict[str, Any], spark: Any
) -> Iterator[ReadResult]:
    """Yield the outcome of each batch, read by Spark's tasks if there are many files and a session."""
    finished = 0
    if spark is not None and sum(map(len, batches)) >= SPARK_FILES_MIN:
        try:
            for outcome in _outcomes_in_spark(batches, options, spark):
                yield outcome
                finished += 1
        # Whatever stops a job, the files can still be read here; a file that ends its reader is named then.
        except Exception as error:
            _log.warning("measuring by Spark failed (%s); measuring in processes", type(error).__name__)
    yield from read_in_processes(_CHILD, batches[finished:], options)


def _outcomes_in_spark(
    batches: Sequence[Sequence[ListedFile]], options: dict[str, Any], spark: Any
) -> Iterator[ReadResult]:
    """Yield the outcome of each batch; a job reads as many as keep all tasks busy."""
    context = spark.sparkContext
    size = _BATCHES_PER_SLOT * context.defaultParallelism
    for start in range(0, len(batches), size):
        names = [[listed.file for listed in batch] for batch in batches[start : start + size]]
        tasks = context.parallelize(names, len(names)).map(partial(_measure_in_task, options))
        for parts, failures in tasks.collect():
            yield ReadResult([from_bytes(files, data) for files, data in parts], failures)


def _measure_in_task(
    options: dict[str, Any], files: list[str]
) -> tuple[list[tuple[tuple[str, ...], bytes]], dict[str, str]]:
    outcome = measure_files(files, **options)
    return [(part.files, to_bytes(part)) for part in outcome.shards], outcome.failures


def _keep(
    targets: Sequence[_Target],
    batch: Sequence[ListedFile],
    outcome: ReadResult,
    columns: Sequence[str] | None,
    work: _Work,
) -> None:
    """Keep what was measured of a batch of files, in each place."""
    work.failures.update(outcome.failures)
    measured = {file for part in outcome.shards for file in part.files}
    kept = measured.intersection(
        *(_kept_files(target, target.part(batch), outcome.shards, columns) for target in targets)
    )
    for file in sorted(measured - kept):
        work.failures[file] = (
            f"{file}: was written while it was read, or a moment before, so nothing is kept; run it again"
        )
    for part in outcome.shards:
        work.add(rename(part, {file: file for file in part.files if file in kept}))


def _kept_files(
    target: _Target, listing: Listing, shards: Sequence[Shard], columns: Sequence[str] | None
) -> set[str]:
    try:
        return keep_measured(target.place, listing, shards, columns, target.suffix)
    except OSError as error:
        raise _unwritable(target.place, error) from error


def _unwritable(place: Place, error: OSError) -> InputError:
    return InputError(
        f"{place.folder}: statistics cannot be kept there ({reason(error)}); "
        "see that the directory can be written"
    )


def _check_work(
    work: _Work, listing: Listing, columns: Sequence[str] | None, done: Collection[str], suffix: str
) -> None:
    if work.failures and not done and len(work.failures) == len({listed.file for listed in listing.files}):
        raise InputError(next(iter(work.failures.values())))
    names = {name for name, _ in work.columns}
    if done and not names.issuperset(columns or ()):
        before = measured_shards(measured_packs(listing, suffix), listing, columns)
        names |= {name for part in before for name in column_types(part.table)}
    readable = [listed.file for listed in listing.files if listed.file not in work.failures]
    for name in columns or ():
        if name not in names:
            raise InputError(
                f"Column {name!r} is in no file as one that can be measured; "
                f"there are {indexable_names(readable)}"
            )
