"""Count the bytes that are read where row groups are named, beside filters that Spark pushes.

    python bench/pages/row_groups.py [--rows N]

Of the first table, a file of many row groups, one row group in eight is needed, and no range of a column
tells it from the others. Of the second, four files have the same values, and of each another range is needed;
one filter for all of them lets each file read the ranges of the others, too. All columns are read. The *lower
bound* is Spark over files that hold nothing else than what is needed. As in `bench/pages/pushed.py`, a figure
is the least growth of `rchar` in /proc/PID/io of Spark's JVM, in three runs after three to warm up; beside it
is the least time.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from pruning.spark.jvm.gateway import dataframe
from pruning.spark.lake.row_groups import RowGroups, with_row_groups
from skipproof.sessions import spark_session

WARM_UPS, RUNS = 3, 3
GROUPS, NEEDED_EVERY, FILES = 32, 8, 4
PAGE_BYTES = 20_000
SETTINGS = {"spark.sql.files.openCostInBytes": "10000"}


def columns_of(rows: int, seed: int) -> pa.Table:
    """Return a sorted column, and one of random numbers, whose bytes are what a query saves."""
    return pa.table({"a": np.arange(rows), "b": np.random.default_rng(seed).integers(0, 2**62, rows)})


def write(table: pa.Table, path: Path, group_rows: int) -> None:
    """Write a file with an index of its pages."""
    path.parent.mkdir(exist_ok=True)
    options = {"write_page_index": True, "data_page_size": PAGE_BYTES, "use_dictionary": False}
    pq.write_table(table, path, row_group_size=group_rows, compression="none", **options)


def count_and_time(spark: SparkSession, frame: DataFrame) -> tuple[int, float]:
    """Return the bytes that Spark's JVM reads for the greatest values of all columns, and the seconds."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()

    def count() -> int:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["rchar"])

    def run() -> None:
        # A new plan each time, because Spark keeps the stages that a plan has run.
        frame.agg(*map(F.max, frame.columns)).collect()

    for _ in range(WARM_UPS):
        run()
    counts, seconds = [], []
    for _ in range(RUNS):
        before, start = count(), time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
        counts.append(count() - before)
    return min(counts), min(seconds)


def name_groups(spark: SparkSession, frame: DataFrame, parts: list[RowGroups]) -> DataFrame:
    """Return a table of which some row groups are named."""
    leaf = with_row_groups(spark, frame._jdf.queryExecution().analyzed(), parts)
    assert leaf is not None
    return dataframe(spark, leaf.leaf)


def scattered_groups(spark: SparkSession, directory: Path, rows: int) -> Iterator[tuple[str, DataFrame]]:
    """Yield the ways to read one row group in eight."""
    # The sorted column is in no condition: row groups are excluded for a reason that is none of its ranges.
    table = columns_of(rows, 1).drop_columns("a")
    group_rows = rows // GROUPS
    write(table, directory / "whole" / "0.parquet", group_rows)
    needed = range(0, GROUPS, NEEDED_EVERY)
    parts = [table.slice(group * group_rows, group_rows) for group in needed]
    write(pa.concat_tables(parts), directory / "needed" / "0.parquet", group_rows)
    whole = spark.read.parquet(f"{directory}/whole")
    yield "whole file", whole
    yield "row groups named", name_groups(spark, whole, [RowGroups({whole.inputFiles()[0]: list(needed)})])
    yield "lower bound", spark.read.parquet(f"{directory}/needed")


def ranges_apart(spark: SparkSession, directory: Path, rows: int) -> Iterator[tuple[str, DataFrame]]:
    """Yield the ways to read another range of each file."""
    width, step = rows // 50, rows // FILES
    ranges = [(file * step + 100, file * step + 100 + width) for file in range(FILES)]
    for file, (low, high) in enumerate(ranges):
        table = columns_of(rows, file)
        write(table, directory / "whole" / f"{file}.parquet", rows)
        write(table.slice(low, high - low + 1), directory / "needed" / f"{file}.parquet", rows)
    whole = spark.read.parquet(f"{directory}/whole")
    conditions = [f"a BETWEEN {low} AND {high}" for low, high in ranges]
    yield "whole files", whole
    yield "one OR for all files", whole.where(" OR ".join(f"({condition})" for condition in conditions))
    paths = [f"{directory}/whole/{file}.parquet" for file in range(FILES)]
    scans = [
        spark.read.parquet(path).where(condition) for path, condition in zip(paths, conditions, strict=True)
    ]
    union = scans[0]
    for scan in scans[1:]:
        union = union.unionAll(scan)
    yield "UNION ALL of a scan each", union
    files = sorted(whole.inputFiles())
    parts = [RowGroups({file: [0]}, condition) for file, condition in zip(files, conditions, strict=True)]
    yield "a filter for each file", name_groups(spark, whole, parts)
    yield "lower bound", spark.read.parquet(f"{directory}/needed")


def report(spark: SparkSession, title: str, ways: Iterator[tuple[str, DataFrame]]) -> Table:
    """Return a table of the bytes and times of the ways to read a table."""
    counts = {name: count_and_time(spark, frame) for name, frame in ways}
    least = counts["lower bound"][0]
    table = Table(title=title)
    for heading in ("way", "bytes read", "of lower bound", "ms"):
        table.add_column(heading, justify="left" if heading == "way" else "right")
    for name, (count, seconds) in counts.items():
        table.add_row(name, f"{count:,}", f"{count / least:.2f}", f"{1000 * seconds:.0f}")
    return table


def main() -> None:
    """Write the tables, read them in each way, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_600_000, help="rows of a table (default %(default)s)")
    rows = parser.parse_args().rows
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as directory, spark_session(SETTINGS) as spark:
        for name in ("scattered", "apart"):
            (Path(directory) / name).mkdir()
        console.print(f"Spark {spark.version}")
        ways = scattered_groups(spark, Path(directory) / "scattered", rows)
        console.print(report(spark, f"{GROUPS} row groups, one in {NEEDED_EVERY} needed", ways))
        ways = ranges_apart(spark, Path(directory) / "apart", rows // FILES)
        console.print(report(spark, f"{FILES} files, another range of each", ways))


if __name__ == "__main__":
    main()
