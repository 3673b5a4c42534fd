"""The state of the dynamic tables of a warehouse, and how each of them is maintained."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import Entity
from dynamic_tables.catalog.graphs import node_of
from dynamic_tables.catalog.lags import DOWNSTREAM, lags_in_force
from dynamic_tables.maintenance.algebra import (
    ConstantRows,
    Distinct,
    Explode,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
    inputs,
)
from dynamic_tables.maintenance.differentiation import can_adjust
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.actions import Cause, RefreshFailed
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.table_versions import live_rows
from pruning.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus:
    """The state of one dynamic table.

    Attributes:
        state: "ok", "late", "failed", "suspended" or "not initialized".
        detail: The reason of a failure or a suspension; empty for the others.
        data_us, lag_us: Its data timestamp and the age of that; None before the first refresh.
        target_us: The lag that it is to keep; None: nobody reads it, and it has none of its own.
        mode: INCREMENTAL or FULL.
        why_full: The construct that prevents incremental maintenance; empty if there is none.
        action, cause: Those of its last refresh; empty before the first.
        inserted, deleted: The rows that the last refresh with changes inserted and deleted.
        rows: The number of its rows.
        cost_us: The time that refreshes are expected to take, waiting included.
        errors: The number of scheduled refreshes that failed in a row.
    """

    name: str
    state: str
    detail: str
    data_us: int | None
    lag_us: int | None
    target_us: int | None
    mode: str
    why_full: str
    action: str
    cause: str
    inserted: int
    deleted: int
    rows: int
    cost_us: int
    errors: int


def statuses(account: WarehouseAccount, now_us: int) -> list[TableStatus]:
    """Return the states of all dynamic tables, in order of creation."""
    entities = list(account.catalog.state.dynamic_tables())
    targets = target_lags(account, entities)
    return [status_of(account, entity, targets[entity.identity], now_us) for entity in entities]


def target_lags(account: WarehouseAccount, entities: list[Entity]) -> Mapping[TableId, int | None]:
    """Return the lag that each table is to keep."""
    nodes = {entity.identity: node_of(account.catalog.state, entity) for entity in entities}
    readers: dict[TableId, list[TableId]] = {identity: [] for identity in nodes}
    for identity, node in nodes.items():
        for source in node.upstream:
            readers[source].append(identity)
    order = upstream_first({identity: node.upstream for identity, node in nodes.items()})
    lags = {
        identity: DOWNSTREAM if node.suspended is not None else node.lag for identity, node in nodes.items()
    }
    return lags_in_force(lags, readers, order)


def upstream_first(sources: Mapping[TableId, tuple[TableId, ...]]) -> list[TableId]:
    """Return tables, each after those that it reads."""
    order: dict[TableId, None] = {}

    def add(identity: TableId) -> None:
        for source in sources[identity]:
            if source not in order:
                add(source)
        order[identity] = None

    for identity in sources:
        if identity not in order:
            add(identity)
    return list(order)


def status_of(account: WarehouseAccount, entity: Entity, target_us: int | None, now_us: int) -> TableStatus:
    """Return the state of one table."""
    table = account.tables[entity.identity]
    frontier = table.frontier
    refreshed = account.events.newest_of(entity.identity, EventKind.REFRESHED)
    failed = account.events.newest_of(entity.identity, EventKind.FAILED)
    learnt = account.events.newest_of(entity.identity, EventKind.LEARNT)
    changed = refreshed
    if refreshed is not None and refreshed.body["action"] == "NO_DATA":
        changed = account.events.newest_change(entity.identity)
    lag_us = None if frontier is None else now_us - frontier.data_us
    state, detail = "ok", ""
    if entity.suspended is not None:
        state, detail = "suspended", entity.suspended
    elif failed is not None and (refreshed is None or failed.number > refreshed.number):
        state, detail = "failed", failed.body["message"]
    elif lag_us is None:
        state = "not initialized"
    elif target_us is not None and lag_us > target_us:
        state = "late"
    return TableStatus(
        name=entity.name,
        state=state,
        detail=detail,
        data_us=None if frontier is None else frontier.data_us,
        lag_us=lag_us,
        target_us=target_us,
        mode=entity.mode.value,
        why_full=obstacle_of(account, entity),
        action="" if refreshed is None else refreshed.body["action"],
        cause="" if refreshed is None else refreshed.body.get("cause", ""),
        inserted=0 if changed is None else changed.body.get("inserted", 0),
        deleted=0 if changed is None else changed.body.get("deleted", 0),
        rows=live_rows(table.files.latest()),
        cost_us=0 if learnt is None else learnt.body["cost_us"],
        errors=0 if learnt is None else learnt.body["errors"],
    )


def query_of(account: WarehouseAccount, entity: Entity) -> Query:
    """Return the query of a dynamic table as its names mean now.

    Raises:
        RefreshFailed: A name does not exist.
    """
    return account.engine.dependencies(account.catalog.state, entity).query


def obstacle_of(account: WarehouseAccount, entity: Entity) -> str:
    """Return the construct that prevents incremental maintenance; empty if there is none."""
    try:
        return query_of(account, entity).obstacle or ""
    except RefreshFailed as failure:
        return str(failure)


# How tables are maintained


@dataclass(frozen=True, slots=True)
class MaintainedNode:
    """One operator of a query.

    Attributes:
        depth: The number of operators above it.
        operator: Its name, with the table that it reads.
        way: How its changes are computed.
    """

    depth: int
    operator: str
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The maintenance of one dynamic table, and what a refresh now would do.

    Attributes:
        obstacle: The construct for which the whole result is computed each time; empty if there is none.
        nodes: The operators of its query, each before those below it.
        action, cause: Those of a refresh now.
        changed_rows: For each table that it reads and that has changed rows, their number.
        rows: The number of rows of all tables that it reads.
        location: The directory of its own rows.
    """

    name: str
    mode: str
    obstacle: str
    nodes: list[MaintainedNode]
    action: str
    cause: str
    changed_rows: dict[str, int]
    rows: int
    location: str


def explain(account: WarehouseAccount, entity: Entity) -> Explanation:
    """Explain a dynamic table, from metadata alone.

    Raises:
        InputError: Its query cannot be bound now.
    """
    try:
        query = query_of(account, entity)
    except RefreshFailed as failure:
        raise InputError(f"{entity.name}: {failure}") from None
    table = account.tables[entity.identity]
    frontier = table.frontier
    names = {identity: other.name for identity, other in account.catalog.state.entities.items()}
    heads = {source: account.tables[source].files.latest() for source in query.sources}
    changed: dict[str, int] = {}
    action, cause = "FULL" if query.obstacle else "REINITIALIZE", Cause.FIRST
    if frontier is not None:
        for source, head in heads.items():
            old = frontier.versions.get(source)
            count = 0 if old is None else account.tables[source].changed_count(old.number, head.number)
            if count:
                changed[names[source]] = count
        action, cause = "INCREMENTAL", Cause.CHANGED
        if not changed and query.reads_time:
            action, cause = "FULL", Cause.TIME
        elif not changed:
            action, cause = "NO_DATA", Cause.UNCHANGED
        elif entity.mode is Mode.FULL:
            action, cause = "FULL", Cause.MODE
    return Explanation(
        name=entity.name,
        mode=entity.mode.value,
        obstacle=query.obstacle or "",
        nodes=maintained_nodes(account, query),
        action=action,
        cause=cause.value,
        changed_rows=changed,
        rows=sum(map(live_rows, heads.values())),
        location=str(table.directory),
    )


WAYS: Mapping[type[Relation], str] = {
    ConstantRows: "none: its rows never change",
    Filter: "changed rows alone",
    Project: "changed rows alone",
    UnionAll: "changed rows alone",
    Explode: "changed rows alone",
    Distinct: "the groups of changed rows, before and after",
    Group: "the groups of changed rows, before and after",
    Window: "the partitions of changed rows, before and after",
}


def maintained_nodes(account: WarehouseAccount, query: Query) -> list[MaintainedNode]:
    """Return the operators of a query, each before those below it, with the way of their maintenance."""
    names = {identity: entity.name for identity, entity in account.catalog.state.entities.items()}
    return list(nodes_of(query.relation, names, 0, at_top=True))


def nodes_of(
    relation: Relation, names: Mapping[TableId, str], depth: int, *, at_top: bool
) -> Iterator[MaintainedNode]:
    """Yield a relation's operators; `at_top` is True as long as nothing but projections is above them."""
    operator = type(relation).__name__.lower()
    if isinstance(relation, Scan):
        operator, way = f"scan {names.get(relation.source, relation.source)}", "its recorded changes"
    elif isinstance(relation, Join):
        operator, way = f"{relation.kind.value.lower()} join", join_way(relation.kind)
    elif isinstance(relation, Group) and at_top and can_adjust(relation):
        way = "counts and sums of held rows, adjusted by changed rows"
    else:
        way = WAYS.get(type(relation), "the whole result, by Spark")
    yield MaintainedNode(depth, operator, way)
    for below in inputs(relation):
        yield from nodes_of(below, names, depth + 1, at_top=at_top and isinstance(relation, Project))


def join_way(kind: JoinKind) -> str:
    """Return how a join is maintained."""
    if kind is JoinKind.INNER:
        return "changed rows of each side with the rows of their keys on the other"
    if kind is JoinKind.FULL:
        return "the keys of changed rows, before and after"
    return "changed rows of the kept side, and its rows with the keys that changed on the other"
