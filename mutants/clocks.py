"""Clocks of nodes that are wrong in one way each."""

from collections.abc import Callable

from dynamic_tables.storage.clock import Clock, Timestamp


class WallTime(Clock):
    """Gives wall times that no reader has passed, as if they never went back."""

    _passed_us = -1

    def tick(self, wall_us: int) -> Timestamp:
        self._logical += 1
        return Timestamp(max(wall_us, self._passed_us), self._logical, self._node)

    def pass_over(self, data_us: int) -> None:
        self._passed_us = max(self._passed_us, data_us + 1)


class WallTimeBehindReaders(Clock):
    """Gives the wall time of its node, whatever was read (R-DVS-80)."""

    def tick(self, wall_us: int) -> Timestamp:
        self._logical += 1
        return Timestamp(wall_us, self._logical, self._node)


class TrustsItsWall(Clock):
    """Takes its wall clock for right at each tick (R-DVS-80)."""

    def tick(self, wall_us: int) -> Timestamp:
        self._physical_us = wall_us
        return super().tick(wall_us)


def _save_nowhere(mark_us: int) -> None:
    return


class ForgetsItsMark(Clock):
    """Starts again without the mark that it saved (R-DVS-80)."""

    def __init__(self, node: int, *, mark_us: int = -1, save: Callable[[int], None] = _save_nowhere) -> None:
        super().__init__(node, save=save)


class IgnoresMessages(Clock):
    """Stays behind the timestamps that it receives (R-DVS-80)."""

    def receive(self, received: Timestamp) -> None:
        return


class IgnoresReaders(Clock):
    """Commits behind those who have read (R-DVS-83)."""

    def pass_over(self, data_us: int) -> None:
        return
