"""A hybrid logical clock: timestamps that are totally ordered and never go back (R-DVS-80)."""

from collections.abc import Callable
from typing import NamedTuple

# The distance by which the saved mark runs ahead of the timestamps, so that the clock saves rarely.
AHEAD_US = 1_000_000


class Timestamp(NamedTuple):
    """The time of a commit, ordered by its fields in turn; two nodes never give equal timestamps.

    Attributes:
        physical_us: Microseconds; at least the wall time of the node that gave the timestamp.
        logical: Counts the timestamps of one microsecond.
        node: The clock that gave the timestamp.
    """

    physical_us: int
    logical: int
    node: int


def _save_nothing(mark_us: int) -> None:
    """Save nothing: right only for a clock that is never restarted."""


class Clock:
    """The clock of one node.

    Each timestamp is greater than every one that this clock gave or received, even if the wall clock steps
    back, stands still or restarts. The saved mark survives a restart: no timestamp above it is given before
    a higher mark is saved.
    """

    def __init__(self, node: int, *, mark_us: int = -1, save: Callable[[int], None] = _save_nothing) -> None:
        """Start the clock.

        Args:
            node: The number of the node; no two clocks of an account share one.
            mark_us: The mark that was saved last; -1 if none was.
            save: Makes a mark durable before it returns.
        """
        self._node = node
        self._mark_us = mark_us
        self._save = save
        # No timestamp given before a restart is above the mark.
        self._physical_us = mark_us + 1
        self._logical = 0

    @property
    def physical_us(self) -> int:
        """A time that is at least that of every timestamp so far."""
        return self._physical_us

    def tick(self, wall_us: int) -> Timestamp:
        """Return a timestamp above all earlier ones; `wall_us` is the time of the node's wall clock."""
        if wall_us > self._physical_us:
            self._physical_us, self._logical = wall_us, 0
        else:
            self._logical += 1
        self._promise()
        return Timestamp(self._physical_us, self._logical, self._node)

    def receive(self, received: Timestamp) -> None:
        """Move above a timestamp that came from another node with a message."""
        if (received.physical_us, received.logical) > (self._physical_us, self._logical):
            self._physical_us, self._logical = received.physical_us, received.logical
            self._promise()

    def pass_over(self, data_us: int) -> None:
        """Never again give a timestamp that a reader at this data timestamp would see (R-DVS-83)."""
        if data_us >= self._physical_us:
            self._physical_us, self._logical = data_us + 1, 0
            self._promise()

    def _promise(self) -> None:
        if self._physical_us > self._mark_us:
            self._mark_us = self._physical_us + AHEAD_US
            self._save(self._mark_us)
