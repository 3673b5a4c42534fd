"""Conjuncts that planning has not asked of every block are left to the reader, whose rows are reported."""

from functools import partial
from typing import Any

import pytest

import pruning
from mutants.pushed_ranges import IGNORES_DEFERRED
from pruning.spark.drive import filter_technique
from pruning.verdicts.classification import classify_within

# Spark cannot push the IF, which is TRUE on 50 rows of one row group.
COSTLY = "delay < 1000 AND IF(id % 2 >= 0 AND id < 2000, id + 5000, id) BETWEEN 2050 AND 2099"


class Seconds:
    """A clock by which each operation takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def always_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let planning leave each conjunct to the query after four of thirty row groups."""
    cut = partial(classify_within, clock=Seconds(), chunk_lanes=1)
    monkeypatch.setattr(
        filter_technique,
        "classify_within",
        lambda predicate, blocks, **_: cut(predicate, blocks, read_seconds=1e-9),
    )


def read(spark: Any, flights: str, condition: str) -> Any:
    """Run a pruned filter, compare its rows, and return the report on its scan."""
    df = spark.read.parquet(flights).where(condition)
    pruned = pruning.prune(df)
    assert pruning.explain(pruned).scans[0].rows_read is None
    assert sorted(pruned.collect()) == sorted(df.collect())
    return pruning.explain(pruned).scans[0]


def test_the_reader_skips_row_groups_by_what_planning_cut(spark: Any, flights: str, always_cut: None) -> None:
    scan = read(spark, flights, COSTLY)
    assert scan.blocks_kept > 20
    assert scan.range_filters == ("`id` >= 2050 AND `id` <= 2099",)
    assert (scan.rows_left, scan.rows_read) == (100 * scan.blocks_kept, 100)
    assert any(
        note.startswith("left to the reader") and "CASE WHEN" in note and "delay" not in note
        for note in scan.notes
    )
    line = f"run      the reader gave 100 rows; what planning left has {scan.rows_left:,}"
    assert line in "\n".join(scan.lines())


def test_without_them_the_reader_skips_nothing(
    spark: Any, flights: str, always_cut: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*IGNORES_DEFERRED)
    scan = read(spark, flights, COSTLY)
    assert scan.rows_read == scan.rows_left
    assert any(note.startswith("left to the query: ((CASE WHEN") for note in scan.notes)


def test_a_conjunct_that_no_range_tells_is_left_to_the_query(
    spark: Any, flights: str, always_cut: None
) -> None:
    scan = read(spark, flights, "id >= 0 AND upper(name) LIKE '%99%9%'")
    assert any(note.startswith("left to the query: ") and "LIKE" in note for note in scan.notes)
    assert scan.rows_read == scan.rows_left


def test_what_planning_has_asked_is_not_left_to_anything(spark: Any, flights: str) -> None:
    scan = read(spark, flights, COSTLY)
    assert (scan.blocks_kept, scan.rows_left, scan.rows_read) == (1, 100, 100)
    assert not scan.notes


def test_each_scan_of_a_table_that_is_joined_with_itself_has_its_rows(spark: Any, flights: str) -> None:
    table = spark.read.parquet(flights)
    few, more = table.where("id < 150"), table.where("id >= 2700")
    pruned = pruning.prune(few.alias("a").join(more.alias("b"), few.unit == more.unit, "full"))
    pruned.collect()
    assert [scan.rows_read for scan in pruning.explain(pruned).scans] == [200, 300]


def test_rows_of_a_subquery_are_counted_too(spark: Any, flights: str) -> None:
    spark.read.parquet(flights).createOrReplaceTempView("deferred_f")
    few = "SELECT 2 * max(id) FROM deferred_f WHERE id < 150"
    sql = f"SELECT * FROM deferred_f WHERE id > ({few}) AND id < 400"
    pruned = pruning.prune(spark.sql(sql), runtime=False)
    assert len(pruned.collect()) == 101
    outer, inner = pruning.explain(pruned).scans
    assert (inner.rows_left, inner.rows_read) == (200, 200)
    # Releases from 4.0 tell the reader the value of the subquery.
    assert (outer.rows_left, outer.rows_read) in ((400, 200), (400, 400))


def test_another_plan_over_the_pruned_rows_tells_nothing(spark: Any, flights: str) -> None:
    """Of an action that makes a plan of its own, such as a count, no rows are reported."""
    pruned = pruning.prune(spark.read.parquet(flights).where("id < 150"))
    assert pruned.count() == 150
    assert pruning.explain(pruned).scans[0].rows_read is None
