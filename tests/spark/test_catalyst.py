"""Catalyst expressions as trees: nothing is guessed, and what is not ours is `Opaque`."""

import pytest

from pruning.expressions import types
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Function,
    In,
    Literal,
    Mode,
    Opaque,
    Operator,
    Or,
)
from pruning.spark.catalyst.expressions import conjuncts
from pruning.spark.catalyst.scope import Scope
from pruning.spark.drive.predicates import parse
from pruning.spark.jvm.gateway import elements
from pruning.spark.jvm.nodes import CASE_DEPTH_MAX

COLUMNS = {
    "i": types.INTEGER,
    "j": types.INTEGER,
    "s": types.STRING,
    "d": types.DOUBLE,
    "bin": types.BINARY,
    "day": types.DATE,
    "m": types.decimal(10, 2),
    "big": types.LONG,
    "f": types.FLOAT,
}


def only(class_, expression):
    (node,) = (node for node in walk(expression) if isinstance(node, class_))
    return node


@pytest.mark.parametrize(
    ("sql", "ansi", "mode"),
    [
        ("CAST(s AS INT) > 1", "true", Mode.ANSI),
        ("CAST(s AS INT) > 1", "false", Mode.LEGACY),
        ("try_cast(s AS INT) > 1", "true", Mode.TRY),
        ("i + j > 1", "true", Mode.ANSI),
        ("i + j > 1", "false", Mode.LEGACY),
        ("try_add(i, j) > 1", "true", Mode.TRY),
        ("try_subtract(i, j) > 1", "true", Mode.TRY),
        ("i - j > 1", "true", Mode.ANSI),
        ("i * j > 1", "true", Mode.ANSI),
        ("i * j > 1", "false", Mode.LEGACY),
        ("try_multiply(i, j) > 1", "true", Mode.TRY),
        ("try_multiply(m, m) > 1", "false", Mode.TRY),
        ("d / d > 1", "true", Mode.ANSI),
        ("d / d > 1", "false", Mode.LEGACY),
        ("try_divide(d, d) > 1", "true", Mode.TRY),
        ("try_divide(m, m) > 1", "true", Mode.TRY),
        ("big div big > 1", "true", Mode.ANSI),
        ("big div big > 1", "false", Mode.LEGACY),
        ("i % j > 1", "true", Mode.ANSI),
        ("i % j > 1", "false", Mode.LEGACY),
        ("-i > 1", "true", Mode.ANSI),
        ("-i > 1", "false", Mode.LEGACY),
        ("abs(i) > 1", "true", Mode.ANSI),
        ("abs(i) > 1", "false", Mode.LEGACY),
        ("round(i, -1) > 1", "true", Mode.ANSI),
        ("round(i, -1) > 1", "false", Mode.LEGACY),
        ("bround(m, 1) > 1", "true", Mode.ANSI),
        ("bround(m, 1) > 1", "false", Mode.LEGACY),
    ],
)
def test_what_may_overflow_keeps_what_happens_then(ansi_session, sql, ansi, mode):
    ansi_session(ansi)
    assert only(Arithmetic | Cast | Call, parse(sql, COLUMNS)).mode is mode


def test_try_mod_is_a_remainder_that_tries(spark):
    if spark.version < "4":
        pytest.skip("Spark 3.5 has no try_mod")
    found = only(Arithmetic, parse("try_mod(i, j) > 1", COLUMNS))
    assert (found.operator, found.mode) == (Operator.REMAINDER, Mode.TRY)


@pytest.fixture
def ansi_session(spark):
    """Sets whether the session has ANSI mode on, until the end of the test."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    yield lambda ansi: spark.conf.set("spark.sql.ansi.enabled", ansi)
    spark.conf.set("spark.sql.ansi.enabled", before)


CALLS = [
    ("sign(i)", Function.SIGN, types.DOUBLE),
    ("signum(m)", Function.SIGN, types.DOUBLE),
    ("floor(d)", Function.FLOOR, types.LONG),
    ("ceiling(f)", Function.CEIL, types.LONG),
    ("floor(m)", Function.FLOOR, types.decimal(9, 0)),
    ("ceil(m, 1)", Function.CEIL, types.decimal(10, 1)),
    ("floor(d, 1)", Function.FLOOR, types.decimal(17, 1)),
    ("floor(m, -1)", Function.FLOOR, types.decimal(9, 0)),
    ("round(d)", Function.ROUND, types.DOUBLE),
    ("round(m, 1)", Function.ROUND, types.decimal(10, 1)),
    ("bround(f, 1)", Function.BROUND, types.FLOAT),
    ("sqrt(i)", Function.SQRT, types.DOUBLE),
    ("exp(d)", Function.EXP, types.DOUBLE),
    ("ln(m)", Function.LN, types.DOUBLE),
    ("log10(d)", Function.LOG10, types.DOUBLE),
    ("log2(d)", Function.LOG2, types.DOUBLE),
    ("log1p(d)", Function.LOG1P, types.DOUBLE),
    ("log(d)", Function.LOG, types.DOUBLE),
    ("log(2, d)", Function.LOG, types.DOUBLE),
    ("pow(i, 2)", Function.POWER, types.DOUBLE),
    ("greatest(i, j, 3)", Function.GREATEST, types.INTEGER),
    ("least(m, i)", Function.LEAST, types.decimal(12, 2)),
    ("least(s, 'x')", Function.LEAST, types.STRING),
    ("-m", Function.NEGATE, types.decimal(10, 2)),
    ("abs(f)", Function.ABS, types.FLOAT),
]


@pytest.mark.parametrize(("sql", "function", "type_"), CALLS)
def test_a_function_of_numbers_is_a_call_of_sparks_type(spark, sql, function, type_):
    found = only(Call, parse(f"{sql} < CAST(s AS {type_.sql})", COLUMNS))
    assert (found.function, found.type) == (function, type_)


SYNONYMS = [
    ("nvl(i, j) > 1", "coalesce(i, j) > 1"),
    ("ifnull(i, j) > 1", "coalesce(i, j) > 1"),
    ("nvl2(i, j, 1) > 1", "if(i IS NOT NULL, j, 1) > 1"),
    ("nullif(i, j) > 1", "if(i = j, NULL, i) > 1"),
    ("nullif(i + j, 3) > 1", "if(i + j = 3, NULL, i + j) > 1"),
    ("+i > 1", "i > 1"),
    ("positive(i) > 1", "i > 1"),
    ("i IS DISTINCT FROM j", "NOT (i <=> j)"),
    ("mod(i, j) > 1", "i % j > 1"),
    ("i * j BETWEEN 1 AND 9", "i * j >= 1 AND i * j <= 9"),
    ("d * 2 NOT BETWEEN 1 AND 9", "d * 2 < 1 OR d * 2 > 9"),
    ("floor(big) > 1", "big > 1"),
]


@pytest.mark.parametrize(("sql", "plain"), SYNONYMS)
def test_other_spellings_are_the_same_tree(spark, sql, plain):
    """Beside an OR, so that no IS NOT NULL is inferred."""
    one, other = (parse(f"({text}) OR bin IS NULL", COLUMNS) for text in (sql, plain))
    assert one == other
    assert not any(isinstance(node, Opaque) for node in walk(one))


def test_coalesced_numbers_are_known(spark):
    assert only(Coalesce, parse("nvl(m * 2, 1) > 3", COLUMNS))


@pytest.mark.parametrize(
    "sql",
    [
        "round(d, CAST(NULL AS INT)) > 1 OR s IS NULL",
        "INTERVAL '1' DAY * i > INTERVAL '2' DAY OR s IS NULL",
        "-make_dt_interval(i) > INTERVAL '2' DAY OR s IS NULL",
        "make_dt_interval(i) / 2 > INTERVAL '2' DAY OR s IS NULL",
        "sign(make_dt_interval(i)) > 0 OR s IS NULL",
    ],
)
def test_what_is_not_of_numbers_is_no_number(spark, sql):
    nodes = list(walk(parse(sql, COLUMNS)))
    assert not any(isinstance(node, Arithmetic | Call) for node in nodes)


def test_arithmetic_keeps_the_types_of_its_operands(spark):
    found = only(Arithmetic, parse("m * CAST(2.5 AS DECIMAL(2,1)) > 100", COLUMNS))
    assert found.left == Column("m", types.decimal(10, 2))
    assert found.right.type == types.decimal(2, 1)
    assert found.type == types.decimal(13, 3)


MEMBERS = {
    "strings": (
        "s",
        types.STRING,
        [b"", b"null", b"a'b\nc", b"\xff\xfe", "\U0010ffff".encode(), b",", *b"a b c d e f".split()],
    ),
    "strings without oddities": ("s", types.STRING, [b"null", b"a\nb", *b"a b c d e f g h i j".split()]),
    "ints": ("i", types.INTEGER, list(range(-6, 9))),
    "dates": ("day", types.DATE, [-719_162, *range(20)]),
    "decimals": ("m", types.decimal(10, 2), None),
    "doubles": ("d", types.DOUBLE, [5e-324, float("inf"), *map(float, range(12))]),
}  # fmt: skip


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("case", MEMBERS)
def test_a_long_in_list_has_exactly_its_members(spark, case, with_null):
    from decimal import Decimal

    from pruning.expressions.sql import literal_sql

    name, type_, values = MEMBERS[case]
    values = values or [Decimal(i).scaleb(-2) for i in range(-5, 10)]
    listed = [literal_sql(value, type_) for value in [*values, *([None] if with_null else [])]]
    found = only(In, parse(f"{name} IN ({', '.join(listed)}) OR i IS NULL", COLUMNS))
    members = [member.value for member in found.members]
    assert all(member.type == type_ for member in found.members)
    assert set(members) == {*values, *([None] if with_null else [])}
    assert len(members) == len(listed)


def test_thousands_of_members_arrive_in_a_handful_of_calls(spark, monkeypatch):
    from py4j.java_gateway import GatewayClient

    calls = []
    send = GatewayClient.send_command

    def counted(client, command, *rest, **named):
        # Messages that begin with m only tell Java that Python let go of an object.
        if not command.startswith("m\n"):
            calls.append(command)
        return send(client, command, *rest, **named)

    monkeypatch.setattr(GatewayClient, "send_command", counted)
    parse(many(20), COLUMNS)
    few = len(calls)
    calls.clear()
    assert len(only(In, parse(many(3000), COLUMNS)).members) == 3000
    assert len(calls) <= few + 10


def many(count):
    return f"s IN ({', '.join(repr(f'k{i}') for i in range(count))})"


OPAQUE = [
    "initcap(s) = 'X'",
    "endswith(s, lower(s))",
    "startswith(s, lower(s))",
    "s RLIKE lower(s)",
    "pmod(i, 3) = 1",
    "cbrt(d) > 2",
    "nanvl(d, 1.0) > 2",
    "extract(YEAROFWEEK FROM day) = 2013",
]


@pytest.mark.parametrize("sql", OPAQUE)
def test_what_no_rule_knows_is_opaque_beside_what_is_known(spark, sql):
    found = parse(f"i > 3 AND ({sql} OR j > 100)", COLUMNS)
    assert any(isinstance(node, Opaque) and node.sql for node in walk(found))
    assert any(isinstance(node, Literal) and node.value == 100 for node in walk(found))


SOURCES = [
    ("initcap(s) = 'X'", {"s"}),
    ("concat_ws('', s, CAST(day AS STRING)) = 'X'", {"s", "day"}),
    ("concat_ws('', s, s) = 'X'", {"s"}),
    ("exists(array(i, j), x -> x > 3)", {"i", "j"}),
    ("hash(d, i) = 3", {"d", "i"}),
    ("rand() > 0.5", None),
    ("i + (SELECT max(id) FROM range(3)) > 3", None),
    ("concat(s, CAST(rand() AS STRING)) = 'X'", None),
]


@pytest.mark.parametrize(("sql", "names"), SOURCES)
def test_opaque_names_the_columns_that_alone_decide_it(spark, sql, names):
    """None of them where something else takes part: chance, another query."""
    if names is None:
        found = conjuncts_of(spark, sql)
        assert all(not node.columns for part in found for node in walk(part) if isinstance(node, Opaque))
        return
    found = only(Opaque, parse(f"({sql}) OR bin IS NULL", COLUMNS))
    assert {column.name for column in found.columns} == names
    assert all(column.type == COLUMNS[column.name] for column in found.columns)


def test_opaque_over_attributes_of_another_relation_names_no_columns(spark):
    frame = empty(spark).filter("initcap(s) = 'X' OR bin IS NULL")
    condition = frame._jdf.queryExecution().optimizedPlan().condition()
    (found,) = conjuncts(condition, Scope(names={}))
    assert all(not node.columns for node in walk(found) if isinstance(node, Opaque))


def conjuncts_of(spark, sql):
    plan = empty(spark).filter(f"({sql}) OR bin IS NULL")._jdf.queryExecution().optimizedPlan()
    names = {column.exprId().id(): column.name() for column in elements(plan.output())}
    return conjuncts(plan.condition(), Scope(names=names, session=spark))


def empty(spark):
    schema = ", ".join(f"{name} {type_.sql}" for name, type_ in COLUMNS.items())
    return spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)


def test_a_collated_string_is_of_unknown_type(spark):
    if spark.version < "4":
        pytest.skip("Spark 3.5 has no collations")
    for sql in (
        "s COLLATE UTF8_LCASE = 'a'",
        "startswith(s COLLATE UTF8_LCASE, 'a')",
        "s COLLATE UNICODE IN ('a', 'b')",
    ):
        assert isinstance(parse(sql, COLUMNS), Opaque | And)
        assert any(isinstance(node, Opaque) for node in walk(parse(sql, COLUMNS)))


def test_ands_and_ors_are_flat(spark):
    many = " OR ".join(f"(i > {n} AND j < {n} AND s = 'x{n}')" for n in range(50))
    found = parse(many, COLUMNS)
    assert isinstance(found, Or)
    assert len(found.operands) == 50
    assert {len(part.operands) for part in found.operands} == {3}


def test_nested_cases_are_read_up_to_a_depth_and_opaque_beyond(spark):
    def nested(depth):
        text = "j"
        for n in range(depth):
            text = f"CASE WHEN i = {n} THEN {n} WHEN i = -{n + 1} THEN j ELSE {text} END"
        return f"{text} > 100 AND i < 1000"

    shallow, deep = parse(nested(CASE_DEPTH_MAX), COLUMNS), parse(nested(CASE_DEPTH_MAX + 20), COLUMNS)
    assert sum(isinstance(node, Case) for node in walk(shallow)) == CASE_DEPTH_MAX
    assert not any(isinstance(node, Case) for node in walk(deep))
    assert any(isinstance(node, Literal) and node.value == 1000 for node in walk(deep))


def test_a_tree_deeper_than_rules_go_is_cut_to_opaque(spark):
    found = parse("i" + " + j" * 150 + " > 3 OR i IS NULL", COLUMNS)
    assert any(isinstance(node, Opaque) for node in walk(found))
    assert isinstance(found, Or)


def test_expressions_that_print_alike_are_not_one(spark):
    """Only the beginning of a long text is kept; what follows makes another function of s."""
    long = "a" * 600
    one, other = (f"levenshtein(s, '{long}{end}')" for end in "bc")
    twice = parse(f"{one} < 600 AND {one} > 3", COLUMNS)
    assert len({node for node in walk(twice) if isinstance(node, Opaque)}) == 1
    both = parse(f"{one} < 600 AND {other} > 3", COLUMNS)
    found = [node for node in walk(both) if isinstance(node, Opaque)]
    assert len({node.sql for node in found}) == 1
    assert found[0] != found[1]
