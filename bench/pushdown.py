"""Measure the cost of not pushing comparisons that may lose rows, when pushing would be right.

    python bench/pushdown.py [--rows N] [--rounds N]

The lake is Spark's own, in the order of its floating column, several row groups a file: so bounds are
right, and pushing skips as much as it ever can. Each figure is the median over rounds in which both run
once, in turn; planning is in it.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from pruning.spark.drive.pushdown import with_safe_pushdown
from pruning.spark.jvm.gateway import dataframe
from skipproof.sessions import spark_session

FILES = 8
ROW_GROUP_BYTES = 1 << 20
# Ratios of the rows that are greater than what is asked for.
QUERIES = {
    "x > c, 0.1 % of the rows": "x > {rows} * 0.999D",
    "x > c, 50 % of the rows": "x > {rows} * 0.5D",
    "x <> c": "x <> 5D",
    "x = 0": "x = 0D",
    "x > c AND id > c, 0.1 %": "x > {rows} * 0.999D AND id > {rows} * 0.999",
    "x < c, 0.1 %, still pushed": "x < {rows} * 0.001D",
}


def write_lake(spark: SparkSession, directory: str, rows: int) -> None:
    """Write ids, the same ids as floating numbers, and long texts that make rows worth skipping."""
    frame_ = spark.range(0, rows, numPartitions=FILES)
    columns = frame_.selectExpr("id", "cast(id as double) AS x", "sha2(cast(id as string), 256) AS text")
    columns.write.option("parquet.block.size", ROW_GROUP_BYTES).mode("overwrite").parquet(directory)


def without_unsafe_pushdown(df: DataFrame) -> DataFrame:
    """Return the query without the pushed comparisons that may lose rows."""
    return dataframe(
        df.sparkSession, with_safe_pushdown(df.sparkSession, df._jdf.queryExecution().optimizedPlan())
    )


def seconds(run: Callable[[], object]) -> float:
    """Return how long one run takes."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def compare(spark: SparkSession, lake: str, predicate: str, rounds: int) -> list[str]:
    """Return the medians of one query, pushed and not; and that of rewriting the plan."""

    def ask() -> DataFrame:
        return spark.read.parquet(lake).where(predicate).selectExpr("max(text)")

    taken: dict[str, list[float]] = {"pushed": [], "unpushed": [], "rewriting": []}
    assert without_unsafe_pushdown(ask()).collect() == ask().collect()
    for _ in range(rounds):
        taken["pushed"].append(seconds(lambda: ask().collect()))
        taken["unpushed"].append(seconds(lambda: without_unsafe_pushdown(ask()).collect()))
        plan = ask()._jdf.queryExecution().optimizedPlan()
        taken["rewriting"].append(seconds(lambda plan=plan: with_safe_pushdown(spark, plan)))
    pushed, unpushed_, rewriting = (statistics.median(times) for times in taken.values())
    return [f"{pushed:.3f}", f"{unpushed_:.3f}", f"{unpushed_ / pushed:.2f}", f"{rewriting * 1_000:.0f}"]


def main() -> None:
    """Write the lake, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    table = Table(title=f"{arguments.rows:,} rows in {FILES} files of Spark's, medians")
    for heading in ("filter", "pushed, s", "not pushed, s", "ratio", "rewriting, ms"):
        table.add_column(heading, justify="left" if heading == "filter" else "right")
    with tempfile.TemporaryDirectory() as directory, spark_session() as spark:
        write_lake(spark, directory, arguments.rows)
        for name, predicate in QUERIES.items():
            asked = predicate.format(rows=arguments.rows)
            table.add_row(name, *compare(spark, directory, asked, arguments.rounds))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
