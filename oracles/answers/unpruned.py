"""The oracle without pruning: Spark evaluates predicates on rows that it holds in memory.

Shares   the types and trees of `pruning.expressions` and their SQL text; no rule, no statistic.
Trusts   Spark's parser and expressions, and that the rows arrive as they were sent (tested).
Removes  file skipping and pushdown: there are no files.
Leaves   Spark's optimiser, which folds such small queries while it plans them, by interpreting
         the same expressions; `oracles.meaning.brute_force` gives the second opinion.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from oracles.answers.frames import ROW_ORDINAL, rows_frame, session
from oracles.answers.rows import Bag, bag
from pruning.expressions.function_groups import mode_of
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Expression, Mode
from strategies.base.tables import Table

Truths: TypeAlias = tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class Raises:
    """The result of a predicate that fails the query on some row; `error` is Spark's first line."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The numbers of rows of a block for which a predicate is TRUE, FALSE and NULL."""

    true: int
    false: int
    null: int


def matches_per_block(
    spark: SparkSession, table: Table, predicates: Sequence[Expression], *, zone: str = "UTC"
) -> tuple[tuple[Counts, ...] | Raises, ...]:
    """Return each predicate's counts per block, or that it raises; about one Spark job for all.

    Raises:
        ValueError: A predicate needs ANSI mode both on and off.
    """
    truths = truths_per_row(spark, table, predicates, zone=zone)
    return tuple(
        truths_or_error if isinstance(truths_or_error, Raises) else _counts(table, truths_or_error)
        for truths_or_error in truths
    )


def truths_per_row(
    spark: SparkSession, table: Table, predicates: Sequence[Expression], *, zone: str = "UTC"
) -> tuple[Truths | Raises, ...]:
    """Return each predicate's value on each of `table.rows`, or that it raises on one of them.

    Raises:
        ValueError: A predicate needs ANSI mode both on and off.
    """
    frame = rows_frame(spark, table)
    verdicts: dict[int, Truths | Raises] = {}
    for ansi in (True, False):
        chosen = [ordinal for ordinal, predicate in enumerate(predicates) if needs_ansi(predicate) is ansi]
        texts = [to_sql(predicates[ordinal]) for ordinal in chosen]
        with session(spark, zone=zone, ansi=ansi):
            verdicts |= zip(chosen, _evaluate(frame, texts), strict=True)
    return tuple(verdicts[ordinal] for ordinal in range(len(predicates)))


def matching_rows(
    spark: SparkSession, table: Table, predicate: Expression, *, zone: str = "UTC"
) -> Bag | Raises:
    """Return the bag of rows of `SELECT * ... WHERE predicate`."""
    with session(spark, zone=zone, ansi=needs_ansi(predicate)):
        kept = rows_frame(spark, table).where(to_sql(predicate)).select(f"`{ROW_ORDINAL}`")
        try:
            ordinals = [row[0] for row in kept.collect()]
        except (PySparkException, Py4JJavaError) as error:
            return _to_raises(error)
    return bag(table.rows[ordinal] for ordinal in ordinals)


def needs_ansi(expression: Expression) -> bool:
    """Tell whether an expression needs a session with ANSI mode on.

    Raises:
        ValueError: Some nodes need ANSI mode on and some need it off.
    """
    modes = {mode_of(node) for node in walk(expression)}
    if modes >= {Mode.ANSI, Mode.LEGACY}:
        raise ValueError(f"{expression} has ANSI and LEGACY nodes, which no one session has; use one mode")
    return Mode.LEGACY not in modes


def _evaluate(frame: DataFrame, texts: Sequence[str]) -> list[Truths | Raises]:
    """Evaluate all predicates by one query; if it fails, split them, down to the one that fails."""
    if not texts:
        return []
    selected = [f"{text} AS p{ordinal}" for ordinal, text in enumerate(texts)]
    try:
        rows = frame.selectExpr(f"`{ROW_ORDINAL}`", *selected).collect()
    except (PySparkException, Py4JJavaError) as error:
        if len(texts) == 1:
            return [_to_raises(error)]
        middle = len(texts) // 2
        return _evaluate(frame, texts[:middle]) + _evaluate(frame, texts[middle:])
    ordered = sorted(rows, key=lambda row: row[0])
    return [tuple(row[position] for row in ordered) for position in range(1, len(texts) + 1)]


def _to_raises(error: PySparkException | Py4JJavaError) -> Raises:
    # A text that Spark cannot analyse is a defect of this package, not a property of the data.
    if isinstance(error, AnalysisException | ParseException):
        raise error
    return Raises(str(error).splitlines()[0])


def _counts(table: Table, truths: Truths) -> tuple[Counts, ...]:
    counts = Counter(zip(table.block_of_row, truths, strict=True))
    return tuple(
        Counts(true=counts[block, True], false=counts[block, False], null=counts[block, None])
        for block in range(len(table.blocks))
    )
