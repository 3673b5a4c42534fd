"""CACHE-1: whatever happens to a table, an answer through the cache is the answer over all blocks."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pruning.errors import InputError
from pruning.expressions.plans import Ordering
from pruning.expressions.trees import Column, Compare, Comparison, Literal, Opaque
from pruning.expressions.types import BOOLEAN, LONG
from pruning.techniques import cache as caching
from pruning.techniques.cache import (
    Added,
    CacheKey,
    FileBlock,
    PredicateCache,
    Removed,
    RowsDeleted,
    Updated,
    blocks_of,
)

VALUES = 4
ZONES = {"UTC": 0, "Asia/Kolkata": 1}
WORLD_BLOCKS_MAX = 6


@dataclass(frozen=True, slots=True)
class Row:
    """The filter is on `a`, the order on `b`; nothing is asked of `c`."""

    a: int
    b: int | None
    c: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Rows whose `a`, as the session sees it, is at least `least`; the first `wanted` by `b`, or all."""

    least: int
    wanted: int | None
    ansi: bool
    zone: str

    @property
    def key(self) -> CacheKey:
        """The query as the cache knows it."""
        order = (Ordering(Column("b", LONG), descending=False, nulls_first=True),)
        return CacheKey(
            table="t",
            predicate=f"seen(a) >= {self.least}",
            order=() if self.wanted is None else order,
            wanted=self.wanted,
            ansi=self.ansi,
            zone=self.zone,
            collation="UTF8_BINARY",
        )

    @property
    def columns(self) -> frozenset[str]:
        """Those of the filter and the order."""
        return frozenset("a" if self.wanted is None else "ab")

    def matches(self, row: Row) -> bool:
        """What the filter says depends on the session."""
        local = (row.a + ZONES[self.zone]) % VALUES
        return (local if self.ansi else VALUES - 1 - local) >= self.least

    def run(self, blocks: Mapping[int, tuple[Row, ...]]) -> list[tuple[int, Row]]:
        """The rows that answer, each with its block; of rows that tie, those of older blocks."""
        found = [(id_, row) for id_ in sorted(blocks) for row in blocks[id_] if self.matches(row)]
        if self.wanted is None:
            return found
        return sorted(found, key=lambda each: place(each[1]))[: self.wanted]

    def shown(self, answer: Iterable[tuple[int, Row]]) -> object:
        """What SQL says of an answer: of rows that tie any will do."""
        rows = [row for _, row in answer]
        return Counter(rows) if self.wanted is None else list(map(place, rows))


def place(row: Row) -> tuple[bool, int]:
    """Where ORDER BY b NULLS FIRST puts a row."""
    return (row.b is not None, row.b or 0)


ROWS = st.builds(
    Row, st.integers(0, VALUES - 1), st.none() | st.integers(0, VALUES - 1), st.integers(0, VALUES - 1)
)
BLOCKS = st.lists(ROWS, max_size=3).map(tuple)
QUERIES = st.builds(
    Query,
    least=st.integers(1, 2),
    wanted=st.none() | st.integers(1, 2),
    ansi=st.booleans(),
    zone=st.sampled_from(sorted(ZONES)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A query that has read which blocks there are, and is not recorded yet."""

    query: Query
    version: int
    blocks: dict[int, tuple[Row, ...]]


class World(RuleBasedStateMachine):
    """A table that changes between, and during, queries through the cache."""

    cache_class: Callable[..., PredicateCache] = PredicateCache

    @initialize(blocks=st.lists(BLOCKS, min_size=1, max_size=3), query=QUERIES)
    def begin(self, blocks: list[tuple[Row, ...]], query: Query) -> None:
        self.query = query
        self.cache = self.cache_class(entries_max=3, changes_max=4)
        self.blocks: dict[int, tuple[Row, ...]] = dict(enumerate(blocks))
        self.next_id = len(blocks)
        self.running: list[Running] = []
        self.unseen: dict[Query, int] = {}  # blocks from this id on came after the query

    def some(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.blocks)))

    @rule(block=BLOCKS)
    @precondition(lambda self: len(self.blocks) < WORLD_BLOCKS_MAX)
    def add(self, block: tuple[Row, ...]) -> None:
        self.blocks[self.next_id] = block
        self.cache.changed("t", Added(frozenset({self.next_id})))
        self.next_id += 1

    @rule(data=st.data(), told=st.booleans())
    @precondition(lambda self: self.blocks)
    def remove(self, data: st.DataObject, told: bool) -> None:
        """Ids are not used again, so that the cache need not be told."""
        id_ = self.some(data)
        del self.blocks[id_]
        if told:
            self.cache.changed("t", Removed(frozenset({id_})))

    @rule(data=st.data(), block=BLOCKS)
    @precondition(lambda self: self.blocks)
    def write_anew(self, data: st.DataObject, block: tuple[Row, ...]) -> None:
        """Copy on write under the same id, with any other rows."""
        id_ = self.some(data)
        self.blocks[id_] = block
        self.cache.changed("t", Removed(frozenset({id_})))
        self.cache.changed("t", Added(frozenset({id_})))

    @rule(data=st.data(), row=ROWS)
    @precondition(lambda self: self.blocks)
    def insert(self, data: st.DataObject, row: Row) -> None:
        id_ = self.some(data)
        self.blocks[id_] = (*self.blocks[id_], row)
        self.cache.changed("t", Added(frozenset({id_})))

    @rule(data=st.data(), column=st.sampled_from("abc"), value=st.integers(0, VALUES - 1))
    @precondition(lambda self: self.blocks)
    def update(self, data: st.DataObject, column: str, value: int) -> None:
        id_ = self.some(data)
        self.blocks[id_] = tuple(replace(row, **{column: value}) for row in self.blocks[id_])
        self.cache.changed("t", Updated(frozenset({id_}), frozenset({column})))

    @rule(data=st.data())
    @precondition(lambda self: any(self.blocks.values()))
    def delete_row(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(sorted(id_ for id_, rows in self.blocks.items() if rows)))
        self.blocks[id_] = self.blocks[id_][1:]
        self.cache.changed("t", RowsDeleted(frozenset({id_})))

    @rule(ansi=st.booleans(), zone=st.sampled_from(sorted(ZONES)))
    def ask_in_another_session(self, ansi: bool, zone: str) -> None:
        self.ask(replace(self.query, ansi=ansi, zone=zone))

    @rule()
    def ask_again(self) -> None:
        self.ask(self.query)

    def ask(self, query: Query) -> None:
        self.check(query)
        self.finish(self.started(query))

    @rule()
    def start(self) -> None:
        self.running.append(self.started(self.query))

    @rule()
    @precondition(lambda self: self.running)
    def end(self) -> None:
        self.finish(self.running.pop(0))

    @invariant()
    def every_query_is_answered(self) -> None:
        """The property, after each step of all queries so far."""
        for query in self.unseen:
            self.check(query)

    def check(self, query: Query) -> None:
        scanned = self.cache.lookup(query.key, frozenset(self.blocks))
        if scanned is not None:
            self.hit(query, scanned)
            some = {id_: self.blocks[id_] for id_ in scanned & frozenset(self.blocks)}
            assert query.shown(query.run(some)) == query.shown(query.run(self.blocks))

    def hit(self, query: Query, scanned: frozenset[int]) -> None:
        """A lookup that answered."""

    def started(self, query: Query) -> Running:
        return Running(query=query, version=self.cache.version("t"), blocks=dict(self.blocks))

    def finish(self, done: Running) -> None:
        answer = done.query.run(done.blocks)
        self.cache.record(
            done.query.key,
            version=done.version,
            seen=frozenset(done.blocks),
            contributing=frozenset(id_ for id_, _ in answer),
            columns=done.query.columns,
        )
        self.unseen[done.query] = max(done.blocks, default=-1) + 1


SEARCH = settings(
    max_examples=600,
    stateful_step_count=20,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


def run(machine: type[World], how: settings) -> None:
    """Drive a world; fails where a rule fails."""
    run_state_machine_as_test(machine, settings=how)


def test_an_answer_through_the_cache_is_the_answer_over_all_blocks() -> None:
    """CACHE-1."""
    run(World, settings(max_examples=2 * settings.default.max_examples, stateful_step_count=25))


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
        run(machine, SEARCH)


class IgnoresAdded(PredicateCache):
    """Scans what contributed and nothing else."""

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        scanned = super().lookup(key, blocks)
        return scanned and scanned & self._entries[key].contributing


class IgnoresVanished(PredicateCache):
    """Scans what is left of the contributing blocks."""

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        entry = self._entries.get(key)
        return None if entry is None else super().lookup(key, blocks | entry.contributing)


class WithoutZone(PredicateCache):
    """Takes two time zones for one."""

    def record(self, key: CacheKey, **facts: Any) -> bool:
        return super().record(replace(key, zone=""), **facts)

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        return super().lookup(replace(key, zone=""), blocks)


class WithoutAnsi(PredicateCache):
    """Takes sessions with and without ANSI mode for one."""

    def record(self, key: CacheKey, **facts: Any) -> bool:
        return super().record(replace(key, ansi=True), **facts)

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        return super().lookup(replace(key, ansi=True), blocks)


class WithoutVersion(PredicateCache):
    """Believes that nothing happened while the query ran."""

    def record(self, key: CacheKey, *, version: int, **facts: Any) -> bool:
        return super().record(key, version=self.version(key.table), **facts)


class ForgetsColumn(PredicateCache):
    """Does not see updates of one column."""

    column = ""

    def changed(self, table: str, change: caching.Change) -> None:
        if not isinstance(change, Updated) or self.column not in change.columns:
            super().changed(table, change)


class ForgetsPredicateColumn(ForgetsColumn):
    """Updates of `a`, which the filter is on."""

    column = "a"


class ForgetsOrderingColumn(ForgetsColumn):
    """Updates of `b`, which the order is on."""

    column = "b"


class OnlyContributing(PredicateCache):
    """Takes an update of a block that did not contribute for harmless."""

    def changed(self, table: str, change: caching.Change) -> None:
        if isinstance(change, Updated):
            change = RowsDeleted(change.blocks)
        super().changed(table, change)


class ForgetsDeletedRows(PredicateCache):
    """Takes fewer rows in a contributing block for harmless, as they are for a filter."""

    def changed(self, table: str, change: caching.Change) -> None:
        if not isinstance(change, RowsDeleted):
            super().changed(table, change)


class ForgetsOldIds(PredicateCache):
    """Takes ids that come back for the blocks that they were."""

    def changed(self, table: str, change: caching.Change) -> None:
        if not isinstance(change, Added | Removed):
            super().changed(table, change)


@pytest.mark.parametrize(
    "twin",
    [
        IgnoresAdded,
        IgnoresVanished,
        WithoutZone,
        WithoutAnsi,
        WithoutVersion,
        ForgetsPredicateColumn,
        ForgetsOrderingColumn,
        OnlyContributing,
        ForgetsDeletedRows,
        ForgetsOldIds,
    ],
)
def test_the_property_kills_a_cache_that_forgets(twin: type[PredicateCache]) -> None:
    # The search ends where the twin is found out: most take a hundredth of this.
    with pytest.raises(AssertionError):
        run(type("Twin", (World,), {"cache_class": twin}), settings(SEARCH, max_examples=10_000))


FILTER = Query(least=1, wanted=None, ansi=True, zone="UTC")
TOP = replace(FILTER, wanted=2)


def recorded(query: Query = FILTER, **more: Any) -> PredicateCache:
    """A cache that knows of one query, which saw the blocks 1 to 4 and needed 2."""
    cache = PredicateCache(**{"entries_max": 2, **more})
    facts = {"seen": frozenset({1, 2, 3, 4}), "contributing": frozenset({2}), "columns": query.columns}
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
    cache.changed("another", change)
    assert cache.lookup(TOP.key, frozenset({1, 2, 3, 4})) == {2}
    cache.changed("t", change)
    assert (cache.lookup(TOP.key, frozenset({2, 3, 4})) == {2}) is valid


def test_the_least_recently_used_query_goes_first() -> None:
    cache = recorded()
    nothing = {"version": 0, "seen": frozenset(), "contributing": frozenset(), "columns": ()}
    cache.record(TOP.key, **nothing)
    assert cache.lookup(FILTER.key, frozenset({2})) is not None
    cache.record(replace(TOP, zone="Asia/Kolkata").key, **nothing)
    assert len(cache) == 2
    assert cache.lookup(TOP.key, frozenset()) is None
    assert cache.lookup(FILTER.key, frozenset({2})) is not None


def test_a_query_is_not_recorded_where_changes_since_are_forgotten() -> None:
    cache = recorded(changes_max=1)
    facts: dict[str, Any] = {"seen": frozenset({1}), "contributing": frozenset(), "columns": "a"}
    for ordinal in (10, 11):
        cache.changed("t", Added(frozenset({ordinal})))
    assert cache.record(TOP.key, version=1, **facts)
    assert not cache.record(TOP.key, version=0, **facts)


def test_what_may_be_another_filter_each_time_is_not_recorded() -> None:
    cache = recorded()
    facts: dict[str, Any] = {"version": 0, "seen": frozenset(), "contributing": frozenset(), "columns": ()}
    assert not cache.record(replace(FILTER.key, predicate=Opaque("rand() < 0.5", BOOLEAN)), **facts)


def test_the_columns_of_an_expression_need_not_be_named() -> None:
    cache = PredicateCache(entries_max=1)
    key = replace(FILTER.key, predicate=Compare(Comparison.LESS, Column("a", LONG), Literal(3, LONG)))
    cache.record(key, version=0, seen=frozenset({1}), contributing=frozenset(), columns=())
    cache.changed("t", Updated(frozenset({1}), frozenset("a")))
    assert cache.lookup(key, frozenset({1})) is None


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="were not seen"):
        recorded().record(
            TOP.key, version=0, seen=frozenset(), contributing=frozenset({1}), columns=frozenset()
        )
    with pytest.raises(InputError, match="entries_max=0"):
        PredicateCache(entries_max=0)


def test_a_file_that_is_written_anew_has_other_blocks() -> None:
    metadata = pa.table({"file": ["x", "x", "y"], "row_group": [0, 1, 0]})
    before = blocks_of(metadata, {"x": (10, 1), "y": (20, 2)})
    after = blocks_of(metadata, {"x": (10, 3), "y": (20, 2)})
    assert before[1] == FileBlock("x", 10, 1, 1)
    assert set(before) & set(after) == {FileBlock("y", 20, 2, 0)}
