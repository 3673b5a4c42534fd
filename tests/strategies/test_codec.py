"""Expressions and tables written as JSON and read back."""

import gzip
import json
import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions import trees
from pruning.expressions.names import Inside
from pruning.expressions.trees import (
    Call,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    Literal,
    Mode,
    Opaque,
    StartsWith,
)
from pruning.expressions.types import BINARY, BOOLEAN, DOUBLE, INTEGER, unknown
from strategies.base.codec import Json, decode, decode_table, encode, encode_table
from strategies.base.layouts import tables
from strategies.base.tables import Table
from strategies.base.tags import MEMBER_TAGS, MEMBERS, NODE_TAGS
from strategies.predicates.committed import PATH
from strategies.predicates.predicates import predicates

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


def test_every_node_and_every_member_has_a_written_name() -> None:
    """A class that is added gets a name; a class that is renamed keeps it."""
    assert set(NODE_TAGS) == set(get_args(trees.Expression))
    assert set(MEMBER_TAGS) == {
        *trees.Comparison, *trees.Operator, *trees.Mode, *trees.Function, *trees.Quantifier, *Inside,
    }  # fmt: skip
    assert sum(map(len, MEMBERS.values())) == len(MEMBER_TAGS)


@pytest.mark.parametrize(
    ("saved", "expression"),
    [
        (["Compare", "LESS", ["Column", "a", "int"], ["Literal", 1, "int"]],
         Compare(Comparison.LESS, A, Literal(1, INTEGER))),
        (["Call", "ROUND", [["Column", "a", "int"], ["Literal", -2, "int"]], "int", "LEGACY"],
         Call(Function.ROUND, (A, Literal(-2, INTEGER)), INTEGER, Mode.LEGACY)),
    ],
    ids=["comparison", "call"],
)  # fmt: skip
def test_what_was_saved_before_can_be_read(saved: Json, expression: Expression) -> None:
    assert (decode(saved), encode(expression)) == (expression, saved)


def test_committed_sets_are_written_as_they_were() -> None:
    """Reading and writing gives the same text again, so no name has changed."""
    with gzip.open(PATH, "rt", encoding="utf-8") as lines:
        first = json.loads(next(lines))
    assert [encode(decode(predicate)) for predicate in first["predicates"]] == first["predicates"]
