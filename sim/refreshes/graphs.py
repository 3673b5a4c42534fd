"""Who reads whom at the end of a run, and how each dynamic table stands then: pure functions of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.lags import TargetLag
from dynamic_tables.scheduling.states import Condition
from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.events import Judged
from sim.refreshes.layering import depths
from sim.refreshes.naming import named
from sim.refreshes.run import Run

# What most tables do at the end, and need not be told of.
AT_REST = (Condition.IDLE, Condition.EXECUTING, Condition.SCHEDULED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stands:
    """One table, view or dynamic table at the end of a run.

    Attributes:
        mode, lag: Of a dynamic table; None of others.
        condition: Of a dynamic table; None where it is one of `AT_REST`, and of others.
        late: Whether it is beyond its target lag.
    """

    name: str
    kind: EntityKind
    mode: Mode | None = None
    lag: TargetLag | None = None
    condition: Condition | None = None
    late: bool = False

    @property
    def rests(self) -> bool:
        """Whether nothing is to be told of it."""
        return self.condition is None and not self.late


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """All that stands at the end of a run.

    Attributes:
        nodes: By identity, what is read before who reads it.
        reads: Who is read by whom, directly; in the order of `nodes`, by who reads.
        missing: Names that are read and lead nowhere, each with who reads it.
    """

    nodes: Mapping[TableId, Stands]
    reads: tuple[tuple[TableId, TableId], ...]
    missing: tuple[tuple[str, TableId], ...]


def graph(run: Run) -> Graph:
    """The graph of a run at its end."""
    state = run.record.states[-1].state if run.record.states else State()
    names = named(run)
    late = {
        event.table
        for event in run.trace
        if isinstance(event, Judged) and event.target_us > 0 and not 0 <= event.lag_us <= event.target_us
    }
    order = {table: place for place, table in enumerate(in_order(state))}
    return Graph(
        nodes={table: _stands(state.entities[table], names[table], run, table in late) for table in order},
        reads=tuple(sorted(_reads(state), key=lambda edge: (order[edge[1]], order[edge[0]]))),
        missing=tuple(
            (name, table)
            for table in order
            for name in state.entities[table].reads
            if state.find(name) is None
        ),
    )


def in_order(state: State) -> list[TableId]:
    """All that stands, what is read before who reads it."""
    return sorted(state.entities, key=depths(state.entities, _reads(state)).__getitem__)


def _reads(state: State) -> list[tuple[TableId, TableId]]:
    """Who is read by whom, directly."""
    return [
        (source.identity, table)
        for table, entity in state.entities.items()
        for name in entity.reads
        if (source := state.find(name)) is not None
    ]


def trimmed(given: Graph, *, nodes_max: int) -> Graph:
    """A graph of at most so many: those that do not rest come first, each with all that it reads."""
    above: dict[TableId, set[TableId]] = {table: {table} for table in given.nodes}
    for source, reader in given.reads:
        above[reader] |= above[source]
    kept: set[TableId] = set()
    for table in sorted(given.nodes, key=lambda one: given.nodes[one].rests):
        if len(kept | above[table]) <= nodes_max:
            kept |= above[table]
    return Graph(
        nodes={table: stands for table, stands in given.nodes.items() if table in kept},
        reads=tuple(edge for edge in given.reads if kept.issuperset(edge)),
        missing=tuple((name, table) for name, table in given.missing if table in kept),
    )


def _stands(entity: Entity, name: str, run: Run, late: bool) -> Stands:
    if entity.kind is not EntityKind.DYNAMIC_TABLE:
        return Stands(name=name, kind=entity.kind)
    condition = run.states[entity.identity].condition
    return Stands(
        name=name,
        kind=entity.kind,
        mode=entity.mode,
        lag=entity.lag,
        condition=None if condition in AT_REST else condition,
        late=late,
    )
