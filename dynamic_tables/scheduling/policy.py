"""The decisions of the scheduler that are functions of one table."""

import enum
from collections.abc import Callable
from dataclasses import dataclass

from dynamic_tables.catalog.lags import initial_timestamp
from dynamic_tables.scheduling.events import Failed, Fault, Reason, Trigger
from dynamic_tables.scheduling.tracking import (
    TrackedTable,
    initial_lag_max,
    reachable,
    upstream_first,
    with_upstream,
)

# More consecutive errors of scheduled refreshes suspend a table (R-DVS-34).
ERRORS_MAX = 5
# After a system failure the next attempt follows, up to this number of attempts.
ATTEMPTS_MAX = 4
# A refresh silent for this long is reported to the operators; after twice this time it counts as lost.
SILENCE_US_MAX = 60_000_000
# The reason of suspension of a table that is suspended because of one that it reads.
FOLLOWS = "a table that it reads is suspended"


class FailureResponse(enum.Flag):
    """The response of the scheduler to a failed attempt; NONE if that attempt is not the present one."""

    NONE = 0
    RETRY = enum.auto()  # another attempt follows
    END = enum.auto()  # the table does not get the timestamp
    COUNT = enum.auto()  # the error counts toward a suspension


def obstacle(table: TrackedTable, data_us: int) -> Reason | None:
    """Return the reason why a table cannot get the timestamp of a tick; None if it can."""
    if table.jobs:
        return Reason.BUSY
    if table.data_us >= data_us:
        return Reason.PASSED
    for source in table.upstream:
        if not source.is_to_get(data_us) and not source.has(data_us):
            return Reason.UPSTREAM
    return None


def after_asking(now_us: int, asked_us: int) -> int:
    """Return a timestamp after all that a user can have committed before asking, by either clock."""
    return max(now_us, asked_us) + 1


def first_timestamp(table: TrackedTable) -> int | None:
    """Return a timestamp that the sources have and a new table may begin with; None if there is none."""
    return initial_timestamp(
        [source.timestamps() for source in table.upstream],
        created_us=table.node.created_us,
        lag_us=initial_lag_max(table.node),
        since_us=table.readable_from_us,
    )


def reset_errors(table: TrackedTable) -> None:
    """End a row of errors, after a success, also of a manual refresh (R-DVS-34)."""
    table.errors = 0


def count_error(table: TrackedTable) -> bool:
    """Count a consecutive error; return True if too many call for a suspension (R-DVS-34)."""
    table.errors += 1
    return table.errors > ERRORS_MAX and table.suspended is None


def respond_to_failure(table: TrackedTable, event: Failed) -> FailureResponse:
    """Return the response to a failure: the system's are retried, users' in scheduled refreshes counted."""
    job = table.running
    if job is None or (job.data_us, job.attempt) != (event.data_us, event.attempt):
        return FailureResponse.NONE
    if event.fault is Fault.SYSTEM and job.attempt + 1 < ATTEMPTS_MAX and not table.dropped:
        return FailureResponse.RETRY
    if event.fault is Fault.USER and job.trigger is Trigger.SCHEDULED:
        return FailureResponse.END | FailureResponse.COUNT
    return FailureResponse.END


def resumed_with(table: TrackedTable) -> list[TrackedTable]:
    """Return a table and those suspended only because of it, upstream first (R-DVS-35)."""
    resumed = {table: None}
    for other in upstream_first(reachable([table], lambda reached: reached.downstream)):
        free = all(source.suspended is None or source in resumed for source in other.upstream)
        if other.suspended == FOLLOWS and free:
            resumed[other] = None
    return list(resumed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerPolicy:
    """The decisions of a scheduler, as named functions; a mutant replaces one field.

    Attributes:
        obstacle: Returns the reason why a table is skipped at a tick.
        refreshed_with: Returns the tables to refresh when a user asks for one, upstream first.
        after_asking: Returns the data timestamp of a manual refresh.
        first_timestamp: Returns the data timestamp of a table's first refresh.
        reset_errors: Ends a row of errors after a success.
        count_error: Counts an error, and tells whether the table is suspended for it.
        respond_to_failure: Returns the response to a failed attempt of a table that is running.
        resumed_with: Returns the tables to resume when a user resumes one, upstream first.
        silence_us_max: A refresh silent for longer is reported, and for twice as long counts as lost.
    """

    obstacle: Callable[[TrackedTable, int], Reason | None] = obstacle
    refreshed_with: Callable[[TrackedTable], list[TrackedTable]] = with_upstream
    after_asking: Callable[[int, int], int] = after_asking
    first_timestamp: Callable[[TrackedTable], int | None] = first_timestamp
    reset_errors: Callable[[TrackedTable], None] = reset_errors
    count_error: Callable[[TrackedTable], bool] = count_error
    respond_to_failure: Callable[[TrackedTable, Failed], FailureResponse] = respond_to_failure
    resumed_with: Callable[[TrackedTable], list[TrackedTable]] = resumed_with
    silence_us_max: int = SILENCE_US_MAX


POLICY = SchedulerPolicy()
