"""Versions of a table in Apache Iceberg: each is one snapshot.

The live files of a version are those that the format names. What it has no words for (the number of the
version, the files of changed rows, the frontier) is in the snapshot's summary; a number, because ids of
snapshots have no order. Data files have no field ids: readers find their columns by the table's name mapping.

Source: the specification of Iceberg, sections "Snapshots" and "Column Projection".
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.stores.arrow_rows import arrow_schema
from dynamic_tables.stores.manifests import DataFile, Manifest, from_json, to_json
from dynamic_tables.stores.version_logs import DATA, VersionExists, VersionLog
from pruning.errors import InputError

NAMESPACE = "skipproof"
TABLE = f"{NAMESPACE}.rows"
VERSION_PROPERTY, FRONTIER_PROPERTY = "skipproof.version", "skipproof.frontier"
UNSAFE = frozenset("%#?")
# The first version has no rows and no snapshot.
CREATED_PROPERTY = "skipproof.created"
NAME_MAPPING = "schema.name-mapping.default"
PROPERTIES = {
    # A commit that lost a race has to fail: its changes are those of another version.
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def catalog_of(location: Path) -> Any:
    """Return the catalog in SQLite at the place of a table."""
    from pyiceberg.catalog.sql import SqlCatalog

    location.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog(NAMESPACE, uri=f"sqlite:///{location}/catalog.db", warehouse=f"file://{location}")
    catalog.create_namespace_if_not_exists(NAMESPACE)
    return catalog


class IcebergLog(VersionLog):
    """The log of a table of Iceberg, in a catalog in SQLite at its place."""

    keeps_deletions = False

    @cached_property
    def catalog(self) -> Any:
        """The catalog."""
        return catalog_of(self.directory)

    def table(self) -> Any:
        """Return the table as it is now."""
        return self.catalog.load_table(TABLE)

    def exists(self) -> bool:
        """Tell whether the catalog has the table."""
        return (self.directory / "catalog.db").is_file() and bool(self.catalog.table_exists(TABLE))

    def create(self, manifest: Manifest) -> None:
        """Create the table, which has no snapshot yet."""
        from pyiceberg.exceptions import TableAlreadyExistsError

        if UNSAFE.intersection(str(self.directory)):
            raise InputError(f"{self.directory}: addresses in Iceberg cannot have %, # or ?: rename it")
        schema = arrow_schema(manifest.columns)
        # New columns are numbered from 1 on.
        mapping = [{"field-id": place, "names": [name]} for place, name in enumerate(schema.names, 1)]
        properties = {CREATED_PROPERTY: to_json(manifest), NAME_MAPPING: json.dumps(mapping)}
        location = f"file://{self.directory}"
        try:
            self.catalog.create_table(TABLE, schema, location, properties=PROPERTIES | properties)
        except TableAlreadyExistsError:
            raise VersionExists(f"version {manifest.number} exists") from None

    # Reading

    def numbers(self) -> list[int]:
        """Return the numbers of the versions that are retained, in order."""
        table = self.table()
        created = first_version(table)
        first = [] if created is None else [created.number]
        return [*first, *sorted(snapshots_by_number(table))]

    def newest_number(self) -> int:
        """Return the number of the newest version.

        Raises:
            InputError: Another program changed the table after it.
        """
        return newest_number(self.table(), self.directory)

    def load(self, number: int) -> Manifest:
        """Read a version."""
        table = self.table()
        snapshot = snapshots_by_number(table).get(number)
        if snapshot is None:
            created = first_version(table)
            if created is not None and created.number == number:
                return created
            raise NoVersion(f"there is no version {number} in {self.directory}")
        summary = snapshot.summary.additional_properties
        manifest = from_json(summary[VERSION_PROPERTY], f"snapshot {snapshot.snapshot_id}")
        files = live_files(table, snapshot.snapshot_id)
        data = tuple(DataFile(name, files[name].record_count) for name in sorted(files))
        return replace(manifest, data=data, frontier=json.loads(summary[FRONTIER_PROPERTY]))

    # Writing

    def add(self, manifest: Manifest, parent: Manifest) -> None:
        """Commit the snapshot that leads from one version to another."""
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.io.pyarrow import parquet_files_to_data_files

        table = self.table()
        if newest_number(table, self.directory) != parent.number:
            raise VersionExists(f"version {manifest.number} exists")
        old, new = set(parent.data), set(manifest.data)
        added = [f"file://{self.directory}/{DATA}/{file.name}" for file in manifest.data if file not in old]
        transaction = table.transaction()
        if manifest.columns != self.read(parent.number).columns:
            replace_columns(transaction, table, arrow_schema(manifest.columns))
        with transaction.update_snapshot(snapshot_properties=summary_of(manifest)).overwrite() as update:
            if table.current_snapshot() is not None:
                files = live_files(table, table.current_snapshot().snapshot_id)
                for file in parent.data:
                    if file not in new:
                        update.delete_data_file(files[file.name])
            metadata = transaction.table_metadata
            for data_file in parquet_files_to_data_files(table.io, metadata, iter(added)):
                update.append_data_file(data_file)
        try:
            transaction.commit_transaction()
        except CommitFailedException:
            raise VersionExists(f"version {manifest.number} exists") from None
        self.manifests[manifest.number] = manifest

    def discard(self, first: int) -> None:
        """Expire the snapshots of the versions before `first`, with the metadata that only they have."""
        table = self.table()
        snapshots = snapshots_by_number(table).items()
        ids = [snapshot.snapshot_id for number, snapshot in snapshots if number < first]
        if CREATED_PROPERTY in table.properties:
            with table.transaction() as transaction:
                transaction.remove_properties(CREATED_PROPERTY)
        if ids:
            self.table().maintenance.expire_snapshots().by_ids(ids).commit()
            remove_metadata(self.table(), self.directory / "metadata")
        self.manifests = {other: kept for other, kept in self.manifests.items() if other >= first}


def summary_of(manifest: Manifest) -> dict[str, str]:
    """Return what a snapshot says about a version beside its live files."""
    return {
        VERSION_PROPERTY: to_json(replace(manifest, data=(), frontier=None)),
        FRONTIER_PROPERTY: json.dumps(manifest.frontier),
    }


def number_of(snapshot: Any) -> int | None:
    """Return the number of the version that a snapshot is; None of one of another program."""
    text = snapshot.summary.additional_properties.get(VERSION_PROPERTY)
    return None if text is None else int(json.loads(text)["number"])


def first_version(table: Any) -> Manifest | None:
    """Return the version with which a table was created; None if it is not retained."""
    text = table.properties.get(CREATED_PROPERTY)
    return None if text is None else from_json(text, table.location())


def snapshots_by_number(table: Any) -> dict[int, Any]:
    """Return the snapshots that are versions, by number."""
    numbers = ((number_of(snapshot), snapshot) for snapshot in table.snapshots())
    return {number: snapshot for number, snapshot in numbers if number is not None}


def newest_number(table: Any, directory: Path) -> int:
    """Return the number of the version that a table has now.

    Raises:
        InputError: It has none: another program changed it, or brought it back to an older version.
    """
    current = table.current_snapshot()
    if current is None:
        created = first_version(table)
        assert created is not None, "it goes when there are later versions"
        return created.number
    number = number_of(current)
    if number is None or number != max(snapshots_by_number(table)):
        raise InputError(
            f"{directory}: another program changed the table, which has snapshot {current.snapshot_id} now: "
            "make the newest one of the warehouse the current one again, and write such tables by statements "
            "of the warehouse only"
        )
    return number


def live_files(table: Any, snapshot_id: int) -> dict[str, Any]:
    """Return the data files of a snapshot, by name."""
    tasks = table.scan(snapshot_id=snapshot_id).plan_files()
    return {name_of(task.file.file_path): task.file for task in tasks}


def replace_columns(transaction: Any, table: Any, schema: pa.Schema) -> None:
    """Give a table other columns; those of the same name and type stay what they are."""
    from pyiceberg.io.pyarrow import pyarrow_to_schema
    from pyiceberg.table.name_mapping import MappedField, NameMapping

    places = [MappedField(field_id=place, names=[name]) for place, name in enumerate(schema.names, 1)]
    old = {field.name: field.field_type for field in table.schema().fields}
    new = {field.name: field.field_type for field in pyarrow_to_schema(schema, NameMapping(places)).fields}
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for name, type_ in old.items():
            if new.get(name) != type_:
                update.delete_column((name,))
        for name, type_ in new.items():
            if old.get(name) != type_:
                update.add_column((name,), type_)
    mapping = name_mapping(transaction.table_metadata.schema(), table.properties.get(NAME_MAPPING))
    transaction.set_properties({NAME_MAPPING: mapping})


def name_mapping(schema: Any, earlier: str | None) -> str:
    """Return the field id of each column as JSON, also of earlier ones whose names no present one has."""
    names = {field.name for field in schema.fields}
    kept = [entry for entry in json.loads(earlier or "[]") if not names.intersection(entry["names"])]
    present = [{"field-id": field.field_id, "names": [field.name]} for field in schema.fields]
    return json.dumps([*present, *kept])


def remove_metadata(table: Any, folder: Path) -> None:
    """Remove manifests and lists of manifests that no snapshot of a table has."""
    kept: set[str] = set()
    for snapshot in table.snapshots():
        kept.add(name_of(snapshot.manifest_list))
        kept.update(name_of(manifest.manifest_path) for manifest in snapshot.manifests(table.io))
    remove_others(folder.glob("*.avro"), kept)


def remove_others(paths: Iterable[Path], kept: set[str]) -> None:
    """Remove files whose names are not among those that are kept."""
    for path in paths:
        if path.name not in kept:
            with suppress(FileNotFoundError):
                path.unlink()


def name_of(location: str) -> str:
    """Return the name of a file without its folders."""
    return location.rsplit("/", 1)[-1]
