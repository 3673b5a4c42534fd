"""Tables of Apache Iceberg as targets of statements."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from pyiceberg.partitioning import partition_record_value
from pyspark.sql import SparkSession

from pruning.dml.changed_rows import WrittenFile
from pruning.dml.conditions import may_match
from pruning.dml.targets import (
    Statement,
    StatementChange,
    StatementConflict,
    UncertainStatement,
    WriteMode,
    spark_codec,
)
from pruning.errors import InputError
from pruning.metadata.iceberg.commits import changes
from pruning.metadata.iceberg.commits.committing import UncertainSnapshot, commit_change
from pruning.metadata.iceberg.commits.conflicts import SnapshotConflict
from pruning.metadata.iceberg.commits.hadoop_tables import open_hadoop_table
from pruning.metadata.iceberg.commits.refusals import check_writable
from pruning.metadata.iceberg.opening import open_iceberg_version
from pruning.metadata.versioned.commits import READ_PREDICATE, READ_VERSION
from pruning.metadata.versioned.table_version import TableVersion
from pruning.spark.versioned.schemas import fields_of
from pruning.techniques.dml.rewriting import Then

_FIELD_ID = "parquet.field.id"
_CODEC = "write.parquet.compression-codec"
_Setting = TypeVar("_Setting", bound=Enum)


@dataclass(frozen=True, kw_only=True, eq=False)
class IcebergTarget:
    """A table of Apache Iceberg at the newest snapshot of its main branch.

    Attributes:
        table: PyIceberg's table.
        version: The snapshot, as it is read.
    """

    table: Any
    version: TableVersion

    @classmethod
    def open(cls, table: Any) -> "IcebergTarget":
        """Open the newest version of a table.

        Args:
            table: The directory of a table without a catalog, or the table that PyIceberg has loaded.
        Raises:
            InputError: the table cannot be read, or a catalog keeps the versions of the directory's table.
        """
        newest = (
            open_hadoop_table(table) if isinstance(table, str) else table.catalog.load_table(table.name())
        )
        return cls(table=newest, version=open_iceberg_version(newest.metadata_location))

    @cached_property
    def file_fields(self) -> str:
        """The columns in new files, a `StructType` of Spark as JSON."""
        fields = [
            _with_ids(json_field, field)
            for json_field, field in zip(
                fields_of(self.version.schema).values(), self.table.schema().fields, strict=True
            )
        ]
        return json.dumps({"type": "struct", "fields": fields})

    @cached_property
    def file_columns(self) -> tuple[str, ...]:
        """The table's columns."""
        return tuple(fields_of(self.version.schema))

    @cached_property
    def partition_sources(self) -> tuple[str, ...]:
        """The top-level columns from which the partition spec derives partitions."""
        return self._sources_of([self.table.spec()])

    @cached_property
    def placing_columns(self) -> tuple[str, ...]:
        """The top-level columns from which some partition spec derives partitions; files keep theirs."""
        return self._sources_of(self.table.specs().values())

    def _sources_of(self, specs: Iterable[Any]) -> tuple[str, ...]:
        schema = self.table.schema()
        sources = [schema.find_column_name(field.source_id) for spec in specs for field in spec.fields]
        tops = [column.name for column in schema.fields]
        return tuple(name for name in tops if any(_is_within(source, name) for source in sources if source))

    @cached_property
    def row_conditions(self) -> tuple[str, ...]:
        """The conditions in Spark SQL that must be TRUE on each new row: required columns are not NULL."""
        return tuple(
            "`" + field.name.replace("`", "``") + "` IS NOT NULL"
            for field in self.table.schema().fields
            if field.required
        )

    @property
    def compression(self) -> str | None:
        """The codec that the table's property names."""
        return spark_codec(self.table.properties.get(_CODEC))

    def default_mode(self, statement: Statement) -> WriteMode:
        """Return the mode that the table's property names, as `write.delete.mode`; else copy on write."""
        return self._setting(statement, "mode", WriteMode.COPY_ON_WRITE)

    def check(self, statement: Statement, effects: frozenset[Then], mode: WriteMode) -> None:
        """Refuse a statement that the table does not allow."""
        check_writable(
            ".".join(self.table.name()),
            self.table.metadata,
            deletes_positions=mode is WriteMode.MERGE_ON_READ,
        )
        self._isolation(statement)

    def has_row_count(self, place: int) -> bool:
        """Return True: manifests have the number of rows of each file."""
        return True

    def new_directory(self) -> str:
        """Return the address of a new directory among the table's data."""
        return f"{self.table.location().rstrip('/')}/data/skipproof-{uuid.uuid4().hex}"

    def commit(self, spark: SparkSession, change: StatementChange) -> int:
        """Commit a change as a snapshot of the main branch, and return its id."""
        paths, metadata = self.version.files.paths, self.table.metadata
        written = changes.TableChange(
            read_snapshot=self.version.version,
            schema_id=metadata.current_schema_id,
            removed_files=frozenset(paths[place] for place in change.removed),
            added_files=tuple(self._new_file(file, change) for file in change.written),
            deleted_positions={paths[place]: rows for place, rows in change.deleted.items()},
            isolation=self._isolation(change.statement),
            may_match=lambda files: self._may_match(spark, files, change.condition),
            properties={READ_VERSION: str(self.version.version), READ_PREDICATE: change.condition},
        )
        try:
            return commit_change(self.table, written).snapshot_id
        except SnapshotConflict as conflict:
            raise StatementConflict(str(conflict)) from conflict
        except UncertainSnapshot as error:
            raise UncertainStatement(str(error)) from error

    def _isolation(self, statement: Statement) -> changes.Isolation:
        return self._setting(statement, "isolation-level", changes.Isolation.SERIALIZABLE)

    def _setting(self, statement: Statement, name: str, default: _Setting) -> _Setting:
        """Return what the table's property says of statements of a kind.

        Raises:
            InputError: it is none of the values that Iceberg has.
        """
        key = f"write.{statement.value.lower()}.{name}"
        text = str(self.table.metadata.properties.get(key, default.value))
        values = {value.value: value for value in type(default)}
        if text.lower() not in values:
            raise InputError(f"The table's property {key} is {text!r}; set it to {' or '.join(values)}")
        return values[text.lower()]

    def _new_file(self, file: WrittenFile, change: StatementChange) -> changes.NewDataFile:
        partition = change.partitions[file.group]
        if isinstance(partition, int):
            return changes.NewDataFile(path=file.path, beside=self.version.files.paths[partition])
        schema, spec = self.table.schema(), self.table.spec()
        values = tuple(_partition_value(field, partition, schema) for field in spec.fields)
        return changes.NewDataFile(path=file.path, spec_id=spec.spec_id, partition=values)

    def _may_match(self, spark: SparkSession, files: Sequence[Any], condition: str) -> bool:
        """Tell whether files that other writers have added may have rows that satisfy a condition.

        A file that the newest version has no longer is taken for one that may.
        """
        table = self.table.catalog.load_table(self.table.name())
        newest = open_iceberg_version(table.metadata_location)
        places = {path: place for place, path in enumerate(newest.files.paths)}
        paths = [file.file_path for file in files]
        if not places.keys() >= set(paths):
            return True
        return may_match(spark, newest, [places[path] for path in paths], condition)


def _partition_value(field: Any, values: Mapping[str, Any], schema: Any) -> Any:
    """Return a field of a partition record, from the values of the columns that it is made from."""
    name, source = schema.find_column_name(field.source_id), schema.find_type(field.source_id)
    if name not in values:
        raise InputError(
            f"The partition field {field.name} is made from {name}, a field of a struct, whose new values "
            "cannot be placed in partitions; change the rows with another engine"
        )
    return field.transform.transform(source)(partition_record_value(field, values[name], schema))


def _with_ids(spark_field: Mapping[str, Any], field: Any) -> dict[str, Any]:
    """Return a field in Spark's JSON with the ids of Iceberg's field and of the fields in its structs.

    Raises:
        InputError: the field is of a type whose parts Spark writes without ids.
    """
    type_ = spark_field["type"]
    if isinstance(type_, Mapping):
        if type_["type"] != "struct":
            raise InputError(
                f"column {field.name}: Spark writes arrays and maps without the ids of their elements, which "
                "Iceberg's readers need; only rows of whole files, or by position, can be deleted here"
            )
        parts = zip(type_["fields"], field.field_type.fields, strict=True)
        type_ = {**type_, "fields": [_with_ids(part, inner) for part, inner in parts]}
    return {**spark_field, "type": type_, "metadata": {_FIELD_ID: field.field_id}}


def _is_within(source: str, column: str) -> bool:
    """Tell whether a field of a schema, by its full name, is a top-level column or a part of it."""
    return source == column or source.startswith(f"{column}.")
