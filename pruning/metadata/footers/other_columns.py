"""The columns that block metadata tells nothing of, or only in part: their names, and Spark's types of them.

Maps, arrays of arrays, variants and columns without a type have no bounds, yet a predicate may name them. Who
reads a predicate must know that they are there: a name that is no column's may be that of a function, and
then means something else. So block metadata carries them as an entry of its Arrow schema's metadata, from
each footer on: a JSON object of types, as Spark writes types in JSON, by the columns' exact names.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from pruning.expressions.type_names import type_to_json
from pruning.metadata.footers.nested import DEPTH_MAX, Leaf, is_list, list_element_is_itself
from pruning.metadata.footers.physical_types import form_of

# A type as Spark writes it in JSON: the name of a simple one, or an object.
SparkType: TypeAlias = Any

_KEY = b"skipproof.other_columns"
_SPARK_KEY = "org.apache.spark.sql.parquet.row.metadata"
_REPEATED = 2
_CONVERTED_MAPS = (1, 2)
_VARIANT = frozenset({"metadata", "value"})
# Of a column whose type Spark would not infer either: it can be named, and little else.
_UNKNOWN = "binary"


@dataclass(slots=True)
class _Node:
    """A schema element with those below it."""

    element: Any
    name: str | None
    children: list["_Node"] = field(default_factory=list)


def other_columns(
    schema: list[Any], leaves: Iterable[Leaf], keys: Mapping[str, bytes]
) -> dict[str, SparkType]:
    """Return the top-level columns of a footer that its leaves do not tell of completely, with Spark's types.

    Args:
        schema: The footer's schema elements, parents first, as many as their groups say.
        leaves: The leaves that are columns of block metadata, if their forms are known.
        keys: The footer's key-value metadata; Spark believes the schema that it wrote there itself.
    """
    told: dict[str, int] = {}
    for leaf in leaves:
        if form_of(leaf.element) is not None:
            told[leaf.fields[0]] = told.get(leaf.fields[0], 0) + 1
    written = _written_by_spark(keys)
    found: dict[str, SparkType] = {}
    for column in _tree(schema).children:
        if column.name is not None and _leaf_count(column) != told.get(column.name, 0):
            found[column.name] = written.get(column.name) or _type(column) or _UNKNOWN
    return found


def with_other_columns(schema: pa.Schema, columns: Mapping[str, SparkType]) -> pa.Schema:
    """Return the schema of block metadata with the other columns that its files have."""
    return schema.with_metadata({_KEY: json.dumps(columns).encode()} if columns else None)


def other_columns_of(schema: pa.Schema) -> dict[str, SparkType]:
    """Return the other columns that the schema of block metadata has."""
    stored = (schema.metadata or {}).get(_KEY)
    return {} if stored is None else dict(json.loads(stored))


def united(parts: Iterable[Mapping[str, SparkType]]) -> dict[str, SparkType]:
    """Return the columns of all parts; where two give structs under one name, with the fields of both."""
    found: dict[str, SparkType] = {}
    for part in parts:
        for name, type_ in part.items():
            found[name] = merged(found[name], type_) if name in found else type_
    return found


def merged(one: SparkType, other: SparkType) -> SparkType:
    """Return the first type, with the fields of the second too wherever both have a struct."""
    if one == "void":
        return other
    if not isinstance(one, dict) or not isinstance(other, dict) or one["type"] != other["type"]:
        return one
    if one["type"] == "array":
        return one | {"elementType": merged(one["elementType"], other["elementType"])}
    if one["type"] != "struct":
        return one
    fields = {part["name"]: part for part in one["fields"]}
    for part in other["fields"]:
        known = fields.get(part["name"])
        type_ = part["type"] if known is None else merged(known["type"], part["type"])
        fields[part["name"]] = (known or part) | {"type": type_}
    return one | {"fields": list(fields.values())}


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
        return {part["name"]: _nullable(part["type"]) for part in json.loads(keys[_SPARK_KEY])["fields"]}
    except (KeyError, TypeError, ValueError):
        return {}


def _nullable(type_: SparkType) -> SparkType:
    """The type as Spark reads it from a file: anything inside may be NULL, and nothing is user-defined."""
    if not isinstance(type_, dict):
        return type_
    if type_["type"] == "udt":
        return _nullable(type_["sqlType"])
    if type_["type"] == "array":
        return array_type(_nullable(type_["elementType"]))
    if type_["type"] == "map":
        return map_type(_nullable(type_["keyType"]), _nullable(type_["valueType"]))
    return struct_type({part["name"]: _nullable(part["type"]) for part in type_["fields"]})


def _tree(schema: list[Any]) -> _Node:
    """The elements of a schema as a tree; what is too deep to be followed is left out."""
    root = _Node(schema[0], None)
    above = [(root, schema[0].num_children or 0)]
    for element in schema[1:]:
        while above[-1][1] == 0:
            above.pop()
        parent, left = above[-1]
        above[-1] = (parent, left - 1)
        node = _Node(element, _text(element.name))
        parent.children.append(node)
        if element.type is None:
            above.append((node, element.num_children or 0))
    return root


def _leaf_count(root: _Node) -> int:
    count, pending = 0, [root]
    while pending:
        node = pending.pop()
        count += node.element.type is not None
        pending += node.children
    return count


def _type(node: _Node, depth: int = 0) -> SparkType | None:
    """The type that Spark infers of an element, an array where it is repeated; None where unknown."""
    inner = _single(node, depth) if depth < DEPTH_MAX else None
    return array_type(inner) if inner and node.element.repetition_type == _REPEATED else inner


def _single(node: _Node, depth: int) -> SparkType | None:
    element, children = node.element, node.children
    if element.type is not None:
        if element.logicalType is not None and element.logicalType.UNKNOWN is not None:
            return "void"
        form = form_of(element)
        return None if form is None else type_to_json(form.type)
    logical, converted = element.logicalType, element.converted_type
    if is_list(element):
        return _list(node, depth)
    if converted in _CONVERTED_MAPS or (logical is not None and logical.MAP is not None):
        return _map(node, depth)
    if logical is not None and logical.VARIANT is not None:
        return "variant" if {child.name for child in children} >= _VARIANT else None
    if converted is not None or logical is not None:
        return None
    fields = {child.name: _type(child, depth + 1) for child in children if child.name is not None}
    if None in fields.values() or len(fields) != len(children):
        return None
    return struct_type(fields)


def _list(node: _Node, depth: int) -> SparkType | None:
    (repeated,) = node.children
    if repeated.element.repetition_type != _REPEATED:
        return None
    if repeated.element.type is not None or list_element_is_itself(
        node.name, repeated.name, repeated.element
    ):
        inner = _single(repeated, depth + 1)
    else:
        inner = _type(repeated.children[0], depth + 1)
    return array_type(inner) if inner else None


def _map(node: _Node, depth: int) -> SparkType | None:
    if len(node.children) != 1 or len(node.children[0].children) != 2:
        return None
    key, value = (_type(child, depth + 1) for child in node.children[0].children)
    if not key or not value:
        return None
    return map_type(key, value)


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
