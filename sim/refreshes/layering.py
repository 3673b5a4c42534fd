"""A graph in layers, in which each edge goes to a later one and few cross: pure functions."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import combinations, pairwise
from typing import Any, TypeAlias, TypeVar

Node = TypeVar("Node", bound=Hashable)
# A node; or where an edge passes a layer between its ends: the number of the edge, and of the layer.
Stop: TypeAlias = Any
SWEEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where all is.

    Attributes:
        layers: From the first to the last, the stops in each, in their order.
        routes: Of each edge, as they were given, its stops: a node, one in each layer that it passes, a node.
    """

    layers: tuple[tuple[Stop, ...], ...]
    routes: tuple[tuple[Stop, ...], ...]

    @property
    def crossings(self) -> int:
        """How many times two edges cross."""
        return _crossings(self.layers, _steps(self.routes))


def depths(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> dict[Node, int]:
    """How many nodes lie before each, along the longest way; 0 for those with none.

    Raises:
        CycleError: There is no first one.
    """
    before: dict[Node, list[Node]] = {node: [] for node in nodes}
    for source, reader in edges:
        before[reader].append(source)
    found: dict[Node, int] = {}
    for node in TopologicalSorter(before).static_order():
        found[node] = 1 + max((found[source] for source in before[node]), default=-1)
    return found


def layered(nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]]) -> Layout:
    """Layers by depth, each in an order in which edges cross least of those that were tried.

    Where an edge passes a layer between its ends it takes a place there too, so that it crosses no node.
    """
    depth = depths(nodes, edges)
    layers: list[list[Stop]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in nodes:
        layers[depth[node]].append(node)
    routes: list[tuple[Stop, ...]] = []
    for number, (source, reader) in enumerate(edges):
        passed = [(number, layer) for layer in range(depth[source] + 1, depth[reader])]
        for stop in passed:
            layers[stop[1]].append(stop)
        routes.append((source, *passed, reader))
    return Layout(layers=_untangled(layers, _steps(routes)), routes=tuple(routes))


def _steps(routes: Iterable[Sequence[Stop]]) -> list[tuple[Stop, Stop]]:
    return [step for route in routes for step in pairwise(route)]


def _untangled(
    layers: Sequence[Sequence[Stop]], steps: Sequence[tuple[Stop, Stop]]
) -> tuple[tuple[Stop, ...], ...]:
    """The layers, each stop in the middle of those that it is joined to, as far as all can be."""
    joined: dict[int, dict[Stop, list[Stop]]] = {-1: defaultdict(list), 1: defaultdict(list)}
    for source, reader in steps:
        joined[1][source].append(reader)
        joined[-1][reader].append(source)
    tried = best = tuple(map(tuple, layers))
    for sweep in range(SWEEPS):
        side = 1 if sweep % 2 else -1
        found = list(tried)
        for place in range(len(found))[::-side]:
            if 0 <= place + side < len(found):
                found[place] = _in_the_middle(found[place], found[place + side], joined[side])
        tried = tuple(found)
        if _crossings(tried, steps) < _crossings(best, steps):
            best = tried
    return best


def _in_the_middle(
    layer: Sequence[Stop], beside: Sequence[Stop], joined: Mapping[Stop, Sequence[Stop]]
) -> tuple[Stop, ...]:
    """A layer in the order of the means of what its stops are joined to; those joined to nothing stay."""
    at = {stop: (place + 0.5) / len(beside) for place, stop in enumerate(beside)}
    own = {stop: (place + 0.5) / len(layer) for place, stop in enumerate(layer)}

    def middle(stop: Stop) -> float:
        others = [at[other] for other in joined.get(stop, ())]
        return sum(others) / len(others) if others else own[stop]

    return tuple(sorted(layer, key=middle))


def _crossings(layers: Iterable[Sequence[Stop]], steps: Iterable[tuple[Stop, Stop]]) -> int:
    at = {stop: (number, place) for number, layer in enumerate(layers) for place, stop in enumerate(layer)}
    gaps: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for source, reader in steps:
        (number, first), (_, last) = at[source], at[reader]
        gaps[number].append((first, last))
    return sum(
        (first[0] - second[0]) * (first[1] - second[1]) < 0
        for gap in gaps.values()
        for first, second in combinations(gap, 2)
    )
