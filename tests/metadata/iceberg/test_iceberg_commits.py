"""Changes that are committed to Iceberg tables, as PyIceberg reads them."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from iceberg_lake import (
    BY_P,
    IcebergLake,
    change_of,
    data_files,
    replacement,
    rows_of,
    write_file,
)
from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import LongType, NestedField, StringType
from pyroaring import BitMap

from mutants.metadata.iceberg_commits import WRITING_MUTANTS
from pruning.metadata.iceberg.commits.changes import NewDataFile
from pruning.metadata.iceberg.commits.committing import commit_change


@pytest.fixture
def lake(tmp_path: Path) -> IcebergLake:
    """A lake without tables."""
    return IcebergLake(tmp_path)


def _entries(table: Any, content: Any) -> list[Any]:
    return [
        entry
        for manifest in table.current_snapshot().manifests(table.io)
        if manifest.content == content
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    ]


def test_deleted_positions_are_no_rows_of_the_table(lake: IcebergLake) -> None:
    table = lake.create([(1, "a"), (2, "b"), (3, "c")], [(4, "d"), (5, "e")])
    files = data_files(table)
    positions = {files[1, 2, 3]: BitMap([0, 2]), files[4, 5]: [1, 1]}
    commit_change(table, change_of(table, deleted_positions=positions))
    assert rows_of(lake.load()) == [(2, "b"), (4, "d")]


def test_a_delete_file_says_which_rows_of_which_file_it_deletes(lake: IcebergLake) -> None:
    """The fields that the specification asks for, with bounds that are the whole path."""
    table = lake.create([(1, "a"), (2, "b"), (3, "c")])
    [path] = data_files(table).values()
    commit_change(table, change_of(table, deleted_positions={path: [2, 0]}))
    table = lake.load()
    [manifest] = [
        m for m in table.current_snapshot().manifests(table.io) if m.content == ManifestContent.DELETES
    ]
    [entry] = manifest.fetch_manifest_entry(table.io)
    file = entry.data_file
    written = pq.read_table(file.file_path.removeprefix("file://"))
    assert written.to_pydict() == {"file_path": [path, path], "pos": [0, 2]}
    ids = [field.metadata[b"PARQUET:field_id"] for field in written.schema]
    assert ids == [b"2147483546", b"2147483545"]
    assert (file.content, file.record_count, file.sort_order_id) == (1, 2, None)
    assert file.lower_bounds[2147483546] == file.upper_bounds[2147483546] == path.encode()
    assert file.file_size_in_bytes == Path(file.file_path.removeprefix("file://")).stat().st_size
    assert entry.sequence_number == entry.file_sequence_number == manifest.sequence_number == 2


def test_a_replaced_file_is_recorded_and_the_others_keep_their_numbers(lake: IcebergLake) -> None:
    table = lake.create([(1, "a"), (2, "b")], [(3, "a")], spec=BY_P)
    path = data_files(table)[1,]
    commit_change(table, replacement(table, path, [(9, "a")]))
    table = lake.load()
    assert rows_of(table) == [(2, "b"), (3, "a"), (9, "a")]
    statuses = {
        entry.data_file.file_path: (entry.status, entry.sequence_number)
        for entry in _entries(table, ManifestContent.DATA)
    }
    added = data_files(table)[9,]
    assert statuses[path] == (ManifestEntryStatus.DELETED, 1)
    assert statuses[data_files(table)[2,]] == (ManifestEntryStatus.EXISTING, 1)
    assert statuses[data_files(table)[3,]] == (ManifestEntryStatus.ADDED, 2)
    assert statuses[added] == (ManifestEntryStatus.ADDED, 3)


def test_a_file_that_replaces_one_with_deleted_rows_has_all_its_rows(lake: IcebergLake) -> None:
    """Old deletes do not concern it, and those of the removed file alone leave the table."""
    table = lake.create([(1, "a"), (2, "b"), (3, "c")], [(4, "d"), (5, "e")])
    files = data_files(table)
    commit_change(table, change_of(table, deleted_positions={files[1, 2, 3]: [0], files[4, 5]: [0]}))
    table = lake.load()
    commit_change(table, replacement(table, files[1, 2, 3], [(2, "b"), (3, "z")]))
    table = lake.load()
    assert rows_of(table) == [(2, "b"), (3, "z"), (5, "e")]
    live = [e for e in _entries(table, ManifestContent.DELETES) if e.status != ManifestEntryStatus.DELETED]
    assert [entry.data_file.lower_bounds[2147483546].decode() for entry in live] == [files[4, 5]]


def test_the_summary_counts_what_changed_and_what_there_is(lake: IcebergLake) -> None:
    table = lake.create([(1, "a"), (2, "b"), (3, "c")], [(4, "d")])
    files = data_files(table)
    read = table.current_snapshot().snapshot_id
    change = change_of(
        table,
        removed_files=frozenset([files[4,]]),
        added_files=(NewDataFile(path=write_file(table, [(5, "e"), (6, "f")])),),
        deleted_positions={files[1, 2, 3]: [0, 1]},
        properties={"skipproof.read": str(read)},
    )
    committed = commit_change(table, change)
    snapshot = lake.load().current_snapshot()
    counts = {
        "added-data-files": "1",
        "added-records": "2",
        "deleted-data-files": "1",
        "deleted-records": "1",
        "added-delete-files": "1",
        "added-position-deletes": "2",
        "total-data-files": "2",
        "total-delete-files": "1",
        "total-position-deletes": "2",
        "total-records": "5",
        "skipproof.read": str(read),
    }
    assert {key: snapshot.summary[key] for key in counts} == counts
    assert snapshot.summary.operation.value == "overwrite"
    assert (snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.schema_id) == (
        committed.snapshot_id,
        read,
        0,
    )


@pytest.mark.parametrize(
    ("parts", "operation"),
    [
        (("positions",), "delete"),
        (("removed",), "delete"),
        (("removed", "added"), "overwrite"),
        (("positions", "added"), "overwrite"),
        (("added",), "append"),
    ],
)
def test_the_operation_is_what_the_specification_calls_it(
    lake: IcebergLake, parts: tuple[str, ...], operation: str
) -> None:
    table = lake.create([(1, "a"), (2, "b")], [(3, "c")])
    files = data_files(table)
    values: dict[str, Any] = {
        "positions": ("deleted_positions", {files[1, 2]: [0]}),
        "removed": ("removed_files", frozenset([files[3,]])),
        "added": ("added_files", (NewDataFile(path=write_file(table, [(4, "d")])),)),
    }
    commit_change(table, change_of(table, **dict(values[part] for part in parts)))
    assert lake.load().current_snapshot().summary.operation.value == operation


def test_files_of_each_partition_spec_stay_in_theirs(lake: IcebergLake) -> None:
    """After the partitioning changed, deletes and replacements of old files are of the old spec."""
    table = lake.create([(1, "a"), (2, "a"), (3, "b")], spec=BY_P)
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(4), "bucket")
    table.append(table.scan(row_filter="id = 3").to_arrow())
    with table.update_spec() as update:
        update.remove_field("p")
    table.append(table.scan(row_filter="id = 1").to_arrow())
    table = lake.load()
    paths = {(task.file.spec_id, task.file.partition[0]): task.file for task in table.scan().plan_files()}
    old, middle = paths[0, "a"].file_path, paths[1, "b"].file_path
    change = replacement(table, middle, [(3, "b"), (30, "b")], deleted_positions={old: [1]})
    commit_change(table, change)
    table = lake.load()
    assert rows_of(table) == [(1, "a"), (1, "a"), (3, "b"), (3, "b"), (30, "b")]
    assert {manifest.partition_spec_id for manifest in table.current_snapshot().manifests(table.io)} == {
        0,
        1,
        2,
    }
    [deleted] = [entry.data_file for entry in _entries(table, ManifestContent.DELETES)]
    assert (deleted.spec_id, deleted.partition[0]) == (0, "a")


def test_partitions_by_a_column_that_was_dropped_keep_their_values(lake: IcebergLake) -> None:
    table = lake.create([(1, "a"), (2, "b"), (3, "b")], [(4, "b")], spec=BY_P)
    with table.update_spec() as update:
        update.remove_field("p")
    with table.update_schema() as update:
        update.delete_column("p")
    table = lake.load()
    files = data_files(table)
    change = change_of(table, removed_files=frozenset([files[1,]]), deleted_positions={files[2, 3]: [0]})
    commit_change(table, change)
    table = lake.load()
    assert [row[0] for row in rows_of(table)] == [3, 4]
    values = {(e.data_file.spec_id, e.data_file.partition[0]) for e in _entries(table, ManifestContent.DATA)}
    assert values == {(0, "a"), (0, "b")}


@pytest.mark.parametrize("name", ["a b", "ü=1", "100%", "%20x", "a+b&c", "it's", "p\u2028q", "日本"])
def test_paths_with_special_characters_are_the_same_text_everywhere(lake: IcebergLake, name: str) -> None:
    table = lake.create()
    path = write_file(table, [(1, "a"), (2, "b")], name)
    commit_change(table, change_of(table, added_files=(NewDataFile(path=path),)))
    table = lake.load()
    assert data_files(table) == {(1, 2): path}
    commit_change(table, change_of(table, deleted_positions={path: [0]}))
    assert rows_of(lake.load()) == [(2, "b")]


def test_columns_and_partitions_may_have_any_names(lake: IcebergLake) -> None:
    schema = Schema(
        NestedField(1, "an id, of sorts", LongType(), required=False),
        NestedField(2, "ü-p", StringType(), required=False),
    )
    spec = PartitionSpec(
        PartitionField(1, 1000, TruncateTransform(3), "0: an id by 3"),
        PartitionField(2, 1001, IdentityTransform(), "ü-p=p"),
    )
    table = lake.create([(1, "a/b?c=d%20"), (2, "")], spec=spec, schema=schema)
    paths = {task.file.partition[1]: task.file.file_path for task in table.scan().plan_files()}
    change = replacement(table, paths["a/b?c=d%20"], [(2, "a/b?c=d%20")], deleted_positions={paths[""]: [0]})
    commit_change(table, change)
    assert rows_of(lake.load()) == [(2, "a/b?c=d%20")]


def test_whole_files_of_a_table_of_version_1_can_be_replaced(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")], [(2, "b")], format_version="1")
    commit_change(table, replacement(table, data_files(table)[1,], [(9, "a")]))
    table = lake.load()
    assert (table.format_version, rows_of(table)) == (1, [(2, "b"), (9, "a")])
    commit_change(table, change_of(table, removed_files=frozenset([data_files(table)[2,]])))
    assert rows_of(lake.load()) == [(9, "a")]


def test_a_table_that_came_from_version_1_can_have_deleted_positions(lake: IcebergLake) -> None:
    table = lake.create([(1, "a"), (2, "b")], [(3, "c")], format_version="1")
    with table.transaction() as transaction:
        transaction.upgrade_table_version(2)
    table = lake.load()
    files = data_files(table)
    change = change_of(table, removed_files=frozenset([files[3,]]), deleted_positions={files[1, 2]: [1]})
    commit_change(table, change)
    assert rows_of(lake.load()) == [(1, "a")]


def test_a_table_without_snapshots_can_get_its_first(lake: IcebergLake) -> None:
    table = lake.create(spec=BY_P)
    added = NewDataFile(path=write_file(table, [(1, "a")]), spec_id=0, partition=("a",))
    commit_change(table, change_of(table, added_files=(added,)))
    assert rows_of(lake.load()) == [(1, "a")]


def test_a_table_can_lose_all_its_files(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")], [(2, "b")])
    commit_change(table, change_of(table, removed_files=frozenset(data_files(table).values())))
    table = lake.load()
    assert rows_of(table) == []
    lake.load().append(table.scan(snapshot_id=table.snapshots()[0].snapshot_id).to_arrow())
    assert rows_of(lake.load()) == [(1, "a")]


def test_a_change_of_nothing_records_its_properties(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")])
    commit_change(table, change_of(table, properties={"tick": "7"}))
    table = lake.load()
    assert (table.current_snapshot().summary["tick"], rows_of(table)) == ("7", [(1, "a")])


def test_earlier_snapshots_stay_as_they_were(lake: IcebergLake) -> None:
    table = lake.create([(1, "a"), (2, "b")])
    versions = {table.current_snapshot().snapshot_id: rows_of(table)}
    for step in range(3):
        table = lake.load()
        path = next(iter(data_files(table).values()))
        change = replacement(table, path, [(1, "a"), (2, "b"), (3, f"{step}")])
        commit_change(table, change)
        table = lake.load()
        commit_change(table, change_of(table, deleted_positions={data_files(table)[1, 2, 3]: [step]}))
        table = lake.load()
        versions[table.current_snapshot().snapshot_id] = rows_of(table)
    for number, rows in versions.items():
        assert (
            sorted(map(tuple, (r.values() for r in table.scan(snapshot_id=number).to_arrow().to_pylist())))
            == rows
        )


def _check_story(lake: IcebergLake) -> None:
    """Delete and replace rows of a table, drop its partition column, and check rows and entries."""
    table = lake.create([(1, "a"), (2, "b"), (3, "b")], [(4, "c")], spec=BY_P)
    files = data_files(table)
    commit_change(table, change_of(table, deleted_positions={files[2, 3]: [0]}))
    table = lake.load()
    commit_change(table, replacement(table, files[1,], [(9, "a")]))
    table = lake.load()
    assert rows_of(table) == [(3, "b"), (4, "c"), (9, "a")]
    with table.update_spec() as update:
        update.remove_field("p")
    with table.update_schema() as update:
        update.delete_column("p")
    table = lake.load()
    commit_change(table, change_of(table, removed_files=frozenset([files[4,]])))
    table = lake.load()
    assert rows_of(table) == [(3,), (9,)]
    live = [e for e in _entries(table, ManifestContent.DATA) if e.status != ManifestEntryStatus.DELETED]
    assert sorted((e.sequence_number, e.data_file.partition[0]) for e in live) == [(1, "b"), (4, "a")]


def test_rows_and_entries_are_right_after_several_commits(lake: IcebergLake) -> None:
    _check_story(lake)


@pytest.mark.parametrize("name", WRITING_MUTANTS)
def test_mutants_write_other_rows_or_entries(
    lake: IcebergLake, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*WRITING_MUTANTS[name])
    # PyIceberg raises errors of many classes for a table that is damaged.
    with pytest.raises(Exception):  # noqa: B017, PT011
        _check_story(lake)
