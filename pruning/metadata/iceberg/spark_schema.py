"""Iceberg's schemas as Spark's: the types in which Iceberg's reader for Spark shows them, as JSON."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from pruning.errors import InputError

# A type or field of Spark in its JSON.
SparkJson: TypeAlias = Any
_PRIMITIVES = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "string": "string",
    "binary": "binary",
}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_FIXED = re.compile(r"fixed\[\d+\]")
# Of a decimal with more digits, Spark's vectorized reader fails.
_DEFAULT_DIGITS_MAX = 18
_EXISTS_DEFAULT = "EXISTS_DEFAULT"


def spark_type(stored: Any, column: str, table: str) -> SparkJson:
    """Return the type of Spark that Iceberg's reader gives values of a type.

    Args:
        stored: The type in the JSON of Iceberg's specification.
        column: The column's name, for the error.
        table: The table's location, for the error.

    Raises:
        InputError: Spark has no such type, or its reader of Parquet does not read it.
    """
    if isinstance(stored, Mapping):
        match stored["type"]:
            case "struct":
                fields = [spark_field(field, column, table) for field in stored["fields"]]
                return {"type": "struct", "fields": fields}
            case "list":
                return {
                    "type": "array",
                    "elementType": spark_type(stored["element"], column, table),
                    "containsNull": not stored.get("element-required", False),
                }
            case "map":
                return {
                    "type": "map",
                    "keyType": spark_type(stored["key"], column, table),
                    "valueType": spark_type(stored["value"], column, table),
                    "valueContainsNull": not stored.get("value-required", False),
                }
    text = stored if isinstance(stored, str) else str(stored)
    match = _DECIMAL.fullmatch(text)
    if match is not None:
        return f"decimal({match[1]},{match[2]})"
    if _FIXED.fullmatch(text):
        return "binary"
    if text not in _PRIMITIVES:
        # Spark's reader of Parquet refuses the annotation UUID.
        raise InputError(
            f"{table}: the column {column!r} has Iceberg's type {text!r}, which Spark's reader of Parquet "
            "files cannot read; read the table with Iceberg's own runtime"
        )
    return _PRIMITIVES[text]


def spark_field(field: Mapping[str, Any], column: str, table: str) -> SparkJson:
    """Return a field of a schema as a field of Spark; the other arguments are as for `spark_type`."""
    metadata = {} if field.get("doc") is None else {"comment": field["doc"]}
    return {
        "name": field["name"],
        "type": spark_type(field["type"], column, table),
        "nullable": not field.get("required", False),
        "metadata": metadata,
    }


def default_metadata(field: Mapping[str, Any], table: str) -> dict[str, str]:
    """Return the metadata of a top-level column, by which Spark gives its initial default if a file lacks it.

    Args:
        field: The field in the JSON of Iceberg's specification.
        table: The table's location, for the error.

    Raises:
        InputError: Spark's reader of Parquet does not give defaults of the type.
    """
    default, stored = field.get("initial-default"), field["type"]
    if default is None:
        return {}
    match = _DECIMAL.fullmatch(stored) if isinstance(stored, str) else None
    is_wide = match is not None and int(match[1]) > _DEFAULT_DIGITS_MAX
    if not isinstance(stored, str) or is_wide or stored == "binary" or _FIXED.fullmatch(stored):
        raise InputError(
            f"{table}: the column {field['name']!r} has an initial default of Iceberg's type {stored!r}, "
            "which Spark's reader of Parquet files cannot give; read the table with Iceberg's own runtime"
        )
    return {_EXISTS_DEFAULT: _literal(default, stored)}


def _literal(value: Any, stored: str) -> str:
    """Return a default, in Iceberg's JSON of single values, as a literal of Spark's SQL."""
    if stored == "boolean":
        return str(bool(value)).lower()
    if stored == "string":
        # In hexadecimal digits, as settings of Spark change the meaning of a backslash.
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    if stored in ("date", "timestamp", "timestamptz"):
        return f"CAST('{value}' AS {_PRIMITIVES[stored].upper()})"
    return f"CAST('{value}' AS {'INT' if stored == 'int' else _sql_name(stored)})"


def _sql_name(stored: str) -> str:
    return {"long": "BIGINT"}.get(stored, stored.upper())
