"""The clocks of nodes: the skewed wall clock of each, and the logical clock that a crash starts again."""

from dynamic_tables.storage.clock import Clock
from sim.kernel import draws
from sim.refreshes.faults import RefreshFaultPlan


class NodeClocks:
    """The logical clock of each node, by number; its saved mark survives a crash."""

    def __init__(
        self, env: draws.Clock, *, nodes: int, troubles: RefreshFaultPlan, clock: type[Clock]
    ) -> None:
        self._env = env
        self._troubles = troubles
        self._new_clock = clock
        self._marks = [-1] * nodes
        self._clocks = [self._start(node) for node in range(nodes)]

    def __len__(self) -> int:
        return len(self._clocks)

    def __getitem__(self, node: int) -> Clock:
        return self._clocks[node]

    def wall_us(self, node: int) -> int:
        """Return the time that the wall clock of a node shows."""
        now_us = self._env.now_us
        return max(0, now_us + self._troubles.offset_us(node)) if self._troubles.planned else now_us

    def restart(self, node: int) -> None:
        """Start the clock of a node again from its saved mark."""
        self._clocks[node] = self._start(node)

    def _start(self, node: int) -> Clock:
        def save(mark_us: int) -> None:
            self._marks[node] = mark_us

        return self._new_clock(node, mark_us=self._marks[node], save=save)
