"""Prunes a DataFrame: the same rows from fewer files and row groups, and a report of what went and why."""

import functools
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from pruning.errors import InputError
from pruning.metadata.collecting import read_blocks
from pruning.spark.jvm import Java, frame, replaced
from pruning.spark.plans import leaves, reason_against
from pruning.spark.report import Report
from pruning.spark.scans import AboutFiles, prune_leaf


def prune(df: DataFrame) -> DataFrame:
    """A DataFrame with the same rows that reads fewer files and row groups.

    Footers are read now, and what they say is kept in a hidden directory `.skipproof` beside local
    data for the next time; `pruning.metadata.cache` says how far that is trusted. Files that are
    added later to the tables that `df` reads are not seen, as with `df` itself. A query that cannot
    be pruned safely comes back as it is.

    Raises:
        InputError: `df` is not a DataFrame of a session in this process.
    """
    return _pruned(df)[0]


def explain(df: DataFrame) -> Report:
    """What `prune` does to a DataFrame, scan by scan, and why.

    Raises:
        InputError: `df` is not a DataFrame of a session in this process.
    """
    return _pruned(df)[1]


def _pruned(df: DataFrame) -> tuple[DataFrame, Report]:
    _check_frame(df)
    if df.isStreaming:
        # Spark optimizes a stream's plan only once it runs.
        return df, Report(notes=("left unpruned: the query is a stream",))
    plan = df._jdf.queryExecution().optimizedPlan()
    reason = reason_against(plan)
    if reason is not None:
        return df, Report(notes=(f"left unpruned: {reason}",))
    try:
        return _rewritten(df, plan)
    except AboutFiles as about:
        return df, Report(notes=(f"left unpruned: the query reads {about}, which tells of files",))
    except Py4JError as error:
        # Such as a plan too deep for Java's stack; the query itself may still run.
        first = str(error).splitlines()[0]
        return df, Report(notes=(f"left unpruned: Spark could not tell or rewrite its plan ({first})",))


def _rewritten(df: DataFrame, plan: Java) -> tuple[DataFrame, Report]:
    spark = df.sparkSession
    # A self-join reads the same footers once.
    read = functools.cache(functools.partial(read_blocks, spark=spark))
    found = list(leaves(plan))
    fates = [prune_leaf(spark, leaf, read) for leaf in found]
    report = Report(scans=tuple(fate.report for fate in fates))
    changes = [
        (leaf.chain.top, fate.subtree)
        for leaf, fate in zip(found, fates, strict=True)
        if fate.subtree is not None
    ]
    if not changes:
        return df, report
    result = frame(spark, replaced(spark, plan, changes))
    if result.columns != df.columns:
        return df, Report(notes=("left unpruned: Spark's optimizer changed the names of the columns",))
    return result, report


def _check_frame(df: Any) -> None:
    if not isinstance(df, DataFrame) and not type(df).__module__.startswith("pyspark.sql.connect"):
        raise InputError(f"A {type(df).__name__} was given where a Spark DataFrame is needed.")
    if not hasattr(df, "_jdf"):
        raise InputError(
            "A Spark Connect DataFrame cannot be pruned, because its plan is on the server: "
            "use a session in this process."
        )
