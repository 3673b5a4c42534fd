"""A generated table of Iceberg with very many files, of which only some exist."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from pruning.metadata.iceberg.commits.changes import TableChange
from pruning.metadata.iceberg.commits.committing import commit_change

_FIELDS = (
    NestedField(1, "id", LongType()),
    NestedField(2, "word", StringType()),
    NestedField(3, "unit", StringType()),
    NestedField(4, "value", DoubleType()),
)


def write_iceberg_table(
    directory: Path, files: int, rows: int, every: int, make_rows: Callable[[int, int], pa.Table]
) -> None:
    """Write a table as Hadoop's catalog of Iceberg keeps it.

    Args:
        directory: Its directory.
        files: The number of its files; those around the middle exist.
        rows: The rows of each.
        every: Each so many-th file loses each hundredth row, by a position-delete file; 0 is none.
        make_rows: Returns the rows from a first id to a last one.
    """
    catalog = SqlCatalog("b", uri="sqlite:///:memory:", warehouse=f"file://{directory}")
    catalog.create_namespace("db")
    properties = {"format-version": "2", "write.metadata.metrics.default": "full"}
    table = catalog.create_table(
        "db.t", Schema(*_FIELDS), location=f"file://{directory}", properties=properties
    )
    (directory / "data").mkdir(exist_ok=True)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for number in range(files):
            path = directory / "data" / f"part-{number:05}.parquet"
            if abs(number - files // 2) < 4:
                content = make_rows(number * rows, number * rows + rows - 1)
                pq.write_table(_with_ids(content), path, row_group_size=rows)
            append.append_data_file(_data_file(path, number, rows))
    if every:
        snapshot = table.refresh().current_snapshot()
        assert snapshot is not None
        deleted = range(0, rows, 100)
        paths = [f"file://{directory}/data/part-{number:05}.parquet" for number in range(0, files, every)]
        commit_change(
            table,
            TableChange(
                read_snapshot=snapshot.snapshot_id,
                schema_id=table.metadata.current_schema_id,
                deleted_positions=dict.fromkeys(paths, deleted),
            ),
        )
    # Readers without a catalog know the newest metadata by its name.
    newest = Path(catalog.load_table("db.t").metadata_location.removeprefix("file://"))
    content = newest.read_bytes()
    for file in newest.parent.glob("*.metadata.json"):
        file.unlink()
    (newest.parent / "v1.metadata.json").write_bytes(content)
    (newest.parent / "version-hint.text").write_text("1", encoding="utf-8")


def _with_ids(content: pa.Table) -> pa.Table:
    fields = [
        pa.field(field.name, field.type, metadata={"PARQUET:field_id": str(place + 1)})
        for place, field in enumerate(content.schema)
    ]
    return content.cast(pa.schema(fields))


def _data_file(path: Path, number: int, rows: int) -> Any:
    """Return the entry of a file in a manifest, with bounds of `id` and `unit`."""
    lower, upper = number * rows, number * rows + rows - 1
    counts = dict.fromkeys(range(1, 5), rows)
    entry = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows,
        file_size_in_bytes=path.stat().st_size if path.exists() else 10 * rows,
        column_sizes={},
        value_counts=counts,
        null_value_counts=dict.fromkeys(counts, 0),
        nan_value_counts={4: 0},
        lower_bounds={1: to_bytes(LongType(), lower), 3: to_bytes(StringType(), "feet")},
        upper_bounds={1: to_bytes(LongType(), upper), 3: to_bytes(StringType(), "meters")},
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
    )
    entry.spec_id = 0
    return entry
