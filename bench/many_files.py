"""Measure what pruning costs and saves on a lake of many files, compared with Spark alone.

    python bench/many_files.py [--files N] [--rounds N]

Each figure is the median over rounds in which every contestant runs once, in turn; planning is in
it. "first" is a run whose block metadata is not cached yet, so that it reads every footer.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

ROWS_PER_FILE = 1_000
QUERIES = {
    "a point": "id = 1234567",
    "a range": "id between 500000 and 502000",
    "an IF": "if(unit = 'feet', height + height + height, height) > 11900000",
    "everything": "id >= 0",
}


def write_lake(directory: Path, files: int) -> None:
    """Write files of consecutive ids; every tenth file is in feet."""
    for number in range(files):
        ids = range(number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE)
        unit = "feet" if number % 10 == 0 else "metres"
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "height": pa.array(ids, pa.int64()),
                "unit": pa.repeat(unit, ROWS_PER_FILE),
            }
        )
        pq.write_table(rows, directory / f"part-{number:05}.parquet")


def seconds(run: Callable[[], object]) -> float:
    """Return how long one run takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def compare(spark: SparkSession, lake: Path, query: str, rounds: int) -> list[str]:
    """Return the medians of one query, and how many files were read."""

    def ask() -> DataFrame:
        return spark.read.parquet(str(lake)).where(query)

    def forget() -> None:
        shutil.rmtree(lake / ".skipproof", ignore_errors=True)

    taken: dict[str, list[float]] = {"alone": [], "first": [], "pruned": []}
    expected = ask().count()
    for _ in range(rounds):
        taken["alone"].append(seconds(lambda: ask().count()))
        forget()
        taken["first"].append(seconds(lambda: pruning.prune(ask()).count()))
        taken["pruned"].append(seconds(lambda: pruning.prune(ask()).count()))
    assert pruning.prune(ask()).count() == expected
    (scan,) = pruning.explain(ask()).scans
    alone, first, pruned = (statistics.median(times) for times in taken.values())
    return [
        f"{scan.files_kept:,} of {scan.files_total:,}",
        *(f"{median:.2f}" for median in (alone, first, pruned)),
        f"{alone / pruned:.2f}",
    ]


def main() -> None:
    """Write the lake, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000, help="files of the lake (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    table = Table(title=f"{arguments.files:,} files of {ROWS_PER_FILE:,} rows, medians in seconds")
    for heading in ("query", "files read", "Spark alone", "pruned, first", "pruned", "alone / pruned"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    with tempfile.TemporaryDirectory() as directory, spark_session() as spark:
        lake = Path(directory)
        write_lake(lake, arguments.files)
        for name, query in QUERIES.items():
            table.add_row(name, *compare(spark, lake, query, arguments.rounds))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
