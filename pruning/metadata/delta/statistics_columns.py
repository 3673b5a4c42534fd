"""The columns of a Delta Lake table of which its files have statistics, by their names in the files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pruning.metadata.delta.log_actions import DeltaMetadata

_COUNT, _NAMES = "delta.dataSkippingNumIndexedCols", "delta.dataSkippingStatsColumns"
_COUNT_DEFAULT = 32
_ID, _PHYSICAL_NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
_COLLATIONS = "__COLLATIONS"
# A name in a list of columns: parts that are plain or in backticks.
_PART = r"(?:`(?:[^`]|``)+`|[^`.,\s]+)"
_LIST = re.compile(rf"\s*{_PART}(?:\.{_PART})*\s*(?:,\s*{_PART}(?:\.{_PART})*\s*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """A column or a field of structs that has no fields itself.

    Attributes:
        path: Its names in the data files, from the top-level column on.
        kind: Its type in the table's schema, as Delta writes it; a mapping for arrays and maps.
        names: Its names in the table.
        is_ordered: False if its values are compared by a collation, and not by their bytes.
    """

    path: tuple[str, ...]
    kind: Any
    names: tuple[str, ...]
    is_ordered: bool


def partition_names(metadata: DeltaMetadata) -> dict[str, str]:
    """Return the names of the partition columns in the log, by their names in the table."""
    names = {field["name"]: _file_name(metadata, field) for field in metadata.schema["fields"]}
    return {column: names[column] for column in metadata.partition_columns}


def data_column_names(metadata: DeltaMetadata) -> frozenset[str]:
    """Return the names in the data files of the top-level columns that are no partition columns."""
    return frozenset(_file_name(metadata, field) for field in _data_fields(metadata))


def column_ids(metadata: DeltaMetadata) -> dict[str, int]:
    """Return the ids that data files must have of their columns, by name; empty if the table has no ids."""
    if _mapping_mode(metadata) == "none":
        return {}
    return {_file_name(metadata, field): field["metadata"][_ID] for field in _data_fields(metadata)}


def statistics_columns(metadata: DeltaMetadata) -> list[FileColumn]:
    """Return the columns that the table's properties ask statistics of, the first 32 by default."""
    columns = list(_leaves(metadata, _data_fields(metadata), (), ()))
    listed = metadata.properties.get(_NAMES)
    if listed is not None:
        wanted = _listed_names(listed)
        prefixes = [{column.names[:size] for size in range(1, len(column.names) + 1)} for column in columns]
        lowered = [{tuple(map(str.lower, names)) for names in part} for part in prefixes]
        return [column for column, names in zip(columns, lowered, strict=True) if names & wanted]
    try:
        count = int(metadata.properties.get(_COUNT, _COUNT_DEFAULT))
    except ValueError:
        count = 0
    return columns if count < 0 else columns[:count]


def _data_fields(metadata: DeltaMetadata) -> list[Mapping[str, Any]]:
    partitions = set(metadata.partition_columns)
    return [field for field in metadata.schema["fields"] if field["name"] not in partitions]


def _leaves(
    metadata: DeltaMetadata, fields: Any, path: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[FileColumn]:
    for field in fields:
        below, named = (*path, _file_name(metadata, field)), (*names, field["name"])
        kind = field["type"]
        if isinstance(kind, Mapping) and kind["type"] == "struct":
            yield from _leaves(metadata, kind["fields"], below, named)
        else:
            is_ordered = _COLLATIONS not in (field.get("metadata") or {})
            yield FileColumn(path=below, kind=kind, names=named, is_ordered=is_ordered)


def _file_name(metadata: DeltaMetadata, field: Mapping[str, Any]) -> str:
    """Return the name of a field in the data files and the log."""
    name: str = field["name"]
    if _mapping_mode(metadata) == "none":
        return name
    physical: str = (field.get("metadata") or {}).get(_PHYSICAL_NAME, name)
    return physical


def _mapping_mode(metadata: DeltaMetadata) -> str:
    return metadata.properties.get("delta.columnMapping.mode", "none")


def _listed_names(text: str) -> set[tuple[str, ...]]:
    """Return the names of a list of columns in small letters; none if it is no such list."""
    if not _LIST.fullmatch(text):
        return set()
    columns = re.findall(rf"{_PART}(?:\.{_PART})*", text)
    return {
        tuple(part.strip("`").replace("``", "`").lower() for part in re.findall(_PART, column))
        for column in columns
    }
