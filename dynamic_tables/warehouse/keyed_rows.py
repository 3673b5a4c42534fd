"""Tables that others write and that have a key: the id of a row is its key.

So a row that its writer updates stays the same row here. A key is unique in each version of the source: two
rows with one key make the source unreadable, rather than one of them vanish. NULL is a value like any other.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from dynamic_tables.on_spark.few_changes import TooManyRows
from dynamic_tables.on_spark.key_conditions import KEYS_MAX
from dynamic_tables.storage.netting import difference
from dynamic_tables.stores.arrow_rows import ROW_ID, types_of, versioned_rows
from dynamic_tables.stores.lake_versions import LakeVersion
from dynamic_tables.stores.manifests import DataFile, Manifest
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.stores.parquet_table import Staged
from dynamic_tables.values.changes import Action, Contents, Delta, Row, RowId
from dynamic_tables.values.key_texts import key_id
from dynamic_tables.warehouse.new_rows import arrow_rows
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from pruning.errors import InputError


class KeyedRows:
    """The rows of a source by key.

    Args:
        table: The table that follows the source.
        parent: Its newest version.
        key: The names of the columns of the key.
        rows_max: The most rows that are compared in Python.
    """

    def __init__(self, table: WarehouseTable, parent: Manifest, key: Collection[str], rows_max: int) -> None:
        self.table = table
        self.parent = parent
        self.rows_max = rows_max
        self.types = types_of(parent.columns)
        names = [column.field.name for column in parent.columns]
        self.key = tuple(key)
        self.places = [names.index(name) for name in key]

    def row_id(self, row: Row) -> RowId:
        """Return the id of a row."""
        return key_id([row[place] for place in self.places], [self.types[place] for place in self.places])

    def stored_rows(self, version: LakeVersion, paths: Collection[str]) -> Iterator[pa.Table]:
        """Yield the rows of files of a source as they are stored, with their keys as ids."""
        number = self.parent.number + 1
        for rows in version.rows(paths):
            stored = arrow_rows(rows, self.parent, number, 0)
            ids = [self.row_id(row) for _, _, row in versioned_rows(stored, self.types)]
            yield stored.set_column(0, ROW_ID, pa.array(ids, pa.string()))

    def contents(self, version: LakeVersion, paths: Collection[str]) -> Contents:
        """Return the rows of files of a source by id.

        Raises:
            TooManyRows: They are too many to be compared in Python.
            InputError: Two have one key.
        """
        result: dict[RowId, Row] = {}
        for stored in self.stored_rows(version, paths):
            if len(result) + len(stored) > self.rows_max:
                raise TooManyRows
            for row_id, _, row in versioned_rows(stored, self.types):
                if row_id in result:
                    raise self.repetition(version, row)
                result[row_id] = row
        return result

    def stage(self, before: Contents, after: Contents, version: LakeVersion) -> Staged:
        """Write what differs between the rows of some files before and after.

        Raises:
            TooManyRows: Too many rows have to be searched.
            InputError: A new row has the key of one that is held from other files.
        """
        delta = difference(before, after)
        held = self.held_rows(delta)
        for row_id, row in after.items():
            if row_id in held and row_id not in before:
                raise self.repetition(version, row)
        if any(change.row_id not in held for change in delta if change.action is Action.DELETE):
            return self.stage_whole(version)  # what is held is not what the version before had
        return self.table.files.stage(delta, self.parent)

    def held_rows(self, delta: Delta) -> Mapping[RowId, Row]:
        """Return at least the held rows that changes name."""
        row_ids = {change.row_id for change in delta}
        rows = VersionRows(self.table.files, self.parent)
        if len(row_ids) > KEYS_MAX:
            return rows.few_contents(self.rows_max)
        return rows.with_ids(row_ids, self.rows_max) if row_ids else {}

    def stage_whole(self, version: LakeVersion) -> Staged:
        """Write all rows of a version anew.

        Raises:
            InputError: Two have one key.
        """
        number = self.parent.number + 1
        files: list[DataFile] = []
        ids: list[pa.Array] = []
        for stored in self.stored_rows(version, set(version.marks)):
            ids.append(stored[ROW_ID].combine_chunks())
            files += self.table.files.write_table(stored, number)
        counts = pc.value_counts(pa.chunked_array(ids, pa.string()))
        repeated = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(repeated):
            raise self.repetition(version, self.row_with(version, repeated[0]["values"].as_py()))
        return Staged(number, tuple(files), overwrites=True)

    def row_with(self, version: LakeVersion, row_id: RowId) -> Row:
        """Return a row of a version that has an id."""
        parts = self.stored_rows(version, set(version.marks))
        rows = (row for stored in parts for row in versioned_rows(stored, self.types))
        return next(row for other, _, row in rows if other == row_id)

    def repetition(self, version: LakeVersion, row: Row) -> InputError:
        """Return the error of a key that two rows have."""
        names, key = ", ".join(self.key), ", ".join(str(row[place]) for place in self.places)
        return InputError(
            f"{version.location}: two rows have the key {names} = {key}: attach it without this key"
        )


def stage_keyed(
    rows: KeyedRows, newest: LakeVersion, added: Collection[str], removed: Callable[[], Contents | None]
) -> Staged:
    """Write what differs between the rows of a table and a version of its source.

    Args:
        rows: The rows of the table by key.
        newest: The version.
        added: The files that it has and that the version before has not.
        removed: Returns the rows of the files that only the version before has; None if they are gone.

    Raises:
        InputError: Two rows have one key.
    """
    try:
        before = removed()
        if before is not None:
            return rows.stage(before, rows.contents(newest, added), newest)
        held = VersionRows(rows.table.files, rows.parent).few_contents(rows.rows_max)
        return rows.stage(held, rows.contents(newest, set(newest.marks)), newest)
    except TooManyRows:
        return rows.stage_whole(newest)
