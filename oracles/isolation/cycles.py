"""Phenomena that are cycles of the Direct Serialization Graph, with a smallest cycle for each.

Source: Adya's thesis, chapters 3 and 4 (G0, G1c, G2, G2-item, G-single); Elle (G-nonadjacent).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from oracles.isolation.edges import Dependency, Edges
from oracles.isolation.lists import Flags, Ints, distinct
from oracles.isolation.searching import (
    PathSearches,
    components,
    decide_reachability,
    find_shortest,
    shortest_path,
    sparse,
)

DIRECT = frozenset({Dependency.WW, Dependency.WR, Dependency.WRP})
ANTI = frozenset({Dependency.RW, Dependency.RWP})
EVERY = DIRECT | ANTI


@dataclass(frozen=True, slots=True)
class CycleShape:
    """The shape of a cycle: one edge of some kinds, and a path back over edges of other kinds."""

    first: frozenset[Dependency]
    rest: frozenset[Dependency]


SHAPES: Mapping[str, CycleShape] = {
    "G0": CycleShape(frozenset({Dependency.WW}), frozenset({Dependency.WW})),
    "G1c": CycleShape(DIRECT, DIRECT),
    "G-single": CycleShape(ANTI, DIRECT),
    "G2-item": CycleShape(frozenset({Dependency.RW}), EVERY),
    "G2": CycleShape(ANTI, EVERY),
}


@dataclass(frozen=True, slots=True)
class Link:
    """Two transactions, and the kinds of edges that may lead from one to the other."""

    tail: int
    head: int
    kinds: frozenset[Dependency]


@dataclass(frozen=True, slots=True)
class Cycle:
    """A closed walk; `smallest` if it is known that none has fewer edges."""

    links: tuple[Link, ...]
    smallest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """The phenomena that occur, and those for which a search reached its limit."""

    cycles: Mapping[str, Cycle]
    unknown: frozenset[str]


def find_cycles(edges: Edges, transactions: int, end: Ints) -> Cycles:
    """Find the phenomena that are cycles.

    Args:
        transactions: The number of transactions.
        end: The place of each transaction's commit.
    """
    inner = _CyclicPart.of(edges, transactions, end)
    if inner is None:
        return Cycles(cycles={}, unknown=frozenset())
    smallest_cycles: dict[str, Cycle] = {}
    unknown: set[str] = set()
    walks = _Walks.of(inner)
    for name, shape in SHAPES.items():
        if shape.first <= DIRECT and not inner.has_direct_cycle:
            continue
        if name == "G-single":
            cycle, is_decided = inner.single_cycle(shape, walks.alternating)
        else:
            cycle, is_decided = inner.within_components(shape), True
        if cycle is not None:
            smallest_cycles[name] = cycle
        elif not is_decided:
            unknown.add(name)
    nonadjacent = walks.smallest()
    if nonadjacent is not None:
        smallest_cycles["G-nonadjacent"] = nonadjacent
    return Cycles(cycles=smallest_cycles, unknown=frozenset(unknown))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CyclicPart:
    """The part of the graph that holds all cycles: the components of more than one node, renumbered."""

    tail: Ints
    head: Ints
    kind: Ints
    nodes: Ints
    ranks: Ints
    has_direct_cycle: bool

    @classmethod
    def of(cls, edges: Edges, transactions: int, end: Ints) -> "_CyclicPart | None":
        """Return the part with cycles; None if the graph has no cycle."""
        count, labels = components(sparse(transactions, edges.tail, edges.head))
        if count == transactions:
            return None
        cyclic = np.bincount(labels)[labels] > 1
        nodes = np.flatnonzero(cyclic)
        numbers = (np.cumsum(cyclic) - 1).astype(np.int32)
        keep = labels[edges.tail] == labels[edges.head]
        tail, head, kind = numbers[edges.tail[keep]], numbers[edges.head[keep]], edges.kind[keep]
        direct = kind < Dependency.RW
        ranks, acyclic = _ranks(len(nodes), tail[direct], head[direct], end[nodes])
        return cls(tail=tail, head=head, kind=kind, nodes=nodes, ranks=ranks, has_direct_cycle=not acyclic)

    def of_kinds(self, kinds: frozenset[Dependency]) -> Flags:
        """Mark the edges of some kinds."""
        return np.isin(self.kind, [int(kind) for kind in kinds])

    def within_components(self, shape: CycleShape) -> Cycle | None:
        """Return a smallest cycle whose first edge's kinds are among those of the rest."""
        rest, count = self.of_kinds(shape.rest), len(self.nodes)
        tail, head = self.tail[rest], self.head[rest]
        _, labels = components(sparse(count, tail, head))
        inside = labels[tail] == labels[head]
        arcs = sparse(count, tail[inside], head[inside])
        first = self.of_kinds(shape.first) & (labels[self.tail] == labels[self.head])
        if not first.any():
            return None
        tail, head = _distinct_pairs(self.tail[first], self.head[first], count)
        return self._smallest(shape, PathSearches(arcs=arcs, starts=head, ends=tail, ranks=_no_ranks(count)))

    def single_cycle(self, shape: CycleShape, alternating: Flags) -> tuple[Cycle | None, bool]:
        """Return a smallest cycle with one anti-dependency; without one, also whether there is none."""
        paths = self.single_searches(shape, alternating)
        shortest_search = find_shortest(paths)
        if shortest_search.search is not None:
            return self._cycle(shape, paths, shortest_search.search, shortest_search.complete), True
        if shortest_search.complete:
            return None, True
        decided = decide_reachability(paths)
        closing = np.flatnonzero(decided.reachable)
        if not len(closing):
            return None, not decided.unknown.any()
        few = PathSearches(
            arcs=paths.arcs, starts=paths.starts[closing], ends=paths.ends[closing], ranks=paths.ranks
        )
        return self._smallest(shape, few, complete=not decided.unknown.any()), True

    def single_searches(self, shape: CycleShape, alternating: Flags) -> PathSearches:
        """Return the searches for paths back from anti-dependencies, only those of closed walks."""
        rest, count = self.of_kinds(shape.rest), len(self.nodes)
        first = self.of_kinds(shape.first) & alternating
        tail, head = _distinct_pairs(self.tail[first], self.head[first], count)
        arcs = sparse(count, self.tail[rest], self.head[rest])
        return PathSearches(arcs=arcs, starts=head, ends=tail, ranks=self.ranks)

    def _smallest(self, shape: CycleShape, paths: PathSearches, *, complete: bool = True) -> Cycle:
        """Return a smallest cycle, given that every search ends."""
        shortest_search = find_shortest(paths)
        return self._cycle(shape, paths, shortest_search.search or 0, shortest_search.complete and complete)

    def _cycle(self, shape: CycleShape, paths: PathSearches, search: int, smallest: bool) -> Cycle:
        start, end = int(paths.starts[search]), int(paths.ends[search])
        nodes = self.nodes[shortest_path(paths.arcs, start, end)].tolist()
        back = [Link(tail, head, shape.rest) for tail, head in pairwise(nodes)]
        return Cycle((Link(nodes[-1], nodes[0], shape.first), *back), smallest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walks:
    """Closed walks without two adjacent anti-dependencies.

    Each node exists twice: as reached by a dependency and, with a higher number, as reached by an anti-
    dependency, after which only a dependency may follow.

    Attributes:
        alternating: Marks the edges that are anti-dependencies of such a walk.
        tails, heads: The ends of the arcs of such walks.
    """

    inner: _CyclicPart
    alternating: Flags
    tails: Ints
    heads: Ints

    @classmethod
    def of(cls, inner: _CyclicPart) -> "_Walks":
        """Return the walks of a graph."""
        count, anti = len(inner.nodes), inner.of_kinds(ANTI)
        tail, head = inner.tail.astype(np.int64), inner.head.astype(np.int64)
        tails = np.concatenate((tail[~anti], tail[~anti] + count, tail[anti])).astype(np.int32)
        heads = np.concatenate((head[~anti], head[~anti], head[anti] + count)).astype(np.int32)
        _, labels = components(sparse(2 * count, tails, heads))
        inside = labels[tails] == labels[heads]
        alternating = anti.copy()
        alternating[anti] = inside[len(inside) - int(anti.sum()) :]
        return cls(inner=inner, alternating=alternating, tails=tails[inside], heads=heads[inside])

    def smallest(self) -> Cycle | None:
        """Return a smallest closed walk; None if there is none."""
        if not self.alternating.any():
            return None
        count = len(self.inner.nodes)
        arcs = sparse(2 * count, self.tails, self.heads)
        ends, starts = _distinct_pairs(
            self.inner.tail[self.alternating], self.inner.head[self.alternating], count
        )
        paths = PathSearches(arcs=arcs, starts=starts + count, ends=ends, ranks=_no_ranks(2 * count))
        shortest_search = find_shortest(paths)
        search = shortest_search.search or 0
        walk = shortest_path(arcs, int(paths.starts[search]), int(paths.ends[search]))
        links = [self._link(tail, head) for tail, head in pairwise([walk[-1], *walk])]
        return Cycle(tuple(links), shortest_search.complete)

    def _link(self, tail: int, head: int) -> Link:
        nodes = self.inner.nodes
        count = len(nodes)
        return Link(int(nodes[tail % count]), int(nodes[head % count]), ANTI if head >= count else DIRECT)


def _ranks(count: int, tail: Ints, head: Ints, end: Ints) -> tuple[Ints, bool]:
    """Return node orders that no dependency violates, and whether the dependencies have no cycle."""
    arcs = sparse(count, tail, head)
    component_count, labels = components(arcs)
    ranks = [rank for rank in (end, labels, -labels) if bool(np.all(rank[tail] <= rank[head]))]
    return np.array(ranks, np.int64).reshape(len(ranks), count), component_count == count


def _no_ranks(count: int) -> Ints:
    return np.empty((0, count), np.int64)


def _distinct_pairs(tail: Ints, head: Ints, count: int) -> tuple[Ints, Ints]:
    """Return distinct pairs."""
    keys = distinct(tail.astype(np.int64) * count + head)
    return keys // count, keys % count


def closing_transactions(edges: Edges, transactions: int, end: Ints) -> tuple[Ints, int, int]:
    """Return the transactions whose anti-dependency closes a cycle of dependencies: the readers of G-single.

    Returns:
        The transactions, the number of anti-dependencies searched from, and that of undecided searches.
    """
    inner = _CyclicPart.of(edges, transactions, end)
    if inner is None:
        return np.empty(0, np.int64), 0, 0
    paths = inner.single_searches(SHAPES["G-single"], _Walks.of(inner).alternating)
    decided = decide_reachability(paths)
    readers = inner.nodes[distinct(paths.ends[decided.reachable])]
    return readers, len(paths.starts), int(decided.unknown.sum())
