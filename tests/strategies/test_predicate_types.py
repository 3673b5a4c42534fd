"""Predicates are well typed, need one mode of the session, and overflow only where asked to."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.function_groups import mode_of
from pruning.expressions.traversal import children, walk
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Coalesce,
    Column,
    Compare,
    Expression,
    Function,
    In,
    Like,
    Literal,
    Mode,
    Not,
    Operator,
    Or,
    StartsWith,
    type_of,
)
from pruning.expressions.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    Kind,
    Type,
)
from strategies.base.layouts import tables
from strategies.base.tables import Table
from strategies.base.values import TYPES
from strategies.predicates.conversions import casts, narrowings, translations, widenings
from strategies.predicates.predicates import predicates
from strategies.predicates.result_types import result_type, rounded_type, whole_type

TABLE = Table((Column("i", INTEGER),), (((7,), (None,)),))


@given(tables().flatmap(lambda table: predicates(table, max_leaves=8, modes=tuple(Mode))))
def test_predicates_are_always_well_typed(predicate: Expression) -> None:
    assert type_of(predicate) == BOOLEAN
    for node in walk(predicate):
        assert _well_typed(node), node


def _well_typed(node: Expression) -> bool:
    parts = [type_of(part) for part in children(node)]
    match node:
        case Compare() | In() | Coalesce():
            return len(set(parts)) == 1
        case And() | Or() | Not():
            return set(parts) == {BOOLEAN}
        case Like():
            return parts == [STRING]
        case StartsWith():
            return parts[0] in (STRING, BINARY)
        case Case(branches, _):
            return set(parts[0 : 2 * len(branches) : 2]) == {BOOLEAN} and len({*parts[1::2], parts[-1]}) == 1
        case Arithmetic(Operator.INTEGRAL_DIVIDE, type=type_):
            return type_ == LONG and {part.kind for part in parts} in ({Kind.LONG}, {Kind.DECIMAL})
        case Arithmetic(operator, type=type_) if type_.kind is Kind.DECIMAL:
            return result_type(operator, *parts) == type_
        case Arithmetic(operator, type=type_):
            return set(parts) == {type_} and (operator is not Operator.DIVIDE or type_ == DOUBLE)
        case Call():
            return _well_typed_call(node, parts)
        case _:
            return True


def _well_typed_call(node: Call, parts: list[Type]) -> bool:
    match node:
        case Call(Function.GREATEST | Function.LEAST | Function.NEGATE | Function.ABS):
            return set(parts) == {node.type}
        case Call(Function.FLOOR | Function.CEIL, (_,)):
            return node.type == (LONG if parts == [DOUBLE] else whole_type(parts[0]))
        case Call(_, (_, Literal(int(digits)))):
            decimals = node.type.kind is Kind.DECIMAL
            return node.type == (rounded_type(parts[0], digits) if decimals else parts[0])
        case _:
            return {*parts, node.type} == {DOUBLE}


@given(tables().flatmap(lambda table: predicates(table, modes=tuple(Mode))))
def test_predicates_never_need_ansi_mode_both_on_and_off(predicate: Expression) -> None:
    modes = {mode_of(node) for node in walk(predicate)}
    assert not modes >= {Mode.ANSI, Mode.LEGACY}


@given(tables().flatmap(lambda table: st.tuples(st.just(table), predicates(table))))
def test_predicates_never_overflow_unless_asked(drawn: tuple[Table, Expression]) -> None:
    """The second opinion raises on overflow, so that evaluating is the claim.

    It has none on the text of some doubles, which does not depend on what fits.
    """
    table, predicate = drawn
    for row in table.rows:
        with contextlib.suppress(NoSecondOpinion):
            assert evaluate(predicate, table.as_mapping(row)) in (True, False, None)


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_widenings_name_each_type_once_and_never_the_source(source: Type) -> None:
    assert source not in widenings(source)
    assert len(set(widenings(source))) == len(widenings(source))


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_casts_are_of_one_kind_each(source: Type) -> None:
    """A cast that is called harmless and is not would raise where nothing may."""
    assert len(set(casts(source))) == len(casts(source))
    assert not {*widenings(source), *translations(source)} & set(narrowings(source))


def test_predicates_without_a_mode_are_refused() -> None:
    with pytest.raises(ValueError, match="modes is empty"):
        find(predicates(TABLE, modes=()), lambda drawn: True)


def test_predicates_of_one_leaf_are_refused() -> None:
    with pytest.raises(ValueError, match="max_leaves is 1"):
        find(predicates(TABLE, max_leaves=1), lambda drawn: True)
