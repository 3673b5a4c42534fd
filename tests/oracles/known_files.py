"""A file with much to prune by, and which row groups of it a range of values leaves to be read."""

import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

_KNOWN = signature(pq.ParquetWriter.__init__).parameters
BLOOMS, INTEGER_DECIMALS = (name in _KNOWN for name in ("bloom_filter_options", "store_decimal_as_integer"))
GROUPS, GROUP_ROWS = 5, 40
ROWS = GROUPS * GROUP_ROWS
Rids = Callable[[Path, int, int], list[int]]


def numbers() -> list[int]:
    """Numbers that rise from row group to row group, with ranges that overlap."""
    drawn = random.Random("footers/numbers")
    return [drawn.randrange(20 * at // GROUP_ROWS, 20 * at // GROUP_ROWS + 35) for at in range(ROWS)]


def table() -> pa.Table:
    """Columns of several types; `n` is NULL in one row group."""
    a = numbers()
    return pa.table(
        {
            "rid": pa.array(range(ROWS), pa.int64()),
            "a": pa.array(a, pa.int64()),
            "s": [f"{value:04}" for value in a],
            "n": pa.array([None if at < GROUP_ROWS else value / 8 for at, value in enumerate(a)]),
            "d": pa.array([Decimal(value).scaleb(-2) for value in a], pa.decimal128(9, 2)),
            "t": pa.array([datetime(2020, 1, 1, 0, 0, value) for value in (x % 60 for x in a)]),
            "day": [date.fromordinal(738_000 + value) for value in a],
            "b": [value % 2 == 0 for value in a],
        }
    )


ROW = {
    "a": 0, "s": "0050", "n": 1.5, "d": Decimal("0.50"), "t": datetime(2020, 1, 1), "day": date(2021, 1, 1),
    "b": True,
}  # fmt: skip


def written(path: Path) -> Path:
    """A file with every kind of statistics that pyarrow writes, and several pages in each chunk."""
    options: dict[str, Any] = {"bloom_filter_options": {"a": True, "s": True}} if BLOOMS else {}
    pq.write_table(
        table(), path, row_group_size=GROUP_ROWS, write_page_index=True, data_page_size=1, write_batch_size=9,
        sorting_columns=[pq.SortingColumn(0)], **options,
    )  # fmt: skip
    return path


def by_arrow(path: Path, lower: int, upper: int) -> list[int]:
    """The rids of rows with `a` in a range, by pyarrow."""
    within = (pc.field("a") >= lower) & (pc.field("a") <= upper)
    return sorted(ds.dataset(path).to_table(columns=["rid"], filter=within)["rid"].to_pylist())


def by_duckdb(path: Path, lower: int, upper: int) -> list[int]:
    """The rids of rows with `a` in a range, by DuckDB."""
    rows = duckdb.sql(f"SELECT rid FROM '{path}' WHERE a >= {lower} AND a <= {upper}").fetchall()
    return sorted(rid for (rid,) in rows)


ENGINES = [by_arrow, by_duckdb]


def ranges() -> list[tuple[int, int]]:
    """Ranges of two values at least: DuckDB asks bloom filters for one."""
    drawn = random.Random("footers/ranges")
    lowers = [drawn.randrange(-5, 140) for _ in range(25)]
    return [(lower, lower + drawn.randrange(1, 12)) for lower in lowers]


def not_skipped(lower: int, upper: int) -> list[int]:
    """The rids of the row groups whose bounds meet a range, by the values alone."""
    values = numbers()
    groups = [range(at, at + GROUP_ROWS) for at in range(0, ROWS, GROUP_ROWS)]
    bounds = [(min(values[at] for at in group), max(values[at] for at in group)) for group in groups]
    return [
        at for group, (low, high) in zip(groups, bounds, strict=True) if low <= upper and high >= lower
        for at in group
    ]  # fmt: skip


def facts(path: Path) -> list[dict[str, Any]]:
    """What pyarrow reads of each chunk's metadata."""
    metadata = pq.read_metadata(path)
    groups = (metadata.row_group(at) for at in range(metadata.num_row_groups))
    return [group.column(at).to_dict() for group in groups for at in range(group.num_columns)]
