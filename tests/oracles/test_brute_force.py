"""Spark and the second opinion, which share no evaluation, agree on generated rows and predicates."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from oracles.answers.unpruned import Raises, truths_per_row
from oracles.meaning.arithmetic import Overflow, calculate
from oracles.meaning.brute_force import compare, evaluate
from oracles.meaning.casts import cast
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column, Comparison, Expression, Like, Mode, Opaque, Operator
from pruning.expressions.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal,
)
from strategies.base.layouts import tables
from strategies.base.tables import Table
from strategies.predicates.predicates import predicates

ZONES = st.sampled_from(["UTC", "America/Los_Angeles", "Asia/Kolkata", "Europe/London"])
MODES = st.sampled_from([(Mode.TRY,), tuple(Mode)])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, list[Expression], str]:
    """A table, eight predicates over it, and a time zone."""
    table = draw(tables())
    one = predicates(table, modes=draw(MODES))
    return table, draw(st.lists(one, min_size=8, max_size=8)), draw(ZONES)


@given(case=cases())
def test_spark_always_agrees_with_the_second_opinion(
    spark: SparkSession, case: tuple[Table, list[Expression], str]
) -> None:
    """For each row and predicate, both give TRUE, FALSE or NULL alike; Spark may spare an error.

    Where releases of Java differ, such as in the text of a double, there is no second opinion.
    """
    table, drawn, zone = case
    for predicate, sparks in zip(drawn, truths_per_row(spark, table, drawn, zone=zone), strict=True):
        try:
            ours = tuple(evaluate(predicate, table.as_mapping(row), zone=zone) for row in table.rows)
        except (Overflow, NoSecondOpinion):
            continue
        assert sparks == ours, to_sql(predicate)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (math.nan, math.nan, 0),
        (math.nan, math.inf, 1),
        (-0.0, 0.0, 0),
        ("\uffff".encode(), "\U00010000".encode(), -1),
        (b"", b"\0", -1),
        (False, True, -1),
    ],
)
def test_compare_orders_values_as_spark_does(left: float, right: float, order: int) -> None:
    assert compare(Comparison.EQUAL, left, right) is (order == 0)
    assert compare(Comparison.LESS, left, right) is (order < 0)
    assert compare(Comparison.AT_MOST, left, right) is (order <= 0)
    assert compare(Comparison.GREATER, left, right) is (order > 0)
    assert compare(Comparison.AT_LEAST, left, right) is (order >= 0)
    assert compare(Comparison.NULL_SAFE_EQUAL, left, right) is (order == 0)


def test_comparing_with_null_is_null_unless_it_is_null_safe() -> None:
    assert compare(Comparison.EQUAL, None, 1) is None
    assert compare(Comparison.NULL_SAFE_EQUAL, None, None) is True
    assert compare(Comparison.NULL_SAFE_EQUAL, 1, None) is False


@pytest.mark.parametrize(("mode", "result"), [(Mode.TRY, None), (Mode.LEGACY, -128)])
def test_a_sum_out_of_range_is_null_or_wraps(mode: Mode, result: int | None) -> None:
    assert calculate(Operator.ADD, 127, 1, (BYTE, BYTE), BYTE, mode) == result


def test_a_sum_out_of_range_raises_under_ansi() -> None:
    with pytest.raises(Overflow, match="128 is no tinyint"):
        calculate(Operator.ADD, 127, 1, (BYTE, BYTE), BYTE, Mode.ANSI)


def test_decimals_are_rounded_half_away_from_zero() -> None:
    assert cast(Decimal("-0.5"), decimal(2, 1), decimal(1, 0), Mode.ANSI, zone="UTC") == -1


def test_a_long_is_rounded_to_float_once() -> None:
    """By way of a double, this one is rounded down to the tie, and then to even."""
    assert cast(2**60 + 2**36 + 1, LONG, FLOAT, Mode.ANSI, zone="UTC") == float(2**60 + 2**37)


@pytest.mark.parametrize(("source", "target"), [(DATE, TIMESTAMP), (TIMESTAMP_NTZ, TIMESTAMP)])
def test_local_time_becomes_an_instant_by_the_zone(source: Type, target: Type) -> None:
    assert cast(0, source, target, Mode.ANSI, zone="Asia/Kolkata") == -19_800_000_000


@pytest.mark.parametrize("pattern", [b"%a", b"_%", b"a_", b"a", "a\ufffd%".encode()])
def test_like_over_bytes_that_are_not_utf8_has_no_second_opinion(pattern: bytes) -> None:
    """Unless what stands before them decides."""
    with pytest.raises(NoSecondOpinion, match="not UTF-8"):
        evaluate(Like(Column("s", STRING), pattern), {"s": b"a\xff"})


@pytest.mark.parametrize("expression", [Opaque("rand()", DOUBLE), Opaque("f(a)", BOOLEAN)])
def test_opaque_expressions_have_no_second_opinion(expression: Expression) -> None:
    with pytest.raises(NoSecondOpinion, match="Opaque"):
        evaluate(expression, {})


def test_a_predicate_that_raises_in_spark_also_raises_here(spark: SparkSession) -> None:
    from pruning.expressions.trees import Arithmetic, Compare, Literal

    column = Column("y", BYTE)
    table = Table((column,), (((127,),),))
    total = Arithmetic(Operator.ADD, column, Literal(1, BYTE), BYTE)
    predicate = Compare(Comparison.LESS, total, Literal(0, BYTE))
    assert isinstance(truths_per_row(spark, table, [predicate])[0], Raises)
    with pytest.raises(Overflow):
        evaluate(predicate, {"y": 127})
