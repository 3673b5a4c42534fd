"""Count the bytes that queries read of one row group of many pages, beside filters that Spark pushes itself.

    python bench/pages/pushed.py [--rows N]

The table is one file with one row group: a sorted column `a`, and a column `b` of random numbers, whose
pages are what a query saves. Each query is measured beside the same query with a filter that Spark pushes
itself. It runs three times to warm up; then the growth of `rchar` in /proc/PID/io of Spark's JVM, which reads
in local mode, is the least of three runs. Spark's own counts of input bytes are not used, because they lack
what is read of footers and page indexes. Planning is counted apart: a join's small side runs in it. The query
that finds nothing shows what is in every figure: footers, page indexes, and what Java reads itself.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

WARM_UPS, RUNS = 3, 3
PAGE_BYTES = 20_000
NEAR = "BETWEEN 98999 AND 99100"
MEMBERS = [10_000 * at for at in range(20)]
ANY_MEMBER = f"({' OR '.join(f'a = {member}' for member in MEMBERS)})"
# Of each query, the conjunct that is added by hand, which Spark pushes itself.
QUERIES: Mapping[str, tuple[str, str]] = {
    "BETWEEN": ("SELECT max(b) FROM t WHERE a BETWEEN 99000 AND 99100{}", "a > 0"),
    "IF": ("SELECT max(b) FROM t WHERE IF(b % 2 = 0, a, a + 1) BETWEEN 99000 AND 99100{}", f"a {NEAR}"),
    "join with two keys": (
        "SELECT max(b) FROM t JOIN k ON a = k.key WHERE k.is_wanted{}",
        "a IN (5, 199990)",
    ),
    "IN of 20 values": (f"SELECT max(b) FROM t WHERE a IN ({', '.join(map(str, MEMBERS))}){{}}", ANY_MEMBER),
    "nothing found": ("SELECT max(b) FROM t WHERE a < 0{}", "a < 1"),
    "top 3": ("SELECT a, b FROM t WHERE true{} ORDER BY a DESC LIMIT 3", "a >= 199997"),
}


def write_tables(directory: Path, rows: int) -> None:
    """Write a table of one row group with an index of its pages, and one of keys to join it with."""
    numbers = np.random.default_rng(1).integers(0, 2**62, rows)
    table = pa.table({"a": np.arange(rows), "b": numbers})
    for name in ("t", "k"):
        (directory / name).mkdir()
    options = {"write_page_index": True, "data_page_size": PAGE_BYTES, "use_dictionary": False}
    pq.write_table(table, directory / "t" / "0.parquet", row_group_size=rows, compression="none", **options)
    keys = pa.table({"key": [5, 77, rows - 10], "is_wanted": [True, False, True]})
    pq.write_table(keys, directory / "k" / "0.parquet")


def bytes_read(spark: SparkSession, run: Callable[[], object]) -> int:
    """Return the bytes that Spark's JVM reads in one run."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()

    def count() -> int:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["rchar"])

    for _ in range(WARM_UPS):
        run()
    counts = []
    for _ in range(RUNS):
        before = count()
        run()
        counts.append(count() - before)
    return min(counts)


def measure(spark: SparkSession, query: str, conjunct: str) -> list[str]:
    """Return the bytes of a query, of its planning, of the pruned one, and with a conjunct; and a ratio."""

    def plain() -> DataFrame:
        return spark.sql(query.format(""))

    pruned = pruning.prune(plain())

    def execute() -> None:
        # A new plan over the pruned one, because Spark keeps the stages that a plan has run.
        pruned.select("*").collect()

    assert sorted(pruned.collect()) == sorted(plain().collect())
    alone = bytes_read(spark, lambda: plain().collect())
    ours = bytes_read(spark, execute)
    planning = bytes_read(spark, lambda: pruning.prune(plain()))
    by_hand = query.format(f" AND {conjunct}")
    reference = bytes_read(spark, lambda: spark.sql(by_hand).collect())
    return [f"{alone:,}", f"{planning:,}", f"{ours:,}", f"{reference:,}", f"{ours / reference:.2f}"]


def main() -> None:
    """Write the tables, run the queries, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=int, default=200_000, help="rows, at least 200,000 (default %(default)s)"
    )
    parser.add_argument("--plans", action="store_true", help="print what Spark pushes, too")
    arguments = parser.parse_args()
    report = Table(title=f"one row group of {arguments.rows:,} rows, bytes read")
    for heading in ("query", "Spark alone", "planning", "pruned", "by hand", "pruned / by hand"):
        report.add_column(heading, justify="left" if heading == "query" else "right")
    with tempfile.TemporaryDirectory() as directory, spark_session() as spark:
        write_tables(Path(directory), arguments.rows)
        for name in ("t", "k"):
            spark.read.parquet(f"{directory}/{name}").createOrReplaceTempView(name)
        for name, (query, conjunct) in QUERIES.items():
            report.add_row(name, *measure(spark, query, conjunct))
            if arguments.plans:
                plan = (
                    pruning.prune(spark.sql(query.format("")))._jdf.queryExecution().executedPlan().toString()
                )
                print(pruning.explain(spark.sql(query.format(""))))
                print(name, *(line for line in plan.splitlines() if "PushedFilters" in line), sep="\n")
        Console(width=110).print(report)


if __name__ == "__main__":
    main()
