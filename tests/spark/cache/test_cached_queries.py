"""The predicate cache in `prune`: runs record it, and repeated queries read less and have the same rows."""

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pruning
from pruning.errors import InputError
from pruning.spark.drive.cache import keys, questions, recording, scan_blocks
from pruning.spark.drive.report import ScanReport

FILES, ROWS = 10, 40
WANTED = 3
# The rows are (k, v, kind); of each column every file has values of the whole range.
SCATTERED = [((7 * row) % 400, (13 * row + 5) % 400, row % 50) for row in range(FILES * ROWS)]


def write(path: Path, rows: list[tuple[int, int, int]]) -> None:
    """Write a file of row groups of half of its rows."""
    columns = dict(zip(("k", "v", "kind"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path, row_group_size=max(1, len(rows) // 2))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table in which bounds exclude nothing."""
    (tmp_path / "t").mkdir()
    for file in range(FILES):
        write(tmp_path / "t" / f"{file}.parquet", SCATTERED[file::FILES])
    return tmp_path / "t"


def few(frame: DataFrame) -> DataFrame:
    """Rows of one file alone, which no bounds tell."""
    return frame.where("kind = 13 AND k < 300")


def many(frame: DataFrame) -> DataFrame:
    """Rows of all files."""
    return frame.where("kind < 25 AND k < 300")


def first(frame: DataFrame) -> DataFrame:
    """The first rows by an order among those of three files."""
    return frame.where("kind IN (1, 2, 13)").orderBy("v").limit(WANTED)


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "filter": few,
    "aggregate": lambda frame: few(frame).groupBy("kind").agg(F.sum("v")),
    "first rows": first,
    "first rows by two keys": lambda frame: frame.where("kind < 20").orderBy(F.desc("kind"), "v").limit(5),
}


def run(spark: SparkSession, folder: Path, query: Any, cache: pruning.PredicateCache) -> ScanReport:
    """Run a query through a cache; its rows must be those of the query."""
    frame = query(spark.read.parquet(str(folder)))
    pruned = pruning.prune(frame, cache=cache)
    assert sorted(pruned.collect()) == sorted(frame.collect())
    (scan,) = pruning.explain(pruned).scans
    return scan


def cut(scan: ScanReport) -> int:
    """The row groups that the cache has excluded."""
    return sum(removal.blocks for removal in scan.removals if removal.technique == questions.TECHNIQUE)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_repeated_query_reads_the_row_groups_that_had_rows(spark, folder, query):
    """No bounds tell them; another process reads them from the directory."""
    cache = pruning.PredicateCache(directory=folder / "cache")
    before, after = (run(spark, folder, query, cache) for _ in range(2))
    assert not cut(before)
    assert cut(after)
    assert after.blocks_kept <= 5
    assert cut(run(spark, folder, query, pruning.PredicateCache(directory=folder / "cache"))) == cut(after)


def add(folder: Path) -> None:
    write(folder / "new.parquet", [(1, -1, 13), (2, 500, 40)])


def rewrite_contributing(folder: Path) -> None:
    write(folder / "3.parquet", [(500 + row, 600, 44) for row in range(ROWS)])


def rewrite_other(folder: Path) -> None:
    """As many rows as before, one of which is now the first of the answer."""
    write(folder / "8.parquet", [(1, -5, 13), *SCATTERED[9::FILES]][:ROWS])


def remove_contributing(folder: Path) -> None:
    (folder / "3.parquet").unlink()


def compact(folder: Path) -> None:
    """Three files become one."""
    write(folder / "compacted.parquet", [row for file in (2, 3, 4) for row in SCATTERED[file::FILES]])
    for file in (2, 3, 4):
        (folder / f"{file}.parquet").unlink()


CHANGES = (add, rewrite_contributing, rewrite_other, remove_contributing, compact)


@pytest.mark.parametrize(
    ("query", "change"), [*((first, change) for change in CHANGES), (few, rewrite_other), (few, compact)]
)
def test_a_changed_table_has_its_own_rows(spark, folder, query, change):
    """INSERT, UPDATE, DELETE and compaction by others: `run` compares the rows."""
    cache = pruning.PredicateCache()
    for _ in range(2):
        run(spark, folder, query, cache)
    change(folder)
    changed = run(spark, folder, query, cache)
    assert cut(changed) or (query is first and change in (remove_contributing, compact, rewrite_contributing))
    assert cut(run(spark, folder, query, cache))


def collect_one(frame: DataFrame) -> None:
    frame.take(1)


def iterate(frame: DataFrame) -> None:
    next(frame.toLocalIterator())


def fail(frame: DataFrame) -> None:
    with pytest.raises(Exception, match="stop here"):
        frame.where("raise_error(concat('stop ', 'here')) IS NULL OR v < 0").collect()


PARTIAL: dict[str, Callable[[DataFrame], Any]] = {
    "take": collect_one,
    "LIMIT": lambda frame: frame.limit(1).collect(),
    "iterator": iterate,
    "a failure": fail,
    "no run": lambda frame: None,
    "a join": lambda frame: frame.join(frame.sparkSession.range(3), F.col("id") == F.col("v")).collect(),
    "cached rows": lambda frame: frame.persist().limit(1).collect(),
    "no rows wanted": lambda frame: frame.orderBy("v").limit(0).collect(),
}


@pytest.mark.parametrize("act", PARTIAL.values(), ids=PARTIAL)
def test_what_is_not_read_to_the_end_is_not_recorded(spark, folder, act):
    cache = pruning.PredicateCache()
    pruned = pruning.prune(few(spark.read.parquet(str(folder))), cache=cache)
    act(pruned)
    pruned.unpersist()
    run(spark, folder, first, pruning.PredicateCache())
    assert len(cache) == 0


WHOLE: dict[str, Callable[[DataFrame], Any]] = {
    "pandas": lambda frame: frame.toPandas(),
    "count": lambda frame: frame.count(),
    "writing": lambda frame: frame.write.mode("overwrite").format("noop").save(),
    "union with itself": lambda frame: frame.union(frame).collect(),
    "take, then collect": lambda frame: (frame.take(1), frame.collect()),
}


@pytest.mark.parametrize("act", [act for name, act in WHOLE.items() if name != "writing"])
def test_what_is_read_to_the_end_is_recorded(spark, folder, act):
    cache = pruning.PredicateCache()
    act(pruning.prune(few(spark.read.parquet(str(folder))), cache=cache))
    assert cut(run(spark, folder, few, cache))


def test_a_pruned_frame_that_is_recorded_works_as_any_other(spark, folder):
    """It is joined with itself, asked for the file of a row, and filtered further."""
    frame = few(spark.read.parquet(str(folder)))
    pruned = pruning.prune(frame, cache=pruning.PredicateCache())
    for act in (
        lambda df: df.alias("a").join(df.alias("b"), "k").select("k", "b.v"),
        lambda df: df.select("k", "_metadata.file_name"),
        lambda df: df.where("v % 2 = 0").groupBy("kind").count(),
        lambda df: df.withColumn("file", F.input_file_name()).select("file", "k"),
    ):
        assert sorted(act(pruned).collect()) == sorted(act(frame).collect())
    assert pruned.schema == frame.schema


def check_calendars(spark: SparkSession, root: Path) -> None:
    """Run one query with each calendar in which Spark may read old dates; the rows must be the query's."""
    root.mkdir(exist_ok=True)
    for file in range(4):
        days = [datetime.date(1400, 1, 1), datetime.date(1500, 1, 1 + 3 * file), datetime.date(1600, 1, 1)]
        pq.write_table(pa.table({"day": days, "k": [file] * len(days)}), root / f"{file}.parquet")
    setting, cache = "spark.sql.parquet.datetimeRebaseModeInRead", pruning.PredicateCache()
    try:
        for mode in ("CORRECTED", "LEGACY"):
            spark.conf.set(setting, mode)
            scan = run(spark, root, lambda frame: frame.where("day = DATE'1500-01-01'"), cache)
            assert not cut(scan)
    finally:
        spark.conf.unset(setting)


def test_other_settings_make_another_query(spark, tmp_path):
    check_calendars(spark, tmp_path / "t")


def test_the_report_says_why_nothing_is_cached(spark, folder):
    frame = spark.read.parquet(str(folder))
    cache = pruning.PredicateCache()
    reasons = {
        "no filter": (frame.groupBy("kind").count(), "the scan has no filter"),
        "an unknown function": (frame.where("crc32(string(v)) > 5"), "no rule knows crc32"),
        "the first run": (few(frame), "no earlier run"),
    }
    for query, reason in reasons.values():
        (scan,) = pruning.explain(query, cache=cache).scans
        assert any(decline.technique == "cache" and reason in decline.reason for decline in scan.declined), (
            reason
        )
    with pytest.raises(InputError, match=r"give a pruning\.PredicateCache"):
        pruning.prune(frame, cache={})


@pytest.mark.parametrize("name", ["ignoreMissingFiles", "ignoreCorruptFiles"])
def test_settings_that_leave_out_files_stop_recording(spark, folder, name):
    """A file that cannot be read today may be read tomorrow; the session says so, the reader, or the run."""
    cache = pruning.PredicateCache()
    pruned = pruning.prune(few(spark.read.parquet(str(folder))), cache=cache)
    reader = few(spark.read.option(name, "true").parquet(str(folder)))
    spark.conf.set(f"spark.sql.files.{name}", "true")
    try:
        pruned.collect()
        session = pruning.explain(few(spark.read.parquet(str(folder))), cache=cache)
    finally:
        spark.conf.unset(f"spark.sql.files.{name}")
    for report in (session, pruning.explain(reader, cache=cache)):
        assert any("may be left out" in decline.reason for decline in report.scans[0].declined)
    assert len(cache) == 0


def wrong(spark: SparkSession, folder: Path, query: Any, act: Any, change: Any = None) -> bool:
    """Tell whether a query has other rows once something was done with its pruned frame."""
    cache = pruning.PredicateCache()
    act(pruning.prune(query(spark.read.parquet(str(folder))), cache=cache))
    pruning.prune(query(spark.read.parquet(str(folder))), cache=cache)
    if change is not None:
        change(folder)
    frame = query(spark.read.parquet(str(folder)))
    return sorted(pruning.prune(frame, cache=cache).collect()) != sorted(frame.collect())


def test_a_mutant_that_records_from_take_is_found_out(spark, folder, monkeypatch):
    assert not wrong(spark, folder, many, collect_one)
    monkeypatch.setattr(recording, "has_read_all", lambda action, path: True)
    assert wrong(spark, folder, many, collect_one)


def test_a_mutant_that_knows_files_by_their_names_is_found_out(spark, folder, monkeypatch):
    whole = scan_blocks.FileBlock
    for query, change in ((few, rewrite_other), (first, rewrite_other)):
        assert not wrong(spark, folder, query, DataFrame.collect, change)
        write(folder / "8.parquet", SCATTERED[8::FILES])
    monkeypatch.setattr(
        scan_blocks, "FileBlock", lambda file, size, time, group, deleted="": whole(file, 0, 0, group)
    )
    assert wrong(spark, folder, few, DataFrame.collect, rewrite_other)


def test_a_mutant_that_forgets_settings_is_found_out(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "_settings", lambda spark: "")
    with pytest.raises(AssertionError):
        check_calendars(spark, tmp_path / "t")


# No filter that Spark pushes tells the row groups that these exclude.
BY_PLACES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "filter": lambda frame: frame.where("kind = 13 OR k * v = 7"),
    "first rows": lambda frame: frame.where("abs(kind - 13) < 5").orderBy("v").limit(WANTED),
}


@pytest.mark.parametrize("query", BY_PLACES.values(), ids=BY_PLACES)
def test_row_groups_that_are_read_by_their_places_are_recorded(spark, tmp_path, query):
    """Spark counts the rows of those, too, that it is told to leave out."""
    (tmp_path / "t").mkdir()
    other = [(100, 200, 20)] * ROWS
    for file in range(2):
        rows = [*other, *SCATTERED[3 + file :: FILES], *other, *SCATTERED[file::FILES]]
        columns = dict(zip(("k", "v", "kind"), map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / "t" / f"{file}.parquet", row_group_size=ROWS // 2)
    cache, setting = pruning.PredicateCache(), "spark.sql.files.openCostInBytes"
    cost = spark.conf.get(setting)
    spark.conf.set(setting, "1")
    try:
        before, after = (run(spark, tmp_path / "t", query, cache) for _ in range(2))
    finally:
        spark.conf.set(setting, cost)
    assert before.blocks_skipped_by_places
    assert cut(after)
    assert after.blocks_kept <= WANTED


def test_files_of_names_with_escapes_are_recognised(spark, tmp_path):
    root = tmp_path / "a b%20ä" / "part=x%2Fy z"
    os.makedirs(root)
    for file in range(4):
        write(root / f"{file} #%.parquet", SCATTERED[file::4])
    cache = pruning.PredicateCache()
    for _ in range(2):
        scan = run(spark, root.parent, first, cache)
    assert cut(scan)
