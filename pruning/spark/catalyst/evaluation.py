"""Evaluates Catalyst expressions of any query with Spark, on rows in memory."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pruning.expressions.type_names import type_to_json
from pruning.expressions.types import Type
from pruning.metadata.table.schema import arrow_type, sql_type
from pruning.metadata.table.structs import field_of
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java, dataframe, elements, jvm, sequence, singleton

_CATALYST = "org.apache.spark.sql.catalyst.expressions"

# The values of an expression, and True for rows on which Spark raises instead.
ExpressionValues = tuple[pa.Array, pa.BooleanArray]


def evaluate(
    spark: SparkSession, rows: pa.Table, expressions: Sequence[Java], names: Mapping[int, str]
) -> list[ExpressionValues] | None:
    """Return the value of each expression on each row, by one query; None if the query fails.

    An expression that raises on one row still has its values on the others. Time zone and modes are those
    that the expressions were analysed with, so that the values are those of the query they come from.

    Args:
        spark: The session.
        rows: Columns of the types that Spark gives the attributes, in the metadata's Arrow types.
        expressions: Resolved Catalyst expressions of known types over attributes that `names` has.
        names: The names of the columns of `rows`, by the attributes' expression ids.
    """
    try:
        types = [type_of_java(expression) for expression in expressions]
        plan = _wrapped_values_plan(
            spark, _with_expression_ids(spark, _rows_plan(spark, rows), expressions, names), expressions
        )
        answer = pa.Table.from_batches(dataframe(spark, plan)._collect_as_arrow())
        if len(answer) != len(rows):
            return None
        return [_unwrap_values(answer.column(place), type_) for place, type_ in enumerate(types)]
    except (PySparkException, Py4JError, pa.ArrowException, KeyError, ValueError):
        # Nothing is concluded then, and the query itself still runs.
        return None


def _rows_plan(spark: SparkSession, rows: pa.Table) -> Java:
    """Return the plan of rows in memory. They pass as an Arrow stream, which keeps -0.0 and old instants."""
    fields = [
        {"name": field.name, "type": type_to_json(sql_type(field.type)), "nullable": True, "metadata": {}}
        for field in rows.schema
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    utilities = jvm(spark).org.apache.spark.sql.api.python.PythonSQLUtils
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        batches = utilities.readArrowStreamFromFile(str(path))
        rows_frame = DataFrame(utilities.toDataFrame(batches, schema, spark._jsparkSession), spark)
    return rows_frame._jdf.queryExecution().analyzed()


def _with_expression_ids(
    spark: SparkSession, rows: Java, expressions: Sequence[Java], names: Mapping[int, str]
) -> Java:
    """Return the rows under the expression ids that the expressions name."""
    columns = {column.name(): column for column in elements(rows.output())}
    named = {
        attribute.exprId().id(): attribute
        for expression in expressions
        for attribute in elements(expression.references().toSeq())
    }
    aliases = [
        alias(spark, columns[names[id_]], attribute.name(), attribute.exprId())
        for id_, attribute in named.items()
    ]
    return project(spark, aliases, rows)


def _wrapped_values_plan(spark: SparkSession, rows: Java, expressions: Sequence[Java]) -> Java:
    """Return the plan of all values, each wrapped in a struct that is NULL where its expression raises."""
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    label = singleton(spark, f"{_CATALYST}.Literal").apply("value")
    fresh = singleton(spark, f"{_CATALYST}.NamedExpression")
    wrapped = [
        catalyst.TryEval(catalyst.CreateNamedStruct(sequence(spark, [label, expression])))
        for expression in expressions
    ]
    return project(
        spark,
        [alias(spark, value, f"_{place}", fresh.newExprId()) for place, value in enumerate(wrapped)],
        rows,
    )


def alias(spark: SparkSession, expression: Java, name: str, id_: Java) -> Java:
    nothing, absent = sequence(spark, []), jvm(spark).scala.Option.apply(None)
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    return catalyst.Alias(expression, name, id_, nothing, absent, nothing)


def project(spark: SparkSession, columns: Sequence[Java], plan: Java) -> Java:
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    return logical.Project(sequence(spark, columns), plan)


def _unwrap_values(wrapped: pa.ChunkedArray, type_: Type) -> ExpressionValues:
    """Take values out of their structs.

    Raises:
        ArrowInvalid: a string is not UTF-8.
    """
    whole = pa.concat_arrays([pa.array([], wrapped.type), *wrapped.chunks])
    values = field_of(whole, "value")
    if pa.types.is_timestamp(values.type):
        # Cast to numbers, because Arrow may not know the session's time zone.
        values = values.cast(pa.int64())
    values = values.cast(arrow_type(type_))
    values.validate(full=True)
    return values, pc.is_null(whole)
