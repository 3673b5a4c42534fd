"""PROP-9: an expression written as SQL, read by Spark, and converted back means the same."""

from typing import Any

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st

from oracles.frames import session
from oracles.unpruned import Raises, needs_ansi, truths_per_row
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column, Expression, Opaque, walk
from pruning.expressions.types import LONG
from pruning.spark.predicates import parse
from strategies.layouts import tables
from strategies.predicates import predicates
from strategies.tables import Table

PREDICATES = 10


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
    asked = [data.draw(predicates(table, max_leaves=6)) for _ in range(PREDICATES)]
    again = [read_back(spark, table, predicate) for predicate in asked]
    plain = [not any(isinstance(node, Opaque) for node in walk(predicate)) for predicate in again]
    pairs = [(one, other) for one, other, known in zip(asked, again, plain, strict=True) if known]
    event(f"{len(pairs)} of {len(asked)} read back in full")
    truths = truths_per_row(spark, table, [predicate for pair in pairs for predicate in pair])
    for (asked_first, read), before, after in zip(pairs, truths[::2], truths[1::2], strict=True):
        assert not isinstance(before, Raises)
        assert not isinstance(after, Raises), to_sql(read)
        assert [truth is True for truth in before] == [truth is True for truth in after], to_sql(asked_first)


@pytest.mark.parametrize("depth", [1, 10])
def test_nested_ifs_are_read_back_in_full(spark: Any, depth: int) -> None:
    value = "a"
    for level in range(depth):
        value = f"if(a > {level}, {value} + 1, b)"
    read = parse(f"{value} > 5", {"a": LONG, "b": LONG})
    assert not any(isinstance(node, Opaque) for node in walk(read))
    assert sum(isinstance(node, Column) for node in walk(read)) > depth
