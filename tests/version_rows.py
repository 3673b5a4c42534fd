"""The rows of a version of a table, read with pyarrow from what `TableVersion` says and from nothing else."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from pruning.metadata.versioned.table_version import (
    EVERY_PARTITION,
    PARTITION,
    SEQUENCE,
    EqualityDeletes,
    TableVersion,
)

Row = dict[str, Any]


def rows_by_file(version: TableVersion) -> dict[str, list[Row]]:
    """Return the live rows of each data file, by its path."""
    files = version.files
    bitmaps = version.deleted_rows.positions(range(len(files.paths)))
    rows = {}
    for place, path in enumerate(files.paths):
        written = written_rows(version, place)
        assert not bitmaps[place] or version.deleted_rows.mask[place]
        rows[path] = [
            row
            for position, row in enumerate(written)
            if position not in bitmaps[place] and not _is_deleted_by_values(version, place, row)
        ]
    return rows


def live_rows(version: TableVersion) -> list[Row]:
    """Return the live rows of a version, in no order."""
    return [row for rows in rows_by_file(version).values() for row in rows]


def written_rows(version: TableVersion, place: int) -> list[Row]:
    """Return all rows of a data file, those that are deleted too, by the table's names of columns."""
    files = version.files
    path = files.paths[place]
    fields = json.loads(version.schema)["fields"]
    in_files = [field for field in fields if field["name"] not in version.partition_columns]
    layout = json.loads(version.layouts[files.layouts[place]])["fields"]
    assert len(layout) == len(in_files)
    constants = {
        name: files.partition_values.column(name)[place].as_py() for name in version.partition_columns
    }
    rows = []
    for written in pq.ParquetFile(urlsplit(path).path).read().to_pylist():
        read = _struct(written, in_files, layout)
        rows.append({field["name"]: {**read, **constants}[field["name"]] for field in fields})
    return rows


def _struct(written: Row, fields: Sequence[Any], layout: Sequence[Any]) -> Row:
    row = {}
    for field, column in zip(fields, layout, strict=True):
        value = written.get(column["name"])
        if column["name"] not in written:
            value = _default(column["metadata"].get("EXISTS_DEFAULT"))
        row[field["name"]] = _value(value, field["type"], column["type"])
    return row


def _default(literal: str | None) -> Any:
    """Return the value of a literal that is a whole number in quotes, as defaults in these tests are."""
    return None if literal is None else int(literal.split("'")[1])


def _value(value: Any, type_: Any, column: Any) -> Any:
    if value is None or isinstance(type_, str):
        return value
    if type_["type"] == "struct":
        return _struct(value, type_["fields"], column["fields"])
    if type_["type"] == "array":
        return [_value(element, type_["elementType"], column["elementType"]) for element in value]
    items = value.items() if isinstance(value, Mapping) else value
    return {key: _value(below, type_["valueType"], column["valueType"]) for key, below in items}


def _is_deleted_by_values(version: TableVersion, place: int, row: Row) -> bool:
    return any(_deletes(deletes, version, place, row) for deletes in version.equality_deletes)


def _deletes(deletes: EqualityDeletes, version: TableVersion, place: int, row: Row) -> bool:
    number, partition = version.files.sequence_numbers[place], version.files.partition_ids[place]
    values = [_at(row, path) for path in deletes.columns]
    for deleted in deletes.rows.to_pylist():
        applies = number < deleted[SEQUENCE] and deleted[PARTITION] in (EVERY_PARTITION, partition)
        if applies and all(same(value, deleted[str(at)]) for at, value in enumerate(values)):
            return True
    return False


def _at(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        row = None if row is None else row[name]
    return row


def same(value: Any, other: Any) -> bool:
    """Tell whether two values are the same: NULL is the same as NULL, and NaN as NaN."""
    return bool(value == other) or bool(value != value and other != other)


def problem_of_blocks(version: TableVersion, names: Sequence[str]) -> str | None:
    """Return the first untrue thing that block metadata says of these columns; None if all is true."""
    metadata = version.blocks(frozenset(names))
    rows = rows_by_file(version)
    for block in metadata.to_pylist():
        live = rows[block["file"]]
        deleted = block.get("rows_deleted") or False
        if block["row_count"] < len(live) or (not deleted and block["row_count"] != len(live)):
            return f"{block['file']}: {block['row_count']} rows instead of {len(live)}, {deleted=}"
        for name, column in block["columns"].items():
            values = [row[name] for row in live if row[name] is not None]
            wrong = _problem_of_column(column, values, len(live), deleted=deleted)
            if wrong is not None:
                return f"{block['file']}: {wrong} of {name} in {column}, where it has {values}"
    return None


def _problem_of_column(column: Row, values: list[Any], count: int, *, deleted: bool) -> str | None:
    nulls = count - len(values)
    numbers = [value for value in values if value == value]
    if column["null_count"] is not None and (
        column["null_count"] < nulls if deleted else column["null_count"] != nulls
    ):
        return "null_count"
    if column["min"] is not None and any(value < column["min"] for value in numbers):
        return "min"
    if column["max"] is not None and any(value > column["max"] for value in numbers):
        return "max"
    return None
