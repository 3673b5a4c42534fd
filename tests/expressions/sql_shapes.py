"""Expressions of every class and function, in forms that Spark's optimizer leaves alone."""

from decimal import Decimal

from pruning.expressions import types
from pruning.expressions.names import Inside
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
    type_of,
)
from pruning.expressions.types import Type

A, B = Column("a", types.INTEGER), Column("b", types.INTEGER)
S, NAME = Column("s", types.STRING), Column("odd `name`.x", types.INTEGER)
MONEY = Column("m", types.decimal(10, 2))
D, BIG = Column("d", types.DOUBLE), Column("big", types.LONG)
DAY, AT = Column("day", types.DATE), Column("at", types.TIMESTAMP)
LOCAL = Column("local", types.TIMESTAMP_NTZ)
FIELD, DEEP = Column("`r`.`odd ``f```", types.INTEGER), Column("`r`.`q`.`s`", types.STRING)
NOON = Literal(43_200_000_000, types.TIMESTAMP)
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
    "`held`{key}": types.STRING,
    "`held`{value}": types.INTEGER,
    "`r`.`m`{key}": types.INTEGER,
    "`r`.`m`{value}.`price`": types.DOUBLE,
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


def call_in_zone(function: Function, *operands: Expression, type_: Type) -> Call:
    return Call(function, operands, type_, zone=ZONE)


def plus(moment: Column, *, months: int, days: int, micros: int) -> Call:
    """A time plus an interval."""
    parts = number(months), number(days), Literal(micros, types.LONG)
    zone = ZONE if moment is AT else ""
    return Call(Function.PLUS_INTERVAL, (moment, *parts), moment.type, zone=zone)


def quantifier_over(array: str, body: Expression, quantifier: Quantifier = Quantifier.EXISTS) -> Expression:
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
    of_text(Function.LPAD, S, number(5), text(b" ")),
    of_text(Function.REPLACE, S, text(b"x'y"), text("é".encode())),
    of_text(Function.SUBSTRING_INDEX, S, text(b"/"), number(2)),
    less(Call(Function.INSTR, (S, text(b"'x")), types.INTEGER), A),
    less(Call(Function.LENGTH, (S,), types.INTEGER), A),
]
TIMES: list[Expression] = [
    less(call_in_zone(Function.DATE_TRUNC, text(b"MONTH"), AT, type_=types.TIMESTAMP), AT),
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
        less(field, A)
        for function in (Function.HOUR, Function.MINUTE, Function.SECOND)
        for field in (
            call_in_zone(function, AT, type_=types.INTEGER),
            Call(function, (LOCAL,), types.INTEGER),
        )
    ),
    less(Call(Function.DATE_ADD, (DAY, A), types.DATE), DAY),
    less(Call(Function.DATE_SUB, (DAY, number(3)), types.DATE), DAY),
    less(Call(Function.ADD_MONTHS, (DAY, number(-3)), types.DATE), DAY),
    less(Call(Function.DATEDIFF, (DAY, Literal(5, types.DATE)), types.INTEGER), A),
    less(Call(Function.UNIX_TIMESTAMP, (AT,), types.LONG), BIG),
    *(less(plus(moment, months=1, days=-2, micros=3_500_000), moment) for moment in (AT, LOCAL)),
    less(call_in_zone(Function.TIMESTAMPDIFF, text(b"MONTH"), AT, NOON, type_=types.LONG), BIG),
    less(
        call_in_zone(Function.MONTHS_BETWEEN, AT, NOON, Literal(False, types.BOOLEAN), type_=types.DOUBLE), D
    ),
    *(
        less(Call(function, (AT, text(b"Asia/Tokyo")), types.TIMESTAMP), AT)
        for function in (Function.FROM_UTC, Function.TO_UTC)
    ),
    less(call_in_zone(Function.DATE_FORMAT, AT, text(b"yyyy-MM"), type_=types.STRING), S),
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


def value_of_key(column: str, key: Expression, type_: Type, *fields: str) -> Call:
    """The value of a key in a map, or a field of it."""
    values, keys = (
        Element(column, fields, type_, Inside.VALUES),
        Element(column, (), type_of(key), Inside.KEYS),
    )
    return Call(Function.MAP_VALUE, (values, keys, key), type_)


ARRAYS: list[Expression] = [
    less(FIELD, A),
    Or((StartsWith(DEEP, b"x"), IsNull(A))),
    less(Call(Function.ELEMENT_AT, (X, number(-1)), types.INTEGER), A),
    less(Call(Function.ELEMENT_AT, (PRICE, A), types.DOUBLE), D),
    less(value_of_key("held", text(b"k"), types.INTEGER), A),
    less(value_of_key("`r`.`m`", A, types.DOUBLE, "price"), D),
    less(Call(Function.ARRAY_MAX, (X,), types.INTEGER), A),
    less(Call(Function.ARRAY_MIN, (PRICE,), types.DOUBLE), D),
    quantifier_over("xs", less(X, number(3))),
    quantifier_over("xs", less(X, A), Quantifier.FORALL),
    quantifier_over("x", EndsWith(Element("x", (), types.STRING), b"x")),
    quantifier_over("ps", And((less(PRICE, D), IsNull(Element("ps", ("q", "s"), types.STRING))))),
    quantifier_over("`r`.`ys`", less(Element("`r`.`ys`", (), types.INTEGER), FIELD)),
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
