"""Functions of text and time as Spark's optimizer leaves them: the tree of each, and that it is right."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from converting import converted

from pruning import collect
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    Call,
    Case,
    Cast,
    Contains,
    EndsWith,
    Function,
    IsNull,
    Like,
    Literal,
    Not,
    Opaque,
    RLike,
    StartsWith,
)
from pruning.expressions.types import STRING
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst.expressions import conjuncts, convert
from pruning.spark.catalyst.scope import Scope
from pruning.spark.jvm.gateway import elements
from pruning.verdicts.classification import classify_blocks

ZONE = "America/New_York"

TEXTS = {
    "s LIKE 'abc'": "(`s` = 'abc')",
    "s LIKE 'ab%'": "startswith(`s`, 'ab')",
    "s LIKE '%bc'": "endswith(`s`, 'bc')",
    "s LIKE '%b%'": "contains(`s`, 'b')",
    "s LIKE 'a%c'": "((length(`s`) >= 2) AND startswith(`s`, 'a') AND endswith(`s`, 'c'))",
    "s LIKE 'a_c%'": "(`s` LIKE 'a_c%')",
    "s LIKE '%!%%' ESCAPE '!'": "(`s` LIKE '%!%%' ESCAPE '!')",
    "s NOT LIKE '%b%c'": "(NOT (`s` LIKE '%b%c'))",
    "s ILIKE 'aB%'": "startswith(lower(`s`), 'ab')",
    "s ILIKE 'a_C'": "(lower(`s`) LIKE 'a_c')",
    "s LIKE ANY ('ab%', '%Z', 'c_d')": "(startswith(`s`, 'ab') OR endswith(`s`, 'Z') OR (`s` LIKE 'c_d'))",
    "s LIKE ALL ('a%', '%c', '_b_')":
        "(startswith(`s`, 'a') AND endswith(`s`, 'c') AND (`s` LIKE '_b_'))",
    "s NOT LIKE ALL ('a_c', '_x_')": "((NOT (`s` LIKE '_x_')) AND (NOT (`s` LIKE 'a_c')))",
    "s NOT LIKE ANY ('a_c', '_x_')": "((NOT (`s` LIKE '_x_')) OR (NOT (`s` LIKE 'a_c')))",
    "s LIKE ANY ('a_c', NULL)": "((`s` LIKE 'a_c') OR CAST(NULL AS boolean))",
    "s RLIKE '^a.c'": "(`s` RLIKE '^a.c')",
    "regexp_like(s, 'b|Z')": "(`s` RLIKE 'b|Z')",
    "startswith(s, 'ab')": "startswith(`s`, 'ab')",
    "endswith(s, 'c')": "endswith(`s`, 'c')",
    "contains(s, 'b')": "contains(`s`, 'b')",
    "upper(s) = 'ABC'": "(upper(`s`) = 'ABC')",
    "lcase(s) > 'abc'": "(lower(`s`) > 'abc')",
    "trim(s) = 'abc'": "(trim(`s`) = 'abc')",
    "btrim(s, 'cx') = 'ab'": "(trim(BOTH 'cx' FROM `s`) = 'ab')",
    "trim(LEADING 'xa' FROM s) = 'bc'": "(trim(LEADING 'xa' FROM `s`) = 'bc')",
    "ltrim('a', s) = 'bc'": "(trim(LEADING 'a' FROM `s`) = 'bc')",
    "rtrim('c', s) = 'ab'": "(trim(TRAILING 'c' FROM `s`) = 'ab')",
    "ltrim(s) = 'abc'": "(ltrim(`s`) = 'abc')",
    "rtrim(s) = ' abc'": "(rtrim(`s`) = ' abc')",
    "substring(s, 2, 1) = 'b'": "(substring(`s`, 2, 1) = 'b')",
    "substr(s, -2) = 'bc'": "(substring(`s`, (-2), 2147483647) = 'bc')",
    "left(s, 2) = 'ab'": "(substring(`s`, 1, 2) = 'ab')",
    "concat(s, '-', u) = 'abc-x'": "(concat(`s`, '-', `u`) = 'abc-x')",
    "s || 'x' = 'abcx'": "(concat(`s`, 'x') = 'abcx')",
    "char_length(s) = 3": "(length(`s`) = 3)",
    "rpad(s, 5, 'xy') = 'abcxy'": "(rpad(`s`, 5, 'xy') = 'abcxy')",
    "rpad(s, 2) = 'ab'": "(rpad(`s`, 2, ' ') = 'ab')",
    "lpad(s, 5, 'xy') = 'xyabc'": "(lpad(`s`, 5, 'xy') = 'xyabc')",
    "replace(s, 'a', 'b') = 'bbc'": "(replace(`s`, 'a', 'b') = 'bbc')",
    "replace(s, 'a') = 'bc'": "(replace(`s`, 'a', '') = 'bc')",
    "substring_index(s, 'c', 1) = 'ab'": "(substring_index(`s`, 'c', 1) = 'ab')",
    "instr(s, 'b') = 2": "(instr(`s`, 'b') = 2)",
    "locate('b', s) = 2": "(instr(`s`, 'b') = 2)",
    "position('bc', s) > 1": "(instr(`s`, 'bc') > 1)",
    "CAST(i AS STRING) LIKE '1_'": "(CAST(`i` AS string) LIKE '1_')",
    "CAST(tiny AS STRING) IN ('3', '04')": "(CAST(`tiny` AS string) IN ('3', '04'))",
    "concat(s, i) = 'abc3'": "(concat(`s`, CAST(`i` AS string)) = 'abc3')",
}  # fmt: skip
AT_PLUS = "(`at` + make_interval(0, {}, 0, {}, 0, 0, CAST('{}' AS decimal(18,6))))"
TIMES = {
    "trunc(day, 'mon') = DATE'2024-02-01'": "(trunc(`day`, 'MON') = DATE'2024-02-01')",
    "trunc(at, 'WEEK') = DATE'2024-02-26'": "(trunc(CAST(`at` AS date), 'WEEK') = DATE'2024-02-26')",
    "date_trunc('hour', at) > TIMESTAMP'2024-03-10 01:00:00Z'":
        "(date_trunc('HOUR', `at`) > TIMESTAMP_LTZ'2024-03-10 01:00:00.000000Z')",
    "date_trunc('month', day) = TIMESTAMP'2024-02-01 05:00:00Z'":
        "(date_trunc('MONTH', CAST(`day` AS timestamp)) = TIMESTAMP_LTZ'2024-02-01 05:00:00.000000Z')",
    "date_trunc('fortnight', at) = TIMESTAMP'2024-02-01'":
        "(date_trunc('FORTNIGHT', `at`) = TIMESTAMP_LTZ'2024-02-01 05:00:00.000000Z')",
    "year(day) = 2024": "(year(`day`) = 2024)",
    "year(at) = 2024": "(year(CAST(`at` AS date)) = 2024)",
    "year(local) = 2024": "(year(CAST(`local` AS date)) = 2024)",
    "quarter(day) = 1": "(quarter(`day`) = 1)",
    "extract(MONTH FROM day) IN (2, 3)": "(month(`day`) IN (2, 3))",
    "dayofmonth(day) = 29": "(day(`day`) = 29)",
    "extract(DOW FROM day) = 5": "(dayofweek(`day`) = 5)",
    "weekday(day) = 3": "(weekday(`day`) = 3)",
    "extract(DOW_ISO FROM day) = 4": "((weekday(`day`) + 1) = 4)",
    "dayofyear(day) = 60": "(dayofyear(`day`) = 60)",
    "weekofyear(day) = 9": "(weekofyear(`day`) = 9)",
    "hour(at) = 18": "(hour(`at`) = 18)",
    "date_part('MINUTE', at) = 59": "(minute(`at`) = 59)",
    "second(at) = 59": "(second(`at`) = 59)",
    "hour(local) = 23": "(hour(`local`) = 23)",
    "last_day(day) = DATE'2024-02-29'": "(last_day(`day`) = DATE'2024-02-29')",
    "date_add(day, 3) = DATE'2024-03-03'": "(date_add(`day`, 3) = DATE'2024-03-03')",
    "date_add(day, tiny) = DATE'2024-03-03'": "(date_add(`day`, CAST(`tiny` AS int)) = DATE'2024-03-03')",
    "day - 1 = DATE'2024-02-28'": "(date_sub(`day`, 1) = DATE'2024-02-28')",
    "day + INTERVAL '3' DAY = DATE'2024-03-03'": "(date_add(`day`, 3) = DATE'2024-03-03')",
    "add_months(day, 12) = DATE'2025-02-28'": "(add_months(`day`, 12) = DATE'2025-02-28')",
    "day - INTERVAL '1' MONTH = DATE'2024-01-29'": "(add_months(`day`, (-1)) = DATE'2024-01-29')",
    "at + INTERVAL 3 HOURS > at": f"({AT_PLUS.format(0, 0, '10800.000000')} > `at`)",
    "at - INTERVAL '1' DAY > at": f"({AT_PLUS.format(0, -1, '0.000000')} > `at`)",
    "at - INTERVAL '30:00:00' HOUR TO SECOND > at": f"({AT_PLUS.format(0, -1, '-21600.000000')} > `at`)",
    "at + INTERVAL 2 MONTHS > at": f"({AT_PLUS.format(2, 0, '0.000000')} > `at`)",
    "local + INTERVAL '1' YEAR > local":
        f"({AT_PLUS.format(12, 0, '0.000000').replace('at', 'local')} > `local`)",
    "local - INTERVAL 90 MINUTES > local":
        f"({AT_PLUS.format(0, 0, '-5400.000000').replace('at', 'local')} > `local`)",
    "at + make_interval(1, 2, 3, 4, 30) > at": f"({AT_PLUS.format(14, 25, '108000.000000')} > `at`)",
    "day + make_interval(0, 1, 0, 2) > day": "(date_add(add_months(`day`, 1), 2) > `day`)",
    "timestampadd(QUARTER, 1, at) > at": f"({AT_PLUS.format(3, 0, '0.000000')} > `at`)",
    "dateadd(HOUR, 48, at) > at": f"({AT_PLUS.format(0, 0, '172800.000000')} > `at`)",
    "timestampadd(WEEK, -1, at) > at": f"({AT_PLUS.format(0, -7, '0.000000')} > `at`)",
    "timestampdiff(DAY, at, TIMESTAMP'2024-03-01 05:00:00Z') = 3":
        "(timestampdiff(DAY, `at`, TIMESTAMP_LTZ'2024-03-01 05:00:00.000000Z') = 3L)",
    "datediff(MONTH, at, day) = 3": "(timestampdiff(MONTH, `at`, CAST(`day` AS timestamp)) = 3L)",
    "months_between(at, day) = 3":
        "(months_between(`at`, CAST(`day` AS timestamp), true) = CAST('3.0' AS double))",
    "from_utc_timestamp(at, 'Asia/Tokyo') = at": "(from_utc_timestamp(`at`, 'Asia/Tokyo') = `at`)",
    "to_utc_timestamp(at, 'PST') = at": "(to_utc_timestamp(`at`, 'America/Los_Angeles') = `at`)",
    "from_unixtime(i) > '1969-12-31 19'":
        "(date_format(CAST(CAST(`i` AS bigint) AS timestamp), 'yyyy-MM-dd HH:mm:ss') > '1969-12-31 19')",
    "timestamp_seconds(i) < TIMESTAMP'1970-01-01 00:00:03Z'":
        "(CAST(`i` AS timestamp) < TIMESTAMP_LTZ'1970-01-01 00:00:03.000000Z')",
    "datediff(day, DATE'2024-01-01') = 59": "(datediff(`day`, DATE'2024-01-01') = 59)",
    "unix_date(day) = 0": "(datediff(`day`, DATE'1970-01-01') = 0)",
    "unix_seconds(at) = -1": "(unix_seconds(`at`) = (-1L))",
    "unix_timestamp(day) = 18000": "(unix_seconds(CAST(`day` AS timestamp)) = 18000L)",
    "date_format(at, 'yyyy-MM') = '2024-03'": "(date_format(`at`, 'yyyy-MM') = '2024-03')",
    "CAST(at AS STRING) = '1969-12-31 18:59:59.5'":
        "(CAST(`at` AS string) = '1969-12-31 18:59:59.5')",
    "at > CAST(day AS TIMESTAMP)": "(`at` > CAST(`day` AS timestamp))",
    "CAST(at AS TIMESTAMP_NTZ) > local": "(CAST(`at` AS timestamp_ntz) > `local`)",
    "CAST(local AS TIMESTAMP) = at": "(CAST(`local` AS timestamp) = `at`)",
    "CAST(local AS DATE) = day": "(CAST(`local` AS date) = `day`)",
}  # fmt: skip
CONSTRUCTS = TEXTS | TIMES

# What stays unknown, and by which columns alone it is decided.
UNKNOWN = {
    "s RLIKE u": {"s", "u"},
    "startswith(s, u)": {"s", "u"},
    "concat_ws('-', s, u) = 'a'": {"s", "u"},
    "substring(s, i, 2) = 'a'": {"s", "i"},
    "substring(CAST(s AS BINARY), 1, 2) = X'61'": {"s"},
    "length(CAST(s AS BINARY)) = 1": {"s"},
    "concat(CAST(s AS BINARY), X'61') = X'61'": {"s"},
    "contains(CAST(s AS BINARY), X'61')": {"s"},
    "rpad(s, i, ' ') = 'a'": {"s", "i"},
    "substring_index(s, '/', -1) = 'a'": {"s"},
    "locate('b', s, 2) = 2": {"s"},
    "instr(s, u) = 2": {"s", "u"},
    "octet_length(s) = 1": {"s"},
    "trunc(day, s) = day": {"day", "s"},
    "date_trunc(s, at) = at": {"s", "at"},
    "date_format(at, s) = 'a'": {"s", "at"},
    "extract(SECOND FROM at) = 3": {"at"},
    "extract(YEAROFWEEK FROM day) = 3": {"day"},
    "at + make_interval(0, 0, 0, i) > at": {"at", "i"},
    "timestampadd(DAY, i, at) > at": {"at", "i"},
    "day + make_interval(0, 0, 0, 0, 1) > day": {"day"},
    "unix_timestamp(s, 'yyyy') = 3": {"s"},
    "unix_timestamp(local) = 3": {"local"},
    "months_between(at, day, i = 3) = 3": {"at", "day", "i"},
    "from_utc_timestamp(at, s) = at": {"at", "s"},
    "replace(s, u, 'b') = 'b'": {"s", "u"},
    "translate(s, 'a', 'b') = 'b'": {"s"},
    "initcap(s) = 'A'": {"s"},
}


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    """A file of rows, each in a row group of its own, and the session in a zone with daylight saving."""
    directory = tmp_path_factory.mktemp("rows")
    utc = datetime.UTC
    moments = [
        datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000, utc),
        datetime.datetime(2024, 3, 10, 6, 59, 59, 0, utc),
        datetime.datetime(2024, 3, 10, 7, 0, 0, 0, utc),
        datetime.datetime(2024, 11, 3, 5, 30, 0, 0, utc),
        datetime.datetime(2024, 2, 29, 3, 0, 0, 0, utc),
        datetime.datetime(1883, 11, 18, 17, 0, 0, 0, utc),
        None,
        datetime.datetime(1, 1, 2, 0, 0, 0, 0, utc),
    ]
    texts = ["abc", " abc ", "ABC", "aéc", "", "abcdef", None, "%b Z"]
    table = pa.table(
        {
            "s": texts,
            "u": pa.array(["x"] * len(texts)),
            "i": pa.array(range(len(texts)), pa.int32()),
            "tiny": pa.array([3] * len(texts), pa.int8()),
            "day": pa.array([m and m.date() for m in moments], pa.date32()),
            "at": pa.array(moments, pa.timestamp("us", "UTC")),
            "local": pa.array([m and m.replace(tzinfo=None) for m in moments], pa.timestamp("us")),
        }
    )
    pq.write_table(table, directory / "rows.parquet", row_group_size=1)
    # Spark 3.5 refuses by default to read times of the first century.
    settings = {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": ZONE,
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    }
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield spark.read.parquet(str(directory)), collect(str(directory))
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture(scope="module")
def trees(spark, rows):
    """The tree of each construct, all optimized at once."""
    return converted(spark, rows[0], [*CONSTRUCTS, *UNKNOWN])


@pytest.mark.parametrize("sql", CONSTRUCTS)
def test_a_construct_is_the_tree_that_means_it(trees, sql):
    assert to_sql(trees[sql]) == CONSTRUCTS[sql]


@pytest.mark.parametrize("sql", UNKNOWN)
def test_a_variant_that_no_rule_knows_is_opaque(trees, sql):
    (found,) = (node for node in walk(trees[sql]) if isinstance(node, Opaque))
    assert {column.name for column in found.columns} == UNKNOWN[sql]
    assert not any(isinstance(node, Call) for node in walk(trees[sql]))


def test_every_class_and_function_comes_out_of_some_text(trees):
    """Without this, a converter could be missing and everything would stay unknown."""
    nodes = [node for tree in trees.values() for node in walk(tree)]
    functions = {node.function for node in nodes if isinstance(node, Call)}
    assert functions >= set(list(Function)[list(Function).index(Function.UPPER) :])
    assert {StartsWith, EndsWith, Contains, Like, RLike} <= {type(node) for node in nodes}


def test_local_time_goes_through_the_sessions_zone_and_nothing_else_does(trees):
    zoned = {
        to_sql(n) for tree in trees.values() for n in walk(tree) if isinstance(n, Call | Cast) and n.zone
    }
    assert all(
        node.zone in ("", ZONE) for tree in trees.values() for node in walk(tree) if hasattr(node, "zone")
    )
    assert {
        "hour(`at`)",
        "date_trunc('HOUR', `at`)",
        "date_format(`at`, 'yyyy-MM')",
        "CAST(`at` AS date)",
        "CAST(`day` AS timestamp)",
        "CAST(`local` AS timestamp)",
        "CAST(`at` AS timestamp_ntz)",
        "CAST(`at` AS string)",
    } <= zoned
    assert not {"hour(`local`)", "CAST(`local` AS date)", "trunc(`day`, 'MON')", "lower(`s`)"} & zoned


def test_each_row_agrees_with_what_is_concluded_of_its_block(trees, rows):
    """For each construct and row: a truth value that the row takes is never ruled out of its row group."""
    frame, metadata = rows
    wrong = []
    asked = [*CONSTRUCTS, "unix_timestamp(at) = 0", "right(s, 2) = 'bc'"]
    everything = trees | converted(frame.sparkSession, frame, asked[-2:])
    taken = frame.orderBy("i").selectExpr(*(f"({text}) AS `{n}`" for n, text in enumerate(asked))).collect()
    for number, text in enumerate(asked):
        tree = everything[text]
        verdicts = {
            truth: classify_blocks(predicate, metadata, refined=False).to_pylist()
            for truth, predicate in ((True, tree), (False, Not(tree)), (None, IsNull(tree)))
        }
        for row, values in enumerate(taken):
            for truth, blocks in verdicts.items():
                forbidden = Match.NONE if values[number] is truth else Match.ALL
                if blocks[row] == forbidden:
                    wrong.append((text, row, values[number], truth, blocks[row]))
    assert wrong == []


@pytest.mark.parametrize("sql", ["unix_timestamp(at)", "to_unix_timestamp(at, 'yyyy')"])
def test_seconds_rounded_toward_zero_are_known_from_1970_on(spark, rows, sql):
    """The function of ours is `unix_seconds`, which rounds down."""
    (tree,) = converted(spark, rows[0], [sql]).values()
    assert isinstance(tree, Case)
    assert to_sql(tree.otherwise) == "unix_seconds(`at`)"
    (opaque,) = (node for node in walk(tree) if isinstance(node, Opaque))
    assert [column.name for column in opaque.columns] == ["at"]


def test_no_zone_is_known_without_a_session(rows):
    """Casts then say nothing of the zone, and functions of local time are opaque."""
    plan = rows[0].selectExpr("hour(at) = 1", "CAST(at AS DATE) = day")._jdf.queryExecution().optimizedPlan()
    names = {column.exprId().id(): column.name() for column in elements(plan.child().output())}
    hour, cast = (convert(column, Scope(names=names)) for column in elements(plan.projectList()))
    assert any(isinstance(node, Opaque) for node in walk(hour))
    assert [node.zone for node in walk(cast) if isinstance(node, Cast)] == [""]


def test_patterns_of_spark_2_are_unknown(spark, rows):
    key = "spark.sql.legacy.timeParserPolicy"
    before = spark.conf.get(key)
    spark.conf.set(key, "LEGACY")
    try:
        (tree,) = converted(spark, rows[0], ["date_format(at, 'yyyy-MM') = '2024-03'"]).values()
    finally:
        spark.conf.set(key, before)
    assert any(isinstance(node, Opaque) for node in walk(tree))


@pytest.mark.parametrize(
    "sql",
    [
        "upper(s COLLATE UTF8_LCASE) = 'A'",
        "contains(s COLLATE UTF8_LCASE, 'A')",
        "(s COLLATE UTF8_LCASE) LIKE 'a%b'",
        "(s COLLATE UTF8_LCASE) LIKE 'a_b'",
        "(s COLLATE UTF8_LCASE) RLIKE 'a.b'",
        "(s COLLATE UTF8_LCASE) LIKE ANY ('a_b', 'c_')",
        "length(s COLLATE UNICODE) = 3",
        "trim(s COLLATE UTF8_LCASE) = 'a'",
        "substring(s COLLATE UTF8_LCASE, 1, 2) = 'a'",
        "concat(s COLLATE UTF8_LCASE, 'x') = 'a'",
        "rpad(s COLLATE UTF8_LCASE, 5, ' ') = 'a'",
        "s = 'a' COLLATE UTF8_LCASE",
    ],
)
def test_no_converter_takes_text_of_another_collation(spark, rows, sql):
    if spark.version < "4":
        pytest.skip("Spark 3.5 has no collations")
    (tree,) = converted(spark, rows[0], [sql]).values()
    nodes = list(walk(tree))
    assert any(isinstance(node, Opaque) for node in nodes)
    assert not any(isinstance(node, Call | StartsWith | EndsWith | Contains | Like | RLike) for node in nodes)


def test_a_column_of_fixed_length_is_padded_up_to_it_and_never_cut(spark, tmp_path):
    """Java's padding leaves longer text alone, which another writer may have left."""
    spark.sql(f"CREATE TABLE fixed_length (c CHAR(5)) USING parquet LOCATION '{tmp_path}/fixed'")
    try:
        found = {}
        for sql in ("c = 'ab'", "c IN ('ab', 'c')", "c LIKE 'a%'", "c > 'ab'", "c <=> concat(c, '')"):
            plan = spark.table("fixed_length").filter(sql)._jdf.queryExecution().optimizedPlan()
            (filtered,) = elements(plan.children())
            names = {column.exprId().id(): column.name() for column in elements(filtered.output())}
            found[sql] = conjuncts(filtered.condition(), Scope(names=names, session=spark))[-1]
    finally:
        spark.sql("DROP TABLE fixed_length")
    padded, starts = "CASE WHEN (length(`c`) < 5) THEN", "startswith(`c`, 'a')"
    text = {sql: to_sql(tree) for sql, tree in found.items()}
    assert text["c = 'ab'"] == f"({padded} (rpad(`c`, 5, ' ') = 'ab   ') ELSE (`c` = 'ab   ') END)"
    assert text["c LIKE 'a%'"] == f"({padded} startswith(rpad(`c`, 5, ' '), 'a') ELSE {starts} END)"
    assert text["c > 'ab'"] == f"({padded} (rpad(`c`, 5, ' ') > 'ab   ') ELSE (`c` > 'ab   ') END)"
    assert Literal(b"c    ", STRING) in walk(found["c IN ('ab', 'c')"])
    assert not any(isinstance(node, Opaque) for tree in found.values() for node in walk(tree))
