"""TPC-DS beside Spark's dynamic partition pruning: the share of each fact's files that is not read.

    python bench/tpc_ds/partitions.py DIRECTORY [--queries 1,6] [--seconds N]

`DIRECTORY` is what `tpcds_data.py` has made. Spark alone runs each query over facts that are partitioned by
their date keys, and the metrics of its scans tell how many files they have opened. Then `prune` prunes the
query over the same files, and over facts that are sorted by their date keys, of which blocks are counted.
Spark may merge scans, or drop them while the query runs. So each fact of a query counts once, with the mean
over its scans; a fact of which Spark has run no scan counts as skipped whole.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from tpcds import SETTINGS, name_tables
from tpcds_data import FACTS, texts

import pruning
from skipproof.sessions import spark_session

# Subqueries that give the keys of partitions; they read again what a join of the plan reads.
_KEYS_OF_PARTITIONS = frozenset({"SubqueryBroadcastExec", "SubqueryAdaptiveBroadcastExec"})
# The node in which a node of a plan hides another.
_HIDDEN = {
    "AdaptiveSparkPlanExec": "executedPlan",
    "ShuffleQueryStageExec": "plan",
    "BroadcastQueryStageExec": "plan",
    "ResultQueryStageExec": "plan",
    "TableCacheQueryStageExec": "plan",
    "ReusedExchangeExec": "child",
    "ReusedSubqueryExec": "child",
}


@dataclass(frozen=True, slots=True)
class FactShares:
    """The shares, in percent, of a fact's files or blocks that one query does not read."""

    query: int
    fact: str
    by_spark: float
    by_prune: float
    in_order: float


def executed_scans(node: Any) -> Iterator[Any]:
    """Yield the scans of files of a physical plan that was run; one that is used twice, twice."""
    name = str(node.getClass().getSimpleName())
    if name in _KEYS_OF_PARTITIONS:
        return
    if name == "FileSourceScanExec":
        yield node
    elif name in _HIDDEN:
        yield from executed_scans(getattr(node, _HIDDEN[name])())
        return
    for below in (node.children(), node.subqueries()):
        for place in range(below.length()):
            yield from executed_scans(below.apply(place))


def shares_of_spark(df: DataFrame, files: Mapping[str, int]) -> dict[str, float]:
    """Run a query; return the mean share of each fact's files that its scans did not open."""
    df.collect()
    shares: dict[str, list[float]] = defaultdict(list)
    for scan in executed_scans(df._jdf.queryExecution().executedPlan()):
        table = _fact_of(str(scan.relation().location().rootPaths().head().toString()))
        if table in files:
            opened = int(scan.metrics().apply("numFiles").value())
            shares[table].append(100 * (1 - opened / files[table]))
    return {table: statistics.mean(some) for table, some in shares.items()}


def shares_of_prune(df: DataFrame, unit: str) -> dict[str, float]:
    """Return the mean share of each fact's "files" or "blocks" that `prune` excludes."""
    shares: dict[str, list[float]] = defaultdict(list)
    for scan in pruning.explain(pruning.prune(df)).to_dict()["scans"]:
        table = _fact_of(scan["paths"][0])
        if table in FACTS:
            kept, total = scan[f"{unit}_kept"], scan[f"{unit}_total"]
            shares[table].append(100 * (1 - kept / total) if total else 0.0)
    return {table: statistics.mean(some) for table, some in shares.items()}


def _fact_of(path: str) -> str:
    """Return the fact in whose folder a path lies, or an empty text."""
    return next((part for part in Path(path).parts if part in FACTS), "")


def rows_of(shares: list[FactShares]) -> Iterator[tuple[str, ...]]:
    """Yield the table, heading first: a row for each query, with the means over its facts."""
    yield ("query", "facts", "Spark", "prune, same files", "prune, sorted facts")
    for query in dict.fromkeys(share.query for share in shares):
        of_query = [share for share in shares if share.query == query]
        yield (str(query), str(len(of_query)), *means(of_query))


def means(shares: list[FactShares]) -> tuple[str, str, str]:
    """Return the mean share by Spark, by `prune` over the same files, and by `prune` over sorted facts."""
    columns = zip(*((share.by_spark, share.by_prune, share.in_order) for share in shares), strict=True)
    by_spark, by_prune, in_order = (f"{statistics.mean(column):.1f}" for column in columns)
    return by_spark, by_prune, in_order


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--queries", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no query after this time")
    arguments = parser.parse_args()
    queries, partitioned = texts(arguments.directory), arguments.directory / "partitioned"
    files = {fact: sum(1 for _ in (partitioned / fact).rglob("*.parquet")) for fact in FACTS}
    shares: list[FactShares] = []
    began, last = time.perf_counter(), 0
    with spark_session(SETTINGS) as spark:
        in_order = spark.newSession()
        name_tables(spark, partitioned)
        name_tables(in_order, arguments.directory / "clustered")
        for number in arguments.queries or sorted(queries):
            if time.perf_counter() - began > arguments.seconds:
                break
            by_spark, last = shares_of_spark(spark.sql(queries[number]), files), number
            by_prune = shares_of_prune(spark.sql(queries[number]), "files")
            sorted_facts = shares_of_prune(in_order.sql(queries[number]), "blocks")
            of_query = [
                FactShares(number, fact, by_spark.get(fact, 100.0), by_prune[fact], sorted_facts[fact])
                for fact in by_prune
            ]
            shares += of_query
            passed = time.perf_counter() - began
            print(
                number, *(means(of_query) if of_query else ()), f"{passed:.0f} s", file=sys.stderr, flush=True
            )
    heading, *rows = rows_of(shares)
    for row in (heading, ("---:",) * len(heading), *rows):
        print(f"| {' | '.join(row)} |")
    count = len({share.query for share in shares})
    of_spark, of_prune, of_sorted = means(shares)
    print(
        f"\nOf {len(shares)} facts of {count} queries, up to query {last}: Spark skips {of_spark} % "
        f"of files, prune {of_prune} % of the same files, and {of_sorted} % of blocks of sorted facts."
    )


if __name__ == "__main__":
    main()
