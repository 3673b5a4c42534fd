"""Arithmetic, functions and casts of numbers mean in plain Python what they mean in Spark, in each mode."""

import functools
import itertools
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyspark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from oracles.answers.frames import ROW_ORDINAL, arrow_frame, rows_frame, session
from oracles.meaning.brute_force import evaluate
from oracles.meaning.casts import cast
from oracles.meaning.numbers import NoSecondOpinion, Overflow
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import columns
from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Cast,
    Column,
    Expression,
    Function,
    Literal,
    Mode,
    Operator,
)
from pruning.expressions.types import (
    BOOLEAN,
    BYTE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    Kind,
    Type,
    Value,
    decimal,
)
from pruning.spark.catalyst.evaluation import evaluate as evaluate_in_spark
from pruning.spark.jvm.gateway import elements
from strategies.base.tables import Table, to_arrow
from strategies.base.values import values

RELEASE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
INTEGERS = (BYTE, SHORT, INTEGER, LONG)
DECIMALS = (decimal(3, 1), decimal(18, 6), decimal(34, 10), decimal(38, 0), decimal(38, 20), decimal(38, 38))
DECIMAL_PAIRS = (
    *zip(DECIMALS, DECIMALS, strict=True),
    *itertools.pairwise(DECIMALS),
    (DECIMALS[-1], DECIMALS[0]),
)
NUMBERS = (*INTEGERS, FLOAT, DOUBLE, *DECIMALS)
_ONLY_TYPE = {Operator.DIVIDE: DOUBLE, Operator.INTEGRAL_DIVIDE: LONG}
# C's and Java's libraries each lie within an ulp or so of the true value, quotients of logarithms within two.
ULPS = 4
INEXACT = frozenset(
    {
        Function.EXP, Function.LN, Function.LOG10, Function.LOG2,
        Function.LOG1P, Function.LOG, Function.POWER,
    }
)  # fmt: skip
DIGITS = (-39, -1, 0, 2)
TROUBLE = {
    BOOLEAN: (False, True),
    BYTE: (0, 1, -1, 3, 5, 15, 25, -25, 127, -128, 124, -125),
    SHORT: (0, 1, -1, 7, 150, -250, 32767, -32768, 300),
    INTEGER: (0, 1, -1, 7, 25, -35, 2**31 - 1, -(2**31), 2**24 + 1, 70_000),
    LONG: (0, 1, -1, 7, -7, 2**63 - 1, -(2**63), 2**53 + 1, 2**60 + 2**36 + 1, 2**32 + 2),
    FLOAT: (
        0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, math.nan, math.inf, -math.inf, 2.0**31, -(2.0**31),
        2.0**63, -(2.0**63), 300.0, 0.10000000149011612, 0.15000000596046448, 3.4028234663852886e38,
        2.0**-149, 127.5,
    ),
    DOUBLE: (
        0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1.5, math.nan, math.inf, -math.inf, 2.0**31 - 0.5, 2.0**31,
        2.0**63, -(2.0**63), 300.0, -128.9, 1e10, 1.005, 0.1, 1e300, -1e300, 1e-300, 5e-324, 3.0, 1e20,
        2.5e37, 1.7976931348623157e308, 1000.0, 9.5, 0.125, 1 + 2.0**-52, -0.999, math.nextafter(-1.0, 0.0),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refusal:
    """Spark raises here, or nobody knows."""

    raises: bool


def adjusted(precision: int, scale: int) -> Type:
    """Spark's decimal type beyond 38 digits: the scale gives way, down to 6."""
    if precision <= 38:
        return decimal(precision, scale)
    return decimal(38, max(38 - (precision - scale), min(scale, 6)))


def result_type(operator: Operator, left: Type, right: Type) -> Type:
    """The type of `left operator right` of decimals."""
    whole = (left.precision - left.scale, right.precision - right.scale)
    scale = max(left.scale, right.scale)
    match operator:
        case Operator.ADD | Operator.SUBTRACT:
            return adjusted(max(whole) + scale + 1, scale)
        case Operator.MULTIPLY:
            return adjusted(left.precision + right.precision + 1, left.scale + right.scale)
        case Operator.DIVIDE:
            scale = max(6, left.scale + right.precision + 1)
            return adjusted(whole[0] + right.scale + scale, scale)
        case Operator.REMAINDER:
            return adjusted(min(whole) + scale, scale)
    return LONG


def rounded_type(type_: Type, digits: int) -> Type:
    """The type of a decimal rounded to a number of digits."""
    whole = type_.precision - type_.scale + 1
    if digits < 0:
        return decimal(min(38, max(whole, 1 - digits)), 0)
    return decimal(min(38, whole + min(type_.scale, digits)), min(type_.scale, digits))


def column(side: str, type_: Type) -> Column:
    return Column(f"{side} {type_.sql}", type_)


COLUMNS = tuple(column(side, type_) for side in "xy" for type_ in (BOOLEAN, *NUMBERS))


def arithmetic(mode: Mode) -> Iterator[Expression]:
    """Each operator on each type that it takes."""
    for operator, type_ in itertools.product(Operator, NUMBERS):
        if type_.kind is Kind.DECIMAL:
            continue
        if type_ == _ONLY_TYPE.get(operator, type_):
            yield Arithmetic(operator, column("x", type_), column("y", type_), type_, mode)
    for operator, (left, right) in itertools.product(Operator, DECIMAL_PAIRS):
        type_ = result_type(operator, left, right)
        yield Arithmetic(operator, column("x", left), column("y", right), type_, mode)


def calls(mode: Mode) -> Iterator[Expression]:
    """Each function on each type that it takes."""
    for type_ in NUMBERS:
        x, y = column("x", type_), column("y", type_)
        for function in (Function.GREATEST, Function.LEAST):
            yield Call(function, (x, y, Literal(None, type_)), type_, mode)
        if mode is Mode.TRY:
            continue
        yield from (Call(function, (x,), type_, mode) for function in (Function.NEGATE, Function.ABS))
        for function, digits in itertools.product((Function.ROUND, Function.BROUND), DIGITS):
            result = rounded_type(type_, digits) if type_.kind is Kind.DECIMAL else type_
            yield Call(function, (x, Literal(digits, INTEGER)), result, mode)
    x, y = column("x", DOUBLE), column("y", DOUBLE)
    for function in (Function.SIGN, Function.SQRT, *INEXACT):
        pair = function in (Function.LOG, Function.POWER)
        yield Call(function, (x, y) if pair else (x,), DOUBLE, mode)
    for function in (Function.FLOOR, Function.CEIL):
        if mode is not Mode.TRY:
            yield Call(function, (x,), LONG, mode)
        for type_ in DECIMALS:
            whole = decimal(min(38, type_.precision - type_.scale + 1), 0) if type_.scale else type_
            yield Call(function, (column("x", type_),), whole, mode)
            for digits in DIGITS:
                operands = (column("x", type_), Literal(digits, INTEGER))
                yield Call(function, operands, rounded_type(type_, digits), mode)


def casts(mode: Mode) -> Iterator[Expression]:
    """Each pair of types of numbers and booleans."""
    for source, target in itertools.product((BOOLEAN, *NUMBERS), repeat=2):
        if source != target:
            yield Cast(column("x", source), target, mode)


def subjects(mode: Mode) -> list[Expression]:
    """Everything that this release of Spark has in a mode."""
    return [one for one in (*arithmetic(mode), *calls(mode), *casts(mode)) if _exists(one)]


def _exists(expression: Expression) -> bool:
    if isinstance(expression, Arithmetic) and expression.mode is Mode.TRY:
        absent = expression.operator is Operator.INTEGRAL_DIVIDE
        return not absent and (expression.operator is not Operator.REMAINDER or RELEASE >= (4, 0))
    return True


def raises_since_4_3(expression: Expression) -> bool:
    """FLOOR and CEIL of doubles, which saturate in earlier releases."""
    return (
        isinstance(expression, Call)
        and expression.function in (Function.FLOOR, Function.CEIL)
        and expression.type == LONG
    )


def ours(expression: Expression, row: Mapping[str, Value | None]) -> Value | Refusal | None:
    try:
        return evaluate(expression, row)
    except Overflow:
        return Refusal(raises=True)
    except NoSecondOpinion:
        return Refusal(raises=False)


def answers(
    expression: Expression, rows: Sequence[Mapping[str, Value | None]]
) -> list[Value | Refusal | None]:
    """Return the value on each row; computed once for rows alike in its columns."""
    names = tuple(columns(expression))
    # 0.0 equals -0.0, and NaN does not equal itself.
    keys = [repr([row[name] for name in names]) for row in rows]
    by_key = {key: ours(expression, row) for key, row in dict(zip(keys, rows, strict=True)).items()}
    return [by_key[key] for key in keys]


def disagreements(
    spark: SparkSession, table: Table, expressions: Sequence[Expression], *, ansi: bool
) -> list[str]:
    """Where Spark's value is another, of all rows that we have a value for; one job for all."""
    rows = [table.as_mapping(row) for row in table.rows]
    answers_of_each = [answers(expression, rows) for expression in expressions]
    selected = [
        f"{_guarded(expression, mine)} AS e{ordinal}"
        for ordinal, (expression, mine) in enumerate(zip(expressions, answers_of_each, strict=True))
    ]
    with session(spark, ansi=ansi):
        frame = rows_frame(spark, table).orderBy(f"`{ROW_ORDINAL}`").selectExpr(*selected)
        theirs = frame.collect()
    found = []
    for position, expression in enumerate(expressions):
        type_ = frame.schema[position].dataType.simpleString()
        expected = expression.type.sql
        if type_ != expected:
            found.append(f"{to_sql(expression)} is a {type_}, not a {expected}")
        for row, mine, their in zip(rows, answers_of_each[position], theirs, strict=True):
            if not isinstance(mine, Refusal) and not same(mine, their[position], expression):
                found.append(
                    f"{to_sql(expression)}: {mine!r}, in Spark {their[position]!r}; {_named(expression, row)}"
                )
    return found


def _named(expression: Expression, row: Mapping[str, Value | None]) -> dict[str, Value | None]:
    text = to_sql(expression)
    return {name: value for name, value in row.items() if f"`{name}`" in text}


def _guarded(expression: Expression, mine: Sequence[object]) -> str:
    """NULL on the rows that we have no value for, which must not fail the query."""
    chosen = [str(ordinal) for ordinal, value in enumerate(mine) if not isinstance(value, Refusal)]
    text = to_sql(expression)
    return (
        text
        if len(chosen) == len(mine)
        else f"CASE WHEN `{ROW_ORDINAL}` IN ({', '.join(chosen) or -1}) THEN {text} END"
    )


def same(mine: Value | None, theirs: Value | None, expression: Expression) -> bool:
    """The same value to the last bit, but for the functions that are no more alike than libraries are."""
    if mine is None or theirs is None:
        return mine is theirs
    if isinstance(mine, Decimal):
        # Spark may hold more zeros after the point than the type has.
        return mine == theirs and -int(mine.as_tuple().exponent) == expression.type.scale
    if not isinstance(mine, float) or not isinstance(theirs, float):
        return mine == theirs and type(mine) is type(theirs)
    if isinstance(expression, Call) and expression.function in INEXACT and math.isfinite(mine) and mine:
        return abs(mine - theirs) <= ULPS * math.ulp(mine)
    return struct.pack("d", mine) == struct.pack("d", theirs) or (math.isnan(mine) and math.isnan(theirs))


@functools.cache
def grid() -> Table:
    """Each troublesome value of a type beside each of the first twelve, NULL among them."""
    known = {**TROUBLE, **{type_: _trouble(type_) for type_ in DECIMALS}}
    with_null = {type_: (None, *found) for type_, found in known.items()}
    count = 12 * max(len(found) for found in with_null.values())

    def cell(one: Column, row: int) -> Value | None:
        found = with_null[one.type]
        return found[row % len(found) if one.name.startswith("x") else row // len(found) % len(found)]

    return Table(COLUMNS, (tuple(tuple(cell(one, row) for one in COLUMNS) for row in range(count)),))


def _trouble(type_: Type) -> tuple[Value, ...]:
    unit, limit = 10**type_.scale, 10**type_.precision
    near = (
        0, 1, -1, 3, 5, 15, 25, -25, unit // 2, 5 * unit // 2, unit, 7 * unit, -unit // 3, limit - 1,
        1 - limit, limit // 7, 128 * unit, 127 * unit - 1, -128 * unit - 1, (2**31 - 1) * unit - 1,
        2**63 * unit, 2**31 * unit,
    )  # fmt: skip
    kept = dict.fromkeys(digits for digits in near if abs(digits) < limit)
    return tuple(
        Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -type_.scale)) for digits in kept
    )


@pytest.mark.parametrize("mode", Mode)
def test_spark_agrees_with_the_second_opinion_on_troublesome_values(spark: SparkSession, mode: Mode) -> None:
    """For each operator, function and cast: the same type, and on each pair of values the same value."""
    assert disagreements(spark, grid(), subjects(mode), ansi=mode is not Mode.LEGACY) == []


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Four rows of any numbers at all."""
    cells = st.tuples(*(st.none() | values(one.type) for one in COLUMNS))
    return Table(COLUMNS, (tuple(draw(st.lists(cells, min_size=4, max_size=4))),))


@pytest.mark.parametrize("mode", Mode)
@settings(max_examples=settings().max_examples // 10)
@given(table=tables())
def test_spark_always_agrees_with_the_second_opinion_on_numbers(
    spark: SparkSession, mode: Mode, table: Table
) -> None:
    """For each operator, function and cast, and any values."""
    assert disagreements(spark, table, subjects(mode), ansi=mode is not Mode.LEGACY) == []


@pytest.mark.parametrize("mode", [Mode.ANSI, Mode.LEGACY])
def test_spark_raises_where_the_second_opinion_does(spark: SparkSession, mode: Mode) -> None:
    """Each operator, function and cast that raises on a row of the grid raises there in Spark; one job."""
    table = grid()
    expressions = [
        expression for expression in subjects(mode) if RELEASE >= (4, 3) or not raises_since_4_3(expression)
    ]
    rows = [table.as_mapping(row) for row in table.rows]
    silent, raising = [], 0
    for expression, raises in zip(expressions, raises_in_spark(spark, table, expressions, mode), strict=True):
        for row, mine, raises_here in zip(rows, answers(expression, rows), raises, strict=True):
            if mine == Refusal(raises=True):
                raising += 1
                if not raises_here:
                    silent.append(f"{to_sql(expression)}: {_named(expression, row)}")
    assert silent == []
    assert raising > 0 or mode is Mode.LEGACY


def raises_in_spark(
    spark: SparkSession, table: Table, expressions: Sequence[Expression], mode: Mode
) -> list[list[bool]]:
    """Return for each expression whether Spark raises on each row."""
    with session(spark, ansi=mode is Mode.ANSI):
        frame = arrow_frame(
            spark, to_arrow(table.columns, table.rows), {one.name: one.type for one in table.columns}
        )
        plan = frame.selectExpr(*map(to_sql, expressions))._jdf.queryExecution().analyzed()
        values_of_all = evaluate_in_spark(
            spark,
            to_arrow(table.columns, table.rows),
            [alias.child() for alias in elements(plan.projectList())],
            {column.exprId().id(): column.name() for column in elements(plan.child().output())},
        )
    assert values_of_all is not None
    return [raised.to_pylist() for _, raised in values_of_all]


@pytest.mark.parametrize("value", [2.469611520959447e17, 2.0**60])
def test_the_text_of_a_double_has_no_second_opinion_where_releases_of_java_differ(value: float) -> None:
    """Java 17 writes the first as 2.46961152095944704E17, with all digits of the whole number."""
    with pytest.raises(NoSecondOpinion, match="releases of Java differ"):
        cast(value, DOUBLE, decimal(38, 0), Mode.LEGACY, zone="UTC")


@pytest.mark.parametrize("value", [2.469611520959447e17, -(2.0**60), 3.4028234663852886e38])
def test_what_no_text_of_a_double_fits_is_null_in_all_releases_of_java(value: float) -> None:
    assert cast(value, DOUBLE, decimal(9, 2), Mode.TRY, zone="UTC") is None
