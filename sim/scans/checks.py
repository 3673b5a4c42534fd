"""What must hold of every trace: pure functions of what was so and what happened.

==========  =========================================================================================
answer      a query's answer is one that SQL permits
needed      no block that holds a row which every answer is made with is skipped, however stale a boundary
            or a summary was
once        the rows of a block count once, whatever was asked again; and are those that are there
boundary    what a node, or the control plane, knows of a boundary never gets looser while it lives
totals      each block is read or pruned by one technique, and the control plane's own count says so
cancelled   nothing is read for a query by who was told that it is over, and nothing is taken after its end
ends        once faults are over every query ends, since a node lives
==========  =========================================================================================
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sim.kernel.scenario_schema import Violation
from sim.scans.answers import Truth, difference, truth
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
from sim.scans.queries import Kind, Query, identity, query_name
from sim.scans.run import Run
from sim.scans.synthetic_tables import SpreadTable
from sim.scans.tables import RowTable

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """A run, and what is so of its queries; None of those whose tables have no rows."""

    run: Run
    truths: Mapping[str, Truth | None]

    @classmethod
    def of(cls, run: Run) -> "Judged":
        """With the truth of each query."""
        tables = {name: table for name, table in run.tables.items() if isinstance(table, RowTable)}
        return cls(
            run,
            {
                query.name: truth(query, tables)
                if all(asked.table in tables for asked in query.scans.values())
                else None
                for query in run.queries
            },
        )

    def query(self, name: str) -> Query:
        """The query of that name."""
        return next(query for query in self.run.queries if query.name == name)


Check: TypeAlias = Callable[[Judged], Iterator[Violation]]


def violations(run: Run) -> list[Violation]:
    """All that does not hold of a run, in the order of the invariants."""
    judged = Judged.of(run)
    return [violation for check in CHECKS for violation in check(judged)]


def answers_are_right(judged: Judged) -> Iterator[Violation]:
    """The answer of each query that was not cancelled is one that SQL permits."""
    for event in judged.run.trace:
        if not isinstance(event, QueryEnded) or event.cancelled or event.answer is None:
            continue
        so = judged.truths[event.query]
        assert so is not None
        wrong = difference(judged.query(event.query), so, event.answer)
        if wrong is not None:
            yield Violation(invariant="answer", at_us=event.at_us, what=f"{event.query}: {wrong}")


def needed_blocks_are_read(judged: Judged) -> Iterator[Violation]:
    """No block goes that holds a row which every answer is made with."""
    needed = {scan: blocks for query in judged.run.queries for scan, blocks in _needed(judged, query)}
    for event in judged.run.trace:
        if not isinstance(event, Pruned) or event.scan not in needed:
            continue
        lost = [block for first, last in event.blocks for block in _true(needed[event.scan], first, last)]
        if lost:
            yield Violation(
                invariant="needed",
                at_us=event.at_us,
                what=f"{event.scan}: {event.technique} at {event.where} skips {_some(lost)}, "
                "which hold needed rows",
            )


def _needed(judged: Judged, query: Query) -> Iterator[tuple[str, np.ndarray]]:
    """Which blocks of each scan hold a needed row, as far as it is known, shape (blocks,)."""
    so = judged.truths[query.name]
    for scan, asked in query.scans.items():
        table = judged.run.tables[asked.table]
        name = query.scan_name(scan)
        if isinstance(table, SpreadTable) and query.kind is Kind.FILTER:
            yield name, table.matching(asked.predicate) > 0
        if so is not None and isinstance(table, RowTable):
            yield (
                name,
                np.array(
                    [any(identity(row) in so.needed[scan] for row in block) for block in table.blocks], bool
                ),
            )


def blocks_count_once(judged: Judged) -> Iterator[Violation]:
    """No block is taken twice, and its rows are those that satisfy the predicate."""
    taken = _Marks(judged)
    rows = {name: of for query in judged.run.queries for name, of in _matching_rows(judged, query)}
    for event in judged.run.trace:
        if not isinstance(event, Accepted):
            continue
        twice = taken.mark(event.scan, event.blocks)
        if twice:
            yield Violation(
                invariant="once", at_us=event.at_us, what=f"{event.scan}: blocks {_some(twice)} count twice"
            )
        if event.scan in rows:
            there = sum(int(rows[event.scan][first:last].sum()) for first, last in event.blocks)
            if there != event.rows:
                yield Violation(
                    invariant="once",
                    at_us=event.at_us,
                    what=f"{event.scan}: {event.rows} rows are taken of blocks "
                    f"{_some(list(ordinals(event.blocks)))}, which have {there}",
                )


def _matching_rows(judged: Judged, query: Query) -> Iterator[tuple[str, np.ndarray]]:
    """How many rows of each block satisfy the predicate of each scan, shape (blocks,)."""
    so = judged.truths[query.name]
    for scan, asked in query.scans.items():
        table = judged.run.tables[asked.table]
        name = query.scan_name(scan)
        if isinstance(table, SpreadTable):
            yield name, table.matching(asked.predicate)
        if so is not None and isinstance(table, RowTable):
            matching = so.matching[scan]
            yield (
                name,
                np.array([sum(identity(row) in matching for row in block) for block in table.blocks]),
            )


class _Marks:
    """Blocks of scans that were marked."""

    def __init__(self, judged: Judged) -> None:
        self._blocks = {scan: np.zeros(blocks, bool) for scan, blocks in judged.run.blocks.items()}

    def mark(self, scan: str, blocks: Ranges) -> list[int]:
        """Mark blocks; those that were marked before are told."""
        marked = self._blocks[scan]
        before = [block for first, last in blocks for block in _true(marked, first, last)]
        for first, last in blocks:
            marked[first:last] = True
        return before


def _true(which: np.ndarray, first: int, last: int) -> list[int]:
    """The ordinals in a range of what is True."""
    return list((first + np.flatnonzero(which[first:last])).tolist())


def _some(blocks: Sequence[int]) -> str:
    """Blocks for people, and how many more there are."""
    more = f" and {len(blocks) - _SHOWN:,} more" if len(blocks) > _SHOWN else ""
    return f"{sorted(blocks)[:_SHOWN]}{more}"


def boundaries_never_loosen(judged: Judged) -> Iterator[Violation]:
    """What is known of a boundary is never replaced by a looser one."""
    for event in judged.run.trace:
        if isinstance(event, BoundaryMoved) and event.looser:
            who = "the control plane" if event.node is None else f"node {event.node}"
            yield Violation(
                invariant="boundary",
                at_us=event.at_us,
                what=f"{event.scan}: {who} goes back to {event.boundary}",
            )


def totals_add_up(judged: Judged) -> Iterator[Violation]:
    """Each block of a query is settled in one way, and the control plane counts as the trace does."""
    read: Counter[str] = Counter()
    pruned: dict[str, Counter[str]] = {}
    settled = _Marks(judged)
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


def nothing_acts_after_cancel(judged: Judged) -> Iterator[Violation]:
    """No read begins at a node that knows that its query is over, and nothing is taken after the end."""
    # A node that crashes forgets it; but nothing of what it was asked before reaches it then.
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
                known = knows.get((query_name(event.scan), event.node))
                if known is not None and event.began_us > known:
                    yield Violation(
                        invariant="cancelled",
                        at_us=event.at_us,
                        what=f"{event.scan}: node {event.node} began to read at {event.began_us:,} us, "
                        f"and knew at {known:,} us that the query is over",
                    )


def queries_end(judged: Judged) -> Iterator[Violation]:
    """Every query is over in the time that it has once faults are."""
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


CHECKS: tuple[Check, ...] = (
    answers_are_right,
    needed_blocks_are_read,
    blocks_count_once,
    boundaries_never_loosen,
    totals_add_up,
    nothing_acts_after_cancel,
    queries_end,
)
