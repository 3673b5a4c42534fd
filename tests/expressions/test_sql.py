"""Expressions as Spark SQL: every constant to the last bit, every shape read back as itself."""

import math
import struct
from decimal import Decimal

import pytest
from sql_shapes import ARRAYS, AT, COLUMNS, SHAPES, TIMES, A, less

from pruning.expressions import types
from pruning.expressions.sql import literal_sql, to_sql
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Contains,
    Element,
    EndsWith,
    Expression,
    Function,
    IsNull,
    Like,
    Literal,
    Not,
    Quantified,
    Quantifier,
    RLike,
    StartsWith,
)
from pruning.expressions.types import Type, Value
from pruning.spark.drive.predicates import parse

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

CONSTANTS: list[tuple[Type, Value]] = [
    (types.BOOLEAN, True),
    (types.BYTE, -128),
    (types.SHORT, -32768),
    (types.INTEGER, -(2**31)),
    (types.INTEGER, 2**31 - 1),
    (types.LONG, LONG_MIN),
    (types.LONG, LONG_MAX),
    (types.FLOAT, struct.unpack("f", b"\x01\0\0\0")[0]),
    (types.FLOAT, struct.unpack("f", struct.pack("f", 0.1))[0]),
    (types.DOUBLE, 5e-324),
    (types.DOUBLE, 0.1),
    (types.DOUBLE, math.inf),
    (types.DOUBLE, -math.inf),
    (types.decimal(38, 38), Decimal("0.00000000000000000000000000000000000001")),
    (types.decimal(38, 0), Decimal("9" * 38)),
    (types.decimal(5, 2), Decimal("-1.50")),
    (types.STRING, b""),
    (types.STRING, b'it\'s \\n "quoted" $' + b"{x} `tick`\0\n\x1f"),
    (types.STRING, "\U0010ffff é 名".encode()),
    (types.STRING, b"\xff\xfe not UTF-8"),
    (types.STRING, b"null"),
    (types.BINARY, b""),
    (types.BINARY, b"\0\xff'"),
    (types.DATE, -719_162),
    (types.DATE, 2_932_896),
    (types.DATE, -(2**31)),
    (types.DATE, 2**31 - 1),
    (types.TIMESTAMP, -1),
    (types.TIMESTAMP, LONG_MIN),
    (types.TIMESTAMP, LONG_MAX),
    (types.TIMESTAMP_NTZ, 1_600_000_000_000_001),
    (types.TIMESTAMP_NTZ, LONG_MIN),
    (types.TIMESTAMP_NTZ, LONG_MAX),
]


@pytest.fixture(autouse=True)
def ansi(spark):
    """The modes above are those of an ANSI session; its zone is far from UTC on purpose."""
    before = {key: spark.conf.get(key) for key in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")}
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.mark.parametrize(("type_", "value"), CONSTANTS)
@pytest.mark.parametrize("escaped", ["true", "false"])
def test_a_constant_comes_back_from_spark_as_the_same_value_and_type(spark, type_, value, escaped):
    """Under both readings of backslashes, whatever the session's zone."""
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        back = parse(f"`c` <=> {literal_sql(value, type_)}", {"c": type_})
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert back == Compare(Comparison.NULL_SAFE_EQUAL, Column("c", type_), Literal(value, type_))


@pytest.mark.parametrize("type_", [types.FLOAT, types.DOUBLE])
@pytest.mark.parametrize("value", [math.nan, -0.0])
def test_nan_and_negative_zero_reach_spark_bit_for_bit(spark, type_, value):
    row = spark.sql(f"SELECT {literal_sql(value, type_)} AS x").collect()[0]
    assert struct.pack(">d", row.x) == struct.pack(">d", value)


@pytest.mark.parametrize("type_", sorted({type_ for type_, _ in CONSTANTS}, key=str), ids=str)
def test_null_keeps_its_type(spark, type_):
    assert (
        spark.sql(f"SELECT {literal_sql(None, type_)} AS x").schema["x"].dataType.simpleString() == type_.sql
    )


@pytest.mark.parametrize("shape", SHAPES, ids=to_sql)
def test_a_shape_comes_back_from_spark_as_itself(spark, shape):
    """Expression to SQL to Catalyst to expression changes nothing, but for inferred IS NOT NULL."""
    back = parse(to_sql(shape), COLUMNS)
    parts = back.operands if isinstance(back, And) else (back,)
    wanted = shape.operands if isinstance(shape, And) else (shape,)
    assert [part for part in parts if part not in wanted and not is_not_null(part)] == []
    assert all(part in parts for part in wanted)


def is_not_null(expression: Expression) -> bool:
    return isinstance(expression, Not) and isinstance(expression.operand, IsNull)


def test_sql_that_was_read_back_selects_the_same_rows(spark):
    rows = spark.createDataFrame(
        [
            (a, b, s, 3, Decimal("1.50"), 2.5, 7)
            for a in (None, -1, 5)
            for b in (None, 2, 7)
            for s in (None, "5", "x'yz", "a1b2c")
        ],
        "a int, b int, s string, `odd ``name``.x` int, m decimal(10,2), d double, big bigint",
    ).cache()
    known = [shape for shape in SHAPES if shape not in [*TIMES, *ARRAYS]]
    safe = [shape for shape in known if "CAST(`s`" not in to_sql(shape).replace("try_cast", "")]
    assert len(safe) == len(known) - 1
    texts = [(to_sql(shape), to_sql(parse(to_sql(shape), COLUMNS))) for shape in safe]
    # Many shapes to a query, as planning takes far longer than the rows do.
    for start in range(0, len(texts), 20):
        pairs = texts[start : start + 20]
        selected = rows.selectExpr(*[f"coalesce({sql}, false)" for pair in pairs for sql in pair]).collect()
        columns = list(zip(*selected, strict=True))
        differing = [
            pair for pair, of, back in zip(pairs, columns[::2], columns[1::2], strict=True) if of != back
        ]
        assert differing == []
    rows.unpersist()


def test_every_class_and_function_is_among_the_shapes():
    """Without this, a writer could be wrong and no shape would show it."""
    nodes = [node for shape in SHAPES for node in walk(shape)]
    written = {type(node) for node in nodes}
    assert {EndsWith, Contains, RLike, Quantified, Element, StartsWith, Like, Call, Cast} <= written
    assert {node.function for node in nodes if isinstance(node, Call)} == set(Function)
    assert {node.quantifier for node in nodes if isinstance(node, Quantified)} == set(Quantifier)


def test_the_variable_of_a_quantifier_hides_no_column():
    """Columns of the body keep their meaning whatever they are called."""
    both = less(Element("X", (), types.INTEGER), Column("xx", types.INTEGER))
    field = less(Column("`xxx`.`x`", types.INTEGER), A)
    assert to_sql(Quantified(Quantifier.EXISTS, "X", both)) == "exists(`X`, xxx -> (xxx < `xx`))"
    hidden = Quantified(Quantifier.EXISTS, "X", And((both, field)))
    assert to_sql(hidden) == "exists(`X`, xxxx -> ((xxxx < `xx`) AND (`xxx`.`x` < `a`)))"


def test_seconds_are_rounded_down_as_the_tree_says():
    """Spark's own `unix_timestamp` rounds toward zero."""
    assert to_sql(Call(Function.UNIX_TIMESTAMP, (AT,), types.LONG)) == "unix_seconds(`at`)"
