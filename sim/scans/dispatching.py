"""Give blocks to nodes that have room, and notice nodes and tasks that are silent for too long."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from sim.scans.events import TakenForDead, TaskSent, ranges
from sim.scans.messages import Task, ToNode
from sim.scans.network import RunContext
from sim.scans.scan_state import OutstandingTask, ScanState

# A scan's lease doubles each time that it proves too short, at most so many times.
LEASE_DOUBLINGS_MAX = 4
Send = Callable[[int, ToNode, int], None]


@dataclass(slots=True)
class KnownNode:
    """The control plane's knowledge of a node.

    Attributes:
        incarnation: 0 until a message of it arrives.
        heard_us: The time of its last message; None while it is taken for dead.
        out: The numbers of the tasks it has.
    """

    incarnation: int = 0
    heard_us: int | None = None
    out: set[int] = field(default_factory=set)


class Dispatcher:
    """The assignment of tasks to nodes.

    Attributes:
        peers: The nodes, by number.
    """

    def __init__(
        self, context: RunContext, *, send: Send, lost: Callable[[ScanState, OutstandingTask], None]
    ) -> None:
        """Start without having heard of any node.

        Args:
            send: Send a message to a node: its number, the message, and its size in bytes.
            lost: Called with a task that is lost with its node.
        """
        self.peers = [KnownNode() for _ in range(context.world.warehouse.nodes)]
        self._clock, self._world, self._emit = context.clock, context.world, context.emit
        self._send, self._lost = send, lost
        self._tasks = 0
        # The nodes that are alive and have room for a task.
        self._roomy: set[int] = set()

    @property
    def _now(self) -> int:
        return int(self._clock.now)

    @property
    def alive(self) -> list[int]:
        """The nodes that sent a message not long ago."""
        return [node for node, peer in enumerate(self.peers) if peer.heard_us is not None]

    def note_message(self, node: int, incarnation: int, states: Iterable[ScanState]) -> bool:
        """Note a message of a node; return False if the node sent it before it crashed."""
        peer = self.peers[node]
        if incarnation < peer.incarnation:
            return False
        if incarnation > peer.incarnation:
            self._lose(node, states)
            peer.incarnation = incarnation
        peer.heard_us = self._now
        self._look_for_room(node)
        return True

    def look(self, states: Iterable[ScanState]) -> None:
        """Look for dead nodes and for tasks that take too long."""
        model, states = self._world.control, list(states)
        for node, peer in enumerate(self.peers):
            if peer.heard_us is not None and self._now - peer.heard_us > model.dead_after_us:
                peer.heard_us = None
                self._look_for_room(node)
                self._emit(TakenForDead(at_us=self._now, node=node))
                self._lose(node, states)
        for state in states:
            lease_us = model.lease_us << min(state.overdue, LEASE_DOUBLINGS_MAX)
            late = [number for number, out in state.out.items() if self._now - out.since_us > lease_us]
            # Nodes may be busy, and tasks that are given twice make them busier still.
            state.overdue += bool(late)
            for number in late:
                out = state.out[number]
                self.release(state, number)
                state.requeue(out.blocks)

    def _lose(self, node: int, states: Iterable[ScanState]) -> None:
        for state in states:
            for number, out in list(state.out.items()):
                if out.node == node:
                    self.release(state, number)
                    self._lost(state, out)

    def release(self, state: ScanState, number: int) -> None:
        """Take back a task that a node has."""
        out = state.out.pop(number, None)
        if out is not None:
            self.peers[out.node].out.discard(number)
            self._look_for_room(out.node)

    def _room(self, node: int) -> int:
        model = self._world.warehouse
        return model.workers + model.tasks_ahead - len(self.peers[node].out)

    def _look_for_room(self, node: int) -> None:
        if self.peers[node].heard_us is not None and self._room(node) > 0:
            self._roomy.add(node)
        else:
            self._roomy.discard(node)

    def give(self, state: ScanState) -> None:
        """Give blocks to nodes that have room, those with the most room first."""
        while len(state.queues) and self._roomy:
            node = max(self._roomy, key=lambda candidate: (self._room(candidate), -candidate))
            blocks, stolen = state.give(node, self._task_size(len(state.queues)))
            if not len(blocks):
                return
            self._task(state, node, blocks, stolen=stolen)

    def _task_size(self, waiting: int) -> int:
        """Return the number of blocks of the next task."""
        model = self._world.warehouse
        if not model.guided:
            return model.blocks_per_task
        given_at_once = model.nodes * (model.workers + model.tasks_ahead)
        return max(1, min(model.blocks_per_task, waiting // (model.guided * given_at_once)))

    def _task(self, state: ScanState, node: int, blocks: np.ndarray, *, stolen: bool) -> None:
        plan, peer = state.plan, self.peers[node]
        number, self._tasks = self._tasks, self._tasks + 1
        task = Task(
            number=number,
            plan=plan,
            incarnation=peer.incarnation,
            blocks=blocks,
            unasked=plan.unasked[blocks],
            boundary=state.boundary,
        )
        self._emit(
            TaskSent(
                at_us=self._now, scan=plan.name, task=number, node=node, blocks=ranges(blocks), stolen=stolen
            )
        )
        state.out[number] = OutstandingTask(node, self._now, blocks)
        peer.out.add(number)
        self._look_for_room(node)
        self._send(node, task, 0)
