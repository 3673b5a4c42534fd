"""A table of Delta Lake that is written file by file, with column mapping, partitions and wider types."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from deltalake import DeltaTable, QueryBuilder
from pyroaring import BitMap
from stated_statistics import stated_bounds, statistics_json
from table_model import NUMBER, NUMBER_ID, WIDER, ModelColumn, ModelRow, ModelState, arrow_rows, is_key

from pruning.expressions.type_names import type_to_json
from pruning.metadata.delta.changed_files import delete_rows
from pruning.metadata.delta.commits import DeltaCommit, newest_version
from pruning.metadata.delta.committing import commit_changes
from pruning.metadata.delta.conflicts import TableReads
from pruning.metadata.delta.log_actions import AddedFile
from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.delta.table_state import TableState, read_state
from pruning.metadata.delta.writer_protocol import RowChange
from pruning.metadata.versioned.table_version import TableVersion
from strategies.choices import choose

WIDENS = int(pyspark.__version__.split(".")[0]) >= 4
_MAPPING = "delta.columnMapping."
_WRITERS = ("spark", "exact", "cutting", "spark 2")
_WRITER_FEATURES = ("appendOnly", "checkConstraints", "invariants")
_FEATURES = (*_WRITER_FEATURES, "columnMapping", "deletionVectors", "typeWidening")


class DeltaTableOfWorld:
    """The table, and the names that its columns have in files."""

    # Spark 3.5 does not read narrower types as wider ones.
    kinds: tuple[str, ...] = ("drop_column", "rename_column", *(["widen_column"] if WIDENS else []))

    def __init__(self, draw: Any, folder: Path, state: ModelState) -> None:
        """Create the table."""
        self.location = folder / "table"
        (self.location / "_delta_log").mkdir(parents=True)
        self._file_numbers = itertools.count()
        self._mapping = choose(draw, ("name", "id", "none"))
        if self._mapping == "none":
            self.kinds = ()
        keys = [column for column in state.columns if is_key(column.type)]
        self._partition = choose(draw, keys).id if keys and choose(draw, (False, True)) else None
        self._physical: dict[int, str] = {}
        self._types: dict[int, list[str]] = {}
        self._commit(self._protocol(), self._metadata(state))

    @property
    def handle(self) -> str:
        """The table, as statements take it."""
        return str(self.location)

    def open(self, version: int | None = None) -> TableVersion:
        """Return a version; None is the newest."""
        return open_delta_version(self.handle, version=version, zone="UTC")

    def may_drop(self, column: ModelColumn) -> bool:
        """Tell whether the table can lose a column."""
        return column.id != self._partition

    def is_partition_source(self, column: ModelColumn) -> bool:
        """Tell whether the column decides the partitions of rows."""
        return column.id == self._partition

    def change_columns(self, old: ModelState, new: ModelState) -> None:
        """Give the table the new columns."""
        self._commit(self._metadata(new))

    def append(self, draw: Any, state: ModelState, rows: Sequence[ModelRow]) -> None:
        """Add rows, in a file for each partition."""
        self._commit(*self._additions(draw, state, rows))

    def compact(self, draw: Any, state: ModelState, numbers: Mapping[int, Sequence[int]]) -> None:
        """Write the rows of some files, by their places, into one file for each partition."""
        files = self._files_at(self._state(), numbers)
        removed = [file.removal(1).to_json() for file in files.values()]
        rows = [state.rows[number] for in_file in numbers.values() for number in in_file]
        self._commit(*removed, *self._additions(draw, state, rows))

    def delete_positions(self, positions: Mapping[int, Sequence[int]]) -> None:
        """Delete the rows at positions of some files, by their places."""
        state, root = self._state(), str(self.location)
        files = self._files_at(state, positions)
        rows = [(file, BitMap(positions[place])) for place, file in files.items()]
        changes = delete_rows(root, rows, state.protocol, state.metadata)
        commit = DeltaCommit(
            operation="DELETE",
            change=RowChange.DELETE,
            read_version=state.version,
            added=changes.added,
            removed=changes.removed,
            protocol=changes.protocol,
        )
        commit_changes(
            root,
            commit,
            TableReads(version=state.version, protocol=state.protocol, metadata=state.metadata),
        )

    def rows_of_other_readers(self, spark: Any) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows as delta-rs reads them, where it does read the table."""
        if self._mapping == "none":
            answer = QueryBuilder().register("t", DeltaTable(self.handle)).execute("SELECT * FROM t")
            yield "delta-rs", pa.table(answer.read_all())

    def _state(self) -> TableState:
        return read_state(str(self.location), newest_version(str(self.location)))

    def _files_at(self, state: TableState, places: Iterable[int]) -> dict[int, AddedFile]:
        """Return files of the log by their places in the version."""
        by_path = {str(self.location / unquote(file.path)): file for file in state.files.values()}
        paths = self.open().files.paths
        return {place: by_path[paths[place]] for place in places}

    def _protocol(self) -> dict[str, Any]:
        plain = self._mapping == "none"
        features = [name for name in _FEATURES if not plain or name not in ("columnMapping", "typeWidening")]
        readers = [name for name in features if name not in _WRITER_FEATURES]
        versions = {"minReaderVersion": 3, "minWriterVersion": 7}
        return {"protocol": {**versions, "readerFeatures": readers, "writerFeatures": features}}

    def _metadata(self, state: ModelState) -> dict[str, Any]:
        fields = [self._field(column) for column in state.all_columns]
        ids = {column.id: column for column in state.columns}
        partitions = [] if self._partition is None else [ids[self._partition].name]
        # All rows satisfy the constraint, which statements must check on new ones alone.
        configuration = {
            "delta.enableDeletionVectors": "true",
            "delta.constraints.numbered": f"{NUMBER} > 0",
        }
        if self._mapping != "none":
            configuration[f"{_MAPPING}mode"] = self._mapping
            configuration[f"{_MAPPING}maxColumnId"] = str(max(self._physical) + 1)
        return {
            "metaData": {
                "id": "table",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": partitions,
                "configuration": configuration,
                "createdTime": 1,
            }
        }

    def _field(self, column: ModelColumn) -> dict[str, Any]:
        """Return a column of the schema, and remember its name in files and its types so far."""
        type_ = type_to_json(column.type)
        physical = column.name if self._mapping == "none" else f"col-{column.id}"
        self._physical.setdefault(column.id, physical)
        before = next((narrow for narrow, wide in WIDER.items() if wide == column.type), None)
        if column.id != NUMBER_ID and before is not None and WIDENS:
            self._types[column.id] = [type_to_json(before)]
        metadata: dict[str, Any] = {}
        if self._mapping != "none":
            metadata[f"{_MAPPING}id"] = column.id + 1
            metadata[f"{_MAPPING}physicalName"] = self._physical[column.id]
        if column.id in self._types:
            metadata["delta.typeChanges"] = [{"fromType": self._types[column.id][0], "toType": type_}]
        return {"name": column.name, "type": type_, "nullable": True, "metadata": metadata}

    def _additions(self, draw: Any, state: ModelState, rows: Sequence[ModelRow]) -> list[dict[str, Any]]:
        parts: dict[Any, list[ModelRow]] = {}
        for row in rows:
            parts.setdefault(None if self._partition is None else row.get(self._partition), []).append(row)
        return [self._addition(draw, state, part) for part in parts.values()]

    def _addition(self, draw: Any, state: ModelState, rows: Sequence[ModelRow]) -> dict[str, Any]:
        """Write a file, and return the action that adds it."""
        columns = [
            ModelColumn(id=column.id, name=self._physical[column.id], type=column.type)
            for column in state.all_columns
            if column.id != self._partition
        ]
        arrow = arrow_rows(columns, rows)
        named = [
            field.with_metadata({"PARQUET:field_id": str(column.id + 1)})
            for field, column in zip(arrow.schema, columns, strict=True)
        ]
        name = f"part {next(self._file_numbers)}.parquet"
        pq.write_table(arrow.cast(pa.schema(named)), self.location / name, row_group_size=2)
        values = {}
        for column in state.columns:
            if column.id == self._partition:
                (value,) = arrow_rows([column], rows[:1])[column.name].to_pylist()
                values[self._physical[column.id]] = _partition_text(value)
        return {
            "add": {
                "path": quote(name),
                "partitionValues": values,
                "size": (self.location / name).stat().st_size,
                "modificationTime": 1,
                "dataChange": True,
                "stats": statistics_json(_statistics(columns, rows, choose(draw, _WRITERS))),
            }
        }

    def _commit(self, *actions: Mapping[str, Any]) -> None:
        log = self.location / "_delta_log"
        version = len(list(log.glob("*.json")))
        text = "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions)
        (log / f"{version:020}.json").write_text(text, encoding="utf-8")


def _statistics(columns: Sequence[ModelColumn], rows: Sequence[ModelRow], writer: str) -> dict[str, Any]:
    """Return the statistics of a file as a writer states them."""
    statistics: dict[str, Any] = {"numRecords": len(rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    for column in columns:
        present = [value for row in rows if (value := row.get(column.id)) is not None]
        sides = stated_bounds(present, type_to_json(column.type), writer)
        for key, value in zip(("minValues", "maxValues"), sides, strict=True):
            if value is not None:
                statistics[key][column.name] = value
        statistics["nullCount"][column.name] = len(rows) - len(present)
    return statistics


def _partition_text(value: Any) -> str | None:
    """Return a partition value as Spark writes it in a session of UTC."""
    if value is None:
        return None
    return str(value).removesuffix("+00:00") if hasattr(value, "hour") else str(value)
