"""The events that the scheduler receives and the commands that it gives. All are tuples: millions are made.

Times are whole microseconds of one clock, which the caller reads.
"""

import enum
from typing import NamedTuple, TypeAlias

from dynamic_tables.catalog.graphs import Node
from dynamic_tables.storage.frontiers import TableId


class Trigger(enum.Enum):
    """The reason for which a table is refreshed."""

    SCHEDULED = "its target lag"
    MANUAL = "a user"
    INITIAL = "its creation"


class Fault(enum.Enum):
    """The origin of a refresh failure."""

    USER = "the data or the query"  # counted as an error, and not tried again at this timestamp (R-DVS-33)
    SYSTEM = "the system"  # tried again, and not counted as an error
    # neither counted nor tried again: that table will never have this timestamp
    UPSTREAM = "a table that it reads"


class Reason(enum.Enum):
    """The reason for which a data timestamp is skipped."""

    BUSY = "the refresh before has not ended"
    PASSED = "it has a later data timestamp"
    UPSTREAM = "a table that it reads does not get this data timestamp"
    SUSPENDED = "it is suspended"
    DROPPED = "it is dropped"


# Events


class Tick(NamedTuple):
    """A timer went off; late, early and repeated ticks do no harm."""


class TableUpdate(NamedTuple):
    """The present properties of a dynamic table.

    Attributes:
        data_us: Its data timestamp; None before its first refresh.
        readable_from_us: The least data timestamp at which all base tables that it reads can be read.
        past_us: Its earlier data timestamps, which only a new scheduler needs.
        errors, cost_us: Its consecutive errors and its expected cost, which only a new scheduler needs.
    """

    node: Node
    data_us: int | None
    readable_from_us: int
    past_us: tuple[int, ...] = ()
    errors: int = 0
    cost_us: int = 0


class GraphChanged(NamedTuple):
    """One entry of the catalog's log changed these tables.

    Attributes:
        anew: True if these are all tables, sent to a scheduler that replaces one that was lost.
    """

    tables: tuple[TableUpdate, ...]
    dropped: tuple[TableId, ...] = ()
    anew: bool = False


class ManualRefresh(NamedTuple):
    """A user requests a refresh of a table as of now (R-DVS-07).

    Attributes:
        asked_us: The time on the clock of the user's node, which is after all that the user committed.
    """

    table: TableId
    asked_us: int


class Heartbeat(NamedTuple):
    """An attempt at a refresh is alive (R-DVS-37)."""

    table: TableId
    data_us: int
    attempt: int


class Finished(NamedTuple):
    """A refresh was committed; `changed` unless its action was NO_DATA."""

    table: TableId
    data_us: int
    changed: bool


class Failed(NamedTuple):
    """An attempt at a refresh failed."""

    table: TableId
    data_us: int
    attempt: int
    fault: Fault


Event: TypeAlias = Tick | GraphChanged | ManualRefresh | Heartbeat | Finished | Failed

# Commands


class StartRefresh(NamedTuple):
    """Refresh a table to a data timestamp that the tables that it reads already have.

    Attributes:
        attempt: Counts from 0; an attempt replaces the ones before it.
    """

    table: TableId
    data_us: int
    attempt: int
    trigger: Trigger


class Skip(NamedTuple):
    """Record that a scheduled timestamp is skipped (R-DVS-30, R-DVS-36)."""

    table: TableId
    data_us: int
    reason: Reason


class Fail(NamedTuple):
    """Record that a refresh that must not be skipped failed before it began (R-DVS-36)."""

    table: TableId
    data_us: int
    trigger: Trigger
    reason: Reason


class SuspendTable(NamedTuple):
    """Write to the catalog's log that a table is suspended (R-DVS-34)."""

    table: TableId
    reason: str


class ResumeTable(NamedTuple):
    """Write to the catalog's log that a table is resumed because the tables that it reads are."""

    table: TableId


class Flag(NamedTuple):
    """Report to the operators that a refresh has no heartbeat (R-DVS-37)."""

    table: TableId
    data_us: int
    silent_us: int


class Timer(NamedTuple):
    """Request a Tick at this time; it replaces the timer before."""

    at_us: int


Command: TypeAlias = StartRefresh | Skip | Fail | SuspendTable | ResumeTable | Flag | Timer
