"""Measure reading the statistics of many footers, beside pyarrow and DuckDB.

    python bench/footers.py [--files N] [--rounds N] [--hadoop | --server [--delay-ms N]]

A lake of files with 2 row groups and 12 columns, of two schemas, by three writers: pyarrow, DuckDB, and one
that names itself parquet-mr. Each figure is the median of the processor times, of all threads, of rounds in
which every contestant runs once, in turn. `pruning.collect` reads without its cache, and decides what to
believe; pyarrow gives the minimum, maximum and NULL count of every column chunk to Python; DuckDB only counts
those that its `parquet_metadata` gives.

With `--hadoop`, `prune`'s two ways to the metadata of a lake are compared instead, in wall time, with nothing
kept: by Arrow under `file:`, and by the session's Hadoop file systems under `viewfs:`.

With `--server`, the lake is served by stores on this machine that count requests, and what is read of it is
kept: by S3, where `pruning.collect` reads it by Arrow, and by WebHDFS, where `pruning.prune` reads it by the
session; beside them are the requests of Spark itself, which makes the DataFrame and runs its query.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table
from timing import medians

import pruning
from oracles.files.footers import BINARY, InFile, join_file, split_file
from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.places import ENVIRONMENT
from pruning.metadata.store.collecting import collect, read_blocks, read_listed_blocks
from pruning.spark.lake.hadoop_files import HadoopFiles, hadoop_listing
from skipproof.sessions import spark_session

sys.path.append(str(Path(__file__).parents[1]))
from tools.counting_stores import Store, operations, s3_store, webhdfs_store

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


def print_hadoop(lake: Path, files: list[str], rounds: int) -> None:
    """Print the seconds of both ways from a session's list of files to their block metadata."""
    with spark_session({"spark.master": "local[2]"}) as spark:
        mounted = "fs.viewfs.mounttable.lake.link./t"
        spark._jsc.hadoopConfiguration().set(mounted, lake.as_uri())
        paths = [f"viewfs://lake/t/{Path(file).name}" for file in files]
        stamps = [stamp for stamp in HadoopFiles(spark).statuses(paths) if isinstance(stamp, Stamp)]
        ways: dict[str, Callable[[], tuple[pa.Table, dict[str, str]]]] = {
            "file:, by Arrow": lambda: read_blocks(files, stamps=stamps, spark=spark, cache=False),
            "viewfs:, by Hadoop": lambda: read_listed_blocks(
                hadoop_listing(spark, paths, stamps)[0], read=HadoopFiles(spark).read_footers
            ),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for counted in range(-2, rounds):
            for way, read in ways.items():
                began = time.perf_counter()
                metadata, failures, _ = read()
                if counted >= 0:
                    times[way].append(time.perf_counter() - began)
                assert metadata.num_rows == len(files) * GROUPS
                assert not failures
    for way, taken in times.items():
        print(f"{way:20} {statistics.median(taken):.3f} s for {len(files):,} files")


def print_requests(lake: Path, delay_seconds: float) -> None:
    """Print the requests, bytes and seconds of reading a lake from stores, first and again."""
    with tempfile.TemporaryDirectory() as kept, s3_store("lake") as store:
        os.environ[ENVIRONMENT] = kept
        system, root = fs.FileSystem.from_uri(store.uri("t"))
        for path in lake.iterdir():
            with system.open_output_stream(f"{root}/{path.name}") as file:
                file.write(path.read_bytes())
        # A file that is younger than this is not kept, as its time is in whole seconds.
        time.sleep(2)
        store.delay_seconds = delay_seconds
        for call in ("first", "second"):
            print_step(store, f"s3 collect, {call}", lambda: collect(store.uri("t")))
    with (
        tempfile.TemporaryDirectory() as kept,
        webhdfs_store(lake) as store,
        spark_session({"spark.master": "local[2]"}) as spark,
    ):
        os.environ[ENVIRONMENT] = kept
        HadoopFiles(spark).statuses([f"{store.root}/none"])
        store.delay_seconds = delay_seconds
        frames: dict[str, DataFrame] = {}

        def make() -> None:
            frames["alone"] = spark.read.parquet(f"{store.root}/").where("id = 123456")

        def narrow() -> None:
            frames["pruned"] = pruning.prune(frames["alone"])

        for call in ("first", "second"):
            print_step(store, f"Spark lists, {call}", make)
            print_step(store, f"webhdfs prune, {call}", narrow)
        print_step(store, "webhdfs collect", lambda: pruning.collect(f"{store.root}/", spark=spark))
        for name, frame in frames.items():
            print_step(store, f"Spark runs, {name}", frame.collect)


def print_step(store: Store, name: str, run: Callable[[], object]) -> None:
    """Print what a step asks of a store, and its time."""
    store.take()
    began = time.perf_counter()
    run()
    seconds = time.perf_counter() - began
    requests = store.take()
    size_bytes = sum(request.size_bytes for request in requests)
    counts = ", ".join(f"{operation} {count:,}" for operation, count in sorted(operations(requests).items()))
    print(f"{name:22} {len(requests):6,} requests {size_bytes:12,} bytes {seconds:7.2f} s  {counts}")


def main() -> None:
    """Write the lake, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000, help="files of the lake (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    parser.add_argument("--hadoop", action="store_true", help="compare Arrow's and Hadoop's file systems")
    parser.add_argument("--server", action="store_true", help="count requests at stores on this machine")
    parser.add_argument("--delay-ms", type=float, default=0, help="with --server: hold answers back so long")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        lake = Path(directory)
        write_lake(lake, arguments.files)
        files = sorted(map(str, lake.glob("*.parquet")))
        if arguments.hadoop:
            print_hadoop(lake, files, arguments.rounds)
            return
        if arguments.server:
            print_requests(lake, arguments.delay_ms / 1_000)
            return
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
