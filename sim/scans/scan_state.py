"""Where each block of a scan stands: waiting, out, or settled; and what the scan still needs."""

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
from sim.scans.messages import Found
from sim.scans.placement import Queues
from sim.scans.planning import ScanPlan
from sim.scans.tables import Row


class Goal(Protocol):
    """What decides which blocks of a scan are read next; `LimitPruning` and `TopK` say when it is enough."""

    technique: str

    def next_blocks(self) -> np.ndarray:
        """Ordinals of the blocks that may be read now, in order, those that are out among them."""

    def observe(self, block: int, found: Found) -> None:
        """A block was read."""

    def spare(self, blocks: np.ndarray) -> None:
        """Blocks need not be read, for another reason."""

    def unneeded(self) -> np.ndarray:
        """The ordinals of blocks that, for what was read by now, need not be."""


class Everything:
    """Each block that may match is read."""

    technique = "nothing"

    def __init__(self, plan: ScanPlan) -> None:
        self._plan, self._told = plan, 0

    def next_blocks(self) -> np.ndarray:
        """Those whose metadata were looked at since this was asked before."""
        since, self._told = self._told, self._plan.planned
        return since + np.flatnonzero(self._plan.matches[since : self._told] != Match.NONE)

    def observe(self, block: int, found: Found) -> None:
        """Nothing follows from it."""

    def spare(self, blocks: np.ndarray) -> None:
        """Nothing follows from it."""

    def unneeded(self) -> np.ndarray:
        """None."""
        return np.empty(0, np.int64)


class Enough:
    """A LIMIT without an order: the fewest blocks, or ever more of them until there are rows enough."""

    technique = "limit"

    def __init__(self, plan: ScanPlan, machine: LimitPruning) -> None:
        self._plan, self._machine = plan, machine

    def next_blocks(self) -> np.ndarray:
        """As the state machine says."""
        return self._machine.next_blocks()

    def observe(self, block: int, found: Found) -> None:
        """So many rows more."""
        self._machine.observe(np.array([block]), found.row_count)

    def spare(self, blocks: np.ndarray) -> None:
        """They give no row."""
        self._machine.observe(blocks, 0)

    def unneeded(self) -> np.ndarray:
        """All, once there are rows enough."""
        return np.arange(0 if len(self._machine.scan_set) else self._plan.blocks)


class First:
    """A top-k: blocks in the order of what they promise, until none reaches the boundary."""

    technique = "topk"

    def __init__(self, machine: TopK) -> None:
        self._machine = machine

    @property
    def boundary(self) -> Boundary | None:
        """As the state machine says; held by rows that the control plane has."""
        return self._machine.boundary

    def next_blocks(self) -> np.ndarray:
        """As the state machine says."""
        return self._machine.next_blocks()

    def observe(self, block: int, found: Found) -> None:
        """Its keys may move the boundary."""
        keys: Sequence[Value | None] = found.keys
        self._machine.observe(np.array([block]), keys)

    def spare(self, blocks: np.ndarray) -> None:
        """They have no key that matters."""
        self._machine.observe(blocks, ())

    def unneeded(self) -> np.ndarray:
        """Those that cannot reach the boundary."""
        return np.flatnonzero(~self._machine.reaching)


@dataclass(slots=True)
class Out:
    """A task that was given to a node."""

    node: int
    since_us: int
    blocks: np.ndarray


class Board:
    """One scan of a query at the control plane: pure, without a clock.

    Attributes:
        settled: Blocks that are read or need not be, shape (blocks,).
        pruned: How many need not be, by technique and place.
        rows: Those of the blocks that were read.
        out: Tasks that are not reported, by number.
        overdue: How many times tasks were given again because they took too long.
        waits: Whether blocks are held back: for the rest of the metadata, or a summary.
    """

    def __init__(self, plan: ScanPlan, queues: Queues) -> None:
        self.plan, self.queues = plan, queues
        self.goal: Goal = Everything(plan)
        self.settled = np.zeros(plan.blocks, bool)
        self.overdue = 0
        self._open = plan.blocks
        self.pruned: Counter[tuple[str, str]] = Counter()
        self.read = 0
        self.rows: list[Row] = []
        self.row_count = 0
        self.out: dict[int, Out] = {}
        self.waits = True
        # Waiting in a queue, and ever put there.
        self._waiting, self._command_start = np.zeros(plan.blocks, bool), np.zeros(plan.blocks, bool)

    @property
    def boundary(self) -> Boundary | None:
        """Of a top-k, as the control plane holds it."""
        return self.goal.boundary if isinstance(self.goal, First) else None

    @property
    def done(self) -> bool:
        """Whether each block is settled."""
        return not self._open

    def settle(self, blocks: np.ndarray, technique: str, where: str) -> np.ndarray:
        """Blocks need not be read; those of them that were not settled before are told."""
        fresh: np.ndarray = blocks[~self.settled[blocks]]
        self.settled[fresh] = True
        self._open -= len(fresh)
        self.pruned[technique, where] += len(fresh)
        if len(fresh):
            self.goal.spare(fresh)
        return fresh

    def accept(self, block: int, found: Found) -> None:
        """A block was read: what it gave is taken, whether or not the block was settled before."""
        self._open -= not self.settled[block]
        self.settled[block] = True
        self.read += 1
        self.rows.extend(found.rows)
        self.row_count += found.row_count
        self.goal.observe(block, found)

    def refill(self) -> None:
        """Let wait for a node what is to be read now and was not given yet."""
        if not self.waits:
            fresh = self.goal.next_blocks()
            self._wait(fresh[~self._command_start[fresh]])

    def give(self, node: int, count: int) -> tuple[np.ndarray, bool]:
        """The next blocks for a node, and whether they are another's."""
        while len(self.queues):
            blocks, stolen = self.queues.take(node, count)
            found = np.array(blocks, np.int64)
            self._waiting[found] = False
            found = found[~self.settled[found]]
            if len(found):
                return found, stolen
        return np.empty(0, np.int64), False

    def again(self, blocks: np.ndarray) -> None:
        """Blocks that were given may never come back: they are to be given once more."""
        self._wait(blocks[~self._waiting[blocks]])

    def _wait(self, blocks: np.ndarray) -> None:
        blocks = blocks[~self.settled[blocks]]
        self._waiting[blocks] = self._command_start[blocks] = True
        self.queues.put(map(int, blocks))
