"""Parts of a query that are run while it is pruned, and their rows in the driver."""

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
from pruning.spark.jvm.gateway import Java, dataframe, elements, jvm, singleton, some
from pruning.spark.jvm.literals import internal_value

# A cell takes a call or two, a plan about as long as a hundred calls.
FEW_CELLS, FEW_ROWS = 32, 5_000
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_SHUFFLE = r"(?<!Broadcast)Exchange\b"
_LOCAL_RELATION = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that a plan gave: a leaf with the plan's attributes, how many, and how long they took."""

    leaf: Java
    row_count: int
    seconds: float


def run_plan(spark: SparkSession, plan: Java) -> Rows:
    """Run an optimized Catalyst plan and hold its rows in the driver.

    Raises:
        Py4JError, PySparkException: the plan fails, as it may in the query itself.
    """
    # Analyzing an optimized plan once more may change what it means.
    plan.setAnalyzed()
    began = time.perf_counter()
    found = _physical_plan(spark, plan).executeCollect()
    seconds = time.perf_counter() - began
    rows = jvm(spark).scala.Predef.genericWrapArray(found).toList()
    return Rows(local_relation(spark, plan.output(), rows), len(found), seconds)


def _physical_plan(spark: SparkSession, plan: Java) -> Java:
    """What Spark would execute; of a plan that shuffles nothing, without optimizing it once more.

    Adaptive execution has nothing to adapt there, and takes longer than such a plan itself.
    """
    java = jvm(spark)
    try:
        made = java.org.apache.spark.sql.execution.QueryExecution.prepareExecutedPlan(
            spark._jsparkSession, plan
        )
        text = java.scala.collection.mutable.StringBuilder().append(made)
        if not java.java.util.regex.Pattern.compile(_SHUFFLE).matcher(text).find():
            return made
    except Py4JError:
        # A release of Spark that prepares its plans otherwise.
        pass
    return dataframe(spark, plan)._jdf.queryExecution().executedPlan()


def expression_values(spark: SparkSession, leaf: Java, expressions: Sequence[Java]) -> list[pa.Array]:
    """What resolved Catalyst expressions of known types give on rows, in the Arrow types of block metadata.

    Raises:
        Py4JError, PySparkException: an expression fails on a row.
        ArrowException: it gives what Arrow cannot hold.
    """
    sql_types = [type_of_java(expression) for expression in expressions]
    types = [arrow_type(type_) for type_ in sql_types]
    row_count = leaf.data().size()
    if row_count * len(types) <= FEW_CELLS:
        few = _evaluate_cells(spark, leaf, expressions, sql_types)
        if few is not None:
            return few
    fresh = singleton(spark, f"{_EXPRESSIONS}.NamedExpression")
    named = [alias(spark, one, f"_{place}", fresh.newExprId()) for place, one in enumerate(expressions)]
    asked = dataframe(spark, project(spark, named, leaf))
    if row_count <= FEW_ROWS and not any(map(pa.types.is_timestamp, types)):
        # Rows in the plan come without a job, Arrow's stream does not.
        few = _python_values(asked.collect(), types)
        if few is not None:
            return few
    batches = asked._collect_as_arrow()
    return [
        pa.concat_arrays(
            [pa.array([], type_), *(_cast_values(batch.column(place), type_) for batch in batches)]
        )
        for place, type_ in enumerate(types)
    ]


def _evaluate_cells(
    spark: SparkSession, leaf: Java, expressions: Sequence[Java], types: Sequence[Type]
) -> list[pa.Array] | None:
    """Each value by calls of its own, without a plan; None where an expression needs one."""
    rows = list(elements(leaf.data().toIndexedSeq()))
    inputs = singleton(spark, f"{_EXPRESSIONS}.package").AttributeSeq(leaf.output())
    try:
        bound = [
            singleton(spark, f"{_EXPRESSIONS}.BindReferences").bindReference(expression, inputs, False)
            for expression in expressions
        ]
        return [
            pa.array([internal_value(one.eval(row), type_) for row in rows], arrow_type(type_))
            for one, type_ in zip(bound, types, strict=True)
        ]
    except (Py4JError, pa.ArrowException, ValueError):
        return None


def _python_values(rows: list[Any], types: Sequence[pa.DataType]) -> list[pa.Array] | None:
    """Rows that Python holds as arrays; None where Python may hold other values than Spark."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    if any(isinstance(value, str) and "\ufffd" in value for column in columns for value in column):
        # It stands for bytes that are not UTF-8, too.
        return None
    try:
        return [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def first_line(error: Exception) -> str:
    """What an error says, in one line."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _cast_values(values: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type):
        # As numbers; Arrow may not know the session's zone.
        values = values.cast(pa.int64())
    return values.cast(type_)


def local_relation(spark: SparkSession, output: Java, rows: Java) -> Java:
    """Rows in the plan itself: Scala's sequences of attributes and of internal rows."""
    java = jvm(spark)
    made = java.java.lang.Class.forName(_LOCAL_RELATION).getConstructors()[0]
    given = [output, rows, False, some(spark, None)]
    # Spark 4.1 added the last one.
    arguments = given[: made.getParameterCount()]
    return java.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(*arguments)
