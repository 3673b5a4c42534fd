"""What was seen of the blocks of a scan, whoever read them: no row counts twice."""

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np

Observation = TypeVar("Observation")

_NOBODY = -1
FIRST, GROWTH = 1, 2


class Observations(Generic[Observation]):
    """What was seen of disjoint sets of blocks, and which blocks were read.

    Of two observations that share a block, one stands: that of all blocks of the other, else the earlier.

    Attributes:
        read: Blocks that were read, also those that no standing observation is of; shape (blocks,).
    """

    def __init__(self, blocks: int) -> None:
        self.read = np.zeros(blocks, bool)
        self._owners = np.full(blocks, _NOBODY)
        self._parts: dict[int, tuple[np.ndarray, Observation]] = {}
        self._next = 0

    def add(self, blocks: np.ndarray, seen: Observation) -> None:
        """These blocks were read, and this is all that was seen of them."""
        blocks = np.unique(np.asarray(blocks, np.int64))
        self.read[blocks] = True
        owners, shared = np.unique(self._owners[blocks], return_counts=True)
        earlier = {int(owner): count for owner, count in zip(owners, shared, strict=True) if owner != _NOBODY}
        if not len(blocks) or any(count < len(self._parts[owner][0]) for owner, count in earlier.items()):
            return
        for owner in earlier:
            del self._parts[owner]
        self._owners[blocks] = self._next
        self._parts[self._next] = (blocks, seen)
        self._next += 1

    def merge(self, other: "Observations[Observation]") -> None:
        """What another worker of the same scan saw."""
        for blocks, seen in other._parts.values():
            self.add(blocks, seen)
        self.read |= other.read

    def __iter__(self) -> Iterator[Observation]:
        return (seen for _, seen in self._parts.values())


def wave_size(read: int, *, first: int = FIRST, growth: float = GROWTH) -> int:
    """How many blocks to read next after `read` of them; each wave is `growth` times the one before.

    It depends on nothing but how many were read, so that workers who split a wave agree on the next.
    """
    return max(1, first + round((growth - 1) * read))
