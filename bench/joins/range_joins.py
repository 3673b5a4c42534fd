"""Measure joins of two clustered tables range by range beside Spark's shuffled joins.

    python bench/joins/range_joins.py [--files N] [--rows N] [--small-rows N] [--rounds N]

Two tables with the same number of files are clustered on the key `k`: of a large one, each row has a text of
100 random letters; of a small one, a number. Each file of the small table overlaps the next one of its own
and of the other table. Both are too large to be broadcast by Spark. A second pair has the same rows in an
order that no range tells apart: the cost model must decline it.

Both contestants run in turn in each round, into no result, after a round that is not counted; Spark's is the
query itself, with adaptive execution on. "shuffled" and "read" are bytes of all stages of one run by Spark's
metrics, and `prune` is the time to plan the ranges, once footers are known. The rows are compared by a hash.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

_TEXT_BYTES = 100
_RUNS = itertools.count()
_SETTINGS = {
    "spark.driver.memory": "3g",
    # Spark's metrics miss what Parquet reads in vectors.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
}
_SIDES = {"INNER": "l.k, l.text, s.n", "LEFT": "l.k, l.text, s.n", "LEFT SEMI": "l.k, l.text"}


@dataclass(slots=True)
class Figures:
    """The seconds of each round, and the bytes of one run."""

    seconds: list[float] = field(default_factory=list)
    shuffled: int = 0
    read: int = 0
    rows: str = ""


def write_tables(root: Path, files: int, rows: int, small_rows: int, *, clustered: bool) -> None:
    """Write the large and the small table; not clustered, each file has rows of all ranges."""
    generator = np.random.default_rng(8)
    for name, count in (("large", rows), ("small", small_rows)):
        keys = np.sort(generator.integers(0, rows, count))
        if not clustered:
            generator.shuffle(keys)
        (root / name).mkdir(parents=True)
        for number, part in enumerate(np.array_split(keys, files)):
            columns: dict[str, Any] = {"k": pa.array(part)}
            if name == "large":
                letters = generator.integers(97, 123, (len(part), _TEXT_BYTES), np.uint8)
                columns["text"] = pa.array([row.tobytes().decode() for row in letters])
            else:
                columns["n"] = pa.array(generator.integers(0, 1 << 40, len(part)))
            pq.write_table(pa.table(columns), root / name / f"{number:05}.parquet")


def stage_bytes(spark: SparkSession, group: str) -> tuple[int, int]:
    """Return the bytes that stages of a job group have written to shuffles, and read of files."""
    store = spark.sparkContext._jsc.sc().statusStore()
    tracker = spark.sparkContext.statusTracker()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    attempts = [store.lastStageAttempt(stage) for stage in stages]
    shuffled = sum(attempt.shuffleWriteBytes() for attempt in attempts)
    return shuffled, sum(attempt.inputBytes() for attempt in attempts)


def run(df: DataFrame, figures: Figures, *, counted: bool) -> None:
    """Run a query into no result, and add its figures."""
    spark, label = df.sparkSession, f"run {next(_RUNS)}"
    spark.sparkContext.setJobGroup(label, label)
    began = time.perf_counter()
    df.write.format("noop").mode("overwrite").save()
    if counted:
        figures.seconds.append(time.perf_counter() - began)
    figures.shuffled, figures.read = stage_bytes(spark, label)


def hash_of(df: DataFrame) -> str:
    """Return the number of rows and the sum of their hashes."""
    columns = ", ".join(f"`{name}`" for name in df.columns)
    return str(
        df.selectExpr(f"xxhash64({columns}) AS h")
        .selectExpr("count(*)", "sum(cast(h AS decimal(38)))")
        .first()
    )


def measure(spark: SparkSession, sql: str, rounds: int) -> tuple[dict[str, Figures], float, str]:
    """Return the figures of both contestants, the seconds of `prune`, and what its report says."""
    contestants = {"Spark": Figures(), "ranges": Figures()}
    pruning.prune(spark.sql(sql), runtime=False)
    began = time.perf_counter()
    pruned = pruning.prune(spark.sql(sql), runtime=False)
    seconds = time.perf_counter() - began
    report = pruning.explain(pruned)
    reasons = [
        decline.reason
        for _, declined in report.why().scans
        for decline in declined
        if decline.technique == "ranges"
    ]
    for number in range(rounds + 1):
        for name, figures in contestants.items():
            # A new frame each time, so that nothing that was broadcast is used again.
            df = spark.sql(sql) if name == "Spark" else pruning.prune(spark.sql(sql), runtime=False)
            run(df, figures, counted=number > 0)
    contestants["Spark"].rows = hash_of(spark.sql(sql))
    contestants["ranges"].rows = hash_of(pruned)
    return contestants, seconds, "; ".join([*report.notes, *reasons[:1]])


def lines(spark: SparkSession, arguments: argparse.Namespace) -> Iterator[tuple[list[str], str]]:
    """Yield a line for each layout and kind of join, and what the report says."""
    for clustered in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            sizes = (arguments.files, arguments.rows, arguments.small_rows)
            write_tables(Path(folder), *sizes, clustered=clustered)
            for name in ("large", "small"):
                spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
            for kind, columns in _SIDES.items():
                sql = f"SELECT {columns} FROM large l {kind} JOIN small s ON l.k = s.k"
                figures, seconds, note = measure(spark, sql, arguments.rounds)
                base, ranged = figures["Spark"], figures["ranges"]
                yield (
                    [
                        f"{'clustered' if clustered else 'not clustered'}, {kind}",
                        *(f"{statistics.median(part.seconds):.2f}" for part in (base, ranged)),
                        *(f"{part.shuffled / 1e6:.1f}" for part in (base, ranged)),
                        *(f"{part.read / 1e6:.1f}" for part in (base, ranged)),
                        f"{1000 * seconds:.0f}",
                        "equal" if base.rows == ranged.rows else "DIFFERENT",
                    ],
                    note,
                )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=200, metavar="N", help="files of each table [200]")
    parser.add_argument(
        "--rows", type=int, default=4_000_000, metavar="N", help="of the large table [4000000]"
    )
    parser.add_argument(
        "--small-rows", type=int, default=1_500_000, metavar="N", help="of the other [1500000]"
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of which medians are taken [5]")
    arguments = parser.parse_args()
    columns = ("join", "Spark s", "ranges s", "shuffled MB", "", "read MB", "", "prune ms", "rows")
    table = Table(*columns, title=f"{arguments.files} files each")
    notes = []
    with spark_session(_SETTINGS) as spark:
        for cells, note in lines(spark, arguments):
            table.add_row(*cells)
            notes.append(f"{cells[0]}: {note}")
    console = Console(width=140)
    console.print(table)
    for note in notes:
        console.print(note)


if __name__ == "__main__":
    main()
