"""What the scheduler is told, and what it orders. All are tuples, because millions are made.

Times are whole microseconds of one clock, which the caller reads.
"""

import enum
from typing import NamedTuple, TypeAlias

from dynamic_tables.catalog.graphs import Node
from dynamic_tables.storage.frontiers import TableId


class Trigger(enum.Enum):
    """Why a table is refreshed."""

    SCHEDULED = "its target lag"
    MANUAL = "a user"
    INITIAL = "its creation"


class Fault(enum.Enum):
    """Whose fault it is that a refresh failed."""

    USER = "the data or the query"  # counted, and not tried again at this timestamp (R-DVS-33)
    SYSTEM = "the system"  # tried again, and not counted
    UPSTREAM = "a table that it reads"  # which has no such timestamp after all: neither


class Reason(enum.Enum):
    """Why a timestamp is passed over."""

    BUSY = "the refresh before has not ended"
    PASSED = "it has a later data timestamp"
    UPSTREAM = "a table that it reads does not get this data timestamp"
    SUSPENDED = "it is suspended"
    DROPPED = "it is dropped"


# Events


class Tick(NamedTuple):
    """A timer went off; late, early and repeated ones do no harm."""


class Known(NamedTuple):
    """A dynamic table as it is now.

    Attributes:
        data_us: Its data timestamp; None before its first refresh.
        readable_from_us: The least data timestamp at which all base tables that it reads can be read.
        past_us: Data timestamps that it had before; told to a scheduler that starts anew.
    """

    node: Node
    data_us: int | None
    readable_from_us: int
    past_us: tuple[int, ...] = ()


class GraphChanged(NamedTuple):
    """An entry of the catalog's log changed these tables; in one event, what one entry did.

    Attributes:
        anew: Whether these are all tables, told to a scheduler that takes the place of one that was lost.
    """

    tables: tuple[Known, ...]
    dropped: tuple[TableId, ...] = ()
    anew: bool = False


class ManualRefresh(NamedTuple):
    """A user asks for a table as of now (R-DVS-07).

    Attributes:
        asked_us: When, by the clock of the node that the user is on, which is after all that it committed.
    """

    table: TableId
    asked_us: int


class Heartbeat(NamedTuple):
    """An attempt is alive (R-DVS-37)."""

    table: TableId
    data_us: int
    attempt: int


class Finished(NamedTuple):
    """A refresh is committed; `changed` unless its action was NO_DATA."""

    table: TableId
    data_us: int
    changed: bool


class Failed(NamedTuple):
    """An attempt failed."""

    table: TableId
    data_us: int
    attempt: int
    fault: Fault


Event: TypeAlias = Tick | GraphChanged | ManualRefresh | Heartbeat | Finished | Failed

# Commands


class StartRefresh(NamedTuple):
    """Refresh a table to a data timestamp; the tables that it reads have it.

    Attributes:
        attempt: From 0; another attempt takes the place of the ones before.
    """

    table: TableId
    data_us: int
    attempt: int
    trigger: Trigger


class Skip(NamedTuple):
    """Record that a scheduled timestamp is passed over (R-DVS-30, R-DVS-36)."""

    table: TableId
    data_us: int
    reason: Reason


class Fail(NamedTuple):
    """Record that a refresh which nothing may skip failed before it began (R-DVS-36)."""

    table: TableId
    data_us: int
    trigger: Trigger
    reason: Reason


class Suspend(NamedTuple):
    """Write to the catalog's log that a table is suspended (R-DVS-34)."""

    table: TableId
    reason: str


class Resume(NamedTuple):
    """Write to the catalog's log that a table is resumed, because what it reads is."""

    table: TableId


class Flag(NamedTuple):
    """Tell the operators that a refresh has no heartbeat (R-DVS-37)."""

    table: TableId
    data_us: int
    silent_us: int


class Timer(NamedTuple):
    """Send a Tick at this time; it takes the place of the timer before."""

    at_us: int


Command: TypeAlias = StartRefresh | Skip | Fail | Suspend | Resume | Flag | Timer
