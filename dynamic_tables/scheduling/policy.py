"""The decisions of the scheduler that are functions of one table."""

from collections.abc import Callable
from dataclasses import dataclass

from dynamic_tables.catalog.lags import initial_timestamp
from dynamic_tables.scheduling.events import Reason
from dynamic_tables.scheduling.tracking import TrackedTable, initial_lag_max, with_upstream

# More consecutive errors of scheduled refreshes suspend a table (R-DVS-34).
ERRORS_MAX = 5


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerPolicy:
    """The decisions of a scheduler, as named functions; a mutant replaces one field.

    Attributes:
        refreshed_with: Returns the tables to refresh when a user asks for one, upstream first.
    """

    obstacle: Callable[[TrackedTable, int], Reason | None] = obstacle
    refreshed_with: Callable[[TrackedTable], list[TrackedTable]] = with_upstream
    after_asking: Callable[[int, int], int] = after_asking
    first_timestamp: Callable[[TrackedTable], int | None] = first_timestamp
    reset_errors: Callable[[TrackedTable], None] = reset_errors
    count_error: Callable[[TrackedTable], bool] = count_error


POLICY = SchedulerPolicy()
