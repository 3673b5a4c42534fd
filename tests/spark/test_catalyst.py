"""Catalyst expressions as trees: nothing is guessed, and what is not ours is `Opaque`."""

import pytest

from pruning.expressions import types
from pruning.expressions.trees import And, Arithmetic, Case, Cast, In, Literal, Mode, Opaque, Or, walk
from pruning.spark.nodes import CASE_DEPTH_MAX
from pruning.spark.predicates import parse

COLUMNS = {
    "i": types.INTEGER,
    "j": types.INTEGER,
    "s": types.STRING,
    "d": types.DOUBLE,
    "bin": types.BINARY,
    "day": types.DATE,
    "m": types.decimal(10, 2),
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
    ],
)
def test_a_cast_and_arithmetic_keep_what_happens_on_overflow(spark, sql, ansi, mode):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        assert only(Arithmetic | Cast, parse(sql, COLUMNS)).mode is mode
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


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
    "upper(s) = 'X'",
    "endswith(s, 'x')",
    "startswith(s, lower(s))",
    "s RLIKE 'a.b'",
    "-i = 3",
    "year(day) = 2013",
]


@pytest.mark.parametrize("sql", OPAQUE)
def test_what_no_rule_knows_is_opaque_beside_what_is_known(spark, sql):
    found = parse(f"i > 3 AND ({sql} OR j > 100)", COLUMNS)
    assert any(isinstance(node, Opaque) and node.sql for node in walk(found))
    assert any(isinstance(node, Literal) and node.value == 100 for node in walk(found))


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
