"""Whole queries on Spark: over rows in memory, which cannot be pruned, and over Parquet files, which can.

The same text asks both, because the tables are views of the same names.

Shares   the Query type; no rule, no statistic.
Trusts   Spark's parser, optimiser and operators.
Removes  files, statistics and pushdown from the side that is believed.
Leaves   faults of Spark's optimiser that both sides have.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from oracles.answers.frames import ROW_ORDINAL, rows_frame
from oracles.answers.open_answers import difference
from strategies.base.files import write_files
from strategies.queries.queries import Query


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong with a pruned answer, None where nothing is; and whether Spark is wrong alone.

    Known: Spark, from 3.5 to 4.3, drops the ORDER BY of a subquery with LIMIT on the preserved side of an
    outer join that has a smaller LIMIT above it (`tests/oracles/test_divergences.py`).
    """

    problem: str | None
    spark_alone: bool = False


def judged(query: Query, frame: DataFrame, found: list[Any], expected: list[Any]) -> Judgement:
    """Compare a pruned answer with what there is to choose from; Spark is asked alone where they differ.

    Args:
        query: What was asked.
        frame: The query over files, unpruned.
        found: The pruned answer.
        expected: As `everything` gives it.
    """
    problem = difference(query, found, expected)
    if problem is None:
        return Judgement(None)
    return Judgement(problem, spark_alone=difference(query, frame.collect(), expected) is not None)


@contextmanager
def views(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Tables by name for the time of a `with` block."""
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in frames:
            spark.catalog.dropTempView(name)


def everything(spark: SparkSession, query: Query) -> list[Any]:
    """The rows of the query without LIMIT and OFFSET, from memory, in the order in which Spark gives them.

    The session is to be that of `oracles.answers.frames.session`.
    """
    frames = {name: rows_frame(spark, table).drop(ROW_ORDINAL) for name, table in query.named.items()}
    with views(spark, frames):
        return list(spark.sql(query.unlimited).collect())


def file_frames(spark: SparkSession, query: Query, directory: Path, **options: Any) -> dict[str, DataFrame]:
    """The query's tables written to `directory`, a folder each, as `write_files` does with `options`."""
    frames = {}
    for name, table in query.named.items():
        folder = directory / name
        folder.mkdir()
        write_files(table, folder, **options)
        schema = ", ".join(f"`{column.name}` {column.type.sql}" for column in table.columns)
        frames[name] = spark.read.schema(schema).parquet(str(folder))
    return frames
