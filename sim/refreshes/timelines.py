"""The refreshes of a run as spans and marks, as few as a picture can show; pure functions."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.refreshes.actions import RefreshAction
from dynamic_tables.storage.frontiers import TableId
from sim.kernel.spans import Mark, Span, marks, merge_spans
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
from sim.refreshes.graphs import topological_order
from sim.refreshes.naming import display_names
from sim.refreshes.recording import CatalogState
from sim.refreshes.run import RefreshRun

Attempt: TypeAlias = tuple[TableId, int, int]


class Hindrance(enum.Enum):
    """A lasting state that keeps a table from being refreshed."""

    SUSPENDED = "suspended"
    GONE = "dropped"


class RefreshSign(enum.Enum):
    """Something noteworthy that happens to a table at an instant."""

    FAILED_USER = "its query fails"
    FAILED = "a refresh fails otherwise"
    DIED = "its worker dies"
    SKIPPED = "a tick is skipped"
    NOT_STARTED = "a refresh is not started"
    FLAGGED = "nothing is heard of a refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTimelineLimits:
    """The limits of a picture.

    Attributes:
        rows: Tables; those with noteworthy events come first, idle ones last.
        spans, marks: The number that fits beside each other, for each action and kind.
    """

    rows: int = 30
    spans: int = 350
    marks: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """The row of one dynamic table.

    Attributes:
        work: Its refreshes, from the choice of their actions until they are committed or fail.
    """

    table: TableId
    name: str
    work: tuple[Span[RefreshAction], ...]
    states: tuple[Span[Hindrance], ...]
    marks: tuple[Mark[RefreshSign], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedStatement:
    """A statement, with the number of statements before it."""

    place: int
    at_us: int
    sql: str
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTimeline:
    """The timeline of a run of dynamic tables.

    Attributes:
        rows: Tables come before their readers.
        left_out: The number of dynamic tables that no row shows.
        troubles: Faults, with their places in the plan.
        actions: The number of committed refreshes, by action.
    """

    until_us: int
    rows: tuple[TimelineRow, ...]
    left_out: int
    said: tuple[ExecutedStatement, ...]
    troubles: tuple[tuple[int, AnyFault], ...]
    actions: Mapping[RefreshAction, int]


def timeline(run: RefreshRun, *, room: RefreshTimelineLimits) -> RefreshTimeline:
    """Return the rows of a run, from its beginning to its end."""
    until_us = run.ended_us
    names = display_names(run)
    order = _tables_in_order(run.record.states)
    work: dict[TableId, list[Span[RefreshAction]]] = defaultdict(list)
    for table, span in spans(run.trace, until_us=until_us):
        work[table].append(span)
    signs: dict[TableId, dict[RefreshSign, list[int]]] = {table: defaultdict(list) for table in order}
    for event in run.trace:
        for table, sign in _signs(event):
            if table in signs:
                signs[table][sign].append(event.at_us)
    states = _hindrances(run.record.states, until_us)
    noted = {table: 2 if signs[table] or states.get(table) else 1 if work[table] else 0 for table in order}
    shown_tables = set(sorted(order, key=lambda table: -noted[table])[: room.rows])
    actions = [RefreshAction(event.action) for event in run.trace if isinstance(event, Committed)]
    return RefreshTimeline(
        until_us=until_us,
        rows=tuple(
            TimelineRow(
                table=table,
                name=names[table],
                work=merge_spans(work[table], closer_us=until_us // room.spans),
                states=tuple(states.get(table, ())),
                marks=_marks(signs[table], until_us // room.marks),
            )
            for table in order
            if table in shown_tables
        ),
        left_out=len(order) - len(shown_tables),
        said=executed_statements(run.trace),
        troubles=tuple(enumerate(run.faults)),
        actions={action: actions.count(action) for action in RefreshAction},
    )


def _marks(signs: Mapping[RefreshSign, Sequence[int]], closer_us: int) -> tuple[Mark[RefreshSign], ...]:
    return tuple(
        mark for sign in RefreshSign for mark in marks(sign, signs.get(sign, ()), closer_us=closer_us)
    )


def spans(trace: Iterable[Event], *, until_us: int) -> Iterator[tuple[TableId, Span[RefreshAction]]]:
    """Yield each refresh from the choice of its action until it ended; at the latest until `until_us`.

    A refresh that was ordered twice may run twice at once; the first end is matched with the first beginning.
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
        for began in begun:
            yield _span(began, until_us)


def _span(began: Began, until_us: int) -> tuple[TableId, Span[RefreshAction]]:
    doing = RefreshAction(began.action)
    return began.table, Span(doing=doing, from_us=began.at_us, until_us=until_us)


def executed_statements(trace: Iterable[Event]) -> tuple[ExecutedStatement, ...]:
    """Return the executed statements of a trace."""
    executed = (event for event in trace if isinstance(event, Executed))
    return tuple(
        ExecutedStatement(place=place, at_us=event.at_us, sql=event.sql, refused=event.refused)
        for place, event in enumerate(executed)
    )


def _signs(event: Event) -> Iterator[tuple[TableId, RefreshSign]]:
    match event:
        case Failed():
            yield event.table, RefreshSign.FAILED_USER if event.fault == "user" else RefreshSign.FAILED
        case Died():
            yield event.table, RefreshSign.DIED
        case Skipped():
            yield event.table, RefreshSign.SKIPPED
        case NotStarted():
            yield event.table, RefreshSign.NOT_STARTED
        case Flagged():
            yield event.table, RefreshSign.FLAGGED


def _tables_in_order(states: Sequence[CatalogState]) -> list[TableId]:
    """Return all dynamic tables that ever existed: first those of the end, sources before readers."""
    last = states[-1].state if states else State()
    there = [
        table for table in topological_order(last) if last.entities[table].kind is EntityKind.DYNAMIC_TABLE
    ]
    ever = {table.identity: None for stated in states for table in stated.state.dynamic_tables()}
    return [*there, *(table for table in ever if table not in last.entities)]


def _hindrances(states: Sequence[CatalogState], until_us: int) -> dict[TableId, list[Span[Hindrance]]]:
    """Return what kept each dynamic table from being refreshed, and when."""
    since: dict[TableId, tuple[int, Hindrance]] = {}
    hindrances: dict[TableId, list[Span[Hindrance]]] = defaultdict(list)
    tables_so_far: set[TableId] = set()

    def close(table: TableId, at_us: int) -> None:
        began_us, standing = since.pop(table)
        hindrances[table].append(Span(doing=standing, from_us=began_us, until_us=at_us))

    for stated in states:
        there = {entity.identity: entity for entity in stated.state.dynamic_tables()}
        tables_so_far |= there.keys()
        for table in sorted(tables_so_far):
            standing = _hindrance(there.get(table))
            old = since.get(table)
            if old is not None and old[1] is not standing:
                close(table, stated.at_us)
            if standing is not None and (old is None or old[1] is not standing):
                since[table] = (stated.at_us, standing)
    for table in list(since):
        close(table, until_us)
    return hindrances


def _hindrance(entity: Entity | None) -> Hindrance | None:
    if entity is None:
        return Hindrance.GONE
    return None if entity.suspended is None else Hindrance.SUSPENDED
