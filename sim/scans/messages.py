"""What the control plane and nodes tell each other. Any message may be late, lost, doubled or overtaken.

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
        number: Tells tasks of a run apart.
        incarnation: Of the node that is meant: what it was asked before it crashed is not asked of it now.
        unasked: Of which of the blocks the predicate is to be asked at the node.
        boundary: Of the scan's top-k, as the control plane holds it.
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
    """A boundary that the control plane holds."""

    kind: ClassVar[str] = "KnowBoundary"
    plan: ScanPlan
    boundary: Boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowSummary:
    """The whole build side's summary, for a probe scan."""

    kind: ClassVar[str] = "KnowSummary"
    plan: ScanPlan
    summary: JoinSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """A query is over: nothing of it is to be done."""

    kind: ClassVar[str] = "Cancel"
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one block gave.

    Attributes:
        rows: Those that satisfy the predicate, where the table has rows.
        row_count: How many.
        keys: Of the best of them, where the scan serves a top-k.
        part: The summary of their keys, where the scan is a build side.
    """

    rows: Sequence[Row]
    row_count: int
    keys: Sequence[Value | None] = ()
    part: JoinSummary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A node has done with a task, or gives it back.

    Attributes:
        read: Blocks that were read, shape (read blocks,), and what each gave, in the same order.
        pruned: Blocks that need not be read, by technique.
        unread: Blocks that could not be read.
    """

    kind: ClassVar[str] = "Report"
    node: int
    incarnation: int
    task: int
    plan: ScanPlan
    read: np.ndarray
    found: Sequence[Found]
    pruned: Mapping[str, np.ndarray] = field(default_factory=dict)
    unread: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A node lives.

    Attributes:
        queries: Those it has something to do for.
        summaries: The scans whose summary it was told.
        rows_seen: Rows that it has found by now, reported or not, by scan: for people to look at.
    """

    kind: ClassVar[str] = "Heartbeat"
    node: int
    incarnation: int
    queries: frozenset[str]
    summaries: frozenset[str]
    rows_seen: Mapping[str, int]


ToNode: TypeAlias = Task | KnowBoundary | KnowSummary | Cancel
ToControl: TypeAlias = Report | Heartbeat
