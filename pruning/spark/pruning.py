"""Prunes a DataFrame: the same rows from fewer files and row groups, and a report of what went and why."""

import functools
import weakref
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from pruning.errors import InputError
from pruning.expressions.plans import scans
from pruning.metadata.collecting import read_blocks
from pruning.spark.elimination import note_eliminated
from pruning.spark.hints import Hints
from pruning.spark.joins import prune_by_joins
from pruning.spark.jvm import Java, frame
from pruning.spark.limits import prune_by_limit
from pruning.spark.materials import first_line
from pruning.spark.plan_trees import Trees
from pruning.spark.plans import Unsettled
from pruning.spark.pushdown import unpushed
from pruning.spark.queries import Query
from pruning.spark.rebuilding import with_subqueries
from pruning.spark.report import Report, ScanReport
from pruning.spark.scans import TableScan, open_scan
from pruning.spark.top_k import prune_by_top_k
from pruning.techniques.places import LimitPlace, limits

# What was done to DataFrames that are still in use.
_REPORTS: "weakref.WeakKeyDictionary[DataFrame, Report]" = weakref.WeakKeyDictionary()


def prune(df: DataFrame, *, runtime: bool = True) -> DataFrame:
    """A DataFrame with the same rows that reads fewer files and row groups.

    Footers are read now, and what they say is kept in a hidden directory `.skipproof` beside local
    data for the next time; `pruning.metadata.cache` says how far that is trusted. Files that are
    added later to the tables that `df` reads are not seen, as with `df` itself. A query that cannot
    be pruned safely comes back as it is.

    Args:
        df: Any query.
        runtime: Whether small parts of the query may be run now to prune more: the smaller side of a join,
            and files that are likely to hold the first rows of ORDER BY ... LIMIT. Their rows are used
            again by the query. Without it, block metadata alone decides, and nothing is run.
    Raises:
        InputError: `df` is not a DataFrame of a session in this process.
    """
    pruned, report = _pruned(df, runtime=runtime)
    if pruned is not df:
        _REPORTS[pruned] = report
    return pruned


def explain(df: DataFrame, *, runtime: bool = True) -> Report:
    """What `prune` does to a DataFrame, scan by scan, and why; of one that `prune` gave, what it did.

    Args:
        df: Any query.
        runtime: As for `prune`; what `prune` would run is run.
    Raises:
        InputError: `df` is not a DataFrame of a session in this process.
    """
    _check_frame(df)
    known = _REPORTS.get(df)
    return known if known is not None else _pruned(df, runtime=runtime)[1]


def _pruned(df: DataFrame, *, runtime: bool) -> tuple[DataFrame, Report]:
    _check_frame(df)
    if df.isStreaming:
        # Spark optimizes a stream's plan only once it runs.
        return df, Report(notes=("left unpruned: the query is a stream",))
    plan = df._jdf.queryExecution().optimizedPlan()
    try:
        return _rewritten(df, plan, runtime=runtime)
    except Unsettled as reason:
        return df, Report(notes=(f"left unpruned: {reason}",))
    except Py4JError as error:
        # Such as a plan too deep for Java's stack; the query itself may still run.
        told = first_line(error)
        return df, Report(notes=(f"left unpruned: Spark could not tell or rewrite its plan ({told})",))


def _rewritten(df: DataFrame, plan: Java, *, runtime: bool) -> tuple[DataFrame, Report]:
    queries, reports = _opened(df, plan)
    for query in queries:
        _narrow(query, runtime=runtime)
    before = [query.trees.javas[query.tree] for query in queries]
    after = [query.java(query.tree, revise=Hints(query)) for query in queries]
    rewritten = unpushed(df.sparkSession, with_subqueries(df.sparkSession, before, after))
    result = df if rewritten is before[0] else frame(df.sparkSession, rewritten)
    if result.columns != df.columns:
        return df, Report(notes=("left unpruned: Spark's optimizer changed the names of the columns",))
    note_eliminated(result, queries)
    scanned = tuple(one if isinstance(one, ScanReport) else one.report() for one in reports)
    return result, Report(
        scans=scanned,
        notes=tuple(note for query in queries for note in query.notes),
        jobs=tuple(job for query in queries for job in query.jobs),
    )


def _opened(df: DataFrame, plan: Java) -> tuple[list[Query], list[TableScan | ScanReport]]:
    """The query and its subqueries, and their scans in plan order."""
    spark = df.sparkSession
    # A self-join reads the same footers once.
    read = functools.cache(functools.partial(read_blocks, spark=spark))
    trees = Trees(spark)
    queries: list[Query] = []
    opened: list[TableScan | ScanReport] = []
    for tree in trees.all(plan):
        found = {scan: open_scan(spark, trees.leaves[scan], read) for scan in scans(tree)}
        opened += found.values()
        tables = {scan: one for scan, one in found.items() if isinstance(one, TableScan)}
        queries.append(Query(spark=spark, tree=tree, trees=trees, scans=tables))
    return queries, opened


def _narrow(query: Query, *, runtime: bool) -> None:
    """Every technique in turn: filter, join, limit, top-k ([P] 7)."""
    for scan in query.scans.values():
        scan.filter()
    prune_by_joins(query, runtime=runtime)
    for place in limits(query.tree):
        if isinstance(place, LimitPlace):
            prune_by_limit(query, place)
        else:
            prune_by_top_k(query, place, runtime=runtime)


def _check_frame(df: Any) -> None:
    if not isinstance(df, DataFrame) and not type(df).__module__.startswith("pyspark.sql.connect"):
        raise InputError(f"A {type(df).__name__} was given where a Spark DataFrame is needed.")
    if not hasattr(df, "_jdf"):
        raise InputError(
            "A Spark Connect DataFrame cannot be pruned, because its plan is on the server: "
            "use a session in this process."
        )
