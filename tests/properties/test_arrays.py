"""PROP-1 and PROP-2 for predicates over the elements of arrays, by the bounds of the elements alone."""

import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from oracles.meaning.brute_force import evaluate
from pruning.expressions.function_groups import ARRAY_FUNCTIONS
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    Call,
    Compare,
    Comparison,
    Element,
    Expression,
    Function,
    Literal,
    Quantified,
    Quantifier,
)
from pruning.expressions.types import INTEGER
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.predicates.nested import NAME, ArrayTable, array_predicates, array_tables

SEARCH = unshrunk(1_500)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ArrayTable, Expression]:
    """An array column, and a predicate over its elements."""
    table = draw(array_tables())
    return table, draw(array_predicates(table))


def calls(predicate: Expression, function: Function) -> bool:
    """Tell if a predicate calls a function."""
    return any(isinstance(node, Call) and node.function is function for node in walk(predicate))


@examples(6)
@given(cases())
def test_verdicts_on_arrays_agree_with_their_elements(case: tuple[ArrayTable, Expression]) -> None:
    """NONE only where no array satisfies the predicate, ALL only where each does."""
    table, predicate = case
    verdicts = classify_blocks(predicate, table.metadata).to_pylist()
    for block, verdict in zip(table.blocks, verdicts, strict=True):
        event(f"verdict {Match(verdict).name}")
        truths = {evaluate(predicate, {NAME: array}) for array in block}
        assert verdict != Match.NONE or True not in truths
        assert verdict != Match.ALL or (block and truths <= {True})


def test_a_block_without_a_matching_element_is_reached() -> None:
    """Without this, the property could hold because nothing is ever proved."""

    def skipped(case: tuple[ArrayTable, Expression]) -> bool:
        table, predicate = case
        verdicts = classify_blocks(predicate, table.metadata).to_pylist()
        return any(
            verdict == Match.NONE and any(block)
            for block, verdict in zip(table.blocks, verdicts, strict=True)
        )

    find(cases(), skipped, settings=SEARCH)


@pytest.mark.parametrize(
    "function", sorted(ARRAY_FUNCTIONS - {Function.MAP_VALUE}, key=lambda function: function.name)
)
def test_a_block_is_skipped_by_the_bounds_of_its_elements(function: Function) -> None:
    """And the strategy draws the function."""
    table = ArrayTable(INTEGER, (((1, 3), (None,), ()), ((7, 9), None)))
    place = (Literal(1, INTEGER),) if function is Function.ELEMENT_AT else ()
    item = Call(function, (Element(NAME, (), INTEGER), *place), INTEGER)
    predicate = Compare(Comparison.GREATER, item, Literal(3, INTEGER))
    assert classify_blocks(predicate, table.metadata).to_pylist() == [Match.NONE, Match.SOME]
    find(cases(), lambda case: calls(case[1], function), settings=SEARCH)


@pytest.mark.parametrize("quantifier", Quantifier)
@pytest.mark.parametrize("truth", [True, False, None])
def test_quantifiers_reach_each_truth_value(quantifier: Quantifier, truth: bool | None) -> None:
    def reached(case: tuple[ArrayTable, Expression]) -> bool:
        table, predicate = case
        used = any(isinstance(node, Quantified) and node.quantifier is quantifier for node in walk(predicate))
        arrays = (array for block in table.blocks for array in block if array)
        return used and any(evaluate(predicate, {NAME: array}) is truth for array in arrays)

    find(cases(), reached, settings=SEARCH)
