"""The invariants of every trace of scans, as pure functions of the trace and the tables.

==========  =========================================================================================
answer      a query's answer is one that SQL permits
needed      no block that holds a row which every answer needs is skipped, however stale a boundary
or a summary was
once        the rows of a block count once, however often it was read, and are its matching rows
boundary    the boundary that a node or the control plane knows never gets looser while it lives
totals      each block is read or pruned by one technique, and the control plane's own count says so
cancelled   a node that was told that a query is over reads nothing for it, and nothing counts after its end
ends        once faults are over every query ends, since a node lives
==========  =========================================================================================
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sim.kernel.scenario_schema import Violation
from sim.scans.answers import ExpectedAnswer, describe_difference, expected_answer
from sim.scans.events import (
    Accepted,
    BlocksRead,
    BoundaryMoved,
    CancelKnown,
    Pruned,
    QueryBegan,
    QueryEnded,
    Ranges,
    TaskSent,
    count,
    ordinals,
)
from sim.scans.queries import Query, QueryKind, query_name, row_identity
from sim.scans.run import ScanRun
from sim.scans.synthetic_tables import SyntheticTable
from sim.scans.tables import RowTable

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with the expected answers of its queries; None for those whose tables have no rows."""

    run: ScanRun
    expected: Mapping[str, ExpectedAnswer | None]

    @classmethod
    def of(cls, run: ScanRun) -> "JudgedRun":
        """Return a run with the expected answer of each query."""
        tables = {name: table for name, table in run.tables.items() if isinstance(table, RowTable)}
        return cls(
            run,
            {
                query.name: expected_answer(query, tables)
                if all(source.table in tables for source in query.scans.values())
                else None
                for query in run.queries
            },
        )

    def query(self, name: str) -> Query:
        """Return the query of that name."""
        return next(query for query in self.run.queries if query.name == name)


ScanCheck: TypeAlias = Callable[[JudgedRun], Iterator[Violation]]


def violations(run: ScanRun) -> list[Violation]:
    """Return the violations of all invariants, in the order of the invariants."""
    judged = JudgedRun.of(run)
    return [violation for check in CHECKS for violation in check(judged)]


def answers_are_right(judged: JudgedRun) -> Iterator[Violation]:
    """The answer of each query that was not cancelled is one that SQL permits."""
    for event in judged.run.trace:
        if not isinstance(event, QueryEnded) or event.cancelled or event.answer is None:
            continue
        expected = judged.expected[event.query]
        assert expected is not None
        wrong = describe_difference(judged.query(event.query), expected, event.answer)
        if wrong is not None:
            yield Violation(invariant="answer", at_us=event.at_us, what=f"{event.query}: {wrong}")


def needed_blocks_are_read(judged: JudgedRun) -> Iterator[Violation]:
    """No block is pruned that holds a row which every answer needs."""
    needed = {scan: blocks for query in judged.run.queries for scan, blocks in _needed_blocks(judged, query)}
    for event in judged.run.trace:
        if not isinstance(event, Pruned) or event.scan not in needed:
            continue
        lost = [
            block
            for first, last in event.blocks
            for block in _marked_ordinals(needed[event.scan], first, last)
        ]
        if lost:
            yield Violation(
                invariant="needed",
                at_us=event.at_us,
                what=f"{event.scan}: {event.technique} at {event.where} skips {_blocks_text(lost)}, "
                "which hold needed rows",
            )


def _needed_blocks(judged: JudgedRun, query: Query) -> Iterator[tuple[str, np.ndarray]]:
    """Yield a mask of the blocks of each scan that hold a needed row, where known; shape (blocks,)."""
    expected = judged.expected[query.name]
    for scan, source in query.scans.items():
        table = judged.run.tables[source.table]
        name = query.scan_name(scan)
        if isinstance(table, SyntheticTable) and query.kind is QueryKind.FILTER:
            yield name, table.matching(source.predicate) > 0
        if expected is not None and isinstance(table, RowTable):
            yield (
                name,
                np.array(
                    [
                        any(row_identity(row) in expected.needed[scan] for row in block)
                        for block in table.blocks
                    ],
                    bool,
                ),
            )


def blocks_count_once(judged: JudgedRun) -> Iterator[Violation]:
    """No block is taken twice, and its rows are those that satisfy the predicate."""
    taken = _MarkedBlocks(judged)
    rows = {name: of for query in judged.run.queries for name, of in _matching_rows(judged, query)}
    for event in judged.run.trace:
        if not isinstance(event, Accepted):
            continue
        twice = taken.mark(event.scan, event.blocks)
        if twice:
            yield Violation(
                invariant="once",
                at_us=event.at_us,
                what=f"{event.scan}: blocks {_blocks_text(twice)} count twice",
            )
        if event.scan in rows:
            there = sum(int(rows[event.scan][first:last].sum()) for first, last in event.blocks)
            if there != event.rows:
                yield Violation(
                    invariant="once",
                    at_us=event.at_us,
                    what=f"{event.scan}: {event.rows} rows are taken of blocks "
                    f"{_blocks_text(list(ordinals(event.blocks)))}, which have {there}",
                )


def _matching_rows(judged: JudgedRun, query: Query) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the number of rows of each block that satisfy a scan's predicate, shape (blocks,)."""
    expected = judged.expected[query.name]
    for scan, source in query.scans.items():
        table = judged.run.tables[source.table]
        name = query.scan_name(scan)
        if isinstance(table, SyntheticTable):
            yield name, table.matching(source.predicate)
        if expected is not None and isinstance(table, RowTable):
            matching = expected.matching[scan]
            yield (
                name,
                np.array([sum(row_identity(row) in matching for row in block) for block in table.blocks]),
            )


class _MarkedBlocks:
    """Blocks of scans that were marked."""

    def __init__(self, judged: JudgedRun) -> None:
        self._blocks = {scan: np.zeros(blocks, bool) for scan, blocks in judged.run.blocks.items()}

    def mark(self, scan: str, blocks: Ranges) -> list[int]:
        """Mark blocks and return those that were marked before."""
        marked = self._blocks[scan]
        before = [block for first, last in blocks for block in _marked_ordinals(marked, first, last)]
        for first, last in blocks:
            marked[first:last] = True
        return before


def _marked_ordinals(which: np.ndarray, first: int, last: int) -> list[int]:
    """Return the ordinals in a range at which a mask is True."""
    return list((first + np.flatnonzero(which[first:last])).tolist())


def _blocks_text(blocks: Sequence[int]) -> str:
    """Return the first few blocks as people read them, and the number of others."""
    more = f" and {len(blocks) - _SHOWN:,} more" if len(blocks) > _SHOWN else ""
    return f"{sorted(blocks)[:_SHOWN]}{more}"


def boundaries_never_loosen(judged: JudgedRun) -> Iterator[Violation]:
    """A known boundary is never replaced by a looser one."""
    for event in judged.run.trace:
        if isinstance(event, BoundaryMoved) and event.looser:
            who = "the control plane" if event.node is None else f"node {event.node}"
            yield Violation(
                invariant="boundary",
                at_us=event.at_us,
                what=f"{event.scan}: {who} goes back to {event.boundary}",
            )


def totals_add_up(judged: JudgedRun) -> Iterator[Violation]:
    """Each block of a query is settled once, and the control plane's counts agree with the trace."""
    read: Counter[str] = Counter()
    pruned: dict[str, Counter[str]] = {}
    settled = _MarkedBlocks(judged)
    for event in judged.run.trace:
        if isinstance(event, Accepted | Pruned):
            query = query_name(event.scan)
            again = settled.mark(event.scan, event.blocks)
            if again:
                yield Violation(
                    invariant="totals",
                    at_us=event.at_us,
                    what=f"{event.scan}: {len(again):,} blocks are settled a second time",
                )
            if isinstance(event, Accepted):
                read[query] += count(event.blocks)
            else:
                pruned.setdefault(query, Counter())[f"{event.technique} at {event.where}"] += count(
                    event.blocks
                )
        if not isinstance(event, QueryEnded):
            continue
        counted = (event.read, event.pruned)
        traced = (read[event.query], dict(sorted(pruned.get(event.query, Counter()).items())))
        if counted != traced:
            yield Violation(
                invariant="totals", at_us=event.at_us, what=f"{event.query}: {counted} is told, {traced} was"
            )
        total = event.read + sum(event.pruned.values())
        if not event.cancelled and total != event.total:
            yield Violation(
                invariant="totals",
                at_us=event.at_us,
                what=f"{event.query}: {total} blocks are read or pruned, of {event.total}",
            )


def nothing_acts_after_cancel(judged: JudgedRun) -> Iterator[Violation]:
    """No node begins a read for a query after it was told of its end, and nothing counts after the end."""
    # A node that crashes forgets the end of a query; but no earlier request for that query reaches it any
    # more.
    knows: dict[tuple[str, int], int] = {}
    over: set[str] = set()
    for event in judged.run.trace:
        match event:
            case CancelKnown():
                knows.setdefault((event.query, event.node), event.at_us)
            case QueryEnded():
                if event.query in over:
                    yield Violation(
                        invariant="cancelled", at_us=event.at_us, what=f"{event.query} ends a second time"
                    )
                over.add(event.query)
            case QueryBegan() if event.query in over:
                yield Violation(
                    invariant="cancelled", at_us=event.at_us, what=f"{event.query} begins after its end"
                )
            case Accepted() | Pruned() | TaskSent():
                query = query_name(event.scan)
                if query in over:
                    done = "given to a node" if isinstance(event, TaskSent) else "settled"
                    yield Violation(
                        invariant="cancelled",
                        at_us=event.at_us,
                        what=f"{event.scan}: {count(event.blocks)} blocks are {done} after the query's end",
                    )
            case BlocksRead():
                known_us = knows.get((query_name(event.scan), event.node))
                if known_us is not None and event.began_us > known_us:
                    yield Violation(
                        invariant="cancelled",
                        at_us=event.at_us,
                        what=f"{event.scan}: node {event.node} began to read at {event.began_us:,} us, "
                        f"and knew at {known_us:,} us that the query is over",
                    )


def queries_end(judged: JudgedRun) -> Iterator[Violation]:
    """Every query ends in the time that it has once faults are over."""
    ended = {event.query for event in judged.run.trace if isinstance(event, QueryEnded)}
    begun = {event.query for event in judged.run.trace if isinstance(event, QueryBegan)}
    if not judged.run.settled:
        names = ", ".join(sorted({query.name for query in judged.run.queries} - ended))
        yield Violation(
            invariant="ends", at_us=judged.run.ended_us, what=f"{names}: no end long after the last fault"
        )
    elif begun - ended:
        yield Violation(
            invariant="ends",
            at_us=judged.run.ended_us,
            what=f"{sorted(begun - ended)} have no end in the trace",
        )


CHECKS: tuple[ScanCheck, ...] = (
    answers_are_right,
    needed_blocks_are_read,
    blocks_count_once,
    boundaries_never_loosen,
    totals_add_up,
    nothing_acts_after_cancel,
    queries_end,
)
