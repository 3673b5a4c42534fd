"""The graph of tables at the end of a run, with the condition of each dynamic table; pure functions."""

from collections.abc import Mapping
from dataclasses import dataclass

from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.lags import TargetLag
from dynamic_tables.scheduling.states import Condition
from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.events import LagJudged
from sim.refreshes.layering import depths
from sim.refreshes.naming import display_names
from sim.refreshes.run import RefreshRun

# The conditions that are usual at the end, and not worth showing.
AT_REST = (Condition.IDLE, Condition.EXECUTING, Condition.SCHEDULED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One table, view or dynamic table at the end of a run.

    Attributes:
        mode, lag: Of a dynamic table; None for others.
        condition: Of a dynamic table, unless it is one of `AT_REST`; None for others.
        late: True if it is beyond its target lag.
    """

    name: str
    kind: EntityKind
    mode: Mode | None = None
    lag: TargetLag | None = None
    condition: Condition | None = None
    late: bool = False

    @property
    def rests(self) -> bool:
        """True if there is nothing noteworthy about it."""
        return self.condition is None and not self.late


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """All tables and views at the end of a run.

    Attributes:
        nodes: By identity; a table comes before its readers.
        reads: Edges (source, reader), in the order of `nodes` by reader.
        missing: Names that do not resolve, each with the table that reads it.
    """

    nodes: Mapping[TableId, GraphNode]
    reads: tuple[tuple[TableId, TableId], ...]
    missing: tuple[tuple[str, TableId], ...]


def graph(run: RefreshRun) -> Graph:
    """Return the graph of a run at its end."""
    state = run.record.states[-1].state if run.record.states else State()
    names = display_names(run)
    late = {
        event.table
        for event in run.trace
        if isinstance(event, LagJudged) and event.target_us > 0 and not 0 <= event.lag_us <= event.target_us
    }
    order = {table: place for place, table in enumerate(topological_order(state))}
    return Graph(
        nodes={
            table: _graph_node(state.entities[table], names[table], run, table in late) for table in order
        },
        reads=tuple(sorted(_reads(state), key=lambda edge: (order[edge[1]], order[edge[0]]))),
        missing=tuple(
            (name, table)
            for table in order
            for name in state.entities[table].reads
            if state.find(name) is None
        ),
    )


def topological_order(state: State) -> list[TableId]:
    """Return all tables and views; sources come before their readers."""
    return sorted(state.entities, key=depths(state.entities, _reads(state)).__getitem__)


def _reads(state: State) -> list[tuple[TableId, TableId]]:
    """Return the direct edges (source, reader)."""
    return [
        (source.identity, table)
        for table, entity in state.entities.items()
        for name in entity.reads
        if (source := state.find(name)) is not None
    ]


def trim_graph(full: Graph, *, nodes_max: int) -> Graph:
    """Return at most `nodes_max` nodes of a graph: noteworthy ones first, each with all that it reads."""
    above: dict[TableId, set[TableId]] = {table: {table} for table in full.nodes}
    for source, reader in full.reads:
        above[reader] |= above[source]
    kept: set[TableId] = set()
    for table in sorted(full.nodes, key=lambda node: full.nodes[node].rests):
        if len(kept | above[table]) <= nodes_max:
            kept |= above[table]
    return Graph(
        nodes={table: node for table, node in full.nodes.items() if table in kept},
        reads=tuple(edge for edge in full.reads if kept.issuperset(edge)),
        missing=tuple((name, table) for name, table in full.missing if table in kept),
    )


def _graph_node(entity: Entity, name: str, run: RefreshRun, late: bool) -> GraphNode:
    if entity.kind is not EntityKind.DYNAMIC_TABLE:
        return GraphNode(name=name, kind=entity.kind)
    condition = run.states[entity.identity].condition
    return GraphNode(
        name=name,
        kind=entity.kind,
        mode=entity.mode,
        lag=entity.lag,
        condition=None if condition in AT_REST else condition,
        late=late,
    )
