"""Assign blocks to nodes by consistent hashing; an idle node takes blocks from the longest queue."""

from collections import deque
from collections.abc import Iterable

import numpy as np

POINTS_PER_NODE = 64


def homes(blocks: int, nodes: int, salt: int, *, together: int = 1) -> np.ndarray:
    """Return the home node of each block, shape (blocks,): the next of the nodes' points on a ring of hashes.

    A table has the same homes in all queries, so that a node's cache holds what it read before.

    Args:
        salt: Distinguishes tables.
        together: The number of consecutive blocks with the same home.
    """
    points = _mix(np.arange(nodes * POINTS_PER_NODE, dtype=np.uint64) + np.uint64(1 << 40))
    line = np.argsort(points, kind="stable")
    runs = np.arange(blocks, dtype=np.uint64) // np.uint64(together)
    after = np.searchsorted(points[line], _mix(runs ^ np.uint64(salt << 44)))
    nodes_of_blocks: np.ndarray = line[after % len(line)] // POINTS_PER_NODE
    return nodes_of_blocks


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Mix numbers well: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = (numbers + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


class Queues:
    """The blocks that wait for each node."""

    def __init__(self, homes: np.ndarray, nodes: int) -> None:
        self._homes = homes
        self._queues: list[deque[int]] = [deque() for _ in range(nodes)]
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def put(self, blocks: Iterable[int]) -> None:
        """Append blocks to the queues of their homes."""
        for block in blocks:
            self._queues[self._homes[block]].append(int(block))
            self._waiting += 1

    def take(self, node: int, count: int) -> tuple[list[int], bool]:
        """Take the next blocks for a node.

        Args:
            count: The most blocks.
        Returns:
            The blocks, and True if they were stolen: a node without blocks of its own takes from the end of
            the longest queue.
        """
        own = self._queues[node]
        if own:
            taken, stolen = [own.popleft() for _ in range(min(count, len(own)))], False
        else:
            longest = max(self._queues, key=len)
            taken, stolen = [longest.pop() for _ in range(min(count, len(longest)))], bool(longest)
        self._waiting -= len(taken)
        return taken, stolen
