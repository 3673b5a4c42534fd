"""Expressions and tables written as JSON and read back."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions.trees import (
    Call,
    Column,
    Compare,
    Comparison,
    Function,
    Literal,
    Mode,
    Opaque,
    StartsWith,
)
from pruning.expressions.types import BINARY, BOOLEAN, DOUBLE, INTEGER, unknown
from strategies.codec import decode, decode_table, encode, encode_table
from strategies.layouts import tables
from strategies.predicates import predicates
from strategies.tables import Table

A = Column("a", INTEGER)


@given(st.data())
def test_predicates_come_back_as_they_were(data: st.DataObject) -> None:
    predicate = data.draw(predicates(data.draw(tables()), max_leaves=12, modes=tuple(Mode)))
    # NaN is not equal to itself, so texts are compared.
    assert repr(decode(json.loads(json.dumps(encode(predicate))))) == repr(predicate)


@given(tables(malformed_utf8=True))
def test_tables_come_back_bit_for_bit(table: Table) -> None:
    full = Table(table.columns, tuple(block for block in table.blocks if block))
    assert repr(decode_table(json.loads(json.dumps(encode_table(full))))) == repr(full)


@pytest.mark.parametrize(
    "expression",
    [
        Call(Function.ROUND, (A, Literal(-2, INTEGER)), INTEGER, Mode.LEGACY),
        Opaque("f(a)", BOOLEAN, (A,)),
        Opaque("g(a)", unknown("array<int>")),
        StartsWith(Column("b", BINARY), b"\xff\x00"),
        Compare(Comparison.LESS, Literal(math.inf, DOUBLE), Literal(-0.0, DOUBLE)),
    ],
    ids=repr,
)
def test_what_no_strategy_draws_comes_back_too(expression: Compare) -> None:
    assert repr(decode(json.loads(json.dumps(encode(expression))))) == repr(expression)


def test_a_class_of_another_time_is_refused() -> None:
    with pytest.raises(KeyError):
        decode(["Xor", ["Column", "a", "int"]])
