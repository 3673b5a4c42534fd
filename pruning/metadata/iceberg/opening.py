"""Versions of tables of Apache Iceberg, read from their metadata without Java and without a catalog."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes, applied_deletes
from pruning.metadata.iceberg.blocks import iceberg_blocks
from pruning.metadata.iceberg.deleted_positions import IcebergDeletedRows
from pruning.metadata.iceberg.equality_deletes import equality_deletes
from pruning.metadata.iceberg.fields import fields_of_schema
from pruning.metadata.iceberg.layouts import FileLayouts, LaidOutTable, file_layouts, has_one_layout
from pruning.metadata.iceberg.manifests import require_pyiceberg
from pruning.metadata.iceberg.metadata_files import note_of_choice
from pruning.metadata.iceberg.partition_values import DataPartitions
from pruning.metadata.iceberg.planned_files import FieldMetrics, PlannedFiles
from pruning.metadata.iceberg.schema_fields import Json, nested_fields
from pruning.metadata.iceberg.snapshot_files import SnapshotFiles, files_of
from pruning.metadata.iceberg.spark_schema import spark_field
from pruning.metadata.iceberg.table_metadata import (
    TableMetadata,
    choose_version,
    read_table_metadata,
)
from pruning.metadata.versioned.table_version import TableVersion, VersionFiles

_FORMAT = "Apache Iceberg"
_PARQUET = "PARQUET"


def open_iceberg_version(
    path: str, *, version: int | str | None = None, timestamp_us: int | None = None
) -> TableVersion:
    """Return one version of a table of Apache Iceberg.

    Args:
        path: The table's directory, or one of its metadata files (`*.metadata.json`); a path or URI.
        version: The id of a snapshot, or the name of a branch or a tag; None for the current state.
        timestamp_us: The time of the version, us since 1970, instead of `version`.

    Raises:
        InputError: there is no such table or version; its metadata is damaged; or Spark's reader of Parquet
            files would not read it as Iceberg does.
        MissingPackage: PyIceberg is not installed.
    """
    _check_arguments(path, version, timestamp_us)
    require_pyiceberg()
    metadata = read_table_metadata(path)
    opened = choose_version(metadata, version, timestamp_us)
    schema = metadata.schemas[opened.schema_id]
    columns = [spark_field(field, field["name"], metadata.location) for field in schema["fields"]]
    files = files_of(opened.snapshot)
    _check_specs(files, metadata)
    applied = applied_deletes(files, metadata.specs)
    _check_files(applied)
    partitions = DataPartitions(files, applied.data, metadata.specs)
    constants = [field for field in schema["fields"] if _is_constant(partitions, field)]
    layouts = _layouts(metadata, schema, partitions, {field["id"] for field in constants})
    data = applied.data
    return TableVersion(
        format=_FORMAT,
        location=metadata.location,
        version=None if opened.snapshot is None else opened.snapshot.id,
        schema=json.dumps({"type": "struct", "fields": columns}),
        partition_columns=tuple(field["name"] for field in constants),
        layouts=layouts.texts,
        files=VersionFiles(
            paths=tuple(files.paths[place] for place in data),
            byte_counts=files.byte_counts[data],
            modified_ms=np.zeros(len(data), np.int64),
            layouts=layouts.places,
            partition_values=pa.table(
                {field["name"]: partitions.column(field, metadata.location) for field in constants}
            ),
            sequence_numbers=files.sequence_numbers[data],
            partition_ids=files.partition_ids[data],
        ),
        deleted_rows=IcebergDeletedRows(applied),
        equality_deletes=equality_deletes(applied, schema, metadata.location),
        blocks=_Blocks(metadata=metadata, schema=schema, applied=applied, partitions=partitions),
        notes=note_of_choice(path, metadata.file),
    )


def _check_arguments(path: Any, version: Any, timestamp_us: Any) -> None:
    if not isinstance(path, str) or not path:
        raise InputError(f"path: {path!r} is no path or URI of a table; give one as a string")
    if not (version is None or (isinstance(version, int | str) and not isinstance(version, bool))):
        raise InputError(
            f"version: {version!r} is neither the id of a snapshot nor the name of a branch or a tag; give "
            "one"
        )
    if not (timestamp_us is None or (isinstance(timestamp_us, int) and not isinstance(timestamp_us, bool))):
        raise InputError(f"timestamp_us: {timestamp_us!r} is no number of microseconds since 1970; give one")


def _check_specs(files: SnapshotFiles, metadata: TableMetadata) -> None:
    unknown = set(files.spec_ids.tolist()) - metadata.specs.keys()
    if unknown:
        raise InputError(
            f"{metadata.file}: lacks the partition spec {min(unknown)}, which files of the table have; "
            "restore it, or open another version"
        )


def _check_files(applied: AppliedDeletes) -> None:
    files = applied.files
    for place in applied.data:
        if files.formats[place] != _PARQUET:
            raise InputError(
                f"{files.paths[place]}: is a data file in the format {files.formats[place]}, and only "
                "Parquet can be read; rewrite the table's data files"
            )
    paths: set[str] = set()
    for place in applied.data:
        path = files.paths[place]
        if path in paths:
            raise InputError(f"{path}: this data file was added twice to the table; delete one of the two")
        paths.add(path)


def _is_constant(partitions: DataPartitions, field: Json) -> bool:
    """Tell whether a column is read from partition values instead of files.

    Claim     Iceberg reads a column's partition value in each row of a file whose spec has its identity.
    Premises  Iceberg's specification, "Column Projection".
    Proof     Each data file's spec has it.
    Unsound   if the spec of some data file lacks it.
    """
    return len(partitions.data) > 0 and bool(partitions.has_identity(field).all())


def _layouts(
    metadata: TableMetadata, schema: Json, partitions: DataPartitions, constants: set[int]
) -> FileLayouts:
    """Return the layouts of the data files.

    The footers of some files are read: of those of format version 1, because its metadata may lack earlier
    schemas; and of those with partitions that others lack, because files of migrated tables lack the column.
    """
    files, data = partitions.files, partitions.data
    fields = tuple(field for field in schema["fields"] if field["id"] not in constants)
    by_footers: Mask = files.file_sequence_numbers[data] <= 0
    if not has_one_layout(metadata):
        by_footers = np.ones(len(data), np.bool_)
    partly_constant = {}
    if metadata.name_mapping is not None:
        masks = {field["name"]: (field["id"], partitions.has_identity(field)) for field in fields}
        partly_constant = {name: (id_, mask) for name, (id_, mask) in masks.items() if mask.any()}
    for _, mask in partly_constant.values():
        by_footers = by_footers | mask
    paths = [files.paths[place] for place in data]
    table = LaidOutTable(location=metadata.location, fields=fields, name_mapping=metadata.name_mapping)
    layouts = file_layouts(table, paths, files.byte_counts[data], by_footers)
    for name, (id_, mask) in partly_constant.items():
        lacking = np.array([id_ in ids for ids in layouts.lacking], np.bool_)[layouts.places]
        if (mask & lacking).any():
            raise InputError(
                f"{paths[int(np.flatnonzero(mask & lacking)[0])]}: lacks the partition column {name!r}, "
                "which other data files have; rewrite the table's data files"
            )
    return layouts


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Gives block metadata of the data files of a version."""

    metadata: TableMetadata
    schema: Json
    applied: AppliedDeletes
    partitions: DataPartitions

    def __call__(self, names: frozenset[str]) -> pa.Table:
        """Return a block for each data file, with these top-level columns of the table."""
        chosen = [field for field in self.schema["fields"] if field["name"] in names]
        fields = fields_of_schema(json.dumps({"type": "struct", "fields": chosen}))
        files, data = self.applied.files, self.applied.data
        by_id = {field.id: field.stored for field in fields.values()}
        planned = PlannedFiles(
            files=tuple(files.paths[place] for place in data),
            row_counts=files.row_counts[data],
            live_counts=live_counts(self.applied),
            byte_counts=files.byte_counts[data],
            schema_ids=_schema_ids(self.metadata, files.file_sequence_numbers[data]),
            schema_fields={
                id_: frozenset(field["id"] for _, field in nested_fields(schema))
                for id_, schema in self.metadata.schemas.items()
            },
            metrics={id_: self._metrics(id_) for id_ in by_id},
            partitions=self.partitions.values_of(by_id),
            has_name_mapping=self.metadata.name_mapping is not None,
        )
        return iceberg_blocks(planned, fields)

    def _metrics(self, field_id: int) -> FieldMetrics:
        files, data = self.applied.files, self.applied.data
        return FieldMetrics(
            value_counts=files.counts("value_counts", field_id)[data],
            null_counts=files.counts("null_value_counts", field_id)[data],
            nan_counts=files.counts("nan_value_counts", field_id)[data],
            byte_counts=files.counts("column_sizes", field_id)[data],
            lower=files.bounds("lower_bounds", field_id).take(data),
            upper=files.bounds("upper_bounds", field_id).take(data),
        )


def live_counts(applied: AppliedDeletes) -> Numbers:
    """Return the number of live rows of each data file, ABSENT where it is not known; shape (files,).

    Claim     A number is exact.
    Premises  A deletion vector's count of records in its manifest is its cardinality.
    Proof     (1) Without deletes, each row that was written is live.
              (2) A deletion vector has each deleted position once.
              (3) Files with positions or values may delete a row twice: the number is not known.
    Unsound   if the records of a file with positions were subtracted.
    """
    files, data = applied.files, applied.data
    rows = files.row_counts[data]
    live: Numbers = np.where(rows < 0, ABSENT, rows)  # (1)
    if applied.vectors or applied.scoped or applied.partitioned:
        for lane, place in enumerate(data.tolist()):
            vector = applied.vectors.get(place)
            if vector is not None:
                left = rows[lane] - files.row_counts[vector]
                live[lane] = left if 0 <= left <= rows[lane] else ABSENT  # (2)
            elif applied.position_files(place):
                live[lane] = ABSENT  # (3)
    return np.where(applied.under_equality, ABSENT, live)  # (3)


def _schema_ids(metadata: TableMetadata, file_sequence_numbers: Numbers) -> Numbers:
    """Return the table's schema when each file was added, ABSENT where it is not known."""
    schemas = dict(_schemas_by_number(metadata))
    return np.array([schemas.get(number, ABSENT) for number in file_sequence_numbers.tolist()], np.int64)


def _schemas_by_number(metadata: TableMetadata) -> Iterator[tuple[int, int]]:
    snapshots: Mapping[int, Any] = metadata.snapshots
    for snapshot in snapshots.values():
        # Snapshots of format version 1 share the number 0.
        if snapshot.sequence_number > 0 and snapshot.schema_id is not None:
            yield snapshot.sequence_number, snapshot.schema_id
