"""A small lake of Iceberg tables under PyIceberg, with a catalog in a file, for tests of commits."""

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from pruning.metadata.iceberg.commits.changes import NewDataFile, TableChange

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "p", StringType(), required=False),
)
BY_P = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))
# Retries as often as the tests need, without waiting.
PATIENT = {
    "commit.retry.num-retries": "400",
    "commit.retry.min-wait-ms": "1",
    "commit.retry.max-wait-ms": "20",
}


class IcebergLake:
    """Tables in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.catalog = SqlCatalog(
            "lake", uri=f"sqlite:///{folder}/catalog.db?timeout=60", warehouse=f"file://{folder}/warehouse"
        )
        self.catalog.create_namespace_if_not_exists("db")

    def another(self) -> "IcebergLake":
        """Return the same lake with a connection of its own, for another thread."""
        return IcebergLake(self._folder)

    def load(self, name: str = "db.t") -> Any:
        """Return the table's present version."""
        return self.catalog.load_table(name)

    def create(
        self,
        *files: list[tuple[int, str]],
        name: str = "db.t",
        spec: Any = UNPARTITIONED_PARTITION_SPEC,
        schema: Any = SCHEMA,
        **properties: str,
    ) -> Any:
        """Create a table, and append each list of rows as a snapshot of its own."""
        settings = {key.replace("_", "-"): value for key, value in properties.items()}
        table = self.catalog.create_table(
            name, schema, partition_spec=spec, properties={**PATIENT, **settings}
        )
        for rows in files:
            table.append(arrow_rows(table, rows))
        return table


def arrow_rows(table: Any, rows: list[tuple[int, str]]) -> pa.Table:
    """Return rows with the ids of the table's columns."""
    schema = schema_to_pyarrow(table.schema())
    columns = zip(*rows, strict=True) if rows else [[], []]
    return pa.table(
        [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def write_file(table: Any, rows: list[tuple[int, str]], name: str = "") -> str:
    """Write rows as a Parquet file into the table's directory of data, and return its path."""
    path = f"{table.location()}/data/{name}{uuid.uuid4()}.parquet"
    local = Path(path.removeprefix("file://"))
    local.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(arrow_rows(table, rows), local)
    return path


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """Return the rows that PyIceberg reads, sorted."""
    rows = table.scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def data_files(table: Any) -> dict[tuple[int, ...], str]:
    """Return the path of each data file by the values of `id` in it as it was written."""
    paths = [task.file.file_path for task in table.scan().plan_files()]
    return {ids_in(path): path for path in paths}


def ids_in(path: str) -> tuple[int, ...]:
    """Return the values of `id` in a Parquet file, sorted."""
    return tuple(sorted(pq.read_table(path.removeprefix("file://"), columns=["id"])["id"].to_pylist()))


def change_of(table: Any, **parts: Any) -> TableChange:
    """Return a change that read the table's present version."""
    snapshot = table.current_snapshot()
    return TableChange(
        read_snapshot=None if snapshot is None else snapshot.snapshot_id,
        schema_id=table.metadata.current_schema_id,
        **parts,
    )


def replacement(table: Any, path: str, rows: list[tuple[int, str]], **parts: Any) -> TableChange:
    """Return the change that replaces a data file by one with these rows, in its partition."""
    added = NewDataFile(path=write_file(table, rows), beside=path)
    return change_of(table, removed_files=frozenset([path]), added_files=(added,), **parts)
