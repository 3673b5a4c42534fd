"""The fields of an Iceberg schema that block metadata can know, by their names there."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pruning.expressions import types
from pruning.expressions.names import field_name
from pruning.expressions.types import Type
from pruning.metadata.table.schema import is_nested

_TYPES = {
    "boolean": types.BOOLEAN,
    "int": types.INTEGER,
    "long": types.LONG,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "date": types.DATE,
    "timestamp": types.TIMESTAMP_NTZ,
    "timestamptz": types.TIMESTAMP,
    "string": types.STRING,
    "uuid": types.STRING,
    "binary": types.BINARY,
}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_FIXED = "fixed["


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergField:
    """A field of a table's schema.

    Attributes:
        id: Its id, which it keeps when it is renamed.
        stored: Iceberg's name of its type.
        type: The type that Spark reads it as.
        has_default: True if files from before the field was added give a default instead of NULL.
    """

    id: int
    stored: str
    type: Type
    has_default: bool = False


def fields_of_schema(schema_json: str) -> dict[str, IcebergField]:
    """Return the fields of a schema that are no part of a list or a map, by their names in block metadata.

    Fields of a type without bounds are left out.

    Args:
        schema_json: The schema in the JSON of Iceberg's specification.
    """
    return dict(_fields(json.loads(schema_json), (), has_default=False))


def _fields(
    struct: Mapping[str, Any], path: tuple[str, ...], *, has_default: bool
) -> Iterator[tuple[str, IcebergField]]:
    for field in struct["fields"]:
        below = (*path, field["name"])
        # Block metadata has no column of such a name, because it reads as the name of a field.
        if is_nested(below[0]):
            continue
        stored, defaults = field["type"], has_default or field.get("initial-default") is not None
        if not isinstance(stored, str):
            if stored["type"] == "struct":
                yield from _fields(stored, below, has_default=defaults)
            continue
        type_ = _type(stored)
        if type_ is not None:
            yield (
                field_name(below),
                IcebergField(id=field["id"], stored=stored, type=type_, has_default=defaults),
            )


def _type(stored: str) -> Type | None:
    """Return the type that Spark reads; None for a type that the rules do not know."""
    match = _DECIMAL.fullmatch(stored)
    if match is not None:
        return types.decimal(int(match[1]), int(match[2]))
    return types.BINARY if stored.startswith(_FIXED) else _TYPES.get(stored)
