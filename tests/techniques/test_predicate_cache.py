"""CACHE-1: whatever happens to a table, an answer through the cache is the answer over all blocks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from budget import examples
from cache_world import Query, World, run, searching
from hypothesis import settings

from pruning.errors import InputError
from pruning.expressions.trees import Column, Compare, Comparison, Literal, Opaque
from pruning.expressions.types import BOOLEAN, LONG
from pruning.techniques import predicate_cache as caching
from pruning.techniques.cache_entries import FileBlock
from pruning.techniques.predicate_cache import (
    Added,
    PredicateCache,
    Removed,
    RowsDeleted,
    Updated,
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
    assert cache.lookup(TOP.key, frozenset({2})) is None


def test_where_contributing_blocks_are_gone_a_filter_needs_no_others_and_a_top_k_does() -> None:
    assert recorded().lookup(FILTER.key, frozenset({1, 3, 5})) == {5}
    assert recorded(TOP).lookup(TOP.key, frozenset({1, 3, 5})) is None


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


def file_blocks(*files: str) -> frozenset[FileBlock]:
    return frozenset(FileBlock(file, 10, 1, group) for file in files for group in range(2))


def test_entries_in_a_directory_are_those_of_other_processes(tmp_path: Path) -> None:
    """Another cache over the same directory knows what the first has recorded, and of what the file says."""
    first, second = PredicateCache(directory=tmp_path), PredicateCache(directory=tmp_path)
    rows = frozenset({FileBlock("b", 10, 1, 1)})
    facts: dict[str, Any] = {"version": 0, "known_blocks": file_blocks("a", "b"), "columns": ()}
    assert first.record(FILTER.key, contributing=rows, **facts)
    assert second.lookup(FILTER.key, file_blocks("a", "b", "c")) == rows | file_blocks("c")
    assert second.knows_all(FILTER.key, file_blocks("a"))
    assert second.lookup(TOP.key, file_blocks("a")) is None
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert PredicateCache(directory=tmp_path).lookup(FILTER.key, file_blocks("a")) is None


def test_a_file_of_another_query_is_no_answer(tmp_path: Path) -> None:
    """Names of files are digests, which two queries might share."""
    first = PredicateCache(directory=tmp_path)
    first.record(FILTER.key, version=0, known_blocks=frozenset(), contributing=frozenset(), columns=())
    (path,) = tmp_path.iterdir()
    first.record(TOP.key, version=0, known_blocks=frozenset(), contributing=frozenset(), columns=())
    (other,) = set(tmp_path.iterdir()) - {path}
    path.rename(other)
    assert PredicateCache(directory=tmp_path).lookup(TOP.key, frozenset()) is None


def test_a_directory_and_the_memory_are_bounded(tmp_path: Path) -> None:
    """The oldest files go, by their number and by their bytes; a query of too many blocks is not kept."""
    cache = PredicateCache(entries_max=2, blocks_max=10, directory=tmp_path)
    for least in range(3):
        key = replace(FILTER, least=least).key
        cache.record(key, version=0, known_blocks=file_blocks("a"), contributing=frozenset(), columns=())
    assert len(cache) == len(list(tmp_path.iterdir())) == 2
    long_names = file_blocks(*(f"{letter * 400}{number}" for number, letter in enumerate("abcde")))
    cache.record(TOP.key, version=0, known_blocks=long_names, contributing=frozenset(), columns=())
    assert len(cache) == 1
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 64 * 10
    too_many = file_blocks(*map(str, range(6)))
    assert not cache.record(
        FILTER.key, version=0, known_blocks=too_many, contributing=frozenset(), columns=()
    )


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = PredicateCache(directory=tmp_path / "file")
    with pytest.raises(InputError, match="cannot be written"):
        cache.record(FILTER.key, version=0, known_blocks=frozenset(), contributing=frozenset(), columns=())
    with pytest.raises(InputError, match="blocks that never change"):
        cache.note_change("t", Added(frozenset({1})))
