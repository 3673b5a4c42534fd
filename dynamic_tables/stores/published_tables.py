"""Copies of stored tables in Delta Lake or Apache Iceberg, which other programs read.

A copy has the columns of the table and the row ids. Each commit brings it from one version to another, in one
step of its format, together with the number of the version and the frontier: readers see a whole version. The
number is compared before and by the commit itself, so that a copy never goes back.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from dynamic_tables.storage.versions import Purged
from dynamic_tables.stores.arrow_rows import ROW_ID, VERSION, arrow_schema, table_of
from dynamic_tables.stores.iceberg_log import catalog_of, replace_columns
from dynamic_tables.stores.manifests import Manifest
from dynamic_tables.stores.parquet_table import ParquetTable
from dynamic_tables.stores.table_files import without_deleted
from dynamic_tables.values.changes import Action, Delta
from pruning.errors import InputError, MissingPackage

# The names under which a copy keeps the number of the version and the frontier.
APP = "skipproof"
VERSION_PROPERTY, FRONTIER_PROPERTY = "skipproof.version", "skipproof.frontier"
DELETED = "_deleted"
# Copies of more changed rows are written anew.
CHANGES_MAX = 50_000


class Copy(ABC):
    """A copy at a place."""

    def __init__(self, location: str) -> None:
        self.location = location

    @abstractmethod
    def version(self) -> int | None:
        """Return the version that the copy has; None before the first."""

    @abstractmethod
    def overwrite(self, rows: pa.Table, head: Manifest) -> None:
        """Make the copy hold these rows."""

    @abstractmethod
    def change(self, deleted_ids: list[str], inserted: pa.Table, head: Manifest) -> None:
        """Remove rows by their ids, and add others, in one commit."""


def publish(files: ParquetTable, copy: Copy) -> bool:
    """Bring a copy to the newest version of a table; return False if it has that version.

    Raises:
        InputError: The copy cannot be written.
    """
    head, version = files.latest(), copy.version()
    if version == head.number:
        return False
    delta = None if version is None or version > head.number else changes_since(files, version, head)
    if delta is None:
        copy.overwrite(all_rows(files, head), head)
    else:
        deleted = [change.row_id for change in delta if change.action is Action.DELETE]
        inserted = [(change.row_id, change.row) for change in delta if change.action is Action.INSERT]
        copy.change(deleted, readable(table_of(inserted, head.columns, head.number)), head)
    return True


def changes_since(files: ParquetTable, version: int, head: Manifest) -> Delta | None:
    """Return the changes since a version; None if they are many, not recorded, or of other columns."""
    try:
        old = files.version(version)
        if old.columns != head.columns or head.changed_count - old.changed_count > CHANGES_MAX:
            return None
        return files.changes(version, head.number)
    except Purged:
        return None


def all_rows(files: ParquetTable, head: Manifest) -> pa.Table:
    """Return the rows of a version."""
    deletions = files.deletions(head)
    parts = [without_deleted(files.table(file), deletions) for file in head.data]
    return readable(pa.concat_tables(parts) if parts else arrow_schema(head.columns).empty_table())


def readable(rows: pa.Table) -> pa.Table:
    """Return rows without the column that only a warehouse needs."""
    return rows.drop_columns([VERSION])


def properties_of(head: Manifest) -> dict[str, str]:
    """Return what a commit keeps of a version."""
    return {VERSION_PROPERTY: str(head.number), FRONTIER_PROPERTY: json.dumps(head.frontier)}


class DeltaCopy(Copy):
    """A table of Delta Lake, with an application transaction for each version.

    A commit is based on the version of the copy that was read before: another writer's transaction in between
    makes it fail.
    """

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.read: Any = None

    def version(self) -> int | None:
        """Return the version of the last application transaction."""
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(self.location):
            return None
        self.read = DeltaTable(self.location)
        version: int | None = self.read.transaction_version(APP)
        return version

    def commit_properties(self, head: Manifest) -> Any:
        """Return what is written with a commit."""
        from deltalake import CommitProperties, Transaction

        return CommitProperties(
            custom_metadata=properties_of(head),
            max_commit_retries=0,
            app_transactions=[Transaction(APP, head.number)],
        )

    def overwrite(self, rows: pa.Table, head: Manifest) -> None:
        """Write all rows as a new version."""
        from deltalake import write_deltalake

        properties = self.commit_properties(head)
        if self.read is None:
            write_deltalake(self.location, rows, mode="error", commit_properties=properties)
        else:
            write_deltalake(
                self.read, rows, mode="overwrite", schema_mode="overwrite", commit_properties=properties
            )

    def change(self, deleted_ids: list[str], inserted: pa.Table, head: Manifest) -> None:
        """Merge the changes by row id."""
        gone = sorted(set(deleted_ids) - set(inserted[ROW_ID].to_pylist()))
        nothing = pa.Table.from_arrays(
            [
                pa.array(gone, pa.string()),
                *(pa.nulls(len(gone), field.type) for field in list(inserted.schema)[1:]),
            ],
            schema=inserted.schema,
        )
        source = pa.concat_tables([nothing, inserted]).append_column(
            DELETED, pa.array([True] * len(gone) + [False] * len(inserted), pa.bool_())
        )
        cells = {f"`{name}`": f"source.`{name}`" for name in inserted.schema.names}
        (
            self.read.merge(
                source,
                predicate=f"target.{ROW_ID} = source.{ROW_ID}",
                source_alias="source",
                target_alias="target",
                commit_properties=self.commit_properties(head),
            )
            .when_matched_delete(f"source.{DELETED}")
            .when_matched_update(cells, f"NOT source.{DELETED}")
            .when_not_matched_insert(cells, f"NOT source.{DELETED}")
            .execute()
        )


class IcebergCopy(Copy):
    """A table of Iceberg in a catalog in SQLite at its place; a lost race is not tried again."""

    def table(self) -> Any:
        """Return the table; None before the first version."""
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return self.catalog().load_table(f"{APP}.rows")
        except NoSuchTableError:
            return None

    def catalog(self) -> Any:
        """Return the catalog, which is made when it is first needed."""
        return catalog_of(Path(self.location))

    def version(self) -> int | None:
        """Return the version that the properties of the table name."""
        table = self.table()
        number = None if table is None else table.properties.get(VERSION_PROPERTY)
        return None if number is None else int(number)

    def overwrite(self, rows: pa.Table, head: Manifest) -> None:
        """Write all rows as a new version."""
        table = self.table()
        if table is None:
            retries = {"commit.retry.num-retries": "0"}
            table = self.catalog().create_table(f"{APP}.rows", rows.schema, properties=retries)
        with table.transaction() as transaction:
            if table.schema().as_arrow() != rows.schema:
                replace_columns(transaction, table, rows.schema)
            transaction.overwrite(rows)
            transaction.set_properties(properties_of(head))

    def change(self, deleted_ids: list[str], inserted: pa.Table, head: Manifest) -> None:
        """Rewrite the files with deleted rows, and add the others, in one commit."""
        from pyiceberg.expressions import In

        with self.table().transaction() as transaction:
            if deleted_ids:
                transaction.delete(In(ROW_ID, deleted_ids))
            if len(inserted):
                transaction.append(inserted)
            transaction.set_properties(properties_of(head))


COPIES: Mapping[str, type[Copy]] = {"delta": DeltaCopy, "iceberg": IcebergCopy}


def open_copy(format: str, location: str) -> Copy:
    """Return the copy at a place.

    Raises:
        InputError: There is no such format.
        MissingPackage: Its package is not installed.
    """
    if format not in COPIES:
        raise InputError(f"the format is {format}; it is one of {', '.join(COPIES)}")
    copy = COPIES[format](location)
    try:
        copy.version()
    except ImportError as error:
        raise MissingPackage(f"{location}: run `pip install 'skipproof[{format}]'` to write it") from error
    return copy
