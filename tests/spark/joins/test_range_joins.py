"""Joins of two clustered tables range by range: the rows of the shuffled join, and no shuffle."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.functions import expr, udf

import pruning
from mutants.joins.join_ranges import BLOCK_MUTANTS, CONDITION_MUTANTS
from pruning.spark.drive.analyzed_plans import dataset_id_tag
from pruning.spark.drive.join import range_joins, range_unions
from pruning.spark.jvm.gateway import elements, jvm, subtrees
from pruning.techniques.join.range_cuts import RangePlan

# Small tables are too large to be broadcast, and opening a file costs nothing.
SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "1200",
    "spark.sql.files.openCostInBytes": "1",
}
FACT_FILES, OTHER_FILES, KEYS = 8, 6, 48
START = datetime.date(2020, 1, 1)
START_TIME = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
# Of each type of keys, the key of a number.
KEY_TYPES = {
    "k": ("bigint", lambda n: n),
    "i": ("int", lambda n: n),
    "s": ("string", lambda n: f"key {n:03}"),
    "d": ("date", lambda n: START + datetime.timedelta(days=n)),
    "c": ("decimal(9,2)", lambda n: Decimal(n) / 4),
    "t": (
        "timestamp",
        lambda n: datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=n),
    ),
}
ARROW = {
    "k": pa.int64(), "i": pa.int32(), "s": pa.string(), "d": pa.date32(),
    "c": pa.decimal128(9, 2), "t": pa.timestamp("us", "UTC"),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def small_broadcasts(spark):
    """Settings by which small tables are shuffled."""
    before = {name: spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def write_file(path: Path, numbers: list[int | None], *, bounds: bool = True, **columns: list[Any]) -> None:
    """Write a file with a column for each type of keys, with or without bounds of them."""
    keys = {
        name: pa.array([None if n is None else make(n) for n in numbers], ARROW[name])
        for name, (_, make) in KEY_TYPES.items()
    }
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({**keys, **columns}), path, write_statistics=bounds)


@pytest.fixture(scope="module")
def lake(spark, small_broadcasts, tmp_path_factory) -> Path:
    """Facts and others by their keys: some twice, some of one table only, some NULL, and keys on cuts.

    The files of the facts overlap by a key. `unmeasured` is the same, with one file without bounds.
    """
    root = tmp_path_factory.mktemp("ranged")
    step = KEYS // FACT_FILES
    for number in range(FACT_FILES):
        keys: list[int | None] = [key for key in range(number * step, (number + 1) * step + 1) for _ in "ab"]
        keys += [None, None] if number in (2, 5) else []
        # Long and distinct texts make a shuffle dear.
        texts = [f"{number} {n} ".ljust(400, chr(97 + (number * 7 + n) % 26)) for n in range(len(keys))]
        columns = {"v": [n % 5 for n in range(len(keys))], "text": texts}
        write_file(root / "facts" / f"{number}.parquet", keys, **columns)
        write_file(root / "unmeasured" / f"{number}.parquet", keys, bounds=number != 3, **columns)
    step = KEYS // OTHER_FILES
    for number in range(OTHER_FILES):
        keys = [key for key in range(number * step, (number + 1) * step) if key % 3]
        keys += [keys[0], None if number == 1 else keys[-1]]
        write_file(root / "others" / f"{number}.parquet", keys, w=list(range(len(keys))))
    for name in ("facts", "unmeasured", "others"):
        spark.read.parquet(str(root / name)).createOrReplaceTempView(f"ranged_{name}")
    return root


@pytest.fixture
def no_cost(monkeypatch):
    """Ranges always pay, however small tables are."""
    monkeypatch.setattr(RangePlan, "pays", lambda self, open_bytes: True)


def rows_of(df) -> list[str]:
    return sorted(map(repr, df.collect()))


def is_shuffled(df) -> bool:
    return "Exchange hashpartitioning" in df._jdf.queryExecution().executedPlan().toString()


def ranges_of(report) -> list[str]:
    """The notes on joins that are done in ranges."""
    return [note for note in report.notes if "ranges of keys" in note]


def joined_alike(spark, sql: str):
    """The report on a query that has one join in ranges, no shuffle of it, and the rows of the query."""
    df = spark.sql(sql)
    pruned = pruning.prune(df, runtime=False)
    report = pruning.explain(pruned)
    assert ranges_of(report), report.why()
    assert rows_of(pruned) == rows_of(df)
    assert pruned.schema == df.schema
    return report


def reasons(spark, sql: str) -> list[str]:
    """The reasons for which a query's joins are shuffled."""
    why = pruning.explain(spark.sql(sql), runtime=False).why()
    return [
        decline.reason for _, declined in why.scans for decline in declined if decline.technique == "ranges"
    ]


def join(kind: str, key: str = "k", condition: str = "", columns: str = "*") -> str:
    return (
        f"SELECT {columns} FROM ranged_facts f {kind} JOIN ranged_others o ON f.{key} = o.{key} {condition}"
    )


INNER = "FROM ranged_facts f JOIN ranged_others o ON"
KINDS = ("INNER", "LEFT", "LEFT SEMI", "LEFT ANTI")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_join_gives_the_rows_of_the_shuffled_one(spark, lake, kind):
    query = join(kind, columns="f.k, f.v" if "LEFT " in kind else "f.k, f.text, o.k AS other, o.w")
    joined_alike(spark, query)
    assert is_shuffled(spark.sql(query))
    assert not is_shuffled(pruning.prune(spark.sql(query), runtime=False))


def test_a_right_join_keeps_the_rows_of_its_right_side(spark, lake):
    joined_alike(spark, "SELECT f.k, f.text, o.w FROM ranged_others o RIGHT JOIN ranged_facts f ON f.k = o.k")


@pytest.mark.parametrize("key", KEY_TYPES)
def test_keys_of_each_type_with_an_order(spark, lake, key):
    joined_alike(spark, join("LEFT", key, columns=f"f.{key}, f.text, o.w"))


@pytest.mark.parametrize(
    "condition",
    [
        "AND f.v < o.w",
        "WHERE f.v > 1",
        "WHERE f.k BETWEEN 2 AND 46",
        "AND f.v = o.w",
    ],
)
def test_further_conditions_stay(spark, lake, condition):
    joined_alike(spark, join("LEFT", condition=condition, columns="f.k, f.text, o.w"))


@pytest.mark.parametrize("kind", ["INNER", "LEFT ANTI"])
def test_null_agrees_with_null_where_it_is_to(spark, lake, kind):
    query = join(kind, columns="f.k, f.text").replace("f.k = o.k", "f.k <=> o.k")
    joined_alike(spark, query)


ABOVE = {
    "aggregate": "SELECT k, count(*), max(w) FROM ({}) GROUP BY k",
    "distinct": "SELECT DISTINCT w FROM ({})",
    "window": "SELECT k, w, sum(w) OVER (PARTITION BY v ORDER BY k, w) FROM ({})",
    "top": "SELECT * FROM ({}) ORDER BY k DESC NULLS LAST, w, text LIMIT 7",
    "filter": "SELECT k, w FROM ({}) WHERE coalesce(w, 5) > 2",
    "another join": "SELECT x.k, x.w, c.n FROM ({}) x LEFT JOIN VALUES (1, 2) AS c(w, n) ON x.w = c.w",
    "union": "SELECT k, w FROM ({}) UNION ALL SELECT 1, 2",
    "subquery": "SELECT k, w FROM ({}) WHERE w > (SELECT min(w) FROM ranged_others)",
}


@pytest.mark.parametrize("above", ABOVE)
def test_what_is_above_the_join_stays(spark, lake, no_cost, above):
    inner = join("INNER" if above == "subquery" else "LEFT", columns="f.k, f.v, f.text, o.w")
    joined_alike(spark, ABOVE[above].format(inner))


def test_the_rows_of_all_ranges_are_counted(spark, lake):
    """After a run, those that the readers of all copies of a scan gave."""
    pruned = pruning.prune(spark.sql(join("LEFT", columns="f.text, o.w")), runtime=False)
    assert ranges_of(pruning.explain(pruned))
    pruned.collect()
    for scan in pruning.explain(pruned).scans:
        assert scan.rows_left <= scan.rows_read < 2 * scan.rows_left


def test_the_cost_of_ranges_is_looked_at(spark, lake, monkeypatch):
    """Mutants: ranges that never pay are none, and those that always do are done for a dear join, too."""
    cheap, dear = (
        join("LEFT", columns="f.text, o.w"),
        ABOVE["window"].format(join("LEFT", columns="f.k, f.v, f.text, o.w")),
    )
    verdicts = [[bool(ranges_of(pruning.explain(spark.sql(sql), runtime=False))) for sql in (cheap, dear)]]
    for pays in (False, True):
        monkeypatch.setattr(RangePlan, "pays", lambda self, open_bytes, pays=pays: pays)
        verdicts.append(
            [bool(ranges_of(pruning.explain(spark.sql(sql), runtime=False))) for sql in (cheap, dear)]
        )
    assert verdicts == [[True, False], [False, False], [True, True]]


def test_a_shuffle_that_serves_a_window_too_stays(spark, lake, no_cost, monkeypatch):
    """A mutant does not look above the join."""
    sql = f"SELECT f.text, count(*) OVER (PARTITION BY f.k) {INNER} f.k = o.k"
    assert any("serves another" in reason for reason in reasons(spark, sql))
    monkeypatch.setattr(range_joins, "serves_others", lambda root, join: False)
    assert ranges_of(pruning.explain(spark.sql(sql), runtime=False)), reasons(spark, sql)


def test_slices_that_the_driver_could_not_hold_are_not_broadcast(spark, lake, no_cost, monkeypatch):
    monkeypatch.setattr(range_joins, "_DRIVER_SHARE", 1 << 40)
    sql = join("LEFT", columns="f.text, o.w")
    assert any("the driver would hold" in reason for reason in reasons(spark, sql))
    assert not ranges_of(pruning.explain(spark.sql(sql), runtime=False))


def test_a_side_without_any_bounds_is_shuffled(spark, lake, no_cost, tmp_path):
    for number in range(OTHER_FILES):
        rows = pa.table({"k": list(range(8 * number, 8 * number + 8)), "w": [number] * 8})
        pq.write_table(rows, tmp_path / f"{number}.parquet", write_statistics=False)
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("ranged_unbounded")
    sql = join("INNER", columns="f.text, o.w").replace("ranged_others", "ranged_unbounded")
    assert any("no bounds" in reason for reason in reasons(spark, sql))


def test_a_condition_in_where_is_one_of_the_join(spark, lake):
    joined_alike(spark, "SELECT f.text, o.w FROM ranged_facts f, ranged_others o WHERE f.k = o.k")


def test_a_table_is_joined_to_itself(spark, lake, no_cost):
    facts = spark.read.parquet(str(lake / "facts"))
    one, two = facts.alias("one"), facts.select("k").where("v <> 1").alias("two")
    df = one.join(two, one["k"] == two["k"], "left").select("one.text", "two.k")
    pruned = pruning.prune(df, runtime=False)
    assert ranges_of(pruning.explain(pruned))
    assert rows_of(pruned) == rows_of(df)


def test_columns_are_named_as_before(spark, lake):
    facts, others = spark.read.parquet(str(lake / "facts")), spark.read.parquet(str(lake / "others"))
    df = facts.alias("f").join(others.select("k", "w").alias("o"), facts["k"] == others["k"], "left")
    pruned = pruning.prune(df, runtime=False)
    assert ranges_of(pruning.explain(pruned))
    for use in (
        lambda frame: frame.select(facts["text"], "o.w").where("f.v > 1"),
        lambda frame: frame.select("f.k", others["k"].alias("other")),
        lambda frame: frame.where(facts["v"] == 2).drop(others["k"]).select("k", "w"),
        lambda frame: frame.join(facts.select("k", "v").limit(0), "k", "left").select("w"),
    ):
        assert rows_of(use(pruned)) == rows_of(use(df))


def test_columns_of_using_are_found(spark, lake):
    facts, others = spark.read.parquet(str(lake / "facts")), spark.read.parquet(str(lake / "others"))
    df = facts.select("k", "text").join(others.select("k", "w"), "k", "left")
    pruned = pruning.prune(df, runtime=False)
    assert ranges_of(pruning.explain(pruned))
    assert rows_of(pruned.select("w", others["k"])) == rows_of(df.select("w", others["k"]))


def test_hidden_columns_are_found(spark, lake):
    facts, others = spark.read.parquet(str(lake / "facts")), spark.read.parquet(str(lake / "others"))
    df = facts.alias("f").join(others.alias("o").drop("s", "c", "t", "d", "i"), expr("f.k = o.k"), "left")
    pruned = pruning.prune(df, runtime=False)
    assert ranges_of(pruning.explain(pruned))
    for name in ("f._metadata.file_name", "o._metadata.file_name"):
        assert rows_of(pruned.select("text", name)) == rows_of(df.select("text", name))


def test_adaptive_execution_shuffles_no_more(spark, lake):
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        query = join("LEFT", columns="f.k, f.text, o.w")
        joined_alike(spark, query)
        assert not is_shuffled(pruning.prune(spark.sql(query), runtime=False))
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (join("FULL", columns="f.text, o.w"), "full outer join"),
        (join("INNER", columns="/*+ MERGE(o) */ f.text, o.w"), "has a hint"),
        ("SELECT text FROM ranged_facts JOIN (SELECT DISTINCT k FROM ranged_others) USING (k)", None),
        (f"SELECT f.text, o.w {INNER} double(f.k) = double(o.k)", "order is known"),
        (f"SELECT f.text, count(*) OVER (PARTITION BY f.k) {INNER} f.k = o.k", "serves another"),
        ("SELECT text FROM ranged_facts WHERE k IN (SELECT k FROM ranged_others)", "another form"),
        (f"SELECT /*+ BROADCAST(o) */ f.text {INNER} f.k = o.k", "has a hint"),
        (join("INNER", "v", columns="f.text, o.w").replace("o.v", "o.w"), "overlap"),
    ],
    ids=["full", "hint", "aggregate", "floats", "window", "IN", "broadcast", "not clustered"],
)  # fmt: skip
def test_joins_that_stay_as_they_are_say_why(spark, lake, sql, reason):
    df = spark.sql(sql)
    pruned = pruning.prune(df, runtime=False)
    assert not ranges_of(pruning.explain(pruned))
    assert rows_of(pruned) == rows_of(df)
    texts = reasons(spark, sql)
    assert (not texts) if reason is None else any(reason in text for text in texts)


def test_a_function_in_python_stays_where_it_is(spark, lake):
    same = udf(lambda value: value, "bigint")
    facts, others = spark.table("ranged_facts"), spark.table("ranged_others")
    df = facts.join(others, facts["k"] == others["k"]).where(same(facts["v"]) == others["w"])
    joins = facts.select("k", same("v").alias("u"), "text").join(others.select("k", "w"), "k")
    for frame in (df, joins):
        assert not any("Python" in note for note in ranges_of(pruning.explain(frame, runtime=False)))
    assert not ranges_of(pruning.explain(joins, runtime=False))


def test_a_small_side_is_broadcast_as_a_whole(spark, lake):
    sql = join("INNER", condition="WHERE o.k = 4", columns="f.text, o.w")
    assert not ranges_of(pruning.explain(spark.sql(sql), runtime=False))
    assert not reasons(spark, sql)


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


@given(queries())
@examples(0.2)
def test_random_joins_give_the_rows_of_the_shuffled_ones(spark, lake, sql):
    df = spark.sql(sql)
    assert rows_of(pruning.prune(df, runtime=False)) == rows_of(df)


MUTANTS = {**CONDITION_MUTANTS, **BLOCK_MUTANTS}


def of_mutants(spark) -> list[Any]:
    """Joins by both equalities, of a table with a file without bounds."""
    sql = join("LEFT", columns="f.k, f.text, o.w").replace("ranged_facts", "ranged_unmeasured")
    return [spark.sql(sql.replace("=", sign)) for sign in ("=", "<=>")]


def test_files_without_bounds_are_read_in_each_range(spark, lake, no_cost):
    for df in of_mutants(spark):
        pruned = pruning.prune(df, runtime=False)
        assert ranges_of(pruning.explain(pruned))
        assert rows_of(pruned) == rows_of(df)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_ranges_changes_rows(spark, lake, no_cost, mutant, monkeypatch):
    monkeypatch.setattr(*MUTANTS[mutant])
    frames = of_mutants(spark)
    assert any(rows_of(pruning.prune(df, runtime=False)) != rows_of(df) for df in frames)


def test_a_mutant_without_a_shuffle_to_spare_is_found_out(spark, lake, no_cost, monkeypatch):
    """A mutant: joins that Spark does not shuffle are done in ranges, too."""
    monkeypatch.setattr(range_joins, "is_shuffled", lambda query, join: True)
    monkeypatch.setattr(range_joins._Site, "has_hint", lambda self: False)
    monkeypatch.setattr(range_joins, "why_not_copied", lambda spark, join: None)
    sql = "SELECT /*+ BROADCAST(o) */ f.text FROM ranged_facts f JOIN ranged_others o ON f.k = o.k"
    assert ranges_of(pruning.explain(spark.sql(sql), runtime=False)), reasons(spark, sql)


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


def test_versions_of_delta_tables_are_joined_by_ranges(spark, lake, tmp_path):
    delta = pytest.importorskip("deltalake")
    for name in ("facts", "others"):
        for path in sorted((lake / name).iterdir()):
            if path.suffix == ".parquet":
                rows = pq.read_table(path, columns=["k", "text" if name == "facts" else "w"])
                delta.write_deltalake(str(tmp_path / name), rows, mode="append")
    delta.DeltaTable(str(tmp_path / "facts")).delete("k = 13")
    facts, others = (pruning.table(spark, str(tmp_path / name)) for name in ("facts", "others"))
    df = facts.join(others, "k", "left")
    pruned = pruning.prune(df, runtime=False)
    assert ranges_of(pruning.explain(pruned)), pruning.explain(pruned).why()
    assert rows_of(pruned) == rows_of(df)


def test_columns_that_spark_pads_are_left_alone(spark, lake, no_cost, tmp_path):
    """A cut that is padded on one side only would part equal keys."""
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    spark.sql(f"CREATE TABLE ranged_char (k CHAR(9), w INT) USING parquet LOCATION '{tmp_path.as_uri()}'")
    try:
        rows = spark.sql("SELECT DISTINCT s AS k, 1 AS w FROM ranged_others WHERE s IS NOT NULL")
        rows.repartitionByRange(6, "k").write.insertInto("ranged_char")
        sql = "SELECT f.text, c.w FROM ranged_facts f JOIN ranged_char c ON concat(f.s, '  ') = c.k"
        assert any("CHAR" in reason for reason in reasons(spark, sql))
        df = spark.sql(sql)
        assert rows_of(pruning.prune(df, runtime=False)) == rows_of(df) != []
    finally:
        spark.sql("DROP TABLE ranged_char")
        spark.conf.unset("spark.sql.readSideCharPadding")
