"""The log of events of a warehouse, from which a new driver learns costs and errors."""

import enum
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.warehouse.database import Database


class EventKind(enum.Enum):
    """The kind of an event."""

    WRITTEN = "written"
    READ = "read"
    REFRESHED = "refreshed"
    FAILED = "failed"
    SKIPPED = "skipped"
    SILENT = "silent"
    UNREADABLE = "unreadable"
    PUBLISHED = "published"
    NOT_COMPACTED = "not compacted"
    LEARNT = "learnt"
    DRIVER = "driver"


class LoggedEvent(NamedTuple):
    """One event.

    Attributes:
        number: Events are numbered in their order.
        identity: The table; empty for an event of no table.
        body: Its details.
    """

    number: int
    at_us: int
    identity: TableId
    kind: EventKind
    body: Mapping[str, Any]


class EventLog:
    """The events of a warehouse, in the order of the transactions that wrote them."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, identity: TableId, kind: EventKind, *, at_us: int, **body: Any) -> None:
        """Add an event, in the present transaction or in one of its own."""
        with self.database.transaction():
            self.database.run(
                "INSERT INTO events (at_us, identity, kind, body) VALUES (?, ?, ?, ?)",
                at_us,
                identity,
                kind.value,
                json.dumps(body),
            )

    def newest(self) -> int:
        """Return the number of the newest event; 0 before the first."""
        ((number,),) = self.database.rows("SELECT max(number) FROM events")
        return number or 0

    def read(self, identity: TableId | None = None, *, after: int = 0, limit: int = -1) -> list[LoggedEvent]:
        """Return events, newest first.

        Args:
            identity: The table; None: all events.
            after: The number of the last event that is not wanted.
            limit: The most events; -1: all.
        """
        query = "SELECT number, at_us, identity, kind, body FROM events WHERE number > ?"
        values: list[Any] = [after]
        if identity is not None:
            query += " AND identity = ?"
            values.append(identity)
        rows = self.database.rows(f"{query} ORDER BY number DESC LIMIT ?", *values, limit)
        return [logged_event(*row) for row in rows]

    def newest_of(self, identity: TableId, kind: EventKind) -> LoggedEvent | None:
        """Return the newest event of one kind of a table; None if there is none."""
        rows = self.database.rows(
            "SELECT number, at_us, identity, kind, body FROM events WHERE identity = ? AND kind = ? "
            "ORDER BY number DESC LIMIT 1",
            identity,
            kind.value,
        )
        return logged_event(*rows[0]) if rows else None

    def newest_change(self, identity: TableId) -> LoggedEvent | None:
        """Return the newest refresh of a table that changed it; None if there is none."""
        rows = self.database.rows(
            "SELECT number, at_us, identity, kind, body FROM events WHERE identity = ? AND kind = ? "
            "AND json_extract(body, '$.action') != 'NO_DATA' ORDER BY number DESC LIMIT 1",
            identity,
            EventKind.REFRESHED.value,
        )
        return logged_event(*rows[0]) if rows else None


def logged_event(number: int, at_us: int, identity: TableId, kind: str, body: str) -> LoggedEvent:
    """Return the event of a row of the catalog."""
    return LoggedEvent(number, at_us, identity, EventKind(kind), json.loads(body))
