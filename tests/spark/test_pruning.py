"""`prune` gives the rows of the query itself from fewer files."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import functions

import pruning
from pruning.errors import InputError

QUERIES = {
    "point": "SELECT * FROM flights WHERE id = 1234",
    "if": """SELECT * FROM flights WHERE IF(unit = 'feet', altitude * 1, altitude + 1) < 90
        AND IF(unit = 'feet', id + 1, id + 2) < 60""",
    "date": "SELECT name FROM flights WHERE day BETWEEN DATE'2013-03-01' AND DATE'2013-03-03'",
    "in set": "SELECT * FROM flights WHERE id IN (1,2,3,4,5,6,7,8,9,10,11,12,13,NULL)",
    "prefix": "SELECT * FROM flights WHERE name LIKE 'name 00%' AND name IS NOT NULL",
    "aggregate": "SELECT unit, count(*), sum(delay) FROM flights WHERE id < 700 GROUP BY unit",
    "empty aggregate": "SELECT count(*), max(id) FROM flights WHERE id > 100000",
    "nothing left": "SELECT * FROM flights WHERE id < -1",
    "self-join": """SELECT a.id, b.name FROM flights a JOIN flights b ON a.id = b.id + 600
        WHERE a.id < 900 AND b.day < '2013-04-01'""",
    "outer join": """SELECT a.id, b.id FROM flights a LEFT JOIN flights b ON a.id = b.id AND b.id < 20
        WHERE a.id < 40""",
    "union": "SELECT id FROM flights WHERE id < 50 UNION ALL SELECT id FROM flights WHERE id > 2950",
    "same leaf twice": "SELECT id FROM flights UNION ALL SELECT id FROM flights WHERE id > 2950",
    "top-k": "SELECT * FROM flights WHERE id > 2000 ORDER BY delay DESC NULLS LAST, id LIMIT 10",
    "scalar subquery": """SELECT * FROM flights WHERE id = (SELECT max(id) FROM flights WHERE id < 300)
        AND id < 600""",
    "semi join": "SELECT * FROM flights WHERE id < 800 AND id IN (SELECT id + 1 FROM flights WHERE id < 400)",
    "not in": "SELECT * FROM flights WHERE id < 20 AND id NOT IN (SELECT delay FROM flights WHERE id < 20)",
    "cte": """WITH c AS (SELECT * FROM flights WHERE id < 700)
        SELECT x.id FROM c x JOIN c y ON x.id = y.id WHERE x.day < '2013-01-05'""",
    "renamed": "SELECT n FROM (SELECT id AS n, delay + 1 AS d FROM flights) WHERE n < 30 AND d > 5",
    "distinct window": """SELECT DISTINCT row_number() OVER (PARTITION BY unit ORDER BY id) AS r
        FROM flights WHERE id < 40""",
}


@pytest.fixture(autouse=True)
def view(spark, flights):
    spark.read.parquet(flights).createOrReplaceTempView("flights")


def rows(df):
    return Counter(map(str, df.collect()))


def unpruned(spark, df):
    """The query's rows, read without any pushdown."""
    keys = ("spark.sql.parquet.filterPushdown", "spark.sql.parquet.aggregatePushdown")
    before = {key: spark.conf.get(key) for key in keys}
    try:
        for key in keys:
            spark.conf.set(key, "false")
        return rows(df)
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


@pytest.mark.parametrize("query", QUERIES)
def test_the_pruned_query_gives_the_same_rows_from_fewer_files(spark, query):
    df = spark.sql(QUERIES[query])
    pruned = pruning.prune(df)
    assert pruned.columns == df.columns
    assert rows(pruned) == unpruned(spark, df)
    report = pruning.explain(df)
    assert sum(scan.files_total - scan.files_kept for scan in report.scans) > 0
    assert min(scan.files_kept for scan in report.scans) < 6
    # One table read twice lists its files once.
    if query != "same leaf twice":
        assert len(pruned.inputFiles()) <= len(df.inputFiles())


@pytest.mark.parametrize("query", QUERIES)
def test_a_table_in_no_order_gives_the_same_rows_too(spark, shuffled, query):
    spark.read.parquet(shuffled).createOrReplaceTempView("flights")
    df = spark.sql(QUERIES[query])
    assert rows(pruning.prune(df)) == unpruned(spark, df)


def test_a_scan_with_no_file_left_reads_none(spark):
    pruned = pruning.prune(spark.sql(QUERIES["nothing left"]))
    assert pruned.inputFiles() == []
    assert pruned.collect() == []


def test_a_pruned_frame_can_be_queried_and_pruned_further(spark):
    pruned = pruning.prune(spark.sql("SELECT * FROM flights WHERE id < 1200"))
    again = pruning.prune(pruned.filter(pruned.id > 1100))
    assert sorted(row.id for row in again.collect()) == list(range(1101, 1200))
    assert len(again.inputFiles()) == 1


PARTITION_FILTERS = {
    "year = 2013": 1 / 3,
    "year IS NULL": 1 / 3,
    "year < 0": 1 / 3,
    "text = 'a/b c%=é'": 1 / 4,
    "text = \"x:'y'\"": 1 / 4,
    "text IS NULL": 1 / 4,
    "text = '12'": 1 / 4,
    "day = DATE'2013-01-31'": 1 / 2,
    "day IS NULL": 1 / 2,
    "IF(year = 2013, day, DATE'2000-01-01') > DATE'2012-01-01'": 1 / 6,
    "year <=> NULL AND text LIKE 'a%'": 1 / 12,
}


@pytest.mark.parametrize("predicate", PARTITION_FILTERS)
def test_partition_values_of_any_type_prune_and_come_back_unchanged(spark, partitioned, predicate):
    df = spark.read.parquet(partitioned).filter(predicate)
    pruned = pruning.prune(df)
    assert rows(pruned) == unpruned(spark, df)
    assert sum(rows(pruned).values()) == round(120 * PARTITION_FILTERS[predicate])
    (scan,) = pruning.explain(df).scans
    assert scan.files_kept == round(24 * PARTITION_FILTERS[predicate])
    assert len(pruned.inputFiles()) == scan.files_kept


def test_a_catalog_table_with_partitions_is_pruned(spark, flights):
    spark.sql("DROP TABLE IF EXISTS parted")
    spark.read.parquet(flights).selectExpr("*", "id % 3 AS third").coalesce(1).write.partitionBy(
        "third"
    ).saveAsTable("parted")
    try:
        df = spark.table("parted").filter("IF(unit = 'feet', third, 1) = 0 AND id >= 0")
        assert rows(pruning.prune(df)) == unpruned(spark, df)
        (scan,) = pruning.explain(df).scans
        assert (scan.files_kept, scan.files_total) == (1, 3)
    finally:
        spark.sql("DROP TABLE parted")


LISTINGS_OFF = {
    "spark.sql.hive.manageFilesourcePartitions": "false",
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}


def test_tables_are_pruned_where_the_session_caches_no_listings(spark, flights):
    """A path, and a table of the catalog with partitions, under each setting that turns the cache off."""
    spark.sql("DROP TABLE IF EXISTS unlisted")
    spark.range(0, 60, 1, 2).selectExpr("id", "id % 3 AS third").write.partitionBy("third").saveAsTable(
        "unlisted"
    )
    try:
        for name, value in LISTINGS_OFF.items():
            spark.conf.set(name, value)
            by_path = spark.read.parquet(flights).filter("id < 100")
            by_partition = spark.table("unlisted").filter("IF(id < 50, third, 1) = 0 AND id >= 0")
            for df, kept, total in ((by_path, 1, 6), (by_partition, 2, 6)):
                pruned = pruning.prune(df)
                (scan,) = pruning.explain(pruned).scans
                assert (scan.files_kept, scan.files_total) == (kept, total), name
                assert len(pruned.inputFiles()) == kept, name
                assert rows(pruned) == rows(df), name
            spark.conf.unset(name)
    finally:
        spark.sql("DROP TABLE unlisted")
        for name in LISTINGS_OFF:
            spark.conf.unset(name)


def test_char_columns_give_the_same_rows(spark):
    spark.sql("DROP TABLE IF EXISTS padded")
    spark.sql("CREATE TABLE padded (c CHAR(5), i INT) USING parquet")
    try:
        for start in (0, 50):
            spark.range(start, start + 50).selectExpr("concat('k', id)", "cast(id AS int)").coalesce(
                1
            ).write.insertInto("padded")
        for predicate in ("c = 'k7'", "IF(i < 60, c, 'z') < 'k2'", "c LIKE 'k4%' AND i < 45"):
            df = spark.table("padded").filter(predicate)
            assert rows(pruning.prune(df)) == unpruned(spark, df)
    finally:
        spark.sql("DROP TABLE padded")


UNSAFE = {
    "rand": ("SELECT * FROM flights WHERE id < 10 AND rand(1) < 0.5", "not deterministic"),
    "id": ("SELECT monotonically_increasing_id(), id FROM flights WHERE id < 10", "not deterministic"),
    "file": ("SELECT input_file_name() FROM flights WHERE id < 10", "not deterministic"),
    "partition": ("SELECT spark_partition_id() FROM flights WHERE id < 10", "not deterministic"),
    "uuid": ("SELECT uuid() FROM flights WHERE id < 10", "not deterministic"),
    "shuffle": ("SELECT shuffle(array(1, 2)) FROM flights WHERE id < 10", "not deterministic"),
    "in a subquery": (
        """SELECT * FROM flights
            WHERE id < 10 AND id < (SELECT max(r) FROM (SELECT id * rand() AS r FROM flights))""",
        "not deterministic",
    ),
    "sample": ("SELECT * FROM flights TABLESAMPLE (50 PERCENT) REPEATABLE (1) WHERE id < 10", "sample"),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_a_query_whose_answer_depends_on_the_files_is_left_alone(spark, case):
    query, reason = UNSAFE[case]
    df = spark.sql(query)
    assert pruning.prune(df) is df
    report = pruning.explain(df)
    assert report.scans == ()
    assert reason in str(report)


def test_a_query_for_file_metadata_is_left_alone(spark, flights):
    df = spark.read.parquet(flights).filter("id < 10").select("id", "_metadata.file_name")
    assert pruning.prune(df) is df
    assert "_metadata" in str(pruning.explain(df))


def test_a_stream_is_left_alone(spark, flights):
    df = spark.readStream.schema("id int").parquet(flights).filter("id < 10")
    assert pruning.prune(df) is df
    assert "stream" in str(pruning.explain(df))


def test_leaves_that_no_rule_knows_are_left_as_they_are(spark, flights, tmp_path):
    orc = str(tmp_path / "orc")
    spark.range(100).write.orc(orc)
    cached = spark.read.parquet(flights).filter("id < 900").cache()
    try:
        df = (
            spark.table("flights").filter("id < 50")
            .join(spark.read.orc(orc).withColumnRenamed("id", "other"), functions.expr("id = other"))
            .join(cached.filter("id < 20").selectExpr("id AS third"), functions.expr("id = third"))
        )  # fmt: skip
        pruned = pruning.prune(df)
        assert rows(pruned) == unpruned(spark, df)
        assert sum(rows(pruned).values()) == 20
        text = str(pruning.explain(df))
        assert "ORC" in text
        assert "cached" in text
        assert [scan.files_kept for scan in pruning.explain(df).scans].count(1) == 1
    finally:
        cached.unpersist()


def test_a_data_source_v2_scan_is_left_as_it_is(spark, flights):
    before = spark.conf.get("spark.sql.sources.useV1SourceList")
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        df = spark.read.parquet(flights).filter("id < 50")
        assert rows(pruning.prune(df)) == rows(df)
        assert "DataSourceV2ScanRelation is not a Parquet table" in str(pruning.explain(df))
    finally:
        spark.conf.set("spark.sql.sources.useV1SourceList", before)


def test_field_ids_leave_a_scan_as_it_is(spark, flights):
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        df = spark.sql(QUERIES["point"])
        assert pruning.prune(df) is df
        assert "fieldId" in str(pruning.explain(df))
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")


def test_a_file_whose_footer_cannot_be_read_is_kept_and_named(spark, tmp_path):
    for number in range(3):
        pq.write_table(pa.table({"id": pa.array([number], pa.int32())}), tmp_path / f"{number}.parquet")
    df = (
        spark.read.schema("id int")
        .option("ignoreCorruptFiles", "true")
        .parquet(str(tmp_path))
        .filter("id = 2")
    )
    (tmp_path / "1.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    pruned = pruning.prune(df)
    assert sorted(name.rpartition("/")[2] for name in pruned.inputFiles()) == ["1.parquet", "2.parquet"]
    assert "1.parquet" in " ".join(pruning.explain(df).scans[0].notes)
    assert [row.id for row in pruned.collect()] == [2]


def test_a_column_is_believed_only_under_the_type_it_is_stored_as(spark, tmp_path):
    """A footer's int bounds say nothing of the column read as a string, or under another case."""
    pq.write_table(
        pa.table({"n": pa.array([9, 10], pa.int32()), "b": [b"\xc3", b"a"]}), tmp_path / "0.parquet"
    )
    wider = spark.read.schema("n bigint").parquet(str(tmp_path)).filter("n > 10")
    other_case = spark.read.schema("N int").parquet(str(tmp_path)).filter("N > 10")
    text = spark.read.schema("b string").parquet(str(tmp_path)).filter("b > 'z'")
    kept = [pruning.explain(df).scans[0].files_kept for df in (wider, other_case, text)]
    assert kept == [0, 1, 1]


def test_a_plan_that_spark_cannot_rewrite_is_left_alone(spark, monkeypatch):
    def fails(*arguments):
        raise Py4JError("Java's stack is full")

    monkeypatch.setattr("pruning.spark.drive.pruning.optimized_plan", fails)
    df = spark.sql(QUERIES["point"])
    assert pruning.prune(df) is df
    assert "Java's stack is full" in str(pruning.explain(df))


def test_a_frame_of_connect_is_refused_in_one_sentence():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    for function in (pruning.prune, pruning.explain):
        with pytest.raises(InputError, match=r"^A Spark Connect DataFrame cannot be pruned, .*\.$"):
            function(frame)


def test_anything_but_a_frame_is_refused_by_its_type():
    with pytest.raises(InputError, match=r"^A str was given where a Spark DataFrame is needed\.$"):
        pruning.prune("SELECT 1")


def test_a_query_without_a_table_reads_none(spark):
    df = spark.sql("SELECT 1")
    assert pruning.prune(df) is df
    assert str(pruning.explain(df)) == "The query reads no table."
