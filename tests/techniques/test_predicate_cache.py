"""CACHE-1: whatever happens to a table, an answer through the cache is the answer over all blocks."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from cache_world import Query, World, run, searching
from hypothesis import settings

from pruning.errors import InputError
from pruning.expressions.trees import Column, Compare, Comparison, Literal, Opaque
from pruning.expressions.types import BOOLEAN, LONG
from pruning.techniques import predicate_cache as caching
from pruning.techniques.predicate_cache import (
    Added,
    FileBlock,
    PredicateCache,
    Removed,
    RowsDeleted,
    Updated,
    blocks_of,
)


def test_an_answer_through_the_cache_is_the_answer_over_all_blocks() -> None:
    """CACHE-1."""
    run(World, settings(examples(2), stateful_step_count=25))


class Reached(Exception):
    """What was looked for has happened."""


class Counting(World):
    """Looks for a hit that skips blocks while it scans one that was added since."""

    def hit(self, query: Query, scanned: frozenset[int]) -> None:
        added = any(id_ >= self.unseen[query] for id_ in scanned)
        if added and scanned < frozenset(self.blocks) and self.wanted(query):
            raise Reached

    @staticmethod
    def wanted(query: Query) -> bool:
        return query.wanted is None


class CountingTopK(Counting):
    """The same of top-k queries."""

    @staticmethod
    def wanted(query: Query) -> bool:
        return query.wanted is not None


@pytest.mark.parametrize("machine", [Counting, CountingTopK])
def test_queries_hit_and_skip_blocks_while_others_were_added(machine: type[World]) -> None:
    """Without this, CACHE-1 could hold because nothing is ever found."""
    with pytest.raises(Reached):
        run(machine, searching(2_000))


FILTER = Query(least=1, wanted=None, ansi=True, zone="UTC")
TOP = replace(FILTER, wanted=2)


def recorded(query: Query = FILTER, **more: Any) -> PredicateCache:
    """A cache that knows of one query, which saw the blocks 1 to 4 and needed 2."""
    cache = PredicateCache(**{"entries_max": 2, **more})
    facts = {
        "known_blocks": frozenset({1, 2, 3, 4}),
        "contributing": frozenset({2}),
        "columns": query.columns,
    }
    assert cache.record(query.key, version=cache.version("t"), **facts)
    return cache


def test_a_hit_scans_what_contributed_and_what_came_since() -> None:
    cache = recorded()
    assert cache.lookup(FILTER.key, frozenset({1, 2, 3, 4})) == {2}
    assert cache.lookup(FILTER.key, frozenset({2, 3, 5})) == {2, 5}
    assert cache.lookup(FILTER.key, frozenset({1, 3})) is None
    assert cache.lookup(TOP.key, frozenset({2})) is None


#    what happens to the table                    change, and whether the entry is valid after it
CHANGES = {
    "rows of another block are deleted": (RowsDeleted(frozenset({1})), True),
    "rows of its block are deleted": (RowsDeleted(frozenset({2})), False),
    "another column of another block is updated": (Updated(frozenset({1}), frozenset("c")), True),
    "another column of its block is updated": (Updated(frozenset({2}), frozenset("c")), True),
    "the order's column is updated": (Updated(frozenset({1}), frozenset("b")), False),
    "the predicate's column is updated, with another": (Updated(frozenset({1}), frozenset("ac")), False),
    "a block that came since is updated": (Updated(frozenset({9}), frozenset("a")), True),
    "a block is added": (Added(frozenset({9})), True),
    "a block is added under its block's name": (Added(frozenset({2})), False),
    "another block is removed": (Removed(frozenset({1})), True),
    "its block is removed": (Removed(frozenset({2})), False),
}


@pytest.mark.parametrize(("change", "valid"), CHANGES.values(), ids=CHANGES)
def test_an_entry_is_valid_while_nothing_that_it_rests_on_changes(
    change: caching.Change, valid: bool
) -> None:
    cache = recorded(TOP)
    cache.note_change("another", change)
    assert cache.lookup(TOP.key, frozenset({1, 2, 3, 4})) == {2}
    cache.note_change("t", change)
    assert (cache.lookup(TOP.key, frozenset({2, 3, 4})) == {2}) is valid


def test_the_least_recently_used_query_goes_first() -> None:
    cache = recorded()
    nothing = {"version": 0, "known_blocks": frozenset(), "contributing": frozenset(), "columns": ()}
    cache.record(TOP.key, **nothing)
    assert cache.lookup(FILTER.key, frozenset({2})) is not None
    cache.record(replace(TOP, zone="Asia/Kolkata").key, **nothing)
    assert len(cache) == 2
    assert cache.lookup(TOP.key, frozenset()) is None
    assert cache.lookup(FILTER.key, frozenset({2})) is not None


def test_a_query_is_not_recorded_where_changes_since_are_forgotten() -> None:
    cache = recorded(changes_max=1)
    facts: dict[str, Any] = {"known_blocks": frozenset({1}), "contributing": frozenset(), "columns": "a"}
    for ordinal in (10, 11):
        cache.note_change("t", Added(frozenset({ordinal})))
    assert cache.record(TOP.key, version=1, **facts)
    assert not cache.record(TOP.key, version=0, **facts)


def test_what_may_be_another_filter_each_time_is_not_recorded() -> None:
    cache = recorded()
    facts: dict[str, Any] = {
        "version": 0,
        "known_blocks": frozenset(),
        "contributing": frozenset(),
        "columns": (),
    }
    assert not cache.record(replace(FILTER.key, predicate=Opaque("rand() < 0.5", BOOLEAN)), **facts)


def test_the_columns_of_an_expression_need_not_be_named() -> None:
    cache = PredicateCache(entries_max=1)
    key = replace(FILTER.key, predicate=Compare(Comparison.LESS, Column("a", LONG), Literal(3, LONG)))
    cache.record(key, version=0, known_blocks=frozenset({1}), contributing=frozenset(), columns=())
    cache.note_change("t", Updated(frozenset({1}), frozenset("a")))
    assert cache.lookup(key, frozenset({1})) is None


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="were not seen"):
        recorded().record(
            TOP.key, version=0, known_blocks=frozenset(), contributing=frozenset({1}), columns=frozenset()
        )
    with pytest.raises(InputError, match="entries_max=0"):
        PredicateCache(entries_max=0)


def test_a_file_that_is_written_anew_has_other_blocks() -> None:
    metadata = pa.table({"file": ["x", "x", "y"], "row_group": [0, 1, 0]})
    before = blocks_of(metadata, {"x": (10, 1), "y": (20, 2)})
    after = blocks_of(metadata, {"x": (10, 3), "y": (20, 2)})
    assert before[1] == FileBlock("x", 10, 1, 1)
    assert set(before) & set(after) == {FileBlock("y", 20, 2, 0)}
