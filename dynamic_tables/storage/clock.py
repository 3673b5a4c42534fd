"""A hybrid logical clock: timestamps that are totally ordered, and never go back (R-DVS-80)."""

from collections.abc import Callable
from typing import NamedTuple

# How far ahead of the timestamps given a clock saves its mark, so that it saves rarely.
AHEAD_US = 1_000_000


class Timestamp(NamedTuple):
    """When something was committed; ordered by its fields in turn, so two nodes never give equal ones.

    Attributes:
        physical_us: Microseconds; at least the wall time of the node that gave it.
        logical: Counts timestamps of one microsecond.
        node: Which clock gave it.
    """

    physical_us: int
    logical: int
    node: int


def _unsaved(mark_us: int) -> None:
    """Keep no mark: right for a clock that is never started again."""


class Clock:
    """The clock of one node.

    Each timestamp is above every one that this clock gave or received, whatever the wall clock does:
    steps back, stands still, or starts again. What survives a restart is the saved mark: no timestamp
    is given above it before a higher mark is saved.
    """

    def __init__(self, node: int, *, mark_us: int = -1, save: Callable[[int], None] = _unsaved) -> None:
        """Start the clock.

        Args:
            node: Its number; no two clocks of an account share one.
            mark_us: The mark that was last saved; -1 if none was.
            save: Makes a mark durable before it returns.
        """
        self._node = node
        self._mark_us = mark_us
        self._save = save
        # Everything given before a restart is at most the mark.
        self._physical_us = mark_us + 1
        self._logical = 0

    def tick(self, wall_us: int) -> Timestamp:
        """Give a timestamp above all before; `wall_us` is what the node's wall clock shows."""
        if wall_us > self._physical_us:
            self._physical_us, self._logical = wall_us, 0
        else:
            self._logical += 1
        self._promise()
        return Timestamp(self._physical_us, self._logical, self._node)

    def receive(self, seen: Timestamp) -> None:
        """Stay above a timestamp of another node, which came with a message."""
        if (seen.physical_us, seen.logical) > (self._physical_us, self._logical):
            self._physical_us, self._logical = seen.physical_us, seen.logical
            self._promise()

    def pass_over(self, data_us: int) -> None:
        """Give nothing any more that a reader at this data timestamp would see (R-DVS-83)."""
        if data_us >= self._physical_us:
            self._physical_us, self._logical = data_us + 1, 0
            self._promise()

    def _promise(self) -> None:
        if self._physical_us > self._mark_us:
            self._mark_us = self._physical_us + AHEAD_US
            self._save(self._mark_us)
