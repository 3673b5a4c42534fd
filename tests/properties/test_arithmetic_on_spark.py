"""PROP-5 for `+ - * / div %`: Spark's own results lie in the ranges that the rules give."""

import itertools
import math
from collections.abc import Sequence

import pyarrow as pa
import pytest
from claims import claimed
from pyspark.sql import SparkSession

from oracles.answers.frames import arrow_frame, session
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Arithmetic, Column, Mode, Operator
from pruning.expressions.types import BYTE, DOUBLE, FLOAT, INTEGER, LONG, Type, Value, decimal
from pruning.rules.interpreters.arrow.interpreter import lane_type
from strategies.base.values import decimal_of

_INTEGRAL = tuple(operator for operator in Operator if operator.value not in ("/", "div"))
_SHORT = tuple(operator for operator in Operator if operator.value != "div")
# Operators on two types, and the type of the results.
CASES: list[tuple[Operator, Type, Type, Type]] = [
    *((operator, type_, type_, type_) for operator in _INTEGRAL for type_ in (BYTE, INTEGER, LONG, FLOAT)),
    *((operator, DOUBLE, DOUBLE, DOUBLE) for operator in _SHORT),
    (Operator.INTEGRAL_DIVIDE, LONG, LONG, LONG),
    (Operator.ADD, decimal(5, 2), decimal(4, 3), decimal(7, 3)),
    (Operator.MULTIPLY, decimal(5, 2), decimal(4, 3), decimal(10, 5)),
    (Operator.DIVIDE, decimal(5, 2), decimal(4, 3), decimal(13, 7)),
    (Operator.INTEGRAL_DIVIDE, decimal(5, 2), decimal(4, 3), LONG),
    (Operator.REMAINDER, decimal(5, 2), decimal(4, 3), decimal(4, 3)),
    (Operator.SUBTRACT, decimal(38, 0), decimal(38, 10), decimal(38, 6)),
    (Operator.MULTIPLY, decimal(38, 10), decimal(38, 10), decimal(38, 6)),
    (Operator.DIVIDE, decimal(38, 0), decimal(38, 10), decimal(38, 6)),
    (Operator.INTEGRAL_DIVIDE, decimal(20, 0), decimal(4, 3), LONG),
    (Operator.REMAINDER, decimal(38, 10), decimal(38, 0), decimal(38, 10)),
]
_DOUBLES = (-math.inf, -1e308, -7.5, -1.0, -5e-324, -0.0, 0.0, 0.1, 2.5, 3.0, 1e308, math.inf, math.nan)
_FLOATS = (-math.inf, -7.5, -1.0, -(2.0**-149), 0.0, 0.5, 3.0, 2.0**127, math.inf, math.nan)


def values_of(type_: Type) -> Sequence[Value]:
    """Values at which results are extreme, in order, NaN last."""
    if type_.floating:
        return _DOUBLES if type_ == DOUBLE else _FLOATS
    if type_.integer_range is not None:
        least, greatest = type_.integer_range
        return (least, least + 1, -13, -3, -1, 0, 1, 3, 13, greatest - 1, greatest)
    limit = 10**type_.precision - 1
    units = (-limit, -(10**type_.scale), -250, -7, -1, 0, 1, 3, 1250, limit)
    return tuple(decimal_of(unit, type_.scale) for unit in sorted(units) if abs(unit) <= limit)


def windows(count: int) -> list[tuple[int, int]]:
    """Some values alone, some next to one another, and all."""
    alone = [(at, at + 1) for at in range(0, count, 3)]
    return [*alone, *((at, at + 3) for at in range(1, count - 2, 3)), (0, count)]


@pytest.mark.parametrize("mode", [Mode.LEGACY, Mode.TRY])
def test_results_of_spark_lie_in_the_ranges(spark: SparkSession, mode: Mode) -> None:
    """For blocks of single values, of neighbours and of all; and the types are Spark's."""
    tried = 0
    for operator, left, right, result in CASES:
        if mode is Mode.TRY and operator in (Operator.INTEGRAL_DIVIDE, Operator.REMAINDER):
            continue  # there is no try_div; try_mod came with Spark 4.0
        node = Arithmetic(operator, Column("a", left), Column("b", right), result, mode)
        answers = _answers(spark, node, left, right)
        firsts, seconds = values_of(left), values_of(right)
        for (start, end), (begin, stop) in itertools.product(windows(len(firsts)), windows(len(seconds))):
            claim = claimed(node, {"a": firsts[start:end], "b": seconds[begin:stop]})
            block = [row[begin:stop] for row in answers[start:end]]
            assert all(claim.holds(value) for row in block for value in row), (node, claim, block)
            tried += 1
    assert tried > 1_000


def _answers(spark: SparkSession, node: Arithmetic, left: Type, right: Type) -> list[list[Value | None]]:
    """Spark's result for each pair of values, a row for each left one."""
    firsts, seconds = values_of(left), values_of(right)
    pairs = list(itertools.product(firsts, seconds))
    table = pa.table(
        {
            "a": pa.array([pair[0] for pair in pairs], lane_type(left)),
            "b": pa.array([pair[1] for pair in pairs], lane_type(right)),
        }
    )
    with session(spark, ansi=False) as legacy:
        frame = arrow_frame(legacy, table, {"a": left, "b": right}).selectExpr(f"{to_sql(node)} AS result")
        assert frame.schema[0].dataType.simpleString() == node.type.sql
        results = [row[0] for row in frame.collect()]
    return [results[at : at + len(seconds)] for at in range(0, len(results), len(seconds))]
