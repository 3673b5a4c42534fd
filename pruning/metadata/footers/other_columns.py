"""The columns that block metadata does not cover, or only in part: their names and Spark's types.

Arrays and maps in one another, variants and columns without a type have no bounds, yet a predicate may name
them. To parse a predicate, their names must be known: a name that is not a column may be parsed as a
function. So block metadata keeps them in its Arrow schema's metadata: a JSON object that maps the columns'
exact names to types in Spark's JSON.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from pruning.expressions.type_names import type_to_json
from pruning.metadata.footers.nested import DEPTH_MAX, SchemaLeaf, is_list, list_element_is_itself
from pruning.metadata.footers.physical_types import column_storage

# A type as Spark writes it in JSON: the name of a simple one, or an object.
SparkType: TypeAlias = Any

_KEY = b"skipproof.other_columns"
_SPARK_KEY = "org.apache.spark.sql.parquet.row.metadata"
_REPEATED = 2
_CONVERTED_MAPS = (1, 2)
_VARIANT = frozenset({"metadata", "value"})
# The type given to a column whose type Spark would not infer either; a query can do little with it.
_UNKNOWN = "binary"


@dataclass(slots=True)
class _SchemaNode:
    """A schema element with its children."""

    element: Any
    name: str | None
    children: list["_SchemaNode"] = field(default_factory=list)


def other_columns(
    schema: list[Any], leaves: Iterable[SchemaLeaf], keys: Mapping[str, bytes]
) -> dict[str, SparkType]:
    """Return the top-level columns of a footer that its leaves do not cover completely, with Spark's types.

    Args:
        schema: The footer's schema elements, parents first, as many as their groups say.
        leaves: The leaves that are columns of block metadata, if their storage is known.
        keys: The footer's key-value metadata; Spark trusts the schema that it wrote there itself.
    """
    leaf_counts: dict[str, int] = {}
    for leaf in leaves:
        if column_storage(leaf.element) is not None:
            leaf_counts[leaf.fields[0]] = leaf_counts.get(leaf.fields[0], 0) + 1
    spark_types = _written_by_spark(keys)
    columns: dict[str, SparkType] = {}
    for column in _tree(schema).children:
        if column.name is not None and _leaf_count(column) != leaf_counts.get(column.name, 0):
            columns[column.name] = spark_types.get(column.name) or _element_type(column) or _UNKNOWN
    return columns


def with_other_columns(schema: pa.Schema, columns: Mapping[str, SparkType]) -> pa.Schema:
    """Return a schema of block metadata that records the other columns of its files."""
    return schema.with_metadata({_KEY: json.dumps(columns).encode()} if columns else None)


def other_columns_of(schema: pa.Schema) -> dict[str, SparkType]:
    """Return the other columns that a schema of block metadata records."""
    stored = (schema.metadata or {}).get(_KEY)
    return {} if stored is None else dict(json.loads(stored))


def unite_columns(parts: Iterable[Mapping[str, SparkType]]) -> dict[str, SparkType]:
    """Return the columns of all parts; structs of the same name are merged."""
    columns: dict[str, SparkType] = {}
    for part in parts:
        for name, type_ in part.items():
            columns[name] = merge_types(columns[name], type_) if name in columns else type_
    return columns


def merge_types(first: SparkType, second: SparkType) -> SparkType:
    """Return the first type, extended by the second's fields wherever both have a struct.

    A part of the first that is void has the second's type.
    """
    if first == "void":
        return second
    if not isinstance(first, dict) or not isinstance(second, dict) or first["type"] != second["type"]:
        return first
    if first["type"] == "array":
        return first | {"elementType": merge_types(first["elementType"], second["elementType"])}
    if first["type"] == "map":
        parts = {part: merge_types(first[part], second[part]) for part in ("keyType", "valueType")}
        return first | parts
    if first["type"] != "struct":
        return first
    fields = {part["name"]: part for part in first["fields"]}
    for part in second["fields"]:
        field_of_first = fields.get(part["name"])
        type_ = part["type"] if field_of_first is None else merge_types(field_of_first["type"], part["type"])
        fields[part["name"]] = (field_of_first or part) | {"type": type_}
    return first | {"fields": list(fields.values())}


def struct_type(fields: Mapping[str, SparkType]) -> SparkType:
    """Return the type of a struct, or of a table's rows."""
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields.items()
        ],
    }


def array_type(element: SparkType) -> SparkType:
    """Return the type of an array."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_type(key: SparkType, value: SparkType) -> SparkType:
    """Return the type of a map."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def _written_by_spark(keys: Mapping[str, bytes]) -> dict[str, SparkType]:
    try:
        return {part["name"]: _nullable_type(part["type"]) for part in json.loads(keys[_SPARK_KEY])["fields"]}
    except (KeyError, TypeError, ValueError):
        return {}


def _nullable_type(type_: SparkType) -> SparkType:
    """Return the type as Spark reads it from a file: all parts nullable, user-defined types replaced."""
    if not isinstance(type_, dict):
        return type_
    if type_["type"] == "udt":
        return _nullable_type(type_["sqlType"])
    if type_["type"] == "array":
        return array_type(_nullable_type(type_["elementType"]))
    if type_["type"] == "map":
        return map_type(_nullable_type(type_["keyType"]), _nullable_type(type_["valueType"]))
    return struct_type({part["name"]: _nullable_type(part["type"]) for part in type_["fields"]})


def _tree(schema: list[Any]) -> _SchemaNode:
    """Return the elements of a schema as a tree."""
    root = _SchemaNode(schema[0], None)
    above = [(root, schema[0].num_children or 0)]
    for element in schema[1:]:
        while above[-1][1] == 0:
            above.pop()
        parent, left = above[-1]
        above[-1] = (parent, left - 1)
        node = _SchemaNode(element, _text(element.name))
        parent.children.append(node)
        if element.type is None:
            above.append((node, element.num_children or 0))
    return root


def _leaf_count(root: _SchemaNode) -> int:
    count, pending = 0, [root]
    while pending:
        node = pending.pop()
        count += node.element.type is not None
        pending += node.children
    return count


def _element_type(node: _SchemaNode, depth: int = 0) -> SparkType | None:
    """Return the type that Spark infers for an element, an array if it is repeated; None if unknown."""
    inner = _unrepeated_type(node, depth) if depth < DEPTH_MAX else None
    return array_type(inner) if inner and node.element.repetition_type == _REPEATED else inner


def _unrepeated_type(node: _SchemaNode, depth: int) -> SparkType | None:
    element, children = node.element, node.children
    if element.type is not None:
        if element.logicalType is not None and element.logicalType.UNKNOWN is not None:
            return "void"
        storage = column_storage(element)
        return None if storage is None else type_to_json(storage.type)
    logical, converted = element.logicalType, element.converted_type
    if is_list(element):
        return _list_type(node, depth)
    if converted in _CONVERTED_MAPS or (logical is not None and logical.MAP is not None):
        return _map_type(node, depth)
    if logical is not None and logical.VARIANT is not None:
        return "variant" if {child.name for child in children} >= _VARIANT else None
    if converted is not None or logical is not None:
        return None
    fields = {child.name: _element_type(child, depth + 1) for child in children if child.name is not None}
    if None in fields.values() or len(fields) != len(children):
        return None
    return struct_type(fields)


def _list_type(node: _SchemaNode, depth: int) -> SparkType | None:
    (repeated,) = node.children
    if repeated.element.repetition_type != _REPEATED:
        return None
    if repeated.element.type is not None or list_element_is_itself(
        node.name, repeated.name, repeated.element
    ):
        inner = _unrepeated_type(repeated, depth + 1)
    else:
        inner = _element_type(repeated.children[0], depth + 1)
    return array_type(inner) if inner else None


def _map_type(node: _SchemaNode, depth: int) -> SparkType | None:
    if len(node.children) != 1 or len(node.children[0].children) != 2:
        return None
    key, value = (_element_type(child, depth + 1) for child in node.children[0].children)
    if not key or not value:
        return None
    return map_type(key, value)


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
