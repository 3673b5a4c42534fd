"""The actions, steps and failures of a refresh."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dynamic_tables.scheduling.events import Fault
from dynamic_tables.storage.frontiers import Dependencies, Frontier, SourceVersion, TableId
from dynamic_tables.storage.staging import StagedChanges


class RefreshAction(enum.Enum):
    """The action of a refresh (R-DVS-23 to 25)."""

    NO_DATA = "NO_DATA"  # no source changed: only the data timestamp moves
    FULL = "FULL"  # the whole result is computed and overwritten
    INCREMENTAL = "INCREMENTAL"  # changes are computed and merged
    REINITIALIZE = "REINITIALIZE"  # like FULL, as the base of later incremental refreshes


class Cause(enum.Enum):
    """The reason for the chosen action."""

    UNCHANGED = "no source changed"
    FIRST = "it has no contents yet"
    MODE = "its mode is FULL"
    CHANGED = "a source changed"
    EVOLVED = "what it is computed from, or how, is another"
    PURGED = "changes since the last refresh are not retained"
    TIME = "its query asks for the time"
    CHEAPER = "so much changed that the whole result costs less"


class RefreshFailed(Exception):
    """A refresh ended without its timestamp, and left nothing behind.

    Attributes:
        fault: The origin of the failure.
    """

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class ValidationFailed(RefreshFailed):
    """One of the validations used in production failed: a defect of the code (R-DVS-82, R-DVS-92).

    Attributes:
        validation: 1 a source has no version for the timestamp, 2 an id is repeated in a delta, 3 a row is
            deleted that does not exist; 4, which [D] does not have, a row is inserted that exists.
    """

    def __init__(self, validation: int, fault: Fault, message: str) -> None:
        super().__init__(fault, message)
        self.validation = validation


class AlreadyRefreshed(Exception):
    """The table has this timestamp already: a repeated command, or an attempt wrongly taken for lost."""


class RefreshPlan(NamedTuple):
    """A refresh that has begun.

    Attributes:
        base: The frontier from which it starts; None before the first refresh.
        versions: The version that it reads of each source.
        changed_count: The number of changed rows of the sources, by metadata.
    """

    table: TableId
    data_us: int
    action: RefreshAction
    cause: Cause
    dependencies: Dependencies
    base: Frontier | None
    versions: Mapping[TableId, SourceVersion]
    changed_count: int
    began_us: int


class StagedRefresh(NamedTuple):
    """A refresh that is computed but not committed: no reader sees it."""

    plan: RefreshPlan
    changes: StagedChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRecord:
    """The log record of one committed refresh (R-DVS-26)."""

    table: TableId
    data_us: int
    action: RefreshAction
    cause: Cause
    inserted_count: int
    deleted_count: int
    began_us: int
    ended_us: int
