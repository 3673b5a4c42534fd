"""Mutants of the isolation checker: a known history notices each rule that is left out or bent."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories_known import KNOWN

from oracles import isolation
from oracles.isolation import checking, cycles, edges, facts, levels, snapshots, validity
from oracles.isolation.columns import Kind
from oracles.isolation.edges import Dependency
from oracles.isolation.lists import Lists

Patch = pytest.MonkeyPatch


def without(*kinds: Dependency) -> Callable[[Patch], None]:
    """No edges of some kinds."""

    def bend(patch: Patch) -> None:
        whole = edges.edges
        patch.setattr(checking, "edges", lambda known, *, literal: cut(whole(known, literal=literal)))

    def cut(found: edges.Edges) -> edges.Edges:
        return found.where(~np.isin(found.kind, [int(kind) for kind in kinds]))

    return bend


def no_derived_writes(patch: Patch) -> None:
    """Only written versions that follow each other depend."""
    patch.setattr(edges, "_derivation_edges", lambda known, *, literal: edges.concatenate_edges([]))


def literal_clause(patch: Patch) -> None:
    """The clause as the paper has it."""
    refined = edges._derivation_edges
    patch.setattr(edges, "_derivation_edges", lambda known, *, literal: refined(known, literal=True))


def no_closure(patch: Patch) -> None:
    """A derived version derives from nothing."""

    def themselves(columns: Any, derivations: Any) -> Lists:
        every = np.arange(len(columns.object_of), dtype=np.int64)
        return Lists(every, every + ~np.isin(every, columns.subject[derivations]), every)

    patch.setattr(facts, "closures", themselves)


def derivations_install(patch: Patch) -> None:
    """A refresh is a write: its transaction has the edges of one."""
    whole = facts.facts_of

    def installing(columns: Any) -> Any:
        kind = np.where(columns.kind == Kind.DERIVE, Kind.WRITE, columns.kind)
        return whole(replace(columns, kind=kind))

    patch.setattr(validity, "facts_of", installing)


def own_versions_count(patch: Patch) -> None:
    """What a transaction read of its own intermediate versions is held against it."""

    def anyones(known: Any, kept: Any) -> snapshots.DirtyRead | None:
        stale = np.flatnonzero((known.writer >= 0) & ~known.final)
        return (
            snapshots.DirtyRead(int(known.writer[stale[0]]), 0, int(stale[0]), int(stale[0]))
            if len(stale)
            else None
        )

    patch.setattr(checking, "intermediate_read", anyones)


def unborn_matches(patch: Patch) -> None:
    """An object's first version changes what matches only if it does not match."""
    whole = edges.predicate_changes

    def bent(known: Any) -> edges.PredicateChanges:
        found = whole(known)
        first = known.before[found.version] < 0
        bases = Lists(
            found.bases.starts, np.where(first, found.bases.starts, found.bases.stops), found.bases.values
        )
        return replace(found, bases=bases)

    patch.setattr(edges, "predicate_changes", bent)


def every_version_changes(patch: Patch) -> None:
    """A version is a change even if it matches as the one before does."""
    whole = edges.predicate_changes

    def bent(known: Any) -> edges.PredicateChanges:
        alternate = np.flatnonzero(known.position % 2 == 0).tolist()
        matching = Lists.of([alternate for _ in known.columns.predicates])
        return whole(replace(known, columns=replace(known.columns, matching=matching)))

    patch.setattr(edges, "predicate_changes", bent)


def start_is_begin(patch: Patch) -> None:
    """A snapshot is taken at the begin, never before."""
    patch.setattr(
        checking, "snapshot_clash", lambda found, known, single: snapshots.begin_clash(found, known)
    )


def commits_in_any_order(patch: Patch) -> None:
    """A start need not precede the commits of those that overwrite what was read."""
    patch.setattr(checking, "snapshot_clash", lambda found, known, single: single)


def shape(name: str, bent: cycles.CycleShape) -> Callable[[Patch], None]:
    """A phenomenon of other edges."""
    return lambda patch: patch.setattr(cycles, "SHAPES", {**cycles.SHAPES, name: bent})


def any_way_back(patch: Patch) -> None:
    """G-single may come back over other anti-dependencies, against the order of dependencies."""
    shape("G-single", cycles.CycleShape(cycles.ANTI, cycles.EVERY))(patch)
    ranks = cycles._ranks
    patch.setattr(cycles, "_ranks", lambda count, *given: (cycles._no_ranks(count), ranks(count, *given)[1]))


def level(name: str, *proscribed: str) -> Callable[[Patch], None]:
    """A level that proscribes something else."""
    return lambda patch: patch.setattr(checking, "LEVELS", {**levels.LEVELS, name: frozenset(proscribed)})


ITEM, WRITE_READ = frozenset({Dependency.RW}), frozenset({Dependency.WW, Dependency.WR})

MUTANTS: Mapping[str, Callable[[Patch], None]] = {
    "no write-dependencies": without(Dependency.WW),
    "no read-dependencies": without(Dependency.WR),
    "no anti-dependencies": without(Dependency.RW),
    "no predicate-read-dependencies": without(Dependency.WRP),
    "no predicate-anti-dependencies": without(Dependency.RWP),
    "no write-dependencies through derivations": no_derived_writes,
    "the literal clause": literal_clause,
    "nothing is seen through derivations": no_closure,
    "derivations install": derivations_install,
    "own intermediate versions": own_versions_count,
    "unborn objects match": unborn_matches,
    "every version changes what matches": every_version_changes,
    "G-SI from the begin": start_is_begin,
    "G-SI of G-single alone": commits_in_any_order,
    "G0 of all dependencies": shape("G0", cycles.CycleShape(cycles.DIRECT, cycles.DIRECT)),
    "G1c of writes alone": shape(
        "G1c", cycles.CycleShape(frozenset({Dependency.WW}), frozenset({Dependency.WW}))
    ),
    "G-single of items alone": shape("G-single", cycles.CycleShape(ITEM, cycles.DIRECT)),
    "G-single without predicate reads": shape("G-single", cycles.CycleShape(cycles.ANTI, WRITE_READ)),
    "G-single of several anti-dependencies": any_way_back,
    "G2-item of predicates too": shape("G2-item", cycles.CycleShape(cycles.ANTI, cycles.EVERY)),
    "G2 of items alone": shape("G2", cycles.CycleShape(ITEM, cycles.EVERY)),
    "PL-2 with G1c": level("PL-2", "G0", "G1a", "G1b"),
    "PL-2+ with G-single": level("PL-2+", "G0", "G1a", "G1b", "G1c"),
    "PL-2.99 with G2-item": level("PL-2.99", "G0", "G1a", "G1b", "G1c"),
    "PL-SI with G-SI": level("PL-SI", "G0", "G1a", "G1b", "G1c"),
    "PL-3 with G2": level("PL-3", "G0", "G1a", "G1b", "G1c", "G-single"),
}


def noticed() -> list[str]:
    """The known histories that are not judged as they are known."""
    found = []
    for name, known in KNOWN.items():
        result = isolation.check(known.history)
        told = " ".join(result.phenomena), " ".join(result.strongest)
        expected = None if known.edges is None else set(known.edges.split())
        if told != (known.phenomena, known.strongest) or expected not in (None, result.edges()):
            found.append(name)
    return found


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_known_history_notices_the_mutant(mutant: str, monkeypatch: Patch) -> None:
    assert noticed() == []
    MUTANTS[mutant](monkeypatch)
    assert noticed()
