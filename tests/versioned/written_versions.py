"""Versions of tables that are made by hand from Parquet files, deleted rows and values of partitions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from pruning.metadata.table.partial import only_columns
from pruning.metadata.table.schema import block_schema
from pruning.metadata.versioned.table_version import EqualityDeletes, TableVersion, VersionFiles


@dataclass(frozen=True, slots=True)
class ListedDeletes:
    """Deleted rows that are listed by the place of their file."""

    by_file: tuple[tuple[int, ...], ...]
    # The places that were looked up.
    loaded: list[int] = field(default_factory=list)

    @property
    def mask(self) -> np.ndarray:
        """True for files with deleted rows; shape (files,)."""
        return np.array([bool(positions) for positions in self.by_file], bool)

    def positions(self, places: Sequence[int]) -> list[BitMap]:
        """Return the deleted rows of files."""
        self.loaded.extend(places)
        return [BitMap(self.by_file[place]) for place in places]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file: its rows under the names of its layout, and what the version says of it."""

    rows: pa.Table
    layout: int = 0
    deleted: tuple[int, ...] = ()
    partition: tuple[Any, ...] = ()
    sequence_number: int = 1
    partition_id: int = 0
    row_group_size: int | None = None


def schema_json(columns: dict[str, Any]) -> str:
    """Return a schema in JSON; a value is a type in Spark's JSON, or a pair of one and a field's metadata."""
    fields = [
        {
            "name": name,
            "type": type_[0] if isinstance(type_, tuple) else type_,
            "nullable": True,
            "metadata": type_[1] if isinstance(type_, tuple) else {},
        }
        for name, type_ in columns.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})


def write_version(
    directory: Path,
    columns: dict[str, Any],
    files: Sequence[DataFile],
    *,
    layouts: Sequence[dict[str, Any]] | None = None,
    partitions: pa.Schema | None = None,
    equality_deletes: Sequence[EqualityDeletes] = (),
    blocks: pa.Table | None = None,
) -> TableVersion:
    """Write the files of a version of a table.

    Args:
        directory: The table's directory.
        columns: The table's columns, as `schema_json` takes them.
        files: The files.
        layouts: The columns of each layout; None is one, of the columns that are no partition columns.
        partitions: The partition columns.
        equality_deletes: Rows deleted by their values.
        blocks: The block metadata of the files; None is one that knows the numbers of live rows alone.
    """
    partitions = partitions or pa.schema([])
    plain = {name: type_ for name, type_ in columns.items() if name not in partitions.names}
    paths = []
    for place, file in enumerate(files):
        path = directory / f"part {place:05}%.parquet"
        pq.write_table(file.rows, path, row_group_size=file.row_group_size)
        paths.append(str(path))
    counts = [len(file.rows) - len(file.deleted) for file in files]
    metadata = _named(blocks if blocks is not None else counted_blocks(counts), paths)
    values = [
        pa.array([file.partition[place] for file in files], partition.type)
        for place, partition in enumerate(partitions)
    ]
    return TableVersion(
        format="Delta Lake",
        location=str(directory),
        version=7,
        schema=schema_json(columns),
        partition_columns=tuple(partitions.names),
        layouts=tuple(map(schema_json, layouts or [plain])),
        files=VersionFiles(
            paths=tuple(paths),
            byte_counts=np.array([Path(path).stat().st_size for path in paths], np.int64),
            modified_ms=np.zeros(len(paths), np.int64),
            layouts=np.array([file.layout for file in files], np.int64),
            partition_values=pa.Table.from_arrays(values, schema=partitions),
            sequence_numbers=np.array([file.sequence_number for file in files], np.int64),
            partition_ids=np.array([file.partition_id for file in files], np.int64),
        ),
        deleted_rows=ListedDeletes(tuple(file.deleted for file in files)),
        equality_deletes=tuple(equality_deletes),
        blocks=lambda names: only_columns(metadata, names),
    )


def counted_blocks(counts: Sequence[int]) -> pa.Table:
    """Return block metadata of files of which the number of rows is known alone."""
    schema = block_schema({})
    lanes = {
        "file": pa.array([""] * len(counts)),
        "row_count": pa.array(counts, pa.int64()),
        "columns": pa.array([{}] * len(counts), schema.field("columns").type),
    }
    zeros = pa.array([0] * len(counts))
    return pa.Table.from_arrays(
        [lanes.get(part.name, zeros).cast(part.type) for part in schema], schema=schema
    )


def _named(blocks: pa.Table, paths: Sequence[str]) -> pa.Table:
    place = blocks.schema.get_field_index("file")
    return blocks.set_column(place, blocks.schema.field("file"), pa.array(paths, pa.string()))
