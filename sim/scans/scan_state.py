"""The state of a scan: its blocks wait, are given to nodes, or are settled; and the goal of the scan."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pruning.expressions.types import Value
from pruning.rules.sets.truths import Match
from pruning.techniques.limit import LimitPruning
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.topk import TopK
from sim.scans.messages import BlockResult
from sim.scans.placement import Queues
from sim.scans.planning import ScanPlan
from sim.scans.tables import Row


class ScanGoal(Protocol):
    """Decides which blocks of a scan are read next; `LimitPruning` and `TopK` tell when it is enough."""

    technique: str

    def next_blocks(self) -> np.ndarray:
        """Return the blocks that may be read now, in order, including those that nodes have already."""

    def observe(self, block: int, result: BlockResult) -> None:
        """Learn the result of a block that was read."""

    def spare(self, blocks: np.ndarray) -> None:
        """Learn that blocks need not be read, for another reason."""

    def unneeded_blocks(self) -> np.ndarray:
        """Return the blocks that need not be read any more, because of the results so far."""


class ReadAll:
    """Each block that may match is read."""

    technique = "nothing"

    def __init__(self, plan: ScanPlan) -> None:
        self._plan, self._offered = plan, 0

    def next_blocks(self) -> np.ndarray:
        """Return the blocks whose metadata was read since the last call."""
        since, self._offered = self._offered, self._plan.planned
        return since + np.flatnonzero(self._plan.matches[since : self._offered] != Match.NONE)

    def observe(self, block: int, result: BlockResult) -> None:
        """Do nothing."""

    def spare(self, blocks: np.ndarray) -> None:
        """Do nothing."""

    def unneeded_blocks(self) -> np.ndarray:
        """Return no blocks."""
        return np.empty(0, np.int64)


class LimitGoal:
    """A LIMIT without an order: the fewest blocks, or more and more of them until there are enough rows."""

    technique = "limit"

    def __init__(self, plan: ScanPlan, machine: LimitPruning) -> None:
        self._plan, self._machine = plan, machine

    def next_blocks(self) -> np.ndarray:
        """Return the next blocks of the state machine."""
        return self._machine.next_blocks()

    def observe(self, block: int, result: BlockResult) -> None:
        """Add the rows of a block."""
        self._machine.observe(np.array([block]), result.row_count)

    def spare(self, blocks: np.ndarray) -> None:
        """Note that blocks give no row."""
        self._machine.observe(blocks, 0)

    def unneeded_blocks(self) -> np.ndarray:
        """Return all blocks once there are enough rows."""
        return np.arange(0 if len(self._machine.scan_set) else self._plan.blocks)


class TopKGoal:
    """A top-k: blocks in the order of their best keys, until none reaches the boundary."""

    technique = "topk"

    def __init__(self, machine: TopK) -> None:
        self._machine = machine

    @property
    def boundary(self) -> Boundary | None:
        """The boundary of the state machine, which rows at the control plane hold."""
        return self._machine.boundary

    def next_blocks(self) -> np.ndarray:
        """Return the next blocks of the state machine."""
        return self._machine.next_blocks()

    def observe(self, block: int, result: BlockResult) -> None:
        """Learn the keys of a block, which may move the boundary."""
        keys: Sequence[Value | None] = result.keys
        self._machine.observe(np.array([block]), keys)

    def spare(self, blocks: np.ndarray) -> None:
        """Note that blocks have no key that matters."""
        self._machine.observe(blocks, ())

    def unneeded_blocks(self) -> np.ndarray:
        """Return the blocks that cannot reach the boundary."""
        return np.flatnonzero(~self._machine.reaching)


@dataclass(slots=True)
class OutstandingTask:
    """A task that was given to a node."""

    node: int
    since_us: int
    blocks: np.ndarray


class ScanState:
    """The state of one scan of a query at the control plane: pure, without a clock.

    Attributes:
        settled: A mask of blocks that are read or need not be, shape (blocks,).
        pruned: The number of blocks that need not be read, by technique and place.
        rows: The rows of the blocks that were read.
        out: Tasks that are not reported, by number.
        overdue: The number of times that tasks were given again because they took too long.
        waits: True if blocks are held back: for the rest of the metadata, or a summary.
    """

    def __init__(self, plan: ScanPlan, queues: Queues) -> None:
        self.plan, self.queues = plan, queues
        self.goal: ScanGoal = ReadAll(plan)
        self.settled = np.zeros(plan.blocks, bool)
        self.overdue = 0
        self._open = plan.blocks
        self.pruned: Counter[tuple[str, str]] = Counter()
        self.read = 0
        self.rows: list[Row] = []
        self.row_count = 0
        self.out: dict[int, OutstandingTask] = {}
        self.waits = True
        # Blocks that wait in a queue, and blocks that were ever put there.
        self._waiting, self._command_start = np.zeros(plan.blocks, bool), np.zeros(plan.blocks, bool)

    @property
    def boundary(self) -> Boundary | None:
        """The boundary of a top-k that the control plane has."""
        return self.goal.boundary if isinstance(self.goal, TopKGoal) else None

    @property
    def is_done(self) -> bool:
        """True if each block is settled."""
        return not self._open

    def settle(self, blocks: np.ndarray, technique: str, where: str) -> np.ndarray:
        """Settle blocks that need not be read; return those that were not settled before."""
        fresh: np.ndarray = blocks[~self.settled[blocks]]
        self.settled[fresh] = True
        self._open -= len(fresh)
        self.pruned[technique, where] += len(fresh)
        if len(fresh):
            self.goal.spare(fresh)
        return fresh

    def accept(self, block: int, result: BlockResult) -> None:
        """Add the result of a block that was read, whether or not it was settled before."""
        self._open -= not self.settled[block]
        self.settled[block] = True
        self.read += 1
        self.rows.extend(result.rows)
        self.row_count += result.row_count
        self.goal.observe(block, result)

    def refill(self) -> None:
        """Queue the blocks that are to be read now and were not queued yet."""
        if not self.waits:
            fresh = self.goal.next_blocks()
            self._wait(fresh[~self._command_start[fresh]])

    def give(self, node: int, count: int) -> tuple[np.ndarray, bool]:
        """Return the next blocks for a node, and True if they are another node's."""
        while len(self.queues):
            blocks, stolen = self.queues.take(node, count)
            ordinals = np.array(blocks, np.int64)
            self._waiting[ordinals] = False
            ordinals = ordinals[~self.settled[ordinals]]
            if len(ordinals):
                return ordinals, stolen
        return np.empty(0, np.int64), False

    def requeue(self, blocks: np.ndarray) -> None:
        """Queue blocks once more whose task may never be reported."""
        self._wait(blocks[~self._waiting[blocks]])

    def _wait(self, blocks: np.ndarray) -> None:
        blocks = blocks[~self.settled[blocks]]
        self._waiting[blocks] = self._command_start[blocks] = True
        self.queues.put(map(int, blocks))
