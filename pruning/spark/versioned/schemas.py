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
    return bool(_bare(one) == _bare(other))


def has_same_names(one: Any, other: Any) -> bool:
    """Tell whether the fields of two types in JSON, which have the same shape, have the same names."""
    return bool(_bare(one, plain=None) == _bare(other, plain=None))


_SAME = object()


def _bare(type_: Any, plain: Any = _SAME) -> Any:
    """Return a type in JSON without what may be NULL and without metadata of fields.

    Args:
        type_: The type.
        plain: It takes the place of each type without parts, if it is given.
    """
    if not isinstance(type_, Mapping):
        return type_ if plain is _SAME else plain
    match type_["type"]:
        case "struct":
            return [(field["name"], _bare(field["type"], plain)) for field in type_["fields"]]
        case "array":
            return ("array", _bare(type_["elementType"], plain))
        case "map":
            return ("map", _bare(type_["keyType"], plain), _bare(type_["valueType"], plain))
        case _:
            return type_
