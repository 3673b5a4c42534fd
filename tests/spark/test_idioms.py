"""Queries as people write them give the same on a DataFrame and on what `prune` makes of it: one table."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

import pruning
from oracles.answers.frames import settings

Prune = Callable[[DataFrame], DataFrame]
FILES, ROWS = 6, 20
CACHED = "its rows come from the cache"
STREAM = "a stream's plan is optimized only when it runs; its static side can be pruned before"


@dataclass(frozen=True)
class Idiom:
    """A way to write a query over `t` and `u`, with `prune` wherever a user may put it.

    `unpruned` says why no fewer files are read; None where fewer are.
    """

    run: Callable[[SparkSession, Prune], Any]
    unpruned: str | None = None


def t(spark: SparkSession) -> DataFrame:
    return spark.table("t")


def few(spark: SparkSession) -> DataFrame:
    return spark.table("t").where("k < 25")


def two_aliases(spark: SparkSession, prune: Prune) -> DataFrame:
    left = prune(t(spark).alias("x").where("x.k < 25"))
    right = prune(spark.table("u").alias("y").where("y.k > 10 AND y.k < 30"))
    return left.join(right, f.col("x.k") == f.col("y.k")).select("x.k", "y.name")


def both_sides_by_frame(spark: SparkSession, prune: Prune) -> DataFrame:
    left, right = few(spark), spark.table("u")
    joined = prune(left.join(right, left["k"] == right["k"]))
    return joined.select(left["k"], right["k"], right["name"])


def original_column(spark: SparkSession, prune: Prune) -> DataFrame:
    df = few(spark)
    return prune(df).where(df["k"] == 3)


def self_union(spark: SparkSession, prune: Prune) -> DataFrame:
    df = t(spark)
    return prune(df.where("k < 5").union(df.where("k > 95")))


def self_join(spark: SparkSession, prune: Prune) -> DataFrame:
    left, right = few(spark).alias("a"), t(spark).alias("b")
    return prune(left.join(right, f.col("a.k") == f.col("b.k") + 1)).select("a.k", "b.name")


def file_names(spark: SparkSession, prune: Prune) -> DataFrame:
    df = spark.read.parquet(spark.conf.get("idioms.lake")).where("k < 25")
    return prune(df).select("k", "_metadata.file_name", "_metadata.row_index")


def file_names_of_nothing(spark: SparkSession, prune: Prune) -> DataFrame:
    df = spark.read.parquet(spark.conf.get("idioms.lake")).where("k > 1000")
    return prune(df).select("k", "_metadata.file_name")


def broadcast_hint(spark: SparkSession, prune: Prune) -> Any:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        joined = spark.table("u").join(prune(few(spark).hint("broadcast")), "k")
        assert "BroadcastHashJoin" in joined._jdf.queryExecution().executedPlan().toString()
        return joined.select("k").collect()
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def repartition_hint(spark: SparkSession, prune: Prune) -> Any:
    return prune(few(spark).hint("repartition", 3)).rdd.getNumPartitions()


def clock(spark: SparkSession, prune: Prune) -> Any:
    df = prune(few(spark).withColumn("now", f.current_timestamp()))
    time.sleep(0.01)
    between = spark.sql("SELECT current_timestamp() AS c").first().c
    return df.where(f.col("now") >= f.lit(between)).count()


def before_now(spark: SparkSession, prune: Prune) -> Any:
    """A row whose time comes between `prune` and the query belongs to the answer."""
    soon = spark.sql("SELECT unix_micros(current_timestamp()) + 300000 AS s").first().s
    due = prune(few(spark).where(f"timestamp_micros({soon} + k - k) < current_timestamp()"))
    time.sleep(0.3)
    return due.count()


def cached_source(spark: SparkSession, prune: Prune) -> Any:
    source = t(spark).cache()
    try:
        source.count()
        rows = prune(source.where("k < 25")).collect()
        return rows, spark.sparkContext._jsc.sc().getPersistentRDDs().size()
    finally:
        source.unpersist(blocking=True)


def cached_beside(spark: SparkSession, prune: Prune) -> Any:
    source = spark.table("u").where("k < 60").cache()
    try:
        source.count()
        joined = prune(source.join(t(spark).where("k < 25"), "k"))
        assert "InMemoryTableScan" in joined._jdf.queryExecution().executedPlan().toString()
        return joined.select("k").collect()
    finally:
        source.unpersist(blocking=True)


def cached_result(spark: SparkSession, prune: Prune) -> Any:
    result = prune(few(spark)).cache()
    try:
        return result.count(), result.where("k = 3").collect()
    finally:
        result.unpersist(blocking=True)


def written(spark: SparkSession, prune: Prune) -> DataFrame:
    prune(few(spark)).write.mode("overwrite").saveAsTable("idiom_written")
    return spark.table("idiom_written")


def inserted(spark: SparkSession, prune: Prune) -> DataFrame:
    prune(few(spark)).createOrReplaceTempView("idiom_source")
    spark.sql("DROP TABLE IF EXISTS idiom_inserted")
    spark.sql("CREATE TABLE idiom_inserted USING parquet AS SELECT idiom_source.k FROM idiom_source")
    return spark.table("idiom_inserted")


def static_side_of_a_stream(spark: SparkSession, prune: Prune) -> Any:
    return _streamed(spark, lambda stream: stream.join(prune(few(spark)), "k"))


def whole_stream(spark: SparkSession, prune: Prune) -> Any:
    return _streamed(spark, lambda stream: prune(stream.join(few(spark), "k")))


def _streamed(spark: SparkSession, joined: Callable[[DataFrame], DataFrame]) -> Any:
    schema = spark.table("t").schema
    stream = spark.readStream.schema(schema).parquet(spark.conf.get("idioms.lake")).select("k", "day")
    stream = stream.withColumnRenamed("day", "streamed")
    query = (
        joined(stream)
        .writeStream.format("memory")
        .queryName("idiom_stream")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(map(repr, spark.table("idiom_stream").collect()))


def parameter(spark: SparkSession, prune: Prune) -> DataFrame:
    return spark.sql("SELECT k FROM {frame} WHERE name LIKE 'n%'", frame=prune(few(spark)))


def checkpointed(spark: SparkSession, prune: Prune) -> DataFrame:
    return prune(few(spark)).localCheckpoint().where("k > 3")


def sql(text: str) -> Callable[[SparkSession, Prune], DataFrame]:
    return lambda spark, prune: prune(spark.sql(text))


def padded_char(spark: SparkSession, prune: Prune) -> DataFrame:
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    try:
        return prune(spark.sql("SELECT c, i FROM idiom_padded WHERE c LIKE 'a5' AND i < 45"))
    finally:
        spark.conf.unset("spark.sql.readSideCharPadding")


IDIOMS = {
    "alias": Idiom(lambda s, prune: prune(t(s).alias("x").where("x.k < 25")).select("x.k")),
    "alias star": Idiom(lambda s, prune: prune(t(s).alias("x").where("x.k < 25")).select("x.*")),
    "alias after": Idiom(lambda s, prune: prune(few(s)).alias("z").where("z.k = 3").select("z.name")),
    "view name": Idiom(lambda s, prune: prune(few(s)).where("t.k = 1")),
    "two pruned frames by alias": Idiom(two_aliases),
    "columns of both frames after a join": Idiom(both_sides_by_frame),
    "column of the original frame": Idiom(original_column),
    "self-join": Idiom(self_join),
    "hidden column in WHERE": Idiom(lambda s, prune: prune(few(s).select("name")).where("k = 3")),
    "hidden column in ORDER BY": Idiom(lambda s, prune: prune(few(s).select("name")).orderBy("k")),
    "file names": Idiom(file_names),
    "file names of an empty answer": Idiom(file_names_of_nothing),
    "hint to broadcast": Idiom(broadcast_hint),
    "hint to repartition": Idiom(repartition_hint),
    "clock in SELECT": Idiom(clock),
    "clock in WHERE": Idiom(before_now),
    "cached source": Idiom(cached_source, unpruned=CACHED),
    "cached side of a join": Idiom(cached_beside),
    "cached answer": Idiom(cached_result),
    "CTE twice": Idiom(
        sql("WITH c AS (SELECT * FROM t) SELECT * FROM c WHERE k < 5 UNION ALL SELECT * FROM c WHERE k > 95")
    ),
    "nested CTE": Idiom(
        sql("""WITH c AS (WITH d AS (SELECT * FROM t WHERE k < 60) SELECT * FROM d WHERE k > 10)
               SELECT a.k, b.name FROM c a JOIN c b ON a.k = b.k + 1 WHERE a.k < 25 AND b.k < 30""")
    ),
    "CTE in a subquery": Idiom(
        sql("""WITH c AS (SELECT * FROM t) SELECT k FROM c WHERE k < 25 AND
               day IN (SELECT day FROM c WHERE k > 10 AND k < 15)""")
    ),
    "scalar subquery": Idiom(sql("SELECT k FROM t WHERE k < 60 AND k = (SELECT max(k) FROM t WHERE k < 25)")),
    "self-union": Idiom(
        lambda s, prune: (lambda df: prune(df.where("k < 5").union(df.where("k > 95"))))(t(s))
    ),
    "union by name": Idiom(lambda s, prune: prune(few(s)).unionByName(prune(t(s).where("k > 95")))),
    "except": Idiom(sql("SELECT k FROM t WHERE k < 25 EXCEPT SELECT k FROM u WHERE k < 20")),
    "USING": Idiom(lambda s, prune: prune(few(s).join(s.table("u"), "k")).select("k")),
    "left outer join": Idiom(lambda s, prune: prune(few(s).join(s.table("u"), "k", "left"))),
    "groups": Idiom(
        lambda s, prune: prune(few(s).groupBy("day").agg(f.count("*").alias("c"))).where("c > 2")
    ),
    "pivot": Idiom(lambda s, prune: prune(few(s)).groupBy("day").pivot("unit").agg(f.max("k"))),
    "window": Idiom(
        lambda s, prune: prune(
            few(s).withColumn("r", f.row_number().over(Window.partitionBy("unit").orderBy("k")))
        ).where("r = 2")
    ),
    "distinct": Idiom(lambda s, prune: prune(few(s)).select("unit").distinct()),
    "explode": Idiom(lambda s, prune: prune(few(s).select("k", f.explode(f.array("k", "day"))))),
    "columns renamed and dropped": Idiom(
        lambda s, prune: prune(few(s).withColumnRenamed("k", "key").drop("name")).where("key < 9")
    ),
    "missing values filled": Idiom(lambda s, prune: prune(few(s)).na.fill("?").select("k", "name")),
    "order and limit": Idiom(lambda s, prune: prune(t(s).orderBy(f.desc("k")).limit(5)).select("name")),
    "limit": Idiom(lambda s, prune: prune(few(s).limit(5)).count()),
    "rows as an RDD": Idiom(lambda s, prune: sorted(prune(few(s)).rdd.map(lambda row: row.k).collect())),
    "rows one by one": Idiom(lambda s, prune: sorted(row.k for row in prune(few(s)).toLocalIterator())),
    "Python UDF": Idiom(lambda s, prune: prune(few(s)).select(f.udf(lambda k: k + 1, "int")("k"))),
    "transform": Idiom(lambda s, prune: few(s).transform(prune).select("k")),
    "named in SQL": Idiom(parameter),
    "checkpoint": Idiom(checkpointed),
    "write": Idiom(written),
    "insert": Idiom(inserted),
    "CHAR without padding": Idiom(padded_char),
    "static side of a stream": Idiom(static_side_of_a_stream),
    "stream": Idiom(whole_stream, unpruned=STREAM),
    "sample": Idiom(
        lambda s, prune: prune(few(s).sample(1.0)), unpruned="a sample depends on the files read"
    ),
    "random": Idiom(
        lambda s, prune: prune(few(s).withColumn("r", f.rand(1))),
        unpruned="random numbers depend on the files read",
    ),
}


@pytest.fixture(autouse=True)
def generated_code(spark: SparkSession) -> Iterator[None]:
    """Generated code and adaptive execution, as users have them, in a default run too."""
    as_users_have = {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.adaptive.enabled": "true",
    }
    with settings(spark, as_users_have):
        yield


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    """`t` of six sorted files, `u` of the same keys in three, and a table with a CHAR column."""
    lake = tmp_path_factory.mktemp("idioms")
    for name, files in (("t", FILES), ("u", 3)):
        (lake / name).mkdir()
        step = FILES * ROWS // files
        for number in range(files):
            pq.write_table(
                _rows(range(number * step, (number + 1) * step)), lake / name / f"{number}.parquet"
            )
        spark.read.parquet(str(lake / name)).createOrReplaceTempView(name)
    spark.conf.set("idioms.lake", str(lake / "t"))
    spark.sql("DROP TABLE IF EXISTS idiom_padded")
    spark.sql("CREATE TABLE idiom_padded (c CHAR(5), i INT) USING parquet")
    for start in (0, 50):
        rows = spark.range(start, start + 50).selectExpr("concat('a', id)", "cast(id AS int)").coalesce(1)
        rows.write.insertInto("idiom_padded")
    yield
    for table in ("idiom_padded", "idiom_written", "idiom_inserted"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")


def _rows(keys) -> pa.Table:
    return pa.table(
        {
            "k": pa.array(keys, pa.int32()),
            "day": pa.array([k // 10 for k in keys], pa.int32()),
            "unit": ["feet" if k % 2 else "meters" for k in keys],
            "name": [None if k % 7 == 0 else f"n{k:03d}" for k in keys],
        }
    )


def answer(result: Any) -> Any:
    """The columns, types and rows of a result, in any order."""
    if isinstance(result, DataFrame):
        return result.schema.simpleString(), sorted(map(repr, result.collect()))
    return sorted(map(repr, result)) if isinstance(result, list) else result


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_gives_the_same_on_a_pruned_frame(spark, tables, name):
    idiom = IDIOMS[name]
    files: list[tuple[int, int]] = []

    def prune(df: DataFrame) -> DataFrame:
        pruned = pruning.prune(df)
        if not df.isStreaming:
            files.append((len(pruned.inputFiles()), len(df.inputFiles())))
        return pruned

    expected = answer(idiom.run(spark, lambda df: df))
    assert answer(idiom.run(spark, prune)) == expected
    if idiom.unpruned is None:
        assert sum(read for read, _ in files) < sum(whole for _, whole in files)
    else:
        assert all(read == whole for read, whole in files)


def test_most_idioms_read_fewer_files():
    assert len(IDIOMS) >= 30
    assert sum(idiom.unpruned is None for idiom in IDIOMS.values()) >= 24
