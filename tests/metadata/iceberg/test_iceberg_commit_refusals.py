"""Changes and tables for which nothing is committed, and the sentences that say why."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hadoop_lake import make_hadoop_table
from iceberg_lake import BY_P, IcebergLake, change_of, data_files, replacement, rows_of, write_file
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFileContent
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField

from mutants.metadata.iceberg_commits import BOUNDS_MUTANTS
from pruning.errors import InputError
from pruning.metadata.iceberg.commits import refusals
from pruning.metadata.iceberg.commits.added_files import added_data_file
from pruning.metadata.iceberg.commits.changes import NewDataFile
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.commits.hadoop_tables import open_hadoop_table


@pytest.fixture
def lake(tmp_path: Path) -> IcebergLake:
    """A lake without tables."""
    return IcebergLake(tmp_path)


def _refuse(lake: IcebergLake, change: Any, sentence: str) -> None:
    """Check that a change of the only table is refused in one sentence, and nothing is written."""
    table = lake.load()
    before = _files(table)
    with pytest.raises(InputError, match=re.escape(sentence)) as raised:
        commit_change(table, change)
    assert "\n" not in str(raised.value)
    assert _files(table) == before


def _files(table: Any) -> set[Path]:
    return set(Path(table.location().removeprefix("file://")).rglob("*"))


def test_positions_of_a_table_of_version_1_are_refused(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")], format_version="1")
    [path] = data_files(table).values()
    _refuse(lake, change_of(table, deleted_positions={path: [0]}), "format version 1, which knows no deleted")


def test_tables_of_version_3_are_refused(tmp_path: Path) -> None:
    directory = make_hadoop_table(tmp_path)
    metadata = Path(directory, "metadata", "v1.metadata.json")
    fields = json.loads(metadata.read_text()) | {"format-version": 3, "next-row-id": 0}
    metadata.write_text(json.dumps(fields))
    table = open_hadoop_table(directory)
    for part in ({"deleted_positions": {"x": [0]}}, {"removed_files": frozenset("x")}):
        with pytest.raises(InputError, match="deleted rows must be deletion vectors"):
            commit_change(table, change_of(table, **part))


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("encryption.key-id", "the table is encrypted (encryption.key-id)"),
        ("write.location-provider.impl", "the property 'write.location-provider.impl' may constrain writers"),
        ("write.manifest-lists.enabled", "may constrain writers"),
        ("write.no-such-thing", "may constrain writers"),
    ],
)
def test_properties_that_promise_more_than_is_kept_are_refused(
    lake: IcebergLake, key: str, sentence: str
) -> None:
    table = lake.create([(1, "a")])
    with table.transaction() as transaction:
        transaction.set_properties({key: "x"})
    _refuse(lake, change_of(table, removed_files=frozenset(data_files(table).values())), sentence)


def test_an_encrypted_manifest_is_refused(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")])
    [manifest] = table.current_snapshot().manifests(table.io)
    manifest[14] = b"key"
    with pytest.raises(InputError, match="is encrypted; use an engine with its keys"):
        refusals.check_manifest("t", manifest)


def test_files_that_the_snapshot_does_not_have_are_refused(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")])
    change = change_of(table, removed_files=frozenset(["file:///no/such.parquet"]))
    _refuse(lake, change, "has no data file file:///no/such.parquet; name files as the table's metadata does")


@pytest.mark.parametrize(
    ("positions", "sentence"),
    [
        ([], "no positions to delete"),
        ([0, 3], "position 3 is no row of this file of 3 rows"),
        ([-1], "position -1 is no row"),
    ],
)
def test_positions_outside_the_file_are_refused(
    lake: IcebergLake, positions: list[int], sentence: str
) -> None:
    table = lake.create([(1, "a"), (2, "b"), (3, "c")])
    [path] = data_files(table).values()
    _refuse(lake, change_of(table, deleted_positions={path: np.array(positions, np.int64)}), sentence)


def test_positions_of_a_removed_file_are_refused(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")])
    [path] = data_files(table).values()
    change = change_of(table, removed_files=frozenset([path]), deleted_positions={path: [0]})
    _refuse(lake, change, "leave out its positions")


@pytest.mark.parametrize("name", ["operation", "total-records", "added-records"])
def test_properties_that_the_commit_counts_are_refused(lake: IcebergLake, name: str) -> None:
    table = lake.create([(1, "a")])
    added = (NewDataFile(path=write_file(table, [(2, "b")])),)
    _refuse(
        lake, change_of(table, added_files=added, properties={name: "1"}), "is counted by the commit itself"
    )


@pytest.mark.parametrize(
    ("rows", "partition", "sentence"),
    [
        ([(1, "a"), (2, "b")], ("a",), "rows outside the partition p = 'a'"),
        ([(1, "a")], ("b",), "rows outside the partition p = 'b'"),
        ([(1, "a"), (2, None)], ("a",), "rows outside the partition p = 'a'"),
        ([(1, "a")], (None,), "rows outside the partition p = None"),
        ([(1, "a")], (), "0 partition values for the 1 fields"),
    ],
)
def test_files_outside_their_partition_are_refused(
    lake: IcebergLake, rows: list[Any], partition: tuple[Any, ...], sentence: str
) -> None:
    table = lake.create(spec=BY_P)
    added = NewDataFile(path=write_file(table, rows), spec_id=0, partition=partition)
    _refuse(lake, change_of(table, added_files=(added,)), sentence)


@pytest.mark.parametrize("number", [None, 7])
def test_files_without_the_spec_of_their_partition_are_refused(lake: IcebergLake, number: int | None) -> None:
    table = lake.create(spec=BY_P)
    added = NewDataFile(path=write_file(table, [(1, "a")]), spec_id=number, partition=("a",))
    _refuse(
        lake, change_of(table, added_files=(added,)), f"the file's partition spec is {number}, and the table"
    )


def test_a_file_of_null_alone_is_in_the_partition_of_null(lake: IcebergLake) -> None:
    table = lake.create(spec=BY_P)
    rows: list[Any] = [(1, None), (2, None)]
    added = NewDataFile(path=write_file(table, rows), spec_id=0, partition=(None,))
    commit_change(table, change_of(table, added_files=(added,)))
    assert rows_of(lake.load()) == rows


def _new_path(table: Any) -> Path:
    path = Path(table.location().removeprefix("file://"), "data", "x.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_columns(table: Any, ids: dict[str, int | None]) -> NewDataFile:
    """Write a file of one row with the numbers 1, 2, ... in columns of these names and ids."""
    path = _new_path(table)
    fields = [
        pa.field(name, pa.int64(), metadata=None if number is None else {"PARQUET:field_id": str(number)})
        for name, number in ids.items()
    ]
    pq.write_table(pa.table([[place] for place, _ in enumerate(fields, 1)], schema=pa.schema(fields)), path)
    return NewDataFile(path=f"file://{path}")


NUMBERS = Schema(
    NestedField(1, "x", LongType(), required=False), NestedField(2, "y", LongType(), required=False)
)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ({"x": None, "y": None}, "does not have field-ids and the Iceberg table does not have"),
        ({"x": 2, "y": 1}, "column 'y' has the id 1, which in the table is that of 'x'"),
        ({"x": 1, "z": 3}, "the file cannot be added to the table"),
    ],
)
def test_files_unlike_the_table_are_refused(
    lake: IcebergLake, ids: dict[str, int | None], sentence: str
) -> None:
    table = lake.create(schema=NUMBERS)
    change = change_of(table, added_files=(_write_columns(table, ids),))
    _refuse(lake, change, sentence)


def test_a_file_that_does_not_exist_is_refused(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")])
    _refuse(lake, change_of(table, added_files=(NewDataFile(path="file:///no/such"),)), "cannot be added")


def test_files_without_ids_are_read_by_the_mapping_of_names(lake: IcebergLake) -> None:
    table = lake.create(schema=NUMBERS)
    with table.transaction() as transaction:
        transaction.set_properties({"schema.name-mapping.default": NUMBERS.name_mapping.model_dump_json()})
    table = lake.load()
    commit_change(table, change_of(table, added_files=(_write_columns(table, {"x": None, "y": None}),)))
    assert rows_of(lake.load()) == [(1, 2)]


@pytest.mark.parametrize("character", ["#", "?", "\n"])
def test_addresses_that_pyiceberg_would_shorten_are_refused(lake: IcebergLake, character: str) -> None:
    table = lake.create([(1, "a")])
    path = write_file(table, [(2, "b")], f"x{character}y")
    _refuse(lake, change_of(table, added_files=(NewDataFile(path=path),)), "takes this URI for another one")


def test_refused_changes_leave_no_delete_files(lake: IcebergLake) -> None:
    """A table of one file, of which a row is deleted beside a file that cannot be added."""
    table = lake.create([(1, "a"), (2, "b")])
    [path] = data_files(table).values()
    added = (NewDataFile(path="file:///no/such.parquet"),)
    _refuse(lake, change_of(table, added_files=added, deleted_positions={path: [0]}), "cannot be added")
    assert rows_of(lake.load()) == [(1, "a"), (2, "b")]


def _bounds(lake: IcebergLake) -> tuple[Any, Any]:
    """Return the bounds of a file of which one row group has numbers, and the other NaN and no bounds."""
    schema = Schema(NestedField(1, "x", DoubleType(), required=False))
    table = lake.create(schema=schema)
    path = _new_path(table)
    column = pa.field("x", pa.float64(), metadata={"PARQUET:field_id": "1"})
    values = pa.table([[1.0, 2.0, float("nan"), float("nan")]], schema=pa.schema([column]))
    pq.write_table(values, path, row_group_size=2)
    data_file = added_data_file(table.io, table.metadata, NewDataFile(path=f"file://{path}"), {})
    assert data_file.content == DataFileContent.DATA
    return data_file.lower_bounds.get(1), data_file.upper_bounds.get(1)


def test_a_file_has_no_bounds_if_a_row_group_has_none(lake: IcebergLake) -> None:
    assert _bounds(lake) == (None, None)


@pytest.mark.parametrize("name", BOUNDS_MUTANTS)
def test_mutants_believe_bounds_of_other_row_groups(
    lake: IcebergLake, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*BOUNDS_MUTANTS[name])
    assert _bounds(lake) != (None, None)


def test_a_replacement_has_bounds_of_its_rows(lake: IcebergLake) -> None:
    table = lake.create([(1, "a")], [(7, "b")])
    commit_change(table, replacement(table, data_files(table)[1,], [(3, "a"), (5, "a")]))
    [task] = [task for task in lake.load().scan().plan_files() if task.file.record_count == 2]
    bounds = task.file.lower_bounds[1], task.file.upper_bounds[1]
    assert [from_bytes(LongType(), bound) for bound in bounds] == [3, 5]
