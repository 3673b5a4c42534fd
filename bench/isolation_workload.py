"""Histories of any size in which writers, refreshes and readers of dynamic tables take turns, as columns.

Each transaction has four operations. A tenth only derive: each refreshes four dynamic tables, from their
sources' newest versions. A quarter read one dynamic table and three objects as of its refresh; the rest read
and write objects' newest versions. So each reads one state of a serial run, and the graph has no cycle. A
share of the transactions may instead read two dynamic tables, of which one is behind the other.
"""

from dataclasses import dataclass

import numpy as np

from oracles.isolation.columns import Columns, Kind
from oracles.isolation.lists import Ints, Lists

OBJECTS, TABLES, SOURCES = 9_000, 1_000, 2  # objects that are written; dynamic tables; objects behind each
ROWS = 6  # of a transaction: begin, four operations, commit
BEHIND_MAX = 20_000  # transactions by which one of two dynamic tables is behind the other
REFRESHES, TABLE_READERS, WRITES = 0.1, 0.25, 0.5


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest version of each object at a time; an object's initial version has the object's number."""

    keys: Ints
    versions: Ints
    times: int

    @classmethod
    def of(cls, objects: Ints, times: Ints, versions: Ints, count: int) -> "Newest":
        """Return the versions made at some times, counted from 0; of equal ones the first is lost."""
        keys = objects * (count + 1) + times + 1
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], versions[order], count)

    def before(self, objects: Ints, times: Ints) -> Ints:
        """Return the newest versions that were made before the times."""
        lowest = objects * (self.times + 1)
        places = np.searchsorted(self.keys, lowest + times, side="right") - 1
        known = (places >= 0) & (self.keys[places] > lowest)
        return np.where(known, self.versions[places], objects)


def workload(transactions: int, *, skewed: float = 0.0, seed: int = 7) -> Columns:
    """Return a history of so many transactions.

    Args:
        skewed: The share of transactions that read two dynamic tables, one behind the other.
    """
    random = np.random.default_rng(seed)
    draw = random.random(transactions)
    refreshing = draw < REFRESHES
    skew = (draw >= REFRESHES) & (draw < REFRESHES + skewed)
    reading = (draw >= REFRESHES + skewed) & (draw < REFRESHES + skewed + TABLE_READERS)
    plain = ~refreshing & ~skew & ~reading
    kind = np.full((transactions, ROWS), Kind.READ, np.int64)
    kind[:, 0], kind[:, -1] = Kind.BEGIN, Kind.COMMIT
    kind[refreshing, 1:5] = Kind.DERIVE
    kind[plain, 1:5] = np.where(random.random((int(plain.sum()), 4)) < WRITES, Kind.WRITE, Kind.READ)
    # A transaction's objects are far apart, so that they differ.
    span = OBJECTS // 4
    objects = random.integers(0, span, (transactions, 4)) + span * np.arange(4)
    tables = OBJECTS + random.integers(0, TABLES // 4, (transactions, 4)) + TABLES // 4 * np.arange(4)
    place = np.arange(transactions * 4).reshape(transactions, 4) + OBJECTS + TABLES
    time = np.repeat(np.arange(transactions), 4).reshape(transactions, 4)

    writes, derives = kind[:, 1:5] == Kind.WRITE, kind[:, 1:5] == Kind.DERIVE
    stored = Newest.of(objects[writes], time[writes], place[writes], transactions)
    derived = Newest.of(tables[derives], time[derives], place[derives], transactions)
    subject = stored.before(objects, time)
    subject[writes | derives] = place[writes | derives]
    behind = np.where(skew, random.integers(0, BEHIND_MAX, transactions), 0)
    seen = derived.before(tables, np.maximum(time - behind[:, None] * (np.arange(4) == 0), 0))
    as_of = np.where(seen >= OBJECTS + TABLES, (seen - OBJECTS - TABLES) // 4, 0)
    subject[reading, 0] = seen[reading, 0]
    subject[reading, 1:] = stored.before(objects, np.repeat(as_of[:, :1], 4, axis=1))[reading, 1:]
    subject[skew, :2] = seen[skew, :2]
    subject[skew, 2:] = stored.before(objects, np.repeat(as_of[:, :1], 4, axis=1))[skew, 2:]

    origins = random.integers(0, OBJECTS, (TABLES, SOURCES))
    needed = origins[tables[derives] - OBJECTS]
    sources = stored.before(needed, np.repeat(time[derives], SOURCES).reshape(-1, SOURCES))
    return _columns(kind, subject, derives, sources, writes, objects, tables)


def _columns(
    kind: Ints, subject: Ints, derives: Ints, sources: Ints, writes: Ints, objects: Ints, tables: Ints
) -> Columns:
    count = len(kind)
    everything = OBJECTS + TABLES
    made = np.where(writes, objects, tables)
    object_of = np.concatenate((np.arange(everything), np.where(writes | derives, made, -1).ravel()))
    used = object_of >= 0
    numbers = np.cumsum(used) - 1
    lengths = np.zeros((count, ROWS), np.int64)
    lengths[:, 1:5][derives] = SOURCES
    subjects = np.full((count, ROWS), -1, np.int64)
    subjects[:, 1:5] = numbers[subject]
    kept = object_of[used]
    return Columns(
        id=f"{count} transactions",
        kind=kind.ravel(),
        transaction=np.repeat(np.arange(1, count + 1), ROWS),
        subject=subjects.ravel(),
        lists=Lists.by_length(lengths.ravel(), numbers[sources.ravel()]),
        object_of=kept,
        orders=Lists.by_owner(kept, np.arange(len(kept)), everything),
        domains=Lists.of([]),
        matching=Lists.of([]),
        objects=range(everything),
        tags=range(len(kept)),
        predicates=(),
    )
