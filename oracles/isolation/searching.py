"""Shortest ways from many starts to many ends at once; a search that meets a limit says so."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph, csr_array

from oracles.isolation.lists import Flags, Ints, Lists, contained, distinct

CHUNK = 1 << 16  # searches side by side; more are as fast, and need more memory
STEPS_MAX = 60_000_000  # of a search for a smallest cycle, in pairs of a search and a node
STEPS_EACH = 20_000  # of one search for whether there is a way at all
STEPS_ALL = 500_000_000  # of all of them
PAIRS_MAX = 10_000_000  # of a search and a node that are held at once


def sparse(count: int, tail: Ints, head: Ints) -> csr_array:
    """The graph with an arc from each tail to its head; arcs that are there twice are one."""
    arcs = csr_array((np.ones(len(tail), np.bool_), (tail, head)), shape=(count, count))
    arcs.sum_duplicates()
    return arcs


def components(arcs: csr_array) -> tuple[int, Ints]:
    """How many strongly connected components there are, and the one of each node."""
    count, labels = csgraph.connected_components(arcs, directed=True, connection="strong")
    return int(count), labels.astype(np.int64)


def neighbours(arcs: csr_array) -> Lists:
    """The heads of each node's arcs."""
    ends = arcs.indptr.astype(np.int64)
    return Lists(ends[:-1], ends[1:], arcs.indices)


def way(arcs: csr_array, start: int, end: int) -> list[int]:
    """The nodes of a shortest way, both ends included; there has to be one."""
    _, came = csgraph.breadth_first_order(arcs, start, directed=True, return_predecessors=True)
    nodes = [end]
    while nodes[-1] != start:
        nodes.append(int(came[nodes[-1]]))
    return nodes[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Where to look for ways.

    Attributes:
        arcs: The graph.
        starts: The node where each search starts. Shape (n,).
        ends: The node that each search looks for. Shape (n,).
        ranks: No arc leads to a node of lower rank. Shape (r, nodes).
    """

    arcs: csr_array
    starts: Ints
    ends: Ints
    ranks: Ints

    def may_lead(self, searches: Ints, nodes: Ints, ends: Ints) -> Flags:
        """Whether a rank does not forbid a way from each node to the search's end."""
        allowed = np.ones(len(nodes), np.bool_)
        for rank in self.ranks:
            allowed &= rank[nodes] <= rank[ends[searches]]
        return allowed


@dataclass(frozen=True, slots=True)
class Shortest:
    """The search whose way is shortest, or None, and whether all ways were looked at that may be shorter."""

    search: int | None
    complete: bool


def shortest(ways: Ways, *, steps_max: int = STEPS_MAX) -> Shortest:
    """Find a search whose way is shortest, by looking ever further from all starts."""
    forward = neighbours(ways.arcs)
    alive = np.flatnonzero(ways.may_lead(np.arange(len(ways.starts)), ways.starts, ways.ends))
    far, left = 1, steps_max
    while len(alive):
        best, arcs_max, unfinished = None, far, []
        pending = _chunks(alive)
        while pending:
            chunk = pending.pop()
            explored = _explore(ways, forward, chunk, arcs_max, left)
            if explored is None:
                pending += _halves(chunk)
                continue
            left -= explored.steps
            if left < 0:
                return Shortest(best, complete=False)
            if explored.search is not None:
                best, arcs_max = explored.search, explored.arcs - 1
                if not arcs_max:
                    return Shortest(best, complete=True)
            unfinished.append(explored.unfinished)
        if best is not None:
            return Shortest(best, complete=True)
        alive = np.concatenate(unfinished)
        far *= 2
    return Shortest(None, complete=True)


def _chunks(searches: Ints) -> list[Ints]:
    """Searches to go side by side; the first ones last."""
    return [searches[first : first + CHUNK] for first in range(0, len(searches), CHUNK)][::-1]


def _halves(searches: Ints) -> list[Ints]:
    middle = len(searches) // 2
    return [searches[middle:], searches[:middle]]


@dataclass(frozen=True, slots=True)
class _Explored:
    """The search that came to its end first, over how many arcs; those that have not seen all."""

    search: int | None
    arcs: int
    unfinished: Ints
    steps: int


def _explore(ways: Ways, forward: Lists, searches: Ints, arcs_max: int, steps_max: int) -> _Explored | None:
    """Look from the starts of some searches, over so many arcs; None if they are too many side by side."""
    width, ends = ways.arcs.shape[0], ways.ends[searches]
    search, node = np.arange(len(searches), dtype=np.int64), ways.starts[searches]
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
        allowed = ways.may_lead(search, reached, ends)
        keys = distinct(search[allowed] * width + reached[allowed])
        keys = keys[~contained(keys, visited)]
        visited = np.sort(np.concatenate((visited, keys)))
        search, node = keys // width, keys % width
    return _Explored(None, 0, searches[distinct(search)], steps)


@dataclass(frozen=True, slots=True)
class Decided:
    """Of each search whether there is a way, and whether that is unknown."""

    found: Flags
    unknown: Flags


def decide(ways: Ways, *, steps_each: int = STEPS_EACH, steps_all: int = STEPS_ALL) -> Decided:
    """Decide for each search whether its start leads to its end, from both ends at once."""
    found = np.zeros(len(ways.starts), np.bool_)
    unknown = np.zeros(len(ways.starts), np.bool_)
    forward, backward = neighbours(ways.arcs), neighbours(csr_array(ways.arcs.T))
    alive = np.flatnonzero(ways.may_lead(np.arange(len(ways.starts)), ways.starts, ways.ends))
    pending, left = _chunks(alive), steps_all
    while pending:
        chunk = pending.pop()
        if left <= 0:
            unknown[chunk] = True
            continue
        met = _meet(ways, forward, backward, chunk, steps_each)
        if met is None:
            pending += _halves(chunk)
            continue
        found[chunk], unknown[chunk], steps = met
        left -= steps
    return Decided(found, unknown)


@dataclass(slots=True)
class _Side:
    """The nodes reached from one end of the searches, as sorted keys of search and node."""

    lists: Lists
    ranks: Ints
    targets: Ints
    fresh: Ints
    visited: Ints

    def room(self, width: int) -> int:
        """How many pairs it holds once it has grown, at most."""
        return len(self.visited) + int(self.lists.lengths[self.fresh % width].sum())

    def grow(self, width: int) -> Ints:
        """Reach one arc further; how many nodes were looked at, for each search."""
        search, node = self.fresh // width, self.fresh % width
        owners, reached = self.lists.expand(node)
        search = search[owners]
        looked = np.bincount(search, minlength=len(self.targets))
        allowed = np.ones(len(search), np.bool_)
        for rank in self.ranks:
            allowed &= rank[reached] <= rank[self.targets[search]]
        keys = distinct(search[allowed] * width + reached[allowed])
        self.fresh = keys[~contained(keys, self.visited)]
        self.visited = np.sort(np.concatenate((self.visited, self.fresh)))
        return looked.astype(np.int64)

    def keep(self, alive: Flags, width: int) -> None:
        """Forget what belongs to searches that are over."""
        self.fresh = self.fresh[alive[self.fresh // width]]
        self.visited = self.visited[alive[self.visited // width]]


def _meet(
    ways: Ways, forward: Lists, backward: Lists, searches: Ints, steps_each: int
) -> tuple[Flags, Flags, int] | None:
    """Of some searches whether there is a way, and whether that is unknown; how many steps it took.

    None if they are too many side by side.
    """
    width = ways.arcs.shape[0]
    numbers = np.arange(len(searches), dtype=np.int64)
    starts, ends = numbers * width + ways.starts[searches], numbers * width + ways.ends[searches]
    ahead = _Side(forward, ways.ranks, ways.ends[searches], starts, starts)
    behind = _Side(backward, -ways.ranks, ways.starts[searches], ends, ends)
    found = starts == ends
    unknown = np.zeros(len(searches), np.bool_)
    steps = np.zeros(len(searches), np.int64)
    alive = ~found
    while alive.any():
        side, other = (ahead, behind) if len(ahead.fresh) <= len(behind.fresh) else (behind, ahead)
        if len(searches) > 1 and side.room(width) > PAIRS_MAX:
            return None
        steps += side.grow(width)
        found[side.fresh[contained(side.fresh, other.visited)] // width] = True
        unknown |= ~found & (steps > steps_each)
        growing = np.zeros(len(searches), np.bool_)
        growing[side.fresh // width] = True
        # Where one side cannot grow, there is no way.
        alive &= ~found & ~unknown & growing
        ahead.keep(alive, width)
        behind.keep(alive, width)
    return found, unknown, int(steps.sum())
