"""Expressions as Spark SQL: every constant to the last bit, every shape read back as itself."""

import math
import struct
from decimal import Decimal

import pytest

from pruning.expressions import types
from pruning.expressions.sql import literal_sql, to_sql
from pruning.expressions.traversal import walk
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
    Contains,
    Element,
    EndsWith,
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

A, B = Column("a", types.INTEGER), Column("b", types.INTEGER)
S, NAME = Column("s", types.STRING), Column("odd `name`.x", types.INTEGER)
MONEY = Column("m", types.decimal(10, 2))
D, BIG = Column("d", types.DOUBLE), Column("big", types.LONG)
DAY, AT = Column("day", types.DATE), Column("at", types.TIMESTAMP)
LOCAL = Column("local", types.TIMESTAMP_NTZ)
FIELD, DEEP = Column("`r`.`odd ``f```", types.INTEGER), Column("`r`.`q`.`s`", types.STRING)
ZONE = "Asia/Kathmandu"
COLUMNS = {
    "a": types.INTEGER,
    "b": types.INTEGER,
    "s": types.STRING,
    "odd `name`.x": types.INTEGER,
    "m": types.decimal(10, 2),
    "d": types.DOUBLE,
    "big": types.LONG,
    "day": types.DATE,
    "at": types.TIMESTAMP,
    "local": types.TIMESTAMP_NTZ,
    "`r`.`odd ``f```": types.INTEGER,
    "`r`.`q`.`s`": types.STRING,
    "`xs`[]": types.INTEGER,
    "`x`[]": types.STRING,
    "`ps`[].`price`": types.DOUBLE,
    "`ps`[].`q`.`s`": types.STRING,
    "`r`.`ys`[]": types.INTEGER,
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


def text(value: bytes) -> Literal:
    return Literal(value, types.STRING)


def of_text(function: Function, *operands: Expression) -> Compare:
    return less(Call(function, operands, types.STRING), S)


def of_day(function: Function) -> Compare:
    return less(Call(function, (DAY,), types.INTEGER), A)


def zoned(function: Function, *operands: Expression, type_: Type) -> Call:
    return Call(function, operands, type_, zone=ZONE)


def quantified(array: str, body: Expression, quantifier: Quantifier = Quantifier.EXISTS) -> Expression:
    return Or((Quantified(quantifier, array, body), IsNull(A)))


X, PRICE = Element("xs", (), types.INTEGER), Element("ps", ("price",), types.DOUBLE)
TEXTS: list[Expression] = [
    Or((EndsWith(S, b"x'y"), IsNull(A))),
    Or((Contains(S, b"x\\y"), IsNull(A))),
    Or((Contains(S, b"\xff"), IsNull(A))),
    Or((RLike(S, rb"^(\d+|$)'[a-z]"), IsNull(A))),
    of_text(Function.UPPER, S),
    of_text(Function.LOWER, S),
    of_text(Function.TRIM, S),
    of_text(Function.LTRIM, S),
    of_text(Function.RTRIM, S),
    of_text(Function.TRIM, S, text(b"x'y")),
    of_text(Function.LTRIM, S, text(b"xy")),
    of_text(Function.RTRIM, S, text("é".encode())),
    of_text(Function.SUBSTRING, S, number(-3), number(2)),
    of_text(Function.CONCAT, S, text(b"-"), S),
    of_text(Function.RPAD, S, number(5), text(b" ")),
    less(Call(Function.LENGTH, (S,), types.INTEGER), A),
]
TIMES: list[Expression] = [
    less(zoned(Function.DATE_TRUNC, text(b"MONTH"), AT, type_=types.TIMESTAMP), AT),
    less(Call(Function.TRUNC, (DAY, text(b"MONTH")), types.DATE), DAY),
    *(
        of_day(function)
        for function in (
            Function.YEAR, Function.QUARTER, Function.MONTH, Function.DAY, Function.DAYOFWEEK,
            Function.WEEKDAY, Function.DAYOFYEAR, Function.WEEKOFYEAR,
        )
    ),
    less(Call(Function.LAST_DAY, (DAY,), types.DATE), DAY),
    *(
        less(found, A)
        for function in (Function.HOUR, Function.MINUTE, Function.SECOND)
        for found in (
            zoned(function, AT, type_=types.INTEGER),
            Call(function, (LOCAL,), types.INTEGER),
        )
    ),
    less(Call(Function.DATE_ADD, (DAY, A), types.DATE), DAY),
    less(Call(Function.DATE_SUB, (DAY, number(3)), types.DATE), DAY),
    less(Call(Function.ADD_MONTHS, (DAY, number(-3)), types.DATE), DAY),
    less(Call(Function.DATEDIFF, (DAY, Literal(5, types.DATE)), types.INTEGER), A),
    less(Call(Function.UNIX_TIMESTAMP, (AT,), types.LONG), BIG),
    less(zoned(Function.DATE_FORMAT, AT, text(b"yyyy-MM"), type_=types.STRING), S),
    less(Cast(AT, types.DATE, zone=ZONE), DAY),
    less(Cast(DAY, types.TIMESTAMP, zone=ZONE), AT),
    less(Cast(AT, types.TIMESTAMP_NTZ, zone=ZONE), LOCAL),
    less(Cast(LOCAL, types.TIMESTAMP, zone=ZONE), AT),
    less(Cast(LOCAL, types.DATE), DAY),
    less(Cast(DAY, types.TIMESTAMP_NTZ), LOCAL),
    less(Cast(AT, types.STRING, zone=ZONE), S),
    less(Cast(DAY, types.STRING), S),
    less(Cast(S, types.TIMESTAMP, Mode.TRY, ZONE), AT),
]  # fmt: skip
ARRAYS: list[Expression] = [
    less(FIELD, A),
    Or((StartsWith(DEEP, b"x"), IsNull(A))),
    quantified("xs", less(X, number(3))),
    quantified("xs", less(X, A), Quantifier.FORALL),
    quantified("x", EndsWith(Element("x", (), types.STRING), b"x")),
    quantified("ps", And((less(PRICE, D), IsNull(Element("ps", ("q", "s"), types.STRING))))),
    quantified("`r`.`ys`", less(Element("`r`.`ys`", (), types.INTEGER), FIELD)),
    Or((*(Quantified(q, "xs", less(X, number(3))) for q in Quantifier), IsNull(A))),
]

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
    *TEXTS,
    *TIMES,
    *ARRAYS,
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
