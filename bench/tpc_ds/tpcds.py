"""The 99 queries of TPC-DS: the share of blocks that is pruned of each scan of a fact, by technique.

    python bench/tpc_ds/tpcds.py DIRECTORY [--layout LAYOUT] [--queries 1,6] [--compare] [--why]

`DIRECTORY` is what `tpcds_data.py` has made. Of each scan of a fact, the blocks that are not read are counted
by all its blocks; the mean is over all scans of facts, those without a removal too. Whether a query has a
condition on a dimension is told by its text, before it runs. With `--compare` each is run with and without
pruning.
"""

import argparse
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tpcds_data import FACTS, LAYOUTS, texts

import pruning
from skipproof.commands.answers import compare, is_open, materialize
from skipproof.sessions import spark_session

# [P] 6, Figure 9: the mean share of partitions that join pruning takes out where it acts, in percent.
PAPER_MEAN = 79
TECHNIQUES = ("filter", "join", "limit", "top-k")
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "4",
    # The texts have names in double quotes.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}
# Dimensions with columns that conditions of these queries are about.
_DIMENSION_FILTER = re.compile(
    r"\b(d|d1|d2|d3|i|s|ca|cd|hd|p|t|w|cc|web|sm|r)_[a-z_]+\s*(=|<|>|in\b|between|like)", re.IGNORECASE
)


@dataclass(slots=True)
class FactScan:
    """One scan of a fact: its blocks, and those that each technique removed."""

    table: str
    blocks: int
    removed: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The share of blocks that are removed, in percent."""
        return 100 * sum(self.removed.values()) / max(self.blocks, 1)


@dataclass(slots=True)
class Outcome:
    """One query: its scans of facts, what was run first, the time of pruning, and the answer."""

    query: int
    has_filter: bool
    scans: list[FactScan] = field(default_factory=list)
    jobs: int = 0
    seconds: float = 0.0
    answer: str = ""
    notes: tuple[str, ...] = ()


def name_tables(spark: SparkSession, directory: Path) -> None:
    """Let queries of a session name the tables of a layout."""
    for folder in sorted(directory.iterdir()):
        spark.read.parquet(str(folder)).createOrReplaceTempView(folder.name)


def outcome(spark: SparkSession, number: int, text: str, *, compared: bool) -> Outcome:
    """Prune one query, and run it both ways if that is asked for."""
    result = Outcome(number, bool(_DIMENSION_FILTER.search(text)))
    try:
        frame = spark.sql(text)
        began = time.perf_counter()
        pruned = pruning.prune(frame)
        result.seconds = time.perf_counter() - began
        report = pruning.explain(pruned)
        result.jobs, result.notes = len(report.jobs), report.notes
        for scan in report.scans:
            table = Path(scan.paths[0]).name
            if table in FACTS:
                removed = Counter({removal.technique: removal.blocks for removal in scan.removals})
                result.scans.append(FactScan(table, scan.blocks_total or 0, removed))
        if compared:
            same = compare(materialize(pruned), materialize(frame), open_answer=is_open(frame))
            result.answer = ("open" if same.open else "same") if same.same else f"WRONG: {same.difference}"
    except PySparkException as error:
        result.answer = f"raised {type(error).__name__}: {str(error).splitlines()[0]}"
    return result


def rows_of(outcomes: list[Outcome]) -> Iterator[tuple[str, ...]]:
    """Yield the table, heading first: a row for each query."""
    yield ("query", "filtered dimension", "facts", "blocks", *TECHNIQUES, "pruned, %", "jobs", "s", "answer")
    for result in outcomes:
        removed = sum((scan.removed for scan in result.scans), Counter[str]())
        shares = [scan.share for scan in result.scans]
        yield (
            str(result.query),
            "yes" if result.has_filter else "",
            str(len(result.scans)),
            f"{sum(scan.blocks for scan in result.scans):,}",
            *(f"{removed[technique]:,}" for technique in TECHNIQUES),
            f"{statistics.mean(shares):.1f}" if shares else "",
            str(result.jobs),
            f"{result.seconds:.1f}",
            result.answer,
        )


def summary(outcomes: list[Outcome]) -> Iterator[str]:
    """Return the summary over all queries."""
    shares = [scan.share for result in outcomes for scan in result.scans]
    filtered = [scan.share for result in outcomes if result.has_filter for scan in result.scans]
    joined = [scan.share for result in outcomes for scan in result.scans if scan.removed["join"]]
    for name, some in (
        ("all scans of facts", shares),
        ("those of queries with a filtered dimension", filtered),
        ("those of which a join removed blocks", joined),
    ):
        if some:
            yield (
                f"Of {name} ({len(some)}): mean {statistics.mean(some):.1f} %, median "
                f"{statistics.median(some):.1f} % of blocks pruned."
            )
    wrong = [result.query for result in outcomes if result.answer.startswith("WRONG")]
    raised = [result.query for result in outcomes if result.answer.startswith("raised")]
    yield f"Wrong answers: {wrong or 'none'}; raised by Spark: {raised or 'none'}."


def main() -> None:
    """Read the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0])
    parser.add_argument("--queries", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--compare", action="store_true", help="run each query, pruned and unpruned")
    parser.add_argument("--why", action="store_true", help="print why nothing was pruned of a fact")
    arguments = parser.parse_args()
    queries = texts(arguments.directory)
    with spark_session(SETTINGS) as spark:
        name_tables(spark, arguments.directory / arguments.layout)
        outcomes = []
        for number in arguments.queries or sorted(queries):
            outcomes.append(outcome(spark, number, queries[number], compared=arguments.compare))
            print(" | ".join(list(rows_of(outcomes[-1:]))[1]), file=sys.stderr, flush=True)
            if arguments.why and any(not scan.share for scan in outcomes[-1].scans):
                print(pruning.explain(spark.sql(queries[number])).why(), file=sys.stderr)
    heading, *rows = rows_of(outcomes)
    for row in (heading, ("---:",) * len(heading), *rows):
        print(f"| {' | '.join(row)} |")
    for sentence in summary(outcomes):
        print(f"\n{sentence}")
    sys.exit(1 if any(result.answer.startswith("WRONG") for result in outcomes) else 0)


if __name__ == "__main__":
    main()
