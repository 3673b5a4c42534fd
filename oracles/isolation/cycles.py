"""Phenomena that are cycles of the Direct Serialization Graph, each with a smallest one.

Source: Adya's thesis, chapters 3 and 4 (G0, G1c, G2, G2-item, G-single); Elle (G-nonadjacent).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from oracles.isolation.edges import Dependency, Edges
from oracles.isolation.lists import Flags, Ints, distinct
from oracles.isolation.searching import Ways, components, decide, shortest, sparse, way

DIRECT = frozenset({Dependency.WW, Dependency.WR, Dependency.WRP})
ANTI = frozenset({Dependency.RW, Dependency.RWP})
EVERY = DIRECT | ANTI


@dataclass(frozen=True, slots=True)
class Shape:
    """A cycle of one edge of some kinds, and a way back over edges of others."""

    first: frozenset[Dependency]
    rest: frozenset[Dependency]


SHAPES: Mapping[str, Shape] = {
    "G0": Shape(frozenset({Dependency.WW}), frozenset({Dependency.WW})),
    "G1c": Shape(DIRECT, DIRECT),
    "G-single": Shape(ANTI, DIRECT),
    "G2-item": Shape(frozenset({Dependency.RW}), EVERY),
    "G2": Shape(ANTI, EVERY),
}


@dataclass(frozen=True, slots=True)
class Link:
    """Two transactions, and the kinds of edge that may lead from one to the other."""

    tail: int
    head: int
    kinds: frozenset[Dependency]


@dataclass(frozen=True, slots=True)
class Cycle:
    """A closed walk, and whether there is known to be none of fewer edges."""

    links: tuple[Link, ...]
    smallest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """The phenomena that are there, and those for which the search met its limit."""

    found: Mapping[str, Cycle]
    unknown: frozenset[str]


def cycles(edges: Edges, transactions: int, end: Ints) -> Cycles:
    """Find the phenomena that are cycles.

    Args:
        transactions: How many there are.
        end: The place of each one's commit.
    """
    inner = _Inner.of(edges, transactions, end)
    if inner is None:
        return Cycles(found={}, unknown=frozenset())
    found: dict[str, Cycle] = {}
    unknown: set[str] = set()
    walks = _Walks.of(inner)
    for name, shape in SHAPES.items():
        if shape.first <= DIRECT and not inner.has_direct_cycle:
            continue
        if name == "G-single":
            cycle, known = inner.single(shape, walks.alternating)
        else:
            cycle, known = inner.within_components(shape), True
        if cycle is not None:
            found[name] = cycle
        elif not known:
            unknown.add(name)
    nonadjacent = walks.smallest()
    if nonadjacent is not None:
        found["G-nonadjacent"] = nonadjacent
    return Cycles(found=found, unknown=frozenset(unknown))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inner:
    """The part of the graph in which cycles are: nodes of components of more than one, counted anew."""

    tail: Ints
    head: Ints
    kind: Ints
    nodes: Ints
    ranks: Ints
    has_direct_cycle: bool

    @classmethod
    def of(cls, edges: Edges, transactions: int, end: Ints) -> "_Inner | None":
        """None if the graph has no cycle."""
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

    def chosen(self, kinds: frozenset[Dependency]) -> Flags:
        """Which edges are of some kinds."""
        return np.isin(self.kind, [int(kind) for kind in kinds])

    def within_components(self, shape: Shape) -> Cycle | None:
        """A smallest cycle whose first edge's kinds are among those of the rest."""
        rest, count = self.chosen(shape.rest), len(self.nodes)
        tail, head = self.tail[rest], self.head[rest]
        _, labels = components(sparse(count, tail, head))
        inside = labels[tail] == labels[head]
        arcs = sparse(count, tail[inside], head[inside])
        first = self.chosen(shape.first) & (labels[self.tail] == labels[self.head])
        if not first.any():
            return None
        tail, head = _distinct(self.tail[first], self.head[first], count)
        return self._smallest(shape, Ways(arcs=arcs, starts=head, ends=tail, ranks=_no_ranks(count)))

    def single(self, shape: Shape, alternating: Flags) -> tuple[Cycle | None, bool]:
        """A smallest cycle of one anti-dependency, and if none was found, whether there is none."""
        ways = self.singles(shape, alternating)
        found = shortest(ways)
        if found.search is not None:
            return self._cycle(shape, ways, found.search, found.complete), True
        if found.complete:
            return None, True
        decided = decide(ways)
        closing = np.flatnonzero(decided.found)
        if not len(closing):
            return None, not decided.unknown.any()
        few = Ways(arcs=ways.arcs, starts=ways.starts[closing], ends=ways.ends[closing], ranks=ways.ranks)
        return self._smallest(shape, few, complete=not decided.unknown.any()), True

    def singles(self, shape: Shape, alternating: Flags) -> Ways:
        """Where to look for the ways back of anti-dependencies, which are among those of closed walks."""
        rest, count = self.chosen(shape.rest), len(self.nodes)
        first = self.chosen(shape.first) & alternating
        tail, head = _distinct(self.tail[first], self.head[first], count)
        arcs = sparse(count, self.tail[rest], self.head[rest])
        return Ways(arcs=arcs, starts=head, ends=tail, ranks=self.ranks)

    def _smallest(self, shape: Shape, ways: Ways, *, complete: bool = True) -> Cycle:
        """A smallest cycle, where each search is known to come to its end."""
        found = shortest(ways)
        return self._cycle(shape, ways, found.search or 0, found.complete and complete)

    def _cycle(self, shape: Shape, ways: Ways, search: int, smallest: bool) -> Cycle:
        start, end = int(ways.starts[search]), int(ways.ends[search])
        nodes = self.nodes[way(ways.arcs, start, end)].tolist()
        back = [Link(tail, head, shape.rest) for tail, head in pairwise(nodes)]
        return Cycle((Link(nodes[-1], nodes[0], shape.first), *back), smallest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walks:
    """Closed walks without two anti-dependencies next to each other.

    Each node is there twice: as it is reached by a dependency, and, counted on, by an anti-dependency, from
    where no other one leads on.

    Attributes:
        alternating: Which edges are anti-dependencies of such a walk.
        tails, heads: The ends of what may be walked, of such walks alone.
    """

    inner: _Inner
    alternating: Flags
    tails: Ints
    heads: Ints

    @classmethod
    def of(cls, inner: _Inner) -> "_Walks":
        """The walks of a graph."""
        count, anti = len(inner.nodes), inner.chosen(ANTI)
        tail, head = inner.tail.astype(np.int64), inner.head.astype(np.int64)
        tails = np.concatenate((tail[~anti], tail[~anti] + count, tail[anti])).astype(np.int32)
        heads = np.concatenate((head[~anti], head[~anti], head[anti] + count)).astype(np.int32)
        _, labels = components(sparse(2 * count, tails, heads))
        inside = labels[tails] == labels[heads]
        alternating = anti.copy()
        alternating[anti] = inside[len(inside) - int(anti.sum()) :]
        return cls(inner=inner, alternating=alternating, tails=tails[inside], heads=heads[inside])

    def smallest(self) -> Cycle | None:
        """A smallest one."""
        if not self.alternating.any():
            return None
        count = len(self.inner.nodes)
        arcs = sparse(2 * count, self.tails, self.heads)
        ends, starts = _distinct(self.inner.tail[self.alternating], self.inner.head[self.alternating], count)
        ways = Ways(arcs=arcs, starts=starts + count, ends=ends, ranks=_no_ranks(2 * count))
        found = shortest(ways)
        search = found.search or 0
        walk = way(arcs, int(ways.starts[search]), int(ways.ends[search]))
        links = [self._link(one, other) for one, other in pairwise([walk[-1], *walk])]
        return Cycle(tuple(links), found.complete)

    def _link(self, one: int, other: int) -> Link:
        nodes = self.inner.nodes
        count = len(nodes)
        return Link(int(nodes[one % count]), int(nodes[other % count]), ANTI if other >= count else DIRECT)


def _ranks(count: int, tail: Ints, head: Ints, end: Ints) -> tuple[Ints, bool]:
    """Orders that no dependency goes against, and whether dependencies have no cycle."""
    arcs = sparse(count, tail, head)
    found, labels = components(arcs)
    ranks = [rank for rank in (end, labels, -labels) if bool(np.all(rank[tail] <= rank[head]))]
    return np.array(ranks, np.int64).reshape(len(ranks), count), found == count


def _no_ranks(count: int) -> Ints:
    return np.empty((0, count), np.int64)


def _distinct(tail: Ints, head: Ints, count: int) -> tuple[Ints, Ints]:
    """Pairs, each once."""
    keys = distinct(tail.astype(np.int64) * count + head)
    return keys // count, keys % count


def closing(edges: Edges, transactions: int, end: Ints) -> tuple[Ints, int, int]:
    """All transactions whose anti-dependency closes a cycle of dependencies: the readers of each G-single.

    Returns:
        The transactions; how many anti-dependencies were searched from; how many of the searches met a limit.
    """
    inner = _Inner.of(edges, transactions, end)
    if inner is None:
        return np.empty(0, np.int64), 0, 0
    ways = inner.singles(SHAPES["G-single"], _Walks.of(inner).alternating)
    decided = decide(ways)
    readers = inner.nodes[distinct(ways.ends[decided.found])]
    return readers, len(ways.starts), int(decided.unknown.sum())
