"""Tables that others write: a base table follows the newest version of a table of another program.

The warehouse keeps the rows in files of its own. So a version that the other program removes, or goes back
behind, is no loss: what changed is the difference between the rows that are kept and those that are there
now. Files that both versions have are not read.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.bags.operators import Pairs
from dynamic_tables.catalog.entities import Entity
from dynamic_tables.on_spark.few_changes import TooManyRows
from dynamic_tables.stores.arrow_rows import types_of, versioned_rows
from dynamic_tables.stores.lake_versions import LakeVersion, VersionGone, open_lake_version
from dynamic_tables.stores.manifests import DataFile, Manifest
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.stores.parquet_table import Staged
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Action, Change, Contents, Delta, Row, RowId
from dynamic_tables.values.expressions import Column
from dynamic_tables.warehouse.keyed_rows import KeyedRows, stage_keyed
from dynamic_tables.warehouse.new_rows import arrow_rows, new_id
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from pruning.errors import InputError

# The most rows that are compared in Python; of more, all rows are taken for new ones.
COMPARED_MAX = 1_000_000
ATTEMPTS_MAX = 20
NUMBER, MARKS = "number", "marks"


def follow(table: WarehouseTable, entity: Entity, now_us: Callable[[], int]) -> bool:
    """Bring a table to the newest version of its source; return False if it has that version already.

    Raises:
        InputError: The source cannot be read, or has other columns now.
    """
    for _ in range(ATTEMPTS_MAX):
        parent = table.files.latest()
        newest = open_lake_version(entity.location)
        check_fields(entity, newest)
        old = parent.source
        if old is not None and old[MARKS] == newest.marks:
            return False
        try:
            staged = stage_changes(table, parent, newest, entity.key)
        except VersionGone:
            continue  # the source has changed since it was opened
        if table.commit_rows(staged, parent, now_us, {NUMBER: newest.number, MARKS: dict(newest.marks)}):
            return True
    raise InputError(f"{entity.name}: {entity.location} changes faster than it is read")


def check_fields(entity: Entity, version: LakeVersion) -> None:
    """Raise InputError unless a version has the columns that the table was attached with."""
    columns = tuple(column.field for column in entity.columns)
    if version.fields != columns:
        now = ", ".join(f"{field.name} {field.type}" for field in version.fields)
        raise InputError(f"{entity.location} has other columns now ({now}): attach it under another name")


def stage_changes(
    table: WarehouseTable, parent: Manifest, newest: LakeVersion, key: tuple[str, ...]
) -> Staged:
    """Write what differs between the rows of a table and a version of its source.

    Raises:
        VersionGone: A file of the version is gone.
        InputError: Two rows have one key.
    """
    old = parent.source
    old_marks: Mapping[str, str] = {} if old is None else old[MARKS]
    added = {path for path, mark in newest.marks.items() if old_marks.get(path) != mark}
    removed = {path for path, mark in old_marks.items() if newest.marks.get(path) != mark}
    if key:
        rows = KeyedRows(table, parent, key, COMPARED_MAX)
        return stage_keyed(rows, newest, added, lambda: removed_rows(rows, newest.location, old, removed))
    if not removed:
        return table.files.stage_files(write_rows(table, parent, newest, added), (), parent)
    try:
        assert old is not None, "rows that are removed were there"
        before = old_version(newest.location, old, removed)
        changes = net_changes(stored_rows(parent, before, removed), stored_rows(parent, newest, added))
        return table.files.stage(with_ids(table, parent, changes), parent)
    except (VersionGone, TooManyRows):
        return stage_difference(table, parent, newest)


def removed_rows(
    rows: KeyedRows, location: str, old: Mapping[str, Any] | None, removed: Collection[str]
) -> Contents | None:
    """Return the rows of the files that a version of a source has no more; None if they are gone."""
    if old is None:
        return {}
    try:
        return rows.contents(old_version(location, old, removed), removed) if removed else {}
    except VersionGone:
        return None


def write_rows(
    table: WarehouseTable, parent: Manifest, version: LakeVersion, paths: Collection[str]
) -> tuple[DataFile, ...]:
    """Write the rows of files of a source as new rows."""
    written: list[DataFile] = []
    for rows in version.rows(paths):
        first = sum(file.rows for file in written)
        number = parent.number + 1
        written += table.files.write_table(arrow_rows(rows, parent, number, first), number)
    return tuple(written)


def old_version(location: str, old: Mapping[str, Any], paths: Iterable[str]) -> LakeVersion:
    """Return the version that a table was brought to last, if its files are as they were.

    Raises:
        VersionGone: They are not.
    """
    version = open_lake_version(location, old[NUMBER])
    for path in paths:
        if version.marks.get(path) != old[MARKS][path]:
            raise VersionGone(f"{path} was written again")
    return version


def stored_rows(parent: Manifest, version: LakeVersion, paths: Collection[str]) -> list[Row]:
    """Return the rows of files of a source, as the table has them.

    Raises:
        VersionGone: A file is gone.
        TooManyRows: They are too many to be compared in Python.
    """
    types = types_of(parent.columns)
    result: list[Row] = []
    for rows in version.rows(paths):
        if len(result) + len(rows) > COMPARED_MAX:
            raise TooManyRows
        stored = arrow_rows(rows, parent, parent.number + 1, 0)
        result += [row for _, _, row in versioned_rows(stored, types)]
    return result


def net_changes(before: Iterable[Row], after: Iterable[Row]) -> list[tuple[Row, int]]:
    """Return each row whose number differs, with the number of those that are added."""
    counts: Counter[Any] = Counter()
    rows: dict[Any, Row] = {}
    for sign, some in ((-1, before), (1, after)):
        for row in some:
            key = exact_key(row)
            rows[key] = row
            counts[key] += sign
    return [(rows[key], count) for key, count in counts.items() if count]


def with_ids(table: WarehouseTable, parent: Manifest, changes: list[tuple[Row, int]]) -> Delta:
    """Return changes by row id; of equal rows, any is deleted.

    Raises:
        TooManyRows: Too many rows have to be searched for those that are deleted.
        VersionGone: A row to delete is not there.
    """
    deleted = [row for row, count in changes if count < 0]
    held = VersionRows(table.files, parent)
    ids = ids_of_rows(rows_like(held, parent, deleted) if deleted else ())
    return delta_of(parent, changes, ids)


def rows_like(held: VersionRows, parent: Manifest, rows: list[Row]) -> Pairs:
    """Return at least the held rows that are equal to some."""
    types = types_of(parent.columns)
    columns = tuple(Column(place, type_) for place, type_ in enumerate(types))
    wanted = WantedKeys(columns, frozenset(rows), frozenset())
    return held.few_rows(range(len(types)), wanted, COMPARED_MAX)


def ids_of_rows(pairs: Pairs) -> dict[Any, list[RowId]]:
    """Return the ids of rows, by their contents."""
    ids: dict[Any, list[RowId]] = {}
    for row_id, row in pairs:
        ids.setdefault(exact_key(row), []).append(row_id)
    return ids


def delta_of(parent: Manifest, changes: list[tuple[Row, int]], ids: Mapping[Any, list[RowId]]) -> Delta:
    """Return changes by row id.

    Raises:
        VersionGone: A row to delete is not there.
    """
    deletions: list[Change] = []
    insertions: list[Change] = []
    for row, count in changes:
        there = ids.get(exact_key(row), [])
        if len(there) < -count:
            raise VersionGone("the rows that are kept are not those of the version before")
        deletions += [Change(Action.DELETE, row_id, row) for row_id in there[: max(0, -count)]]
        for _ in range(count):
            insertions.append(Change(Action.INSERT, new_id(parent.number + 1, len(insertions)), row))
    return (*deletions, *insertions)


def stage_difference(table: WarehouseTable, parent: Manifest, newest: LakeVersion) -> Staged:
    """Write the difference between all rows that are kept and all of a version."""
    paths = set(newest.marks)
    try:
        held = VersionRows(table.files, parent).few_contents(COMPARED_MAX)
        changes = net_changes(held.values(), stored_rows(parent, newest, paths))
    except TooManyRows:
        written = write_rows(table, parent, newest, paths)
        return Staged(parent.number + 1, written, overwrites=True)
    return table.files.stage(delta_of(parent, changes, ids_of_rows(held.items())), parent)
