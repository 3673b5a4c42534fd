"""What each node did when, in spans and marks as few as a picture can show: pure functions of a run."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from sim.kernel.spans import Mark, Span, in_rows, marks, merged
from sim.kernel.trace import Event
from sim.scans.events import (
    BlocksRead,
    BoundaryMoved,
    FootersRead,
    Ignored,
    MessageDoubled,
    MessageLost,
    NodeCrashed,
    NodeStarted,
    Pruned,
    QueryBegan,
    QueryEnded,
    ReadFailed,
    ScanPlanned,
    SummaryComplete,
    SummaryKnown,
    TakenForDead,
    TaskBegan,
    TaskGivenUp,
    TaskSent,
)
from sim.scans.faults import AnyFault, Crash, Partition, Straggler
from sim.scans.run import Run

# A node, or None for the control plane.
Who: TypeAlias = int | None


class Doing(enum.Enum):
    """What takes time."""

    READING = "reads blocks"
    FOOTERS = "reads footers"
    PLANNING = "plans a scan"
    DOWN = "is down"
    SLOW = "is slow"
    PARTED = "is cut off"


class Sign(enum.Enum):
    """What happens at an instant."""

    CRASHED = "a node crashes"
    FAILED = "a read fails"
    GIVEN_UP = "a task is given up"
    LOST = "a message to it is lost"
    DOUBLED = "a message to it comes twice"
    BOUNDARY = "a boundary moves"
    SUMMARY = "the summary is complete, or known"
    DEAD = "a node is taken for dead"
    IGNORED = "a report is ignored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """All of one node, or of the control plane.

    Attributes:
        work: What its workers do.
        states: What it suffers meanwhile.
        at_once: How many things its workers did at once.
        rows: Of its work: as many, or fewer, where more have no room.
    """

    who: Who
    work: tuple[Span[Doing], ...]
    states: tuple[Span[Doing], ...]
    marks: tuple[Mark[Sign], ...]
    at_once: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a picture has room for.

    Attributes:
        lanes: Of nodes; those to which something happened come first, idle ones last.
        lanes_idle: Beyond so many, idle nodes have none.
        rows: Of a lane.
        spans, marks: Beside each other, of a row and of a kind.
    """

    lanes: int = 32
    lanes_idle: int = 16
    rows: int = 8
    spans: int = 500
    marks: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A query from its beginning to its end; None if it has none in the trace."""

    query: str
    from_us: int
    until_us: int | None
    cancelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A run from its beginning until all of note is over.

    Attributes:
        lanes: The control plane's first, then those of nodes by number.
        left_out: Nodes that no lane shows.
        troubles: Faults of no single node that begin by then, with their places in the plan.
    """

    until_us: int
    asked: tuple[Asking, ...]
    lanes: tuple[Lane, ...]
    left_out: int
    troubles: tuple[tuple[int, AnyFault], ...]


def timeline(run: Run, *, until_us: int, room: Room) -> Timeline:
    """The lanes of a run; what comes after `until_us` is left out."""
    nodes = range(run.world.warehouse.nodes)
    work: dict[Who, list[Span[Doing]]] = {who: [] for who in (None, *nodes)}
    signs: dict[Who, dict[Sign, list[int]]] = {who: defaultdict(list) for who in work}
    for event in run.trace:
        for who, span in _spans(event):
            if span.from_us <= until_us:
                work[who].append(span)
        for who, sign in _signs(event):
            if event.at_us <= until_us:
                signs[who][sign].append(event.at_us)
    states: dict[Who, list[Span[Doing]]] = {who: [] for who in work}
    for who, span in (*_downs(run.trace, until_us), *_befallen(run.faults)):
        if span.from_us <= until_us:
            states[who].append(span)
    told = {who: 2 if states[who] or signs[who] else 1 if work[who] else 0 for who in nodes}
    shown = _shown(told, room)
    return Timeline(
        until_us=until_us,
        asked=asked(run.trace),
        lanes=tuple(_lane(who, work[who], states[who], signs[who], until_us, room) for who in (None, *shown)),
        left_out=len(nodes) - len(shown),
        troubles=tuple(
            (place, fault)
            for place, fault in enumerate(run.faults)
            if not isinstance(fault, Crash | Straggler | Partition) and fault.from_us <= until_us
        ),
    )


def _lane(
    who: Who,
    work: Iterable[Span[Doing]],
    states: Sequence[Span[Doing]],
    signs: Mapping[Sign, Sequence[int]],
    until_us: int,
    room: Room,
) -> Lane:
    placed = in_rows(work)
    rows = 1 + max((span.row for span in placed), default=0)
    kept = min(rows, room.rows)
    folded = (msgspec.structs.replace(span, row=span.row * kept // rows) for span in placed)
    return Lane(
        who=who,
        work=merged(folded, closer_us=until_us // room.spans),
        states=tuple(states),
        marks=tuple(
            mark
            for sign in Sign
            for mark in marks(sign, signs.get(sign, ()), closer_us=until_us // room.marks)
        ),
        at_once=rows,
        rows=kept,
    )


def over_us(run: Run) -> int:
    """When the last query ended; if one did not, when something was last done for it."""
    ends = [event.at_us for event in run.trace if isinstance(event, QueryEnded)]
    if run.settled and ends:
        return max(ends)
    worked = (BlocksRead, FootersRead, Pruned, TaskSent, TaskBegan, QueryEnded, QueryBegan)
    return max((event.at_us for event in run.trace if isinstance(event, worked)), default=run.ended_us)


def asked(trace: Iterable[Event]) -> tuple[Asking, ...]:
    """The queries of a trace, in the order of their beginnings."""
    found: dict[str, Asking] = {}
    for event in trace:
        if isinstance(event, QueryBegan):
            found[event.query] = Asking(
                query=event.query, from_us=event.at_us, until_us=None, cancelled=False
            )
        elif isinstance(event, QueryEnded) and event.query in found:
            found[event.query] = Asking(
                query=event.query,
                from_us=found[event.query].from_us,
                until_us=event.at_us,
                cancelled=event.cancelled,
            )
    return tuple(found.values())


def _spans(event: Event) -> Iterator[tuple[Who, Span[Doing]]]:
    match event:
        case BlocksRead():
            yield event.node, Span(doing=Doing.READING, from_us=event.began_us, until_us=event.at_us)
        case FootersRead():
            yield event.node, Span(doing=Doing.FOOTERS, from_us=event.began_us, until_us=event.at_us)
        case ScanPlanned():
            began = event.at_us - event.took_us
            yield None, Span(doing=Doing.PLANNING, from_us=began, until_us=event.at_us)


def _signs(event: Event) -> Iterator[tuple[Who, Sign]]:
    match event:
        case NodeCrashed():
            yield event.node, Sign.CRASHED
        case ReadFailed():
            yield event.node, Sign.FAILED
        case TaskGivenUp():
            yield event.node, Sign.GIVEN_UP
        case MessageLost():
            yield _receiver(event.to), Sign.LOST
        case MessageDoubled():
            yield _receiver(event.to), Sign.DOUBLED
        case BoundaryMoved():
            yield event.node, Sign.BOUNDARY
        case SummaryComplete():
            yield None, Sign.SUMMARY
        case SummaryKnown():
            yield event.node, Sign.SUMMARY
        case TakenForDead():
            yield event.node, Sign.DEAD
        case Ignored():
            yield None, Sign.IGNORED


def _receiver(to: str) -> Who:
    return None if to == "control" else int(to.removeprefix("node "))


def _downs(trace: Iterable[Event], until_us: int) -> Iterator[tuple[Who, Span[Doing]]]:
    down: dict[int, int] = {}
    for event in trace:
        if isinstance(event, NodeCrashed):
            down[event.node] = event.at_us
        elif isinstance(event, NodeStarted) and event.node in down:
            yield event.node, Span(doing=Doing.DOWN, from_us=down.pop(event.node), until_us=event.at_us)
    for node, began in down.items():
        yield node, Span(doing=Doing.DOWN, from_us=began, until_us=max(until_us, began))


def _befallen(faults: Iterable[AnyFault]) -> Iterator[tuple[Who, Span[Doing]]]:
    for fault in faults:
        if isinstance(fault, Straggler | Partition):
            doing = Doing.SLOW if isinstance(fault, Straggler) else Doing.PARTED
            yield fault.node, Span(doing=doing, from_us=fault.from_us, until_us=fault.until_us)


def _shown(told: Mapping[int, int], room: Room) -> list[int]:
    """The nodes that have a lane; of each, how much is told: 0 of one that is idle."""
    busy = sum(much > 0 for much in told.values())
    first = sorted(told, key=lambda node: (-told[node], node))
    return sorted(first[: min(room.lanes, max(room.lanes_idle, busy))])
