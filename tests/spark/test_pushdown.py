"""What Spark must not push into Parquet it does not push, and what it may it still does.

The truth is an aggregate over each file without a filter, so that there is nothing to push.
"""

import math
import re
import tempfile
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from mutants.pushdown import mutant
from pruning.spark.catalyst.expressions import conjuncts
from pruning.spark.catalyst.scope import Scope
from pruning.spark.drive import pushdown
from pruning.spark.jvm.gateway import dataframe, elements, simple_name, subtrees

NAN, MS = math.nan, "timestamp'1970-01-01 00:00:00.{}'"
DOUBLES = ("nan", "inf", "-inf", "0.0", "-0.0", "1.0", "-1.0", "2.5")
EPOCH = datetime(1970, 1, 1)
# Of whole and of half milliseconds around 1970, and around the ten days that the hybrid calendar lacks.
INSTANTS_US = (
    *range(-2_000, 2_500, 500),
    *((datetime(1582, 10, day) - EPOCH) // timedelta(microseconds=1) for day in (4, 6, 12, 16)),
)
# Around the days that `java.sql.Date` lacks in each time zone or in some.
DAYS = [
    date(year, month, day) + timedelta(later)
    for year, month, day in ((1582, 10, 5), (1582, 10, 10), (1582, 10, 14), (1993, 8, 21), (2011, 12, 30))
    for later in (-1, 0, 1)
]


@dataclass(frozen=True, kw_only=True)
class Hard:
    """A file from which Spark alone loses rows by a predicate, and the mistake that would let it."""

    values: pa.Array
    predicate: str
    mutant: str
    written: dict = field(default_factory=dict)


PLAIN = {"use_dictionary": False}
PAGES = {**PLAIN, "write_page_index": True, "max_rows_per_page": 1}
BLOOM = {**PLAIN, "bloom_filter_options": {"x": {"ndv": 10, "fpp": 0.01}}}


def can_write(options):
    """Whether this release of pyarrow knows how to write so."""
    try:
        pq.write_table(pa.table({"x": [1.0]}), pa.BufferOutputStream(), **options)
    except TypeError:
        return False
    return True


WRITTEN = [
    options for options in ({}, PLAIN, PAGES, BLOOM, {"write_statistics": False}) if can_write(options)
]
NUMBER_AND_NAN = pa.array([1.0, NAN])
MINUS_ZERO = pa.array([-0.0, -0.0])
MILLISECOND = pa.array([1, 1], pa.timestamp("ms", tz="UTC"))
MANY = ", ".join(f"{number}D" for number in range(20, 32))
SUBQUERY = "x > (SELECT max(id) + 5D FROM t)"

HARD = {
    "NaN is greater": Hard(values=NUMBER_AND_NAN, predicate="x > 1D", mutant="NaN is bounded"),
    "NaN, pages": Hard(values=NUMBER_AND_NAN, predicate="x >= 2D", mutant="NaN is bounded", written=PAGES),
    "NaN, 32 bits": Hard(
        values=NUMBER_AND_NAN.cast(pa.float32()), predicate="x > float('1')", mutant="NaN is bounded"
    ),
    "NaN in a field": Hard(
        values=pa.array([{"x": 1.0}, {"x": NAN}]), predicate="x.x > 1D", mutant="NaN is bounded"
    ),
    "NaN is another": Hard(values=NUMBER_AND_NAN, predicate="x <> 1D", mutant="NOT changes nothing"),
    "NaN is not in": Hard(values=NUMBER_AND_NAN, predicate="x NOT IN (1D, 2D)", mutant="NOT changes nothing"),
    "NaN is NaN": Hard(values=NUMBER_AND_NAN, predicate="x = double('NaN')", mutant="NaN is a number"),
    "NaN is in": Hard(values=NUMBER_AND_NAN, predicate="x IN (2D, double('NaN'))", mutant="NaN is a number"),
    "a constant to come": Hard(values=NUMBER_AND_NAN, predicate=SUBQUERY, mutant="all is constant"),
    "turned around": Hard(values=NUMBER_AND_NAN, predicate="1D < x", mutant="all is constant"),
    "a zero in a dictionary": Hard(values=MINUS_ZERO, predicate="x = 0D", mutant="zeros are one"),
    "at least zero": Hard(values=MINUS_ZERO, predicate="x >= 0D", mutant="NaN is bounded, zeros are one"),
    "at most minus zero": Hard(values=pa.array([0.0]), predicate="x <= -0.0D", mutant="zeros are one"),
    "a zero in a long list": Hard(values=MINUS_ZERO, predicate=f"x IN (0D, {MANY})", mutant="zeros are one"),
    "a zero in a bloom filter": Hard(
        values=MINUS_ZERO, predicate="x = 0D", mutant="zeros are one", written=BLOOM
    ),
    "rounded down": Hard(
        values=MILLISECOND, predicate=f"x < {MS.format('0015')}", mutant="nothing is rounded"
    ),
    "a day that lacks": Hard(
        values=pa.array([date(1582, 10, 8)]), predicate="x = date'1582-10-08'", mutant="all days are"
    ),
    "from a day that lacks": Hard(
        values=pa.array([date(1582, 10, 9)]), predicate="x >= date'1582-10-08'", mutant="all days are"
    ),
    "an instant in days that lack": Hard(
        values=pa.array([datetime(1582, 10, 8, 12)], pa.timestamp("us", tz="UTC")),
        predicate="x <= timestamp'1582-10-08 12:00:00' AND x >= timestamp'1582-10-08 12:00:00'",
        mutant="all days are",
    ),
    "rounded to another": Hard(
        values=MILLISECOND, predicate=f"x <> {MS.format('0015')}", mutant="NOT changes nothing"
    ),
}


def write(directory, values, **written):
    table = pa.table({"id": pa.array([0] * len(values), pa.int64()), "x": values})
    pq.write_table(table, Path(directory) / "0.parquet", **written)


def read(spark, directory):
    reader = spark.read.option("datetimeRebaseMode", "CORRECTED")
    reader.parquet(str(directory)).createOrReplaceTempView("t")


def asked(spark, predicates):
    """One query that counts the rows of each predicate by a filter."""
    return spark.sql(
        " UNION ALL ".join(f"SELECT {i} AS i FROM t WHERE {p}" for i, p in enumerate(predicates))
    )


def counts(df, predicates):
    found = [row.i for row in df.collect()]
    return [found.count(i) for i in range(len(predicates))]


def truth(spark, predicates):
    return list(spark.sql(f"SELECT {', '.join(f'count_if({p})' for p in predicates)} FROM t").first())


def mended(spark, df):
    plan = df._jdf.queryExecution().optimizedPlan()
    changed = pushdown.with_safe_pushdown(spark, plan)
    return df if changed is plan else dataframe(spark, changed)


def pushed(df):
    """What the executed plan pushes, scan by scan."""
    plan = df._jdf.queryExecution().executedPlan().toString()
    return re.findall(r"PushedFilters: (\[.*?\]), ReadSchema", plan)


@pytest.mark.parametrize("name", HARD)
def test_no_row_is_lost_by_pushing_where_spark_alone_loses_one(spark, tmp_path, monkeypatch, name):
    """PUSH-1 on explicit files; the mistake that is named beside each loses a row again."""
    hard = HARD[name]
    if not can_write(hard.written):
        wanted = ", ".join(hard.written)
        pytest.skip(
            f"the file must be written with {wanted}, and pyarrow {pa.__version__} lacks one of these"
        )
    write(tmp_path, hard.values, **hard.written)
    read(spark, tmp_path)
    df = asked(spark, [hard.predicate])
    expected = truth(spark, [hard.predicate])
    assert expected[0] > 0
    assert counts(mended(spark, df), [hard.predicate]) == expected
    if counts(df, [hard.predicate]) == expected:
        pytest.skip(f"Spark {spark.version} reads this file right by itself")
    monkeypatch.setattr(*mutant(hard.mutant))
    assert counts(mended(spark, df), [hard.predicate]) < expected


@st.composite
def files(draw, kind):
    """Values that a file holds, how it is written, and predicates over them."""
    if kind.startswith("timestamp"):
        unit = draw(st.sampled_from(["ms", "us"]))
        type_ = pa.timestamp(unit, tz="UTC" if kind == "timestamp" else None)
        instants = draw(st.lists(st.sampled_from(INSTANTS_US), min_size=1, max_size=4))
        values = pa.array([us // 1_000 if unit == "ms" else us for us in instants], type_)
        constants = [f"{kind} '{iso(us)}'" for us in INSTANTS_US]
    elif kind == "date":
        values = pa.array(draw(st.lists(st.sampled_from([*DAYS, None]), min_size=1, max_size=4)), pa.date32())
        constants = [f"date '{day}'" for day in DAYS]
    else:
        numbers = draw(st.lists(st.sampled_from([*DOUBLES, None]), min_size=1, max_size=4))
        type_ = pa.float32() if kind == "float" else pa.float64()
        values = pa.array([None if number is None else float(number) for number in numbers], type_)
        constants = [f"{kind}('{number}')" for number in DOUBLES]
    written = draw(st.sampled_from(WRITTEN))
    predicates = draw(st.lists(comparisons(st.sampled_from(constants)), min_size=6, max_size=6))
    return values, {**written, "row_group_size": draw(st.sampled_from([1, 2, 4]))}, predicates


def iso(us):
    return f"{EPOCH + timedelta(microseconds=us):%Y-%m-%d %H:%M:%S.%f}"


@st.composite
def comparisons(draw, constants):
    one, other = draw(constants), draw(constants)
    compared = draw(
        st.sampled_from(
            [
                *(f"x {operator} {one}" for operator in ("=", "<=>", "<", "<=", ">", ">=", "<>")),
                *(f"{one} {operator} x" for operator in ("=", "<", ">=")),
                f"x IN ({one}, {other})",
                f"x NOT IN ({one}, {other})",
                f"NOT (x <=> {one})",
                f"x > {one} OR x = {other}",
                f"NOT (x < {one} AND id = 0)",
            ]
        )
    )
    return draw(st.sampled_from([compared, f"({compared}) AND id = 0"]))


@pytest.mark.parametrize("kind", ["double", "float", "date", "timestamp", "timestamp_ntz"])
def test_pushing_never_loses_a_row(spark, kind):
    """PUSH-1. For every file and predicate, the rows that the filter keeps are those that satisfy it."""

    @examples(0.1)
    @given(file=files(kind))
    def check(file):
        values, written, predicates = file
        with tempfile.TemporaryDirectory() as directory:
            write(directory, values, **written)
            read(spark, directory)
            df = asked(spark, predicates)
            assert counts(mended(spark, df), predicates) == truth(spark, predicates)

    check()


def asks(predicates, *wanted):
    return any(predicate.strip("(").startswith(wanted) for predicate in predicates)


def is_nan_hidden(file):
    values, written, predicates = file
    nan = [math.isnan(number) for number in values.drop_null().to_pylist()]
    bounded = written.get("write_statistics", True) and written["row_group_size"] >= len(values)
    kept = [f"x {operator} double('nan')" for operator in ("=", "<=>", ">=")]
    return bounded and any(nan) and not all(nan) and asks(predicates, "x > double('inf')", *kept)


def is_zero_another(file):
    values, written, predicates = file
    signs = {math.copysign(1, number) for number in values.drop_null().to_pylist() if number == 0}
    kept = [f"x {operator} double('0.0')" for operator in ("=", "<=>", ">=")]
    return signs == {-1.0} and "use_dictionary" not in written and asks(predicates, *kept)


def is_rounded(file):
    values, _, predicates = file
    halves = [us for us in INSTANTS_US if us % 1_000 and pa.scalar(us // 1_000, values.type) in list(values)]
    return values.type.unit == "ms" and asks(predicates, *(f"x < timestamp '{iso(us)}'" for us in halves))


def is_lacking(file):
    values, written, predicates = file
    lacking = {day for day in values.to_pylist() if day is not None and day.year == 1582 and 4 < day.day < 15}
    kept = [f"x {operator} date '{day}'" for operator in ("=", "<=>", ">=") for day in lacking]
    return written.get("write_statistics", True) and len(values) == 1 and asks(predicates, *kept)


@pytest.mark.parametrize(
    ("kind", "reached"),
    [
        ("double", is_nan_hidden),
        ("double", is_zero_another),
        ("timestamp", is_rounded),
        ("date", is_lacking),
    ],
)
def test_files_reach_what_spark_alone_loses(kind, reached):
    find(files(kind), reached, settings=unshrunk(2_000))


UNTOUCHED = (
    "x < 5D",
    "x <= 5D AND x = 2D",
    "x IN (1D, 2D)",
    f"x IN ({MANY})",
    "isnan(x)",
    "x + 1D > 2D",
    "id > 0 AND id <> 7",
    f"t < {MS.format('002')}",
    f"t NOT IN ({MS.format('001')}, {MS.format('002')})",
    f"t >= {MS.format('0015')}",
    "d >= date'1582-10-04' AND d < date'1582-10-15'",
)


@pytest.fixture
def columns(spark, tmp_path):
    table = pa.table({"id": [1], "x": [1.0], "s": [{"x": 1.0}], "t": MILLISECOND.slice(1), "d": [DAYS[0]]})
    pq.write_table(table, tmp_path / "0.parquet")
    read(spark, tmp_path)


@pytest.mark.parametrize("predicate", UNTOUCHED)
def test_what_pushes_right_is_left_as_it_is(spark, columns, predicate):
    plan = spark.sql(f"SELECT id FROM t WHERE {predicate}")._jdf.queryExecution().optimizedPlan()
    assert pushdown.with_safe_pushdown(spark, plan) is plan


TOUCHED = {
    "x > 1D AND id > 0": "[IsNotNull(x), IsNotNull(id), GreaterThan(id,0)]",
    "x BETWEEN 1D AND 2D": "[IsNotNull(x), LessThanOrEqual(x,2.0)]",
    "s.x <> 1D AND id > 0": "[IsNotNull(s.x), IsNotNull(id), GreaterThan(id,0)]",
    f"t < {MS.format('0015')} AND id > 0": "[IsNotNull(t), IsNotNull(id), GreaterThan(id,0)]",
    "x > 1D OR id > 0": "[]",
    "d > date'1582-10-05' AND id > 0": "[IsNotNull(d), IsNotNull(id), GreaterThan(id,0)]",
}


@pytest.mark.parametrize("predicate", TOUCHED)
def test_only_the_comparison_that_loses_rows_is_no_longer_pushed(spark, columns, predicate):
    df = mended(spark, spark.sql(f"SELECT id FROM t WHERE {predicate}"))
    assert pushed(df) == [TOUCHED[predicate]]


QUERIES = (
    "SELECT a.id FROM t a JOIN t b ON a.x = b.x WHERE a.x > 1D",
    "SELECT a.id FROM t a LEFT JOIN t b ON a.x = b.x AND b.x >= 0D WHERE a.x <> 1D",
    "SELECT id FROM (SELECT id, x AS y FROM t) WHERE y > 1D AND y IN (SELECT x FROM t WHERE x > 0D)",
    "SELECT x, count(*) FROM t GROUP BY x HAVING x = 0D",
    "SELECT id FROM t WHERE x = double('NaN') AND s.x = x",
    "WITH c AS (SELECT * FROM t WHERE x > 1D) SELECT a.id FROM c a JOIN c b ON a.id = b.id",
)


@pytest.mark.parametrize("query", QUERIES)
def test_optimizing_the_query_again_pushes_nothing_more(spark, columns, query):
    df = spark.sql(query)
    again = mended(spark, df)
    assert again is not df
    plan = again._jdf.queryExecution().optimizedPlan()
    assert pushdown.with_safe_pushdown(spark, plan) is plan
    doubted = re.compile(r"(GreaterThan|GreaterThanOrEqual|EqualTo|EqualNullSafe)\((s\.)?x,")
    assert any(map(doubted.search, pushed(df)))
    assert not any(map(doubted.search, pushed(again)))


def test_pruning_sees_through_what_hides_a_comparison(spark, columns):
    """A predicate is the same tree before and after, so that no block is skipped less."""
    plan = spark.sql("SELECT id FROM t WHERE x > 1D AND x <> 7D")._jdf.queryExecution().optimizedPlan()
    hidden = pushdown.with_safe_pushdown(spark, plan)
    filters = [
        next(node for node in elements(subtrees(spark, one)) if simple_name(node) == "Filter")
        for one in (plan, hidden)
    ]
    names = {column.exprId().id(): column.name() for column in elements(filters[0].output())}
    before, after = (conjuncts(one.condition(), Scope(names=names, session=spark)) for one in filters)
    assert before == after
