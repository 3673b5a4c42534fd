"""Isolation of small histories, straight from the definitions: loops over operations, cycles and starts.

Shares   the types of histories; no code of the fast checker.
Trusts   that the history is well formed: versions exist before they are read, orders are complete.
Removes  every shortcut: no order is indexed, no component is computed, no start point is deduced.
Leaves   witnesses; histories of more transactions than a few.
"""

import enum
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias

from strategies.histories.histories import Commit, Derive, History, PredicateRead, Read, Version, Write

Arc: TypeAlias = tuple[int, int]
Cycle: TypeAlias = tuple[Arc, ...]

_MOST_TRANSACTIONS = 9  # The choices of start points grow with the factorial.


class DependencyKind(enum.StrEnum):
    """The way in which one transaction depends on another."""

    WRITE = "ww"
    READ = "wr"
    ANTI = "rw"
    PREDICATE_READ = "wrp"
    PREDICATE_ANTI = "rwp"


class Edge(NamedTuple):
    """A dependency of `target` on `source`."""

    source: int
    kind: DependencyKind
    target: int

    def __str__(self) -> str:
        return f"T{self.source}-{self.kind}->T{self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on a history; names are those of Adya's thesis."""

    edges: frozenset[Edge]
    phenomena: frozenset[str]
    strongest: frozenset[str]


class TooLarge(ValueError):
    """A history has too many transactions that depend on each other to try all choices."""


_DIRECT = frozenset({DependencyKind.WRITE, DependencyKind.READ, DependencyKind.PREDICATE_READ})
_ANTI = frozenset({DependencyKind.ANTI, DependencyKind.PREDICATE_ANTI})
_G1 = frozenset({"G1a", "G1b", "G1c"})
PROSCRIBED: Mapping[str, frozenset[str]] = {
    "PL-1": frozenset({"G0"}),
    "PL-2": _G1,
    "PL-2+": _G1 | {"G-single"},
    "PL-2.99": _G1 | {"G2-item"},
    "PL-SI": _G1 | {"G-SI"},
    "PL-3": _G1 | {"G2"},
}
WEAKER: Mapping[str, frozenset[str]] = {
    "PL-1": frozenset(),
    "PL-2": frozenset({"PL-1"}),
    "PL-2+": frozenset({"PL-1", "PL-2"}),
    "PL-2.99": frozenset({"PL-1", "PL-2"}),
    "PL-SI": frozenset({"PL-1", "PL-2", "PL-2+"}),
    "PL-3": frozenset({"PL-1", "PL-2", "PL-2+", "PL-2.99"}),
}


def judge(history: History, *, literal: bool = False) -> Judgement:
    """Return the edges, the phenomena and the strongest levels of a well-formed history.

    Args:
        literal: True: consecutive derived versions order all writers from which they derive, as the paper's
            clause says; False: only the writers of what one derives from and the other does not.
    Raises:
        TooLarge: More than nine transactions have edges.
    Source: Adya's thesis, chapters 3 and 4; Streaming Democratized, section 4.
    """
    facts = _Facts(history)
    edges = frozenset(edge for edge in _edges(facts, literal) if edge.source != edge.target)
    if len(_nodes(edges)) > _MOST_TRANSACTIONS:
        raise TooLarge(f"{history.id}: {len(_nodes(edges))} transactions depend on each other")
    phenomena_found = {
        "G1a": _reads_aborted(facts),
        "G1b": _reads_intermediate(facts),
        "G-SI": _no_start_fits(facts, edges, _all_starts),
        "G-SI-rt": _no_start_fits(facts, edges, _real_starts),
        **_cycle_phenomena(edges),
    }
    phenomena = frozenset(name for name, occurs in phenomena_found.items() if occurs)
    return Judgement(edges=edges, phenomena=phenomena, strongest=_strongest(phenomena))


def _strongest(phenomena: frozenset[str]) -> frozenset[str]:
    holding = {level for level, proscribed in PROSCRIBED.items() if not proscribed & phenomena}
    return frozenset(level for level in holding if not any(level in WEAKER[other] for other in holding))


class _Facts:
    """The writes, derivations, reads and commits of a history."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.orders = history.orders
        self.commits: dict[int, int] = {}
        self.begins: dict[int, int] = {}
        self.writers: dict[Version, int] = {}
        self.sources: dict[Version, tuple[Version, ...]] = {}
        finals: dict[tuple[int, str], Version] = {}
        for place, operation in enumerate(history.operations):
            self.begins.setdefault(operation.transaction, place)
            match operation:
                case Commit(transaction):
                    self.commits[transaction] = place
                case Write(transaction, version):
                    self.writers[version] = transaction
                    finals[transaction, version.object] = version
                case Derive(_, version, sources):
                    self.sources[version] = sources
        self.lasts = finals
        self.finals = frozenset(finals.values())

    def closure(self, version: Version) -> frozenset[Version]:
        """Return the written versions, also by T0, that a version is or derives from."""
        if version not in self.sources:
            return frozenset({version})
        return frozenset(origin for source in self.sources[version] for origin in self.closure(source))

    def installer(self, version: Version) -> int | None:
        """Return the transaction of the history whose commit installed a version; None if there is none."""
        writer = self.writers.get(version)
        return writer if writer in self.commits and version in self.finals else None

    def ages(self, version: Version) -> dict[str, int]:
        """Return, for each object from which a version derives, the age of its newest version."""
        newest: dict[str, int] = {}
        for origin in self.closure(version):
            newest[origin.object] = max(self.age(origin), newest.get(origin.object, -1))
        return newest

    def age(self, version: Version) -> int:
        """Return the place in its object's order of what a version's transaction installed; -1 if nothing."""
        writer = self.writers.get(version)
        if writer not in self.commits:
            return -1
        order, installed = self.orders.get(version.object, ()), self.lasts[writer, version.object]
        return order.index(installed) if installed in order else -1

    def order_with(self, name: str, version: Version | None) -> tuple[Version, ...]:
        """Return an object's order, with a derived version that it leaves out before the first newer one."""
        order = self.orders.get(name, ())
        if version is None or version in order or version not in self.sources:
            return order
        ages = self.ages(version)
        for place, other in enumerate(order):
            if any(age > ages.get(source, -1) for source, age in self.ages(other).items()):
                return (*order[:place], version, *order[place:])
        return (*order, version)

    def reads(self) -> Iterator[tuple[int, Version]]:
        """Yield each item read of a committed transaction."""
        for operation in self.history.operations:
            if isinstance(operation, Read) and operation.transaction in self.commits:
                yield operation.transaction, operation.version

    def predicate_reads(self) -> Iterator[PredicateRead]:
        """Yield each predicate read of a committed transaction."""
        for operation in self.history.operations:
            if isinstance(operation, PredicateRead) and operation.transaction in self.commits:
                yield operation

    def reads_of_others(self) -> Iterator[tuple[int, Version]]:
        """Yield committed transactions with the versions of others that they read, through derivations."""
        versions = [
            *self.reads(),
            *((read.transaction, version) for read in self.predicate_reads() for version in read.versions),
        ]
        for transaction, version in versions:
            for origin in self.closure(version):
                if origin in self.writers and self.writers[origin] != transaction:
                    yield transaction, origin


def _reads_aborted(facts: _Facts) -> bool:
    return any(facts.writers[version] not in facts.commits for _, version in facts.reads_of_others())


def _reads_intermediate(facts: _Facts) -> bool:
    return any(version not in facts.finals for _, version in facts.reads_of_others())


def _edges(facts: _Facts, literal: bool) -> Iterator[Edge]:
    """Yield every edge of the graph, including some from a transaction to itself."""
    yield from _write_dependencies(facts, literal)
    yield from _item_dependencies(facts)
    yield from _predicate_dependencies(facts)


def _write_dependencies(facts: _Facts, literal: bool) -> Iterator[Edge]:
    for order in facts.orders.values():
        for earlier, later in pairwise(order):
            if (earlier in facts.sources) != (later in facts.sources):
                continue
            before, after = facts.closure(earlier), facts.closure(later)
            if not literal:
                before, after = before - after, after - before
            for origin, other_origin in product(before, after):
                source, target = facts.installer(origin), facts.installer(other_origin)
                if source is not None and target is not None:
                    yield Edge(source, DependencyKind.WRITE, target)


def _item_dependencies(facts: _Facts) -> Iterator[Edge]:
    for transaction, read in facts.reads():
        for version in facts.closure(read):
            writer = facts.installer(version)
            if writer is not None:
                yield Edge(writer, DependencyKind.READ, transaction)
            for earlier, later in pairwise(facts.orders.get(version.object, ())):
                overwriter = facts.installer(later)
                if earlier == version and overwriter is not None:
                    yield Edge(transaction, DependencyKind.ANTI, overwriter)


def _predicate_dependencies(facts: _Facts) -> Iterator[Edge]:
    for read in facts.predicate_reads():
        predicate = facts.history.predicates[read.predicate]
        chosen = {version.object: version for version in read.versions}
        for name in predicate.domain:
            order = facts.order_with(name, chosen.get(name))
            if name in chosen and chosen[name] not in order:
                continue
            newest = order.index(chosen[name]) if name in chosen else -1
            for place, version in enumerate(order):
                before = order[place - 1] if place else None
                if (version in predicate.matching) == (before in predicate.matching):
                    continue
                for writer in _changing_writers(facts, before, version):
                    if place <= newest:
                        yield Edge(writer, DependencyKind.PREDICATE_READ, read.transaction)
                    else:
                        yield Edge(read.transaction, DependencyKind.PREDICATE_ANTI, writer)


def _changing_writers(facts: _Facts, before: Version | None, after: Version) -> Iterator[int]:
    """Yield the writers of what a version derives from and its predecessor, if any, does not."""
    old = frozenset() if before is None else facts.closure(before)
    for origin in facts.closure(after) - old:
        writer = facts.installer(origin)
        if writer is not None:
            yield writer


def _nodes(edges: Collection[Edge]) -> list[int]:
    return sorted({node for edge in edges for node in (edge.source, edge.target)})


def _arcs(edges: Collection[Edge], kinds: Collection[DependencyKind]) -> frozenset[Arc]:
    return frozenset((edge.source, edge.target) for edge in edges if edge.kind in kinds)


def _cycles(arcs: Collection[Arc]) -> Iterator[Cycle]:
    """Yield every simple cycle once, including arcs from a node to itself."""
    nodes = sorted({node for arc in arcs for node in arc})
    for start in nodes:
        paths: list[tuple[int, ...]] = [(start,)]
        while paths:
            path = paths.pop()
            for node in nodes:
                if (path[-1], node) not in arcs:
                    continue
                if node == start:
                    yield tuple(pairwise((*path, start)))
                elif node > start and node not in path:
                    paths.append((*path, node))


def _cycle_phenomena(edges: Collection[Edge]) -> dict[str, bool]:
    """Tell which phenomena that are cycles occur; of parallel edges a cycle may take any."""
    writes, direct, anti = _arcs(edges, {DependencyKind.WRITE}), _arcs(edges, _DIRECT), _arcs(edges, _ANTI)
    items = _arcs(edges, {DependencyKind.ANTI})
    cycles = list(_cycles(direct | anti))
    return {
        "G0": any(writes.issuperset(cycle) for cycle in cycles),
        "G1c": any(direct.issuperset(cycle) for cycle in cycles),
        "G-single": any(_has_single(cycle, direct, anti) for cycle in cycles),
        "G2-item": any(not items.isdisjoint(cycle) for cycle in cycles),
        "G2": any(not anti.isdisjoint(cycle) for cycle in cycles),
        "G-nonadjacent": _has_nonadjacent(direct, anti),
    }


def _has_single(cycle: Cycle, direct: frozenset[Arc], anti: frozenset[Arc]) -> bool:
    """Tell whether one arc can be an anti-dependency while all others are direct."""
    return any(
        anti_arc in anti and all(other in direct for other in cycle if other != anti_arc)
        for anti_arc in cycle
    )


def _has_nonadjacent(direct: frozenset[Arc], anti: frozenset[Arc]) -> bool:
    """Tell whether a closed walk has anti-dependencies, each of them followed by a direct dependency.

    An anti-dependency and the dependency after it form one step. A closed walk of steps consists of simple
    cycles of steps, one of which has the anti-dependency.
    """
    leaps = {(start, end) for start, middle in anti for again, end in direct if middle == again}
    return any(not leaps.isdisjoint(cycle) for cycle in _cycles(direct | leaps))


def _all_starts(facts: _Facts, transaction: int, nodes: Collection[int]) -> list[int]:
    """Return a place before all commits, and one after each commit that precedes the begin."""
    commits = (facts.commits[node] for node in nodes)
    return [0, *(place + 1 for place in commits if place < facts.begins[transaction])]


def _real_starts(facts: _Facts, transaction: int, nodes: Collection[int]) -> list[int]:
    return [facts.begins[transaction]]


def _no_start_fits(
    facts: _Facts, edges: Collection[Edge], starts: Callable[[_Facts, int, Collection[int]], list[int]]
) -> bool:
    """Tell whether G-SIa or G-SIb occurs for every choice of start points.

    Transactions without edges are left out: a transaction that starts after one of them commits also starts
    after everything that had committed before that one started.
    """
    nodes, direct, anti = _nodes(edges), _arcs(edges, _DIRECT), _arcs(edges, _ANTI)
    choices = [
        [
            start
            for start in starts(facts, node, nodes)
            if all(facts.commits[source] < start for source, target in direct if target == node)
        ]
        for node in nodes
    ]
    return not any(
        _starts_fit(facts, dict(zip(nodes, chosen, strict=True)), direct, anti)
        for chosen in product(*choices)
    )


def _starts_fit(
    facts: _Facts, starts: Mapping[int, int], direct: frozenset[Arc], anti: frozenset[Arc]
) -> bool:
    """Tell whether no cycle of dependencies and start-dependencies has exactly one anti-dependency."""
    started = {
        (earlier, later) for earlier in starts for later in starts if facts.commits[earlier] < starts[later]
    }
    return not any(_is_reachable(overwriter, reader, direct | started) for reader, overwriter in anti)


def _is_reachable(start: int, end: int, arcs: Collection[Arc]) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        for source, target in arcs:
            if source == node and target not in reached:
                reached.add(target)
                waiting.append(target)
    return end in reached
