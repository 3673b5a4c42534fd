"""Joins of two clustered tables range by range: the rows of the shuffled join, and no shuffle."""

from typing import Any

import pyarrow.parquet as pq
import pytest
from budget import examples, sampled
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.functions import expr
from ranged import KEY_TYPES, KINDS, is_shuffled, join, joined_alike, ranges_of, rows_of

import pruning
from mutants.joins.join_ranges import BLOCK_MUTANTS, CONDITION_MUTANTS
from mutants.joins.range_decisions import ROWS_MUTANT
from pruning.spark.drive.analyzed_plans import dataset_id_tag
from pruning.spark.drive.join import range_unions
from pruning.spark.jvm.gateway import elements, jvm, subtrees

pytestmark = pytest.mark.usefixtures("lake")
RIGHT = "SELECT f.{key}, f.text, o.w FROM ranged_others o RIGHT JOIN ranged_facts f ON f.{key} = o.{key}"


@pytest.fixture(params=sampled(["false", "true"], default=["true"]))
def adaptive(spark, request):
    """Adaptive execution, off or on."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield
    spark.conf.set("spark.sql.adaptive.enabled", before)


@pytest.mark.parametrize("kind", sampled(["LEFT", "INNER"], default=["LEFT"]))
def test_a_join_in_ranges_has_no_shuffle(spark, kind, adaptive):
    df = spark.sql(join(kind, columns="f.k, f.text, o.w"))
    assert is_shuffled(df)
    assert not is_shuffled(joined_alike(df))


# Each kind of join, with keys of another type.
SHAPES = {
    "INNER": join("INNER", "c", columns="f.c, f.text, o.k AS other, o.w"),
    "LEFT": join("LEFT", "d", "AND f.v < o.w WHERE f.k BETWEEN 2 AND 46", columns="f.d, f.text, o.w"),
    "SEMI": join("LEFT SEMI", "s", columns="f.s, f.text"),
    "ANTI": join("LEFT ANTI", "t", columns="f.t, f.text").replace("f.t =", "f.t <=>"),
    "RIGHT": RIGHT.format(key="i"),
    "two keys": join("INNER", condition="AND f.v = o.w WHERE f.v > 1", columns="f.k, f.text, o.w"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_kind_of_join_gives_the_rows_of_the_shuffled_one(spark, shape, no_cost):
    joined_alike(spark.sql(SHAPES[shape]))


@pytest.mark.deep
@pytest.mark.parametrize("equality", ["=", "<=>"])
@pytest.mark.parametrize("key", KEY_TYPES)
@pytest.mark.parametrize("kind", [*KINDS, "RIGHT"])
def test_all_kinds_of_joins_with_keys_of_all_types(spark, kind, key, equality, no_cost):
    # A key alone may be small enough to be broadcast.
    sql = RIGHT.format(key=key) if kind == "RIGHT" else join(kind, key, "AND o.w >= 0", columns="f.k, f.text")
    joined_alike(spark.sql(sql.replace(" = ", f" {equality} ")))


ABOVE = {
    "window and join": "SELECT x.w, sum(x.v) OVER (PARTITION BY v ORDER BY k, x.w), c.n FROM ({}) x "
    "LEFT JOIN VALUES (1, 2) AS c(m, n) ON x.w = c.m WHERE coalesce(x.w, 5) > 2",
    "aggregate": "SELECT k, count(*), max(w) FROM ({}) GROUP BY k UNION ALL SELECT 1, 2, 3",
    "distinct": "SELECT DISTINCT w FROM ({})",
    "top": "SELECT * FROM ({}) ORDER BY k DESC NULLS LAST, w, text LIMIT 7",
    "subquery": "SELECT k, w FROM ({}) WHERE w > (SELECT min(w) FROM ranged_others)",
    "twice": "WITH x AS ({0}) SELECT k, w FROM x UNION ALL SELECT k, v FROM x WHERE v > 2",
}


@pytest.mark.parametrize("above", sampled(ABOVE, default=["window and join"]))
def test_what_is_above_the_join_stays(spark, above, no_cost):
    inner = join("INNER" if above == "subquery" else "LEFT", columns="f.k, f.v, f.text, o.w")
    joined_alike(spark.sql(ABOVE[above].format(inner)))


def test_a_condition_in_where_is_one_of_the_join(spark, no_cost):
    joined_alike(spark.sql("SELECT o.w FROM ranged_facts f, ranged_others o WHERE f.k = o.k"))


@pytest.mark.deep
def test_a_table_is_joined_to_itself(spark, lake, no_cost):
    facts = spark.read.parquet(str(lake / "facts"))
    left, right = facts.alias("one"), facts.select("k").where("v <> 1").alias("two")
    joined_alike(left.join(right, left["k"] == right["k"], "left").select("one.text", "two.k"))


def test_columns_are_named_as_before(spark, lake):
    """By the names of the sides, by columns of their DataFrames, and hidden ones."""
    facts, others = spark.read.parquet(str(lake / "facts")), spark.read.parquet(str(lake / "others"))
    df = facts.alias("f").join(others.select("k", "w").alias("o"), facts["k"] == others["k"], "left")
    pruned = pruning.prune(df, runtime=False)
    assert ranges_of(pruning.explain(pruned))
    uses = [
        lambda frame: frame.select(facts["text"], others["k"], "o.w", "f._metadata.file_name").where(
            "f.v > 1"
        ),
        lambda frame: frame.where(facts["v"] == 2).drop(others["k"]).select("k", "w"),
        lambda frame: frame.join(facts.select("k", "v").limit(0), "k", "left").select("w"),
    ]
    for use in uses:
        assert use(pruned).schema == use(df).schema
    assert rows_of(uses[0](pruned)) == rows_of(uses[0](df))


@pytest.mark.deep
def test_columns_of_using_and_of_both_files_are_named_as_before(spark, lake):
    facts, others = spark.read.parquet(str(lake / "facts")), spark.read.parquet(str(lake / "others"))
    using = facts.select("k", "text").join(others.select("k", "w"), "k", "left")
    hidden = facts.alias("f").join(others.alias("o").drop("s", "c", "t", "d", "i"), expr("f.k = o.k"), "left")
    for df, columns in ((using, ("w", others["k"])), (hidden, ("text", "o._metadata.file_name"))):
        pruned = pruning.prune(df, runtime=False)
        assert ranges_of(pruning.explain(pruned))
        assert rows_of(pruned.select(*columns)) == rows_of(df.select(*columns))


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Joins of each kind, with and without conditions."""
    kind = draw(st.sampled_from(KINDS))
    key = draw(st.sampled_from(list(KEY_TYPES)))
    equality = draw(st.sampled_from(("=", "<=>")))
    extra = draw(st.sampled_from(("", "AND f.v < o.w", "AND o.w > 2")))
    where = draw(st.sampled_from(("", "WHERE f.v < 3", "WHERE f.k >= 11", "WHERE f.k IS NULL OR f.v = 1")))
    columns = "f.k, f.text" if "LEFT " in kind else "f.k, f.text, o.w"
    tables = f"ranged_facts f {kind} JOIN ranged_others o"
    return f"SELECT {columns} FROM {tables} ON f.{key} {equality} o.{key} {extra} {where}"


@pytest.mark.deep
@given(queries())
@examples(0.4)
def test_random_joins_give_the_rows_of_the_shuffled_ones(spark, sql):
    df = spark.sql(sql)
    assert rows_of(pruning.prune(df, runtime=False)) == rows_of(df)


MUTANTS = {**CONDITION_MUTANTS, **BLOCK_MUTANTS}


@pytest.fixture(scope="module")
def of_mutants(spark, lake) -> list[tuple[Any, list[str]]]:
    """Joins by both equalities, of a table with a file without bounds, with their rows."""
    sql = join("LEFT", columns="f.k, f.text, o.w").replace("ranged_facts", "ranged_unmeasured")
    frames = [spark.sql(sql.replace("=", sign)) for sign in ("=", "<=>")]
    return [(df, rows_of(df)) for df in frames]


def test_files_without_bounds_are_read_in_each_range(of_mutants, no_cost):
    for df, rows in of_mutants:
        pruned = pruning.prune(df, runtime=False)
        assert ranges_of(pruning.explain(pruned))
        assert rows_of(pruned) == rows


@pytest.mark.parametrize(
    "mutant", sampled(MUTANTS, default=["NULL is in two ranges", "a block without bounds is in no range"])
)
def test_a_mutant_of_ranges_changes_rows(of_mutants, no_cost, mutant, monkeypatch):
    monkeypatch.setattr(*MUTANTS[mutant])
    assert any(rows_of(pruning.prune(df, runtime=False)) != rows for df, rows in of_mutants)


def tagged_nodes(spark, df, pruned) -> int:
    """The nodes of a pruned plan that stand for the facts of a DataFrame."""
    tag = dataset_id_tag(spark)
    nodes = elements(subtrees(spark, pruned._jdf.queryExecution().analyzed()))
    ids = df._jdf.queryExecution().analyzed().getTagValue(tag).get().toString()
    return sum(1 for node in nodes if node.getTagValue(tag).toString() == f"Some({ids})")


def test_no_copy_stands_for_a_data_frame(spark, lake, monkeypatch):
    """Spark would take a column of the DataFrame for ambiguous; a mutant's copies keep the ids."""
    facts = spark.read.parquet(str(lake / "facts")).where("v < 4")
    others = spark.read.parquet(str(lake / "others")).select("k", "w")
    df = facts.join(others, facts["k"] == others["k"], "left")
    assert tagged_nodes(spark, facts, pruning.prune(df, runtime=False)) == 1
    no_tag = jvm(spark).org.apache.spark.sql.catalyst.trees.TreeNodeTag("of nothing")
    monkeypatch.setattr(range_unions, "dataset_id_tag", lambda spark: no_tag)
    assert tagged_nodes(spark, facts, pruning.prune(df, runtime=False)) > 1


def test_the_report_has_the_rows_that_all_ranges_gave(spark, lake, monkeypatch):
    """A mutant has those of the first range, for rows of the whole table."""
    df = spark.sql(join("LEFT", columns="f.k, f.text, o.w"))
    counts = []
    for setting in (None, ROWS_MUTANT):
        if setting is not None:
            monkeypatch.setattr(*setting)
        pruned = pruning.prune(df, runtime=False)
        pruned.collect()
        counts.append([scan.rows_read for scan in pruning.explain(pruned).scans])
    tables = [spark.table(f"ranged_{name}").count() for name in ("facts", "others")]
    assert all(read >= rows for read, rows in zip(counts[0], tables, strict=True))
    assert all(read < rows for read, rows in zip(counts[1], tables, strict=True))


@pytest.mark.deep
def test_versions_of_delta_tables_are_joined_by_ranges(spark, lake, tmp_path):
    delta = pytest.importorskip("deltalake")
    for name in ("facts", "others"):
        for path in sorted((lake / name).iterdir()):
            if path.suffix == ".parquet":
                rows = pq.read_table(path, columns=["k", "text" if name == "facts" else "w"])
                delta.write_deltalake(str(tmp_path / name), rows, mode="append")
    delta.DeltaTable(str(tmp_path / "facts")).delete("k = 13")
    facts, others = (pruning.table(spark, str(tmp_path / name)) for name in ("facts", "others"))
    joined_alike(facts.join(others, "k", "left"))
