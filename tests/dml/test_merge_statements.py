"""Files that MERGE leaves closed, values and partitions of its rows, and statements that it refuses."""

import datetime
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from merge_model import FORMATS, MODES, ModelTable, Row, arrow_rows, in_order
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyspark.sql import DataFrame, SparkSession

import pruning
from pruning.dml import Fate, StatementConflict, Then, When, WhenClause, WriteMode, merge
from pruning.dml.changed_rows import write_rows
from pruning.dml.target_parts import TargetPart, target_part
from pruning.errors import InputError

UPDATE = WhenClause(when=When.MATCHED, then=Then.UPDATE, values="*")
DELETE = WhenClause(when=When.MATCHED, then=Then.DELETE)
INSERT = WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values="*")
CLEAN = WhenClause(when=When.NOT_MATCHED_BY_SOURCE, then=Then.DELETE, condition="target.p = 0")
TABLE = [[Row(1, 10, 0), Row(2, 20, 0)], [Row(5, 30, 1), Row(6, 40, 1)], [Row(60, 1, 1)]]


def source_of(spark: SparkSession, *rows: Row) -> DataFrame:
    """Return rows as a DataFrame."""
    return spark.createDataFrame(list(rows), "k long, v long, p long")


def test_files_without_a_key_of_the_source_are_not_opened(spark: SparkSession, tmp_path: Path) -> None:
    """They are gone from the disk, and the statement does not notice."""
    table = ModelTable(tmp_path, "delta", TABLE)
    result = merge(
        spark,
        table.handle,
        source_of(spark, Row(6, 0, 0), Row(9, 9, 9)),
        {"k": "k"},
        [UPDATE],
        mode=WriteMode.COPY_ON_WRITE,
    )
    paths = [path for path in result.plan.files if path not in result.removed_files]
    assert len(paths) == 2
    for path in paths:
        Path(path).unlink()
    sources = [Row(6, 1, 0), Row(9, 9, 9)]
    result = merge(
        spark,
        table.handle,
        source_of(spark, *sources),
        {"k": "k"},
        [UPDATE, INSERT],
        mode=WriteMode.COPY_ON_WRITE,
    )
    assert len(result.removed_files) == 1
    assert len(result.added_files) == 2


def test_conditions_over_the_target_alone_leave_files_closed(spark: SparkSession, tmp_path: Path) -> None:
    table = ModelTable(tmp_path, "delta", TABLE)
    source = source_of(spark, Row(2, 7, 7), Row(6, 7, 7))
    on = "target.p = 1 AND source.v > target.p"
    result = merge(spark, table.handle, source, {"k": "k"}, [UPDATE, CLEAN], on=on)
    assert len(result.plan.files_of(Fate.UNTOUCHED)) == 1
    # No row of the first file has a partner, and all satisfy the condition of the other clause.
    assert len(result.plan.files_of(Fate.REWRITTEN)) == 2
    assert table.rows == in_order([Row(5, 30, 1), Row(6, 7, 7), Row(60, 1, 1)])


def test_rows_not_matched_by_the_source_are_dropped_unread(spark: SparkSession, tmp_path: Path) -> None:
    table = ModelTable(tmp_path, "delta", TABLE)
    result = merge(spark, table.handle, source_of(spark, Row(6, 7, 7)), {"k": "k"}, [UPDATE, CLEAN])
    assert len(result.plan.files_of(Fate.DELETED)) == 1
    assert table.rows == in_order([Row(5, 30, 1), Row(6, 7, 7), Row(60, 1, 1)])


@pytest.mark.parametrize("format_", FORMATS)
def test_values_of_one_run_decide_places_and_partitions(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    """A value that differs in each run is in the partition that it belongs to, and no row is lost."""
    table = ModelTable(tmp_path, format_, TABLE, is_partitioned=True, transform=IdentityTransform())
    by_chance = WhenClause(when=When.MATCHED, then=Then.UPDATE, values={"p": "CAST(rand() * 1000 AS BIGINT)"})
    source = spark.range(7).selectExpr("id AS k", "CAST(rand() * 1000 AS BIGINT) AS v", "id AS p")
    new = WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values={"k": "source.k", "p": "source.v"})
    merge(spark, table.handle, source, {"k": "k"}, [by_chance, new])
    assert [row.k for row in table.rows] == [0, 1, 2, 3, 4, 5, 6, 60]
    keys = pa.table({"k": [0, 3, 4]})["k"].to_pylist()
    assert all(row.v is None for row in table.rows if row.k in keys)


def test_inserted_times_are_in_the_partitions_of_their_days(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the time zones of this process and of the session are."""
    catalog = SqlCatalog("d", uri=f"sqlite:///{tmp_path}/d.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    schema = pa.schema([("at", pa.timestamp("us", "UTC"))])
    table = catalog.create_table("db.t", schema, properties={"format-version": "2"})
    with table.update_spec() as update:
        update.add_field("at", DayTransform(), "day")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        source = spark.sql("SELECT TIMESTAMP '2024-05-01 23:30:00 UTC' AS at")
        merge(spark, table, source, {"at": "at"}, [INSERT])
    finally:
        monkeypatch.undo()
        time.tzset()
    (file,) = (task.file for task in table.refresh().scan().plan_files())
    assert file.partition[0] == (datetime.date(2024, 5, 1) - datetime.date(1970, 1, 1)).days
    instant = "2024-05-01T23:30:00+00:00"
    assert table.scan(row_filter=EqualTo("at", instant)).to_arrow().num_rows == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_source_made_of_the_table_itself_is_one_of_its_versions(
    spark: SparkSession, tmp_path: Path, mode: WriteMode
) -> None:
    table = ModelTable(tmp_path, "delta", TABLE)
    doubled = pruning.table(spark, table.handle).where("k < 3").selectExpr("k", "v * 2 AS v", "p")
    merge(spark, table.handle, doubled, {"K": "k"}, [UPDATE, INSERT], mode=mode)
    assert table.rows[:2] == [Row(1, 20, 0), Row(2, 40, 0)]
    assert len(table.rows) == 5


def test_keys_of_other_types_and_expressions_are_compared_as_spark_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = ModelTable(tmp_path, "delta", TABLE)
    source = spark.createDataFrame([("2", 1), ("60.0", 2)], "k string, v int")
    values = {"v": "source.v"}
    clause = WhenClause(when=When.MATCHED, then=Then.UPDATE, values=values)
    merge(spark, table.handle, source, {"k": "CAST(source.k AS DOUBLE)"}, [clause])
    assert [row for row in table.rows if row.v in (1, 2)] == [Row(2, 1, 0), Row(60, 2, 1)]


def test_many_rows_of_the_source_may_delete_one(spark: SparkSession, tmp_path: Path) -> None:
    table = ModelTable(tmp_path, "delta", TABLE)
    source = source_of(spark, *[Row(2, number, 0) for number in range(3)])
    result = merge(spark, table.handle, source, {"k": "k"}, [DELETE], mode=WriteMode.MERGE_ON_READ)
    assert result.deleted_positions == 1
    assert [row.k for row in table.rows] == [1, 5, 6, 60]


def test_an_empty_table_takes_the_source_and_an_empty_source_changes_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = ModelTable(tmp_path, "delta", [])
    assert merge(spark, table.handle, source_of(spark), {"k": "k"}, [UPDATE, INSERT]).version is None
    rows = [Row(1, 1, 1), Row(1, 1, 1), Row(None, 0, 0)]
    merge(spark, table.handle, source_of(spark, *rows), {"k": "k"}, [UPDATE, INSERT])
    assert table.rows == in_order(rows)


def _set(**values: str) -> WhenClause:
    return WhenClause(when=When.MATCHED, then=Then.UPDATE, values=values)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a clause of no such column": ({"clauses": [_set(w="1")]}, "has no column w"),
    "a column twice": ({"clauses": [_set(v="1", V="2")]}, "two new values"),
    "a value of no such column": ({"clauses": [_set(v="source.w")]}, "w"),
    "a value that does not fit": ({"clauses": [_set(v="'x'")]}, "Spark fails"),
    "a value beyond the type": ({"clauses": [_set(v="1e30D")]}, "Spark fails"),
    "a condition by chance": ({"on": "rand() < 0.5"}, "not deterministic"),
    "a condition of no such column": ({"on": "target.w = 1"}, "Spark fails"),
    "a condition that is no condition": ({"on": "target.k"}, "Spark fails"),
    "a condition that is no SQL": ({"on": "target.k ="}, "Spark fails"),
    "a condition over two columns of a name": ({"on": "v = 1"}, "Spark fails"),
    "an insert by the target": (
        {"clauses": [WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values={"v": "target.v"})]},
        "Spark fails",
    ),
    "a deletion by the source": (
        {
            "clauses": [
                WhenClause(when=When.NOT_MATCHED_BY_SOURCE, then=Then.DELETE, condition="source.v = 1")
            ]
        },
        "Spark fails",
    ),
    "a clause behind one without condition": ({"clauses": [UPDATE, DELETE]}, "can never apply"),
    "a key of no such column": ({"keys": {"w": "k"}}, "has no column w"),
    "a key of no column of the source": ({"keys": {"k": "w"}}, "Spark fails"),
    "a source that fails": ({"source": "SELECT raise_error('no row') AS k, 1L AS v, 1L AS p"}, "Spark fails"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_statement_that_cannot_be_executed_leaves_the_table(
    spark: SparkSession, tmp_path: Path, case: str
) -> None:
    arguments, message = BAD[case]
    options: dict[str, Any] = {"clauses": [UPDATE, INSERT], "keys": {"k": "k"}, **arguments}
    source = spark.sql(options.pop("source", "SELECT 2L AS k, 5L AS v, 1L AS p"))
    table = ModelTable(tmp_path, "delta", TABLE)
    files, version = sorted(tmp_path.rglob("*")), table.version
    with pytest.raises(InputError, match=message) as refusal:
        merge(spark, table.handle, source, **options)
    assert "\n" not in str(refusal.value)
    assert (table.version, sorted(tmp_path.rglob("*"))) == (version, files)


def test_a_row_that_violates_a_condition_of_the_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), arrow_rows(TABLE[0]))
    DeltaTable(str(tmp_path)).alter.add_constraint({"small": "v < 100"})
    clause = WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values={"k": "source.k", "v": "source.v"})
    for v in (None, 100):
        with pytest.raises(InputError, match="violate the table's condition v < 100"):
            merge(spark, str(tmp_path), source_of(spark, Row(9, v, 0)), {"k": "k"}, [clause])
    assert merge(spark, str(tmp_path), source_of(spark, Row(9, 99, 0)), {"k": "k"}, [clause]).version == 2


@pytest.mark.parametrize("format_", FORMATS)
def test_a_row_with_a_key_of_the_source_that_comes_meanwhile_is_a_conflict(
    spark: SparkSession, tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have been matched; a row with another key is none of the statement's business."""
    table = ModelTable(tmp_path, format_, TABLE)
    coming = [Row(9, 0, 0)]

    def after_another(*arguments: Any, **options: Any) -> Any:
        if format_ == "delta":
            write_deltalake(table.handle, arrow_rows(coming), mode="append")
        else:
            table.handle.refresh().append(arrow_rows(coming))
        return write_rows(*arguments, **options)

    monkeypatch.setattr("pruning.dml.running.write_rows", after_another)
    source = source_of(spark, Row(9, 1, 1), Row(2, 2, 2))
    with pytest.raises(StatementConflict):
        merge(spark, table.handle, source, {"k": "k"}, [UPDATE, INSERT])
    assert table.rows == in_order([*(row for part in TABLE for row in part), *coming])
    coming[:] = [Row(1000, 0, 0)]
    merge(spark, table.handle, source_of(spark, Row(8, 1, 1), Row(2, 2, 2)), {"k": "k"}, [UPDATE, INSERT])
    assert {row.k for row in table.rows} == {1, 2, 5, 6, 8, 9, 60, 1000}


PARTS = {
    None: TargetPart(),
    "target.a = 1": TargetPart("(`a` = 1)"),
    "a IS NULL AND (target.a > 1 OR TARGET.`b c` < 2)": TargetPart("(a IS NULL AND (`a` > 1 OR `b c` < 2))"),
    "target.a BETWEEN 1 AND 2 AND source.x = 3": TargetPart("(`a` BETWEEN 1 AND 2)", more=True),
    "target.a NOT IN (1, 2) AND target.s.f[0] = 'target.a'": TargetPart(
        "(`a` NOT IN (1, 2) AND `s`.`f`[0] = 'target.a')"
    ),
    "target.a = source.x": TargetPart(more=True),
    # Names of both, of the source, or of nothing known.
    "both = 1 AND x = 1 AND a = 1": TargetPart("(a = 1)", more=True),
    "source.a = 1 AND target.z = 1": TargetPart(more=True),
    "NOT (target.a = 1 AND source.x = 1)": TargetPart(more=True),
    "exists(target.s.f, e -> e = a)": TargetPart(more=True),
    "target.a = 1 AND 'é𝒳' = 'y'": TargetPart(more=True),
    "target.a IN (SELECT 1)": TargetPart(more=True),
    "target.*": TargetPart(more=True),
    "target.a =": TargetPart(more=True),
}


@pytest.mark.parametrize("condition", PARTS)
def test_the_part_over_the_target_alone_is_cut_out(spark: SparkSession, condition: str | None) -> None:
    assert target_part(spark, condition, ["a", "b c", "s", "both"], ["x", "both"]) == PARTS[condition]


def test_a_clause_that_cannot_be_is_refused() -> None:
    for arguments in (
        {"when": When.MATCHED, "then": Then.INSERT, "values": "*"},
        {"when": When.NOT_MATCHED, "then": Then.DELETE},
        {"when": When.MATCHED, "then": Then.DELETE, "values": "*"},
        {"when": When.MATCHED, "then": Then.UPDATE},
        {"when": When.MATCHED, "then": Then.UPDATE, "values": {}},
        {"when": When.NOT_MATCHED_BY_SOURCE, "then": Then.UPDATE, "values": "*"},
        {"when": "MATCHED", "then": Then.DELETE},
        {"when": When.MATCHED, "then": Then.DELETE, "condition": 1},
    ):
        with pytest.raises(InputError) as refusal:
            WhenClause(**arguments)
        assert "\n" not in str(refusal.value)


def test_a_merge_that_only_inserts_is_an_append_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    """A table of which no row may change takes it, and no other MERGE."""
    append_only = {"delta.appendOnly": "true", "delta.enableDeletionVectors": "false"}
    table = ModelTable(tmp_path, "delta", TABLE, properties=append_only)
    source = source_of(spark, Row(6, 7, 7), Row(9, 9, 9))
    for clauses in ([UPDATE, INSERT], [DELETE]):
        with pytest.raises(InputError, match="appendOnly lets no row be changed"):
            merge(spark, table.handle, source, {"k": "k"}, clauses)
    merge(spark, table.handle, source, {"k": "k"}, [INSERT])
    assert table.rows == in_order([*(row for part in TABLE for row in part), Row(9, 9, 9)])


@pytest.mark.parametrize(("asked", "codec"), [("zstd", "ZSTD"), ("brotli", "SNAPPY")])
def test_new_files_have_the_codec_that_a_table_of_iceberg_asks_for(
    spark: SparkSession, tmp_path: Path, asked: str, codec: str
) -> None:
    """The session's own codec takes the place of one that it may not have."""
    table = ModelTable(tmp_path, "iceberg", TABLE, properties={"write.parquet.compression-codec": asked})
    source = source_of(spark, Row(9, 9, 9))
    (path,) = merge(spark, table.handle, source, {"k": "k"}, [INSERT]).added_files
    assert pq.read_metadata(path.removeprefix("file://")).row_group(0).column(0).compression == codec
