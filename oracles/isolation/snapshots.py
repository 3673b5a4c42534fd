"""Phenomena of snapshots (G-SI, G-SI-rt) and of dirty reads (G1a, G1b).

Where G-SIa is absent, each dependency leads from a commit to a later start, as start-dependencies do. So
G-SIb is absent too exactly if each transaction starts before the commits of those that overwrite what it
read. Start points do not limit each other: one pass over the edges decides whether there are any.

Source: Adya's thesis, section 4.3 (G-SIa, G-SIb). In G-SI a start may precede the begin; in
G-SI-rt they are equal.
"""

from dataclasses import dataclass

import numpy as np

from oracles.isolation.columns import Kind
from oracles.isolation.cycles import ANTI, DIRECT, Cycle, Link
from oracles.isolation.edges import Dependency, Edges
from oracles.isolation.facts import Facts
from oracles.isolation.lists import Ints


@dataclass(frozen=True, slots=True)
class Clash:
    """Edges from a first transaction to a last one that contradict the times of these two.

    why: The event by which the last transaction precedes the first one, `{first}`.
        why: What the last one did before the first one, `{first}`, did something.
    """

    links: tuple[Link, ...]
    why: str


def snapshot_clash(edges: Edges, facts: Facts, single: Cycle | None) -> Cycle | Clash | None:
    """Return the reason why no choice of start points is possible; None if one is.

    Args:
        single: A smallest G-single, if there is one.
    """
    direct, anti = _split_by_kind(edges)
    dirty = _late_commit(direct, facts)
    if dirty is not None:
        return dirty
    if single is not None and len(single.links) == 2:
        return single
    count, end = len(facts.transactions), facts.end
    latest = np.full(count, -1, np.int64)
    np.maximum.at(latest, direct.head, end[direct.tail])
    earliest = np.full(count, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(earliest, anti.tail, end[anti.head])
    clashing = np.flatnonzero(latest >= earliest)
    if not len(clashing):
        return None
    middle = int(clashing[0])
    before = int(direct.tail[(direct.head == middle) & (end[direct.tail] == latest[middle])][0])
    after = int(anti.head[(anti.tail == middle) & (end[anti.head] == earliest[middle])][0])
    if before == after:
        return Cycle((Link(middle, after, ANTI), Link(before, middle, DIRECT)), smallest=True)
    return Clash((Link(before, middle, DIRECT), Link(middle, after, ANTI)), "committed before {first} did")


def begin_clash(edges: Edges, facts: Facts) -> Clash | None:
    """Return the reason why the begins cannot be the start points; None if they can."""
    direct, anti = _split_by_kind(edges)
    dirty = _late_commit(direct, facts)
    if dirty is not None:
        return dirty
    stale = np.flatnonzero(facts.end[anti.head] < facts.begin[anti.tail])
    if not len(stale):
        return None
    first = int(stale[0])
    link = Link(int(anti.tail[first]), int(anti.head[first]), ANTI)
    return Clash((link,), "committed before {first} began")


def _split_by_kind(edges: Edges) -> tuple[Edges, Edges]:
    direct = edges.kind < Dependency.RW
    return edges.where(direct), edges.where(~direct)


def _late_commit(direct: Edges, facts: Facts) -> Clash | None:
    """Return a dependency on a transaction that committed after the dependent one began, or None."""
    late = np.flatnonzero(facts.end[direct.tail] > facts.begin[direct.head])
    if not len(late):
        return None
    first = int(late[0])
    link = Link(int(direct.tail[first]), int(direct.head[first]), DIRECT)
    return Clash((link,), "began before {first} committed")


@dataclass(frozen=True, slots=True)
class DirtyRead:
    """A read by a committed transaction, maybe through derivations, of what another transaction wrote."""

    reader: int
    operation: int
    version: int
    base: int


def aborted_read(facts: Facts, kept: Ints) -> DirtyRead | None:
    """Return a read of what a transaction wrote that does not commit (G1a)."""
    return _dirty_read(facts, kept, aborted=True)


def intermediate_read(facts: Facts, kept: Ints) -> DirtyRead | None:
    """Return a read of a version that its own transaction overwrote (G1b)."""
    return _dirty_read(facts, kept, aborted=False)


def _dirty_read(facts: Facts, kept: Ints, *, aborted: bool) -> DirtyRead | None:
    columns = facts.columns
    wrong = facts.writer >= 0
    if aborted:
        wrong[wrong] = ~facts.committed[facts.writer[wrong]]
    else:
        wrong &= ~facts.final
    if not wrong.any():
        return None
    reading = (columns.kind == Kind.READ) | (columns.kind == Kind.PREDICATE_READ)
    reading &= facts.committed[facts.transaction_of] & np.isin(facts.transaction_of, kept)
    operations, versions = _read_versions(facts, np.flatnonzero(reading))
    owners, bases = facts.closure.expand(versions)
    readers = facts.transaction_of[operations[owners]]
    reads = np.flatnonzero(wrong[bases] & (facts.writer[bases] != readers))
    if not len(reads):
        return None
    first = int(reads[0])
    owner = int(owners[first])
    return DirtyRead(int(readers[first]), int(operations[owner]), int(versions[owner]), int(bases[first]))


def _read_versions(facts: Facts, operations: Ints) -> tuple[Ints, Ints]:
    """Return each version read, with the operation that reads it."""
    columns = facts.columns
    items = operations[columns.kind[operations] == Kind.READ]
    sets = operations[columns.kind[operations] == Kind.PREDICATE_READ]
    owners, listed = columns.lists.expand(sets)
    return np.concatenate((items, sets[owners])), np.concatenate((columns.subject[items], listed))
