"""Predicates with intervals, parts of texts, elements of arrays and the like skip row groups, and rightly."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst import leaves

ZONE = "America/New_York"
GROUPS, ROWS = 8, 5
# Each predicate, with how many of the eight row groups have a matching row. The others are skipped.
PREDICATES = {
    "at + INTERVAL 3 HOURS > TIMESTAMP'2024-03-15 06:00:00'": 1,
    "at - INTERVAL '1' DAY < TIMESTAMP'2024-03-08 01:00:00'": 2,
    "at + INTERVAL '1' MONTH BETWEEN TIMESTAMP'2024-04-10' AND TIMESTAMP'2024-04-10 23:00:00'": 1,
    "local + INTERVAL 2 YEARS < TIMESTAMP_NTZ'2026-03-09 00:00:00'": 1,
    "CAST(at AS DATE) + make_interval(0, 1, 0, 2) = DATE'2024-04-13'": 1,
    "timestampadd(WEEK, 1, at) >= TIMESTAMP'2024-03-21'": 2,
    "dateadd(HOUR, -36, at) < TIMESTAMP'2024-03-07 12:00:00'": 1,
    "timestampdiff(DAY, TIMESTAMP'2024-03-08', at) = 3": 1,
    "datediff(HOUR, at, TIMESTAMP'2024-03-16') <= 24": 1,
    "from_utc_timestamp(at, 'Asia/Tokyo') < TIMESTAMP'2024-03-08 23:00:00'": 1,
    "from_unixtime(n * 86400) LIKE '1970-01-2%'": 2,
    "CAST(n AS STRING) = '12'": 1,
    "CAST(n AS STRING) = '012'": 0,
    "CAST(n AS STRING) IN ('3', '34', 'x')": 2,
    "CAST(n AS STRING) LIKE '1_'": 2,
    "split(s, '-')[0] = 'k02'": 1,
    "split_part(s, '-', 1) IN ('k02', 'k03')": 2,
    "substring_index(s, '-', 1) > 'k05'": 2,
    "replace(s, '-', '') LIKE 'k03%'": 1,
    "lpad(s, 8, '0') < '000k02'": 2,
    "instr(s, 'k01') = 1": 1,
    "locate('7-', s) = 3 AND locate('k07', s) = 1": 1,
    "xs[0] > 60": 2,
    "element_at(xs, -1) < 8": 1,
    "array_max(xs) > 70": 1,
    "array_min(xs) < 5": 1,
    "arrays_overlap(xs, array(13, 77))": 2,
}
EXPLODED = {
    "SELECT n, x FROM t LATERAL VIEW explode(xs) v AS x WHERE x > 65 AND n < 38": 2,
    "SELECT count(*) FROM (SELECT n, explode(xs) AS x FROM t) WHERE x < n": 1,
    "SELECT n, p, x FROM t LATERAL VIEW posexplode(xs) v AS p, x WHERE x = 31 AND p < 2": 1,
    "SELECT n, a FROM t LATERAL VIEW inline(ps) v AS a WHERE a > 65": 2,
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    """A file of eight row groups, each of five rows of one day; the days pass over a change of clocks."""
    directory = tmp_path_factory.mktemp("lake")
    rows = range(GROUPS * ROWS)
    start = datetime.datetime(2024, 3, 8, 5, tzinfo=datetime.UTC)
    moments = [start + datetime.timedelta(days=n // ROWS, hours=4 * (n % ROWS)) for n in rows]
    arrays = [[2 * n - n % 2, None, 2 * n - n % 2 + 1] if n % 4 else [] for n in rows]
    table = pa.table(
        {
            "n": pa.array(rows, pa.int32()),
            "at": pa.array(moments, pa.timestamp("us", "UTC")),
            "local": pa.array([moment.replace(tzinfo=None) for moment in moments], pa.timestamp("us")),
            "s": [f"k{n // ROWS:02}-{n % ROWS}" for n in rows],
            "xs": pa.array(arrays, pa.list_(pa.int32())),
            "ps": [[{"a": x} for x in array] for array in arrays],
        }
    )
    pq.write_table(table, directory / "t.parquet", row_group_size=ROWS)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    spark.read.parquet(str(directory)).createOrReplaceTempView("t")
    yield str(directory)
    spark.catalog.dropTempView("t")
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def counts(spark, lake):
    """The rows of each row group that match each predicate, by one query."""
    safe = [
        text.replace("xs[0]", "get(xs, 0)").replace("element_at(", "try_element_at(") for text in PREDICATES
    ]
    counted = (f"count_if({text}) AS `{number}`" for number, text in enumerate(safe))
    rows = spark.sql(
        f"SELECT {', '.join(counted)} FROM t GROUP BY n div {ROWS} ORDER BY n div {ROWS}"
    ).collect()
    return dict(zip(PREDICATES, zip(*rows, strict=True), strict=True))


@pytest.mark.parametrize("predicate", PREDICATES)
def test_row_groups_without_a_matching_row_are_skipped(lake, counts, predicate):
    verdicts = pruning.classify(predicate, lake).to_pylist()
    matching = [count > 0 for count in counts[predicate]]
    assert sum(matching) == PREDICATES[predicate]
    assert [verdict != Match.NONE for verdict in verdicts] == matching


@pytest.mark.parametrize("sql", EXPLODED)
def test_row_groups_without_a_matching_element_are_not_read(spark, lake, sql):
    df = spark.sql(sql)
    pruned = pruning.prune(df)
    assert sorted(map(str, pruned.collect())) == sorted(map(str, df.collect()))
    (scan,) = pruning.explain(df).scans
    assert scan.blocks_kept == EXPLODED[sql]


def test_rows_without_an_element_are_kept_where_explode_is_outer(spark, lake):
    df = spark.sql("SELECT n, x FROM t LATERAL VIEW OUTER explode(xs) v AS x WHERE x IS NULL")
    assert sorted(map(str, pruning.prune(df).collect())) == sorted(map(str, df.collect()))
    (scan,) = pruning.explain(df).scans
    assert scan.blocks_kept is None


def test_a_mutant_that_takes_positions_for_elements_loses_rows(spark, lake, monkeypatch):
    """The conditions on the position of an element then exclude row groups by the elements."""
    monkeypatch.setattr(leaves, "_generated_value", lambda session, kind, variable, place: variable)
    df = spark.sql("SELECT n, p, x FROM t LATERAL VIEW posexplode(xs) v AS p, x WHERE x = 29 AND p < 2")
    assert len(pruning.prune(df).collect()) < len(df.collect())
