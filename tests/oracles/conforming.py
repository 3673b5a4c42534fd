"""Whether Spark gives expressions the values that the second opinion gives them, in one query."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from oracles.answers.unpruned import Raises, truths_per_row
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column, Compare, Comparison, Expression, type_of
from pruning.expressions.types import Value
from strategies.base.tables import Table


@dataclass(frozen=True, slots=True)
class Conformance:
    """How many values were compared, and where Spark has another one."""

    compared: int
    different: tuple[str, ...]


def conformance(
    spark: SparkSession,
    column: Column,
    values: Sequence[Value],
    expressions: Sequence[Expression],
    *,
    zone: str = "UTC",
) -> Conformance:
    """Expressions over one column, on each of the values.

    What is expected of an expression travels as a column of its own, so that Spark compares.
    """
    expected = [[_opinion(one, column, value, zone) for one in expressions] for value in values]
    names = [Column(f"expected {ordinal}", type_of(one)) for ordinal, one in enumerate(expressions)]
    rows = ((value, *(cell for cell, _ in cells)) for value, cells in zip(values, expected, strict=True))
    table = Table((column, *names), (tuple(rows),))
    asked = [
        Compare(Comparison.NULL_SAFE_EQUAL, one, name) for one, name in zip(expressions, names, strict=True)
    ]
    compared, different = 0, []
    for ordinal, truths in enumerate(truths_per_row(spark, table, asked, zone=zone)):
        assert not isinstance(truths, Raises), (to_sql(expressions[ordinal]), truths)
        for value, cells, same in zip(values, expected, truths, strict=True):
            cell, known = cells[ordinal]
            compared += known
            if known and not same:
                different.append(f"{to_sql(expressions[ordinal])} of {value!r} is not {cell!r} in {zone}")
    return Conformance(compared, tuple(different))


def _opinion(one: Expression, column: Column, value: Value, zone: str) -> tuple[Value | None, bool]:
    try:
        return evaluate(one, {column.name: value}, zone=zone), True
    except NoSecondOpinion:
        return None, False
