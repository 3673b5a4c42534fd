"""The rows that Iceberg deletes by their values, read from delete files in Parquet."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pruning.errors import InputError
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes, deletes_any
from pruning.metadata.iceberg.file_trees import FileField, tree_of_schema
from pruning.metadata.iceberg.metadata_files import first_line, open_location
from pruning.metadata.iceberg.remembered import BoundedMemory
from pruning.metadata.iceberg.schema_fields import Json
from pruning.metadata.table.structs import field_of
from pruning.metadata.versioned.table_version import PARTITION, SEQUENCE, EqualityDeletes

_READERS = 8
_BYTES_MAX = 256 << 20
_TABLES: BoundedMemory[pa.Table] = BoundedMemory(_BYTES_MAX)
_ARROW_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
}


def arrow_type_of(stored: str) -> pa.DataType:
    """Return the Arrow type of values of one of Iceberg's primitive types."""
    if stored.startswith("decimal("):
        precision, scale = stored[8:-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return _ARROW_TYPES.get(stored, pa.binary())


def equality_deletes(applied: AppliedDeletes, schema: Json, location: str) -> tuple[EqualityDeletes, ...]:
    """Return the rows that are deleted by their values, those with the same columns together.

    Claim     A row of a data file is deleted by its values if and only if some of these rows deletes it.
    Premises  Iceberg's specification, "Scan Planning": a file with values applies to data files of a smaller
              sequence number in its partition, or in every one if its spec has no partitions.
    Proof     Each row has its file's number and partition; a file that applies to no data file is left out.
    Unsound   if an equal sequence number were enough: a commit may delete rows and add others like them.

    Args:
        applied: The deletes of the snapshot.
        schema: The schema of the version.
        location: The table's location, for errors.

    Raises:
        InputError: a file with values is missing, damaged or in another format, or compares a column that the
            version lacks.
    """
    columns = {field["id"]: (path, field["type"]) for path, field in _primitive_columns(schema)}
    files = applied.files
    by_columns: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for delete, partition in applied.equality:
        if deletes_any(applied, delete, partition):
            ids = tuple(sorted(files.equality_ids[delete] or ()))
            by_columns.setdefault(ids, []).append((delete, partition))
    return tuple(
        EqualityDeletes(
            columns=tuple(_column(columns, id_, location)[0] for id_ in ids),
            rows=_rows(applied, deletes, [(id_, _column(columns, id_, location)[1]) for id_ in ids]),
        )
        for ids, deletes in by_columns.items()
    )


def _primitive_columns(struct: Json, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    for field in struct["fields"]:
        path = (*above, field["name"])
        if isinstance(field["type"], str):
            yield path, field
        elif field["type"]["type"] == "struct":
            yield from _primitive_columns(field["type"], path)


def _column(
    columns: Mapping[int, tuple[tuple[str, ...], str]], id_: int, location: str
) -> tuple[tuple[str, ...], str]:
    if id_ not in columns:
        raise InputError(
            f"{location}: rows are deleted by values of the field {id_}, which this version of the table "
            "lacks; rewrite the table's data files"
        )
    return columns[id_]


def _rows(
    applied: AppliedDeletes, deletes: Sequence[tuple[int, int]], columns: Sequence[tuple[int, str]]
) -> pa.Table:
    files = applied.files
    with ThreadPoolExecutor(_READERS) as executor:
        tables = list(executor.map(lambda item: _values(applied, item[0], columns), deletes))
    numbers = [
        np.full(len(table), files.sequence_numbers[delete])
        for table, (delete, _) in zip(tables, deletes, strict=True)
    ]
    partitions = [
        np.full(len(table), partition) for table, (_, partition) in zip(tables, deletes, strict=True)
    ]
    rows = pa.concat_tables(tables)
    rows = rows.append_column(SEQUENCE, pa.array(np.concatenate(numbers), pa.int64()))
    return rows.append_column(PARTITION, pa.array(np.concatenate(partitions), pa.int64()))


def _values(applied: AppliedDeletes, delete: int, columns: Sequence[tuple[int, str]]) -> pa.Table:
    files = applied.files
    path, byte_count = files.paths[delete], int(files.byte_counts[delete])
    if not columns or files.formats[delete] != "PARQUET":
        reason = (
            f"is in the format {files.formats[delete]}, and only Parquet can be read"
            if columns
            else "names no field"
        )
        raise InputError(f"{path}: this file of deleted values {reason}; rewrite the table's delete files")
    key = (path, byte_count, tuple(columns))
    return _TABLES.content(key, max(1, byte_count), lambda: _read_values(path, columns))


def _read_values(path: str, columns: Sequence[tuple[int, str]]) -> pa.Table:
    with open_location(path) as handle:
        try:
            file = pq.ParquetFile(handle)
            tree = tree_of_schema(file.schema_arrow)
            lanes = {}
            for place, (id_, stored) in enumerate(columns):
                names = _path_of(tree, id_)
                if names is None:
                    raise InputError(
                        f"{path}: this file of deleted values lacks the field {id_}; restore the file"
                    )
                values = file.read(columns=[".".join(names)]).column(names[0]).combine_chunks()
                for name in names[1:]:
                    values = field_of(values, name)
                lanes[str(place)] = _check_zeros(values.cast(arrow_type_of(stored)), path)
            return pa.table(lanes)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{path}: cannot be read as a file of deleted values ({first_line(error)}); restore it"
            ) from error


def _path_of(tree: FileField, id_: int) -> tuple[str, ...] | None:
    for child in tree.children:
        if child.id == id_:
            return (child.name,)
        below = _path_of(child, id_) if child.type == "struct" else None
        if below is not None:
            return (child.name, *below)
    return None


def _check_zeros(values: pa.Array, path: str) -> pa.Array:
    """Return the values, if they are the same to Iceberg and to Spark, to which the two zeros are one."""
    if pa.types.is_floating(values.type) and pc.any(pc.equal(values, 0.0)).as_py():
        raise InputError(
            f"{path}: deletes rows by a zero with a sign, which cannot be read; rewrite the table"
        )
    return values
