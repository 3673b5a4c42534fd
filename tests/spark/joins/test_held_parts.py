"""Build sides of any source: their few rows are read once, prune the other side, and stay in the query."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pruning
from pruning.spark.drive import pruning as driven
from pruning.spark.drive.analyzed_plans import AnalyzedPlan
from pruning.spark.drive.join import held_parts
from pruning.spark.drive.repeating import is_function_of_files

FILES, STEP = 20, 10
IDS = [5, 103, 104, 77, 199]
FILES_OF_IDS = 4


@pytest.fixture(scope="module")
def facts(spark: SparkSession, tmp_path_factory: Any) -> DataFrame:
    """A table of 20 files of ten keys each."""
    root = tmp_path_factory.mktemp("facts")
    for number in range(FILES):
        keys = range(number * STEP, (number + 1) * STEP)
        pq.write_table(pa.table({"k": keys, "v": [key % 7 for key in keys]}), root / f"{number:02}.parquet")
    frame = spark.read.parquet(str(root))
    frame.createOrReplaceTempView("held_facts")
    return frame


def write_csv(path: Path, ids: list[int]) -> None:
    path.write_text("".join(f"{key},{key % 2}\n" for key in ids))


@pytest.fixture
def csv(spark: SparkSession, tmp_path: Path) -> Iterator[DataFrame]:
    """The ids in a CSV file, also as a view."""
    write_csv(tmp_path / "ids.csv", IDS)
    frame = spark.read.csv(str(tmp_path / "ids.csv"), schema="k long, odd int")
    frame.createOrReplaceTempView("held_ids")
    yield frame
    spark.catalog.dropTempView("held_ids")


def rows(df: DataFrame) -> list[str]:
    return sorted(map(repr, df.collect()))


def pruned_alike(df: DataFrame) -> Any:
    """The report on a query whose pruned answer is the unpruned one."""
    pruned = pruning.prune(df)
    assert rows(pruned) == rows(df)
    return pruning.explain(pruned)


def parquet(spark: SparkSession, csv: DataFrame, root: Path) -> DataFrame:
    pq.write_table(pa.table({"k": IDS}), root / "ids.parquet")
    return spark.read.parquet(str(root / "ids.parquet"))


SOURCES: dict[str, Callable[[SparkSession, DataFrame, Path], DataFrame]] = {
    "Parquet": parquet,
    "CSV": lambda spark, csv, root: csv,
    "rows of Python": lambda spark, csv, root: spark.createDataFrame([(key,) for key in IDS], "k long"),
    "checkpoint": lambda spark, csv, root: csv.localCheckpoint(),
    "aggregate": lambda spark, csv, root: csv.groupBy("k").agg(F.max("odd").alias("odd")),
    "LIMIT": lambda spark, csv, root: csv.limit(len(IDS)),
    "first": lambda spark, csv, root: csv.groupBy("k").agg(F.first("odd").alias("odd")),
}


@pytest.mark.parametrize("source", SOURCES)
def test_rows_of_any_source_prune(spark, facts, csv, tmp_path, source):
    """No filter is written: the ids are few, and to open the files of facts costs more."""
    report = pruned_alike(facts.join(SOURCES[source](spark, csv, tmp_path), "k"))
    assert report.scans[0].files_kept == FILES_OF_IDS


def test_rows_of_a_cached_part_prune_by_its_cache(spark, facts, csv, tmp_path):
    cached = csv.cache()
    try:
        assert cached.count() == len(IDS)
        write_csv(tmp_path / "ids.csv", [1])
        report = pruned_alike(facts.join(cached, "k"))
    finally:
        cached.unpersist()
    assert report.scans[0].files_kept == FILES_OF_IDS
    assert "rows of a cached part were read now and are held in the query: 5" in report.notes


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM held_facts WHERE k IN (SELECT k FROM held_ids)",
        "SELECT * FROM held_facts f WHERE EXISTS (SELECT 1 FROM held_ids i WHERE i.k = f.k)",
        "SELECT * FROM held_ids LEFT JOIN held_facts USING (k)",
        "SELECT count(*) FROM held_facts JOIN (SELECT k + 0 AS k FROM held_ids) USING (k)",
        "SELECT * FROM held_facts f JOIN held_ids a USING (k) JOIN held_ids b USING (k)",
    ],
    ids=["IN", "EXISTS", "outer join", "computed key", "twice"],
)
def test_the_rows_prune_in_each_place_of_a_query(spark, facts, csv, sql):
    report = pruned_alike(spark.sql(sql))
    assert report.scans[0].files_kept == FILES_OF_IDS


def test_conditions_from_above_the_join_are_met_by_the_rows_that_are_read(spark, facts, csv):
    report = pruned_alike(facts.join(csv.alias("i"), "k").where("i.odd = 0"))
    assert report.scans[0].files_kept == 1
    assert [job.rows for job in report.jobs] == [1, 1]


def test_the_query_uses_the_rows_that_pruned_it(spark, facts, csv, tmp_path):
    """The file is written anew between `prune` and `collect`; the answer is that of the old rows."""
    before = rows(facts.join(csv, "k"))
    pruned = pruning.prune(facts.join(csv, "k"))
    write_csv(tmp_path / "ids.csv", [1, 11, 21, 31])
    assert rows(pruned) == before
    assert rows(pruned) == before


def test_a_table_of_a_database_prunes(spark, facts, tmp_path):
    """A row that is written meanwhile is not seen, as one of a Parquet file would not be."""
    url, ids = "jdbc:derby:memory:held;create=true", [(key, key % 2) for key in IDS]
    spark.createDataFrame(ids, "k long, odd int").write.jdbc(url, "ids", mode="overwrite")
    query = facts.join(spark.read.jdbc(url, "ids").alias("i"), "k").where("i.odd = 0")
    before, pruned = rows(query), pruning.prune(query)
    assert pruning.explain(pruned).scans[0].files_kept == 1
    spark.createDataFrame([(0, 0)], "k long, odd int").write.jdbc(url, "ids", mode="append")
    assert rows(pruned) == before


def test_rows_that_python_reads_prune(spark, facts, tmp_path):
    """The source counts its reads: its rows are other ones each time."""
    datasource = pytest.importorskip("pyspark.sql.datasource", reason="Spark 4 reads sources in Python")
    counter = tmp_path / "reads"
    counter.write_text("")

    class Reader(datasource.DataSourceReader):
        def __init__(self, path: str) -> None:
            self.path = path

        def read(self, partition: Any) -> Iterator[tuple[int]]:
            with open(self.path, "a") as file:
                file.write("x")
            with open(self.path) as file:
                yield (10 * len(file.read()),)

    class Source(datasource.DataSource):
        @classmethod
        def name(cls) -> str:
            return "held_reads"

        def schema(self) -> str:
            return "k long"

        def reader(self, schema: Any) -> Reader:
            return Reader(self.options["path"])

    spark.dataSource.register(Source)
    query = facts.join(spark.read.format("held_reads").load(str(counter)), "k")
    pruned = pruning.prune(query)
    report = pruning.explain(pruned)
    assert report.scans[0].files_kept == 1
    key = 10 * len(counter.read_text())
    assert [[row.k for row in pruned.collect()] for _ in range(2)] == [[key], [key]]


def test_rows_that_are_read_again_lose_rows(spark, facts, csv, tmp_path, monkeypatch):
    """A mutant: the source stays in the query, which joins its new rows with the files for the old ones."""
    finish = driven._finish

    def without_parts(df: DataFrame, opened: Any, held: Any) -> Any:
        return finish(df, replace(opened, analyzed=AnalyzedPlan.of(df)), held)

    monkeypatch.setattr(driven, "_finish", without_parts)
    query = facts.join(csv, "k")
    pruned = pruning.prune(query)
    assert pruning.explain(pruned).scans[0].files_kept == FILES_OF_IDS
    write_csv(tmp_path / "ids.csv", [1, 11, 21, 31])
    assert [row.k for row in pruned.collect()] == [1]


@pytest.mark.parametrize(
    ("sql", "is_fixed"),
    [
        ("SELECT k + 1 AS k FROM held_facts f JOIN (VALUES (1), (2)) AS i (k) USING (k) WHERE v > 0", True),
        ("SELECT k FROM held_facts WHERE k IN (SELECT v FROM held_facts)", True),
        ("SELECT k FROM held_facts WHERE k IN (SELECT k FROM held_ids)", False),
        ("SELECT k FROM held_facts UNION ALL SELECT k FROM held_ids", False),
        ("SELECT k FROM held_facts WHERE rand() < 0.5", False),
        ("SELECT k FROM held_facts LIMIT 3", False),
        ("SELECT first(k) AS k FROM held_facts", False),
    ],
)
def test_a_plan_of_files_alone_gives_the_same_rows_each_time(spark, facts, csv, sql, is_fixed) -> None:
    """Of subqueries it holds likewise: one that reads a text file may have other rows."""
    plan = spark.sql(sql)._jdf.queryExecution().analyzed()
    assert is_function_of_files(plan) is is_fixed


def test_names_stay_what_they_were(spark, facts, csv):
    query = facts.alias("f").join(csv.alias("i"), F.col("f.k") == F.col("i.k"))
    pruned = pruning.prune(query)
    assert pruning.explain(pruned).scans[0].files_kept == FILES_OF_IDS
    for later in (lambda df: df.select("i.k", "f.v"), lambda df: df.where("i.odd = 1").select("f.k")):
        assert rows(later(pruned)) == rows(later(query))
    assert pruned.schema == query.schema


def test_nothing_is_read_before_the_query_unless_it_may_be(spark, facts, csv):
    report = pruning.explain(facts.join(csv, "k"), runtime=False)
    assert report.jobs == ()
    assert report.scans[0].files_kept == FILES


def test_more_rows_than_can_be_held_prune_nothing(spark, facts, csv, monkeypatch):
    monkeypatch.setattr(held_parts, "BUILD_ROWS_MAX", 3)
    report = pruned_alike(facts.join(csv, "k"))
    assert report.scans[0].files_kept == FILES
    assert "csv prunes no other table: it has too many rows to be held in the plan" in report.notes
    assert [job.rows for job in report.jobs] == [4]


def test_rows_that_exclude_nothing_are_not_held(spark, facts, tmp_path):
    """Then the query reads its source when it runs, as it would without pruning."""
    write_csv(tmp_path / "all.csv", list(range(0, FILES * STEP, STEP)))
    query = facts.join(spark.read.csv(str(tmp_path / "all.csv"), schema="k long, odd int"), "k")
    pruned = pruning.prune(query)
    assert pruned is query


def test_a_source_that_costs_more_than_it_may_spare_is_not_read(spark, facts, csv):
    """It costs nothing here to open a file, and its bytes are as many as those of the facts."""
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    try:
        report = pruning.explain(facts.where("k > 195").join(csv.unionAll(csv), "k"))
    finally:
        spark.conf.unset("spark.sql.files.openCostInBytes")
    assert report.jobs == ()


def test_a_source_that_fails_is_left_to_the_query(spark, facts, csv):
    failing = csv.select(F.raise_error(F.lit("no such row")).cast("long").alias("k")).limit(2)
    report = pruning.explain(facts.join(failing, "k"))
    assert report.scans[0].files_kept == FILES
    assert any("could not be read before the query" in note for note in report.notes)


def test_a_source_that_is_read_twice_keeps_the_rows_of_both(spark, facts, csv):
    """A condition of one place of a common table does not take rows from the other."""
    sql = """WITH i AS (SELECT * FROM held_ids)
             SELECT * FROM held_facts f JOIN i ON f.k = i.k JOIN i j ON j.k = f.k + 1 WHERE i.odd = 1"""
    pruned_alike(spark.sql(sql))


def facts_kept(spark: SparkSession, limit: int) -> int:
    """Return the files of facts that are left beside a LIMIT over other facts."""
    side = f"(SELECT k FROM held_facts LIMIT {limit})"
    report = pruning.explain(spark.sql(f"SELECT count(v) FROM {side} some JOIN held_facts f ON some.k = f.k"))
    return report.scans[-1].files_kept or 0


def test_a_side_with_a_limit_costs_what_its_rows_take(spark: SparkSession, facts: DataFrame) -> None:
    """It reads as many files as hold its rows, of as large a table as the one that it prunes."""
    assert facts_kept(spark, 3 * STEP) == 3
    assert facts_kept(spark, FILES * STEP - 1) == FILES


def test_a_side_whose_limit_is_overlooked_prunes_nothing(
    spark: SparkSession, facts: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_parts, "limited_shares", lambda query, plan: {})
    assert facts_kept(spark, 3 * STEP) == FILES


def test_a_side_whose_partitions_spark_prunes_is_run_first_and_not_held(spark, facts, tmp_path) -> None:
    """Its rows are fixed, with the subquery by which Spark prunes it; whole, it may be too large to read."""
    days = range(10)
    for day in days:
        folder = tmp_path / f"parts/day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"k": [day * FILES, day * FILES + 1]}), folder / "part.parquet")
    pq.write_table(pa.table({"day": list(days), "name": [f"day {day}" for day in days]}), tmp_path / "days")
    spark.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("held_parts")
    spark.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("held_days")
    df = spark.sql(
        "SELECT * FROM held_facts JOIN held_parts USING (k) JOIN held_days USING (day) WHERE name = 'day 3'"
    )
    assert "dynamicpruning" in df._jdf.queryExecution().optimizedPlan().toString()
    report = pruned_alike(df)
    (kept,) = (scan.files_kept for scan in report.scans if scan.files_total == FILES)
    assert kept == 1
    assert [job.purpose for job in report.jobs if job.purpose.startswith("rows of")] == []
