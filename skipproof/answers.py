"""Two answers to one query: whether they hold the same rows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Sums of doubles depend on the order of their rows, and that on which files are read.
RELATIVE_DIFFERENCE_MAX = 1e-9
_CHOOSING = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Sample"})
_PUSHDOWN = ("spark.sql.parquet.filterPushdown", "spark.sql.parquet.aggregatePushdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a pruned answer compares with the answer that skipped nothing."""

    same: bool
    rows_expected: int
    rows_found: int
    difference: str = ""
    # The query leaves open which rows it answers with, so that only their number was compared.
    open: bool = False
    # Spark gives the wrong answer without pruning too: its own pushdown is at fault.
    spark_alone: bool = False


def verify(frame: "DataFrame", sql: str, found: list[Any]) -> Comparison:
    """Compare the pruned answer to a query with the answer that skips nothing.

    Where they differ, Spark is asked alone as well, so that a row that its own pushdown loses is
    not laid to the pruning.

    Args:
        frame: The query, as it was pruned.
        sql: Its text.
        found: The rows of the pruned answer.
    """
    open_answer = is_open(frame)
    comparison = compare(found, unpruned_rows(frame, sql), open_answer=open_answer)
    if comparison.same:
        return comparison
    alone = compare(found, frame.collect(), open_answer=open_answer)
    return replace(comparison, spark_alone=alone.same)


def compare(found: list[Any], expected: list[Any], *, open_answer: bool) -> Comparison:
    """Compare two lists of rows as bags, doubles up to rounding.

    Args:
        found: The pruned answer.
        expected: The answer that skipped nothing.
        open_answer: Whether SQL allows several answers of the same size; then only sizes count.
    """
    difference = _first_difference(_sorted(found), _sorted(expected))
    open_difference = open_answer and bool(difference) and len(found) == len(expected)
    return Comparison(
        same=not difference or open_difference,
        rows_expected=len(expected),
        rows_found=len(found),
        difference="" if open_difference else difference,
        open=open_difference,
    )


def is_open(frame: "DataFrame") -> bool:
    """Whether SQL leaves open which rows the query answers with: LIMIT, OFFSET, or a random function."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    pending = [plan]
    while pending:
        node = pending.pop()
        if node.nodeName() in _CHOOSING:
            return True
        for below in (node.children(), node.subqueries()):
            pending.extend(below.apply(position) for position in range(below.size()))
    return not plan.deterministic()


def unpruned_rows(frame: "DataFrame", sql: str) -> list[Any]:
    """The rows of a query when Spark skips no row group either.

    Trusts   Spark's reader and expressions.
    Removes  skipping by statistics, dictionaries and bloom filters: Parquet pushdown is off meanwhile.
    Leaves   Spark's optimizer and its pruning of partition directories.
    """
    spark = frame.sparkSession
    before = {name: spark.conf.get(name) for name in _PUSHDOWN}
    try:
        for name in _PUSHDOWN:
            spark.conf.set(name, "false")
        # Planned anew, for a planned query keeps the filters that it has pushed.
        return list(spark.sql(sql).collect())
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "true")


def _sorted(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows in an order that rounding hardly disturbs: by what is no double first."""
    return sorted(
        (tuple(row) for row in rows), key=lambda row: (_key(row, doubles=False), _key(row, doubles=True))
    )


def _key(row: tuple[Any, ...], *, doubles: bool) -> list[str]:
    return [
        f"{value:.6e}" if doubles else repr(value) for value in row if isinstance(value, float) is doubles
    ]


def _first_difference(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> str:
    for here, there in zip(found, expected, strict=False):
        if len(here) != len(there) or not all(map(_equal, here, there)):
            return f"found {here!r} where {there!r} was expected"
    if len(found) != len(expected):
        return f"found {len(found)} rows where {len(expected)} were expected"
    return ""


def _equal(here: Any, there: Any) -> bool:
    if isinstance(here, float) and isinstance(there, float):
        if math.isnan(here) or math.isnan(there):
            return math.isnan(here) and math.isnan(there)
        return math.isclose(here, there, rel_tol=RELATIVE_DIFFERENCE_MAX, abs_tol=0.0)
    return repr(here) == repr(there)
