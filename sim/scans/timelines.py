"""The work of each node over time, as spans and marks, as few as a picture can show; pure functions."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from sim.kernel.spans import Mark, Span, assign_rows, marks, merge_spans
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
from sim.scans.run import ScanRun

# A node, or None for the control plane.
Who: TypeAlias = int | None


class Doing(enum.Enum):
    """An activity or state that lasts."""

    READING = "reads blocks"
    FOOTERS = "reads footers"
    PLANNING = "plans a scan"
    DOWN = "is down"
    SLOW = "is slow"
    PARTED = "is cut off"


class ScanSign(enum.Enum):
    """Something noteworthy that happens at an instant."""

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
    """The timeline of one node, or of the control plane.

    Attributes:
        work: The work of its workers.
        states: Faults that affect it meanwhile.
        at_once: The most simultaneous work.
        rows: The number of rows of its work: `at_once`, or fewer if a lane has no room for more.
    """

    who: Who
    work: tuple[Span[Doing], ...]
    states: tuple[Span[Doing], ...]
    marks: tuple[Mark[ScanSign], ...]
    at_once: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTimelineLimits:
    """The limits of a picture.

    Attributes:
        lanes: Of nodes; those with noteworthy events come first, idle ones last.
        lanes_idle: Idle nodes have lanes only up to this number of lanes.
        rows: Of a lane.
        spans, marks: The number that fits beside each other, of a row and of a kind.
    """

    lanes: int = 32
    lanes_idle: int = 16
    rows: int = 8
    spans: int = 500
    marks: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySpan:
    """The span of a query; `until_us` is None if the trace has no end of it."""

    query: str
    from_us: int
    until_us: int | None
    cancelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTimeline:
    """The timeline of a run until its last noteworthy event.

    Attributes:
        lanes: The control plane's first, then those of nodes by number.
        left_out: The number of nodes that no lane shows.
        troubles: Faults of no single node that begin in this time, with their places in the plan.
    """

    until_us: int
    queries: tuple[QuerySpan, ...]
    lanes: tuple[Lane, ...]
    left_out: int
    troubles: tuple[tuple[int, AnyFault], ...]


def timeline(run: ScanRun, *, until_us: int, room: ScanTimelineLimits) -> ScanTimeline:
    """Return the lanes of a run; events after `until_us` are left out."""
    nodes = range(run.world.warehouse.nodes)
    work: dict[Who, list[Span[Doing]]] = {who: [] for who in (None, *nodes)}
    signs: dict[Who, dict[ScanSign, list[int]]] = {who: defaultdict(list) for who in work}
    for event in run.trace:
        for who, span in _spans(event):
            if span.from_us <= until_us:
                work[who].append(span)
        for who, sign in _signs(event):
            if event.at_us <= until_us:
                signs[who][sign].append(event.at_us)
    states: dict[Who, list[Span[Doing]]] = {who: [] for who in work}
    for who, span in (*_down_spans(run.trace, until_us), *_fault_spans(run.faults)):
        if span.from_us <= until_us:
            states[who].append(span)
    interest = {who: 2 if states[who] or signs[who] else 1 if work[who] else 0 for who in nodes}
    shown_nodes = _nodes_with_lane(interest, room)
    return ScanTimeline(
        until_us=until_us,
        queries=query_spans(run.trace),
        lanes=tuple(
            _lane(who, work[who], states[who], signs[who], until_us, room) for who in (None, *shown_nodes)
        ),
        left_out=len(nodes) - len(shown_nodes),
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
    signs: Mapping[ScanSign, Sequence[int]],
    until_us: int,
    room: ScanTimelineLimits,
) -> Lane:
    placed = assign_rows(work)
    rows = 1 + max((span.row for span in placed), default=0)
    kept = min(rows, room.rows)
    folded = (msgspec.structs.replace(span, row=span.row * kept // rows) for span in placed)
    return Lane(
        who=who,
        work=merge_spans(folded, closer_us=until_us // room.spans),
        states=tuple(states),
        marks=tuple(
            mark
            for sign in ScanSign
            for mark in marks(sign, signs.get(sign, ()), closer_us=until_us // room.marks)
        ),
        at_once=rows,
        rows=kept,
    )


def over_us(run: ScanRun) -> int:
    """Return when the last query ended; if one did not end, when work was last done for it."""
    ends = [event.at_us for event in run.trace if isinstance(event, QueryEnded)]
    if run.settled and ends:
        return max(ends)
    worked = (BlocksRead, FootersRead, Pruned, TaskSent, TaskBegan, QueryEnded, QueryBegan)
    return max((event.at_us for event in run.trace if isinstance(event, worked)), default=run.ended_us)


def query_spans(trace: Iterable[Event]) -> tuple[QuerySpan, ...]:
    """Return the spans of a trace's queries, in the order of their beginnings."""
    spans: dict[str, QuerySpan] = {}
    for event in trace:
        if isinstance(event, QueryBegan):
            spans[event.query] = QuerySpan(
                query=event.query, from_us=event.at_us, until_us=None, cancelled=False
            )
        elif isinstance(event, QueryEnded) and event.query in spans:
            spans[event.query] = QuerySpan(
                query=event.query,
                from_us=spans[event.query].from_us,
                until_us=event.at_us,
                cancelled=event.cancelled,
            )
    return tuple(spans.values())


def _spans(event: Event) -> Iterator[tuple[Who, Span[Doing]]]:
    match event:
        case BlocksRead():
            yield event.node, Span(doing=Doing.READING, from_us=event.began_us, until_us=event.at_us)
        case FootersRead():
            yield event.node, Span(doing=Doing.FOOTERS, from_us=event.began_us, until_us=event.at_us)
        case ScanPlanned():
            began = event.at_us - event.took_us
            yield None, Span(doing=Doing.PLANNING, from_us=began, until_us=event.at_us)


def _signs(event: Event) -> Iterator[tuple[Who, ScanSign]]:
    match event:
        case NodeCrashed():
            yield event.node, ScanSign.CRASHED
        case ReadFailed():
            yield event.node, ScanSign.FAILED
        case TaskGivenUp():
            yield event.node, ScanSign.GIVEN_UP
        case MessageLost():
            yield _receiver(event.to), ScanSign.LOST
        case MessageDoubled():
            yield _receiver(event.to), ScanSign.DOUBLED
        case BoundaryMoved():
            yield event.node, ScanSign.BOUNDARY
        case SummaryComplete():
            yield None, ScanSign.SUMMARY
        case SummaryKnown():
            yield event.node, ScanSign.SUMMARY
        case TakenForDead():
            yield event.node, ScanSign.DEAD
        case Ignored():
            yield None, ScanSign.IGNORED


def _receiver(to: str) -> Who:
    return None if to == "control" else int(to.removeprefix("node "))


def _down_spans(trace: Iterable[Event], until_us: int) -> Iterator[tuple[Who, Span[Doing]]]:
    down: dict[int, int] = {}
    for event in trace:
        if isinstance(event, NodeCrashed):
            down[event.node] = event.at_us
        elif isinstance(event, NodeStarted) and event.node in down:
            yield event.node, Span(doing=Doing.DOWN, from_us=down.pop(event.node), until_us=event.at_us)
    for node, began in down.items():
        yield node, Span(doing=Doing.DOWN, from_us=began, until_us=max(until_us, began))


def _fault_spans(faults: Iterable[AnyFault]) -> Iterator[tuple[Who, Span[Doing]]]:
    for fault in faults:
        if isinstance(fault, Straggler | Partition):
            doing = Doing.SLOW if isinstance(fault, Straggler) else Doing.PARTED
            yield fault.node, Span(doing=doing, from_us=fault.from_us, until_us=fault.until_us)


def _nodes_with_lane(interest: Mapping[int, int], room: ScanTimelineLimits) -> list[int]:
    """Return the nodes that have a lane; the interest of an idle node is 0."""
    busy = sum(much > 0 for much in interest.values())
    first = sorted(interest, key=lambda node: (-interest[node], node))
    return sorted(first[: min(room.lanes, max(room.lanes_idle, busy))])
