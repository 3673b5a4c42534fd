"""DELETE and UPDATE of tables of Delta Lake: what they read, what they write, and what they leave alone."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark import TaskContext

from oracles.answers.frames import settings
from pruning.dml import (
    StatementConflict,
    Then,
    When,
    WhenClause,
    WriteMode,
    changed_rows,
    delete,
    merge,
    running,
    update,
)
from pruning.dml.delta_targets import DeltaTarget
from pruning.errors import InputError
from pruning.metadata.delta.opening import open_delta_version
from pruning.spark.versioned.frames import version_frame

VECTORS = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A table of three files, with x from 0 to 8 in their order, and y = 10 x."""
    return write(tmp_path / "t", *(rows_from(start) for start in (0, 3, 6)))


def write(path: Path, *files: pa.Table, **options: Any) -> str:
    """Write a table of some files, and return its directory."""
    for place, rows in enumerate(files):
        first = {} if place else {"configuration": VECTORS, **options}
        write_deltalake(str(path), rows, mode="append", **first)
    return str(path)


def rows_from(start: int) -> pa.Table:
    return pa.table({"x": list(range(start, start + 3)), "y": [10 * x for x in range(start, start + 3)]})


def rows_of(spark: Any, folder: str) -> set[Any]:
    """Return the rows of the newest version."""
    return set(map(tuple, version_frame(spark, open_delta_version(folder, zone="UTC")).collect()))


def files_in(folder: str) -> set[str]:
    """Return all files in a directory, at any depth."""
    return {str(path) for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".crc"}


def remove_statistics(folder: str) -> None:
    """Remove all statistics from a table's log, the numbers of rows among them."""
    for entry in Path(folder, "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            action.get("add", {}).pop("stats", None)
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))


def job_count(spark: Any, call: Callable[[], Any]) -> int:
    """Return the number of jobs of Spark that a call has run."""
    spark.sparkContext.setJobGroup("statement", "statement")
    try:
        before = len(spark.sparkContext.statusTracker().getJobIdsForGroup("statement"))
        call()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup("statement")) - before
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.parametrize("mode", WriteMode)
def test_rows_are_deleted_and_untouched_files_are_not_opened(
    spark: Any, folder: str, mode: WriteMode
) -> None:
    """The file that no row can match is damaged first."""
    version = open_delta_version(folder)
    damaged = next(path for path in version.files.paths if 6 in pq.read_table(path)["x"].to_pylist())
    Path(damaged).write_bytes(b"no Parquet file")
    result = delete(spark, folder, "x IN (1, 3, 4, 5)", mode=mode)
    assert result.version == 3
    assert result.deleted_positions == (1 if mode is WriteMode.MERGE_ON_READ else 0)
    assert len(result.added_files) == (0 if mode is WriteMode.MERGE_ON_READ else 1)
    left = DeltaTable(folder).file_uris()
    assert any(damaged in uri for uri in left)


@pytest.mark.parametrize("mode", WriteMode)
def test_files_of_matching_rows_alone_are_dropped_without_a_job(
    spark: Any, folder: str, mode: WriteMode
) -> None:
    result: list[Any] = []
    assert job_count(spark, lambda: result.append(delete(spark, folder, "x >= 3", mode=mode))) == 0
    assert len(result[0].removed_files) == 2
    assert rows_of(spark, folder) == {(0, 0), (1, 10), (2, 20)}


@pytest.mark.parametrize("mode", WriteMode)
def test_rows_whose_condition_is_null_stay(spark: Any, tmp_path: Path, mode: WriteMode) -> None:
    folder = write(tmp_path / "t", pa.table({"x": [1, None, 3], "y": [1, 2, None]}))
    delete(spark, folder, "x > 1 OR y = 7", mode=mode)
    update(spark, folder, {"y": "9"}, "x = 1 OR y = 7", mode=mode)
    assert rows_of(spark, folder) == {(1, 9), (None, 2)}


@pytest.mark.parametrize("mode", WriteMode)
@pytest.mark.parametrize(
    ("assignments", "where"),
    [
        ({"y": "1 / (x - 1)"}, "x < 3"),
        ({"y": "y + 1"}, "1 / (x - 1) > 0 AND x < 3"),
        ({"y": "'a text'"}, "x = 1"),
        ({"y": "nowhere"}, "x = 1"),
    ],
)
def test_a_statement_that_fails_leaves_the_table_and_no_files(
    spark: Any, folder: str, mode: WriteMode, assignments: dict[str, str], where: str
) -> None:
    files = files_in(folder)
    with settings(spark, {"spark.sql.ansi.enabled": "true"}), pytest.raises(InputError) as refusal:
        update(spark, folder, assignments, where, mode=mode)
    assert "\n" not in str(refusal.value)
    assert files_in(folder) == files


@pytest.mark.parametrize("mode", WriteMode)
def test_a_conflict_leaves_no_files(
    spark: Any, folder: str, mode: WriteMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer deletes a row of the same file, between the reading and the commit."""
    commit = DeltaTarget.commit

    def commit_late(target: DeltaTarget, *arguments: Any) -> int:
        monkeypatch.setattr(DeltaTarget, "commit", commit)
        new_files = files_in(folder)
        delete(spark, folder, "x = 1", mode=mode)
        files.update(files_in(folder) - new_files)
        return commit(target, *arguments)

    files = files_in(folder)
    monkeypatch.setattr(DeltaTarget, "commit", commit_late)
    with pytest.raises(StatementConflict):
        update(spark, folder, {"y": "0"}, "x = 2", mode=mode)
    assert files_in(folder) == files


def test_settings_of_the_session_stay(spark: Any, folder: str) -> None:
    """Also which session is the active one."""
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    active = spark.sparkContext._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    update(spark, folder, {"x": "x + 100"}, "x = 1")
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before
    after = spark.sparkContext._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    assert after.equals(active)


def test_a_condition_means_what_it_means_in_the_given_session(spark: Any, tmp_path: Path) -> None:
    """The session that is active has another time zone; by it the file would be dropped unread."""
    noon_us = 1_700_006_400_000_000
    times = pa.array([noon_us, noon_us + 3_600_000_000], pa.timestamp("us", "UTC"))
    folder = write(tmp_path / "t", pa.table({"t": times, "x": [1, 2]}))
    other = spark.newSession()
    with settings(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        other.conf.set("spark.sql.session.timeZone", "UTC")
        result = delete(other, folder, "t >= TIMESTAMP'2023-11-15 00:30:00'")
    assert result.version == 1
    assert len(rows_of(spark, folder)) == 1


@pytest.mark.parametrize("mode", WriteMode)
def test_a_file_without_a_known_number_of_rows_is_rewritten(spark: Any, folder: str, mode: WriteMode) -> None:
    """Delta Lake forbids deletion vectors of such files."""
    remove_statistics(folder)
    update(spark, folder, {"y": "-1"}, "x = 4", mode=mode)
    result = delete(spark, folder, "x IN (0, 1, 2, 8)", mode=mode)
    assert not result.deleted_positions
    assert rows_of(spark, folder) == {(3, 30), (4, -1), (5, 50), (6, 60), (7, 70)}


def test_a_merge_keeps_the_other_rows_of_a_file_without_a_known_number_of_rows(
    spark: Any, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row leaves each file, whose number of rows stands as one in block metadata."""
    remove_statistics(folder)
    clause = WhenClause(when=When.MATCHED, then=Then.DELETE)
    merge(spark, folder, spark.createDataFrame([(1,), (8,)], "x long"), {"x": "x"}, [clause])
    assert {x for x, _ in rows_of(spark, folder)} == {0, 2, 3, 4, 5, 6, 7}
    # Taken as exact, that number loses the other rows of the file.
    monkeypatch.setattr(running, "live_row_counts", lambda metadata: metadata["row_count"].to_pylist())
    merge(spark, folder, spark.createDataFrame([(4,)], "x long"), {"x": "x"}, [clause])
    assert {x for x, _ in rows_of(spark, folder)} == {0, 2, 6, 7}


@pytest.mark.parametrize("mode", WriteMode)
def test_a_condition_that_changes_while_a_statement_runs_is_evaluated_once(
    spark: Any, folder: str, tmp_path: Path, mode: WriteMode
) -> None:
    """It is TRUE in the first stage of Spark that evaluates it, and FALSE in all others."""
    seen_in = tmp_path / "stage"

    def is_first_stage(x: int) -> bool:
        context = TaskContext.get()
        assert context is not None
        try:
            with seen_in.open("x") as file:
                file.write(str(context.stageId()))
        except FileExistsError:
            # Another row was first, or another task, which may not have written yet.
            while not seen_in.read_text():
                time.sleep(0.01)
        return seen_in.read_text() == str(context.stageId())

    spark.udf.register("is_first_stage", is_first_stage, "boolean")
    update(spark, folder, {"y": "-1"}, "x > 4 AND is_first_stage(x)", mode=mode)
    assert rows_of(spark, folder) == {(x, -1 if x > 4 else 10 * x) for x in range(9)}


@pytest.mark.parametrize("mode", WriteMode)
def test_partition_columns_get_new_values(spark: Any, tmp_path: Path, mode: WriteMode) -> None:
    """Times that clocks show twice, and texts beyond the first plane of Unicode, keep their values."""
    hour, first = 3_600, 1_699_160_400
    rows = pa.table({"x": [1, 2, 3], "p": pa.nulls(3, pa.timestamp("us", "UTC")), "s": ["a"] * 3})
    folder = write(tmp_path / "t", rows, partition_by=["p", "s"])
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        update(spark, folder, {"p": f"timestamp_seconds({first} + {hour} * (x - 1))"}, "x < 3", mode=mode)
        update(spark, folder, {"s": "concat(s, '\U0010ffff')"}, "x <> 2", mode=mode)
        frame = version_frame(spark, open_delta_version(folder, zone="America/New_York"))
        values = frame.selectExpr("x", "unix_seconds(p)", "s").collect()
    last = "a\U0010ffff"
    assert set(map(tuple, values)) == {(1, first, last), (2, first + hour, "a"), (3, None, last)}
    rows_of_delta_rs = QueryBuilder().register("t", DeltaTable(folder)).execute("SELECT s FROM t").read_all()
    assert sorted(pa.table(rows_of_delta_rs)["s"].to_pylist()) == ["a", last, last]


def test_a_condition_by_chance_is_refused(spark: Any, folder: str) -> None:
    with pytest.raises(InputError, match="not deterministic"):
        delete(spark, folder, "rand() < 0.5")


def test_rows_that_are_lost_on_the_way_are_noticed(
    spark: Any, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a store that does not list a new file yet."""
    write_rows = changed_rows.write_rows
    monkeypatch.setattr(
        running, "write_rows", lambda *arguments, **options: write_rows(*arguments, **options)[1:]
    )
    files = files_in(folder)
    with pytest.raises(InputError, match="have not the 2 rows of the statement"):
        update(spark, folder, {"y": "0"}, "x IN (1, 4)")
    assert files_in(folder) == files


@pytest.mark.parametrize("mode", WriteMode)
def test_a_constraint_that_a_new_row_violates_is_kept(spark: Any, folder: str, mode: WriteMode) -> None:
    DeltaTable(folder).alter.add_constraint({"small": "y < 100"})
    files = files_in(folder)
    with pytest.raises(InputError, match="y < 100"):
        update(spark, folder, {"y": "y + 50"}, "x >= 5", mode=mode)
    assert files_in(folder) == files
    assert update(spark, folder, {"Y": "y + 50"}, "X < 5", mode=mode).version == 4


@pytest.mark.parametrize("mode", WriteMode)
def test_rows_of_a_table_with_a_constraint_are_deleted(spark: Any, folder: str, mode: WriteMode) -> None:
    """A DELETE has no new row that the constraint would be about."""
    DeltaTable(folder).alter.add_constraint({"small": "y < 100"})
    delete(spark, folder, "x IN (1, 4)", mode=mode)
    assert {x for x, _ in rows_of(spark, folder)} == {0, 2, 3, 5, 6, 7, 8}


def test_names_are_of_columns_in_any_letter_case_once(spark: Any, folder: str) -> None:
    with pytest.raises(InputError, match="given two new values"):
        update(spark, folder, {"y": "1", "Y": "2"})
    with pytest.raises(InputError, match="has no column z; it has x, y"):
        update(spark, folder, {"z": "1"})


@pytest.mark.parametrize("mode", WriteMode)
def test_a_file_of_which_rows_are_deleted_by_position_is_changed_again(
    spark: Any, folder: str, mode: WriteMode
) -> None:
    """Such a file has the positions of its rows in another column of Spark's."""
    delete(spark, folder, "x IN (1, 4)", mode=WriteMode.MERGE_ON_READ)
    update(spark, folder, {"y": "-1"}, "x IN (2, 5)", mode=mode)
    delete(spark, folder, "x IN (0, 7)", mode=mode)
    assert rows_of(spark, folder) == {(2, -1), (3, 30), (5, -1), (6, 60), (8, 80)}
