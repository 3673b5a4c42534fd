"""Decisions about joins by ranges: those that stay as they are say why, and what would change that."""

import os
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import sampled
from pyspark.sql.functions import udf
from ranged import INNER, join, joined_alike, ranges_of, reasons, reasons_of, rows_of

import pruning
from mutants.joins.range_decisions import CHAR_MUTANT, DECISION_MUTANTS
from pruning.spark.drive.join import range_joins
from pruning.spark.drive.join.range_unions import RangeReads, SideSlices

pytestmark = pytest.mark.usefixtures("lake")
WINDOW = f"SELECT f.text, count(*) OVER (PARTITION BY f.k) {INNER} f.k = o.k"
UNORDERED = "SELECT f.text, o.w FROM ranged_facts f JOIN ranged_unordered o ON f.k = o.k"
DEAR = "SELECT f.v, o.w FROM ranged_facts f JOIN ranged_others o ON f.k = o.k"
REASONS = {
    join("FULL", columns="f.text, o.w"): "Spark can broadcast no side of a full outer join",
    join("INNER", columns="/*+ MERGE(o) */ f.text, o.w"): "the query has a hint for the join",
    f"SELECT f.text, o.w {INNER} double(f.k) = double(o.k)": "between keys whose order is known",
    WINDOW: "the shuffle serves another join or a window",
    "SELECT text FROM ranged_facts WHERE k IN (SELECT k FROM ranged_others)": "another form",
    UNORDERED: "row groups overlap in the keys, or are large / clustering both tables by the keys",
    UNORDERED.replace("unordered", "unbounded"): "no bounds of the keys are known / pruning.backfill",
    DEAR: "ranges of keys cost as much as reading / clustering both tables by the keys",
    join("INNER", condition="WHERE o.k = 4", columns="f.text, o.w"): "",
    join("INNER", "d", columns="f.text"): "small enough to be broadcast as a whole / a hint to broadcast it",
    "SELECT text FROM ranged_facts JOIN (SELECT DISTINCT k FROM ranged_others) USING (k)": "",
}


@pytest.mark.parametrize("sql", REASONS)
def test_joins_that_stay_as_they_are_say_why(spark, sql):
    texts = reasons_of(spark, sql)
    assert bool(texts) is bool(REASONS[sql])
    for text in texts:
        assert all(part in text for part in REASONS[sql].split(" / ")), text


def is_ranged(spark, sql: str) -> bool:
    return bool(ranges_of(pruning.explain(spark.sql(sql), runtime=False)))


def test_mutants_of_costs_change_what_is_joined_by_ranges(spark, monkeypatch):
    cheap = join("LEFT", columns="f.k, f.text, o.w")
    assert [is_ranged(spark, sql) for sql in (cheap, DEAR)] == [True, False]
    for mutant, sql in (("ranges never pay", cheap), ("ranges always pay", DEAR)):
        with monkeypatch.context() as patch:
            patch.setattr(*DECISION_MUTANTS[mutant])
            assert is_ranged(spark, sql) is (sql == DEAR)


def test_a_shuffle_that_serves_a_window_stays(spark, monkeypatch):
    monkeypatch.setattr(*DECISION_MUTANTS["a shuffle serves one join"])
    assert is_ranged(spark, WINDOW)


def test_a_function_in_python_stays_where_it_is(spark, no_cost, monkeypatch):
    """It may count its calls, or write something; a mutant copies it into each range."""
    is_less = udf(lambda first, second: first < second, "boolean")
    facts, others = spark.table("ranged_facts"), spark.table("ranged_others")
    df = facts.join(others, (facts["k"] == others["k"]) & is_less(facts["v"], others["w"])).select("text")
    report = pruning.explain(df, runtime=False)
    assert not ranges_of(report)
    assert any("a function in Python" in reason for reason in reasons(report))
    monkeypatch.setattr(*DECISION_MUTANTS["functions in Python are copied"])
    assert ranges_of(pruning.explain(df, runtime=False))


def test_columns_that_spark_pads_are_left_alone(spark, no_cost, tmp_path, monkeypatch):
    """Padded, a cut is equal to a key that is less on the other side, as a mutant's rows show."""
    for number in range(6):
        # A file begins with the last key of the file before it, and a space.
        keys = [f"k{number} ", *(f"k{number}{letter}" for letter in "abcdef"), f"k{number + 1}"]
        columns = {"k": keys, "w": [f"{key}{number}" * 100 for key in keys]}
        for name in ("plain", "char"):
            (tmp_path / name).mkdir(exist_ok=True)
            pq.write_table(pa.table(columns), tmp_path / name / f"{number}.parquet")
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    location = (tmp_path / "char").as_uri()
    spark.sql(f"CREATE TABLE ranged_char (k CHAR(12), w STRING) USING parquet LOCATION '{location}'")
    spark.read.parquet(str(tmp_path / "plain")).createOrReplaceTempView("ranged_plain")
    try:
        df = spark.sql("SELECT p.k FROM ranged_plain p JOIN ranged_char c ON p.k = c.k")
        report, rows = pruning.explain(df, runtime=False), rows_of(df)
        assert not ranges_of(report)
        assert any("CHAR" in reason for reason in reasons(report))
        assert rows_of(pruning.prune(df, runtime=False)) == rows
        monkeypatch.setattr(*CHAR_MUTANT)
        assert rows_of(pruning.prune(df, runtime=False)) != rows
    finally:
        spark.sql("DROP TABLE ranged_char")
        spark.conf.unset("spark.sql.readSideCharPadding")


def test_slices_take_a_share_of_the_drivers_memory(spark, monkeypatch):
    sql = join("LEFT", columns="f.k, f.text, o.w")
    memory = range_joins.jvm(spark).java.lang.Runtime.getRuntime().maxMemory()
    # As many bytes as two of three ranges take.
    monkeypatch.setattr(range_joins, "_DRIVER_SHARE", memory // 1_000)
    assert any("the driver would hold" in reason for reason in reasons_of(spark, sql))
    monkeypatch.setattr(*DECISION_MUTANTS["the driver has room for any slices"])
    assert is_ranged(spark, sql)


def test_slices_of_all_joins_of_a_query_count(spark, monkeypatch):
    sql = join("LEFT", columns="f.k, f.text, o.w")
    (note,) = ranges_of(pruning.explain(spark.sql(sql), runtime=False))
    held_bytes = int(note.rpartition(" bytes")[0].rpartition(" ")[2].replace(",", ""))
    memory = range_joins.jvm(spark).java.lang.Runtime.getRuntime().maxMemory()
    monkeypatch.setattr(range_joins, "_DRIVER_SHARE", memory // (held_bytes + 100))
    report = pruning.explain(spark.sql(f"{sql} UNION ALL {sql}"), runtime=False)
    assert len(ranges_of(report)) == 1
    assert any("the driver would hold" in reason for reason in reasons(report))


@pytest.mark.parametrize("changed", ["facts", "others"])
def test_files_without_a_known_block_are_read_in_each_range_or_not_broadcast(
    spark, lake, tmp_path, no_cost, changed
):
    frames = {}
    for name in ("facts", "others"):
        (tmp_path / name).mkdir()
        for path in (lake / name).glob("*.parquet"):
            (tmp_path / name / path.name).write_bytes(path.read_bytes())
        frames[name] = spark.read.parquet(str(tmp_path / name))
    # The file is another one than Spark has listed.
    os.utime(tmp_path / changed / "3.parquet", (0, 0))
    df = frames["facts"].join(frames["others"].select("k", "w"), "k", "left").select("k", "text", "w")
    if changed == "facts":
        joined_alike(df)
    else:
        report = pruning.explain(df, runtime=False)
        assert any("the rows of some files are not known" in reason for reason in reasons(report))


def write_buckets(spark, name: str, column: str) -> None:
    """Write a table of the catalog with files by `k`, each of the only bucket of a column."""
    rows = spark.table(f"ranged_{name}").repartitionByRange(6, "k")
    rows.write.bucketBy(1, column).mode("overwrite").saveAsTable(f"bucketed_{name}")


@pytest.mark.parametrize("column", sampled(["k", "v"], default=["k"]))
def test_tables_in_buckets_are_joined_as_spark_joins_them(spark, no_cost, monkeypatch, column):
    """Without a shuffle, where they are by the key; a mutant joins them by ranges."""
    write_buckets(spark, "facts", column)
    write_buckets(spark, "others", "k")
    sql = "SELECT f.text, o.w FROM bucketed_facts f JOIN bucketed_others o ON f.k = o.k"
    try:
        if column == "v":
            joined_alike(spark.sql(sql.replace("bucketed_others", "ranged_others")))
            return
        assert any("without a shuffle" in reason for reason in reasons_of(spark, sql))
        monkeypatch.setattr(*DECISION_MUTANTS["each join is shuffled"])
        assert is_ranged(spark, sql)
    finally:
        spark.sql("DROP TABLE bucketed_facts")
        spark.sql("DROP TABLE bucketed_others")


def test_each_range_has_the_statistics_of_its_part_of_a_table(spark, lake, no_cost):
    """Of tables that ANALYZE TABLE has looked at, by which Spark thinks them smaller than their files."""
    threshold = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    for name in ("facts", "others"):
        spark.sql(f"CREATE TABLE analyzed_{name} USING parquet LOCATION '{(lake / name).as_uri()}'")
        spark.sql(f"ANALYZE TABLE analyzed_{name} COMPUTE STATISTICS FOR COLUMNS k")
    spark.conf.set("spark.sql.cbo.enabled", "true")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "600")
    try:
        sql = join("LEFT", columns="f.k, f.text, o.w").replace("ranged_", "analyzed_")
        plan = pruning.prune(spark.sql(sql), runtime=False)._jdf.queryExecution().optimizedPlan()
        leaves = plan.collectLeaves()
        counts = [int(leaves.apply(place).stats().rowCount().get()) for place in range(leaves.length())]
        facts, others = counts[::2], counts[1::2]
        assert len(facts) == len(others) > 1
        assert max(facts) < spark.table("ranged_facts").count() <= sum(facts)
        assert max(others) < spark.table("ranged_others").count() <= sum(others)
    finally:
        spark.conf.unset("spark.sql.cbo.enabled")
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
        for name in ("facts", "others"):
            spark.sql(f"DROP TABLE analyzed_{name}")


def test_the_report_has_the_row_groups_that_some_range_reads():
    """Of a file that one range reads as a whole, all of them; filters of the whole table are in no plan."""
    scan = SimpleNamespace(named_groups={"a": frozenset({9})}, range_filters=("of the table",))
    side = SideSlices(scan=scan, ranges=None, blocks=None, key=None)
    reads = [
        RangeReads(frozenset("ab"), {"a": frozenset({0}), "b": frozenset({1})}),
        RangeReads(frozenset("ab"), {"a": frozenset({2})}),
    ]
    side._reads.extend(reads)
    side.note_reads()
    assert scan.named_groups == {"a": {0, 2}}
    assert scan.range_filters == ()
