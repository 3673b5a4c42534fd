"""Measure what reading page indexes costs where they exclude nothing.

    python bench/pages/overhead.py [--files N] [--rows N] [--runs N]

Each file has two row groups with pages of 20,000 rows, as Spark writes them, of four columns in random order,
so that every page may hold a needed row. Each query is pruned in turn with and without a look at pages, and
then run; the figures are medians of milliseconds, and the difference in pruning as a share of the whole query
that has not looked, planning included. For the join and for the query whose rows all match, the verdicts on
row groups tell enough, so no page index is read. In the last query pages exclude nearly all rows, as a
report then says; Spark's reader skips them in either case, by the range that is pushed.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from pruning.spark.drive import page_cutting
from skipproof.sessions import spark_session

PAGE_ROWS = 20_000
GROUPS_MAX = page_cutting.GROUPS_MAX
LARGE = 2**40
QUERIES = {
    "one column": f"SELECT max(b) FROM t WHERE a % 7 = 3 AND a < {LARGE - 5}",
    "two columns": "SELECT max(c) FROM t WHERE a + b BETWEEN 5000 AND 2000000000000",
    "four columns": "SELECT max(d) FROM t WHERE a < b AND (c > 5 OR d > 5)",
    "a join": "SELECT max(b) FROM t JOIN k ON a = key WHERE wanted",
    "all match": "SELECT max(b) FROM t WHERE a >= 0",
    "top 10": "SELECT a, b FROM t ORDER BY c LIMIT 10",
}


def write_lake(directory: Path, files: int, rows: int) -> None:
    """Write the files, and a table of keys for a join."""
    generator = np.random.default_rng(3)
    for name in ("t", "k"):
        (directory / name).mkdir()
    for number in range(files):
        table = pa.table({name: generator.integers(0, LARGE, rows) for name in "abcd"})
        pq.write_table(
            table,
            directory / "t" / f"{number}.parquet",
            row_group_size=rows // 2,
            write_page_index=True,
            use_dictionary=False,
            max_rows_per_page=PAGE_ROWS,
        )
    keys = pa.table({"key": [5, LARGE - 5, 77], "wanted": [True, True, False]})
    pq.write_table(keys, directory / "k" / "0.parquet")


def measure(spark: SparkSession, sql: str, runs: int) -> tuple[float, float, float]:
    """Return the milliseconds of pruning with and without a look at pages, and of the query without."""

    def prune_ms(groups_max: int) -> float:
        page_cutting.GROUPS_MAX = groups_max
        frame = spark.sql(sql)
        began = time.perf_counter()
        pruning.prune(frame)
        return 1000 * (time.perf_counter() - began)

    def run_ms() -> float:
        page_cutting.GROUPS_MAX = -1
        frame = pruning.prune(spark.sql(sql))
        began = time.perf_counter()
        frame.collect()
        return 1000 * (time.perf_counter() - began)

    samples = [(prune_ms(GROUPS_MAX), prune_ms(-1), run_ms()) for _ in range(runs + 2)][2:]
    with_pages, without, run = (statistics.median(column) for column in zip(*samples, strict=True))
    return with_pages, without, run


def main() -> None:
    """Write the lake, measure each query, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=16, help="files (default %(default)s)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a file (default %(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="runs of each query (default %(default)s)")
    arguments = parser.parse_args()
    report = Table(
        title=f"{arguments.files} files of {arguments.rows:,} rows, medians of {arguments.runs} runs"
    )
    for heading in ("query", "prune ms", "without pages ms", "query ms", "pages' share"):
        report.add_column(heading, justify="left" if heading == "query" else "right")
    with tempfile.TemporaryDirectory() as directory, spark_session() as spark:
        write_lake(Path(directory), arguments.files, arguments.rows)
        for name in ("t", "k"):
            spark.read.parquet(f"{directory}/{name}").createOrReplaceTempView(name)
        for name, sql in QUERIES.items():
            with_pages, without, run = measure(spark, sql, arguments.runs)
            share = (with_pages - without) / (without + run)
            report.add_row(name, f"{with_pages:.0f}", f"{without:.0f}", f"{run:.0f}", f"{100 * share:.1f} %")
    Console(width=110).print(report)


if __name__ == "__main__":
    main()
