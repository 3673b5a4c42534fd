"""Tables that are opened from their store: the rows that Spark reads, with and without pruning."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from mutants.replacements import Replacement
from mutants.stored_scans import MUTANTS
from pruning.errors import InputError
from pruning.metadata.store import contents, group_summaries, recording
from pruning.spark.drive import stored_scans
from pruning.spark.lake.stored_tables import StoredTable

PARTITIONS, FILES_OF_PARTITION, ROWS = ("0", "1", "x y"), 4, 3
FILES = len(PARTITIONS) * FILES_OF_PARTITION


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve files in three partitions, kept in several packs; `a` ascends over them, `b` does not."""
    folder = tmp_path_factory.mktemp("stored") / "t"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "GROUP_BLOCKS", 2 * ROWS)
        patch.setattr(recording, "PACKS_MAX", 100)
        for place in range(FILES):
            write(folder, place)
            if place % 2:
                pruning.collect(folder)
    return folder


def write(folder: Path, place: int, *, add: int = 0) -> Path:
    """Write a file of three row groups."""
    path = folder / f"k={PARTITIONS[place // FILES_OF_PARTITION]}" / f"{place:02} ä.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = range(place * 10 + add, place * 10 + add + ROWS)
    columns = {
        "a": list(rows),
        "b": [row * 7 % 31 for row in rows],
        "c": [None if row % 3 else row * 0.5 for row in rows],
    }
    pq.write_table(pa.table(columns), path, row_group_size=1)
    return path


@pytest.fixture(params=["listed", "searched"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Spark is told of all files, or of those that a search with the query's own filter leaves."""
    if request.param == "searched":
        search_tables(monkeypatch)
    return str(request.param)


def search_tables(monkeypatch: pytest.MonkeyPatch, *, files_max: int = FILES - 1) -> None:
    monkeypatch.setattr(stored_scans, "FILES_LISTED_MAX", files_max)
    monkeypatch.setattr(group_summaries, "_SINGLE_PACKS_MAX", 1)


@pytest.fixture
def views(spark: Any, lake: Path) -> Iterator[None]:
    """The table as Spark lists it, `plain`, and as the store has it, `stored`."""
    spark.read.parquet(str(lake)).createOrReplaceTempView("plain")
    pruning.table(spark, str(lake)).createOrReplaceTempView("stored")
    yield
    for name in ("plain", "stored"):
        spark.catalog.dropTempView(name)


# Whether a search prunes the query.
QUERIES = {
    "SELECT * FROM t WHERE a BETWEEN 33 AND 52": True,
    "SELECT count(*) FROM t WHERE a > 1000": True,
    "SELECT b FROM t WHERE k = '1' AND a > 60": True,
    "SELECT a FROM t WHERE k = 'x y'": True,
    "SELECT a, k FROM t WHERE k > '0' OR a < 2": False,
    "SELECT a FROM t WHERE k = 'nowhere'": True,
    "SELECT a FROM t WHERE a * 2 > 205 OR c IS NULL AND a < 20": True,
    "SELECT * FROM t WHERE a > 40 ORDER BY b DESC, a LIMIT 2": True,
    "SELECT a FROM t WHERE a > 40 ORDER BY c, a LIMIT 1": True,
    "SELECT x.a, y.c FROM t x JOIN t y ON x.a = y.a + 10 WHERE x.a < 15 AND y.a < 12": True,
    "SELECT a FROM t WHERE a < 15 UNION ALL SELECT b FROM t WHERE a > 90": True,
    "SELECT a FROM t WHERE a < 15 AND b IN (SELECT b FROM t WHERE a > 90)": True,
    "SELECT k, max(a) FROM t GROUP BY k": False,
    "SELECT x.a FROM t x LEFT JOIN t y ON x.b = y.b AND y.a < 15": True,
}


def rows_of(df: Any) -> list[str]:
    return sorted(map(str, df.collect()))


@pytest.mark.usefixtures("views")
@pytest.mark.parametrize("sql", QUERIES)
def test_a_stored_table_gives_the_rows_of_the_listed_one(spark: Any, route: str, sql: str) -> None:
    expected = rows_of(spark.sql(sql.replace(" t", " plain")))
    df = spark.sql(sql.replace(" t", " stored"))
    pruned = pruning.prune(df)
    assert rows_of(pruned) == expected
    if route == "searched":
        report = pruning.explain(pruned)
        assert QUERIES[sql] == any(scan.removals for scan in report.scans)


@pytest.mark.usefixtures("views")
def test_a_report_counts_what_the_search_has_excluded(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the blocks in partitions that are excluded are not counted, because nobody looked at them."""
    for sql, unsearched in (
        ("SELECT a FROM stored WHERE a BETWEEN 33 AND 52", 0),
        ("SELECT b FROM stored WHERE k = '1' AND a > 60", 2 * FILES_OF_PARTITION * ROWS),
    ):
        (listed,) = pruning.explain(spark.sql(sql)).scans
        with monkeypatch.context() as patch:
            search_tables(patch)
            (searched,) = pruning.explain(spark.sql(sql)).scans
        assert listed.blocks_total is not None
        assert searched.blocks_total == listed.blocks_total - unsearched
        assert (searched.files_total, searched.files_kept) == (listed.files_total, listed.files_kept)
        assert (searched.blocks_kept, searched.bytes_kept) == (listed.blocks_kept, listed.bytes_kept)


@pytest.mark.usefixtures("views")
def test_spark_is_told_of_the_files_that_are_left_alone(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of all files is never made."""
    search_tables(monkeypatch)

    def refuse(table: StoredTable) -> None:
        raise AssertionError("all files were listed")

    monkeypatch.setattr(StoredTable, "index", refuse)
    pruned = pruning.prune(spark.sql("SELECT a FROM stored WHERE a = 42"))
    assert rows_of(pruned) == ["Row(a=42)"]
    assert len(pruned.inputFiles()) == 1


@pytest.mark.usefixtures("views")
def test_where_too_many_files_are_left_the_table_is_read_as_it_is(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_tables(monkeypatch, files_max=2)
    df = spark.sql("SELECT a FROM stored WHERE a > 40")
    (scan,) = pruning.explain(df).scans
    assert scan.notes == ("left as it is: 8 of its files may hold a needed row, too many to tell Spark of",)
    assert rows_of(pruning.prune(df)) == rows_of(spark.sql("SELECT a FROM plain WHERE a > 40"))


def test_the_schema_is_that_of_a_listed_table(spark: Any, lake: Path) -> None:
    """Partition columns have the types that all directories together give them."""
    table, listed = pruning.table(spark, str(lake)), spark.read.parquet(str(lake))
    assert table.schema == listed.schema
    assert sorted(table.inputFiles()) == sorted(listed.inputFiles())
    assert rows_of(table.cache()) == rows_of(listed)
    table.unpersist()


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    """A table of its own."""
    for place in range(3):
        write(tmp_path, place)
    pruning.collect(tmp_path)
    return tmp_path


def test_a_table_is_as_it_was_listed(spark: Any, changing: Path, route: str, monkeypatch: Any) -> None:
    """A file that is added later is not in it, and a table that is opened later has it."""
    if route == "searched":
        search_tables(monkeypatch, files_max=2)
    before = pruning.table(spark, str(changing)).where("a > 11")
    write(changing, 3)
    assert rows_of(pruning.prune(before.select("a"))) == rows_of(before.select("a"))
    pruning.collect(changing)
    assert before.count() == pruning.prune(before).count() == 4
    after = pruning.table(spark, str(changing)).where("a > 11")
    assert after.count() == pruning.prune(after).count() == 7


@pytest.mark.parametrize("change", ["removed", "written"])
def test_a_needed_file_that_has_changed_is_named(
    spark: Any, changing: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_tables(monkeypatch, files_max=2)
    df = pruning.table(spark, str(changing)).where("a = 21")
    if change == "removed":
        os.unlink(changing / "k=0" / "02 ä.parquet")
    else:
        write(changing, 2, add=5_000)
    with pytest.raises(InputError, match=r"02%20.*: was written or removed after the table was listed"):
        pruning.prune(df)
    # A file that is not needed is not looked at.
    assert pruning.prune(pruning.table(spark, str(changing)).where("a = 1")).count() == 1


@pytest.mark.parametrize("change", ["removed", "written"])
def test_without_pruning_no_file_may_have_changed(spark: Any, changing: Path, change: str) -> None:
    """Spark splits files by their sizes in the listing: of a longer one, it would lose rows."""
    df = pruning.table(spark, str(changing))
    if change == "removed":
        os.unlink(changing / "k=0" / "02 ä.parquet")
    else:
        write(changing, 2, add=5_000)
    with pytest.raises(Exception, match=r"02%20.*: was written or removed after the table was listed"):
        df.count()


def test_a_table_that_was_not_listed_as_a_whole_is_refused(spark: Any, changing: Path) -> None:
    write(changing, 3)
    pruning.collect(sorted(map(str, changing.glob("*/*.parquet"))))
    with pytest.raises(InputError, match="some of its files were listed after the whole was"):
        pruning.table(spark, str(changing))
    pruning.collect(changing)
    assert pruning.table(spark, str(changing)).count() == 4 * ROWS


def test_a_directory_without_a_store_is_refused(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="nothing is kept of its metadata"):
        pruning.table(spark, str(tmp_path))


def test_a_damaged_log_is_named(spark: Any, changing: Path) -> None:
    (version,) = changing.glob(".skipproof/_store/v*")
    version.write_bytes(version.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"v000000000001: .*; `pruning.collect\(.*\)` lists it again"):
        pruning.table(spark, str(changing))


def test_damaged_blocks_exclude_nothing(spark: Any, changing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They and the footers are gone: the files of the pack are read."""
    search_tables(monkeypatch, files_max=2)
    df = pruning.table(spark, str(changing)).where("a = 21")
    for path in changing.glob(".skipproof/_store/*.*s"):
        path.unlink()
    (scan,) = pruning.explain(df).scans
    assert "left as it is" in scan.notes[0]
    assert rows_of(pruning.prune(df.select("a"))) == ["Row(a=21)"]


def test_a_table_of_another_format_is_told_of(spark: Any, changing: Path) -> None:
    (changing / ".hoodie").mkdir()
    with pytest.warns(UserWarning, match="is a Hudi table"):
        pruning.table(spark, str(changing))


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_mutants_of_stored_scans_are_found_out(
    spark: Any, changing: Path, monkeypatch: pytest.MonkeyPatch, mutant: Replacement
) -> None:
    """Some query of those above has other rows, or no rows where it should be refused."""
    search_tables(monkeypatch, files_max=2)
    plain = spark.read.parquet(str(changing))
    stored = pruning.table(spark, str(changing))
    monkeypatch.setattr(*mutant)
    wrong = []
    for condition in ("a >= 11", "k = 0 AND a > 20", "b = 1 OR a = 0"):
        for query in (_all_rows, _first_row):
            expected = rows_of(query(plain.where(condition)))
            try:
                wrong.append(rows_of(pruning.prune(query(stored.where(condition)))) != expected)
            except InputError:
                wrong.append(True)
    write(changing, 2, add=5_000)
    try:
        pruning.prune(stored.where("a = 21")).collect()
        wrong.append(True)
    except InputError:
        pass
    assert any(wrong)


def _all_rows(df: Any) -> Any:
    return df


def _first_row(df: Any) -> Any:
    """The first row by `a`: top-k reads the files in the order of their metadata."""
    return df.orderBy("a").limit(1)
