"""The order of techniques: LIMIT after joins, as it is, beside LIMIT before joins, as [P] 7 has it.

    python bench/planning/technique_order.py [--every N]

Of the committed whole queries, those with a LIMIT, a join or a subquery, and no ORDER BY are pruned in both
orders. It counts the row groups that are kept, and the answers that are wrong.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from oracles.answers.frames import pushdown, session
from oracles.answers.whole_queries import file_frames, judge_answer, temporary_views, unlimited_rows
from pruning.spark.drive import pruning as pruning_module
from pruning.spark.drive.limits import prune_by_limit
from pruning.spark.drive.queries import Query
from pruning.techniques.plan.sites import LimitSite, limit_sites
from skipproof.sessions import spark_session
from strategies.queries.committed_queries import read_queries
from strategies.queries.queries import Query as CommittedQuery

SETTINGS = {
    "spark.master": "local[1]",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
}
_joins_first = pruning_module._narrow_query


@dataclass(slots=True)
class Outcome:
    """The row groups of all scans, those that are kept, and the wrong answers."""

    queries: int = 0
    blocks: int = 0
    kept: int = 0
    fewer: int = 0
    wrong: int = 0


def _limits_first(query: Query, *, runtime: bool) -> None:
    """Apply limits before joins; those that have acted are not asked again."""
    for site in limit_sites(query.tree):
        if isinstance(site, LimitSite):
            prune_by_limit(query, site)
    _joins_first(query, runtime=runtime)


ORDERS: dict[str, Callable[..., None]] = {"joins first": _joins_first, "LIMIT first": _limits_first}


def pruned_in(spark: SparkSession, query: CommittedQuery, order: str, outcome: Outcome) -> int:
    """Prune and run a query in one order; add to the outcome, and return the row groups that are kept."""
    with tempfile.TemporaryDirectory() as directory:
        expected = unlimited_rows(spark, query)
        with temporary_views(spark, file_frames(spark, query, Path(directory))), pushdown(spark):
            frame = spark.sql(query.sql)
            pruning_module._narrow_query = ORDERS[order]
            try:
                pruned = pruning.prune(frame)
                report = pruning.explain(pruned)
            finally:
                pruning_module._narrow_query = _joins_first
            judgement = judge_answer(query, frame, pruned.collect(), expected)
    kept = sum(scan.blocks_kept or 0 for scan in report.scans)
    outcome.queries += 1
    outcome.blocks += sum(scan.blocks_total or 0 for scan in report.scans)
    outcome.kept += kept
    outcome.wrong += judgement.problem is not None and not judgement.spark_alone
    return kept


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="of these queries, each so many-th one")
    every = parser.parse_args().every
    chosen = [
        query
        for query in read_queries()
        if "LIMIT" in query.sql
        and "ORDER BY" not in query.sql
        and (" JOIN " in query.sql or " IN (SELECT" in query.sql)
    ][::every]
    outcomes = {order: Outcome() for order in ORDERS}
    with spark_session(SETTINGS) as spark, session(spark):
        for query in chosen:
            kept = {order: pruned_in(spark, query, order, outcomes[order]) for order in ORDERS}
            for order in ORDERS:
                outcomes[order].fewer += kept[order] < max(kept.values())
    table = Table("order", "queries", "row groups", "kept", "queries with fewer", "wrong answers")
    for order, outcome in outcomes.items():
        table.add_row(
            order,
            *(f"{count:,}" for count in (outcome.queries, outcome.blocks, outcome.kept)),
            f"{outcome.fewer:,}",
            f"{outcome.wrong:,}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
