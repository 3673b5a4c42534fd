"""Shortest paths from many starts to many ends at once; a search that reaches a limit says so."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph, csr_array

from oracles.isolation.lists import Flags, Ints, Lists, distinct, is_member

CHUNK = 1 << 16  # searches side by side; more are no faster, and need more memory
STEPS_MAX = 60_000_000  # of a search for a smallest cycle, in pairs of a search and a node
STEPS_EACH = 20_000  # of one search that decides reachability
STEPS_ALL = 500_000_000  # of all of these
PAIRS_MAX = 10_000_000  # of a search and a node, held at once


def sparse(count: int, tail: Ints, head: Ints) -> csr_array:
    """Return the graph with an arc from each tail to its head; repeated arcs count once."""
    arcs = csr_array((np.ones(len(tail), np.bool_), (tail, head)), shape=(count, count))
    arcs.sum_duplicates()
    return arcs


def components(arcs: csr_array) -> tuple[int, Ints]:
    """Return the number of strongly connected components, and the component of each node."""
    count, labels = csgraph.connected_components(arcs, directed=True, connection="strong")
    return int(count), labels.astype(np.int64)


def neighbours(arcs: csr_array) -> Lists:
    """Return the heads of each node's arcs."""
    ends = arcs.indptr.astype(np.int64)
    return Lists(ends[:-1], ends[1:], arcs.indices)


def shortest_path(arcs: csr_array, start: int, end: int) -> list[int]:
    """Return the nodes of a shortest path, including both ends; there must be one."""
    _, came = csgraph.breadth_first_order(arcs, start, directed=True, return_predecessors=True)
    nodes = [end]
    while nodes[-1] != start:
        nodes.append(int(came[nodes[-1]]))
    return nodes[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSearches:
    """Searches for paths in a graph.

    Attributes:
        arcs: The graph.
        starts: The node from which each search starts. Shape (n,).
        ends: The node to which each search looks for a path. Shape (n,).
        ranks: Node orders; no arc leads to a node of lower rank. Shape (r, nodes).
    """

    arcs: csr_array
    starts: Ints
    ends: Ints
    ranks: Ints

    def can_reach(self, searches: Ints, nodes: Ints, ends: Ints) -> Flags:
        """Tell whether the ranks allow a path from each node to the end of its search."""
        allowed = np.ones(len(nodes), np.bool_)
        for rank in self.ranks:
            allowed &= rank[nodes] <= rank[ends[searches]]
        return allowed


@dataclass(frozen=True, slots=True)
class ShortestSearch:
    """The search with the shortest path, or None, and whether every path that may be shorter was examined."""

    search: int | None
    complete: bool


def find_shortest(paths: PathSearches, *, steps_max: int = STEPS_MAX) -> ShortestSearch:
    """Find a search with the shortest path, by looking ever further from all starts."""
    forward = neighbours(paths.arcs)
    alive = np.flatnonzero(paths.can_reach(np.arange(len(paths.starts)), paths.starts, paths.ends))
    far, left = 1, steps_max
    while len(alive):
        best, arcs_max, unfinished = None, far, []
        pending = _chunks(alive)
        while pending:
            chunk = pending.pop()
            explored = _explore(paths, forward, chunk, arcs_max, left)
            if explored is None:
                pending += _halves(chunk)
                continue
            left -= explored.steps
            if left < 0:
                return ShortestSearch(best, complete=False)
            if explored.search is not None:
                best, arcs_max = explored.search, explored.arcs - 1
                if not arcs_max:
                    return ShortestSearch(best, complete=True)
            unfinished.append(explored.unfinished)
        if best is not None:
            return ShortestSearch(best, complete=True)
        alive = np.concatenate(unfinished)
        far *= 2
    return ShortestSearch(None, complete=True)


def _chunks(searches: Ints) -> list[Ints]:
    """Split searches into chunks to run side by side, the last chunk first."""
    return [searches[first : first + CHUNK] for first in range(0, len(searches), CHUNK)][::-1]


def _halves(searches: Ints) -> list[Ints]:
    middle = len(searches) // 2
    return [searches[middle:], searches[:middle]]


@dataclass(frozen=True, slots=True)
class _Explored:
    """The search that ended first, and its number of arcs; the searches that have not seen everything."""

    search: int | None
    arcs: int
    unfinished: Ints
    steps: int


def _explore(
    paths: PathSearches, forward: Lists, searches: Ints, arcs_max: int, steps_max: int
) -> _Explored | None:
    """Run some searches over at most `arcs_max` arcs; None if they are too many side by side."""
    width, ends = paths.arcs.shape[0], paths.ends[searches]
    search, node = np.arange(len(searches), dtype=np.int64), paths.starts[searches]
    visited = np.sort(search * width + node)
    steps = 0
    for arcs in range(1, arcs_max + 1):
        wide = int(forward.lengths[node].sum())
        if len(searches) > 1 and wide + len(visited) > PAIRS_MAX:
            return None
        steps += wide
        if steps > steps_max:
            return _Explored(None, 0, searches, steps)
        owners, reached = forward.expand(node)
        search = search[owners]
        hits = reached == ends[search]
        if hits.any():
            return _Explored(int(searches[search[np.argmax(hits)]]), arcs, searches, steps)
        allowed = paths.can_reach(search, reached, ends)
        keys = distinct(search[allowed] * width + reached[allowed])
        keys = keys[~is_member(keys, visited)]
        visited = np.sort(np.concatenate((visited, keys)))
        search, node = keys // width, keys % width
    return _Explored(None, 0, searches[distinct(search)], steps)


@dataclass(frozen=True, slots=True)
class Reachability:
    """Marks the searches that have a path, and those for which that is unknown."""

    reachable: Flags
    unknown: Flags


def decide_reachability(
    paths: PathSearches, *, steps_each: int = STEPS_EACH, steps_all: int = STEPS_ALL
) -> Reachability:
    """Decide for each search whether its start reaches its end, searching from both ends at once."""
    reachable = np.zeros(len(paths.starts), np.bool_)
    unknown = np.zeros(len(paths.starts), np.bool_)
    forward, backward = neighbours(paths.arcs), neighbours(csr_array(paths.arcs.T))
    alive = np.flatnonzero(paths.can_reach(np.arange(len(paths.starts)), paths.starts, paths.ends))
    pending, left = _chunks(alive), steps_all
    while pending:
        chunk = pending.pop()
        if left <= 0:
            unknown[chunk] = True
            continue
        met = _meet(paths, forward, backward, chunk, steps_each)
        if met is None:
            pending += _halves(chunk)
            continue
        reachable[chunk], unknown[chunk], steps = met
        left -= steps
    return Reachability(reachable, unknown)


@dataclass(slots=True)
class _Side:
    """The nodes reached from one end of the searches, as sorted keys of search and node."""

    lists: Lists
    ranks: Ints
    targets: Ints
    fresh: Ints
    visited: Ints

    def room(self, width: int) -> int:
        """Return the greatest number of pairs that the side may hold after it grows."""
        return len(self.visited) + int(self.lists.lengths[self.fresh % width].sum())

    def grow(self, width: int) -> Ints:
        """Reach one arc further; return the number of nodes examined for each search."""
        search, node = self.fresh // width, self.fresh % width
        owners, reached = self.lists.expand(node)
        search = search[owners]
        looked = np.bincount(search, minlength=len(self.targets))
        allowed = np.ones(len(search), np.bool_)
        for rank in self.ranks:
            allowed &= rank[reached] <= rank[self.targets[search]]
        keys = distinct(search[allowed] * width + reached[allowed])
        self.fresh = keys[~is_member(keys, self.visited)]
        self.visited = np.sort(np.concatenate((self.visited, self.fresh)))
        return looked.astype(np.int64)

    def keep(self, alive: Flags, width: int) -> None:
        """Remove the nodes of searches that are over."""
        self.fresh = self.fresh[alive[self.fresh // width]]
        self.visited = self.visited[alive[self.visited // width]]


def _meet(
    paths: PathSearches, forward: Lists, backward: Lists, searches: Ints, steps_each: int
) -> tuple[Flags, Flags, int] | None:
    """Return marks of searches with a path, marks of undecided ones, and the number of steps taken.

    The result is None if there are too many searches to run side by side.
    """
    width = paths.arcs.shape[0]
    numbers = np.arange(len(searches), dtype=np.int64)
    starts, ends = numbers * width + paths.starts[searches], numbers * width + paths.ends[searches]
    ahead = _Side(forward, paths.ranks, paths.ends[searches], starts, starts)
    behind = _Side(backward, -paths.ranks, paths.starts[searches], ends, ends)
    reachable = starts == ends
    unknown = np.zeros(len(searches), np.bool_)
    steps = np.zeros(len(searches), np.int64)
    alive = ~reachable
    while alive.any():
        side, other = (ahead, behind) if len(ahead.fresh) <= len(behind.fresh) else (behind, ahead)
        if len(searches) > 1 and side.room(width) > PAIRS_MAX:
            return None
        steps += side.grow(width)
        reachable[side.fresh[is_member(side.fresh, other.visited)] // width] = True
        unknown |= ~reachable & (steps > steps_each)
        growing = np.zeros(len(searches), np.bool_)
        growing[side.fresh // width] = True
        # A side that cannot grow proves that there is no path.
        alive &= ~reachable & ~unknown & growing
        ahead.keep(alive, width)
        behind.keep(alive, width)
    return reachable, unknown, int(steps.sum())
