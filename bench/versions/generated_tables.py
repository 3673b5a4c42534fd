"""Generated tables of Delta Lake and Iceberg with very many files; those around the middle exist."""

import base64
import json
import struct
from collections.abc import Sequence
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
from pyroaring import BitMap64

from pruning.metadata.iceberg.commits.changes import TableChange
from pruning.metadata.iceberg.commits.committing import commit_change

_FIELDS = (
    NestedField(1, "id", LongType()),
    NestedField(2, "word", StringType()),
    NestedField(3, "unit", StringType()),
    NestedField(4, "value", DoubleType()),
)
# The files that one commit of a generated table of Iceberg appends.
_MANIFEST_FILES = 20_000
_MAGIC = 1681511377
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_SCHEMA = {"id": "long", "word": "string", "unit": "string", "value": "double"}


def part_name(number: int) -> str:
    """Return the name of a data file."""
    return f"part-{number:05}.parquet"


def write_delta_table(directory: Path, files: int, rows: int, every: int) -> None:
    """Write the log of a table of Delta Lake, and the files around its middle.

    Args:
        directory: Its directory.
        files: The number of its files.
        rows: The rows of each.
        every: Each so many-th file loses each hundredth row, by a deletion vector; 0 is none.
    """
    fields = [
        {"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in _SCHEMA.items()
    ]
    lines: list[dict[str, Any]] = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors"],
            }
        },
        {
            "metaData": {
                "id": "planning",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {"delta.enableDeletionVectors": "true"},
            }
        },
    ]
    vector = _vector(range(0, rows, 100))
    for file in range(files):
        name = part_name(file)
        lower, upper = file * rows, file * rows + rows - 1
        if _is_written(file, files):
            pq.write_table(_rows(lower, upper), directory / name, row_group_size=rows)
        path = directory / name
        add = {
            "path": name,
            "partitionValues": {},
            "size": path.stat().st_size if path.exists() else 10 * rows,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(
                {
                    "numRecords": rows,
                    "minValues": {"id": lower, "unit": "feet"},
                    "maxValues": {"id": upper, "unit": "meters"},
                    "nullCount": dict.fromkeys(_SCHEMA, 0),
                    "tightBounds": False,
                }
            ),
        }
        if every and file % every == 0:
            add["deletionVector"] = vector
        lines.append({"add": add})
    log = directory / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def write_iceberg_table(
    directory: Path, files: int, rows: int, every: int, numbers: Sequence[int] | None = None
) -> None:
    """Write a table as Hadoop's catalog of Iceberg keeps it.

    Args:
        directory: Its directory.
        files: The number of its files.
        rows: The rows of each.
        every: Each so many-th file loses each hundredth row, by a position-delete file; 0 is none.
        numbers: The files that the table has; None stands for all.
    """
    if numbers is None:
        numbers = range(files)
    catalog = SqlCatalog("b", uri="sqlite:///:memory:", warehouse=f"file://{directory}")
    catalog.create_namespace("db")
    properties = {"format-version": "2", "write.metadata.metrics.default": "full"}
    table = catalog.create_table(
        "db.t", Schema(*_FIELDS), location=f"file://{directory}", properties=properties
    )
    (directory / "data").mkdir(exist_ok=True)
    for first in range(0, len(numbers), _MANIFEST_FILES):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for number in numbers[first : first + _MANIFEST_FILES]:
                path = directory / "data" / part_name(number)
                if _is_written(number, files):
                    content = _rows(number * rows, number * rows + rows - 1)
                    pq.write_table(_with_ids(content), path, row_group_size=rows)
                append.append_data_file(_data_file(path, number, rows))
    losing = [number for number in numbers if every and number % every == 0]
    if losing:
        snapshot = table.refresh().current_snapshot()
        assert snapshot is not None
        deleted = range(0, rows, 100)
        paths = [f"file://{directory}/data/{part_name(number)}" for number in losing]
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


def _is_written(number: int, files: int) -> bool:
    """Tell whether a data file exists."""
    return abs(number - files // 2) < 4


def _rows(lower: int, upper: int) -> pa.Table:
    ids = range(lower, upper + 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "word": [f"word {number % 1000}" for number in ids],
            "unit": ["feet" if number % 2 else "meters" for number in ids],
            "value": [number * 1.5 for number in ids],
        }
    )


def _vector(rows: Sequence[int]) -> dict[str, Any]:
    content = struct.pack("<I", _MAGIC) + bytes(BitMap64(rows).serialize())
    padded = content + bytes(-len(content) % 4)
    text = base64.b85encode(padded).translate(bytes.maketrans(_B85, _Z85)).decode()
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(content),
        "cardinality": len(rows),
    }


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
