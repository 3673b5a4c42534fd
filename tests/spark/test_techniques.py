"""LIMIT, top-k and join pruning of whole queries on Spark: what is read, what is run, what is left alone."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame

import pruning
from pruning.spark.drive import top_k
from pruning.spark.drive.join import build_sides

FILES, STEP = 6, 500

# What may raise, and so must be left alone, depends on it.
pytestmark = pytest.mark.usefixtures("ansi")


@pytest.fixture(scope="module")
def lake(spark: Any, flights: str, tmp_path_factory: Any) -> None:
    """Views: `f` of six sorted files, `g` under other names, `dim` of keys some of which lie in one file."""
    spark.read.parquet(flights).createOrReplaceTempView("f")
    spark.read.parquet(flights).selectExpr("id gid", "delay gdelay", "name gname").createOrReplaceTempView(
        "g"
    )
    directory = tmp_path_factory.mktemp("dim")
    keys = [1201, 1203, 1207, 1211, 1213]
    names = ["hit"] * 5 + ["miss"] * 45
    ids = keys + [20 + 60 * i for i in range(45)]
    pq.write_table(pa.table({"k": pa.array(ids, pa.int32()), "n": names}), directory / "0.parquet")
    spark.read.parquet(str(directory)).createOrReplaceTempView("dim")
    some = "select * from values (1201, 1), (null, 2) as v(k, n)"
    spark.sql(some).createOrReplaceTempView("with_null")


def rows(df: DataFrame) -> list[str]:
    return sorted(map(repr, df.collect()))


def kept(report: Any, *, of: int = 0) -> int:
    """How many files of a scan are read."""
    found = report.scans[of].files_kept
    assert found is not None
    return int(found)


def techniques(report: Any, *, of: int = 0) -> list[str]:
    return [removal.technique for removal in report.scans[of].removals]


def pruned_alike(spark: Any, sql: str, **options: bool) -> Any:
    """The report on a query whose pruned answer is the unpruned one."""
    df = spark.sql(sql)
    pruned = pruning.prune(df, **options)
    assert rows(pruned) == rows(df)
    return pruning.explain(pruned, **options)


def pruned_of_size(spark: Any, sql: str, size: int) -> Any:
    """The report on a query of which any rows that match are right."""
    pruned = pruning.prune(spark.sql(sql))
    found = [repr(row) for row in pruned.collect()]
    everything = rows(spark.sql(sql.partition(" LIMIT ")[0]))
    assert len(found) == min(size, len(everything))
    assert set(found) <= set(everything)
    return pruning.explain(pruned)


# LIMIT


def test_a_limit_reads_one_file_that_matches_throughout(spark, lake):
    report = pruned_of_size(spark, "SELECT * FROM f WHERE id >= 700 LIMIT 10", 10)
    assert kept(report) == 1
    assert techniques(report) == ["filter", "limit"]
    assert report.jobs == ()


def test_a_limit_counts_the_offset(spark, lake):
    report = pruned_of_size(spark, "SELECT * FROM f WHERE id >= 700 LIMIT 10 OFFSET 495", 10)
    assert kept(report) == 2


def test_a_limit_without_enough_sure_rows_chooses_no_file(spark, lake):
    report = pruned_of_size(spark, "SELECT * FROM f WHERE delay > 100 LIMIT 10", 10)
    assert techniques(report) == []


def test_a_limit_whose_rows_might_raise_chooses_no_file(spark, lake):
    """Other files might raise where those that Spark would read first do not."""
    report = pruned_of_size(spark, "SELECT id * 1000000 AS x FROM f WHERE id < 900 LIMIT 10", 10)
    assert "limit" not in techniques(report)


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("SELECT count(*) FROM (SELECT * FROM f LIMIT 700)", 2),
        ("SELECT max(x) FROM (SELECT id AS x FROM f LIMIT 300 OFFSET 100)", 1),
        ("SELECT * FROM (SELECT * FROM f LIMIT 700) WHERE id >= 0", 2),
        ("SELECT * FROM f LIMIT 700", FILES),
        ("SELECT id AS x FROM f LIMIT 300 OFFSET 100", FILES),
    ],
)
def test_a_limit_of_any_rows_chooses_files_below_something_else(spark, lake, sql, files):
    """There each task of Spark's reads as many rows as the LIMIT; at the top the first one has enough."""
    pruned = pruning.prune(spark.sql(sql))
    report = pruning.explain(pruned)
    assert kept(report) == files
    assert len(pruned.collect()) == len(spark.sql(sql).collect())
    if files < FILES:
        assert techniques(report) == ["limit"]


def test_a_limit_over_a_union_reads_one_branch(spark, lake):
    sql = "SELECT id FROM f WHERE id >= 700 UNION ALL SELECT gid FROM g WHERE gid < 40 LIMIT 10"
    report = pruned_of_size(spark, sql, 10)
    assert sorted((kept(report), kept(report, of=1))) == [0, 1]


def test_a_limit_over_the_preserved_side_of_an_outer_join_chooses_files(spark, lake):
    sql = "SELECT f.id, g.gname FROM f LEFT JOIN g ON f.id = g.gid + 7 WHERE f.id >= 700 LIMIT 10"
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert "limit" in techniques(pruned_of_size(spark, sql, 10))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("join", ["JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_a_limit_over_what_drops_rows_chooses_no_file(spark, lake, join):
    sql = f"SELECT x.id FROM (SELECT * FROM f WHERE id >= 700) x {join} dim ON x.id = dim.k LIMIT 10"
    assert "limit" not in techniques(pruned_of_size(spark, sql, 10))


@pytest.mark.parametrize("join", ["JOIN", "FULL JOIN"])
def test_a_limit_below_an_aggregate_over_what_drops_rows_chooses_no_file(spark, lake, join):
    """No scan of it is sure to give a row, and Spark does not stop early there either."""
    sql = f"SELECT count(*) FROM (SELECT f.id FROM f {join} dim ON f.id = dim.k LIMIT 10)"
    assert "limit" not in techniques(pruned_alike(spark, sql))


def test_a_limit_over_distinct_chooses_no_file(spark, lake):
    report = pruned_of_size(spark, "SELECT DISTINCT unit FROM f WHERE id >= 700 LIMIT 2", 2)
    assert "limit" not in techniques(report)


# Top-k

SHAPES = {
    "a: over a scan": "SELECT * FROM f WHERE delay > 3 ORDER BY id DESC, name LIMIT 10",
    "b: over the probe side of a join": (
        "SELECT f.id, dim.n FROM f JOIN dim ON f.id % 100 = dim.k % 100 ORDER BY f.id DESC LIMIT 3"
    ),
    "c: over the preserved side of an outer join": (
        "SELECT f.id, dim.n FROM f LEFT JOIN dim ON f.id = dim.k ORDER BY f.id DESC LIMIT 3"
    ),
    "d: over groups": "SELECT day, count(*) c FROM f GROUP BY day ORDER BY day DESC LIMIT 3",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_top_k_of_each_plan_shape_reads_few_files(spark, lake, shape):
    """[P] Figure 7."""
    report = pruned_alike(spark, SHAPES[shape])
    assert "top-k" in techniques(report)
    assert kept(report) < FILES


def test_waves_leave_the_files_that_they_read(spark, lake):
    pruned = pruning.prune(spark.sql("SELECT * FROM f WHERE delay > 3 ORDER BY id DESC, name LIMIT 10"))
    report = pruning.explain(pruned)
    assert [job.purpose for job in report.jobs] == ["wave of a top-k"]
    assert len(pruned.inputFiles()) == kept(report) == report.jobs[0].files


def test_metadata_alone_gives_a_boundary_and_runs_nothing(spark, lake):
    report = pruned_alike(spark, "SELECT * FROM f ORDER BY id LIMIT 10", runtime=False)
    assert report.jobs == ()
    assert (kept(report), techniques(report)) == (1, ["top-k"])
    assert "by counts of rows" in report.scans[0].removals[0].predicate


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM f ORDER BY -id LIMIT 7",
        "SELECT id, delay FROM f ORDER BY delay NULLS FIRST, id LIMIT 7",
        "SELECT id, delay FROM f ORDER BY delay DESC NULLS LAST, id DESC LIMIT 7 OFFSET 5",
        "SELECT id FROM f ORDER BY id LIMIT 5000",
        "SELECT id FROM f WHERE id < 0 ORDER BY id LIMIT 5",
        "SELECT day, count(*) c FROM f GROUP BY day HAVING count(*) > 10 ORDER BY day LIMIT 3",
        "SELECT id, row_number() OVER (PARTITION BY unit ORDER BY id) r FROM f ORDER BY id DESC LIMIT 3",
        "SELECT * FROM (SELECT id FROM f UNION ALL SELECT gid FROM g) ORDER BY id DESC LIMIT 3",
        "SELECT f.id FROM f RIGHT JOIN dim ON f.id = dim.k ORDER BY f.id NULLS FIRST LIMIT 3",
        "SELECT f.id FROM f FULL JOIN dim ON f.id = dim.k ORDER BY f.id LIMIT 3",
        "SELECT altitude FROM f ORDER BY altitude DESC LIMIT 4",
        "SELECT id FROM f WHERE id IN (SELECT id FROM f ORDER BY id DESC LIMIT 3)",
    ],
)
def test_what_a_top_k_leaves_open_is_answered_alike(spark, lake, sql):
    pruned_alike(spark, sql)


# Joins


def test_a_join_reads_only_files_that_may_hold_a_key(spark, lake):
    report = pruned_alike(spark, "SELECT f.* FROM f JOIN dim ON f.id = dim.k WHERE dim.n = 'hit'")
    assert (kept(report), techniques(report)) == (1, ["join"])
    assert "exact set of 5 values" in report.scans[0].removals[0].predicate
    assert [job.rows for job in report.jobs] == [5]


@pytest.mark.parametrize(
    "build",
    [
        "SELECT k, n FROM dim WHERE n = 'hit' LIMIT 4",
        "SELECT k, n FROM dim WHERE n = 'hit' ORDER BY n LIMIT 4",
        "SELECT first(k) AS k, n FROM dim WHERE n = 'hit' GROUP BY n",
        "SELECT k, row_number() OVER (PARTITION BY n ORDER BY n) r FROM dim WHERE n = 'hit'",
        "SELECT CAST(sum(k * 1.0D) AS INT) AS k FROM dim WHERE n = 'hit' GROUP BY n, k",
    ],
    ids=["limit", "limit of ties", "first", "window", "sum of doubles"],
)
def test_a_build_side_that_may_give_other_rows_is_run_once(spark, lake, build):
    """The rows that it gave while the query was pruned are those that the query joins with."""
    pruned = pruning.prune(spark.sql(f"SELECT * FROM f JOIN ({build}) d ON f.id = d.k"))
    report = pruning.explain(pruned)
    assert kept(report) == 1
    assert [job.files for job in report.jobs] == [1, 0]
    assert any("rows of one side of a join were read now" in note for note in report.notes)
    assert len(pruned.collect()) == report.jobs[0].rows
    assert rows(pruned) == rows(pruned)


def test_a_build_side_of_exact_aggregates_is_run_first(spark, lake):
    sql = """SELECT f.* FROM f JOIN (SELECT n, max(k) AS k, count(*) c, sum(k) s FROM dim WHERE n = 'hit'
             GROUP BY n) d ON f.id = d.k"""
    report = pruned_alike(spark, sql)
    assert [job.rows for job in report.jobs] == [1]
    assert kept(report) == 1


def test_metadata_of_one_side_prunes_the_other_and_runs_nothing(spark, lake):
    sql = "SELECT f.name, g.gname FROM f JOIN g ON f.id = g.gid WHERE f.day < '2013-01-20'"
    report = pruned_alike(spark, sql, runtime=False)
    assert report.jobs == ()
    assert (kept(report), kept(report, of=1)) == (1, 1)
    assert techniques(report, of=1) == ["join"]


@pytest.mark.parametrize(
    ("sql", "acts"),
    [
        ("SELECT * FROM f LEFT SEMI JOIN dim ON f.id = dim.k AND dim.n = 'hit'", True),
        ("SELECT * FROM f WHERE id IN (SELECT k FROM dim WHERE n = 'hit')", True),
        ("SELECT * FROM f RIGHT JOIN (SELECT * FROM dim WHERE n = 'hit') d ON f.id = d.k", True),
        ("SELECT * FROM (SELECT * FROM dim WHERE n = 'hit') d LEFT JOIN f ON f.id = d.k", True),
        ("SELECT * FROM f LEFT JOIN (SELECT * FROM dim WHERE n = 'hit') d ON f.id = d.k", False),
        ("SELECT * FROM f FULL JOIN (SELECT * FROM dim WHERE n = 'hit') d ON f.id = d.k", False),
        ("SELECT * FROM f LEFT ANTI JOIN dim ON f.id = dim.k AND dim.n = 'hit'", False),
        ("SELECT * FROM (SELECT * FROM dim WHERE n = 'hit') d LEFT ANTI JOIN f ON f.id = d.k + 1", True),
        ("SELECT * FROM f WHERE id NOT IN (SELECT k FROM dim WHERE n = 'hit')", False),
        ("SELECT * FROM f WHERE id NOT IN (SELECT k FROM with_null)", False),
        ("SELECT * FROM f JOIN with_null v ON f.id = v.k", True),
        ("SELECT * FROM f JOIN with_null v ON f.delay <=> v.k AND f.id < 30", False),
        ("SELECT f.id FROM f JOIN dim ON f.id + 1 = dim.k AND f.name > dim.n WHERE dim.n = 'hit'", True),
        ("SELECT * FROM f JOIN dim ON CAST(f.id AS bigint) - 1 = dim.k WHERE dim.n = 'hit'", True),
        ("SELECT * FROM f x JOIN f y ON x.id = y.id + 1 WHERE x.id IN (1201, 2)", True),
        ("SELECT count(*) FROM f JOIN dim d ON f.id = d.k JOIN dim e ON f.id = e.k WHERE d.n = 'hit'", True),
        ("SELECT id, (SELECT max(k) FROM dim WHERE dim.k = f.id) m FROM f", False),
        ("SELECT * FROM f WHERE EXISTS (SELECT 1 FROM dim WHERE k = id AND n = 'hit') OR unit = 'x'", False),
    ],
)
def test_joins_of_every_kind_answer_alike(spark, lake, sql, acts):
    """The table of the design: which side of which join may be pruned."""
    report = pruned_alike(spark, sql)
    acted = any(removal.technique == "join" for scan in report.scans for removal in scan.removals)
    assert acted is acts


def test_an_empty_build_side_eliminates_the_join(spark, lake):
    report = pruned_alike(spark, "SELECT * FROM f JOIN dim ON f.id = dim.k WHERE dim.k = 7")
    assert [scan.files_kept for scan in report.scans] == [0, 0]


def test_an_empty_scan_eliminates_what_needs_it(spark, lake):
    """[P] 2.1: Spark drops the sub-tree, and the report says so."""
    report = pruned_alike(spark, "SELECT * FROM f x JOIN f y ON x.unit = y.name WHERE x.delay > 900")
    assert [scan.files_kept for scan in report.scans] == [0, 0]
    assert {"elimination", "join"} & set(techniques(report, of=1))


def test_few_rows_left_are_broadcast(spark, lake):
    """[M] 5.6."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "20000")
    try:
        report = pruned_alike(
            spark, "SELECT * FROM f x JOIN f y ON x.delay = y.delay WHERE x.id < 20", runtime=False
        )
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert any("broadcast" in note for note in report.notes)


def test_a_build_side_that_raises_is_left_to_the_query(spark, lake):
    """The query itself raises, or does not run that side at all."""
    sql = "SELECT * FROM f JOIN dim ON f.id = dim.k WHERE CAST(dim.n AS int) = 3"
    report = pruning.explain(spark.sql(sql))
    assert any("could not be run first" in note for note in report.notes)


@pytest.mark.parametrize(
    ("technique", "sql"),
    [
        (build_sides, "SELECT f.* FROM f JOIN dim ON f.id = dim.k WHERE dim.n = 'hit'"),
        (top_k, "SELECT * FROM f WHERE delay > 100 ORDER BY id DESC LIMIT 3"),
    ],
    ids=["join", "top-k"],
)
def test_keys_that_arrow_cannot_hold_are_left_to_the_query(spark, lake, monkeypatch, technique, sql):
    def values(*given):
        raise pa.ArrowInvalid("no such value")

    monkeypatch.setattr(technique, "expression_values", values)
    report = pruned_alike(spark, sql)
    assert any("no such value" in note for note in report.notes)


# Filters


def test_no_row_that_fails_where_comes_out_of_a_file_rewritten_after_prune(spark, tmp_path):
    """All rows passed when the footers were read; the files may be others by the time the query runs."""
    for number in range(4):
        ids = pa.array(range(10 * number, 10 * number + 10), pa.int32())
        pq.write_table(pa.table({"id": ids}), tmp_path / f"{number}.parquet")
    pruned = pruning.prune(spark.read.parquet(str(tmp_path)).where("id >= 20"))
    assert len(pruned.inputFiles()) == 2
    pq.write_table(pa.table({"id": pa.array(range(10), pa.int32())}), tmp_path / "3.parquet")
    assert sorted(row.id for row in pruned.collect()) == list(range(20, 30))


def test_a_filter_that_may_raise_is_asked(spark, tmp_path):
    """Verdicts speak of rows that do not raise; unasked, one that fails the query would be in its answer."""
    pq.write_table(pa.table({"a": pa.array([1, 2, 2**31 - 1], pa.int32())}), tmp_path / "0.parquet")
    df = spark.read.parquet(str(tmp_path)).where("a + 1 > 1")
    # Spark 3.5 gives Java's exception as it is.
    with pytest.raises((ArithmeticException, Py4JJavaError), match="overflow"):
        df.collect()
    with pytest.raises((ArithmeticException, Py4JJavaError), match="overflow"):
        pruning.prune(df).collect()


# All together


def test_techniques_act_in_turn_on_one_query(spark, lake):
    sql = """SELECT f.id, dim.n FROM f JOIN dim ON f.id = dim.k
             WHERE f.id < 2500 AND dim.n = 'hit' ORDER BY f.id DESC LIMIT 2"""
    report = pruned_alike(spark, sql)
    assert techniques(report)[:2] == ["filter", "join"]
    assert kept(report) == 1


def test_what_was_done_is_told_without_doing_it_again(spark, lake, monkeypatch):
    pruned = pruning.prune(spark.sql("SELECT * FROM f WHERE id < 10"))
    monkeypatch.setattr("pruning.spark.drive.pruning._prune_with_report", None)
    assert kept(pruning.explain(pruned)) == 1


def test_spark_pushdown_loses_no_row_of_a_pruned_query(spark, tmp_path):
    """NaN is above every number, and pyarrow's bounds do not speak of it."""
    pq.write_table(pa.table({"x": [1.0, 2.0, float("nan")]}), tmp_path / "0.parquet")
    assert len(pruning.prune(spark.read.parquet(str(tmp_path)).where("x > 5")).collect()) == 1
