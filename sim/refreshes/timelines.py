"""What became of each refresh when, as few spans and marks as a picture shows: pure functions of a run."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.refreshes.actions import RefreshAction
from dynamic_tables.storage.frontiers import TableId
from sim.kernel.spans import Mark, Span, marks, merged
from sim.kernel.trace import Event
from sim.refreshes.events import (
    Began,
    Committed,
    CommittedAlready,
    Died,
    Executed,
    Failed,
    Flagged,
    NotStarted,
    Skipped,
)
from sim.refreshes.faults import AnyFault
from sim.refreshes.graphs import in_order
from sim.refreshes.naming import named
from sim.refreshes.recording import Stated
from sim.refreshes.run import Run

Attempt: TypeAlias = tuple[TableId, int, int]


class Standing(enum.Enum):
    """What lasts, and hinders refreshes."""

    SUSPENDED = "suspended"
    GONE = "dropped"


class Sign(enum.Enum):
    """What happens to a table at an instant."""

    FAILED_USER = "its query fails"
    FAILED = "a refresh fails otherwise"
    DIED = "its worker dies"
    SKIPPED = "a tick is skipped"
    NOT_STARTED = "a refresh is not started"
    FLAGGED = "nothing is heard of a refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a picture has room for.

    Attributes:
        rows: Of tables; those to which something of note happened come first, idle ones last.
        spans, marks: Beside each other, of an action and of a kind.
    """

    rows: int = 30
    spans: int = 350
    marks: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All of one dynamic table.

    Attributes:
        work: Its refreshes, from where their actions are known until they are committed or fail.
    """

    table: TableId
    name: str
    work: tuple[Span[RefreshAction], ...]
    states: tuple[Span[Standing], ...]
    marks: tuple[Mark[Sign], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A statement, and how many were before it."""

    place: int
    at_us: int
    sql: str
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A run of dynamic tables.

    Attributes:
        rows: Those that are read before who reads them.
        left_out: Dynamic tables that no row shows.
        troubles: Faults, with their places in the plan.
        actions: How many refreshes were committed, by action.
    """

    until_us: int
    rows: tuple[Row, ...]
    left_out: int
    said: tuple[Said, ...]
    troubles: tuple[tuple[int, AnyFault], ...]
    actions: Mapping[RefreshAction, int]


def timeline(run: Run, *, room: Room) -> Timeline:
    """The rows of a run, from its beginning to its end."""
    until_us = run.ended_us
    names = named(run)
    order = _in_order(run.record.states)
    work: dict[TableId, list[Span[RefreshAction]]] = defaultdict(list)
    for table, span in spans(run.trace, until_us=until_us):
        work[table].append(span)
    signs: dict[TableId, dict[Sign, list[int]]] = {table: defaultdict(list) for table in order}
    for event in run.trace:
        for table, sign in _signs(event):
            if table in signs:
                signs[table][sign].append(event.at_us)
    states = _standings(run.record.states, until_us)
    noted = {table: 2 if signs[table] or states.get(table) else 1 if work[table] else 0 for table in order}
    shown = set(sorted(order, key=lambda table: -noted[table])[: room.rows])
    actions = [RefreshAction(event.action) for event in run.trace if isinstance(event, Committed)]
    return Timeline(
        until_us=until_us,
        rows=tuple(
            Row(
                table=table,
                name=names[table],
                work=merged(work[table], closer_us=until_us // room.spans),
                states=tuple(states.get(table, ())),
                marks=_marks(signs[table], until_us // room.marks),
            )
            for table in order
            if table in shown
        ),
        left_out=len(order) - len(shown),
        said=said(run.trace),
        troubles=tuple(enumerate(run.faults)),
        actions={action: actions.count(action) for action in RefreshAction},
    )


def _marks(signs: Mapping[Sign, Sequence[int]], closer_us: int) -> tuple[Mark[Sign], ...]:
    return tuple(mark for sign in Sign for mark in marks(sign, signs.get(sign, ()), closer_us=closer_us))


def spans(trace: Iterable[Event], *, until_us: int) -> Iterator[tuple[TableId, Span[RefreshAction]]]:
    """Each refresh from when its action was known until it ended; at the latest until then.

    One that was ordered twice may run twice at once; the first to end is taken for the first to have begun.
    """
    running: dict[Attempt, list[Began]] = defaultdict(list)
    for event in trace:
        match event:
            case Began():
                running[event.table, event.data_us, event.attempt].append(event)
            case Committed() | CommittedAlready() | Failed() | Died():
                begun = running.get((event.table, event.data_us, event.attempt))
                if begun:
                    yield _span(begun.pop(0), event.at_us)
    for begun in running.values():
        for one in begun:
            yield _span(one, until_us)


def _span(began: Began, until_us: int) -> tuple[TableId, Span[RefreshAction]]:
    doing = RefreshAction(began.action)
    return began.table, Span(doing=doing, from_us=began.at_us, until_us=until_us)


def said(trace: Iterable[Event]) -> tuple[Said, ...]:
    """The statements of a trace."""
    executed = (event for event in trace if isinstance(event, Executed))
    return tuple(
        Said(place=place, at_us=event.at_us, sql=event.sql, refused=event.refused)
        for place, event in enumerate(executed)
    )


def _signs(event: Event) -> Iterator[tuple[TableId, Sign]]:
    match event:
        case Failed():
            yield event.table, Sign.FAILED_USER if event.fault == "user" else Sign.FAILED
        case Died():
            yield event.table, Sign.DIED
        case Skipped():
            yield event.table, Sign.SKIPPED
        case NotStarted():
            yield event.table, Sign.NOT_STARTED
        case Flagged():
            yield event.table, Sign.FLAGGED


def _in_order(states: Sequence[Stated]) -> list[TableId]:
    """All dynamic tables that ever were: first those of the end, what is read before who reads it."""
    last = states[-1].state if states else State()
    there = [table for table in in_order(last) if last.entities[table].kind is EntityKind.DYNAMIC_TABLE]
    ever = {one.identity: None for stated in states for one in stated.state.dynamic_tables()}
    return [*there, *(table for table in ever if table not in last.entities)]


def _standings(states: Sequence[Stated], until_us: int) -> dict[TableId, list[Span[Standing]]]:
    """What hindered each dynamic table, and how long."""
    since: dict[TableId, tuple[int, Standing]] = {}
    found: dict[TableId, list[Span[Standing]]] = defaultdict(list)
    known: set[TableId] = set()

    def closes(table: TableId, at_us: int) -> None:
        began_us, standing = since.pop(table)
        found[table].append(Span(doing=standing, from_us=began_us, until_us=at_us))

    for stated in states:
        there = {one.identity: one for one in stated.state.dynamic_tables()}
        known |= there.keys()
        for table in sorted(known):
            standing = _standing(there.get(table))
            old = since.get(table)
            if old is not None and old[1] is not standing:
                closes(table, stated.at_us)
            if standing is not None and (old is None or old[1] is not standing):
                since[table] = (stated.at_us, standing)
    for table in list(since):
        closes(table, until_us)
    return found


def _standing(entity: Entity | None) -> Standing | None:
    if entity is None:
        return Standing.GONE
    return None if entity.suspended is None else Standing.SUSPENDED
