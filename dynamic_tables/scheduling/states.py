"""The state that each dynamic table should be in, which can be computed at any moment (R-DVS-37).

It follows from the catalog, which is a log, and from the scheduler's records, which follow from the events
that it received.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from dynamic_tables.catalog.ddl import Name, Privilege, Role
from dynamic_tables.catalog.entities import EntityKind, State, require
from dynamic_tables.catalog.graphs import Node, node_of
from dynamic_tables.catalog.lags import below_upstream
from dynamic_tables.scheduling.policy import SILENCE_US_MAX
from dynamic_tables.scheduling.tracking import Status
from dynamic_tables.storage.frontiers import TableId
from pruning.errors import InputError


class Condition(enum.Enum):
    """The activity of a dynamic table; the first that applies."""

    UNKNOWN = "the scheduler has not heard of it yet"
    SILENT = "it is refreshed, without a heartbeat"
    INITIALIZING = "its first refresh runs"
    EXECUTING = "it is refreshed"
    SUSPENDED = "it is suspended"
    UPSTREAM_MISSING = "a name that it reads leads nowhere"
    SCHEDULED = "its next refresh waits for tables that it reads, or for another attempt"
    FAILED = "its last refreshes failed"
    UNINITIALIZED = "it has no contents yet"
    UNSCHEDULED = "nobody with a target lag reads it"
    IDLE = "its next tick will come"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The state of a dynamic table at one moment.

    Attributes:
        data_us: Its data timestamp; None before the first refresh.
        lag_us: Its present lag; None before the first refresh.
        target_us: The data timestamp that it will get next; None if none is planned.
        suspended: The reason of a suspension; None if it is not suspended.
        missing: The names that it reads and that do not exist.
    """

    table: TableId
    condition: Condition
    data_us: int | None
    lag_us: int | None
    target_us: int | None
    attempt: int
    errors: int
    suspended: str | None
    missing: tuple[Name, ...]


def table_state(node: Node, status: Status | None, *, now_us: int) -> TableState:
    """Return the state of a table, from the catalog's node and the scheduler's record."""
    data_us = status.data_us if status else None
    return TableState(
        table=node.table,
        condition=condition(node, status, now_us=now_us),
        data_us=data_us,
        lag_us=None if data_us is None else now_us - data_us,
        target_us=status.target_us if status else None,
        attempt=status.attempt if status else 0,
        errors=status.errors if status else 0,
        suspended=status.suspended if status else node.suspended,
        missing=node.missing,
    )


def condition(node: Node, status: Status | None, *, now_us: int) -> Condition:
    """Return the first condition that applies to a table."""
    if status is None:
        return Condition.UNKNOWN
    if status.started_us is not None:
        return executing_condition(status, now_us=now_us)
    if status.suspended is not None:
        return Condition.SUSPENDED
    if node.missing:
        return Condition.UPSTREAM_MISSING
    if status.target_us is not None:
        return Condition.SCHEDULED
    if status.errors > 0:
        return Condition.FAILED
    if status.data_us is None:
        return Condition.UNINITIALIZED
    return Condition.UNSCHEDULED if status.period_us is None else Condition.IDLE


def executing_condition(status: Status, *, now_us: int) -> Condition:
    """Return the condition of a table whose refresh is running."""
    if status.heartbeat_us is not None and now_us - status.heartbeat_us > SILENCE_US_MAX:
        return Condition.SILENT
    return Condition.INITIALIZING if status.data_us is None else Condition.EXECUTING


def monitored_state(
    state: State, name: Name, role: Role, status: Status | None, *, now_us: int
) -> TableState:
    """Return the state of a table, for a role that may see it (R-DVS-48).

    Raises:
        InputError: There is no such dynamic table, or the role lacks the privilege.
    """
    entity = state.get(name)
    require(entity, role, Privilege.MONITOR)
    if entity.kind is not EntityKind.DYNAMIC_TABLE:
        raise InputError(f"{name} is a {entity.kind.value}; only dynamic tables are refreshed")
    return table_state(node_of(state, entity), status, now_us=now_us)


def lags_below_upstream(
    nodes: Mapping[TableId, Node], statuses: Mapping[TableId, Status]
) -> dict[TableId, TableId]:
    """Return the tables whose lag in force is below that of a source, with that source (R-DVS-14)."""
    lags = {table: statuses[table].lag_us for table in nodes if table in statuses}
    return below_upstream(lags, {table: nodes[table].upstream for table in lags})
