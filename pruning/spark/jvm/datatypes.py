"""Spark's data types, read from Spark's JSON."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pruning.expressions import types
from pruning.expressions.type_names import NAMES
from pruning.expressions.types import DECIMAL_PRECISION_MAX, Kind, Type
from pruning.spark.jvm.gateway import Java

_COLLATIONS = "__COLLATIONS"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def type_from_json(written: object) -> Type:
    """Return the type that decoded JSON names; unknown for nested, collated, user-defined and newer types."""
    if not isinstance(written, str):
        return types.unknown(json.dumps(written))
    match = _DECIMAL.fullmatch(written)
    if match is None:
        return NAMES.get(written) or types.unknown(written)
    precision, scale = int(match[1]), int(match[2])
    fits = 1 <= precision <= DECIMAL_PRECISION_MAX and scale <= precision
    return types.decimal(precision, scale) if fits else types.unknown(written)


def fields_of(type_: Type) -> list[tuple[str, Type]]:
    """Return the fields of a struct in order, each with its exact name; empty for any other type."""
    fields = _nested_json(type_, "struct").get("fields", [])
    return [(field["name"], type_of_field(field)) for field in fields]


def element_of(type_: Type) -> Type | None:
    """Return the type of an array's elements; None for any other type."""
    written = _nested_json(type_, "array")
    return type_from_json(written["elementType"]) if written else None


def map_parts_of(type_: Type) -> tuple[Type, Type] | None:
    """Return the types of a map's keys and values; None for any other type."""
    written = _nested_json(type_, "map")
    return (type_from_json(written["keyType"]), type_from_json(written["valueType"])) if written else None


def _nested_json(type_: Type, kind: str) -> Mapping[str, Any]:
    """Return the JSON of a nested type of one kind; empty for any other type."""
    if type_.kind is not Kind.UNKNOWN or not type_.name.startswith("{"):
        return {}
    decoded = json.loads(type_.name)
    return decoded if decoded.get("type") == kind else {}


def type_of_field(field: Mapping[str, Any]) -> Type:
    """Return the type of a struct's field, or of a schema's, from its decoded JSON.

    Spark writes a collated string there as a string, with the collation in the field's metadata.
    """
    if _COLLATIONS in field.get("metadata", {}):
        return types.unknown("string of another collation")
    return type_from_json(field["type"])


def type_of_java(java: Java) -> Type:
    """Return the type of a Catalyst expression or attribute."""
    return type_from_json(json.loads(java.dataType().json()))
