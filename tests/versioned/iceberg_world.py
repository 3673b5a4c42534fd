"""A table of Apache Iceberg that PyIceberg writes, with partition specs and columns that change."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from iceberg_runtime import runtime_jar
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TruncateTransform,
)
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)
from table_model import ModelColumn, ModelRow, ModelState, arrow_rows, is_key

from pruning.expressions.types import DATE, DOUBLE, FLOAT, INTEGER, LONG, STRING, TIMESTAMP, Kind, Type
from pruning.metadata.iceberg.commits.changes import TableChange
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.opening import open_iceberg_version
from pruning.metadata.versioned.table_version import TableVersion
from strategies.choices import choose

_TYPES = {
    INTEGER: IntegerType(),
    LONG: LongType(),
    FLOAT: FloatType(),
    DOUBLE: DoubleType(),
    STRING: StringType(),
    DATE: DateType(),
    TIMESTAMP: TimestamptzType(),
}
_IDENTITY = IdentityTransform()
_TRANSFORMS: Mapping[Kind, Sequence[Any]] = {
    Kind.INTEGER: (_IDENTITY, BucketTransform(3)),
    Kind.LONG: (_IDENTITY, TruncateTransform(2)),
    Kind.STRING: (_IDENTITY, TruncateTransform(17)),
    Kind.DATE: (_IDENTITY, BucketTransform(2)),
    Kind.TIMESTAMP: (DayTransform(), _IDENTITY),
    Kind.DECIMAL: (_IDENTITY,),
}


class IcebergTableOfWorld:
    """The table and its catalog."""

    kinds: tuple[str, ...] = ("drop_column", "rename_column", "widen_column", "evolve_partitions")

    def __init__(self, draw: Any, folder: Path, state: ModelState) -> None:
        """Create the table."""
        self._catalog = SqlCatalog("w", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        self._catalog.create_namespace("db")
        fields = [
            NestedField(place, column.name, iceberg_type(column.type), required=False)
            for place, column in enumerate(state.all_columns, start=1)
        ]
        self._catalog.create_table("db.t", Schema(*fields))
        if choose(draw, (False, True)):
            self.evolve_partitions(draw, state)

    @property
    def handle(self) -> Any:
        """The table, as statements take it."""
        return self._catalog.load_table("db.t")

    def open(self, version: int | None = None) -> TableVersion:
        """Return a version; None is the newest."""
        return open_iceberg_version(self.handle.metadata_location, version=version)

    def may_drop(self, column: ModelColumn) -> bool:
        """Tell whether the table can lose a column: PyIceberg reads no spec whose source is lost."""
        table = self.handle
        sources = {field.source_id for spec in table.specs().values() for field in spec.fields}
        return table.schema().find_field(column.name).field_id not in sources

    def is_partition_source(self, column: ModelColumn) -> bool:
        """Tell whether the column decides the partitions of rows."""
        table = self.handle
        sources = {field.source_id for field in table.spec().fields}
        return table.schema().find_field(column.name).field_id in sources

    def change_columns(self, old: ModelState, new: ModelState) -> None:
        """Give the table the new columns."""
        before = {column.id: column for column in old.columns}
        after = {column.id: column for column in new.columns}
        with self.handle.update_schema() as update:
            for column in old.columns:
                if column.id not in after:
                    update.delete_column(column.name)
            for column in new.columns:
                if column.id not in before:
                    update.add_column(column.name, iceberg_type(column.type))
                    continue
                if column.type != before[column.id].type:
                    update.update_column(before[column.id].name, field_type=iceberg_type(column.type))
                if column.name != before[column.id].name:
                    update.rename_column(before[column.id].name, column.name)

    def evolve_partitions(self, draw: Any, state: ModelState) -> None:
        """Add a field to the partition spec, or remove those that it has."""
        table = self.handle
        fields = table.spec().fields
        with table.update_spec() as update:
            if fields and choose(draw, (True, False)):
                for field in fields:
                    update.remove_field(field.name)
                return
            taken = {field.source_id for field in fields}
            columns = [
                column
                for column in state.columns
                if is_key(column.type) and table.schema().find_field(column.name).field_id not in taken
            ]
            if columns:
                column = choose(draw, columns)
                transform = choose(draw, _TRANSFORMS[column.type.kind])
                update.add_field(column.name, transform, f"p{uuid.uuid4().hex}")

    def append(self, draw: Any, state: ModelState, rows: Sequence[ModelRow]) -> None:
        """Add rows, in a file for each partition."""
        table = self.handle
        table.append(self._arrow(table, state, rows))

    def compact(self, draw: Any, state: ModelState, numbers: Mapping[int, Sequence[int]]) -> None:
        """Write the rows of some files, by their places, into one file for each partition."""
        paths = self.open().files.paths
        chosen = {paths[place] for place in numbers}
        rows = [state.rows[number] for in_file in numbers.values() for number in in_file]
        table = self.handle
        with table.transaction() as transaction, transaction.update_snapshot().overwrite() as overwrite:
            for task in table.scan().plan_files():
                if task.file.file_path.removeprefix("file://") in {
                    path.removeprefix("file://") for path in chosen
                }:
                    overwrite.delete_data_file(task.file)
            arrow = self._arrow(table, state, rows)
            for file in _dataframe_to_data_files(table.metadata, arrow, table.io):
                overwrite.append_data_file(file)

    def delete_positions(self, positions: Mapping[int, Sequence[int]]) -> None:
        """Delete the rows at positions of some files, by their places."""
        table, version = self.handle, self.open()
        commit_change(
            table,
            TableChange(
                read_snapshot=version.version,
                schema_id=table.metadata.current_schema_id,
                deleted_positions={version.files.paths[place]: rows for place, rows in positions.items()},
            ),
        )

    def rows_of_other_readers(self, spark: Any) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows as PyIceberg reads them, and as Iceberg's runtime does where it is installed."""
        table = self.handle
        yield "PyIceberg", table.scan().to_arrow()
        if runtime_jar() is not None:
            batches = spark.read.format("iceberg").load(table.metadata_location)._collect_as_arrow()
            yield "Iceberg's runtime", pa.Table.from_batches(batches) if batches else pa.table({})

    def _arrow(self, table: Any, state: ModelState, rows: Sequence[ModelRow]) -> pa.Table:
        schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
        return arrow_rows(state.all_columns, rows).select(schema.names).cast(schema)


def iceberg_type(type_: Type) -> Any:
    """Return Iceberg's type for a type of the model."""
    if type_.kind is Kind.DECIMAL:
        return DecimalType(type_.precision, type_.scale)
    return _TYPES[type_]
