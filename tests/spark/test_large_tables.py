"""SEARCH-1 in queries: of a large table, whose metadata is searched group by group, `prune` says the same."""

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import sampled

import pruning
from pruning.expressions.trees import Column, Compare, Comparison, Literal, Not
from pruning.expressions.types import LONG
from pruning.metadata.store import contents, searching
from pruning.metadata.store.collecting import read_blocks, read_listed_blocks
from pruning.metadata.store.store import BLOCKS_LOADED_VARIABLE
from pruning.spark.drive.block_reading import NeededBlocks

FILES, BLOCKS = 12, 3


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of twelve files, in groups of two; `a` ascends over them, `b` and `c` do not."""
    directory = tmp_path_factory.mktemp("large")
    for table in ("t", "u"):
        folder = directory / table
        folder.mkdir()
        for number in range(FILES):
            rows = range(number * 10, number * 10 + BLOCKS)
            columns = {
                "a": list(rows),
                "b": [row * 7 % 31 for row in rows],
                "c": [None if row % 3 else row * 0.5 for row in rows],
                "unit": ["feet" if number % 4 else "metres" for _ in rows],
            }
            pq.write_table(pa.table(columns), folder / f"{number:02}.parquet", row_group_size=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(contents, "GROUP_BLOCKS", 2 * BLOCKS)
            pruning.collect(folder)
    return directory


@pytest.fixture(autouse=True)
def views(spark: Any, lake: Path) -> None:
    """The tables, under names that other modules use too."""
    for table in ("t", "u"):
        spark.read.parquet(str(lake / table)).createOrReplaceTempView(table)


@pytest.fixture
def exclusions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of blocks that searches have excluded; every table counts as large."""
    counts: list[int] = []

    def record(*arguments: Any, **options: Any) -> Any:
        result = search(*arguments, **options)
        counts.append(sum(part.blocks for part in result.excluded))
        return result

    search = searching.search_packs
    monkeypatch.setattr("pruning.metadata.store.collecting.search_packs", record)
    monkeypatch.setenv(BLOCKS_LOADED_VARIABLE, "0")
    return counts


QUERIES = {
    "SELECT * FROM t WHERE a BETWEEN 33 AND 52": True,
    "SELECT count(*) FROM t WHERE a > 1000": True,
    "SELECT b FROM t WHERE IF(unit = 'feet', a * 2, a) > 205": True,
    "SELECT a FROM t WHERE b = 5": False,
    "SELECT * FROM t WHERE c IS NULL AND a < 20": True,
    "SELECT * FROM t WHERE a > 40 LIMIT 2": True,
    "SELECT * FROM t WHERE a > 40 ORDER BY b DESC LIMIT 2": True,
    "SELECT * FROM t WHERE a > 40 ORDER BY c LIMIT 1": True,
    "SELECT t.b, u.c FROM t JOIN u ON t.a = u.a WHERE t.a < 15": True,
    "SELECT t.a FROM t LEFT JOIN u ON t.b = u.b AND u.a < 15 WHERE t.a > 90": True,
    "SELECT x.a FROM t x JOIN t y ON x.b = y.b WHERE x.a < 15 AND y.a > 100": True,
    "SELECT a FROM t WHERE a < 15 UNION ALL SELECT b FROM t WHERE a > 90": True,
    "SELECT a FROM t WHERE a < 15 AND b IN (SELECT b FROM u WHERE a > 90)": True,
    "SELECT sum(b) FROM t WHERE a IN (3, 111)": False,
    "SELECT max(a) FROM t": False,
}


DEFAULT = [sql for sql in QUERIES if any(part in sql for part in ("IF(", "c IS NULL", "LEFT", "b DESC"))]


@pytest.mark.parametrize("sql", sampled(QUERIES, default=DEFAULT))
def test_reports_and_rows_are_those_of_a_table_in_memory(
    spark: Any, request: pytest.FixtureRequest, sql: str
) -> None:
    """Files, blocks and bytes are counted alike; a few searches must exclude something."""
    df = spark.sql(sql)
    expected = sorted(map(str, pruning.prune(df).collect()))
    loaded = pruning.explain(df).to_dict()
    counts = request.getfixturevalue("exclusions")
    searched = pruning.explain(df).to_dict()
    for report in (loaded, searched):
        report.pop("jobs")
    assert searched == loaded
    assert sorted(map(str, pruning.prune(df).collect())) == expected
    assert len(expected) == df.count()
    assert any(counts) or not QUERIES[sql]


def test_files_that_other_parts_of_a_query_read_count_as_read(spark: Any, exclusions: list[int]) -> None:
    """A cached leaf is read by two scans, of which one needs what the other excludes."""
    frame = spark.table("t")
    union = frame.filter("a < 15").select("a").union(frame.filter("a > 90").select("a"))
    joined = frame.filter("a < 15").join(frame.filter("a > 90"), "b")
    for df in (union, joined):
        assert sorted(map(str, pruning.prune(df).collect())) == sorted(map(str, df.collect()))
    assert any(exclusions)


def test_columns_that_are_asked_for_later_are_read_of_the_files_left(
    spark: Any, exclusions: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[int] = []
    read = read_listed_blocks

    def record(listing: Any, **options: Any) -> Any:
        files.append(len(listing.files))
        return read(listing, **options)

    monkeypatch.setattr("pruning.spark.drive.block_reading.read_listed_blocks", record)
    monkeypatch.setattr("pruning.spark.drive.pruning.key_columns", _no_keys)
    df = spark.sql("SELECT * FROM t WHERE a > 90 ORDER BY b LIMIT 1")
    assert pruning.prune(df).collect() == df.collect()
    assert files == [FILES, 3]
    assert any(exclusions)


def _no_keys(tree: Any) -> Any:
    from pruning.expressions.plans import scans

    return {scan: frozenset() for scan in scans(tree)}


class _Failing:
    """A session whose jobs fail."""

    @property
    def sparkContext(self) -> Any:
        raise RuntimeError("no executor")


def test_tasks_search_very_large_tables(
    spark: Any,
    lake: Path,
    exclusions: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And threads do where a job fails."""
    monkeypatch.setattr(searching, "SPARK_BLOCKS_MIN", 0)
    monkeypatch.setattr(searching, "_BATCH_BLOCKS", 2 * BLOCKS)
    question = NeededBlocks(
        Compare(Comparison.EQUAL, Column("b", LONG), Literal(5, LONG)), {"a": LONG, "b": LONG}
    )
    files = [str(lake / "t" / f"{number:02}.parquet") for number in range(FILES)]
    search = partial(read_blocks, files, question=question)
    here, there = search(spark=None), search(spark=spark)
    assert there.metadata.equals(here.metadata)
    assert not caplog.records
    assert exclusions[0] == exclusions[1] > 0
    assert search(spark=_Failing()).metadata.equals(here.metadata)
    assert "searching by Spark failed (RuntimeError)" in caplog.text


def test_a_condition_that_is_nested_too_deeply_excludes_nothing(lake: Path) -> None:
    a = Column("a", LONG)
    condition: Any = Compare(Comparison.EQUAL, a, Literal(5, LONG))
    for _ in range(5_000):
        condition = Not(condition)
    blocks = pruning.collect(lake / "t")
    assert NeededBlocks(condition, {"a": LONG})(blocks).all()
