"""Tables of more files than the driver plans at once: Spark's tasks leave those that filters may need."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import pruning
from mutants.iceberg.leaves import IN_TASKS
from pruning.expressions import types
from pruning.metadata.iceberg.blocks import iceberg_blocks
from pruning.metadata.iceberg.entry_rows import facts_of_entries
from pruning.metadata.iceberg.fields import IcebergField
from pruning.metadata.iceberg.remembered import BoundedMemory
from pruning.spark.drive.report import ScanReport
from pruning.spark.iceberg import tables

FILES = 6
# Conditions that Iceberg does not know, with the files that have rows for them, and these rows.
CONDITIONS = {
    "IF(x > 39, x, 39) > 39": (2, range(40, 60)),
    "IF(x > 9, x, 9) = 12": (1, range(12, 13)),
    "abs(x) < 5": (1, range(5)),
}


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let more than two files be too many, and nothing be remembered of other tests."""
    monkeypatch.setattr(tables, "PLANNED_FILES_MAX", 2)
    monkeypatch.setattr(tables, "_REMEMBERED", BoundedMemory(tables.REMEMBERED_FILES_MAX))


@pytest.fixture
def table(iceberg: Any, new_name: Callable[[], str]) -> str:
    """A table of six files of ten rows each, in the order of `x`."""
    name = new_name()
    iceberg.sql(
        f"CREATE TABLE {name} (x BIGINT, s STRING) USING iceberg "
        "TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    )
    for first in range(0, FILES * 10, 10):
        iceberg.range(first, first + 10, 1, 1).selectExpr("id AS x", "'a' AS s").writeTo(name).append()
    return name


def scan_of(df: Any) -> ScanReport:
    (scan,) = pruning.explain(df).scans
    return scan


def test_each_query_is_given_the_files_that_its_filter_leaves(iceberg: Any, table: str) -> None:
    for condition, (kept, rows) in CONDITIONS.items():
        df = iceberg.table(table).where(condition)
        scan = scan_of(df)
        assert (scan.files_kept, scan.files_total) == (kept, FILES)
        (removal,) = scan.removals
        assert (removal.technique, removal.files) == ("filter", FILES - kept)
        assert sorted(row.x for row in pruning.prune(df).collect()) == list(rows)


def test_deletes_and_versions_are_those_of_the_query(iceberg: Any, table: str) -> None:
    (condition, (kept, rows)), *_ = CONDITIONS.items()
    iceberg.sql(f"DELETE FROM {table} WHERE x = 41")
    iceberg.sql(f"ALTER TABLE {table} RENAME COLUMN x TO y")
    iceberg.sql(f"INSERT INTO {table} VALUES (70, 'b')")
    df = iceberg.table(table).where(condition.replace("x", "y"))
    assert scan_of(df).files_kept == kept + 1
    assert sorted(row.y for row in pruning.prune(df).collect()) == [*(x for x in rows if x != 41), 70]


def test_iceberg_plans_what_is_left(iceberg: Any, table: str) -> None:
    """Both leave files out: `x < 45` five of six at first, and what is left of them by tasks is one."""
    df = iceberg.table(table).where("x < 45 AND IF(x > 39, x, 39) > 39")
    assert scan_of(df).files_kept == 1
    assert pruning.prune(df).count() == 5


def test_each_scan_of_a_leaf_has_the_files_that_it_needs(iceberg: Any, table: str) -> None:
    frame = iceberg.table(table)
    both = frame.where("abs(x) < 5").unionAll(frame.where("IF(x > 39, x, 39) > 39"))
    assert pruning.prune(both).count() == both.count() == 25
    frame.createOrReplaceTempView("many")
    sql = (
        "WITH c AS (SELECT * FROM many) "
        "SELECT a.x FROM c a JOIN c b ON a.x = b.x - 10 WHERE abs(a.x - 10) < 5 AND abs(b.x - 20) < 5"
    )
    assert sorted(row.x for row in pruning.prune(iceberg.sql(sql)).collect()) == list(range(6, 15))


def test_a_table_of_which_too_many_files_are_left_stays_as_it_is(
    iceberg: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LEFT_FILES_MAX", 3)
    df = iceberg.table(table).where("abs(x) >= 0")
    assert pruning.prune(df).count() == 60
    (note,) = scan_of(df).notes
    assert note == ("left as it is: of its 6 files, the filters leave more than 3, the most that are planned")


def test_rows_of_entries_say_what_metrics_say() -> None:
    """Absent metrics are unknown; how many of the rows are deleted is never known."""
    rows = pa.record_batch(
        {
            "file": ["a", "b", "c"],
            "rows": pa.array([3, 2, 1], pa.int64()),
            "bytes": pa.array([10, None, 10], pa.int64()),
            "value_counts_7": pa.array([3, 2, None], pa.int64()),
            "null_counts_7": pa.array([0, 2, -1], pa.int64()),
            "nan_counts_7": pa.nulls(3, pa.int64()),
            "byte_counts_7": pa.array([5, None, None], pa.int64()),
            "lower_7": [(4).to_bytes(4, "little"), None, b""],
            "upper_7": [(9).to_bytes(4, "little"), None, b"\1"],
        }
    )
    field = IcebergField(id=7, type=types.INTEGER, stored="int", has_default=False)
    column = iceberg_blocks(facts_of_entries(rows, [7]), {"x": field})["columns"].to_pylist()
    assert [(row["x"]["min"], row["x"]["max"], row["x"]["null_count"]) for row in column] == [
        (4, 9, 0),
        (None, None, 2),
        (None, None, None),
    ]


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (
            "what one query leaves is what another needs",
            test_each_query_is_given_the_files_that_its_filter_leaves,
        ),
        (
            "the first scan's predicate leaves files",
            test_each_scan_of_a_leaf_has_the_files_that_it_needs,
        ),
    ],
)
def test_a_mutant_of_files_that_tasks_leave_is_found_out(
    mutant: str,
    check: Callable[[Any, str], None],
    iceberg: Any,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*IN_TASKS[mutant])
    with pytest.raises(AssertionError):
        check(iceberg, table)
