"""PROP-1 and PROP-2 for predicates over the values of keys in maps, by the bounds of keys and of values."""

import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from oracles.meaning.brute_force import evaluate
from pruning.expressions.trees import And, Compare, Comparison, Expression, IsNull, Literal
from pruning.expressions.types import INTEGER, STRING
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.predicates.maps import MAP_NAME, MapTable, map_predicates, map_tables, value_at

SEARCH = unshrunk(1_500)
TABLE = MapTable(
    STRING, INTEGER, ((((b"a", 1), (b"c", 3)), None, ()), (((b"d", 7), (b"d", 9)), ((b"f", None),)))
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[MapTable, Expression]:
    """A map column, and a predicate over the values of its keys."""
    table = draw(map_tables())
    return table, draw(map_predicates(table))


def verdicts_of(table: MapTable, predicate: Expression) -> list[int]:
    """The verdict of each block."""
    verdicts: list[int] = classify_blocks(predicate, table.metadata).to_pylist()
    return verdicts


@examples(10)
@given(cases())
def test_verdicts_on_maps_agree_with_their_values(case: tuple[MapTable, Expression]) -> None:
    """NONE only where no map satisfies the predicate, ALL only where each does."""
    table, predicate = case
    for block, verdict in zip(table.blocks, verdicts_of(*case), strict=True):
        event(f"verdict {Match(verdict).name}")
        truths = {evaluate(predicate, {MAP_NAME: entries}) for entries in block}
        assert verdict != Match.NONE or True not in truths
        assert verdict != Match.ALL or (block and truths <= {True})


@pytest.mark.parametrize(
    ("key", "value", "verdicts"),
    [
        (b"a", 1, [Match.SOME, Match.NONE]),  # below the keys of the second block
        (b"e", 7, [Match.NONE, Match.SOME]),  # between its keys: a value of another key is 7
        (b"d", 3, [Match.NONE, Match.NONE]),  # within the keys, beyond the values
        (b"z", 7, [Match.NONE, Match.NONE]),
    ],
)
def test_a_block_is_skipped_by_the_bounds_of_its_keys_and_values(
    key: bytes, value: int, verdicts: list[Match]
) -> None:
    equal = Compare(Comparison.EQUAL, value_at(TABLE, Literal(key, STRING)), Literal(value, INTEGER))
    assert verdicts_of(TABLE, equal) == verdicts


def test_a_key_beyond_the_bounds_has_no_value_on_any_row() -> None:
    missing = IsNull(value_at(TABLE, Literal(b"e", STRING)))
    assert verdicts_of(TABLE, missing) == [Match.ALL, Match.SOME]


def test_the_first_entry_of_a_key_counts() -> None:
    value = value_at(TABLE, Literal(b"d", STRING))
    assert evaluate(value, {MAP_NAME: TABLE.blocks[1][0]}) == 7


def test_a_condition_on_one_key_says_nothing_of_another() -> None:
    table = MapTable(INTEGER, INTEGER, ((((1, 3), (2, 5)),),))
    both = And(
        tuple(
            Compare(Comparison.EQUAL, value_at(table, Literal(key, INTEGER)), Literal(value, INTEGER))
            for key, value in ((1, 3), (2, 5))
        )
    )
    assert evaluate(both, {MAP_NAME: table.blocks[0][0]}) is True
    assert verdicts_of(table, both) == [Match.SOME]


@pytest.mark.parametrize("verdict", [Match.NONE, Match.ALL])
def test_a_block_of_entries_that_is_decided_is_reached(verdict: Match) -> None:
    """Without this, the property could hold because nothing is ever proved."""

    def decides(case: tuple[MapTable, Expression]) -> bool:
        table = case[0]
        return any(
            own == verdict and any(block) for block, own in zip(table.blocks, verdicts_of(*case), strict=True)
        )

    find(cases(), decides, settings=SEARCH)


def test_maps_with_a_key_twice_are_reached() -> None:
    def repeats(table: MapTable) -> bool:
        maps = [entries or () for block in table.blocks for entries in block]
        return any(len({key for key, _ in entries}) < len(entries) for entries in maps)

    find(map_tables(), repeats, settings=SEARCH)
