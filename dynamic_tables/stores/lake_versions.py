"""Versions of tables that others write: of Delta Lake and Apache Iceberg, and directories of Parquet files.

A version is a set of files, each with a mark that differs when its live rows do. So two versions differ only
in rows of files that are not in both with the same mark.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dynamic_tables.on_spark.physical_types import type_of_spark
from dynamic_tables.values.types import Field
from pruning.errors import InputError, MissingPackage
from pruning.metadata.files.locations import is_on_local_disk
from pruning.metadata.files.table_formats import DELTA, ICEBERG, table_format
from pruning.metadata.versioned.table_version import TableVersion

DEFAULT = "EXISTS_DEFAULT"


class VersionGone(Exception):
    """A version, or a file of it, can no longer be read."""


@dataclass(frozen=True)
class LakeVersion:
    """One version of a table.

    Attributes:
        number: The version or the id of the snapshot; None of a directory of Parquet files.
        marks: The mark of each file, by its path.
        fields: The columns whose types have a counterpart here.
        version: The version as its format has it; None of a directory of Parquet files.
    """

    location: str
    number: int | None
    marks: Mapping[str, str]
    fields: tuple[Field, ...]
    version: TableVersion | None

    def rows(self, paths: Collection[str]) -> Iterator[pa.Table]:
        """Yield the live rows of files, one table for each, with the columns of `fields`.

        Raises:
            VersionGone: A file is gone.
        """
        for place, path in enumerate(self.marks):
            if path in paths:
                try:
                    yield self.file_rows(place, path)
                except FileNotFoundError:
                    raise VersionGone(f"{path} is gone") from None

    def file_rows(self, place: int, path: str) -> pa.Table:
        """Return the live rows of one file."""
        names = [field.name for field in self.fields]
        if self.version is None:
            return pq.ParquetFile(path).read(columns=names).select(names)
        return rows_of_version(self.version, place, path, names)


def open_lake_version(location: str, number: int | None = None) -> LakeVersion:
    """Return a version of a table, the newest unless one is named.

    Args:
        location: The directory of the table, on the local disk.
        number: The version of Delta Lake, or the id of the snapshot of Iceberg.

    Raises:
        InputError: There is no table, or it has what is not supported.
        VersionGone: There is no such version.
    """
    if not is_on_local_disk(location):
        raise InputError(f"{location}: tables that others write have to be on the local disk so far")
    match table_format(location):
        case format_ if format_ == DELTA:
            version = open_version("delta", location, number)
        case format_ if format_ == ICEBERG:
            version = open_version("iceberg", location, number)
        case _:
            if number is not None:
                raise VersionGone("a directory of Parquet files has no versions")
            return parquet_directory(location)
    check_supported(version)
    fields = fields_of_schema(json.loads(version.schema)["fields"])
    return LakeVersion(location, version.version, marks_of(version), fields, version)


def open_version(extra: str, location: str, number: int | None) -> TableVersion:
    """Open a version of a format whose packages are in an extra; a version that is named may be gone."""
    try:
        opening: Any = import_module(f"pruning.metadata.{extra}.opening")
    except ImportError as error:
        raise MissingPackage(
            f"{location} needs the extra {extra}: pip install 'skipproof[{extra}]'"
        ) from error
    try:
        version: TableVersion = getattr(opening, f"open_{extra}_version")(location, version=number)
    except InputError as error:
        if number is None:
            raise
        raise VersionGone(str(error)) from None
    return version


def check_supported(version: TableVersion) -> None:
    """Raise InputError for a version whose rows Python does not read."""
    if version.equality_deletes:
        raise InputError(f"{version.location}: equality deletes are not supported: compact the table")
    if any(DEFAULT in layout for layout in version.layouts):
        raise InputError(f"{version.location}: columns with defaults are not supported: rewrite the files")


def fields_of_schema(columns: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    """Return the columns of a schema of Spark that have a type here; others are left out."""
    fields = []
    for column in columns:
        type_ = type_of_spark(column["type"])
        if type_ is not None:
            fields.append(Field(column["name"], type_))
    return tuple(fields)


def marks_of(version: TableVersion) -> dict[str, str]:
    """Return a mark for each file, which has its size and which of its rows are deleted."""
    places = np.flatnonzero(version.deleted_rows.mask).tolist()
    deleted = dict(zip(places, version.deleted_rows.positions(places), strict=True))
    return {
        path: f"{size} {digest(deleted[place]) if place in deleted else ''}".strip()
        for place, (path, size) in enumerate(zip(version.files.paths, version.files.byte_counts, strict=True))
    }


def digest(positions: Any) -> str:
    """Return a hash of the positions of deleted rows."""
    return hashlib.blake2b(np.asarray(positions.to_array()).tobytes(), digest_size=8).hexdigest()


def rows_of_version(version: TableVersion, place: int, path: str, names: Sequence[str]) -> pa.Table:
    """Return the live rows of the file at a place, with the columns of the table."""
    schema = [column["name"] for column in json.loads(version.schema)["fields"]]
    layout = json.loads(version.layouts[version.files.layouts[place]])["fields"]
    in_files = [name for name in schema if name not in version.partition_columns]
    stored = {name: field["name"] for name, field in zip(in_files, layout, strict=True)}
    file = pq.ParquetFile(path.removeprefix("file:"))
    there = set(file.schema_arrow.names)
    wanted = [stored[name] for name in names if stored.get(name) in there]
    table = file.read(columns=wanted)
    count = file.metadata.num_rows
    columns = []
    for name in names:
        if name in version.partition_columns:
            value = version.files.partition_values[name][place]
            columns.append(pa.array([value.as_py()] * count, value.type))
        else:
            columns.append(table[stored[name]] if stored[name] in there else pa.nulls(count))
    rows = pa.Table.from_arrays([as_chunked(column) for column in columns], names=list(names))
    if not version.deleted_rows.mask[place]:
        return rows
    (positions,) = version.deleted_rows.positions([place])
    live = np.ones(count, bool)
    live[np.asarray(positions.to_array(), dtype=np.int64)] = False
    return rows.filter(pa.array(live))


def as_chunked(column: Any) -> pa.ChunkedArray:
    """Return a column in chunks."""
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def parquet_directory(location: str) -> LakeVersion:
    """Return the Parquet files that a directory has now.

    Raises:
        InputError: It has none, or partitions, or files of several schemas.
    """
    paths = sorted(path for path in Path(location).glob("*.parquet") if not path.name.startswith(("_", ".")))
    if not paths:
        raise InputError(f"{location}: no Parquet file is in this directory")
    schema = pq.read_schema(paths[0])
    for path in paths[1:]:
        if not pq.read_schema(path).equals(schema):
            raise InputError(f"{path}: its schema is not that of {paths[0].name}: rewrite it")
    fields = fields_of_schema([{"name": field.name, "type": spark_name(field.type)} for field in schema])
    return LakeVersion(location, None, {str(path): mark_of_file(path) for path in paths}, fields, None)


def mark_of_file(path: Path) -> str:
    """Return the mark of a file that may be written again."""
    status = os.stat(path)
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"


def spark_name(type_: pa.DataType) -> str:
    """Return the name in Spark of an Arrow type; that of Arrow for one that has no counterpart here."""
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp"
    names = {
        pa.int8(): "byte", pa.int16(): "short", pa.int32(): "integer", pa.int64(): "long",
        pa.float32(): "float", pa.float64(): "double", pa.string(): "string", pa.large_string(): "string",
        pa.bool_(): "boolean", pa.date32(): "date", pa.binary(): "binary", pa.large_binary(): "binary",
    }  # fmt: skip
    return names.get(type_, str(type_))
