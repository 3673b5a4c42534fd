"""The edges of the Direct Serialization Graph, extended through derivations.

Source: Adya, Liskov, O'Neil, ICDE 2000, section 4.4; [D] section 4 for derivations.
`docs/reference/histories.md` has the rules; a derivation installs nothing, so that a transaction that only
derives has no edge.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.isolation.columns import Kind
from oracles.isolation.facts import Facts
from oracles.isolation.lists import Flags, Ints, Lists, distinct, is_member
from oracles.isolation.placing import places_of_unlisted


class Dependency(enum.IntEnum):
    """The kind of dependency by which one transaction comes before another."""

    WW = 0
    WR = 1
    WRP = 2
    RW = 3
    RWP = 4

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges from `tail` to `head`, in no order and with repetitions; the other columns are the reasons.

    Attributes:
        tail: The transaction that comes before. Shape (n,).
        head: The transaction that comes after.
        kind: A `Dependency`.
        base: The written version that is read, or that is replaced.
        via: The version read, or the version whose successor replaces it; for a predicate, the operation.
        after: The version that replaces the base; for a predicate, the version that changes what matches.
    """

    tail: Ints
    head: Ints
    kind: Ints
    base: Ints
    via: Ints
    after: Ints

    def __len__(self) -> int:
        return len(self.tail)

    def where(self, chosen: Flags) -> "Edges":
        """Return the chosen edges."""
        return Edges(*(column[chosen] for column in self.columns()))

    def columns(self) -> tuple[Ints, ...]:
        """Return all columns."""
        return (self.tail, self.head, self.kind, self.base, self.via, self.after)


def edges(facts: Facts, *, literal: bool) -> Edges:
    """Return all edges among committed transactions.

    Args:
        literal: True: the replacement of a derived version orders all writers from which the two derive, as
            in [D]; False: only the writers of what one of them derives from and the other does not.
    """
    parts = [
        *_item_read_edges(facts),
        _write_edges(facts),
        _derivation_edges(facts, literal=literal),
        *_predicate_edges(facts),
    ]
    return concatenate_edges([part for part in parts if len(part)])


def concatenate_edges(parts: Sequence[Edges]) -> Edges:
    """Concatenate edges."""
    if not parts:
        return _edges(Dependency.WW, *(np.empty(0, np.int64) for _ in range(5)))
    return Edges(
        *(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True))
    )


def _edges(kind: Dependency, tail: Ints, head: Ints, base: Ints, via: Ints, after: Ints) -> Edges:
    """Return edges of one kind, without edges from a transaction to itself."""
    keep = tail != head
    short = [column[keep].astype(np.int32) for column in (tail, head, base, via, after)]
    tail, head, base, via, after = short
    return Edges(tail, head, np.full(len(tail), kind, np.int8), base, via, after)


def _item_read_edges(facts: Facts) -> tuple[Edges, Edges]:
    """Return the edges of reads, also through derivations: from the writer, and to the next writer."""
    columns = facts.columns
    reads = np.flatnonzero((columns.kind == Kind.READ) & facts.committed[facts.transaction_of])
    owners, bases = facts.closure.expand(columns.subject[reads])
    readers, via = facts.transaction_of[reads][owners], columns.subject[reads][owners]
    of = facts.is_installed(bases)
    after = facts.after[bases]
    overwritten = (facts.position[bases] >= 0) & (after >= 0)
    overwritten[overwritten] = facts.written[after[overwritten]]
    writes = after[overwritten]
    return (
        _edges(Dependency.WR, facts.writer[bases[of]], readers[of], bases[of], via[of], via[of]),
        _edges(
            Dependency.RW,
            readers[overwritten],
            facts.writer[writes],
            bases[overwritten],
            via[overwritten],
            writes,
        ),
    )


def _write_edges(facts: Facts) -> Edges:
    """Return the edges between written versions that are adjacent in an order."""
    older = np.flatnonzero(facts.written & (facts.after >= 0))
    older = older[facts.written[facts.after[older]]]
    newer = facts.after[older]
    return _edges(Dependency.WW, facts.writer[older], facts.writer[newer], older, older, newer)


def _derivation_edges(facts: Facts, *, literal: bool) -> Edges:
    """Return the edges between adjacent derived versions: writers of old sources to writers of new ones."""
    derived = facts.is_derived
    older = np.flatnonzero(derived & (facts.after >= 0))
    older = older[derived[facts.after[older]]]
    pairs, left = facts.closure.expand(older)
    pairs_new, new = facts.closure.expand(facts.after[older])
    if not literal:
        stays, comes = _differences(facts, pairs, left, pairs_new, new)
        pairs, left, pairs_new, new = pairs[stays], left[stays], pairs_new[comes], new[comes]
    wrote, writes = facts.is_installed(left), facts.is_installed(new)
    pairs, left = pairs[wrote], left[wrote]
    of_pair = Lists.by_owner(pairs_new[writes], new[writes], len(older))
    which, after = of_pair.expand(pairs)
    base = left[which]
    return _edges(Dependency.WW, facts.writer[base], facts.writer[after], base, older[pairs[which]], after)


def _differences(
    facts: Facts, pairs_left: Ints, left: Ints, pairs_right: Ints, right: Ints
) -> tuple[Flags, Flags]:
    """Mark the values of each list that the other list of the pair lacks; each list is ascending."""
    width = len(facts.columns.object_of)
    left_keys, right_keys = pairs_left * width + left, pairs_right * width + right
    return ~is_member(left_keys, right_keys), ~is_member(right_keys, left_keys)


@dataclass(frozen=True, slots=True)
class PredicateChanges:
    """The versions at which it changes what a predicate matches.

    Attributes:
        version: Shape (n,).
        of_predicate: For each predicate, its indexes into `version`.
        bases: For each entry of `version`, the written versions that cause the change.
    """

    version: Ints
    of_predicate: Lists
    bases: Lists


def predicate_changes(facts: Facts) -> PredicateChanges:
    """Return the versions whose match differs from that of the version before; no version is no match."""
    columns = facts.columns
    predicates, objects = columns.domains.all()
    owners, versions = columns.orders.expand(objects)
    predicates, before = predicates[owners], facts.before[versions]
    changed = _change_mask(facts, predicates, versions, before)
    version, predicates, before = versions[changed], predicates[changed], before[changed]
    indexes = np.arange(len(version), dtype=np.int64)
    return PredicateChanges(
        version,
        Lists.by_owner(predicates, indexes, len(columns.predicates)),
        _changing_bases(facts, version, before),
    )


def _change_mask(facts: Facts, predicates: Ints, versions: Ints, before: Ints) -> Flags:
    """Mark versions whose match differs from that of the version before (-1: there is none)."""
    columns = facts.columns
    width = len(columns.object_of)
    owners, matching = columns.matching.all()
    matches = distinct(owners * width + matching)
    now = is_member(predicates * width + versions, matches)
    then = is_member(predicates * width + before, matches) & (before >= 0)
    changed: Flags = now != then
    return changed


def _changing_bases(facts: Facts, versions: Ints, before: Ints) -> Lists:
    """Return for each version the installed ones by which it differs from the one before (-1: none)."""
    owners, bases = facts.closure.expand(versions)
    # Of a derived version only what it no longer shares with the version before counts.
    compared = np.flatnonzero(facts.is_derived[versions] & (before >= 0))
    shared, of_before = facts.closure.expand(before[compared])
    new, _ = _differences(facts, owners, bases, compared[shared], of_before)
    new &= facts.is_installed(bases)
    return Lists.by_owner(owners[new], bases[new], len(versions))


def _predicate_edges(facts: Facts) -> tuple[Edges, ...]:
    """Return the edges of predicate reads: from changes that they saw, and to changes that they did not."""
    columns = facts.columns
    reads = np.flatnonzero((columns.kind == Kind.PREDICATE_READ) & facts.committed[facts.transaction_of])
    if not len(reads):
        return ()
    changing = predicate_changes(facts)
    owners, indexes = changing.of_predicate.expand(columns.subject[reads])
    changed = changing.version[indexes]
    read = _versions_read(facts, reads, owners, columns.object_of[changed])
    left_out = _unlisted_reads(facts, reads)
    seen_at = np.where(read < 0, -1, left_out.seen_at[read])
    # The version after one that the order leaves out is compared with that one, in `_UnlistedReads.edges`.
    usable = (seen_at != _UNPLACED) & ~(
        (read >= 0) & (facts.position[read] < 0) & (facts.position[changed] == seen_at + 1)
    )
    owners, indexes, changed, seen_at = owners[usable], indexes[usable], changed[usable], seen_at[usable]
    which, bases = changing.bases.expand(indexes)
    saw = facts.position[changed] <= seen_at
    return (
        *_predicate_read_edges(facts, reads[owners[which]], bases, changed[which], saw[which]),
        *left_out.edges(facts),
    )


def _predicate_read_edges(
    facts: Facts, operations: Ints, bases: Ints, changed: Ints, saw: Flags
) -> tuple[Edges, Edges]:
    """Return edges from the writers of changes that a predicate read saw, and to those it did not see."""
    readers, writers = facts.transaction_of[operations], facts.writer[bases]
    return (
        _edges(Dependency.WRP, writers[saw], readers[saw], bases[saw], operations[saw], changed[saw]),
        _edges(Dependency.RWP, readers[~saw], writers[~saw], bases[~saw], operations[~saw], changed[~saw]),
    )


def _versions_read(facts: Facts, reads: Ints, owners: Ints, objects: Ints) -> Ints:
    """Return the version of an object that a read has; -1 for none."""
    columns = facts.columns
    width = len(columns.objects)
    sets, versions = columns.lists.expand(reads)
    keys = sets * width + columns.object_of[versions]
    order = np.argsort(keys)
    keys, versions = keys[order], versions[order]
    wanted = owners * width + objects
    present = is_member(wanted, keys)
    versions_read = np.full(len(wanted), -1, np.int64)
    versions_read[present] = versions[np.searchsorted(keys, wanted[present])]
    return versions_read


# The place of a written version that is in no order, which cannot be compared with those that are.
_UNPLACED = -2


@dataclass(frozen=True, slots=True)
class _UnlistedReads:
    """Predicate reads of derived versions that the orders leave out.

    Attributes:
        seen_at: The place of each version in its order; for a version that the order leaves out, the place of
            the version before it (-1: none), or `_UNPLACED` if it has no place.
        operations: The predicate reads. Shape (n,).
        versions: The version of an object that each of them has.
    """

    seen_at: Ints
    operations: Ints
    versions: Ints

    def edges(self, facts: Facts) -> tuple[Edges, ...]:
        """Return the edges of what these versions change, and of what changes them."""
        columns = facts.columns
        if not len(self.versions):
            return ()
        objects, places = columns.object_of[self.versions], self.seen_at[self.versions]
        starts, lengths = columns.orders.starts[objects], columns.orders.lengths[objects]
        before, after = np.full((2, len(places)), -1, np.int64)
        earlier, later = places >= 0, places + 1 < lengths
        before[earlier] = columns.orders.values[(starts + places)[earlier]]
        after[later] = columns.orders.values[(starts + places + 1)[later]]
        return (
            *self._changes(facts, self.operations, self.versions, before, saw=True),
            *self._changes(facts, self.operations[later], after[later], self.versions[later], saw=False),
        )

    @staticmethod
    def _changes(
        facts: Facts, operations: Ints, versions: Ints, before: Ints, *, saw: bool
    ) -> tuple[Edges, Edges]:
        changed = _change_mask(facts, facts.columns.subject[operations], versions, before)
        operations, versions, before = operations[changed], versions[changed], before[changed]
        which, bases = _changing_bases(facts, versions, before).all()
        return _predicate_read_edges(
            facts, operations[which], bases, versions[which], np.full(len(which), saw, np.bool_)
        )


def _unlisted_reads(facts: Facts, reads: Ints) -> _UnlistedReads:
    """Return the derived versions that predicate reads have and that the orders leave out."""
    seen_at = np.where(facts.position < 0, _UNPLACED, facts.position)
    owners, versions = facts.columns.lists.expand(reads)
    lacking = facts.is_derived[versions] & (facts.position[versions] < 0)
    owners, versions = owners[lacking], versions[lacking]
    if len(versions):
        read = distinct(versions)
        seen_at[read] = places_of_unlisted(facts, read) - 1
    return _UnlistedReads(seen_at, reads[owners], versions)
