"""Expressions as Spark SQL: every constant to the last bit, every shape read back as itself."""

import math
import struct
from decimal import Decimal

import pytest

from pruning.expressions import types
from pruning.expressions.sql import literal_sql, to_sql
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Operator,
    Or,
    StartsWith,
)
from pruning.expressions.types import Type, Value
from pruning.spark.predicates import parse

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

A, B = Column("a", types.INTEGER), Column("b", types.INTEGER)
S, NAME = Column("s", types.STRING), Column("odd `name`.x", types.INTEGER)
MONEY = Column("m", types.decimal(10, 2))
D, BIG = Column("d", types.DOUBLE), Column("big", types.LONG)
COLUMNS = {
    "a": types.INTEGER,
    "b": types.INTEGER,
    "s": types.STRING,
    "odd `name`.x": types.INTEGER,
    "m": types.decimal(10, 2),
    "d": types.DOUBLE,
    "big": types.LONG,
}


def number(value: int) -> Literal:
    return Literal(value, types.INTEGER)


def less(left: Expression, right: Expression) -> Compare:
    return Compare(Comparison.LESS, left, right)


def double(value: float) -> Literal:
    return Literal(value, types.DOUBLE)


def of_digits(function: Function, digits: int) -> Compare:
    """A function of money rounded to so many digits, below a constant of its type."""
    type_ = types.decimal(9 + max(digits, 0), max(digits, 0))
    return less(
        Call(function, (MONEY, number(digits)), type_), Literal(Decimal(7).scaleb(-type_.scale), type_)
    )


MONEY_QUOTIENT = Literal(Decimal("1.5000000000000"), types.decimal(23, 13))
MONEY_PRODUCT = Literal(Decimal("1.5000"), types.decimal(21, 4))
WHOLE = Literal(Decimal(7), types.decimal(9, 0))
NAME_OF_S = Literal(b"name", types.STRING)
OF_ONE_DOUBLE = (
    Function.SIGN,
    Function.SQRT,
    Function.EXP,
    Function.LN,
    Function.LOG10,
    Function.LOG2,
    Function.LOG1P,
)

# Forms that Spark's optimizer leaves alone, so that what comes back can be compared node by node.
SHAPES: list[Expression] = [
    less(A, B),
    Compare(Comparison.NULL_SAFE_EQUAL, A, B),
    less(NAME, B),
    IsNull(A),
    Not(IsNull(S)),
    Or((less(A, B), IsNull(A), IsNull(S))),
    And((IsNull(A), IsNull(B), IsNull(S))),
    In(A, (number(1), number(-2), Literal(None, types.INTEGER))),
    In(A, tuple(number(i) for i in range(20))),
    In(
        S,
        tuple(
            Literal(text, types.STRING)
            for text in sorted([b"\xff", b"a'b", b"null", *b"abcdefghijkl".split()])
        ),
    ),
    Not(Compare(Comparison.NULL_SAFE_EQUAL, A, number(-1))),
    Or((StartsWith(S, b"x'y"), IsNull(A))),
    Or((Like(S, b"a%b_c"), IsNull(A))),
    Or((Like(S, b"!%a_b%", "!"), IsNull(A))),
    Or((Like(S, b"'%a_b%", "'"), IsNull(A))),
    less(Case(((IsNull(A), B), (IsNull(S), NAME)), A), B),
    less(Case(((IsNull(A), B),), A), B),
    less(Case(((IsNull(A), B),), Literal(None, types.INTEGER)), B),
    less(Coalesce((A, B)), NAME),
    less(Arithmetic(Operator.ADD, A, B, types.INTEGER, Mode.TRY), B),
    less(Arithmetic(Operator.SUBTRACT, A, B, types.INTEGER, Mode.ANSI), B),
    less(
        Arithmetic(Operator.ADD, MONEY, MONEY, types.decimal(11, 2), Mode.ANSI),
        Cast(A, types.decimal(11, 2), Mode.TRY),
    ),
    less(Cast(S, types.INTEGER, Mode.TRY), A),
    less(Cast(S, types.INTEGER, Mode.ANSI), A),
    *(
        less(Arithmetic(operator, A, B, types.INTEGER, mode), B)
        for operator in (Operator.MULTIPLY, Operator.REMAINDER)
        for mode in (Mode.ANSI, *([Mode.TRY] if operator is Operator.MULTIPLY else []))
    ),
    *(
        less(Arithmetic(operator, D, D, types.DOUBLE, Mode.ANSI), D)
        for operator in (Operator.MULTIPLY, Operator.DIVIDE, Operator.REMAINDER)
    ),
    less(Arithmetic(Operator.DIVIDE, D, D, types.DOUBLE, Mode.TRY), D),
    less(Arithmetic(Operator.DIVIDE, MONEY, MONEY, types.decimal(23, 13), Mode.TRY), MONEY_QUOTIENT),
    less(Arithmetic(Operator.MULTIPLY, MONEY, MONEY, types.decimal(21, 4)), MONEY_PRODUCT),
    less(Arithmetic(Operator.REMAINDER, MONEY, MONEY, MONEY.type), MONEY),
    less(Arithmetic(Operator.INTEGRAL_DIVIDE, BIG, BIG, types.LONG), BIG),
    less(Arithmetic(Operator.INTEGRAL_DIVIDE, MONEY, MONEY, types.LONG), BIG),
    less(Call(Function.NEGATE, (A,), types.INTEGER), B),
    less(Call(Function.ABS, (MONEY,), MONEY.type), MONEY),
    less(Call(Function.FLOOR, (D,), types.LONG), BIG),
    less(Call(Function.CEIL, (D,), types.LONG), BIG),
    less(Call(Function.FLOOR, (MONEY,), types.decimal(9, 0)), WHOLE),
    of_digits(Function.FLOOR, 1),
    of_digits(Function.CEIL, -1),
    of_digits(Function.ROUND, 1),
    of_digits(Function.BROUND, 0),
    less(Call(Function.ROUND, (A, number(-2)), types.INTEGER), B),
    less(Call(Function.BROUND, (D, number(2)), types.DOUBLE), D),
    *(less(Call(function, (D,), types.DOUBLE), D) for function in OF_ONE_DOUBLE),
    less(Call(Function.LOG, (double(2.0), D), types.DOUBLE), D),
    less(Call(Function.POWER, (D, double(2.0)), types.DOUBLE), D),
    less(Call(Function.GREATEST, (A, B, number(3)), types.INTEGER), B),
    less(Call(Function.LEAST, (S, NAME_OF_S), types.STRING), S),
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
    safe = [shape for shape in SHAPES if "CAST(`s`" not in to_sql(shape).replace("try_cast", "")]
    assert len(safe) == len(SHAPES) - 1
    for shape in safe:
        back = to_sql(parse(to_sql(shape), COLUMNS))
        assert rows.filter(back).exceptAll(rows.filter(to_sql(shape))).count() == 0
        assert rows.filter(to_sql(shape)).exceptAll(rows.filter(back)).count() == 0
    rows.unpersist()
