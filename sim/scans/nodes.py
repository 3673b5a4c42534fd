"""A node: workers that read blocks, and the knowledge by which it skips blocks that are not worth reading."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from simpy import Interrupt, Process, Store

from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.topk import TopK
from sim.scans.contents import block_result
from sim.scans.events import BoundaryMoved, CancelKnown, SummaryKnown, TaskBegan, TaskGivenUp
from sim.scans.messages import (
    BlockResult,
    Cancel,
    Heartbeat,
    KnowBoundary,
    KnowSummary,
    Report,
    Task,
    ToControl,
    ToNode,
)
from sim.scans.network import RunContext
from sim.scans.planning import ScanPlan, ServedTopK, at_node
from sim.scans.reading import StoreReader, Waits
from sim.scans.tables import RowTable


@dataclass(slots=True)
class NodeScan:
    """A node's knowledge of a scan; a crash loses it.

    Attributes:
        top_k: The state machine of the top-k, with what it has read and was told.
        excluded: A mask of blocks that the build side's summary excludes, shape (blocks,); None until it is
            told.
        rows_seen: The number of matching rows in all blocks that it has read.
    """

    top_k: TopK | None = None
    excluded: np.ndarray | None = None
    rows_seen: int = 0


class Node:
    """One node of a warehouse."""

    def __init__(self, number: int, context: RunContext, *, send: Callable[[ToControl], None]) -> None:
        """Create a node that is down.

        Args:
            send: Send a message to the control plane.
        """
        self.number, self.incarnation, self.up = number, 0, False
        self.context, self.world = context, context.world
        self._clock, self._emit, self._send = context.clock, context.emit, send
        self._processes: list[Process] = []
        self._forget()

    def _forget(self) -> None:
        self._tasks = Store(self._clock)
        self._reader = self.reader()
        self.scans: dict[str, NodeScan] = {}
        self._over: set[str] = set()
        self._given: set[int] = set()
        self._working: dict[int, Task] = {}

    @property
    def _now(self) -> int:
        return int(self._clock.now)

    def start(self) -> None:
        """Start with an empty memory, and begin to work."""
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
        """Handle a message; one that arrives while the node is down is lost."""
        if not self.up:
            return
        match message:
            case Task():
                # Ignore a task that arrives twice.
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
        """Send heartbeats. Waits on the clock."""
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
        """Take tasks for ever. Waits for a task, and for reading."""
        try:
            while True:
                task: Task = yield self._tasks.get()
                self._working[task.number] = task
                yield from self._do(task)
                del self._working[task.number]
        except Interrupt:
            return

    def _do(self, task: Task) -> Waits:
        """Do one task and report it."""
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
            if not plan.has_metadata:
                yield from self._reader.footers(task, unasked)
            needed = self.may_match(plan, unasked)
            pruned["filter"] = unasked[~needed]
            blocks = np.setdiff1d(blocks, pruned["filter"], assume_unique=True)
        read: list[int] = []
        results: list[BlockResult] = []
        unread: list[int] = []
        for part in _read_steps(plan, blocks):
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
            gave = [self.block_result(plan, block) for block in there]
            self.observe(plan, there, gave)
            read += there
            results += gave
        self._send(
            Report(
                node=self.number,
                incarnation=self.incarnation,
                task=task.number,
                plan=plan,
                read=np.array(read, np.int64),
                results=results,
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
                results=(),
                unread=blocks,
            )
        )

    # Knowledge, and its consequences.

    def scanning(self, plan: ScanPlan) -> NodeScan:
        if plan.name not in self.scans:
            self.scans[plan.name] = NodeScan(
                top_k=None if plan.top_k is None else self.top_k(plan, plan.top_k)
            )
        return self.scans[plan.name]

    def top_k(self, plan: ScanPlan, ordered: ServedTopK) -> TopK:
        """Return the state machine of a top-k, at this node."""
        return TopK(
            ordered.at_nodes,
            plan.matches,
            plan.row_counts,
            ordered.order,
            wanted=ordered.wanted,
            keeps_ties=self.keeps_ties(ordered),
        )

    def keeps_ties(self, ordered: ServedTopK) -> bool:
        """Tell whether a block that ties with this node's own boundary is read.

        Always: a crash loses the rows that this node holds. Only the control plane, which keeps what it
        accepts, may skip a block because it holds enough tying rows.
        """
        return True

    def reader(self) -> StoreReader:
        """Return a reader of the object store with an empty cache."""
        return StoreReader(self.number, self.context)

    def is_over(self, plan: ScanPlan) -> bool:
        """Tell whether the node was told that a scan's query is over."""
        return plan.query.name in self._over

    def may_match(self, plan: ScanPlan, blocks: np.ndarray) -> np.ndarray:
        """Return a mask of these blocks that may match the predicate; shape (blocks,)."""
        return at_node(plan, blocks)

    def learn(self, plan: ScanPlan, boundary: Boundary) -> None:
        """Learn a boundary; of two boundaries the stricter one stays, whichever arrives later."""
        top_k = self.scanning(plan).top_k
        assert top_k is not None
        before = top_k.boundary
        top_k.learn(boundary)
        self.announce_boundary(plan, before, top_k.boundary)

    def announce_boundary(self, plan: ScanPlan, before: Boundary | None, after: Boundary | None) -> None:
        if after is None or after == before:
            return
        assert plan.top_k is not None
        self._emit(
            BoundaryMoved(
                at_us=self._now,
                scan=plan.name,
                node=self.number,
                incarnation=self.incarnation,
                boundary=repr(after.value),
                held=after.held,
                looser=before is not None and plan.top_k.order.is_worse(after.value, before.value),
            )
        )

    def _learn_summary(self, plan: ScanPlan, summary: JoinSummary) -> None:
        scan = self.scanning(plan)
        if scan.excluded is None:
            self._emit(
                SummaryKnown(at_us=self._now, scan=plan.name, node=self.number, incarnation=self.incarnation)
            )
        scan.excluded = excluded_by(plan, summary)

    def _still_needed(self, plan: ScanPlan, blocks: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the blocks that current knowledge leaves, and the pruned ones by technique."""
        scan, gone = self.scanning(plan), {}
        if scan.excluded is not None:
            gone["join"] = blocks[scan.excluded[blocks]]
            blocks = blocks[~scan.excluded[blocks]]
        if scan.top_k is not None:
            reaching = self.reaching(scan.top_k)[blocks]
            gone["topk"] = blocks[~reaching]
            blocks = blocks[reaching]
        return blocks, gone

    def reaching(self, top_k: TopK) -> np.ndarray:
        """Return a mask of the blocks that may still hold a row of the answer; shape (blocks,)."""
        return top_k.reaching

    def observe(self, plan: ScanPlan, blocks: list[int], results: list[BlockResult]) -> None:
        """Learn from blocks that were read; their keys may move this node's own boundary."""
        scan = self.scanning(plan)
        scan.rows_seen += sum(result.row_count for result in results)
        if scan.top_k is None:
            return
        before = scan.top_k.boundary
        for block, result in zip(blocks, results, strict=True):
            scan.top_k.observe(np.array([block]), result.keys)
        self.announce_boundary(plan, before, scan.top_k.boundary)

    def block_result(self, plan: ScanPlan, block: int) -> BlockResult:
        """Return the result of reading a block."""
        return block_result(plan, block, self.world.control.summary_bytes_max)


def _read_steps(plan: ScanPlan, blocks: np.ndarray) -> list[np.ndarray]:
    """Return the blocks of a task in steps: one by one if a block's result may make the next one needless."""
    if isinstance(plan.table, RowTable):
        return [blocks[at : at + 1] for at in range(len(blocks))]
    return [blocks]


def excluded_by(plan: ScanPlan, summary: JoinSummary) -> np.ndarray:
    """Return a mask of a probe scan's blocks that hold no partner of the build side, shape (blocks,)."""
    assert plan.probe_side is not None
    return summary.excludes([plan.probe_side.bounds], [plan.probe_side.null_safe])
