"""A node: workers that read blocks, and what they know by then that makes a block not worth reading."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from simpy import Interrupt, Process, Store

from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.topk import TopK
from sim.kernel.draws import Clock, Draws
from sim.scans.contents import found_in
from sim.scans.events import BoundaryMoved, CancelKnown, SummaryKnown, TaskBegan, TaskGivenUp
from sim.scans.faults import Troubles
from sim.scans.messages import (
    Cancel,
    Found,
    Heartbeat,
    KnowBoundary,
    KnowSummary,
    Report,
    Task,
    ToControl,
    ToNode,
)
from sim.scans.model import World
from sim.scans.network import Emit, Line
from sim.scans.planning import Ordered, ScanPlan, at_node
from sim.scans.reading import Reader, Waits
from sim.scans.tables import RowTable


@dataclass(slots=True)
class Scanning:
    """What a node knows of a scan; all of it is lost when it crashes.

    Attributes:
        top_k: What it has seen of the scan, and was told.
        excluded: By the summary of the build side, shape (blocks,); None as long as it was not told.
        rows_seen: In all blocks that it has read.
    """

    top_k: TopK | None = None
    excluded: np.ndarray | None = None
    rows_seen: int = 0


class Node:
    """One node of a warehouse."""

    def __init__(
        self,
        number: int,
        clock: Clock,
        world: World,
        troubles: Troubles,
        draws: Draws,
        turns: Line,
        emit: Emit,
        send: Callable[[ToControl], None],
    ) -> None:
        """A node that is down.

        Args:
            turns: The object store's, for the requests of all nodes.
            send: Takes a message to the control plane.
        """
        self.number, self.incarnation, self.up = number, 0, False
        self._clock, self.world, self._troubles, self._turns = clock, world, troubles, turns
        self._draws, self._emit, self._send = draws, emit, send
        self._processes: list[Process] = []
        self._forget()

    def _forget(self) -> None:
        self._tasks = Store(self._clock)
        self._reader = self.reader()
        self.scans: dict[str, Scanning] = {}
        self._over: set[str] = set()
        self._given: set[int] = set()
        self._working: dict[int, Task] = {}

    @property
    def _now(self) -> int:
        return int(self._clock.now)

    def start(self) -> None:
        """Come up with nothing in memory, and begin to work."""
        self.up = True
        self.incarnation += 1
        self._forget()
        self._processes = [self._clock.process(self._work()) for _ in range(self.world.warehouse.workers)]
        self._processes.append(self._clock.process(self._beat()))

    def crash(self) -> None:
        """Go down at once."""
        self.up = False
        for process in self._processes:
            if process.is_alive:
                process.interrupt()
        self._processes = []
        self._forget()

    def receive(self, message: ToNode) -> None:
        """A message arrives; one that arrives while the node is down is lost."""
        if not self.up:
            return
        match message:
            case Task():
                # One that comes twice is one.
                if message.incarnation == self.incarnation and message.number not in self._given:
                    self._given.add(message.number)
                    self._tasks.put(message)
            case KnowBoundary(plan=plan, boundary=boundary):
                self.learn(plan, boundary)
            case KnowSummary(plan=plan, summary=summary):
                self._learn_summary(plan, summary)
            case Cancel(query=query):
                self._over.add(query)
                self._emit(
                    CancelKnown(at_us=self._now, query=query, node=self.number, incarnation=self.incarnation)
                )

    def _beat(self) -> Waits:
        """Tell now and then that the node lives. Waits on the clock."""
        try:
            while True:
                busy = [*self._working.values(), *self._tasks.items]
                self._send(
                    Heartbeat(
                        node=self.number,
                        incarnation=self.incarnation,
                        queries=frozenset(task.plan.query.name for task in busy),
                        summaries=frozenset(
                            name for name, scan in self.scans.items() if scan.excluded is not None
                        ),
                        rows_seen={
                            name: scan.rows_seen for name, scan in self.scans.items() if scan.rows_seen
                        },
                    )
                )
                yield self._clock.timeout(self.world.control.heartbeat_us)
        except Interrupt:
            return

    def _work(self) -> Waits:
        """Take tasks for ever. Waits on a task, and on what reading takes."""
        try:
            while True:
                task: Task = yield self._tasks.get()
                self._working[task.number] = task
                yield from self._do(task)
                del self._working[task.number]
        except Interrupt:
            return

    def _do(self, task: Task) -> Waits:
        """One task from its beginning to its report."""
        plan, pruned = task.plan, {}
        if self.is_over(plan):
            self._give_up(task, "the query is over", task.blocks)
            return
        self._emit(
            TaskBegan(
                at_us=self._now,
                scan=plan.name,
                task=task.number,
                node=self.number,
                incarnation=self.incarnation,
            )
        )
        if task.boundary is not None:
            self.learn(plan, task.boundary)
        blocks = task.blocks
        if task.unasked.any():
            unasked = blocks[task.unasked]
            if not plan.known:
                yield from self._reader.footers(task, unasked)
            needed = self.asked(plan, unasked)
            pruned["filter"] = unasked[~needed]
            blocks = np.setdiff1d(blocks, pruned["filter"], assume_unique=True)
        read: list[int] = []
        found: list[Found] = []
        unread: list[int] = []
        for part in _parts(plan, blocks):
            if self.is_over(plan):
                self._give_up(task, "the query is over", blocks)
                return
            rest, gone = self._still_needed(plan, part)
            for technique, out in gone.items():
                pruned[technique] = np.concatenate([pruned.get(technique, out[:0]), out])
            if not len(rest):
                continue
            there = yield from self._reader.read(task, rest)
            unread += [int(block) for block in rest if block not in there]
            gave = [self.found(plan, block) for block in there]
            self.observe(plan, there, gave)
            read += there
            found += gave
        self._send(
            Report(
                node=self.number,
                incarnation=self.incarnation,
                task=task.number,
                plan=plan,
                read=np.array(read, np.int64),
                found=found,
                pruned={technique: out for technique, out in pruned.items() if len(out)},
                unread=np.array(unread, np.int64),
            )
        )

    def _give_up(self, task: Task, because: str, blocks: np.ndarray) -> None:
        """Give a task back."""
        self._emit(
            TaskGivenUp(
                at_us=self._now, scan=task.plan.name, task=task.number, node=self.number, because=because
            )
        )
        nothing = np.empty(0, np.int64)
        self._send(
            Report(
                node=self.number,
                incarnation=self.incarnation,
                task=task.number,
                plan=task.plan,
                read=nothing,
                found=(),
                unread=blocks,
            )
        )

    # What is known, and what follows from it.

    def scanning(self, plan: ScanPlan) -> Scanning:
        if plan.name not in self.scans:
            self.scans[plan.name] = Scanning(
                top_k=None if plan.ordered is None else self.top_k(plan, plan.ordered)
            )
        return self.scans[plan.name]

    def top_k(self, plan: ScanPlan, ordered: Ordered) -> TopK:
        """The state machine of a top-k, at this node."""
        return TopK(
            ordered.at_nodes,
            plan.matches,
            plan.row_counts,
            ordered.order,
            wanted=ordered.wanted,
            keeps_ties=self.keeps_ties(ordered),
        )

    def keeps_ties(self, ordered: Ordered) -> bool:
        """Whether a block that ties with this node's own boundary is read.

        Always: rows that this node holds are lost if it crashes, so that only the control plane, which keeps
        what it accepts, may skip a block for holding enough of them.
        """
        return True

    def reader(self) -> Reader:
        """What reads from the object store, with an empty cache."""
        return Reader(
            self.number, self._clock, self.world, self._troubles, self._draws, self._turns, self._emit
        )

    def is_over(self, plan: ScanPlan) -> bool:
        """Whether the node was told that a scan's query is over."""
        return plan.query.name in self._over

    def asked(self, plan: ScanPlan, blocks: np.ndarray) -> np.ndarray:
        """Which of these blocks the predicate leaves; shape (blocks,)."""
        return at_node(plan, blocks)

    def learn(self, plan: ScanPlan, boundary: Boundary) -> None:
        """Somebody knows a boundary; of two the stricter one stands, whichever comes later."""
        top_k = self.scanning(plan).top_k
        assert top_k is not None
        before = top_k.boundary
        top_k.learn(boundary)
        self.moved(plan, before, top_k.boundary)

    def moved(self, plan: ScanPlan, before: Boundary | None, after: Boundary | None) -> None:
        if after is None or after == before:
            return
        assert plan.ordered is not None
        self._emit(
            BoundaryMoved(
                at_us=self._now,
                scan=plan.name,
                node=self.number,
                incarnation=self.incarnation,
                boundary=repr(after.value),
                held=after.held,
                looser=before is not None and plan.ordered.order.is_worse(after.value, before.value),
            )
        )

    def _learn_summary(self, plan: ScanPlan, summary: JoinSummary) -> None:
        known = self.scanning(plan)
        if known.excluded is None:
            self._emit(
                SummaryKnown(at_us=self._now, scan=plan.name, node=self.number, incarnation=self.incarnation)
            )
        known.excluded = excluded_by(plan, summary)

    def _still_needed(self, plan: ScanPlan, blocks: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The blocks that what is known by now leaves, and those that go, by technique."""
        known, gone = self.scanning(plan), {}
        if known.excluded is not None:
            gone["join"] = blocks[known.excluded[blocks]]
            blocks = blocks[~known.excluded[blocks]]
        if known.top_k is not None:
            reaching = self.reaching(known.top_k)[blocks]
            gone["topk"] = blocks[~reaching]
            blocks = blocks[reaching]
        return blocks, gone

    def reaching(self, top_k: TopK) -> np.ndarray:
        """Which blocks may still hold a row of the answer; shape (blocks,)."""
        return top_k.reaching

    def observe(self, plan: ScanPlan, blocks: list[int], found: list[Found]) -> None:
        """Blocks were read: what they gave may move this node's own boundary."""
        known = self.scanning(plan)
        known.rows_seen += sum(one.row_count for one in found)
        if known.top_k is None:
            return
        before = known.top_k.boundary
        for block, one in zip(blocks, found, strict=True):
            known.top_k.observe(np.array([block]), one.keys)
        self.moved(plan, before, known.top_k.boundary)

    def found(self, plan: ScanPlan, block: int) -> Found:
        """What a block gives whoever reads it."""
        return found_in(plan, block, self.world.control.summary_bytes_max)


def _parts(plan: ScanPlan, blocks: np.ndarray) -> list[np.ndarray]:
    """The blocks of a task in steps: one by one where what one gives may spare the next."""
    if isinstance(plan.table, RowTable):
        return [blocks[at : at + 1] for at in range(len(blocks))]
    return [blocks]


def excluded_by(plan: ScanPlan, summary: JoinSummary) -> np.ndarray:
    """Which of a probe scan's blocks hold no partner of the build side, shape (blocks,)."""
    assert plan.probed is not None
    return summary.excludes([plan.probed.bounds], [plan.probed.null_safe])
