"""A table that changes while queries go through a predicate cache, as a state machine."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from budget import unshrunk
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pruning.expressions.plans import SortItem
from pruning.expressions.trees import Column
from pruning.expressions.types import LONG
from pruning.techniques.cache_entries import CacheKey
from pruning.techniques.predicate_cache import Added, PredicateCache, Removed, RowsDeleted, Updated

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
        order = (SortItem(Column("b", LONG), descending=False, nulls_first=True),)
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
FULL_TABLES = st.lists(st.lists(ROWS, min_size=1, max_size=3).map(tuple), min_size=2, max_size=3)
SESSIONS = {"ansi": st.booleans(), "zone": st.sampled_from(sorted(ZONES))}
FILTERS = st.builds(Query, least=st.integers(1, 2), wanted=st.none(), **SESSIONS)
TOP_K = st.builds(Query, least=st.integers(1, 2), wanted=st.integers(1, 2), **SESSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A query that has read which blocks there are, and is not recorded yet."""

    query: Query
    version: int
    blocks: dict[int, tuple[Row, ...]]


class World(RuleBasedStateMachine):
    """A table that changes between, and during, queries through the cache."""

    cache_class: Callable[..., PredicateCache] = PredicateCache
    tables: st.SearchStrategy[list[tuple[Row, ...]]] = st.lists(BLOCKS, min_size=1, max_size=3)
    queries: st.SearchStrategy[Query] = FILTERS | TOP_K
    updatable = "abc"

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        blocks, self.query = data.draw(self.tables), data.draw(self.queries)
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
        self.cache.note_change("t", Added(frozenset({self.next_id})))
        self.next_id += 1

    @rule(data=st.data(), told=st.booleans())
    @precondition(lambda self: self.blocks)
    def remove(self, data: st.DataObject, told: bool) -> None:
        """Ids are not used again, so that the cache need not be told."""
        id_ = self.some(data)
        del self.blocks[id_]
        if told:
            self.cache.note_change("t", Removed(frozenset({id_})))

    @rule(data=st.data(), block=BLOCKS)
    @precondition(lambda self: self.blocks)
    def write_anew(self, data: st.DataObject, block: tuple[Row, ...]) -> None:
        """Copy on write under the same id, with any other rows."""
        id_ = self.some(data)
        self.blocks[id_] = block
        self.cache.note_change("t", Removed(frozenset({id_})))
        self.cache.note_change("t", Added(frozenset({id_})))

    @rule(data=st.data(), row=ROWS)
    @precondition(lambda self: self.blocks)
    def insert(self, data: st.DataObject, row: Row) -> None:
        id_ = self.some(data)
        self.blocks[id_] = (*self.blocks[id_], row)
        self.cache.note_change("t", Added(frozenset({id_})))

    @rule(data=st.data(), value=st.integers(0, VALUES - 1))
    @precondition(lambda self: self.blocks)
    def update(self, data: st.DataObject, value: int) -> None:
        id_, column = self.some(data), data.draw(st.sampled_from(self.updatable))
        self.blocks[id_] = tuple(replace(row, **{column: value}) for row in self.blocks[id_])
        self.cache.note_change("t", Updated(frozenset({id_}), frozenset({column})))

    @rule(data=st.data())
    @precondition(lambda self: any(self.blocks.values()))
    def delete_row(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(sorted(id_ for id_, rows in self.blocks.items() if rows)))
        self.blocks[id_] = self.blocks[id_][1:]
        self.cache.note_change("t", RowsDeleted(frozenset({id_})))

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
            known_blocks=frozenset(done.blocks),
            contributing=frozenset(id_ for id_, _ in answer),
            columns=done.query.columns,
        )
        self.unseen[done.query] = max(done.blocks, default=-1) + 1


CHANGES = frozenset({"add", "remove", "write_anew", "insert", "update", "delete_row"})


def aimed(*changes: str, **drawn: object) -> type[World]:
    """A world of filled blocks in which only these changes happen; `drawn` replaces attributes of `World`."""
    missing = dict.fromkeys(CHANGES - set(changes))
    return type("Aimed", (World,), {"tables": FULL_TABLES, **missing, **drawn})


def run(machine: type[World], how: settings) -> None:
    """Drive a world; fails where a rule fails."""
    run_state_machine_as_test(machine, settings=how)


def searching(max_examples: int) -> settings:
    """Settings of a run that is to fail, the same in every profile."""
    return settings(unshrunk(max_examples), stateful_step_count=20, report_multiple_bugs=False)
