"""What a refresh does, step by step: planned, computed, committed; and how it fails."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dynamic_tables.scheduling.events import Fault
from dynamic_tables.storage.frontiers import Consumed, Dependencies, Frontier, TableId
from dynamic_tables.values.changes import Delta


class RefreshAction(enum.Enum):
    """What a refresh does (R-DVS-23 to 25)."""

    NO_DATA = "NO_DATA"  # no source changed: only the data timestamp moves
    FULL = "FULL"  # everything is computed and overwritten
    INCREMENTAL = "INCREMENTAL"  # changes are computed and merged
    REINITIALIZE = "REINITIALIZE"  # as FULL, for later changes to build on


class Cause(enum.Enum):
    """Why this action."""

    UNCHANGED = "no source changed"
    FIRST = "it has no contents yet"
    MODE = "its mode is FULL"
    CHANGED = "a source changed"
    EVOLVED = "what it is computed from, or how, is another"
    PURGED = "changes since the last refresh are not retained"


class RefreshFailed(Exception):
    """A refresh ends without its timestamp, and leaves nothing behind.

    Attributes:
        fault: Whose fault it is.
    """

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class ValidationFailed(RefreshFailed):
    """One of the three validations that production has found a fault of ours (R-DVS-82, R-DVS-92).

    Attributes:
        validation: 1 a source has no version for the timestamp, 2 an id is repeated in a delta, 3 a row
            is deleted that does not exist; 4, which is ours, a row is inserted that exists.
    """

    def __init__(self, validation: int, fault: Fault, message: str) -> None:
        super().__init__(fault, message)
        self.validation = validation


class AlreadyRefreshed(Exception):
    """The table has this timestamp already: the order came twice, or an attempt was taken for lost."""


class Plan(NamedTuple):
    """A refresh that has begun.

    Attributes:
        base: The frontier that it starts from; None before the first refresh.
        versions: What it reads of each source.
        changed_count: How many rows of sources changed, by metadata.
    """

    table: TableId
    data_us: int
    action: RefreshAction
    cause: Cause
    dependencies: Dependencies
    base: Frontier | None
    versions: Mapping[TableId, Consumed]
    changed_count: int
    began_us: int


class Staged(NamedTuple):
    """A refresh that is computed, and not committed: nobody sees it."""

    plan: Plan
    changes: Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """One refresh in the log (R-DVS-26)."""

    table: TableId
    data_us: int
    action: RefreshAction
    cause: Cause
    inserted_count: int
    deleted_count: int
    began_us: int
    ended_us: int
