"""Statistics of the catalog: Spark's optimizer takes those of what is left of a pruned table."""

import pytest
from pyspark.sql import DataFrame, SparkSession

import pruning
from pruning.spark.drive import narrowed_leaves

ROWS, FILES = 4_000, 10
JOIN = """
    SELECT f.v, o.w FROM analyzed_facts f JOIN analyzed_others o ON f.k = o.k
    WHERE f.k < 300 AND f.v IS NOT NULL
"""


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory):
    """Two tables of the catalog, of files by k, with statistics of the tables and of their columns."""
    for name, column in (("analyzed_facts", "nullif(k % 7, 3) AS v"), ("analyzed_others", "k * 3 AS w")):
        folder = tmp_path_factory.mktemp("analyzed") / name
        rows = spark.range(ROWS).selectExpr("id AS k").repartitionByRange(FILES, "k").selectExpr("k", column)
        rows.write.parquet(str(folder))
        spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{folder.as_uri()}'")
        spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS FOR ALL COLUMNS")
    yield
    for name in ("analyzed_facts", "analyzed_others"):
        spark.sql(f"DROP TABLE {name}")


@pytest.fixture(params=["true", "false"])
def cbo(spark: SparkSession, request: pytest.FixtureRequest):
    """The cost-based optimizer, on or off, and broadcasts of less than a table and more than what is left."""
    changes = {
        "spark.sql.cbo.enabled": request.param,
        "spark.sql.autoBroadcastJoinThreshold": "20000",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark.conf.get(name) for name in changes}
    for name, value in changes.items():
        spark.conf.set(name, value)
    yield request.param == "true"
    for name, value in before.items():
        spark.conf.set(name, value)


def statistics(frame: DataFrame) -> list[tuple[int, int | None]]:
    """The bytes and the rows that Spark expects of each leaf."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    expected = [leaves.apply(place).stats() for place in range(leaves.length())]
    return [
        (int(leaf.sizeInBytes()), int(leaf.rowCount().get()) if leaf.rowCount().isDefined() else None)
        for leaf in expected
    ]


def is_broadcast(frame: DataFrame) -> bool:
    return "BroadcastHashJoin" in frame._jdf.queryExecution().executedPlan().toString()


def test_spark_broadcasts_what_is_left_of_a_table(spark, tables, cbo):
    frame = spark.sql(JOIN)
    pruned = pruning.prune(frame, runtime=False)
    # With the bounds of columns, Spark itself expects few rows of the whole table to pass.
    assert (is_broadcast(frame), is_broadcast(pruned)) == (cbo, True)
    assert sorted(pruned.collect()) == sorted(frame.collect())
    for (size, rows), (size_left, rows_left) in zip(statistics(frame), statistics(pruned), strict=True):
        assert size_left < size / 3
        if cbo:
            assert rows == ROWS
            assert 300 <= rows_left <= 2 * ROWS / FILES


def test_a_mutant_that_keeps_the_statistics_of_the_table_is_found_out(spark, tables, cbo, monkeypatch):
    monkeypatch.setattr(narrowed_leaves, "with_own_statistics", lambda spark, leaf, rows: leaf)
    pruned = pruning.prune(spark.sql(JOIN), runtime=False)
    assert statistics(pruned) == statistics(spark.sql(JOIN))


def test_columns_have_no_more_values_than_rows(spark, tables, cbo):
    pruned = pruning.prune(spark.sql(JOIN), runtime=False)
    leaf = pruned._jdf.queryExecution().analyzed().collectLeaves().apply(0)
    column = leaf.catalogTable().get().stats().get().colStats().apply("k")
    assert int(column.distinctCount().get()) <= 2 * ROWS / FILES
    assert int(column.max().get()) == ROWS - 1
