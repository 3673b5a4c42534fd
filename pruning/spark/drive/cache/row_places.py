"""The places of rows: two more columns of a plan, the file that a row is from and its ordinal there."""

from collections.abc import Sequence
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.spark.catalyst.evaluation import alias, project
from pruning.spark.jvm.gateway import Java, elements, jvm, sequence, simple_name, singleton

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_FILE, _ROW = "file_path", "row_index"


class RowPlaces(NamedTuple):
    """A plan with two more columns, the last ones: the file of each row, and its ordinal in it, shifted."""

    plan: Java
    columns: Sequence[Java]


def with_row_places(spark: SparkSession, plan: Java, *, shift: int = 0) -> RowPlaces | None:
    """Return a plan with the place of each row; None where the plan is more than a scan under filters.

    Args:
        spark: The session.
        plan: A resolved plan: filters and projections over a `LogicalRelation` of files.
        shift: The ordinals are shifted right by so many digits.
    """
    kind = simple_name(plan)
    try:
        if kind == "LogicalRelation":
            return _located_leaf(spark, plan, shift)
        if kind not in ("Filter", "Project"):
            return None
        below = with_row_places(spark, plan.child(), shift=shift)
        if below is None:
            return None
        if kind == "Filter":
            return RowPlaces(plan.withNewChildren(sequence(spark, [below.plan])), below.columns)
        columns = [*elements(plan.projectList()), *below.columns]
        return RowPlaces(project(spark, columns, below.plan), below.columns)
    except Py4JError:
        # This release of Spark has other columns of metadata than those that are known.
        return None


def _located_leaf(spark: SparkSession, leaf: Java, shift: int) -> RowPlaces | None:
    """Return a leaf with the places of its rows, which Spark's reader of Parquet files counts."""
    output = list(elements(leaf.output()))
    with_metadata = leaf.withMetadataColumns()
    more = list(elements(with_metadata.output()))[len(output) :]
    if len(more) != 1:
        return None
    expressions = jvm(spark).org.apache.spark.sql.catalyst.expressions
    type_ = more[0].dataType()
    file, row = (
        expressions.GetStructField(more[0], type_.fieldIndex(name), jvm(spark).scala.Option.apply(name))
        for name in (_FILE, _ROW)
    )
    if shift:
        row = expressions.ShiftRight(row, singleton(spark, f"{_EXPRESSIONS}.Literal").apply(shift))
    return _with_columns(spark, with_metadata, output, (file, row))


def with_row_files(spark: SparkSession, plan: Java) -> RowPlaces:
    """Return a plan with the file of each row, and the ordinal 0.

    A version of a table may have the ordinal as a column already, which no reader gives twice. Of a row under
    nothing but filters and projections, Spark tells the file.

    Args:
        spark: The session.
        plan: As for `with_row_places`.
    """
    zero = singleton(spark, f"{_EXPRESSIONS}.Literal").apply(0)
    file = jvm(spark).org.apache.spark.sql.catalyst.expressions.InputFileName()
    return _with_columns(spark, plan, list(elements(plan.output())), (file, zero))


def _with_columns(
    spark: SparkSession, plan: Java, output: Sequence[Java], values: Sequence[Java]
) -> RowPlaces:
    """Return a plan with the file and the ordinal of each row behind the columns of an output."""
    fresh = singleton(spark, f"{_EXPRESSIONS}.NamedExpression")
    named = [
        alias(spark, value, f"_skipproof_{name}", fresh.newExprId())
        for value, name in zip(values, (_FILE, _ROW), strict=True)
    ]
    return RowPlaces(project(spark, [*output, *named], plan), [column.toAttribute() for column in named])
