"""PROP-11: the canonical form of an expression has its value on every row on which it has one."""

import math

import pyarrow as pa
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import (
    And,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    Literal,
    Mode,
    Opaque,
)
from pruning.expressions.types import BOOLEAN, DOUBLE, INTEGER, LONG
from pruning.rules.compile.canonical import canonical
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.base.layouts import tables
from strategies.predicates.predicates import predicates

A, B = Column("a", INTEGER), Column("b", INTEGER)


@examples(8)
@given(st.data())
def test_the_canonical_form_means_the_same(data: st.DataObject) -> None:
    table = data.draw(tables())
    predicate = data.draw(predicates(table, max_leaves=10, modes=tuple(Mode)))
    form = canonical(predicate)
    event("changed" if form != predicate else "as it was")
    for row in table.rows:
        try:
            expected = evaluate(predicate, table.as_mapping(row))
        except (Overflow, NoSecondOpinion):
            continue
        assert same(evaluate(form, table.as_mapping(row)), expected)


def same(left: object, right: object) -> bool:
    """Equal values; NaN is equal to itself."""
    both_nan = all(isinstance(value, float) and math.isnan(value) for value in (left, right))
    return both_nan or left == right


def test_what_makes_no_difference_goes() -> None:
    """Without this, the property could hold because nothing is ever rewritten."""
    true, never = Literal(True, BOOLEAN), Literal(False, BOOLEAN)
    written: dict[Expression, Expression] = {
        Cast(A, LONG, Mode.TRY): Cast(A, LONG),
        Cast(A, DOUBLE, Mode.LEGACY): Cast(A, DOUBLE),
        Coalesce((A, B, A)): Coalesce((A, B)),
        Coalesce((A, A)): A,
        Call(Function.GREATEST, (A, A), INTEGER): A,
        Case(((never, A),), B): B,
        Case(((never, B), (true, A)), B): A,
        Case(((Column("p", BOOLEAN), Coalesce((A, A))),), A): A,
    }
    assert {form: canonical(form) for form in written} == written


def test_what_may_differ_stays() -> None:
    random = Opaque("rand()", DOUBLE)
    for expression in (
        Coalesce((random, random)),
        Call(Function.LEAST, (random, random), DOUBLE),
        Cast(Column("x", LONG), INTEGER, Mode.TRY),
    ):
        assert canonical(expression) == expression


def test_expressions_on_zeros_of_two_signs_are_not_one() -> None:
    """power(0.0, -1) is Infinity, power(-0.0, -1) is -Infinity: both comparisons hold of one row."""
    column = Column("x", DOUBLE)
    positive, negative = (
        Call(Function.POWER, (Literal(zero, DOUBLE), column), DOUBLE) for zero in (0.0, -0.0)
    )
    both = And(
        (
            Compare(Comparison.GREATER, positive, Literal(1.0, DOUBLE)),
            Compare(Comparison.LESS, negative, Literal(-1.0, DOUBLE)),
        )
    )
    assert evaluate(both, {"x": -1.0}) is True
    statistics = pa.array([{"min": -1.0, "max": -1.0, "null_count": 0, "nan_count": 0}])
    columns = pa.StructArray.from_arrays([statistics], ["x"])
    known = pa.table({"row_count": pa.array([1], pa.int64()), "columns": columns})
    assert classify_blocks(both, known).to_pylist() != [Match.NONE]
