"""The DataFrame over one version of a table, whose files are read by Spark's own reader of Parquet."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from pruning.metadata.versioned.table_version import (
    EVERY_PARTITION,
    PARTITION,
    SEQUENCE,
    EqualityDeletes,
    TableVersion,
)
from pruning.spark.jvm.gateway import Java, dataframe, elements, jvm, sequence, singleton, some
from pruning.spark.jvm.local_rows import local_relation
from pruning.spark.versioned.deleted_rows import without_deleted_positions
from pruning.spark.versioned.encoding import encode_columns
from pruning.spark.versioned.layouts import (
    HIDDEN_NUMBERS,
    ROW_POSITION,
    LayoutFiles,
    layout_leaf,
    version_index,
)
from pruning.spark.versioned.schemas import (
    FieldJson,
    Schema,
    field_json,
    fields_of,
    is_same_type,
    struct_type,
)

# The key of a field's metadata that has the value of a column in files that lack it, as Spark SQL.
DEFAULT = "EXISTS_DEFAULT"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_LOGICAL = "org.apache.spark.sql.catalyst.plans"


def version_frame(spark: SparkSession, version: TableVersion, *, position: str | None = None) -> DataFrame:
    """Return the live rows of a version of a table, with the table's columns.

    No file is opened, and no list of deleted rows is read, before a query reads the DataFrame.

    Args:
        spark: The session.
        version: The version.
        position: The name of a last column with the position of each row in its file, which there is if rows
            are deleted by their positions. If none is, the hidden column `_metadata` has the position.
    """
    parts = [_live_rows(spark, files, position) for files in layouts_in_use(version)]
    if len(parts) == 1:
        return dataframe(spark, parts[0])
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    return dataframe(spark, logical.Union(sequence(spark, parts), False, False))


def layouts_in_use(version: TableVersion) -> list[LayoutFiles]:
    """Return the files of each layout that is in use; of a table without files, none of its own layout."""
    layouts = version.files.layouts
    return [
        LayoutFiles.of(version, layout, np.flatnonzero(layouts == layout))
        for layout in np.unique(layouts).tolist() or [None]
    ]


def _live_rows(spark: SparkSession, files: LayoutFiles, position: str | None) -> Java:
    """Return the plan of the live rows in the files of one layout, with the table's columns."""
    leaf = layout_leaf(spark, files)
    by_name = {attribute.name(): attribute for attribute in elements(leaf.output())}
    table = fields_of(files.version.schema)
    columns = [
        _table_column(spark, by_name[files.columns[name]["name"]], field, files.columns[name])
        for name, field in table.items()
    ]
    if position is not None and ROW_POSITION in by_name:
        field = struct_type(spark, {position: field_json(position, "long")}).apply(0)
        columns.append(_alias(spark, by_name[ROW_POSITION], position, field.metadata()))
    hidden = [by_name[name] for name in HIDDEN_NUMBERS if name in by_name]
    rows = _project(spark, [*columns, *hidden], without_deleted_positions(spark, leaf))
    if files.deleted.any():
        # Spark cannot give positions of rows under two names, so that a query must not ask for them, too.
        tag = singleton(spark, f"{_LOGICAL}.logical.Project").hiddenOutputTag()
        rows.setTagValue(tag, sequence(spark, []))
    if not hidden:
        return rows
    for deletes in files.version.equality_deletes:
        rows = _without_equal_rows(spark, rows, deletes, table)
    return _project(spark, list(elements(rows.output()))[: len(columns)], rows)


def _table_column(spark: SparkSession, attribute: Java, field: FieldJson, column: FieldJson) -> Java:
    """Return a column of the table, made of a column of the leaf.

    A column that the files lack is NULL or has its default: Spark's vectorized reader gives the default, and
    its row-wise reader NULL, where a column follows that the files have.

    Only where the types differ, also in the names of fields, there is a cast: Spark pushes a comparison with
    a column that is only renamed.
    """
    java_type = struct_type(spark, {field["name"]: field}).apply(0)
    value, default = attribute, (column.get("metadata") or {}).get(DEFAULT)
    if default is not None:
        value = _coalesce(spark, value, default)
    if not is_same_type(column["type"], field["type"]):
        value = _cast(spark, value, java_type.dataType())
    return _alias(spark, value, field["name"], java_type.metadata())


def _without_equal_rows(spark: SparkSession, rows: Java, deletes: EqualityDeletes, table: Schema) -> Java:
    """Return the plan of the rows that have not the values of a row that deletes them."""
    types = [_type_of(table, parts) for parts in deletes.columns]
    schema: Schema = {str(place): field_json(str(place), type_) for place, type_ in enumerate(types)}
    schema |= {name: field_json(name, type_) for name, type_ in HIDDEN_NUMBERS.items()}
    java_schema = struct_type(spark, schema)
    attributes = singleton(spark, "org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(
        java_schema
    )
    values = encode_columns(deletes.rows[name] for name in schema)
    deleting = local_relation(spark, attributes, version_index(spark).rows(java_schema, values))
    outer = {attribute.name(): attribute for attribute in elements(rows.output())}
    *others, sequence_number, partition = elements(attributes)
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    everywhere = catalyst.Literal.create(EVERY_PARTITION, partition.dataType())
    conditions = [
        *(
            catalyst.EqualNullSafe(_value_of(spark, outer[parts[0]], parts[1:]), other)
            for parts, other in zip(deletes.columns, others, strict=True)
        ),
        catalyst.LessThan(outer[SEQUENCE], sequence_number),
        catalyst.Or(catalyst.EqualTo(partition, everywhere), catalyst.EqualTo(partition, outer[PARTITION])),
    ]
    condition = functools.reduce(catalyst.And, conditions)
    anti = singleton(spark, f"{_LOGICAL}.LeftAnti")
    hint = singleton(spark, f"{_LOGICAL}.logical.JoinHint").NONE()
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    return logical.Join(rows, deleting, anti, some(spark, condition), hint)


def _type_of(table: Schema, parts: Sequence[str]) -> Any:
    """Return the type of a column, or of a field in structs, in JSON."""
    fields, type_ = table, None
    for part in parts:
        type_ = fields[part]["type"]
        fields = {field["name"]: field for field in type_["fields"]} if isinstance(type_, dict) else {}
    return type_


def _value_of(spark: SparkSession, column: Java, fields: Sequence[str]) -> Java:
    """Return the value of a column, or of a field in the structs that it holds."""
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    for field in fields:
        place = column.dataType().fieldIndex(field)
        column = catalyst.GetStructField(column, place, some(spark, field))
    return column


def _coalesce(spark: SparkSession, value: Java, default: str) -> Java:
    """Return the value, or where it is NULL a default, which is written as Spark SQL."""
    text = f"SELECT CAST({default} AS {value.dataType().sql()})"
    constant = spark.sql(text)._jdf.queryExecution().analyzed().projectList().apply(0).child()
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    return catalyst.Coalesce(sequence(spark, [value, constant]))


def _cast(spark: SparkSession, value: Java, type_: Java) -> Java:
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    # A cast to a wider type never fails, so that its mode does not matter.
    mode = singleton(spark, f"{_EXPRESSIONS}.EvalMode").LEGACY()
    return catalyst.Cast(value, type_, some(spark, None), mode)


def _alias(spark: SparkSession, value: Java, name: str, metadata: Java) -> Java:
    fresh = singleton(spark, f"{_EXPRESSIONS}.NamedExpression").newExprId()
    nothing = sequence(spark, [])
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    return catalyst.Alias(value, name, fresh, nothing, some(spark, metadata), nothing)


def _project(spark: SparkSession, columns: Sequence[Java], plan: Java) -> Java:
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    return logical.Project(sequence(spark, columns), plan)
