"""Observations of the blocks of a scan by one or more workers, so that no row counts twice."""

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np

Observation = TypeVar("Observation")

_NOBODY = -1
FIRST, GROWTH = 1, 2


class Observations(Generic[Observation]):
    """The observations of disjoint sets of blocks, and the blocks that were read.

    Of two observations that share a block one is kept: the later if it covers all blocks of the earlier,
    else the earlier.

    Attributes:
        read: True for blocks that were read, also where no observation of them is kept; shape (blocks,).
    """

    def __init__(self, blocks: int) -> None:
        self.read = np.zeros(blocks, bool)
        self._owners = np.full(blocks, _NOBODY)
        self._parts: dict[int, tuple[np.ndarray, Observation]] = {}
        self._next = 0

    def add(self, blocks: np.ndarray, observation: Observation) -> None:
        """Add the observation of blocks that were read together.

        Args:
            blocks: The ordinals of the blocks.
            observation: All that was observed of them.
        """
        blocks = np.unique(np.asarray(blocks, np.int64))
        self.read[blocks] = True
        owners, shared = np.unique(self._owners[blocks], return_counts=True)
        earlier = {int(owner): count for owner, count in zip(owners, shared, strict=True) if owner != _NOBODY}
        if not len(blocks) or any(count < len(self._parts[owner][0]) for owner, count in earlier.items()):
            return
        for owner in earlier:
            del self._parts[owner]
        self._owners[blocks] = self._next
        self._parts[self._next] = (blocks, observation)
        self._next += 1

    def merge(self, other: "Observations[Observation]") -> None:
        """Add the observations of another worker of the same scan."""
        for blocks, observation in other._parts.values():
            self.add(blocks, observation)
        self.read |= other.read

    def __iter__(self) -> Iterator[Observation]:
        return (observation for _, observation in self._parts.values())


def wave_size(read: int, *, first: int = FIRST, growth: float = GROWTH) -> int:
    """Return the number of blocks to read next after `read` of them; each wave is `growth` times the last.

    The size depends only on how many blocks were read, so that workers that split a wave agree on the next.
    """
    return max(1, first + round((growth - 1) * read))
