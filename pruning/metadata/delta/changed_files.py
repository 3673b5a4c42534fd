"""The actions about data files that a statement changes: new files, removed files, and deleted rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from pruning.errors import InputError
from pruning.expressions.names import top_column
from pruning.metadata.delta.commits import current_ms
from pruning.metadata.delta.file_statistics import row_count_of, statistics_of_blocks, widen_statistics
from pruning.metadata.delta.log_actions import AddedFile, DeltaMetadata, RemovedFile, TableProtocol
from pruning.metadata.delta.statistics_columns import column_ids, data_column_names, partition_names
from pruning.metadata.delta.vector_files import read_vector, write_vectors
from pruning.metadata.delta.writer_protocol import with_deletion_vectors
from pruning.metadata.files.locations import locate, path_below
from pruning.metadata.table.blocks import unite
from pruning.metadata.table.reading import read_footers

# Arrow's name of the ids of columns in a Parquet file.
_FIELD_ID = b"PARQUET:field_id"
# The characters of a path that the log does not escape.
_UNESCAPED = "/=-_.~!*'()+,;:@&$"


@dataclass(frozen=True, kw_only=True)
class FileChanges:
    """Actions for a `DeltaCommit`.

    Attributes:
        added: Files with their rows after the change.
        removed: Files as they were before.
        protocol: The protocol that the commit must set; None if the table's is enough.
        deleted_rows: How many rows the change deletes.
    """

    added: tuple[AddedFile, ...]
    removed: tuple[RemovedFile, ...]
    protocol: TableProtocol | None
    deleted_rows: int


def describe_file(
    root: str, relative: str, metadata: DeltaMetadata, partition_values: Mapping[str, str | None]
) -> AddedFile:
    """Return the action that adds a data file which has just been written, with statistics from its footer.

    Args:
        root: The table's directory, from `created_files.root_of`.
        relative: The file's path below it, without escapes.
        metadata: The table's.
        partition_values: The value of each partition column, by its name in the table, as
            `file_statistics.partition_text` gives it.
    Raises:
        InputError: the file cannot be read, it has other columns than the table, or a partition value is
            missing.
    """
    path = path_below(root, relative)
    names = partition_names(metadata)
    if names.keys() != partition_values.keys():
        raise InputError(
            f"{path}: has values of the partition columns {sorted(partition_values)}; give {sorted(names)}"
        )
    result = read_footers([path])
    if result.failures:
        raise InputError(result.failures[path])
    blocks = unite(result.shards, [path])
    columns = {top_column(field.name) for field in blocks.schema.field("columns").type}
    strange = sorted(columns - data_column_names(metadata))
    if strange:
        raise InputError(f"{path}: its column {strange[0]} is no data column of the table; write it without")
    system, file = locate(path)
    _check_field_ids(path, pq.read_schema(file, filesystem=system), metadata)
    info = system.get_file_info(file)
    return AddedFile(
        path=quote(relative, safe=_UNESCAPED),
        partition_values={names[name]: value for name, value in partition_values.items()},
        size_bytes=info.size,
        modified_ms=current_ms() if info.mtime_ns is None else info.mtime_ns // 1_000_000,
        statistics=statistics_of_blocks(metadata, blocks),
    )


def _check_field_ids(path: str, schema: pa.Schema, metadata: DeltaMetadata) -> None:
    """Refuse a file without the ids of its columns, if the table has its columns by ids."""
    for name, identity in column_ids(metadata).items():
        place = schema.get_field_index(name)
        if place >= 0 and (schema.field(place).metadata or {}).get(_FIELD_ID) != str(identity).encode():
            raise InputError(f"{path}: its column {name} must have the field id {identity}")


def remove_files(files: Sequence[AddedFile]) -> tuple[RemovedFile, ...]:
    """Return the actions that remove files, each with the deletion vector that it has."""
    now_ms = current_ms()
    return tuple(file.removal(now_ms) for file in files)


def delete_rows(
    root: str,
    rows: Sequence[tuple[AddedFile, BitMap]],
    protocol: TableProtocol,
    metadata: DeltaMetadata,
    *,
    prefix: str = "",
    inline_bytes_max: int = 0,
) -> FileChanges:
    """Write deletion vectors of files, and return the actions that delete these rows.

    Rows that are deleted already stay deleted. A file that loses its last row is removed.

    Args:
        root: The table's directory, from `created_files.root_of`.
        rows: Files of the table's version, as its log has them, each with the positions of rows to delete.
        protocol: The table's.
        metadata: The table's.
        prefix, inline_bytes_max: As for `write_vectors`.
    Raises:
        InputError: the table's properties do not ask for deletion vectors; a file's statistics do not say how
            many rows it has; a position is beyond them; a vector that the file has is damaged; or the vectors
            cannot be written.
    """
    upgraded = with_deletion_vectors(root, protocol, metadata)
    changed: list[AddedFile] = []
    remaining: dict[str, AddedFile] = {}
    positions: dict[str, BitMap] = {}
    deleted_count = 0
    for file, deleted in rows:
        row_count = row_count_of(file.statistics)
        if row_count is None:
            raise InputError(
                f"{file.path}: its statistics do not say how many rows it has; rewrite it instead"
            )
        if deleted and deleted.max() >= row_count:
            raise InputError(f"{file.path}: has {row_count} rows, and row {deleted.max()} is to be deleted")
        before = BitMap() if file.vector is None else read_vector(root, file.vector)
        after = before | deleted
        if len(after) == len(before):
            continue
        deleted_count += len(after) - len(before)
        changed.append(file)
        if len(after) < row_count:
            positions[file.path] = after
            remaining[file.path] = replace(
                file, data_change=True, statistics=widen_statistics(file.statistics or "", len(before))
            )
    vectors = write_vectors(root, positions, prefix=prefix, inline_bytes_max=inline_bytes_max)
    return FileChanges(
        added=tuple(replace(file, vector=vectors[path]) for path, file in remaining.items()),
        removed=remove_files(changed),
        protocol=upgraded if vectors else None,
        deleted_rows=deleted_count,
    )
