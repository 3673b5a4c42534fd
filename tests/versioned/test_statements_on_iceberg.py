"""DELETE and UPDATE of Iceberg tables: deletes by values, required columns, partitions, layouts and names."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from oracles.answers.frames import settings
from pruning.dml import StatementConflict, WriteMode, delete, update
from pruning.dml.iceberg_targets import IcebergTarget
from pruning.errors import InputError
from pruning.metadata.iceberg.opening import open_iceberg_version
from pruning.spark.versioned.frames import version_frame

FIELDS = (
    NestedField(1, "x", LongType(), required=False),
    NestedField(2, "s", StringType(), required=False),
)


def create(folder: Path, *files: pa.Table, fields: Any = FIELDS, **options: Any) -> Any:
    """Create a table of some files, and return it."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", Schema(*fields), **options)
    for rows in files:
        table.append(rows.cast(table.schema().as_arrow()))
    return table


def rows_of(spark: Any, table: Any) -> set[Any]:
    """Return the rows of the newest version."""
    location = table.catalog.load_table("db.t").metadata_location
    return set(map(tuple, version_frame(spark, open_iceberg_version(location)).collect()))


def files_in(folder: Path) -> set[str]:
    """Return all files among the data, at any depth."""
    return {str(path) for path in folder.rglob("data/**/*") if path.is_file() and path.suffix != ".crc"}


@pytest.mark.parametrize("mode", WriteMode)
def test_statements_reach_files_of_several_layouts(spark: Any, tmp_path: Path, mode: WriteMode) -> None:
    """A name is given to another column between two files."""
    table = create(tmp_path, pa.table({"x": [1, 2], "s": ["a", "b"]}))
    with table.update_schema() as change:
        change.rename_column("s", "t")
    with table.update_schema() as change:
        change.add_column("s", LongType())
    table = table.catalog.load_table("db.t")
    table.append(pa.table({"x": [3, 4], "t": ["c", "d"], "s": [30, 40]}))
    update(spark, table, {"s": "x * 10"}, "s IS NULL OR t = 'd'", mode=mode)
    delete(spark, table, "t IN ('a', 'c')", mode=mode)
    assert rows_of(spark, table) == {(2, "b", 20), (4, "d", 40)}


@pytest.mark.parametrize("mode", WriteMode)
def test_a_required_column_is_never_null(spark: Any, tmp_path: Path, mode: WriteMode) -> None:
    fields = (NestedField(1, "x", LongType(), required=True), FIELDS[1])
    table = create(tmp_path, pa.table({"x": [1, 2], "s": ["a", None]}), fields=fields)
    files = files_in(tmp_path)
    with pytest.raises(InputError, match="IS NOT NULL"):
        update(spark, table, {"x": "CAST(s AS BIGINT)"}, "s IS NULL", mode=mode)
    assert files_in(tmp_path) == files
    update(spark, table, {"x": "x + 5"}, "s IS NULL", mode=mode)
    assert rows_of(spark, table) == {(1, "a"), (7, None)}
    assert sorted(table.refresh().scan().to_arrow()["x"].to_pylist()) == [1, 7]


@pytest.mark.parametrize("mode", WriteMode)
def test_times_are_placed_in_the_partition_of_their_day(spark: Any, tmp_path: Path, mode: WriteMode) -> None:
    """Of their day in UTC, wherever the session and this process are."""
    fields = (*FIELDS, NestedField(3, "t", TimestamptzType(), required=False))
    spec = PartitionSpec(
        PartitionField(3, 1000, DayTransform(), "day"), PartitionField(2, 1001, IdentityTransform(), "p")
    )
    evening_us = 1_700_006_400_000_000 - 1
    rows = pa.table(
        {"x": [1, 2], "s": ["a", "b"], "t": pa.array([evening_us, None], pa.timestamp("us", "UTC"))}
    )
    table = create(tmp_path, rows, fields=fields, partition_spec=spec)
    with settings(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        update(spark, table, {"t": "t + INTERVAL 1 MICROSECOND", "s": "'c'"}, "x = 1", mode=mode)
        update(spark, table, {"t": f"timestamp_micros({evening_us})"}, "x = 2", mode=mode)
    partitions = {tuple(task.file.partition) for task in table.refresh().scan().plan_files()}
    # A file of which each row has changed leaves the table.
    assert partitions == {(19_676, "c"), (19_675, "b")}


@pytest.mark.parametrize("mode", WriteMode)
def test_a_conflict_leaves_no_files(
    spark: Any, tmp_path: Path, mode: WriteMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer deletes a row of the same file, between the reading and the commit."""
    table = create(tmp_path, pa.table({"x": [1, 2, 3], "s": ["a", "b", "c"]}))
    commit = IcebergTarget.commit

    def commit_late(target: IcebergTarget, *arguments: Any) -> int:
        monkeypatch.setattr(IcebergTarget, "commit", commit)
        new_files = files_in(tmp_path)
        delete(spark, table, "x = 1", mode=mode)
        files.update(files_in(tmp_path) - new_files)
        return commit(target, *arguments)

    files = files_in(tmp_path)
    monkeypatch.setattr(IcebergTarget, "commit", commit_late)
    with pytest.raises(StatementConflict):
        update(spark, table, {"s": "'z'"}, "x = 2", mode=mode)
    assert files_in(tmp_path) == files


def test_columns_that_differ_in_letter_case_need_a_session_that_tells_them_apart(
    spark: Any, tmp_path: Path
) -> None:
    fields = (FIELDS[0], NestedField(2, "X", LongType(), required=False))
    table = create(tmp_path, pa.table({"x": [1, 2], "X": [10, 20]}), fields=fields)
    with pytest.raises(InputError, match="differ in letter case alone"):
        delete(spark, table, "x = 1")
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        update(spark, table, {"X": "X + x"}, "x = 1")
        assert rows_of(spark, table) == {(1, 11), (2, 20)}


@pytest.mark.parametrize("name", ["mode", "isolation-level"])
def test_a_property_that_iceberg_does_not_have_is_refused(spark: Any, tmp_path: Path, name: str) -> None:
    table = create(
        tmp_path, pa.table({"x": [1], "s": ["a"]}), properties={f"write.delete.{name}": "sometimes"}
    )
    with pytest.raises(InputError, match=f"write.delete.{name} is 'sometimes'"):
        delete(spark, table, "x = 1")


def test_a_new_value_moves_a_row_out_of_a_partition_that_the_table_no_longer_has(
    spark: Any, tmp_path: Path
) -> None:
    """A file keeps the partition of the spec that it was written by."""
    catalog = SqlCatalog("p", uri=f"sqlite:///{tmp_path}/p.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    with table.update_spec() as change:
        change.add_identity("a")
    table.append(pa.table({"a": [1, 1, 2], "b": [10, 11, 12]}))
    with table.update_spec() as change:
        change.remove_field("a")
    update(spark, table, {"a": "5"}, "b IN (10, 12)", mode=WriteMode.COPY_ON_WRITE)
    rows = table.refresh().scan().to_arrow().sort_by("b").to_pylist()
    assert [(row["a"], row["b"]) for row in rows] == [(5, 10), (1, 11), (5, 12)]
