"""What happened: events in the order of their times, as they are written to a file."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from sim.kernel.trace import Event

# Half-open ranges of ordinals: blocks that stand together are told together.
Ranges: TypeAlias = tuple[tuple[int, int], ...]


class QueryBegan(Event, frozen=True, kw_only=True, tag="QueryBegan"):
    """The control plane took up a query."""

    query: str
    kind: str
    scans: tuple[str, ...]


class ScanPlanned(Event, frozen=True, kw_only=True, tag="ScanPlanned"):
    """Metadata of some blocks was looked at; `cut` conjuncts and `unasked` blocks are left to nodes."""

    scan: str
    blocks: int
    pruned: int
    unasked: int
    cut: int
    took_us: int


class Pruned(Event, frozen=True, kw_only=True, tag="Pruned"):
    """Blocks are not read: by which technique, and `where`: compile time, control plane or node."""

    scan: str
    technique: str
    where: str
    node: int | None
    blocks: Ranges


class TaskSent(Event, frozen=True, kw_only=True, tag="TaskSent"):
    """Blocks were given to a node; `stolen` where they waited for another one."""

    scan: str
    task: int
    node: int
    blocks: Ranges
    stolen: bool


class TaskBegan(Event, frozen=True, kw_only=True, tag="TaskBegan"):
    """A worker of a node took up a task."""

    scan: str
    task: int
    node: int
    incarnation: int


class BlocksRead(Event, frozen=True, kw_only=True, tag="BlocksRead"):
    """A worker has read blocks, of which `cached` bytes came from the node's cache."""

    scan: str
    task: int
    node: int
    incarnation: int
    blocks: Ranges
    began_us: int
    requests: int
    bytes: int
    cached: int


class FootersRead(Event, frozen=True, kw_only=True, tag="FootersRead"):
    """A worker has read the footers of blocks, for there was no metadata of them."""

    scan: str
    task: int
    node: int
    incarnation: int
    blocks: int
    began_us: int
    requests: int
    bytes: int


class ReadFailed(Event, frozen=True, kw_only=True, tag="ReadFailed"):
    """A request for a block failed, or its answer did."""

    scan: str
    node: int
    block: int
    attempt: int


class TaskGivenUp(Event, frozen=True, kw_only=True, tag="TaskGivenUp"):
    """A node gave a task back: reads of it failed too often, or its query was cancelled."""

    scan: str
    task: int
    node: int
    because: str


class Accepted(Event, frozen=True, kw_only=True, tag="Accepted"):
    """The control plane took the rows of blocks as read."""

    scan: str
    task: int
    node: int
    blocks: Ranges
    rows: int


class Ignored(Event, frozen=True, kw_only=True, tag="Ignored"):
    """A report told of blocks that were settled before, or of a query that is over."""

    scan: str
    task: int
    node: int
    because: str


class BoundaryMoved(Event, frozen=True, kw_only=True, tag="BoundaryMoved"):
    """Somebody knows a boundary of a top-k, `node` None being the control plane."""

    scan: str
    node: int | None
    incarnation: int
    boundary: str
    held: bool
    looser: bool


class SummaryComplete(Event, frozen=True, kw_only=True, tag="SummaryComplete"):
    """All parts of a build side are merged."""

    scan: str
    rows: int
    bytes: int


class SummaryKnown(Event, frozen=True, kw_only=True, tag="SummaryKnown"):
    """A node was told the summary for a scan."""

    scan: str
    node: int
    incarnation: int


class CancelKnown(Event, frozen=True, kw_only=True, tag="CancelKnown"):
    """A node was told that a query is over."""

    query: str
    node: int
    incarnation: int


class QueryEnded(Event, frozen=True, kw_only=True, tag="QueryEnded"):
    """The control plane gave an answer, or `cancelled` says that none is wanted.

    Attributes:
        answer: The identities of its rows; None where rows have none.
        total, read, pruned: The control plane's own count of blocks; `pruned` by technique and place.
    """

    query: str
    cancelled: bool
    answer: tuple[tuple[int | None, ...], ...] | None
    rows: int
    total: int
    read: int
    pruned: dict[str, int]


class NodeCrashed(Event, frozen=True, kw_only=True, tag="NodeCrashed"):
    """A node lost all that it had in memory."""

    node: int
    incarnation: int


class NodeStarted(Event, frozen=True, kw_only=True, tag="NodeStarted"):
    """A node is up."""

    node: int
    incarnation: int


class TakenForDead(Event, frozen=True, kw_only=True, tag="TakenForDead"):
    """The control plane has heard nothing of a node for too long."""

    node: int


class MessageLost(Event, frozen=True, kw_only=True, tag="MessageLost"):
    """A message that nobody gets."""

    kind: str
    to: str


class MessageDoubled(Event, frozen=True, kw_only=True, tag="MessageDoubled"):
    """A message that comes twice."""

    kind: str
    to: str


def ranges(blocks: np.ndarray) -> Ranges:
    """Ordinals, in any order, as half-open ranges."""
    if not len(blocks):
        return ()
    line = np.sort(np.asarray(blocks, np.int64))
    cuts = np.flatnonzero(np.diff(line) > 1)
    starts = line[np.concatenate([[0], cuts + 1])]
    stops = line[np.concatenate([cuts, [len(line) - 1]])] + 1
    return tuple((int(start), int(stop)) for start, stop in zip(starts, stops, strict=True))


def ordinals(told: Ranges) -> Iterator[int]:
    """The ordinals of ranges."""
    for start, stop in told:
        yield from range(start, stop)


def count(told: Ranges) -> int:
    """How many ordinals there are in ranges."""
    return sum(stop - start for start, stop in told)
