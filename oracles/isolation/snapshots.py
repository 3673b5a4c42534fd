"""Phenomena of snapshots (G-SI, G-SI-rt) and of what was read (G1a, G1b).

Where G-SIa is absent, each dependency leads from a commit to a later start, as start-dependencies do. So
G-SIb is absent too exactly where each transaction starts before the commits of those that overwrite what it
read. Start points do not limit each other: one pass over the edges decides whether there are any.

Source: Adya's thesis, section 4.3 (G-SIa, G-SIb). In G-SI a start may precede the begin, in G-SI-rt it is it.
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
    """Edges from a first transaction to a last one, whose times say the contrary.

    Attributes:
        why: What the last one did before the first one, `{first}`, did something.
    """

    links: tuple[Link, ...]
    why: str


def snapshot_clash(edges: Edges, known: Facts, single: Cycle | None) -> Cycle | Clash | None:
    """Why no choice of start points will do; None if one does.

    Args:
        single: A smallest G-single, if there is one.
    """
    direct, anti = _parted(edges)
    dirty = _commits_late(direct, known)
    if dirty is not None:
        return dirty
    if single is not None and len(single.links) == 2:
        return single
    count, end = len(known.transactions), known.end
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


def begin_clash(edges: Edges, known: Facts) -> Clash | None:
    """Why the begins as start points will not do; None if they do."""
    direct, anti = _parted(edges)
    dirty = _commits_late(direct, known)
    if dirty is not None:
        return dirty
    stale = np.flatnonzero(known.end[anti.head] < known.begin[anti.tail])
    if not len(stale):
        return None
    first = int(stale[0])
    link = Link(int(anti.tail[first]), int(anti.head[first]), ANTI)
    return Clash((link,), "committed before {first} began")


def _parted(edges: Edges) -> tuple[Edges, Edges]:
    direct = edges.kind < Dependency.RW
    return edges.where(direct), edges.where(~direct)


def _commits_late(direct: Edges, known: Facts) -> Clash | None:
    """A dependency on a transaction that committed after the other one's begin."""
    late = np.flatnonzero(known.end[direct.tail] > known.begin[direct.head])
    if not len(late):
        return None
    first = int(late[0])
    link = Link(int(direct.tail[first]), int(direct.head[first]), DIRECT)
    return Clash((link,), "began before {first} committed")


@dataclass(frozen=True, slots=True)
class Seen:
    """A committed transaction that read, maybe through derivations, what another one wrote."""

    reader: int
    operation: int
    version: int
    base: int


def aborted_read(known: Facts, kept: Ints) -> Seen | None:
    """A read of what was written by a transaction that does not commit (G1a)."""
    return _seen(known, kept, aborted=True)


def intermediate_read(known: Facts, kept: Ints) -> Seen | None:
    """A read of a version that its transaction wrote over (G1b)."""
    return _seen(known, kept, aborted=False)


def _seen(known: Facts, kept: Ints, *, aborted: bool) -> Seen | None:
    columns = known.columns
    wrong = known.writer >= 0
    if aborted:
        wrong[wrong] = ~known.committed[known.writer[wrong]]
    else:
        wrong &= ~known.final
    if not wrong.any():
        return None
    reading = (columns.kind == Kind.READ) | (columns.kind == Kind.PREDICATE_READ)
    reading &= known.committed[known.transaction_of] & np.isin(known.transaction_of, kept)
    operations, versions = _read_versions(known, np.flatnonzero(reading))
    owners, bases = known.closure.expand(versions)
    readers = known.transaction_of[operations[owners]]
    found = np.flatnonzero(wrong[bases] & (known.writer[bases] != readers))
    if not len(found):
        return None
    first = int(found[0])
    owner = int(owners[first])
    return Seen(int(readers[first]), int(operations[owner]), int(versions[owner]), int(bases[first]))


def _read_versions(known: Facts, operations: Ints) -> tuple[Ints, Ints]:
    """Each version read, with the operation that reads it."""
    columns = known.columns
    items = operations[columns.kind[operations] == Kind.READ]
    sets = operations[columns.kind[operations] == Kind.PREDICATE_READ]
    owners, listed = columns.lists.expand(sets)
    return np.concatenate((items, sets[owners])), np.concatenate((columns.subject[items], listed))
