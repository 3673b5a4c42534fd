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
    """A plan with two more columns, the last ones: the file of each row, and its ordinal in it, divided."""

    plan: Java
    columns: Sequence[Java]


def with_row_places(spark: SparkSession, plan: Java, *, shift: int = 0) -> RowPlaces | None:
    """Return a plan with the place of each row; None where the plan is more than a scan under filters.

    Args:
        spark: The session.
        plan: A resolved plan: filters and projections over a `LogicalRelation` of files.
        shift: Ordinals are divided by so many powers of 2.
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
    fresh = singleton(spark, f"{_EXPRESSIONS}.NamedExpression")
    named = [
        alias(spark, part, f"_skipproof_{name}", fresh.newExprId())
        for part, name in ((file, _FILE), (row, _ROW))
    ]
    plan = project(spark, [*output, *named], with_metadata)
    return RowPlaces(plan, [column.toAttribute() for column in named])
