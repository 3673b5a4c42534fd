"""A leaf of the user's plan that the optimizer copies: all copies read what one of them needs.

A common table is read by each place that names it apart, unless Spark's cache has something: then the plan
stays as it is, so that its cached parts are found, and the places share what they read.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import pruning
from pruning.spark.drive import pruning as prune_module
from pruning.spark.drive.narrowed_leaves import narrowed_leaf
from pruning.spark.drive.scans import TableScan

# For each query, the files of `flights` (of 500 rows each, sorted by id) that its copies read together.
SHARED = {
    "CTE twice, disjoint filters": (
        """WITH c AS (SELECT * FROM shared) SELECT id FROM c WHERE id < 10
           UNION ALL SELECT id FROM c WHERE id > 2990""",
        2,
    ),
    "CTE thrice": (
        """WITH c AS (SELECT * FROM shared WHERE delay >= 0) SELECT id FROM c WHERE id < 10
           UNION ALL SELECT id FROM c WHERE id = 1200 UNION ALL SELECT id FROM c WHERE id > 2990""",
        3,
    ),
    "nested CTE": (
        """WITH c AS (WITH d AS (SELECT * FROM shared) SELECT * FROM d WHERE id < 1000 UNION ALL
           SELECT * FROM d WHERE id > 2600)
           SELECT a.id FROM c a JOIN c b ON a.id = b.id + 1 WHERE b.id < 20""",
        None,
    ),
    "CTE, row groups of one file": (
        """WITH c AS (SELECT * FROM shared) SELECT id FROM c WHERE id < 50
           UNION ALL SELECT id FROM c WHERE id > 410 AND id < 480""",
        1,
    ),
    "CTE in a subquery": (
        """WITH c AS (SELECT * FROM shared) SELECT id FROM c WHERE id < 10 AND delay <
           (SELECT max(delay) FROM c WHERE id > 2990)""",
        2,
    ),
    "CTE in an IN subquery": (
        """WITH c AS (SELECT * FROM shared) SELECT id FROM c WHERE id > 2000 AND unit IN
           (SELECT unit FROM c WHERE id < 10)""",
        None,
    ),
}


@pytest.fixture(autouse=True)
def view(spark: Any, flights: str) -> None:
    spark.read.parquet(flights).createOrReplaceTempView("shared")


def rows(df: Any) -> list[str]:
    return sorted(map(repr, df.collect()))


@pytest.fixture(autouse=True)
def empty_cache(spark: Any) -> None:
    """Nothing is cached that other tests have left."""
    spark.catalog.clearCache()


@pytest.fixture
def something_cached(spark: Any, empty_cache: None) -> Iterator[None]:
    """Another frame is in Spark's cache, so that common tables are not taken apart."""
    frame = spark.range(3).cache()
    yield
    frame.unpersist()


@pytest.mark.parametrize("name", SHARED)
def test_copies_of_a_leaf_read_what_one_of_them_needs(spark: Any, something_cached: None, name: str) -> None:
    sql, files = SHARED[name]
    df = spark.sql(sql)
    pruned = pruning.prune(df)
    assert rows(pruned) == rows(df)
    report = pruning.explain(pruned)
    for scan in report.scans:
        assert scan.files_total - scan.files_kept == sum(removal.files for removal in scan.removals)
    if files is not None:
        assert {scan.files_kept for scan in report.scans} == {files}


@pytest.mark.parametrize("name", SHARED)
def test_each_place_of_a_common_table_reads_what_it_needs(spark: Any, name: str) -> None:
    sql, files = SHARED[name]
    df = spark.sql(sql)
    pruned = pruning.prune(df)
    assert rows(pruned) == rows(df)
    assert pruned.schema == df.schema
    if files is not None:
        assert {scan.files_kept for scan in pruning.explain(pruned).scans} == {1}


def test_a_leaf_narrowed_by_one_copy_alone_loses_rows(
    spark: Any, something_cached: None, monkeypatch: Any
) -> None:
    """The mutant: what the first copy needs is what all of them read."""
    df = spark.sql(SHARED["CTE twice, disjoint filters"][0])
    expected = rows(df)
    monkeypatch.setattr(
        prune_module,
        "_narrowed_leaf",
        lambda leaf, opened: next(
            (narrowed_leaf(scan, leaf=leaf) for scan in opened if isinstance(scan, TableScan)), None
        ),
    )
    assert rows(pruning.prune(df)) != expected


def test_two_places_of_one_frame_are_narrowed_apart(spark: Any) -> None:
    df = spark.table("shared")
    union = df.where("id < 10").union(df.where("id > 2990"))
    pruned = pruning.prune(union)
    assert rows(pruned) == rows(union)
    assert [scan.files_kept for scan in pruning.explain(pruned).scans] == [1, 1]


def test_a_leaf_inside_a_cached_part_stays_in_the_cache(spark: Any) -> None:
    # Other tests may have left frames in the cache that are not collected yet.
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    cached = spark.table("shared").where("id < 900").cache()
    try:
        cached.count()
        df = cached.where("id < 10").union(spark.table("shared").where("id > 2990").select("*"))
        pruned = pruning.prune(df)
        plan = pruned._jdf.queryExecution().executedPlan().toString()
        assert plan.count("InMemoryTableScan") == 1
        assert rows(pruned) == rows(df)
        (scan,) = (scan for scan in pruning.explain(pruned).scans if scan.files_total)
        assert (scan.files_kept, scan.files_total) == (1, 6)
        assert len(set(spark.sparkContext._jsc.getPersistentRDDs()) - before) == 1
    finally:
        cached.unpersist(blocking=True)


def test_a_subquery_over_a_cached_frame_is_left_alone(spark: Any) -> None:
    cached = spark.table("shared").where("id < 900").cache()
    try:
        cached.count()
        cached.createOrReplaceTempView("kept_rows")
        df = spark.sql("SELECT id FROM shared WHERE id < 10 AND id IN (SELECT id FROM kept_rows)")
        pruned = pruning.prune(df)
        assert "InMemoryTableScan" in pruned._jdf.queryExecution().executedPlan().toString()
        assert rows(pruned) == rows(df)
    finally:
        cached.unpersist(blocking=True)
