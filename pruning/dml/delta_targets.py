"""Tables of Delta Lake as targets of statements."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

from pyspark.sql import SparkSession

from pruning.dml.changed_rows import WrittenFile
from pruning.dml.conditions import may_match
from pruning.dml.targets import (
    Statement,
    StatementChange,
    StatementConflict,
    UncertainStatement,
    WriteMode,
)
from pruning.metadata.delta.changed_files import delete_rows, describe_file, remove_files
from pruning.metadata.delta.commits import DeltaCommit, UncertainCommit, predicate_parameter
from pruning.metadata.delta.committing import commit_changes
from pruning.metadata.delta.conflicts import CommitConflict, TableReads
from pruning.metadata.delta.created_files import root_of
from pruning.metadata.delta.file_keys import file_key, is_absolute
from pruning.metadata.delta.file_statistics import partition_text, row_count_of
from pruning.metadata.delta.log_actions import AddedFile
from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.delta.statistics_columns import column_ids, partition_names
from pruning.metadata.delta.table_state import TableState, read_state
from pruning.metadata.delta.writer_protocol import (
    RowChange,
    check_writable,
    row_conditions,
    with_deletion_vectors,
)
from pruning.metadata.files.locations import relative_to
from pruning.metadata.versioned.commits import READ_PREDICATE, READ_VERSION
from pruning.metadata.versioned.table_version import TableVersion
from pruning.spark.versioned.schemas import fields_of
from pruning.techniques.dml.rewriting import Then

_VECTORS = "delta.enableDeletionVectors"
_FIELD_ID, _COLUMN_ID = "parquet.field.id", "delta.columnMapping.id"
_PARTS = ("elementType", "keyType", "valueType")
_CHANGES = {Then.DELETE: RowChange.DELETE, Then.UPDATE: RowChange.UPDATE, Then.INSERT: RowChange.INSERT}


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaTarget:
    """A table of Delta Lake at its newest version.

    Attributes:
        version: The version, as it is read.
        state: The version, as it is written.
    """

    root: str
    zone: str
    version: TableVersion
    state: TableState

    @classmethod
    def open(cls, spark: SparkSession, path: str) -> "DeltaTarget":
        """Open the newest version of a table.

        Raises:
            InputError: the table cannot be read, or its file system cannot be written safely.
        """
        zone = spark.conf.get("spark.sql.session.timeZone")
        version = open_delta_version(path, zone=zone)
        root = root_of(path)
        assert version.version is not None
        return cls(root=root, zone=zone, version=version, state=read_state(root, version.version))

    @cached_property
    def file_fields(self) -> str:
        """The columns in new files, a `StructType` of Spark as JSON."""
        partitions = self.version.partition_columns
        columns = [field for field in self.state.metadata.schema["fields"] if field["name"] not in partitions]
        is_mapped = bool(column_ids(self.state.metadata))
        stored = json.loads(self.version.layouts[0])
        return json.dumps(_with_ids(stored, {"type": "struct", "fields": columns}, is_mapped=is_mapped))

    @cached_property
    def file_columns(self) -> tuple[str, ...]:
        """The table's columns that are no partition columns."""
        return tuple(
            name for name in fields_of(self.version.schema) if name not in self.version.partition_columns
        )

    @property
    def partition_sources(self) -> tuple[str, ...]:
        """The partition columns."""
        return self.version.partition_columns

    @property
    def placing_columns(self) -> tuple[str, ...]:
        """The partition columns, which all files have alike."""
        return self.version.partition_columns

    @cached_property
    def row_conditions(self) -> tuple[str, ...]:
        """The conditions in Spark SQL that must be TRUE on each new row."""
        return row_conditions(self.root, self.state.metadata)

    @property
    def compression(self) -> str | None:
        """None: delta-rs refuses a table with the property that would name one."""
        return None

    def default_mode(self, statement: Statement) -> WriteMode:
        """Return merge on read if the table's property asks for deletion vectors, else copy on write."""
        enabled = self.state.metadata.properties.get(_VECTORS, "false").strip().lower() == "true"
        return WriteMode.MERGE_ON_READ if enabled else WriteMode.COPY_ON_WRITE

    def check(self, statement: Statement, effects: frozenset[Then], mode: WriteMode) -> None:
        """Refuse a statement that the table's protocol or properties do not allow."""
        protocol, metadata = self.state.protocol, self.state.metadata
        checked = frozenset(self.row_conditions) if effects - {Then.DELETE} else frozenset()
        check_writable(self.root, protocol, metadata, _row_change(effects), checked=checked)
        if mode is WriteMode.MERGE_ON_READ:
            with_deletion_vectors(self.root, protocol, metadata)

    def has_row_count(self, place: int) -> bool:
        """Tell whether the log says how many rows a file has."""
        return row_count_of(self._file(place).statistics) is not None

    def new_directory(self) -> str:
        """Return the path of a new directory below the table's."""
        return f"{self.root}/skipproof-{uuid.uuid4().hex}"

    def commit(self, spark: SparkSession, change: StatementChange) -> int:
        """Commit a change as the table's next version."""
        state = self.state
        rows = [(self._file(place), positions) for place, positions in sorted(change.deleted.items())]
        # Deletion vectors lie among the new files, so that they go with them if nothing is committed.
        prefix = change.directory.removeprefix(f"{self.root}/")
        rest = delete_rows(self.root, rows, state.protocol, state.metadata, prefix=prefix) if rows else None
        removed = remove_files([self._file(place) for place in change.removed])
        added = tuple(self._added_file(file, change) for file in change.written)
        commit = DeltaCommit(
            operation=change.statement.value,
            change=_row_change(change.effects),
            read_version=state.version,
            parameters={"predicate": predicate_parameter(change.condition)},
            properties={READ_VERSION: state.version, READ_PREDICATE: change.condition},
            added=(*added, *(rest.added if rest else ())),
            removed=(*removed, *(rest.removed if rest else ())),
            protocol=rest.protocol if rest else None,
            checked_conditions=frozenset(self.row_conditions) if added else frozenset(),
        )
        reads = TableReads(
            version=state.version,
            protocol=state.protocol,
            metadata=state.metadata,
            whole_table=False,
            files=frozenset(self._file(place).path for place in change.read),
            may_match=lambda files: self._may_match(spark, files, change.condition),
        )
        try:
            return commit_changes(self.root, commit, reads)
        except CommitConflict as conflict:
            raise StatementConflict(str(conflict)) from conflict
        except UncertainCommit as error:
            raise UncertainStatement(str(error)) from error

    @cached_property
    def _keys(self) -> dict[str, str]:
        """The keys of the state's files, by their paths in the version."""
        return {self._path(file): key for key, file in self.state.files.items()}

    def _file(self, place: int) -> AddedFile:
        return self.state.files[self._keys[self.version.files.paths[place]]]

    def _added_file(self, file: WrittenFile, change: StatementChange) -> AddedFile:
        """Return the action that adds a file which Spark has written."""
        partition = change.partitions[file.group]
        names = partition_names(self.state.metadata)
        if isinstance(partition, int):
            texts = self._file(partition).partition_values
            values = {name: texts[physical] for name, physical in names.items()}
        else:
            values = {name: partition_text(partition[name]) for name in names}
        relative = relative_to(self.root, file.path)
        assert relative is not None
        return describe_file(self.root, relative, self.state.metadata, values)

    def _may_match(self, spark: SparkSession, files: Sequence[AddedFile], condition: str) -> bool:
        """Tell whether files that other writers have added may have rows that satisfy a condition.

        A file that the newest version has no longer is taken for one that may.
        """
        newest = open_delta_version(self.version.location, zone=self.zone)
        places = {path: place for place, path in enumerate(newest.files.paths)}
        paths = [self._path(file) for file in files]
        if not places.keys() >= set(paths):
            return True
        return may_match(spark, newest, [places[path] for path in paths], condition)

    def _path(self, file: AddedFile) -> str:
        key = file_key(file.path)
        return key.removeprefix("file:") if is_absolute(key) else f"{self.version.location}/{key}"


def _row_change(effects: Iterable[Then]) -> RowChange:
    """Return what a statement may do to rows."""
    return reduce(or_, map(_CHANGES.__getitem__, effects), RowChange(0))


def _with_ids(stored: Any, declared: Any, *, is_mapped: bool) -> Any:
    """Return a type in files in which each field has the id of the table's field.

    Args:
        stored: The type in files.
        declared: The type in the table's schema, which has the same shape.
        is_mapped: True if the table's fields have ids.
    """
    if not isinstance(stored, Mapping):
        return stored
    changed = dict(stored)
    for part in _PARTS:
        if part in stored:
            changed[part] = _with_ids(stored[part], declared[part], is_mapped=is_mapped)
    if "fields" in stored:
        changed["fields"] = [
            {
                **field,
                "type": _with_ids(field["type"], column["type"], is_mapped=is_mapped),
                "metadata": {_FIELD_ID: column["metadata"][_COLUMN_ID]} if is_mapped else {},
            }
            for field, column in zip(stored["fields"], declared["fields"], strict=True)
        ]
    return changed
