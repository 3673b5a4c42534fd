"""The graph of dynamic tables, rendered from the catalog: who reads whom, through views (R-DVS-45)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dynamic_tables.catalog.ddl import Initialize, Name
from dynamic_tables.catalog.entities import Entity, Kind, State
from dynamic_tables.catalog.lags import TargetLag
from dynamic_tables.storage.frontiers import TableId


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One dynamic table, as the scheduler knows it.

    Attributes:
        upstream: The dynamic tables that it reads.
        base: The base tables that it reads.
        missing: Names that it reads and that lead nowhere.
        suspended: Why it is not scheduled; None if it is.
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
    """The node of a dynamic table."""
    upstream: dict[TableId, None] = {}
    base: dict[TableId, None] = {}
    missing: dict[Name, None] = {}
    for name, source in _read(state, entity):
        if source is None:
            missing[name] = None
        elif source.kind is not Kind.VIEW:
            (upstream if source.kind is Kind.DYNAMIC_TABLE else base)[source.identity] = None
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
    """The whole graph."""
    return {entity.identity: node_of(state, entity) for entity in state.dynamic_tables()}


def touched(state: State, names: Iterable[Name]) -> list[Entity]:
    """The dynamic tables whose nodes depend on what these names mean."""
    found: dict[TableId, Entity] = {}
    open_names = list(names)
    seen = set(open_names)
    while open_names:
        name = open_names.pop()
        entity = state.find(name)
        if entity is not None and entity.kind is Kind.DYNAMIC_TABLE:
            found[entity.identity] = entity
        for reader in sorted(state.readers.get(name, ())):
            entity = state.entities[reader]
            if entity.kind is Kind.DYNAMIC_TABLE:
                found[reader] = entity
            elif entity.name not in seen:
                seen.add(entity.name)
                open_names.append(entity.name)
    return list(found.values())


def meaning(state: State, entity: Entity) -> tuple[Entity | None, ...]:
    """All that the names in a definition mean, through views; None for one that leads nowhere."""
    return (entity, *(source for _, source in _read(state, entity)))


def _read(state: State, entity: Entity) -> Iterator[tuple[Name, Entity | None]]:
    """The names that a definition reads, through views, each once, and what they mean."""
    open_names = list(reversed(entity.reads))
    seen: set[Name] = set()
    while open_names:
        name = open_names.pop()
        if name in seen:
            continue
        seen.add(name)
        source = state.find(name)
        yield name, source
        if source is not None and source.kind is Kind.VIEW:
            open_names += reversed(source.reads)
