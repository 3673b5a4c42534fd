"""Ranges inside large row groups: what an IF, a join, a top-k and a long list mean for a column is pushed."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.spark.drive import paging

ROWS = 1_000


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two row groups, the second with a NULL, and a table of keys."""
    root = tmp_path_factory.mktemp("pages")
    for name in ("t", "k"):
        (root / name).mkdir()
    numbers = list(range(ROWS))
    table = pa.table(
        {
            "a": pa.array([*numbers[:-1], None], pa.int64()),
            "b": pa.array([number % 7 for number in numbers], pa.int64()),
            "s": [f"v{number:04}" for number in numbers],
            "d": pa.array(numbers, pa.date32()),
            "t": pa.array([1000 * number + 1 for number in numbers], pa.timestamp("us", "UTC")),
            "n": pa.array(numbers, pa.int64()).cast(pa.decimal128(21, 0)).cast(pa.decimal128(20, 2)),
        }
    )
    pq.write_table(table, root / "t" / "0.parquet", row_group_size=ROWS // 2, write_page_index=True)
    keys = pa.table(
        {"key": [5, 77, ROWS - 10], "name": ["v0005", "v0077", "v0990"], "on": [True, False, True]}
    )
    pq.write_table(keys, root / "k" / "0.parquet")
    for name in ("t", "k"):
        spark.read.parquet(str(root / name)).createOrReplaceTempView(f"pages_{name}")
    return root


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small row groups count as large ones, and a scan of one small file as worth narrowing."""
    monkeypatch.setattr(paging, "PAGE_ROWS", 10)
    monkeypatch.setattr("pruning.spark.drive.join.run_costs.SMALL_FILE_BYTES", 0)
    monkeypatch.setattr("pruning.techniques.join.costs.SHARE_MAX", 100)


#   query, a filter that is added, and what Spark pushes to Parquet
QUERIES = {
    "IF": (
        "SELECT * FROM pages_t WHERE IF(b % 2 = 0, a, a + 1) BETWEEN 300 AND 310",
        "`a` >= 299L AND `a` <= 310L",
        "GreaterThanOrEqual(a,299), LessThanOrEqual(a,310)",
    ),
    "NULL passes": (
        "SELECT * FROM pages_t WHERE coalesce(a, 3) < 5",
        "((`a` >= 0L AND `a` <= 4L) OR `a` IS NULL)",
        "Or(And(GreaterThanOrEqual(a,0),LessThanOrEqual(a,4)),IsNull(a))",
    ),
    "a long list": (
        f"SELECT * FROM pages_t WHERE a IN ({', '.join(str(80 * at) for at in range(12))})",
        "`a` = 880L",
        "EqualTo(a,80)",
    ),
    "a join": (
        "SELECT pages_t.* FROM pages_t JOIN pages_k ON a = key WHERE on",
        "(`a` = 5L OR `a` = 990L)",
        "Or(EqualTo(a,5),EqualTo(a,990))",
    ),
    "a join of texts": (
        "SELECT pages_t.* FROM pages_t JOIN pages_k ON s = name WHERE on",
        "(`s` = 'v0005' OR `s` = 'v0990')",
        "Or(EqualTo(s,v0005),EqualTo(s,v0990))",
    ),
    "a top-k": (
        "SELECT * FROM pages_t ORDER BY d DESC LIMIT 300",
        "`d` >= DATE'1971-05-16'",
        "GreaterThanOrEqual(d,1971-05-16)",
    ),
    "a function of dates": (
        "SELECT * FROM pages_t WHERE year(d) * 2 = 3942 AND month(d) = 2",
        "`d` >= DATE'1971-02-01' AND `d` <= DATE'1971-02-28'",
        "GreaterThanOrEqual(d,1971-02-01)",
    ),
    "decimals": (
        "SELECT * FROM pages_t WHERE IF(b = 1, n, n + 1) < 10",
        "`n` <= CAST('9.99' AS decimal(20,2))",
        "LessThanOrEqual(n,9.99)",
    ),
    "instants": (
        "SELECT * FROM pages_t WHERE IF(b = 1, t, t) = TIMESTAMP'1970-01-01 00:00:00.005001'"
        " OR unix_micros(IF(b = 1, t, t)) < 0",
        None,
        None,
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_ranges_of_values_reach_parquet_and_leave_the_same_rows(spark: Any, lake: Path, name: str) -> None:
    query, added, pushed = QUERIES[name]
    frame = spark.sql(query)
    pruned = pruning.prune(frame)
    assert sorted(map(str, pruned.collect())) == sorted(map(str, frame.collect()))
    if added is not None:
        filters = [sql for scan in pruning.explain(frame).scans for sql in scan.range_filters]
        assert any(added in sql for sql in filters), filters
        assert pushed in pushed_filters(spark, pruned)


def pushed_filters(spark: Any, frame: Any) -> str:
    """Return all filters that Spark pushes to the Parquet reader in a query's plan, not shortened."""
    before = spark.conf.get("spark.sql.maxMetadataStringLength")
    spark.conf.set("spark.sql.maxMetadataStringLength", "10000")
    try:
        plan = frame._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.set("spark.sql.maxMetadataStringLength", before)
    return " ".join(re.findall(r"PushedFilters: (.*)", plan))


def test_a_filter_that_spark_pushes_itself_is_not_added_again(spark: Any, lake: Path) -> None:
    """Nor is one that leaves most of the values; here each row group may hold a needed row."""
    for where in ("a BETWEEN 300 AND 810", "a IN (1, 802)", "s = 'v0005' OR s = 'v0805'", "a % 7 = 0"):
        assert pruning.explain(spark.sql(f"SELECT * FROM pages_t WHERE {where}")).scans[0].range_filters == ()


@pytest.mark.parametrize(
    ("setting", "note"),
    [
        ("spark.sql.parquet.filterPushdown", "neither row groups nor pages inside files are skipped"),
        ("parquet.filter.stats.enabled", "row groups inside files are not skipped by their bounds"),
        ("parquet.filter.columnindex.enabled", "pages inside row groups are not skipped"),
    ],
)
def test_a_setting_that_hinders_the_reader_is_noted(spark: Any, lake: Path, setting: str, note: str) -> None:
    frame = spark.sql(QUERIES["IF"][0])
    assert not pruning.explain(frame).scans[0].notes or note not in str(pruning.explain(frame))
    before = spark.conf.get(setting, None)
    spark.conf.set(setting, "false")
    try:
        assert f"{note}: {setting} is false" in pruning.explain(frame).scans[0].notes
    finally:
        spark.conf.unset(setting) if before is None else spark.conf.set(setting, before)
