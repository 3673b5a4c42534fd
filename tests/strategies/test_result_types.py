"""The types of decimal results are Spark's own, for every pair of types that the strategies draw."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import pytest

from pruning.expressions.trees import Operator
from pruning.expressions.types import Type, decimal
from strategies.base.values import DECIMALS
from strategies.predicates.arithmetic import SHORT_DECIMALS
from strategies.predicates.result_types import (
    can_overflow,
    result_type,
    rounded_type,
    rounding_can_overflow,
    whole_type,
)

TYPES = (*DECIMALS, *SHORT_DECIMALS)
OPERATORS = tuple(operator for operator in Operator if operator is not Operator.INTEGRAL_DIVIDE)
DIGITS = (-38, -5, -1, 0, 1, 2, 9, 38)


def null(type_: Type) -> str:
    return f"CAST(NULL AS {type_.sql})"


def binary() -> Iterator[tuple[str, Type]]:
    for left, operator, right in product(TYPES, OPERATORS, TYPES):
        yield f"{null(left)} {operator.value} {null(right)}", result_type(operator, left, right)


def rounding_calls() -> Iterator[tuple[str, Type]]:
    for function, source, digits in product(("round", "bround", "floor", "ceil"), TYPES, DIGITS):
        yield f"{function}({null(source)}, {digits})", rounded_type(source, digits)


def whole() -> Iterator[tuple[str, Type]]:
    for function, source in product(("floor", "ceil"), TYPES):
        yield f"{function}({null(source)})", whole_type(source)


@pytest.mark.parametrize("cases", [binary, rounding_calls, whole])
def test_result_types_agree_with_spark(spark: Any, cases: Any) -> None:
    expected: Iterable[tuple[str, Type]] = list(cases())
    columns = [f"{text} AS c{ordinal}" for ordinal, (text, _) in enumerate(expected)]
    fields = spark.range(1).selectExpr(*columns).schema
    found = [field.dataType.simpleString() for field in fields]
    assert found == [type_.sql for _, type_ in expected]


NINES = "9" * 38
LIMITS = [
    (Operator.ADD, decimal(38, 0), decimal(38, 0), f"{NINES}BD", f"{NINES}BD"),
    (Operator.MULTIPLY, decimal(38, 0), decimal(1, 0), f"{NINES}BD", "9BD"),
    (Operator.DIVIDE, decimal(38, 0), decimal(1, 1), f"{NINES}BD", "0.1BD"),
    (Operator.INTEGRAL_DIVIDE, decimal(38, 0), decimal(1, 1), f"{NINES}BD", "0.1BD"),
]


@pytest.mark.parametrize(("operator", "left", "right", "one", "other"), LIMITS)
def test_what_overflows_in_spark_can_overflow(
    spark: Any, operator: Operator, left: Type, right: Type, one: str, other: str
) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        operands = f"CAST({one} AS {left.sql}) {operator.value} CAST({other} AS {right.sql})"
        assert spark.sql(f"SELECT {operands}").collect()[0][0] is None
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert can_overflow(operator, left, right)


def test_only_long_decimals_overflow_when_they_are_rounded() -> None:
    assert rounding_can_overflow(decimal(38, 0), -1)
    assert not rounding_can_overflow(decimal(37, 0), -1)
    assert not rounding_can_overflow(decimal(38, 10), 2)
