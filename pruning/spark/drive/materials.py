"""Parts of a query that are run while it is pruned, whose rows are held in the driver."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.expressions.types import Type
from pruning.metadata.table.schema import arrow_type
from pruning.spark.catalyst.evaluation import alias, project
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java, dataframe, elements, jvm, singleton
from pruning.spark.jvm.literals import internal_value
from pruning.spark.jvm.local_rows import local_relation

# Up to so many cells are evaluated one by one: each takes a call or two of the gateway, and running a plan as
# long as about a hundred. Up to so many rows are collected as Python rows, without a job; more come as Arrow.
FEW_CELLS, FEW_ROWS = 32, 5_000
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_SHUFFLE = r"(?<!Broadcast)Exchange\b"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a plan, as a leaf with the plan's attributes, their number, and the time they took."""

    leaf: Java
    row_count: int
    seconds: float


def run_plan(spark: SparkSession, plan: Java) -> Rows:
    """Run an optimized Catalyst plan and hold its rows in the driver.

    Raises:
        Py4JError, PySparkException: the plan fails, as it may in the query itself.
    """
    # Analyzing an optimized plan again may change its meaning.
    plan.setAnalyzed()
    began = time.perf_counter()
    collected = _physical_plan(spark, plan).executeCollect()
    seconds = time.perf_counter() - began
    rows = jvm(spark).scala.Predef.genericWrapArray(collected).toList()
    return Rows(local_relation(spark, plan.output(), rows), len(collected), seconds)


def with_limit(spark: SparkSession, plan: Java, count: int) -> Java:
    """Return a Catalyst plan under a LIMIT."""
    literal = singleton(spark, f"{_EXPRESSIONS}.Literal").apply(count)
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    return logical.GlobalLimit(literal, logical.LocalLimit(literal, plan))


def _physical_plan(spark: SparkSession, plan: Java) -> Java:
    """Return the physical plan; where nothing is shuffled, without optimizing again or adaptive execution.

    Adaptive execution has nothing to adapt in such a plan, and takes longer than running it.
    """
    java = jvm(spark)
    try:
        prepared = java.org.apache.spark.sql.execution.QueryExecution.prepareExecutedPlan(
            spark._jsparkSession, plan
        )
        text = java.scala.collection.mutable.StringBuilder().append(prepared)
        if not java.java.util.regex.Pattern.compile(_SHUFFLE).matcher(text).find():
            return prepared
    except Py4JError:
        # This release of Spark prepares its plans in another way.
        pass
    return dataframe(spark, plan)._jdf.queryExecution().executedPlan()


def expression_values(spark: SparkSession, leaf: Java, expressions: Sequence[Java]) -> list[pa.Array]:
    """Evaluate resolved Catalyst expressions of known types on rows, in the Arrow types of block metadata.

    Raises:
        Py4JError, PySparkException: an expression fails on a row.
        ArrowException: a value is one that Arrow cannot hold.
    """
    sql_types = [type_of_java(expression) for expression in expressions]
    types = [arrow_type(type_) for type_ in sql_types]
    row_count = leaf.data().size()
    if row_count * len(types) <= FEW_CELLS:
        few = _evaluate_cells(spark, leaf, expressions, sql_types)
        if few is not None:
            return few
    fresh = singleton(spark, f"{_EXPRESSIONS}.NamedExpression")
    named = [
        alias(spark, expression, f"_{place}", fresh.newExprId())
        for place, expression in enumerate(expressions)
    ]
    projected_frame = dataframe(spark, project(spark, named, leaf))
    if row_count <= FEW_ROWS and not any(map(pa.types.is_timestamp, types)):
        # Spark collects the rows of a local relation without a job; an Arrow stream needs one.
        few = _python_values(projected_frame.collect(), types)
        if few is not None:
            return few
    batches = projected_frame._collect_as_arrow()
    return [
        pa.concat_arrays(
            [pa.array([], type_), *(_cast_values(batch.column(place), type_) for batch in batches)]
        )
        for place, type_ in enumerate(types)
    ]


def _evaluate_cells(
    spark: SparkSession, leaf: Java, expressions: Sequence[Java], types: Sequence[Type]
) -> list[pa.Array] | None:
    """Evaluate each value by its own calls, without a plan; return None where an expression needs one."""
    rows = list(elements(leaf.data().toIndexedSeq()))
    inputs = singleton(spark, f"{_EXPRESSIONS}.package").AttributeSeq(leaf.output())
    try:
        bound = [
            singleton(spark, f"{_EXPRESSIONS}.BindReferences").bindReference(expression, inputs, False)
            for expression in expressions
        ]
        return [
            pa.array([internal_value(reference.eval(row), type_) for row in rows], arrow_type(type_))
            for reference, type_ in zip(bound, types, strict=True)
        ]
    except (Py4JError, pa.ArrowException, ValueError):
        return None


def _python_values(rows: list[Any], types: Sequence[pa.DataType]) -> list[pa.Array] | None:
    """Return collected rows as arrays, one a column; None where Python may hold other values than Spark."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    if any(isinstance(value, str) and "\ufffd" in value for column in columns for value in column):
        # This character may stand for bytes that are not UTF-8.
        return None
    try:
        return [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def _cast_values(values: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type):
        # Cast to numbers, because Arrow may not know the session's time zone.
        values = values.cast(pa.int64())
    return values.cast(type_)
