"""The columns of a table of Delta Lake: for users, as files have them, and as statistics name them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pruning.errors import InputError
from pruning.expressions import types
from pruning.expressions.names import field_name
from pruning.expressions.types import Type
from pruning.metadata.delta.type_changes import CHANGES, check_changes, widened_columns
from pruning.metadata.table.schema import is_nested

_PHYSICAL_NAME, COLUMN_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"
_COLLATIONS, _COMMENT = "__COLLATIONS", "comment"
_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_TYPES = {
    "boolean": types.BOOLEAN,
    "byte": types.BYTE,
    "short": types.SHORT,
    "integer": types.INTEGER,
    "long": types.LONG,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "binary": types.BINARY,
    "date": types.DATE,
    "timestamp": types.TIMESTAMP,
    "timestamp_ntz": types.TIMESTAMP_NTZ,
    "decimal": types.decimal(10, 0),
}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaField:
    """A field that is no part of an array or a map.

    Attributes:
        path: Its names in files and in statistics, from the top.
        type: The type that Spark reads it as.
        was_float: True if it was a float that became a double, so that statistics may round as floats do.
        is_padded: True if a reader may pad its texts with blanks.
    """

    path: tuple[str, ...]
    type: Type
    was_float: bool = False
    is_padded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaColumns:
    """The columns of a table.

    Attributes:
        schema: The columns for users, a `StructType` of Spark as JSON.
        layout: The columns in files, likewise.
        partition_fields: By the names of the partition columns.
        fields: The other fields, by their names in block metadata; those of a type without bounds are left
            out.
        ids: The ids of the fields in files, by their paths; elements, keys and values are parts of them.
        widened: The top-level columns of which files may have a narrower type.
    """

    schema: str
    layout: str
    partition_fields: Mapping[str, DeltaField]
    fields: Mapping[str, DeltaField]
    ids: Mapping[tuple[str, ...], int]
    widened: tuple[str, ...] = ()


def columns_of(location: str, metadata: Mapping[str, Any], *, is_mapped: bool) -> DeltaColumns:
    """Return the columns of a table from its metadata.

    Args:
        location: The table's directory.
        metadata: The action `metaData`.
        is_mapped: True if columns in files have other names.

    Raises:
        InputError: the metadata is damaged.
    """
    try:
        fields = json.loads(metadata["schemaString"])["fields"]
        check_changes(location, fields)
        partition_columns = list(metadata["partitionColumns"] or ())
        by_name = {field["name"]: field for field in fields}
        others = [field for field in fields if field["name"] not in partition_columns]
        return DeltaColumns(
            schema=json.dumps(_struct(fields, is_mapped=False)),
            layout=json.dumps(_struct(others, is_mapped=is_mapped)),
            partition_fields={
                name: _partition_field(location, by_name[name], is_mapped=is_mapped)
                for name in partition_columns
            },
            fields=dict(_fields(others, (), (), is_mapped=is_mapped)),
            ids=dict(_ids(others)) if is_mapped else {},
            widened=widened_columns(others),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{location}: its schema in the log is damaged ({error!r}); restore the commit that wrote it"
        ) from error


def _struct(fields: Sequence[Json], *, is_mapped: bool) -> Json:
    return {"type": "struct", "fields": [_column(field, is_mapped=is_mapped) for field in fields]}


def _column(field: Json, *, is_mapped: bool) -> Json:
    """Return a field with the name that it has for users or in files, and the metadata that Spark needs.

    Spark keeps the collations of a field's texts under paths that begin with the field's name.
    """
    old, metadata = field["name"], field.get("metadata") or {}
    name = metadata[_PHYSICAL_NAME] if is_mapped else old
    kept: Json = {_COMMENT: metadata[_COMMENT]} if _COMMENT in metadata and not is_mapped else {}
    if _COLLATIONS in metadata:
        collations = metadata[_COLLATIONS].items()
        kept[_COLLATIONS] = {f"{name}{path.removeprefix(old)}": text for path, text in collations}
    type_ = _type(field["type"], is_mapped=is_mapped)
    return {"name": name, "type": type_, "nullable": field["nullable"], "metadata": kept}


def _type(type_: Any, *, is_mapped: bool) -> Any:
    if not isinstance(type_, dict):
        return type_
    match type_["type"]:
        case "struct":
            return _struct(type_["fields"], is_mapped=is_mapped)
        case "array":
            return type_ | {"elementType": _type(type_["elementType"], is_mapped=is_mapped)}
        case "map":
            sides = {side: _type(type_[side], is_mapped=is_mapped) for side in ("keyType", "valueType")}
            return type_ | sides
        case _:
            return type_


def _fields(
    fields: Sequence[Json], names: tuple[str, ...], path: tuple[str, ...], *, is_mapped: bool
) -> Iterator[tuple[str, DeltaField]]:
    for field in fields:
        below = (*names, field["name"])
        # Block metadata has no column of such a name, because it reads as the name of a field.
        if is_nested(below[0]):
            continue
        physical = (*path, _physical_name(field, is_mapped=is_mapped))
        if isinstance(field["type"], dict):
            if field["type"]["type"] == "struct":
                yield from _fields(field["type"]["fields"], below, physical, is_mapped=is_mapped)
            continue
        type_ = _sql_type(field)
        if type_ is not None:
            yield field_name(below), _field(field, physical, type_)


def _field(field: Json, path: tuple[str, ...], type_: Type) -> DeltaField:
    metadata = field.get("metadata") or {}
    old_types = [change["fromType"] for change in metadata.get(CHANGES, ())]
    is_padded = str(metadata.get(_CHAR_TYPE, "")).lower().startswith("char")
    return DeltaField(path=path, type=type_, was_float="float" in old_types, is_padded=is_padded)


def _partition_field(location: str, field: Json, *, is_mapped: bool) -> DeltaField:
    type_ = _sql_type(field)
    if type_ is None:
        raise InputError(
            f"{location}: is partitioned by {field['name']} of the type {field['type']}, which this package "
            "does not read; read the table with an engine that does"
        )
    return _field(field, (_physical_name(field, is_mapped=is_mapped),), type_)


def _physical_name(field: Json, *, is_mapped: bool) -> str:
    name: str = field["metadata"][_PHYSICAL_NAME] if is_mapped else field["name"]
    return name


def _sql_type(field: Json) -> Type | None:
    """Return the type that Spark reads; None for one that the rules do not know, or a collated text."""
    stored = field["type"]
    if not isinstance(stored, str) or field["name"] in (field.get("metadata") or {}).get(_COLLATIONS, {}):
        return None
    if stored.startswith("decimal("):
        precision, scale = stored.removeprefix("decimal(").removesuffix(")").split(",")
        return types.decimal(int(precision), int(scale))
    return _TYPES.get(stored)


def _ids(fields: Sequence[Json], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    for field in fields:
        below = (*path, _physical_name(field, is_mapped=True))
        yield below, field["metadata"][COLUMN_ID]
        yield from _ids_inside(field["type"], below)


def _ids_inside(type_: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    if not isinstance(type_, dict):
        return
    if type_["type"] == "struct":
        yield from _ids(type_["fields"], path)
    for side in ("element", "key", "value"):
        if f"{side}Type" in type_:
            yield from _ids_inside(type_[f"{side}Type"], (*path, side))
