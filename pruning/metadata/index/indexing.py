"""Indexing: reads the values of files once, and stores beside the files which blocks hold them.

Reading untrusted data may end a process, so child processes read it; a file that ends one is not indexed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from pruning.arguments import check_flag, check_number, check_sequence, check_texts
from pruning.errors import InputError
from pruning.metadata.files.listing import ListedFile, Listing, Paths, list_files, listings_by_place
from pruning.metadata.files.locations import is_uri
from pruning.metadata.index.block_values import indexable_names
from pruning.metadata.index.child_processes import file_batches, read_in_processes
from pruning.metadata.index.indexed_files import UnfittingBlocks, unfitting_columns
from pruning.metadata.index.own_filters import BITS_MAX, BITS_WANTED, BYTES_MAX, BYTES_PER_BLOCK, Budget
from pruning.metadata.table import cache
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.coverings import coverings_of, is_available
from pruning.metadata.table.memberships import FIELD, value_type
from pruning.metadata.table.reading import ReadResult
from pruning.metadata.table.schema import is_nested
from pruning.metadata.table.structs import field_of, whole

# The module that child processes run.
_CHILD = "pruning.metadata.index.indexed_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnIndex:
    """The index of one column: the number of blocks that have each part, and the size.

    `unfitting` is the number of blocks for which neither a list nor a filter fits in `bytes_bound`. A
    filter fits in `filter_bytes`, and one with few false positives in `good_filter_bytes`; both are 0 if
    everything fits.
    """

    name: str
    type: str
    blocks: int
    dictionary: int
    rare: int
    filter: int
    bucket: int
    bytes_per_block: float
    unfitting: int = 0
    bytes_bound: int = 0
    filter_bytes: int = 0
    good_filter_bytes: int = 0

    @property
    def shortage(self) -> str | None:
        """A sentence about the blocks for which nothing fits, and the bytes that a filter needs."""
        if not self.unfitting:
            return None
        good = (
            f", a good one {self.good_filter_bytes:,}" if self.good_filter_bytes > self.filter_bytes else ""
        )
        return (
            f"{self.name}: nothing fits in {self.bytes_bound:,} bytes for {self.unfitting:,} of "
            f"{self.blocks:,} blocks; a filter needs {self.filter_bytes:,} bytes per block{good}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PointIndex:
    """The index of a latitude and a longitude: the number of blocks with a covering, and the size."""

    names: tuple[str, str]
    blocks: int
    bytes_per_block: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """A report on what was indexed; `failures` has a sentence about each file that was not."""

    files: int
    blocks: int
    bytes: int
    columns: tuple[ColumnIndex, ...]
    failures: dict[str, str]
    points: tuple[PointIndex, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.files:,} files, {self.blocks:,} blocks, {self.bytes:,} bytes kept"]
        lines += [
            f"{column.name}: of {column.blocks:,} blocks {column.dictionary:,} by dictionary, "
            f"{column.rare:,} by rare values, {column.filter:,} by filter, {column.bucket:,} by bucket; "
            f"{column.bytes_per_block:,.0f} bytes a block"
            for column in self.columns
        ]
        lines += [
            f"points of {', '.join(point.names)}: {point.blocks:,} blocks covered; "
            f"{point.bytes_per_block:,.0f} bytes a block"
            for point in self.points
        ]
        lines += [column.shortage for column in self.columns if column.shortage]
        return "\n".join([*lines, *self.failures.values()])


def index(
    paths: Paths,
    columns: Sequence[str] | None = None,
    *,
    points: Sequence[tuple[str, str]] = (),
    bytes_per_block: int | None = None,
    bits_per_value: float | None = None,
    read_data: bool = True,
) -> IndexReport:
    """Index Parquet files: store beside them which values their blocks hold, to skip more blocks.

    Args:
        paths: As for `pruning.collect`; local files only.
        columns: Top-level columns by exact name; None means all of them.
        points: Pairs of top-level columns of doubles, a latitude and a longitude in degrees, for which
            the cells of the globe that hold each block's points are stored.
        bytes_per_block: The most bytes for one column in one block, >= 0; None is 1,024. If not even a
            bloom filter fits, the report says so, and how many bytes one needs.
        bits_per_value: The bits for each distinct value, 0 to 64, that a bloom filter may take even if
            that exceeds `bytes_per_block`; below 5 it has no effect. None is 12 if `columns` is given and
            `bytes_per_block` is None, and otherwise 0.
        read_data: Whether to read the columns; if False, only the files' own bloom filters are indexed.
    Raises:
        InputError: an argument is of a wrong type or out of range, a path is missing or not local, a
            column is in no file, no file can be read, or the index cannot be written.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 9, 2, 8]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> report = pruning.index(folder.name)
        >>> report.columns[0].dictionary, report.columns[0].blocks
        (2, 2)
        >>> [block["x"]["dictionary"] for block in pruning.collect(folder.name)["memberships"].to_pylist()]
        [[1, 9], [2, 8]]
    """
    _check_arguments(columns, points, bytes_per_block, bits_per_value, read_data)
    if points and not is_available():
        raise InputError("Coverings need the package s2geometry: run `pip install 'skipproof[geo]'`.")
    budget = _budget(bytes_per_block, bits_per_value, named=columns is not None)
    for name in columns or ():
        if is_nested(name):
            raise InputError(f"{name}: is inside of a struct or an array; name top-level columns")
    listing = list_files(paths)
    if listing.parent is None or is_uri(listing.parent):
        raise InputError("An index is kept beside local files only; name a local path")
    options = {"columns": None if columns is None else list(columns), **asdict(budget)}
    outcome = _index_in_processes(
        listing.files, {**options, "read_data": read_data, "points": list(map(list, points))}
    )
    _check_outcome(outcome, listing, columns, points)
    for place in listings_by_place(listing):
        _store(place, outcome.shards)
    return _report(outcome, budget)


def _check_arguments(
    columns: Any, points: Any, bytes_per_block: Any, bits_per_value: Any, read_data: Any
) -> None:
    if columns is not None:
        check_texts("columns", columns)
    check_sequence("points", points, "pairs of columns")
    for pair in points:
        check_texts("An element of points", pair)
        if len(pair) != 2:
            raise InputError(
                f"An element of points has {len(pair)} columns; give a latitude and a longitude."
            )
    if bytes_per_block is not None:
        check_number("bytes_per_block", bytes_per_block, least=0, greatest=BYTES_MAX, whole=True)
    if bits_per_value is not None:
        check_number("bits_per_value", bits_per_value, least=0, greatest=BITS_MAX)
    check_flag("read_data", read_data)


def _budget(bytes_per_block: int | None, bits_per_value: float | None, *, named: bool) -> Budget:
    """Return the budget that the arguments of `index` stand for."""
    if bits_per_value is None:
        bits_per_value = BITS_WANTED if named and bytes_per_block is None else 0
    return Budget(BYTES_PER_BLOCK if bytes_per_block is None else int(bytes_per_block), float(bits_per_value))


def _index_in_processes(files: Sequence[ListedFile], options: dict[str, object]) -> ReadResult:
    """Index the files in child processes, a batch at a time."""
    outcome = ReadResult([], {})
    for part in read_in_processes(_CHILD, file_batches(files), options):
        outcome.shards.extend(part.shards)
        outcome.failures.update(part.failures)
    return outcome


def _check_outcome(
    outcome: ReadResult, listing: Listing, columns: Sequence[str] | None, points: Sequence[tuple[str, str]]
) -> None:
    if len(outcome.failures) == len({listed.file for listed in listing.files}):
        raise InputError(next(iter(outcome.failures.values())))
    indexed_names = {field.name for part in outcome.shards for field in part.table.schema.field(FIELD).type}
    for name in columns or ():
        if name not in indexed_names:
            raise InputError(
                f"Column {name!r} is in no file as one that can be indexed; "
                f"there are {indexable_names([file for part in outcome.shards for file in part.files])}"
            )
    for names in points:
        if not any(point.names == tuple(names) for point in _point_reports(outcome)):
            raise InputError(f"No file has {names[0]!r} and {names[1]!r} as two columns of doubles")


def _store(listing: Listing, shards: list[Shard]) -> None:
    cache.update(cache.open_cache(listing), listing, shards)
    stored = cache.open_cache(listing)
    stored_files = {file for part in cache.reusable_shards(stored, listing) for file in part.files}
    lost = {file for part in shards for file in part.files} - stored_files
    if lost:
        raise InputError(
            f"{min(lost)}: its index could not be kept below {listing.parent}; "
            "see that the directory can be written and the file does not change"
        )


def _report(outcome: ReadResult, budget: Budget) -> IndexReport:
    tables = [part.table for part in outcome.shards]
    parts: dict[tuple[str, str], list[pa.StructArray]] = {}
    left_out: dict[tuple[str, str], list[UnfittingBlocks]] = {}
    for table in tables:
        memberships, unfit = whole(table.column(FIELD)), unfitting_columns(table)
        for field in memberships.type:
            key = (field.name, value_type(field.type).sql)
            parts.setdefault(key, []).append(field_of(memberships, field.name))
            left_out.setdefault(key, []).extend([unfit[field.name]] if field.name in unfit else [])
    columns = tuple(
        _column_report(name, type_, lanes, left_out[name, type_], budget)
        for (name, type_), lanes in parts.items()
    )
    points = _point_reports(outcome)
    size_bytes = [column.bytes_per_block * column.blocks for column in columns]
    size_bytes += [point.bytes_per_block * point.blocks for point in points]
    return IndexReport(
        files=sum(len(part.files) for part in outcome.shards),
        blocks=sum(len(table) for table in tables),
        bytes=round(sum(size_bytes)),
        columns=columns,
        failures=outcome.failures,
        points=points,
    )


def _point_reports(outcome: ReadResult) -> tuple[PointIndex, ...]:
    """Return a report for each pair of columns for which some block has a covering."""
    parts: dict[tuple[str, str], list[pa.ListArray]] = {}
    for part in outcome.shards:
        for pair, lists in coverings_of(part.table).items():
            parts.setdefault((pair.latitude, pair.longitude), []).append(lists)
    reports = []
    for names, parts_of_pair in parts.items():
        covered = sum(len(lists) - lists.null_count for lists in parts_of_pair)
        if covered:
            size = sum(lists.nbytes for lists in parts_of_pair)
            reports.append(PointIndex(names=names, blocks=covered, bytes_per_block=size / covered))
    return tuple(reports)


def _column_report(
    name: str, type_: str, parts: list[pa.StructArray], left_out: list[UnfittingBlocks], budget: Budget
) -> ColumnIndex:
    def block_count(part: str) -> int:
        return sum(len(lanes) - field_of(lanes, part).null_count for lanes in parts)

    blocks = sum(map(len, parts))
    return ColumnIndex(
        name=name,
        type=type_,
        blocks=blocks,
        dictionary=block_count("dictionary"),
        rare=block_count("rare"),
        filter=block_count("filter"),
        bucket=block_count("bucket"),
        bytes_per_block=sum(lanes.nbytes for lanes in parts) / max(1, blocks),
        unfitting=sum(unfit.blocks for unfit in left_out),
        bytes_bound=budget.bytes_per_block,
        filter_bytes=max((unfit.filter_bytes for unfit in left_out), default=0),
        good_filter_bytes=max((unfit.good_filter_bytes for unfit in left_out), default=0),
    )
