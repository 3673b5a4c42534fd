"""The trace events of scans, as they are written to a file in the order of their times."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from sim.kernel.trace import Event

# Half-open ranges of ordinals, for adjacent blocks.
Ranges: TypeAlias = tuple[tuple[int, int], ...]


class QueryBegan(Event, frozen=True, kw_only=True, tag="QueryBegan"):
    """The control plane began a query."""

    query: str
    kind: str
    scans: tuple[str, ...]


class ScanPlanned(Event, frozen=True, kw_only=True, tag="ScanPlanned"):
    """The metadata of some blocks was read; `cut` conjuncts and `unasked` blocks are left to nodes."""

    scan: str
    blocks: int
    pruned: int
    unasked: int
    cut: int
    took_us: int


class Pruned(Event, frozen=True, kw_only=True, tag="Pruned"):
    """Blocks need not be read: by which technique, and `where`: compile time, control plane or node."""

    scan: str
    technique: str
    where: str
    node: int | None
    blocks: Ranges


class TaskSent(Event, frozen=True, kw_only=True, tag="TaskSent"):
    """Blocks were given to a node; `stolen` if they waited for another one."""

    scan: str
    task: int
    node: int
    blocks: Ranges
    stolen: bool


class TaskBegan(Event, frozen=True, kw_only=True, tag="TaskBegan"):
    """A worker of a node began a task."""

    scan: str
    task: int
    node: int
    incarnation: int


class BlocksRead(Event, frozen=True, kw_only=True, tag="BlocksRead"):
    """A worker has read blocks; `cached` of their bytes came from the node's cache."""

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
    """A worker has read the footers of blocks whose metadata was not available."""

    scan: str
    task: int
    node: int
    incarnation: int
    blocks: int
    began_us: int
    requests: int
    bytes: int


class ReadFailed(Event, frozen=True, kw_only=True, tag="ReadFailed"):
    """A request for a block failed."""

    scan: str
    node: int
    block: int
    attempt: int


class TaskGivenUp(Event, frozen=True, kw_only=True, tag="TaskGivenUp"):
    """A node gave a task back: its reads failed too often, or its query was cancelled."""

    scan: str
    task: int
    node: int
    because: str


class Accepted(Event, frozen=True, kw_only=True, tag="Accepted"):
    """The control plane accepted the rows of blocks that were read."""

    scan: str
    task: int
    node: int
    blocks: Ranges
    rows: int


class Ignored(Event, frozen=True, kw_only=True, tag="Ignored"):
    """A report contained blocks that were settled before, or belongs to a query that is over."""

    scan: str
    task: int
    node: int
    because: str


class BoundaryMoved(Event, frozen=True, kw_only=True, tag="BoundaryMoved"):
    """A node learnt a boundary of a top-k, or the control plane if `node` is None."""

    scan: str
    node: int | None
    incarnation: int
    boundary: str
    held: bool
    looser: bool


class SummaryComplete(Event, frozen=True, kw_only=True, tag="SummaryComplete"):
    """All parts of a build side's summary are merged."""

    scan: str
    rows: int
    bytes: int


class SummaryKnown(Event, frozen=True, kw_only=True, tag="SummaryKnown"):
    """A node received the summary for a scan."""

    scan: str
    node: int
    incarnation: int


class CancelKnown(Event, frozen=True, kw_only=True, tag="CancelKnown"):
    """A node learnt that a query is over."""

    query: str
    node: int
    incarnation: int


class QueryEnded(Event, frozen=True, kw_only=True, tag="QueryEnded"):
    """The control plane answered a query, or it was `cancelled`.

    Attributes:
        answer: The identities of its rows; None if rows have none.
        total, read, pruned: The control plane's own counts of blocks; `pruned` by technique and place.
    """

    query: str
    cancelled: bool
    answer: tuple[tuple[int | None, ...], ...] | None
    rows: int
    total: int
    read: int
    pruned: dict[str, int]


class NodeCrashed(Event, frozen=True, kw_only=True, tag="NodeCrashed"):
    """A node crashed and lost its memory."""

    node: int
    incarnation: int


class NodeStarted(Event, frozen=True, kw_only=True, tag="NodeStarted"):
    """A node is up."""

    node: int
    incarnation: int


class TakenForDead(Event, frozen=True, kw_only=True, tag="TakenForDead"):
    """The control plane has not heard of a node for too long."""

    node: int


class MessageLost(Event, frozen=True, kw_only=True, tag="MessageLost"):
    """A message was lost."""

    kind: str
    to: str


class MessageDoubled(Event, frozen=True, kw_only=True, tag="MessageDoubled"):
    """A message was doubled."""

    kind: str
    to: str


def ranges(blocks: np.ndarray) -> Ranges:
    """Return ordinals, in any order, as half-open ranges."""
    if not len(blocks):
        return ()
    line = np.sort(np.asarray(blocks, np.int64))
    cuts = np.flatnonzero(np.diff(line) > 1)
    starts = line[np.concatenate([[0], cuts + 1])]
    stops = line[np.concatenate([cuts, [len(line) - 1]])] + 1
    return tuple((int(start), int(stop)) for start, stop in zip(starts, stops, strict=True))


def ordinals(ranges_: Ranges) -> Iterator[int]:
    """Yield the ordinals of ranges."""
    for start, stop in ranges_:
        yield from range(start, stop)


def count(ranges_: Ranges) -> int:
    """Return the number of ordinals in ranges."""
    return sum(stop - start for start, stop in ranges_)
