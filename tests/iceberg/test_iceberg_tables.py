"""`pruning.prune` over tables of Iceberg: versions, deletes, evolution, and what is left alone."""

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError

import pruning
from mutants.iceberg.leaves import MUTANTS
from pruning.errors import InputError
from pruning.spark.drive.report import Report, ScanReport

ROWS = 10
# A condition that Iceberg does not know, so that only our rules exclude files by it.
OURS = "IF({0} > {1}, {0}, {1}) > {1}"


@pytest.fixture
def table(iceberg: Any, new_name: Callable[[], str]) -> str:
    """The name of a table of six files with ten rows each, in the order of `x`."""
    return write_table(iceberg, new_name())


def write_table(spark: Any, name: str, *, version: int = 2, files: int = 6) -> str:
    spark.sql(
        f"CREATE TABLE {name} (x BIGINT, y INT, s STRING) USING iceberg TBLPROPERTIES "
        f"('format-version'='{version}', 'write.delete.mode'='merge-on-read')"
    )
    append(spark, name, files)
    return name


def append(spark: Any, name: str, files: int, start: int = 0) -> None:
    for number in range(files):
        first = start + number * ROWS
        rows = spark.range(first, first + ROWS, 1, 1)
        rows.selectExpr("id AS x", "CAST(id AS INT) AS y", "concat('text ', id) AS s").writeTo(name).append()


def java_table(spark: Any, name: str) -> Any:
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def snapshots(spark: Any, name: str) -> list[int]:
    rows = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()
    return [row.snapshot_id for row in rows]


def check(df: Any, *, kept: int, total: int) -> Report:
    """Check that a query gives its rows when it is pruned, from so many files."""
    pruned = pruning.prune(df)
    report = pruning.explain(pruned)
    assert sorted(pruned.collect(), key=str) == sorted(df.collect(), key=str)
    (scan,) = report.scans
    assert (scan.files_kept, scan.files_total) == (kept, total), str(report)
    return report


def only_note(df: Any) -> str:
    """Return the note on a query's only scan, which must be left as it is."""
    assert pruning.prune(df) is df
    (scan,) = pruning.explain(df).scans
    assert scan.files_total is None
    (note,) = scan.notes
    return note


def scan_of(report: Report, name: str) -> ScanReport:
    (scan,) = (scan for scan in report.scans if scan.paths == (name,))
    return scan


def test_files_are_excluded_by_iceberg_and_by_our_rules(iceberg: Any, table: str) -> None:
    report = check(iceberg.table(table).where(f"x < 45 AND {OURS.format('x', 19)}"), kept=3, total=6)
    removals = {removal.technique: removal.files for removal in report.scans[0].removals}
    assert removals == {"iceberg": 1, "filter": 2}
    assert report.scans[0].to_dict()["blocks_total"] == 6


def test_a_pruned_frame_is_filtered_and_projected_further(
    iceberg: Any, table: str, new_name: Callable[[], str]
) -> None:
    """Spark drops `y` with a condition that a later one implies; Iceberg's residual filter still names it."""
    dim = new_name()
    iceberg.sql(f"CREATE TABLE {dim} (k BIGINT) USING iceberg")
    iceberg.sql(f"INSERT INTO {dim} VALUES (25), (33)")
    pruned = pruning.prune(
        iceberg.sql(f"SELECT t.* FROM {table} t JOIN {dim} ON x = k WHERE x = 25 OR y >= 3")
    )
    assert scan_of(pruning.explain(pruned), table).files_kept == 2
    assert pruned.where("x = 25").select("x").collect() == [(25,)]
    assert pruned.alias("p").where("p.y = 33").select("p.s").collect() == [("text 33",)]


def test_joins_and_first_rows_exclude_files(iceberg: Any, table: str, new_name: Callable[[], str]) -> None:
    dim = new_name()
    iceberg.sql(f"CREATE TABLE {dim} (k BIGINT, name STRING) USING iceberg")
    iceberg.sql(f"INSERT INTO {dim} VALUES (33, 'a'), (7, 'b')")
    df = iceberg.sql(f"SELECT s, name FROM {table} JOIN {dim} ON x = k WHERE name = 'a'")
    pruned = pruning.prune(df)
    assert pruned.collect() == [("text 33", "a")]
    assert scan_of(pruning.explain(pruned), table).files_kept == 1
    top = check(iceberg.table(table).orderBy("x").limit(3), kept=1, total=6)
    assert top.scans[0].removals[0].technique == "top-k"
    limit = check(iceberg.table(table).where(OURS.format("x", 9)).limit(50), kept=5, total=6)
    assert limit.scans[0].removals[0].technique == "filter"


def test_a_limit_takes_the_files_whose_rows_are_sure(iceberg: Any, table: str) -> None:
    pruned = pruning.prune(iceberg.table(table).where(OURS.format("x", 9)).limit(20))
    (scan,) = pruning.explain(pruned).scans
    assert (scan.files_kept, [removal.technique for removal in scan.removals]) == (2, ["filter", "limit"])
    assert pruned.count() == 20


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_are_not_counted_as_live(
    iceberg: Any, new_name: Callable[[], str], version: int
) -> None:
    """Of the last file, a row is left; the exact numbers of deletion vectors count."""
    name = write_table(iceberg, new_name(), version=version)
    iceberg.sql(f"DELETE FROM {name} WHERE x BETWEEN 51 AND 59")
    iceberg.sql(f"DELETE FROM {name} WHERE x = 45")
    last = iceberg.table(name).where(OURS.format("x", 49))
    check(last, kept=1, total=6)
    pruned = pruning.prune(iceberg.table(name).where(OURS.format("x", 39)).limit(5))
    assert pruned.count() == 5
    (scan,) = pruning.explain(pruned).scans
    # Position deletes do not tell how many rows are left of a file.
    assert scan.files_kept == (1 if version == 3 else 2)
    top = iceberg.table(name).orderBy("x", ascending=False).limit(3)
    assert pruning.prune(top).collect() == top.collect()


def test_rows_that_equality_deletes_name_are_not_counted(iceberg: Any, table: str, tmp_path: Path) -> None:
    """Spark writes no equality deletes, but reads them."""
    field = pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "1"})
    path = tmp_path / "deletes.parquet"
    pq.write_table(pa.table([pa.array(range(40, 59))], pa.schema([field])), path)
    java, core = java_table(iceberg, table), iceberg._jvm.org.apache.iceberg
    ids = iceberg.sparkContext._gateway.new_array(iceberg._jvm.int, 1)
    ids[0] = 1
    deletes = (
        core.FileMetadata.deleteFileBuilder(java.spec())
        .ofEqualityDeletes(ids)
        .withPath(str(path))
        .withFormat("parquet")
        .withFileSizeInBytes(path.stat().st_size)
        .withRecordCount(19)
        .build()
    )
    java.newRowDelta().addDeletes(deletes).commit()
    iceberg.sql(f"REFRESH TABLE {table}")
    check(iceberg.table(table).where(OURS.format("x", 39)), kept=2, total=6)
    pruned = pruning.prune(iceberg.table(table).where(OURS.format("x", 39)).limit(1))
    assert pruned.collect() == [(59, 59, "text 59")]
    first = iceberg.table(table).orderBy("x", ascending=False).limit(2)
    assert pruning.prune(first).collect() == [(59, 59, "text 59"), (39, 39, "text 39")]


def test_each_way_to_choose_a_version_is_kept(iceberg: Any, table: str) -> None:
    ids = snapshots(iceberg, table)
    condition = OURS.format("x", 9)
    versions = java_table(iceberg, table).manageSnapshots()
    versions.createTag("old", ids[2]).createBranch("side", ids[1]).commit()
    append_to_branch(iceberg, table)
    times = iceberg.sql(f"SELECT committed_at FROM {table}.snapshots ORDER BY committed_at").collect()
    for version, kept, total in [
        (f"VERSION AS OF {ids[3]}", 3, 4),
        ("VERSION AS OF 'old'", 2, 3),
        ("VERSION AS OF 'side'", 2, 3),
        (f"TIMESTAMP AS OF '{times[1].committed_at}'", 1, 2),
    ]:
        check(iceberg.sql(f"SELECT * FROM {table} {version} WHERE {condition}"), kept=kept, total=total)
    for option, value, kept, total in [
        ("snapshot-id", ids[3], 3, 4),
        ("tag", "old", 2, 3),
        ("branch", "side", 2, 3),
    ]:
        option = option if has_own_options(iceberg) else "versionAsOf"
        df = iceberg.read.option(option, value).table(table).where(condition)
        check(df, kept=kept, total=total)


def has_own_options(spark: Any) -> bool:
    """Tell whether Iceberg has options of its own for versions, as up to its module for Spark 4.0."""
    return tuple(map(int, spark.version.split(".")[:2])) < (4, 1)


def append_to_branch(spark: Any, table: str) -> None:
    rows = spark.range(100, 110, 1, 1).selectExpr("id AS x", "CAST(id AS INT) AS y", "'branch' AS s")
    rows.writeTo(f"{table}.branch_side").append()


def test_a_version_before_the_schema_changed_has_its_own_columns(iceberg: Any, table: str) -> None:
    """A name that was dropped and added again is another column, and an int that became a bigint is not."""
    ids = snapshots(iceberg, table)
    iceberg.sql(f"ALTER TABLE {table} RENAME COLUMN x TO z")
    iceberg.sql(f"ALTER TABLE {table} ADD COLUMN x BIGINT")
    iceberg.sql(f"ALTER TABLE {table} ALTER COLUMN y TYPE BIGINT")
    iceberg.sql(f"INSERT INTO {table} VALUES (100, 100, 'later', 1000)")
    before = f"SELECT * FROM {table} VERSION AS OF {ids[-1]} WHERE {OURS.format('x', 39)}"
    check(iceberg.sql(before), kept=2, total=6)
    check(iceberg.sql(f"SELECT * FROM {table} WHERE {OURS.format('z', 39)}"), kept=3, total=7)
    check(iceberg.sql(f"SELECT * FROM {table} WHERE {OURS.format('y', 39)}"), kept=3, total=7)
    if has_own_options(iceberg):
        # Iceberg's own option reads an earlier snapshot by the present schema.
        option = iceberg.read.option("snapshot-id", ids[-1]).table(table)
        check(option.where(f"z < 55 AND {OURS.format('z', 39)}"), kept=2, total=6)
    # Files of before hold NULL for certain.
    check(iceberg.sql(f"SELECT z, x FROM {table} WHERE coalesce(x, -1) > 5"), kept=1, total=7)
    check(iceberg.sql(f"SELECT z, x FROM {table} WHERE coalesce(x, -1) < 5"), kept=6, total=7)


def test_rows_with_nan_are_found_where_iceberg_loses_them(iceberg: Any, new_name: Callable[[], str]) -> None:
    """In Spark, NaN is greater than each number, and 0.0 equals -0.0."""
    name = new_name()
    iceberg.sql(f"CREATE TABLE {name} (d DOUBLE) USING iceberg")
    for values in ("(1D), (double('NaN'))", "(2D), (3D)", "(-0D)"):
        iceberg.sql(f"INSERT INTO {name} VALUES {values}")
    pruned = pruning.prune(iceberg.table(name).where("d > 2.5"))
    assert sorted(str(row.d) for row in pruned.collect()) == ["3.0", "nan"]
    (scan,) = pruning.explain(pruned).scans
    assert scan.files_kept == 2
    assert pruning.prune(iceberg.table(name).where("d = 0.0")).count() == 1


def test_partition_values_are_known_without_metrics(iceberg: Any, new_name: Callable[[], str]) -> None:
    name = new_name()
    iceberg.sql(
        f"CREATE TABLE {name} (x BIGINT, s STRING, t TIMESTAMP) USING iceberg "
        "PARTITIONED BY (days(t), truncate(2, s)) TBLPROPERTIES ('write.metadata.metrics.default'='none')"
    )
    iceberg.range(40).selectExpr(
        "id AS x", "concat('k', id DIV 10, ' text') AS s", "timestamp_seconds(86400 * (id DIV 10)) AS t"
    ).writeTo(name).append()
    check(iceberg.table(name).where("date_format(t, 'yyyy-MM-dd') = '1970-01-03'"), kept=1, total=4)
    check(iceberg.table(name).where("IF(s > 'k2', s, 'k') > 'k2'"), kept=2, total=4)


def test_one_leaf_that_is_read_twice_reads_what_either_needs(iceberg: Any, table: str) -> None:
    df = iceberg.sql(
        f"WITH c AS (SELECT * FROM {table} WHERE {OURS.format('x', 9)}) "
        f"SELECT a.x, b.x FROM c a JOIN c b ON a.x = b.x - 10 WHERE a.x < 30 AND b.s <> 'no'"
    )
    pruned = pruning.prune(df)
    assert sorted(pruned.collect()) == sorted(df.collect())
    assert pruned is not df
    assert pruned.count() == 20


def test_a_later_version_is_not_seen(iceberg: Any, table: str) -> None:
    pruned = pruning.prune(iceberg.table(table).where(OURS.format("x", 39)))
    append(iceberg, table, 1, start=60)
    iceberg.sql(f"ALTER TABLE {table} DROP COLUMN y")
    iceberg.sql(f"DELETE FROM {table} WHERE x = 41")
    assert pruned.count() == 20
    assert pruned.where("y = 41").count() == 1


def test_a_version_that_is_newer_than_the_frame_is_seen(iceberg: Any, table: str) -> None:
    """As by Spark, which refreshes or loads tables of a plan anew before it runs."""
    df = iceberg.table(table).where(OURS.format("x", 39))
    append(iceberg, table, 1, start=60)
    assert pruning.prune(df).count() == df.count() == 30


def test_a_cached_version_stays(iceberg: Any, table: str) -> None:
    """A write by Spark drops what Spark has kept of the table's newest version alone."""
    pruned = pruning.prune(iceberg.table(table).where(OURS.format("x", 39))).cache()
    assert pruned.count() == 20
    append(iceberg, table, 1, start=60)
    iceberg.sql(f"INSERT INTO {table} VALUES (70, 1, 'a')")
    assert pruned.count() == 20
    assert pruned.where("x > 0").count() == 20
    iceberg.sql(f"REFRESH TABLE {table}")
    assert pruned.where("x > 0").count() == 20
    pruned.unpersist()


def test_staged_files_are_dropped_with_the_last_plan_that_reads_them(iceberg: Any, table: str) -> None:
    """Spark itself may hold the plan that ran last."""
    manager = iceberg._jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()

    def staged_sets() -> int:
        return int(manager.fetchSetIds(java_table(iceberg, table)).size())

    derived = pruning.prune(iceberg.table(table).where(OURS.format("x", 39))).select("x")
    for _ in range(6):
        assert pruning.prune(iceberg.table(table).where(OURS.format("x", 49))).count() == 10
    collect_until(iceberg, table, lambda: staged_sets() <= 4)
    assert derived.count() == 20


def collect_until(spark: Any, table: str, is_done: Callable[[], bool]) -> None:
    """Collect garbage, in Python and in Java, and prune another query, which drops what is not used."""
    for _ in range(50):
        gc.collect()
        spark._jvm.System.gc()
        pruning.prune(spark.table(table).where(OURS.format("x", 49)))
        if is_done():
            return
    raise AssertionError("staged files are still there")


def test_a_table_without_snapshot_has_no_file(iceberg: Any, new_name: Callable[[], str]) -> None:
    name = write_table(iceberg, new_name(), files=0)
    report = check(iceberg.table(name).where("x > 1"), kept=0, total=0)
    assert "the table has no snapshot" in report.scans[0].notes


def test_what_is_no_plain_scan_of_a_table_is_left_alone(iceberg: Any, table: str) -> None:
    ids = snapshots(iceberg, table)
    notes = [
        only_note(iceberg.table(f"{table}.files").where("record_count > 3")),
        only_note(iceberg.sql(f"SELECT _file, x FROM {table} WHERE x > 45")),
        only_note(iceberg.read.option("start-snapshot-id", ids[0]).table(table)),
        only_note(iceberg.table(f"{table}.changes")),
    ]
    assert [note.removeprefix("left as it is: ") for note in notes] == [
        "FilesTable is one of Iceberg's metadata tables",
        "the query reads hidden columns of files, such as _spec_id",
        "it reads what was added between two snapshots",
        "SparkChangelogTable of Iceberg reads no plain table",
    ]
    stream = iceberg.readStream.table(table)
    assert "the query is a stream" in str(pruning.explain(stream))
    pruned = pruning.prune(iceberg.table(table).where(OURS.format("x", 39)))
    assert "chosen already" in only_note(pruned.where("x > 41"))


def test_an_earlier_time_is_asked_of_iceberg_by_its_own_sql(iceberg: Any, table: str) -> None:
    with pytest.raises(InputError, match="VERSION AS OF"):
        pruning.prune(iceberg.table(table), as_of="2024-01-01")


def test_another_catalog_and_another_store_give_the_same_tables(iceberg: Any) -> None:
    """Only Iceberg's own table object is used, here of a catalog whose files are in memory."""
    iceberg.conf.set("spark.sql.catalog.memory", "org.apache.iceberg.spark.SparkCatalog")
    iceberg.conf.set("spark.sql.catalog.memory.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    iceberg.conf.set("spark.sql.catalog.memory.cache-enabled", "false")
    iceberg.sql("CREATE NAMESPACE memory.db")
    name = write_table(iceberg, "memory.db.t")
    check(iceberg.table(name).where(OURS.format("x", 39)), kept=2, total=6)
    iceberg.sql(f"DELETE FROM {name} WHERE x = 45")
    check(iceberg.table(name).where(OURS.format("x", 39)), kept=2, total=6)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_iceberg_leaves_is_found_out(
    name: str,
    iceberg: Any,
    table: str,
    new_name: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "deleted rows are live": partial(
            test_deleted_rows_are_not_counted_as_live, iceberg, new_name, version=2
        ),
        "a name is its first field": partial(
            test_a_version_before_the_schema_changed_has_its_own_columns, iceberg, table
        ),
        "Iceberg knows NaN": partial(
            test_rows_with_nan_are_found_where_iceberg_loses_them, iceberg, new_name
        ),
        "all copies of a leaf need what the first needs": partial(
            test_one_leaf_that_is_read_twice_reads_what_either_needs, iceberg, table
        ),
        "a residual filter's columns are those that are read": partial(
            test_a_pruned_frame_is_filtered_and_projected_further, iceberg, table, new_name
        ),
        "chosen files are all files": partial(
            test_what_is_no_plain_scan_of_a_table_is_left_alone, iceberg, table
        ),
    }
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises((AssertionError, Py4JJavaError)):
        checks[name]()
