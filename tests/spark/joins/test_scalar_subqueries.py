"""Scalar subqueries in conditions: their values are read once, prune the table, and stay in the query."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning

FILES = 20

# A subquery of two rows raises, whatever the mode.
pytestmark = pytest.mark.usefixtures("ansi")


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Path:
    """Views: `scalar_t` of 20 files by `k`, a small table of Parquet, and one of CSV."""
    (tmp_path / "t").mkdir()
    for number in range(FILES):
        keys = list(range(number * 10, number * 10 + 10))
        pq.write_table(pa.table({"k": keys, "shop": [number] * 10}), tmp_path / "t" / f"{number:02}.parquet")
    pq.write_table(pa.table({"n": [3, 17, 18], "on": ["a", "b", "b"]}), tmp_path / "u.parquet")
    (tmp_path / "u.csv").write_text("3\n17\n")
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("scalar_t")
    spark.read.parquet(str(tmp_path / "u.parquet")).createOrReplaceTempView("scalar_u")
    spark.read.csv(str(tmp_path / "u.csv"), schema="n bigint").createOrReplaceTempView("scalar_csv")
    return tmp_path


def pruned_alike(spark: Any, sql: str) -> Any:
    """The report on a query whose pruned answer is the unpruned one."""
    df = spark.sql(sql)
    pruned = pruning.prune(df)
    assert sorted(map(repr, pruned.collect())) == sorted(map(repr, df.collect()))
    assert pruned.schema == df.schema
    return pruning.explain(pruned)


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("k = (SELECT n FROM scalar_u WHERE on = 'a')", 1),
        ("k > (SELECT max(n) * 10 FROM scalar_u)", 2),
        ("k BETWEEN (SELECT min(n) FROM scalar_u) AND (SELECT max(n) FROM scalar_u)", 2),
        ("k = (SELECT max(n) FROM scalar_csv)", 1),
        ("k = (SELECT first(n) FROM (SELECT n FROM scalar_u ORDER BY n))", 1),
        ("k + 1 < (SELECT count(*) FROM scalar_u) OR shop = (SELECT max(n) FROM scalar_u)", 2),
    ],
    ids=["one row", "aggregate", "between", "CSV", "first", "OR"],
)
def test_a_value_of_a_subquery_prunes(spark, lake, condition, files):
    report = pruned_alike(spark, f"SELECT * FROM scalar_t WHERE {condition}")
    assert report.scans[0].files_kept == files
    assert "its value" in " ".join(report.notes)


def test_a_subquery_without_a_row_is_null_and_leaves_nothing(spark, lake):
    report = pruned_alike(spark, "SELECT * FROM scalar_t WHERE k = (SELECT n FROM scalar_u WHERE on = 'c')")
    assert "CAST(NULL AS bigint)" in " ".join(report.notes)
    assert not any(scan.files_kept for scan in report.scans)


def test_a_value_that_reduces_a_dimension_prunes_the_facts(spark, lake):
    sql = """SELECT t.* FROM scalar_t t JOIN scalar_u u ON t.shop = u.n
             WHERE u.n = (SELECT max(n) FROM scalar_csv)"""
    assert pruned_alike(spark, sql).scans[0].files_kept == 1


def test_the_query_uses_the_value_that_pruned_it(spark, lake):
    pruned = pruning.prune(spark.sql("SELECT k FROM scalar_t WHERE k = (SELECT max(n) FROM scalar_csv)"))
    (lake / "u.csv").write_text("9\n8\n")
    assert [row.k for row in pruned.collect()] == [17]


@pytest.mark.parametrize(
    "condition",
    [
        "k < (SELECT count(*) FROM scalar_u u WHERE u.n = shop)",
        "k > (SELECT max(k) - 5 FROM scalar_t)",
    ],
    ids=["correlated", "as large as the query"],
)
def test_a_subquery_that_would_cost_too_much_is_left_to_the_query(spark, lake, condition):
    report = pruned_alike(spark, f"SELECT * FROM scalar_t WHERE {condition}")
    assert report.scans[0].files_kept == FILES
    assert report.jobs == ()


@pytest.mark.parametrize(
    ("subquery", "note"),
    [
        ("SELECT n FROM scalar_u WHERE on = 'b'", None),
        ("SELECT max(n div 0) FROM scalar_u", "could not be run"),
    ],
    ids=["two rows", "an error"],
)
def test_a_subquery_that_fails_is_left_to_the_query(spark, lake, subquery, note):
    query = spark.sql(f"SELECT * FROM scalar_t WHERE k = ({subquery})")
    report = pruning.explain(query)
    assert report.scans[0].files_kept == FILES
    assert [note in text for text in report.notes] == ([] if note is None else [True])
