"""Mutants of the isolation checker: each leaves out one rule or changes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mutants.replacements import Replacement
from oracles.isolation import checking, cycles, edges, facts, levels, snapshots, validity
from oracles.isolation.columns import Columns, Kind
from oracles.isolation.cycles import CycleShape
from oracles.isolation.edges import Dependency, Edges, PredicateChanges
from oracles.isolation.facts import Facts
from oracles.isolation.lists import Ints, Lists

_all_edges, _derivation_edges = edges.edges, edges._derivation_edges
_predicate_changes, _facts_of, _ranks = edges.predicate_changes, facts.facts_of, cycles._ranks


# Edges


def _without(*kinds: Dependency) -> tuple[Replacement]:
    """Leave out the edges of some kinds."""

    def remaining_edges(facts: Facts, *, literal: bool) -> Edges:
        whole = _all_edges(facts, literal=literal)
        return whole.where(~np.isin(whole.kind, [int(kind) for kind in kinds]))

    return (Replacement(checking, "edges", remaining_edges),)


def _no_derivation_edges(facts: Facts, *, literal: bool) -> Edges:
    """Let only written versions that follow each other depend."""
    return edges.concatenate_edges([])


def _literal_edges(facts: Facts, *, literal: bool) -> Edges:
    """Take the clause as the paper has it."""
    return _derivation_edges(facts, literal=True)


def _no_closures(columns: Any, derivations: Any) -> Lists:
    """Derive a derived version from nothing."""
    every = np.arange(len(columns.object_of), dtype=np.int64)
    return Lists(every, every + ~np.isin(every, columns.subject[derivations]), every)


def _derivations_install(columns: Columns) -> Facts:
    """Take a refresh for a write: its transaction has the edges of one."""
    kind = np.where(columns.kind == Kind.DERIVE, Kind.WRITE, columns.kind)
    return _facts_of(replace(columns, kind=kind))


# What predicates match


def _unborn_matches(facts: Facts) -> PredicateChanges:
    """Take an object's first version for a change of what matches only if it does not match."""
    changes = _predicate_changes(facts)
    is_first = facts.before[changes.version] < 0
    bases = changes.bases
    stops = np.where(is_first, bases.starts, bases.stops)
    return replace(changes, bases=Lists(bases.starts, stops, bases.values))


def _every_version_changes(facts: Facts) -> PredicateChanges:
    """Take a version for a change even if it matches as the one before does."""
    alternate = np.flatnonzero(facts.position % 2 == 0).tolist()
    matching = Lists.of([alternate for _ in facts.columns.predicates])
    return _predicate_changes(replace(facts, columns=replace(facts.columns, matching=matching)))


# Reads and snapshots


def _own_versions_count(facts: Facts, kept: Ints) -> snapshots.DirtyRead | None:
    """Hold against a transaction what it read of its own intermediate versions."""
    stale = np.flatnonzero((facts.writer >= 0) & ~facts.final)
    if not len(stale):
        return None
    version = int(stale[0])
    return snapshots.DirtyRead(int(facts.writer[version]), 0, version, version)


# Cycles and levels


def _shape(name: str, shape: CycleShape) -> Replacement:
    """Make a phenomenon of other edges."""
    return Replacement(cycles, "SHAPES", {**cycles.SHAPES, name: shape})


def _without_ranks(count: int, tail: Ints, head: Ints, end: Ints) -> tuple[Ints, bool]:
    return cycles._no_ranks(count), _ranks(count, tail, head, end)[1]


def _level(name: str, *proscribed: str) -> tuple[Replacement]:
    """Make a level that proscribes something else."""
    return (Replacement(checking, "LEVELS", {**levels.LEVELS, name: frozenset(proscribed)}),)


_WRITE, _ITEM = frozenset({Dependency.WW}), frozenset({Dependency.RW})
_WRITE_READ = frozenset({Dependency.WW, Dependency.WR})

MUTANTS: Mapping[str, tuple[Replacement, ...]] = {
    "no write-dependencies": _without(Dependency.WW),
    "no read-dependencies": _without(Dependency.WR),
    "no anti-dependencies": _without(Dependency.RW),
    "no predicate-read-dependencies": _without(Dependency.WRP),
    "no predicate-anti-dependencies": _without(Dependency.RWP),
    "no write-dependencies through derivations": (
        Replacement(edges, "_derivation_edges", _no_derivation_edges),
    ),
    "the literal clause": (Replacement(edges, "_derivation_edges", _literal_edges),),
    "nothing is seen through derivations": (Replacement(facts, "closures", _no_closures),),
    "derivations install": (Replacement(validity, "facts_of", _derivations_install),),
    "own intermediate versions": (Replacement(checking, "intermediate_read", _own_versions_count),),
    "unborn objects match": (Replacement(edges, "predicate_changes", _unborn_matches),),
    "every version changes what matches": (Replacement(edges, "predicate_changes", _every_version_changes),),
    # A snapshot is taken at the begin, never before.
    "G-SI from the begin": (
        Replacement(
            checking, "snapshot_clash", lambda edges, facts, single: snapshots.begin_clash(edges, facts)
        ),
    ),
    # A start need not precede the commits of those that overwrite what was read.
    "G-SI of G-single alone": (Replacement(checking, "snapshot_clash", lambda edges, facts, single: single),),
    "G0 of all dependencies": (_shape("G0", CycleShape(cycles.DIRECT, cycles.DIRECT)),),
    "G1c of writes alone": (_shape("G1c", CycleShape(_WRITE, _WRITE)),),
    "G-single of items alone": (_shape("G-single", CycleShape(_ITEM, cycles.DIRECT)),),
    "G-single without predicate reads": (_shape("G-single", CycleShape(cycles.ANTI, _WRITE_READ)),),
    # G-single may come back over other anti-dependencies, against the order of dependencies.
    "G-single of several anti-dependencies": (
        _shape("G-single", CycleShape(cycles.ANTI, cycles.EVERY)),
        Replacement(cycles, "_ranks", _without_ranks),
    ),
    "G2-item of predicates too": (_shape("G2-item", CycleShape(cycles.ANTI, cycles.EVERY)),),
    "G2 of items alone": (_shape("G2", CycleShape(_ITEM, cycles.EVERY)),),
    "PL-2 with G1c": _level("PL-2", "G0", "G1a", "G1b"),
    "PL-2+ with G-single": _level("PL-2+", "G0", "G1a", "G1b", "G1c"),
    "PL-2.99 with G2-item": _level("PL-2.99", "G0", "G1a", "G1b", "G1c"),
    "PL-SI with G-SI": _level("PL-SI", "G0", "G1a", "G1b", "G1c"),
    "PL-3 with G2": _level("PL-3", "G0", "G1a", "G1b", "G1c", "G-single"),
}
