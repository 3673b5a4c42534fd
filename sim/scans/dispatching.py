"""Gives blocks to nodes that have room, and notices nodes and tasks of which nothing is heard."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from sim.kernel.draws import Clock
from sim.scans.events import TakenForDead, TaskSent, ranges
from sim.scans.messages import Task, ToNode
from sim.scans.model import World
from sim.scans.network import Emit
from sim.scans.scan_state import Board, Out

# How often the time is doubled after which a task is given again.
LEASE_DOUBLINGS_MAX = 4
Send = Callable[[int, ToNode, int], None]


@dataclass(slots=True)
class Peer:
    """What the control plane knows of a node.

    Attributes:
        incarnation: 0 as long as nothing was heard of it.
        heard_us: When that was last; None while it is taken for dead.
        out: The numbers of the tasks it has.
    """

    incarnation: int = 0
    heard_us: int | None = None
    out: set[int] = field(default_factory=set)


class Dispatcher:
    """Who has which task.

    Attributes:
        peers: The nodes, by number.
    """

    def __init__(
        self, clock: Clock, world: World, emit: Emit, send: Send, lost: Callable[[Board, Out], None]
    ) -> None:
        """One that has heard of no node.

        Args:
            lost: What to do with a task that is lost with its node.
        """
        self.peers = [Peer() for _ in range(world.warehouse.nodes)]
        self._clock, self._world, self._emit, self._send, self._lost = clock, world, emit, send, lost
        self._tasks = 0
        # Those that are alive and have room for a task.
        self._roomy: set[int] = set()

    @property
    def _now(self) -> int:
        return int(self._clock.now)

    @property
    def alive(self) -> list[int]:
        """The nodes that were heard of not long ago."""
        return [node for node, peer in enumerate(self.peers) if peer.heard_us is not None]

    def heard(self, node: int, incarnation: int, boards: Iterable[Board]) -> bool:
        """A message of a node has come; False if it sent it before it crashed."""
        peer = self.peers[node]
        if incarnation < peer.incarnation:
            return False
        if incarnation > peer.incarnation:
            self._lose(node, boards)
            peer.incarnation = incarnation
        peer.heard_us = self._now
        self._look_for_room(node)
        return True

    def look(self, boards: Iterable[Board]) -> None:
        """Look for nodes that are dead, and for tasks that take too long."""
        model, boards = self._world.control, list(boards)
        for node, peer in enumerate(self.peers):
            if peer.heard_us is not None and self._now - peer.heard_us > model.dead_after_us:
                peer.heard_us = None
                self._look_for_room(node)
                self._emit(TakenForDead(at_us=self._now, node=node))
                self._lose(node, boards)
        for board in boards:
            lease_us = model.lease_us << min(board.overdue, LEASE_DOUBLINGS_MAX)
            late = [number for number, out in board.out.items() if self._now - out.since_us > lease_us]
            # Nodes may be busy, and what they are given twice makes them busier still.
            board.overdue += bool(late)
            for number in late:
                out = board.out[number]
                self.returned(board, number)
                board.again(out.blocks)

    def _lose(self, node: int, boards: Iterable[Board]) -> None:
        for board in boards:
            for number, out in list(board.out.items()):
                if out.node == node:
                    self.returned(board, number)
                    self._lost(board, out)

    def returned(self, board: Board, number: int) -> None:
        """A task is no longer out."""
        out = board.out.pop(number, None)
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

    def give(self, board: Board) -> None:
        """Give blocks to nodes that have room, those that have most first."""
        while len(board.queues) and self._roomy:
            node = max(self._roomy, key=lambda one: (self._room(one), -one))
            blocks, stolen = board.give(node, self._share(len(board.queues)))
            if not len(blocks):
                return
            self._task(board, node, blocks, stolen=stolen)

    def _share(self, waiting: int) -> int:
        """How many of the blocks that wait the next task has."""
        model = self._world.warehouse
        if not model.guided:
            return model.blocks_per_task
        given_at_once = model.nodes * (model.workers + model.tasks_ahead)
        return max(1, min(model.blocks_per_task, waiting // (model.guided * given_at_once)))

    def _task(self, board: Board, node: int, blocks: np.ndarray, *, stolen: bool) -> None:
        plan, peer = board.plan, self.peers[node]
        number, self._tasks = self._tasks, self._tasks + 1
        task = Task(
            number=number,
            plan=plan,
            incarnation=peer.incarnation,
            blocks=blocks,
            unasked=plan.unasked[blocks],
            boundary=board.boundary,
        )
        self._emit(
            TaskSent(
                at_us=self._now, scan=plan.name, task=number, node=node, blocks=ranges(blocks), stolen=stolen
            )
        )
        board.out[number] = Out(node, self._now, blocks)
        peer.out.add(number)
        self._look_for_room(node)
        self._send(node, task, 0)
