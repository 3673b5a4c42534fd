"""Draws the committed set of whole queries, and runs it on Spark: pruned answers beside unpruned ones.

    python bench/query_set.py --draw [--sources] [--seed N] [--count N] [--file FILE]
    python bench/query_set.py --run [--sources] [--cache] [--every N] [--part I/N] [--file FILE]

Drawing gives the same set from the same seed, no query text twice. A run writes each query's tables as
Parquet files, asks `pruning.prune` of them, and compares with the rows of Spark over the same tables in
memory. It tells in how many queries each technique took something out, and fails on a difference, with the
shortest query that has one.

With `--sources` it is the other set: tables are read from any source too, and some change between runs of a
query, which then goes through a predicate cache. With `--cache` each query is run twice through one.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from oracles.answers.frames import pushdown, session
from oracles.answers.source_frames import query_versions, with_first_twice
from oracles.answers.whole_queries import judge_answer
from pruning.spark.drive.report import Report
from skipproof.sessions import spark_session
from strategies.queries.committed_queries import (
    PATH,
    SOURCES_PATH,
    encode_query,
    read_queries,
    write_queries,
)
from strategies.queries.drawing import queries
from strategies.queries.queries import Query
from strategies.queries.source_drawing import source_queries

PROGRESS_EVERY = 100
TECHNIQUES = ("filter", "join", "limit", "top-k", "cache")
PLANS = ("plan a", "plan b", "plan c", "plan d")
SMALL = {"spark.master": "local[1]", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}


@dataclass(slots=True)
class Tally:
    """The counts of a run so far.

    Attributes:
        seen: Queries.
        empty: Queries of which no answer without LIMIT has a row.
        acted: Queries in which a technique took out a block or a file, by technique.
        of_feature: Queries with a feature; `acted_in` those of them in which any technique acted.
        wrong: The queries whose answers differ, and how.
        spark_alone: Queries that Spark answers wrongly without pruning too.
    """

    seen: int = 0
    empty: int = 0
    acted: Counter[str] = field(default_factory=Counter)
    of_feature: Counter[str] = field(default_factory=Counter)
    acted_in: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[Query, str]] = field(default_factory=list)
    spark_alone: int = 0


def main() -> None:
    """Draw or run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--draw", action="store_true", help="draw the set and write it")
    what.add_argument("--run", action="store_true", help="run the set and compare the answers")
    parser.add_argument("--seed", type=int, default=2025, help="of everything drawn (default %(default)s)")
    parser.add_argument("--sources", action="store_true", help="take the set over tables of any source")
    parser.add_argument("--cache", action="store_true", help="run each query twice through a predicate cache")
    parser.add_argument("--count", type=int, help="queries to draw (default 3000, or 1000 with --sources)")
    parser.add_argument(
        "--every", type=int, default=1, help="run each so many-th query (default %(default)s)"
    )
    parser.add_argument("--part", type=part_of, default=(1, 1), help="run part I of N (default 1/1)")
    parser.add_argument("--file", type=Path, help="the set (default the committed one)")
    arguments = parser.parse_args()
    file = arguments.file or (SOURCES_PATH if arguments.sources else PATH)
    if arguments.draw:
        count = arguments.count or (1_000 if arguments.sources else 3_000)
        strategy = source_queries() if arguments.sources else queries()
        write_queries(draw_queries(arguments.seed, count, strategy), file)
        print(f"{count:,} queries, {file.stat().st_size:,} bytes in {file}")
        return
    began = time.perf_counter()
    with spark_session(SMALL) as spark, session(spark):
        cases = read_queries(file, every=arguments.every, part=arguments.part)
        tally = run(spark, cases, cached=arguments.cache)
    show(tally, time.perf_counter() - began)
    raise SystemExit(1 if tally.wrong else 0)


def part_of(text: str) -> tuple[int, int]:
    """Parse `I/N` as two numbers."""
    number, parts = map(int, text.split("/"))
    if not 1 <= number <= parts:
        raise argparse.ArgumentTypeError(f"{text} is no part; the first of three is 1/3, the last 3/3")
    return number, parts


def draw_queries(seed_: int, count: int, strategy: SearchStrategy[Query]) -> Iterator[Query]:
    """Yield distinct queries, each from a seed of its own, because consecutive draws are similar."""
    taken: set[str] = set()
    ordinal = 0
    while len(taken) < count:
        query = _one(seed_ * 1_000_003 + ordinal, strategy)
        ordinal += 1
        if query.sql not in taken:
            taken.add(query.sql)
            yield query


def run(spark: SparkSession, cases: Iterator[Query], *, cached: bool = False) -> Tally:
    """Compare each query's pruned answers with the unpruned ones."""
    tally = Tally()
    for query in cases:
        cache = pruning.PredicateCache() if cached or query.changes else None
        acted: set[str] = set()
        has_rows = False
        with (
            tempfile.TemporaryDirectory() as directory,
            query_versions(spark, query, Path(directory)) as versions,
            pushdown(spark),
        ):
            for expected in versions if cache is None else with_first_twice(versions):
                frame = spark.sql(query.sql)
                pruned = pruning.prune(frame, cache=cache)
                acted |= techniques_of(pruning.explain(pruned))
                judgement = judge_answer(query, frame, pruned.collect(), expected)
                has_rows |= bool(expected)
                if judgement.problem is not None:
                    break
        tally.seen += 1
        tally.empty += not has_rows
        tally.acted.update(acted)
        tally.of_feature.update(query.features)
        tally.acted_in.update(query.features if acted else ())
        if judgement.spark_alone:
            tally.spark_alone += 1
        elif judgement.problem is not None:
            tally.wrong.append((query, judgement.problem))
        if tally.seen % PROGRESS_EVERY == 0:
            print(f"{tally.seen} queries, {len(tally.wrong)} wrong", file=sys.stderr, flush=True)
    return tally


def techniques_of(report: Report) -> set[str]:
    """Return the techniques that took a block or a file out of a scan."""
    return {
        removal.technique
        for scan in report.scans
        for removal in scan.removals
        if removal.blocks or removal.files
    }


def show(tally: Tally, seconds: float) -> None:
    """Print the tally, and the shortest query that is wrong."""
    console = Console(width=110)
    right = tally.seen - len(tally.wrong) - tally.spark_alone
    console.print(f"{right:,} of {tally.seen:,} queries have the unpruned answer, {tally.empty:,} no row")
    if tally.spark_alone:
        console.print(f"{tally.spark_alone:,} have another one, without pruning too: Spark's own")
    console.print(f"{tally.seen / seconds:.2f} queries a second")
    console.print(_techniques(tally))
    console.print(_features(tally))
    if tally.wrong:
        query, problem = min(tally.wrong, key=lambda each: len(each[0].sql))
        print(f"\n{problem}\n{query.sql}")
        for name, table in zip(query.tables_by_name, encode_query(query)["tables"], strict=True):
            print(f"{name}: {table}")


def _techniques(tally: Tally) -> Table:
    table = _table("technique", "queries in which it acted", "share of all")
    for technique in dict.fromkeys((*TECHNIQUES, *sorted(tally.acted))):
        acted = tally.acted[technique]
        table.add_row(technique, f"{acted:,}", _percent(acted, tally.seen))
    return table


def _features(tally: Tally) -> Table:
    table = _table("made of", "queries", "share of all", "any technique acted")
    common = [feature for feature, _ in tally.of_feature.most_common() if " over " not in feature]
    for feature in dict.fromkeys((*(plan for plan in PLANS if plan in common), *common)):
        count = tally.of_feature[feature]
        acted = _percent(tally.acted_in[feature], count)
        table.add_row(feature, f"{count:,}", _percent(count, tally.seen), acted)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _one(seed_: int, strategy: SearchStrategy[Query]) -> Query:
    """Return the second example of a seed; the first is the simplest one, whatever the seed."""
    found: list[Query] = []

    @seed(seed_)
    @settings(
        max_examples=2,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        # It only draws; how slowly, and how large, is no fault.
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(query: Query) -> None:
        found.append(query)

    draw()
    return found[-1]


if __name__ == "__main__":
    main()
