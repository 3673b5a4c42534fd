"""Measure reading the statistics of many footers, beside pyarrow and DuckDB.

    python bench/footers.py [--files N] [--rounds N]

A lake of files with 2 row groups and 12 columns, of two schemas, by three writers: pyarrow, DuckDB, and one
that names itself parquet-mr. Each figure is the median of the processor times, of all threads, of rounds in
which every contestant runs once, in turn. `pruning.collect` reads without its cache, and decides what to
believe; pyarrow gives the minimum, maximum and NULL count of every column chunk to Python; DuckDB only counts
those that its `parquet_metadata` gives.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from timing import medians

from oracles.files.footers import BINARY, InFile, join_file, split_file
from pruning.metadata.table.collecting import collect

GROUPS, COLUMNS, ROWS_PER_GROUP = 2, 12, 2_048  # DuckDB writes row groups of a multiple of 2,048 rows
AMOUNT = pa.decimal128(12, 2)
PARQUET_MR = b"parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)"


def sales(start: int) -> pa.Table:
    """Return the rows of a file of the first schema."""
    numbers = np.arange(start, start + GROUPS * ROWS_PER_GROUP)
    return pa.table(
        {
            "id": pa.array(numbers),
            "customer": pa.array((numbers * 7 % 1_000_003).astype(np.int32)),
            "store": pa.array((numbers % 97).astype(np.int16)),
            "price": pa.array(numbers / 4),
            "weight": pa.array((numbers / 3).astype(np.float32)),
            "name": texts("product ", numbers),
            "city": pc.if_else(pa.array(numbers % 5 > 0), texts("city ", numbers % 89), None),
            "day": pa.array((18_262 + numbers % 900).astype(np.int32)).cast(pa.date32()),
            "sold_at": pa.array(numbers * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
            "paid": pa.array(numbers % 3 == 0),
            "amount": pa.array(numbers % 10**6).cast(pa.decimal128(19, 0)).cast(AMOUNT),
            "code": texts("", numbers * 31).cast(pa.binary()),
        }
    )


def readings(start: int) -> pa.Table:
    """Return the rows of a file of the second schema: other names and another order, and more texts."""
    table = sales(start)
    names = ["sensor", *(name for name in table.column_names[::-1] if name != "paid")]
    return table.append_column("sensor", texts("sensor ", table["store"].to_numpy() % 31)).select(names)


def texts(start: str, numbers: npt.NDArray[np.int64]) -> pa.Array:
    """Return texts that end in the numbers."""
    return pc.binary_join_element_wise(start, pa.array(numbers).cast(pa.string()), "")


def write_pyarrow(table: pa.Table, path: Path) -> None:
    """Write a file by pyarrow."""
    pq.write_table(table, path, row_group_size=ROWS_PER_GROUP)


def write_parquet_mr(table: pa.Table, path: Path) -> None:
    """Write a file by pyarrow, whose footer names parquet-mr."""
    write_pyarrow(table, path)
    body, footer = split_file(path.read_bytes())
    path.write_bytes(join_file(body, {**footer, InFile.CREATED_BY: (BINARY, PARQUET_MR)}))


def write_duckdb(table: pa.Table, path: Path) -> None:
    """Write a file by DuckDB."""
    duckdb.from_arrow(table).write_parquet(str(path), row_group_size=ROWS_PER_GROUP)


WRITERS: tuple[Callable[[pa.Table, Path], None], ...] = (write_pyarrow, write_parquet_mr, write_duckdb)


def write_lake(directory: Path, files: int) -> None:
    """Write the files; writers and schemas alternate, and files of one of each differ in their values."""
    rows = GROUPS * ROWS_PER_GROUP
    for number in range(files):
        write = WRITERS[number % len(WRITERS)]
        make = (sales, readings)[number // len(WRITERS) % 2]
        write(make(number * rows), directory / f"part-{number:05}.parquet")


def pyarrow_statistics(files: list[str]) -> Iterator[tuple[object, object, int]]:
    """Yield the minimum, maximum and NULL count of every column chunk."""
    for file in files:
        metadata = pq.ParquetFile(file).metadata
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            for column in range(metadata.num_columns):
                statistics = row_group.column(column).statistics
                if statistics is not None:
                    yield statistics.min, statistics.max, statistics.null_count


def duckdb_chunks(directory: Path) -> int:
    """Count the column chunks, and their minima, maxima and NULL counts; return the first number."""
    query = (
        "SELECT count(*), count(stats_min_value), count(stats_max_value), count(stats_null_count) "
        "FROM parquet_metadata(?)"
    )
    ((chunks, *_),) = duckdb.execute(query, [f"{directory}/*.parquet"]).fetchall()
    return int(chunks)


def main() -> None:
    """Write the lake, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000, help="files of the lake (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        lake = Path(directory)
        write_lake(lake, arguments.files)
        files = sorted(map(str, lake.glob("*.parquet")))
        chunks = arguments.files * GROUPS * COLUMNS
        assert collect(lake, cache=False).num_rows == arguments.files * GROUPS
        assert duckdb_chunks(lake) == chunks
        seconds = medians(
            {
                "pruning.collect": lambda: collect(lake, cache=False),
                "pyarrow": lambda: sum(1 for _ in pyarrow_statistics(files)),
                "DuckDB parquet_metadata": lambda: duckdb_chunks(lake),
            },
            arguments.rounds,
        )
    table = Table(title=f"{arguments.files:,} files, {chunks:,} column chunks, processor time")
    for heading in ("reader", "seconds", "microseconds a chunk", "times pyarrow"):
        table.add_column(heading, justify="left" if heading == "reader" else "right")
    for reader, taken in seconds.items():
        table.add_row(
            reader, f"{taken:.3f}", f"{taken / chunks * 1e6:.1f}", f"{taken / seconds['pyarrow']:.2f}"
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
