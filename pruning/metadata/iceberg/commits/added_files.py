"""The entries of Parquet files that a change adds: partition, counts and bounds, from their footers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import (
    parquet_files_to_data_files,
    parquet_path_to_id_mapping,
    pyarrow_to_schema,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from pruning.errors import InputError
from pruning.metadata.iceberg.commits.changes import NewDataFile
from pruning.metadata.iceberg.commits.refusals import check_address


def added_data_file(io: Any, metadata: Any, added: NewDataFile, read_files: Mapping[str, Any]) -> Any:
    """Return the `DataFile` of a Parquet file.

    PyIceberg would take a file's partition from the bounds of its columns, which may be absent and say
    nothing of NULL. So the writer of the file names the partition, which is compared with the bounds.

    Args:
        io: The `FileIO` of the table.
        metadata: The table's metadata, by whose current schema the file was written.
        added: The file.
        read_files: Entries of the snapshot that was read, by path; it has `added.beside`.
    Raises:
        InputError: the file is missing, damaged, or does not fit the table or its partition.
    """
    check_address(added.path)
    schema = metadata.schema()
    # Partition and bounds are independent here: the partition is checked by bounds of all columns in full.
    data_file = _entry(io, metadata, metadata.properties, added.path)
    exact = _entry(io, metadata, {"write.metadata.metrics.default": "full"}, added.path)
    _check_required(exact, schema)
    spec, values = _partition(metadata, added, read_files)
    if len(values) != len(spec.fields):
        raise InputError(
            f"{added.path}: {len(values)} partition values for the {len(spec.fields)} fields of the table's "
            "partition spec; give one for each field."
        )
    _check_partition(exact, spec, values, schema)
    return _in_partition(data_file, spec.spec_id, Record(*values))


def _partition(
    metadata: Any, added: NewDataFile, read_files: Mapping[str, Any]
) -> tuple[Any, tuple[Any, ...]]:
    """Return the partition spec of a file, and its values.

    Raises:
        InputError: the table has no such spec, or is partitioned and the file has none.
    """
    if added.beside is not None:
        neighbor = read_files[added.beside].data_file
        return metadata.specs()[neighbor.spec_id], tuple(neighbor.partition)
    # Of another spec, which may have become the default since, the same values are another partition.
    spec = metadata.spec() if added.spec_id is None else metadata.specs().get(added.spec_id)
    if spec is None or (added.spec_id is None and spec.fields):
        raise InputError(
            f"{added.path}: the file's partition spec is {added.spec_id}, and the table has "
            f"{sorted(metadata.specs())}; name the one that the file was written by."
        )
    return spec, added.partition


def _entry(io: Any, metadata: Any, properties: Mapping[str, str], path: str) -> Any:
    """Return the `DataFile` of a Parquet file in no partition, with the metrics that properties ask for."""
    plain = metadata.model_copy(
        update={
            "schemas": [_optional(metadata.schema())],
            "partition_specs": [UNPARTITIONED_PARTITION_SPEC],
            "default_spec_id": UNPARTITIONED_PARTITION_SPEC.spec_id,
            "properties": properties,
        }
    )
    try:
        [data_file] = parquet_files_to_data_files(io, plain, iter([path]))
        with io.new_input(path).open() as stream:
            footer = pq.read_metadata(stream)
        written = pyarrow_to_schema(footer.schema.to_arrow_schema(), metadata.name_mapping())
    # PyIceberg and Arrow raise errors of many classes for files that are missing or unlike the table.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: the file cannot be added to the table: {reason}") from error
    _check_names(path, written, metadata.schema())
    _weaken(data_file, footer, metadata.schema())
    return data_file


def _optional(schema: Any) -> Any:
    """Return a schema whose columns may be NULL, as in files of Spark; `_check_required` counts NULLs."""
    fields = [
        field.model_copy(update={"required": field.required and not field.field_type.is_primitive})
        for field in schema.fields
    ]
    return Schema(*fields, schema_id=schema.schema_id)


def _check_required(data_file: Any, schema: Any) -> None:
    """Check that a file has a value in each row of a required column.

    Raises:
        InputError: one may be NULL.
    """
    for field in schema.fields:
        nulls = (data_file.null_value_counts or {}).get(field.field_id)
        if field.required and field.field_type.is_primitive and nulls != 0:
            raise InputError(
                f"{data_file.file_path}: the column {field.name} is required, and the file may have NULL in "
                "it; write a value in each row."
            )


def _check_names(path: str, written: Any, schema: Any) -> None:
    """Check that a file's columns have the names of the table's columns with their ids.

    Readers take columns by their ids, and PyIceberg counts and bounds them by their names.

    Raises:
        InputError: they have not.
    """
    for field_id in sorted(written.field_ids):
        name, expected = written.find_column_name(field_id), schema.find_column_name(field_id)
        if name != expected:
            raise InputError(
                f"{path}: column {name!r} has the id {field_id}, which in the table is that of {expected!r}; "
                "write the file by the table's present schema."
            )


def _in_partition(data_file: Any, spec_id: int, partition: Any) -> Any:
    """Return the same entry in a partition."""
    placed = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=data_file.file_path,
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=data_file.record_count,
        file_size_in_bytes=data_file.file_size_in_bytes,
        column_sizes=data_file.column_sizes,
        value_counts=data_file.value_counts,
        null_value_counts=data_file.null_value_counts,
        nan_value_counts=data_file.nan_value_counts,
        lower_bounds=data_file.lower_bounds,
        upper_bounds=data_file.upper_bounds,
        split_offsets=data_file.split_offsets,
    )
    placed.spec_id = spec_id
    return placed


def _weaken(data_file: Any, footer: Any, schema: Any) -> None:
    """Remove what PyIceberg says of columns of which some row group says nothing.

    Claim     What stays is true of all rows of the file.
    Premises  The footer's statistics are true.
    Proof     (1) Bounds stay if each row group has bounds or only NULL.
              (2) A count of NULL stays if each row group has one.
    Unsound   if a row group without bounds, as one with NaN, is passed over: its values may be anywhere.
    """
    ids = parquet_path_to_id_mapping(schema)
    for number in range(footer.num_row_groups):
        row_group = footer.row_group(number)
        for place in range(footer.num_columns):
            column = row_group.column(place)
            statistics = column.statistics
            counted = statistics is not None and statistics.has_null_count
            only_null = counted and statistics.null_count == column.num_values
            field_id = ids[column.path_in_schema]
            if not (only_null or (statistics is not None and statistics.has_min_max)):  # (1)
                data_file.lower_bounds.pop(field_id, None)
                data_file.upper_bounds.pop(field_id, None)
            if not counted:  # (2)
                data_file.null_value_counts.pop(field_id, None)


def _check_partition(data_file: Any, spec: Any, values: Sequence[Any], schema: Any) -> None:
    """Check a partition's values against a file's bounds.

    Raises:
        InputError: rows of the file belong to another partition.
    """
    for field, value in zip(spec.fields, values, strict=True):
        source = schema._lazy_id_to_field.get(field.source_id)
        if source is not None and data_file.record_count and not _fits(data_file, field, source, value):
            raise InputError(
                f"{data_file.file_path}: the file has rows outside the partition {field.name} = {value!r}; "
                "write one file for each partition."
            )


def _fits(data_file: Any, field: Any, source: Any, value: Any) -> bool:
    """Tell if all rows of a file may have a partition's value; true if its counts and bounds do not tell."""
    nulls = (data_file.null_value_counts or {}).get(field.source_id)
    stored = [
        (bounds or {}).get(field.source_id) for bounds in (data_file.lower_bounds, data_file.upper_bounds)
    ]
    bounds = [from_bytes(source.field_type, bound) for bound in stored if bound is not None]
    if str(field.transform) == "void":
        return value is None
    if value is None:
        return nulls in (None, data_file.record_count) and not bounds
    if nulls:
        return False
    if not field.transform.preserves_order or len(bounds) < 2:
        return True
    try:
        lower, upper = map(field.transform.transform(source.field_type), bounds)
    except OverflowError:
        # Python has no dates after 9999.
        return True
    return bool(lower == value == upper)
