"""The edges of the Direct Serialization Graph, extended through derivations.

Source: Adya, Liskov, O'Neil, ICDE 2000, section 4.4; [D] section 4 for derivations. The rules are those of
`docs/reference/histories.md`; a derivation installs nothing, so that a transaction that only derives has no
edge.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.isolation.columns import Kind
from oracles.isolation.facts import Facts
from oracles.isolation.lists import Flags, Ints, Lists, contained, distinct
from oracles.isolation.placing import places_left_out


class Dependency(enum.IntEnum):
    """What makes one transaction come before another."""

    WW = 0
    WR = 1
    WRP = 2
    RW = 3
    RWP = 4

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges from `tail` to `head`, in no order and some more than once; what else they have says why.

    Attributes:
        tail: The transaction that comes before. Shape (n,).
        head: The transaction that comes after.
        kind: A `Dependency`.
        base: The written version that a read is of, or that is replaced.
        seen: The version that was read, or the one whose successor replaces it; the operation of a predicate.
        after: The version that replaces the base; for a predicate, the version that changes what matches.
    """

    tail: Ints
    head: Ints
    kind: Ints
    base: Ints
    seen: Ints
    after: Ints

    def __len__(self) -> int:
        return len(self.tail)

    def where(self, chosen: Flags) -> "Edges":
        """The chosen edges."""
        return Edges(*(column[chosen] for column in self.columns()))

    def columns(self) -> tuple[Ints, ...]:
        """All columns."""
        return (self.tail, self.head, self.kind, self.base, self.seen, self.after)


def edges(known: Facts, *, literal: bool) -> Edges:
    """All edges among committed transactions.

    Args:
        literal: Whether a derived version's replacement orders all writers that the two derive from, as [D]
            has it, and not only those of what the one derives from and the other does not.
    """
    parts = [*_item_reads(known), _writes(known), _derivations(known, literal=literal), *_predicates(known)]
    return joined([part for part in parts if len(part)])


def joined(parts: Sequence[Edges]) -> Edges:
    """The edges of several parts."""
    if not parts:
        return _edges(Dependency.WW, *(np.empty(0, np.int64) for _ in range(5)))
    return Edges(
        *(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True))
    )


def _edges(kind: Dependency, tail: Ints, head: Ints, base: Ints, seen: Ints, after: Ints) -> Edges:
    """Edges of one kind, without those from a transaction to itself."""
    keep = tail != head
    short = [column[keep].astype(np.int32) for column in (tail, head, base, seen, after)]
    tail, head, base, seen, after = short
    return Edges(tail, head, np.full(len(tail), kind, np.int8), base, seen, after)


def _item_reads(known: Facts) -> tuple[Edges, Edges]:
    """Reads of written versions, also through derivations: of what was written, and before what came next."""
    columns = known.columns
    reads = np.flatnonzero((columns.kind == Kind.READ) & known.committed[known.transaction_of])
    owners, bases = known.closure.expand(columns.subject[reads])
    readers, seen = known.transaction_of[reads][owners], columns.subject[reads][owners]
    of = known.installing(bases)
    after = known.after[bases]
    overwritten = (known.position[bases] >= 0) & (after >= 0)
    overwritten[overwritten] = known.written[after[overwritten]]
    writes = after[overwritten]
    return (
        _edges(Dependency.WR, known.writer[bases[of]], readers[of], bases[of], seen[of], seen[of]),
        _edges(
            Dependency.RW,
            readers[overwritten],
            known.writer[writes],
            bases[overwritten],
            seen[overwritten],
            writes,
        ),
    )


def _writes(known: Facts) -> Edges:
    """Written versions that follow each other in an order."""
    older = np.flatnonzero(known.written & (known.after >= 0))
    older = older[known.written[known.after[older]]]
    newer = known.after[older]
    return _edges(Dependency.WW, known.writer[older], known.writer[newer], older, older, newer)


def _derivations(known: Facts, *, literal: bool) -> Edges:
    """Derived versions that follow each other: the writers of what is left before those of what is new."""
    derived = known.derived
    older = np.flatnonzero(derived & (known.after >= 0))
    older = older[derived[known.after[older]]]
    pairs, left = known.closure.expand(older)
    pairs_new, new = known.closure.expand(known.after[older])
    if not literal:
        stays, comes = _differences(known, pairs, left, pairs_new, new)
        pairs, left, pairs_new, new = pairs[stays], left[stays], pairs_new[comes], new[comes]
    wrote, writes = known.installing(left), known.installing(new)
    pairs, left = pairs[wrote], left[wrote]
    of_pair = Lists.grouped(pairs_new[writes], new[writes], len(older))
    which, after = of_pair.expand(pairs)
    base = left[which]
    return _edges(Dependency.WW, known.writer[base], known.writer[after], base, older[pairs[which]], after)


def _differences(
    known: Facts, pairs_left: Ints, left: Ints, pairs_right: Ints, right: Ints
) -> tuple[Flags, Flags]:
    """Which values of either of two lists, pair by pair, the other lacks; each list is ascending."""
    width = len(known.columns.object_of)
    left_keys, right_keys = pairs_left * width + left, pairs_right * width + right
    return ~contained(left_keys, right_keys), ~contained(right_keys, left_keys)


@dataclass(frozen=True, slots=True)
class Changes:
    """Versions that change what a predicate matches.

    Attributes:
        version: Shape (n,).
        of_predicate: For each predicate the indexes into `version`.
        bases: For each entry of `version` the written versions that make it what it is.
    """

    version: Ints
    of_predicate: Lists
    bases: Lists


def changes(known: Facts) -> Changes:
    """The versions whose match differs from that of the one before; what is unborn does not match."""
    columns = known.columns
    predicates, objects = columns.domains.all()
    owners, versions = columns.orders.expand(objects)
    predicates, before = predicates[owners], known.before[versions]
    changed = _change_mask(known, predicates, versions, before)
    version, predicates, before = versions[changed], predicates[changed], before[changed]
    indexes = np.arange(len(version), dtype=np.int64)
    return Changes(
        version,
        Lists.grouped(predicates, indexes, len(columns.predicates)),
        _changing(known, version, before),
    )


def _change_mask(known: Facts, predicates: Ints, versions: Ints, before: Ints) -> Flags:
    """Mark versions of which, with the one before (-1 for unborn), just one matches the predicate."""
    columns = known.columns
    width = len(columns.object_of)
    owners, matching = columns.matching.all()
    matches = distinct(owners * width + matching)
    now = contained(predicates * width + versions, matches)
    then = contained(predicates * width + before, matches) & (before >= 0)
    changed: Flags = now != then
    return changed


def _changing(known: Facts, versions: Ints, before: Ints) -> Lists:
    """For each version the installed ones that make it differ from the one before, or -1 for unborn."""
    owners, bases = known.closure.expand(versions)
    # A derived version is judged by what it no longer shares with the one before.
    compared = np.flatnonzero(known.derived[versions] & (before >= 0))
    shared, of_before = known.closure.expand(before[compared])
    new, _ = _differences(known, owners, bases, compared[shared], of_before)
    new &= known.installing(bases)
    return Lists.grouped(owners[new], bases[new], len(versions))


def _predicates(known: Facts) -> tuple[Edges, ...]:
    """Predicate reads: after the changes that they saw, before those that they did not."""
    columns = known.columns
    reads = np.flatnonzero((columns.kind == Kind.PREDICATE_READ) & known.committed[known.transaction_of])
    if not len(reads):
        return ()
    found = changes(known)
    owners, indexes = found.of_predicate.expand(columns.subject[reads])
    changed = found.version[indexes]
    read = _versions_read(known, reads, owners, columns.object_of[changed])
    left_out = _left_out(known, reads)
    seen_at = np.where(read < 0, -1, left_out.seen_at[read])
    # What follows a version that the order leaves out is compared with that, not with the one before it.
    usable = (seen_at != _UNPLACED) & ~(
        (read >= 0) & (known.position[read] < 0) & (known.position[changed] == seen_at + 1)
    )
    owners, indexes, changed, seen_at = owners[usable], indexes[usable], changed[usable], seen_at[usable]
    which, bases = found.bases.expand(indexes)
    saw = known.position[changed] <= seen_at
    return (
        *_by_predicate(known, reads[owners[which]], bases, changed[which], saw[which]),
        *left_out.edges(known),
    )


def _by_predicate(
    known: Facts, operations: Ints, bases: Ints, changed: Ints, saw: Flags
) -> tuple[Edges, Edges]:
    """Edges from whoever changed what a predicate read saw, and to whoever changed what it did not see."""
    readers, writers = known.transaction_of[operations], known.writer[bases]
    return (
        _edges(Dependency.WRP, writers[saw], readers[saw], bases[saw], operations[saw], changed[saw]),
        _edges(Dependency.RWP, readers[~saw], writers[~saw], bases[~saw], operations[~saw], changed[~saw]),
    )


def _versions_read(known: Facts, reads: Ints, owners: Ints, objects: Ints) -> Ints:
    """The version that a read has of an object; -1 for unborn."""
    columns = known.columns
    width = len(columns.objects)
    sets, versions = columns.lists.expand(reads)
    keys = sets * width + columns.object_of[versions]
    order = np.argsort(keys)
    keys, versions = keys[order], versions[order]
    wanted = owners * width + objects
    present = contained(wanted, keys)
    found = np.full(len(wanted), -1, np.int64)
    found[present] = versions[np.searchsorted(keys, wanted[present])]
    return found


_UNPLACED = -2  # a written version that is in no order tells nothing of those that are


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Predicate reads of derived versions that the orders leave out.

    Attributes:
        seen_at: For each version its place in its order; for one that the order leaves out the place of the
            one before it, or -1 if there is none; `_UNPLACED` for one that has no place.
        operations: The predicate reads. Shape (n,).
        versions: What each of them has of an object.
    """

    seen_at: Ints
    operations: Ints
    versions: Ints

    def edges(self, known: Facts) -> tuple[Edges, ...]:
        """The edges of what these versions change, and of what changes them."""
        columns = known.columns
        if not len(self.versions):
            return ()
        objects, places = columns.object_of[self.versions], self.seen_at[self.versions]
        starts, lengths = columns.orders.starts[objects], columns.orders.lengths[objects]
        before, after = np.full((2, len(places)), -1, np.int64)
        earlier, later = places >= 0, places + 1 < lengths
        before[earlier] = columns.orders.values[(starts + places)[earlier]]
        after[later] = columns.orders.values[(starts + places + 1)[later]]
        return (
            *self._changes(known, self.operations, self.versions, before, saw=True),
            *self._changes(known, self.operations[later], after[later], self.versions[later], saw=False),
        )

    @staticmethod
    def _changes(
        known: Facts, operations: Ints, versions: Ints, before: Ints, *, saw: bool
    ) -> tuple[Edges, Edges]:
        changed = _change_mask(known, known.columns.subject[operations], versions, before)
        operations, versions, before = operations[changed], versions[changed], before[changed]
        which, bases = _changing(known, versions, before).all()
        return _by_predicate(
            known, operations[which], bases, versions[which], np.full(len(which), saw, np.bool_)
        )


def _left_out(known: Facts, reads: Ints) -> _LeftOut:
    """The derived versions that predicate reads have and that the orders leave out."""
    seen_at = np.where(known.position < 0, _UNPLACED, known.position)
    owners, versions = known.columns.lists.expand(reads)
    lacking = known.derived[versions] & (known.position[versions] < 0)
    owners, versions = owners[lacking], versions[lacking]
    if len(versions):
        read = distinct(versions)
        seen_at[read] = places_left_out(known, read) - 1
    return _LeftOut(seen_at, reads[owners], versions)
