"""The messages between the control plane and nodes. Any may be late, lost, doubled or overtaken.

The `kind` of a message is its name in traces and in plans of faults; it stays when a class is renamed.

"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from pruning.expressions.types import Value
from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.boundary import Boundary
from sim.scans.planning import ScanPlan
from sim.scans.tables import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Blocks for a node to read.

    Attributes:
        number: Unique within a run.
        incarnation: The incarnation of the node that is meant; after a crash the node ignores the task.
        unasked: A mask of the blocks for which the node has to evaluate the predicate.
        boundary: The boundary of the scan's top-k that the control plane has.
    """

    kind: ClassVar[str] = "Task"
    number: int
    plan: ScanPlan
    incarnation: int
    blocks: np.ndarray
    unasked: np.ndarray
    boundary: Boundary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowBoundary:
    """A boundary that the control plane has."""

    kind: ClassVar[str] = "KnowBoundary"
    plan: ScanPlan
    boundary: Boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowSummary:
    """The complete summary of the build side, for a probe scan."""

    kind: ClassVar[str] = "KnowSummary"
    plan: ScanPlan
    summary: JoinSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """A query is over: a node stops working for it."""

    kind: ClassVar[str] = "Cancel"
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockResult:
    """The result of reading one block.

    Attributes:
        rows: The rows that satisfy the predicate, if the table has rows.
        row_count: Their number.
        keys: The best keys among them, if the scan serves a top-k.
        part: The summary of their keys, if the scan is a build side.
    """

    rows: Sequence[Row]
    row_count: int
    keys: Sequence[Value | None] = ()
    part: JoinSummary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A node has finished a task, or gives it back.

    Attributes:
        read: Blocks that were read, shape (read blocks,).
        results: The result of each of these, in the same order.
        pruned: Blocks that need not be read, by technique.
        unread: Blocks that could not be read.
    """

    kind: ClassVar[str] = "Report"
    node: int
    incarnation: int
    task: int
    plan: ScanPlan
    read: np.ndarray
    results: Sequence[BlockResult]
    pruned: Mapping[str, np.ndarray] = field(default_factory=dict)
    unread: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A node lives.

    Attributes:
        queries: The queries that it works for.
        summaries: The scans whose summary it has.
        rows_seen: The number of matching rows that it has seen so far, reported or not, by scan; for display.
    """

    kind: ClassVar[str] = "Heartbeat"
    node: int
    incarnation: int
    queries: frozenset[str]
    summaries: frozenset[str]
    rows_seen: Mapping[str, int]


ToNode: TypeAlias = Task | KnowBoundary | KnowSummary | Cancel
ToControl: TypeAlias = Report | Heartbeat
