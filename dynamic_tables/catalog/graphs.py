"""The graph of dynamic tables, derived from the catalog; edges go through views (R-DVS-45)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dynamic_tables.catalog.ddl import Initialize, Name
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.lags import TargetLag
from dynamic_tables.storage.frontiers import TableId


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One dynamic table, in the scheduler's terms.

    Attributes:
        upstream: The dynamic tables that it reads.
        base: The base tables that it reads.
        missing: The names that it reads and that do not exist.
        suspended: The reason why it is not scheduled; None if it is scheduled.
    """

    table: TableId
    upstream: tuple[TableId, ...]
    base: tuple[TableId, ...]
    missing: tuple[Name, ...]
    lag: TargetLag
    warehouse: str
    suspended: str | None
    initialize: Initialize
    created_us: int


def node_of(state: State, entity: Entity) -> Node:
    """Return the node of a dynamic table."""
    upstream: dict[TableId, None] = {}
    base: dict[TableId, None] = {}
    missing: dict[Name, None] = {}
    for name, source in _resolve_reads(state, entity):
        if source is None:
            missing[name] = None
        elif source.kind is not EntityKind.VIEW:
            (upstream if source.kind is EntityKind.DYNAMIC_TABLE else base)[source.identity] = None
    return Node(
        table=entity.identity,
        upstream=tuple(upstream),
        base=tuple(base),
        missing=tuple(missing),
        lag=entity.lag,
        warehouse=entity.warehouse,
        suspended=entity.suspended,
        initialize=entity.initialize,
        created_us=entity.created.physical_us,
    )


def nodes(state: State) -> dict[TableId, Node]:
    """Return the nodes of all dynamic tables."""
    return {entity.identity: node_of(state, entity) for entity in state.dynamic_tables()}


def affected_tables(state: State, names: Iterable[Name]) -> list[Entity]:
    """Return the dynamic tables whose nodes depend on the meaning of these names."""
    affected: dict[TableId, Entity] = {}
    open_names = list(names)
    visited = set(open_names)
    while open_names:
        name = open_names.pop()
        entity = state.find(name)
        if entity is not None and entity.kind is EntityKind.DYNAMIC_TABLE:
            affected[entity.identity] = entity
        for reader in sorted(state.readers.get(name, ())):
            entity = state.entities[reader]
            if entity.kind is EntityKind.DYNAMIC_TABLE:
                affected[reader] = entity
            elif entity.name not in visited:
                visited.add(entity.name)
                open_names.append(entity.name)
    return list(affected.values())


def referenced_entities(state: State, entity: Entity) -> tuple[Entity | None, ...]:
    """Return the entity and all entities that its definition names, through views; None for a missing one."""
    return (entity, *(source for _, source in _resolve_reads(state, entity)))


def _resolve_reads(state: State, entity: Entity) -> Iterator[tuple[Name, Entity | None]]:
    """Yield each name that a definition reads, through views, and its entity."""
    open_names = list(reversed(entity.reads))
    visited: set[Name] = set()
    while open_names:
        name = open_names.pop()
        if name in visited:
            continue
        visited.add(name)
        source = state.find(name)
        yield name, source
        if source is not None and source.kind is EntityKind.VIEW:
            open_names += reversed(source.reads)
