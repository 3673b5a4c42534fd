"""PROP-9: an expression written as SQL, read by Spark, and converted back means the same."""

from typing import Any

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st

from oracles.answers.frames import session
from oracles.answers.unpruned import Raises, needs_ansi, truths_per_row
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Column, Expression, Mode, Opaque
from pruning.expressions.types import DOUBLE, INTEGER, LONG, decimal
from pruning.spark.drive.predicates import parse
from strategies.base.layouts import tables
from strategies.base.tables import Table
from strategies.predicates.predicates import predicates

PREDICATES = 10
MODES = ((Mode.TRY,), (Mode.LEGACY, Mode.TRY), (Mode.ANSI, Mode.TRY))


def read_back(spark: Any, table: Table, predicate: Expression) -> Expression:
    """The predicate by way of SQL and Catalyst, in a session where its modes mean what they say."""
    types = {column.name: column.type for column in table.columns}
    with session(spark, ansi=needs_ansi(predicate)):
        return parse(to_sql(predicate), types)


@examples(0.3)
@given(st.data())
def test_a_predicate_read_back_is_true_of_the_same_rows(spark: Any, data: st.DataObject) -> None:
    """PROP-9. Spark's optimizer keeps what is TRUE and may trade FALSE for NULL, so TRUE is compared."""
    table = data.draw(tables())
    modes = data.draw(st.sampled_from(MODES))
    asked = [data.draw(predicates(table, max_leaves=6, modes=modes)) for _ in range(PREDICATES)]
    again = [read_back(spark, table, predicate) for predicate in asked]
    plain = [not any(isinstance(node, Opaque) for node in walk(predicate)) for predicate in again]
    pairs = [(one, other) for one, other, known in zip(asked, again, plain, strict=True) if known]
    event(f"{len(pairs)} of {len(asked)} read back in full")
    truths = truths_per_row(spark, table, [predicate for pair in pairs for predicate in pair])
    for (asked_first, read), before, after in zip(pairs, truths[::2], truths[1::2], strict=True):
        if isinstance(before, Raises) or isinstance(after, Raises):
            # The optimizer may evaluate less than was asked, and more on behalf of IS NOT NULL.
            assert Mode.ANSI in modes, to_sql(read)
            event("raises")
            continue
        assert [truth is True for truth in before] == [truth is True for truth in after], to_sql(asked_first)


NUMBERS = {"i": INTEGER, "b": LONG, "d": DOUBLE, "m": decimal(10, 2), "w": decimal(38, 10)}
KNOWN = [
    "i * 2 + b > 7",
    "d / 2 BETWEEN 1 AND 9",
    "m * m > w",
    "m / 3 > 1.5",
    "w * w > 1",
    "i div 3 = b",
    "m % 3 = 1",
    "-i < abs(b)",
    "round(m, 1) = floor(d) + 0.5",
    "bround(d, 2) > ceil(m)",
    "sqrt(b) + exp(d) > ln(m) + log10(i)",
    "log2(d) < log1p(d) OR log(2, d) > power(d, 3)",
    "sign(m) = 1 OR greatest(i, b, 3) = least(i, 7)",
    "nullif(i, 3) > nvl(b, 2)",
    "try_divide(m, i) > try_multiply(m, 2)",
    "if(i > 3, m * 2, m / 2) > 10",
]


@pytest.mark.parametrize("sql", KNOWN)
def test_arithmetic_and_functions_of_numbers_are_read_in_full_and_written_alike(spark: Any, sql: str) -> None:
    """Beside an OR, so that no IS NOT NULL is inferred."""
    read = parse(f"({sql}) OR i IS NULL", NUMBERS)
    assert not any(isinstance(node, Opaque) for node in walk(read))
    assert parse(to_sql(read), NUMBERS) == read


@pytest.mark.parametrize("depth", [1, 10])
def test_nested_ifs_are_read_back_in_full(spark: Any, depth: int) -> None:
    value = "a"
    for level in range(depth):
        value = f"if(a > {level}, {value} + 1, b)"
    read = parse(f"{value} > 5", {"a": LONG, "b": LONG})
    assert not any(isinstance(node, Opaque) for node in walk(read))
    assert sum(isinstance(node, Column) for node in walk(read)) > depth
