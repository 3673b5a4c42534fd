"""Schemas of Spark as decoded JSON: the fields of a `StructType` by their names."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, singleton

# A field of a `StructType`, as Spark's JSON describes it, and the fields of one by name, in their order.
FieldJson: TypeAlias = dict[str, Any]
Schema: TypeAlias = dict[str, FieldJson]


def fields_of(schema: str) -> Schema:
    """Return the fields of a `StructType` in JSON, by name."""
    return {field["name"]: field for field in json.loads(schema)["fields"]}


def field_json(name: str, type_: Any) -> FieldJson:
    """Return a field that may be NULL, of a type as Spark's JSON describes it."""
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def schema_json(schema: Schema) -> str:
    """Return a `StructType` in JSON; the fields have the names that they have in the mapping."""
    return json.dumps(
        {"type": "struct", "fields": [field | {"name": name} for name, field in schema.items()]}
    )


def struct_type(spark: SparkSession, schema: Schema) -> Java:
    """Return a `StructType` of which each column, and each part of one, may be NULL."""
    types = singleton(spark, "org.apache.spark.sql.types.DataType")
    return types.fromJson(schema_json(schema)).asNullable()


def is_same_type(one: Any, other: Any) -> bool:
    """Tell whether two types in JSON differ in nothing but what may be NULL and the fields' metadata."""
    return _bare(one) == _bare(other)


def _bare(type_: Any) -> Any:
    """Return a type in JSON without what may be NULL and without metadata of fields."""
    if not isinstance(type_, Mapping):
        return type_
    return {
        key: [{"name": field["name"], "type": _bare(field["type"])} for field in value]
        if key == "fields"
        else _bare(value)
        for key, value in type_.items()
        if key not in ("containsNull", "valueContainsNull")
    }
