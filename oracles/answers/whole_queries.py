"""Whole queries on Spark, over rows in memory, which cannot be pruned, and over sources of which some can.

Both sides run the same text, because the tables are views with the same names; `source_frames` has the other.

Shares   the Query type; no rule, no statistic.
Trusts   Spark's parser, optimiser and operators.
Removes  files, statistics and pushdown from the side that is believed.
Leaves   faults of Spark's optimiser that both sides have.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from oracles.answers.frames import ROW_ORDINAL, rows_frame
from oracles.answers.open_answers import answer_difference
from strategies.queries.queries import Query


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """The judgement of a pruned answer: its problem, if any, and whether Spark has it without pruning.

    Known: Spark, from 3.5 to 4.3, drops the ORDER BY of a subquery with LIMIT on the preserved side of an
    outer join that has a smaller LIMIT above it (`tests/oracles/test_divergences.py`).
    """

    problem: str | None
    spark_alone: bool = False


def judge_answer(query: Query, frame: DataFrame, answer: list[Any], expected: list[Any]) -> AnswerJudgement:
    """Compare a pruned answer with the whole answer; where they differ, also run Spark unpruned.

    Args:
        query: The query that was run.
        frame: The query over its sources, unpruned.
        answer: The pruned answer.
        expected: The whole answer, as `unlimited_rows` gives it.
    """
    problem = answer_difference(query, answer, expected)
    if problem is None:
        return AnswerJudgement(None)
    return AnswerJudgement(
        problem, spark_alone=answer_difference(query, frame.collect(), expected) is not None
    )


@contextmanager
def temporary_views(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Run a `with` block in which these frames are views by name."""
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in frames:
            spark.catalog.dropTempView(name)


def unlimited_rows(spark: SparkSession, query: Query) -> list[Any]:
    """Return the query's rows without LIMIT and OFFSET, computed in memory, in Spark's order.

    The session must be that of `oracles.answers.frames.session`.
    """
    frames = {
        name: rows_frame(spark, table).drop(ROW_ORDINAL) for name, table in query.tables_by_name.items()
    }
    with temporary_views(spark, frames):
        return list(spark.sql(query.unlimited).collect())
