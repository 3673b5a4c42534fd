"""Lay out a graph in layers so that every edge goes to a later layer and few edges cross; pure functions."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import combinations, pairwise
from typing import Any, TypeAlias, TypeVar

Node = TypeVar("Node", bound=Hashable)
# A node or, where an edge passes through a layer, the numbers of the edge and of the layer.
Stop: TypeAlias = Any
SWEEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLayout:
    """The layers of a graph and the routes of its edges.

    Attributes:
        layers: From the first to the last; the stops of each, in their order.
        routes: The stops of each edge, in the given order: a node, one stop in each layer between, a node.
    """

    layers: tuple[tuple[Stop, ...], ...]
    routes: tuple[tuple[Stop, ...], ...]

    @property
    def crossings(self) -> int:
        """The number of crossings of two edges."""
        return _crossings(self.layers, _steps(self.routes))


def depths(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> dict[Node, int]:
    """Return the length of the longest path to each node; 0 for nodes without an incoming edge.

    Raises:
        CycleError: The graph has a cycle.
    """
    before: dict[Node, list[Node]] = {node: [] for node in nodes}
    for source, reader in edges:
        before[reader].append(source)
    depth: dict[Node, int] = {}
    for node in TopologicalSorter(before).static_order():
        depth[node] = 1 + max((depth[source] for source in before[node]), default=-1)
    return depth


def layered_layout(nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]]) -> GraphLayout:
    """Place nodes in layers by depth, each in the tried order in which edges cross least.

    An edge that passes through a layer takes a place there too, so that it crosses no node.
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
    return GraphLayout(layers=_untangle(layers, _steps(routes)), routes=tuple(routes))


def _steps(routes: Iterable[Sequence[Stop]]) -> list[tuple[Stop, Stop]]:
    return [step for route in routes for step in pairwise(route)]


def _untangle(
    layers: Sequence[Sequence[Stop]], steps: Sequence[tuple[Stop, Stop]]
) -> tuple[tuple[Stop, ...], ...]:
    """Sort each layer repeatedly by its stops' neighbours; return the layers with the fewest crossings."""
    joined: dict[int, dict[Stop, list[Stop]]] = {-1: defaultdict(list), 1: defaultdict(list)}
    for source, reader in steps:
        joined[1][source].append(reader)
        joined[-1][reader].append(source)
    tried = best = tuple(map(tuple, layers))
    for sweep in range(SWEEPS):
        side = 1 if sweep % 2 else -1
        sorted_layers = list(tried)
        for place in range(len(sorted_layers))[::-side]:
            if 0 <= place + side < len(sorted_layers):
                sorted_layers[place] = _sort_by_neighbours(
                    sorted_layers[place], sorted_layers[place + side], joined[side]
                )
        tried = tuple(sorted_layers)
        if _crossings(tried, steps) < _crossings(best, steps):
            best = tried
    return best


def _sort_by_neighbours(
    layer: Sequence[Stop], beside: Sequence[Stop], joined: Mapping[Stop, Sequence[Stop]]
) -> tuple[Stop, ...]:
    """Sort a layer by the mean place of each stop's neighbours; stops without neighbours keep their place."""
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
