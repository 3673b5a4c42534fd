"""What each dynamic table should hold at a timestamp, from what users wrote and the catalog alone.

Shares   the binding of SQL and the full evaluation of the bag backend, both without what a cast replaces.
Removes  frontiers, stored versions, differentiation, and what any dynamic table holds.
"""

from bisect import bisect_right

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.engine import layout
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.netting import reshape
from dynamic_tables.values.changes import Contents
from sim.refreshes.binding import Bindings
from sim.refreshes.recording import Record


class Truths:
    """What a record says that tables should hold."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._bindings = Bindings()
        self._backend = BagBackend()
        self._entities: dict[TableId, Entity] = {}
        for stated in record.states:
            self._entities.update(stated.state.entities)
        self._since_us = [stated.committed.physical_us for stated in record.states]
        self._known: dict[tuple[TableId, int], Contents] = {}
        # Of each table the last evaluation: what it was of, and what it gave.
        self._last: dict[TableId, tuple[Query, list[Contents], Contents]] = {}

    def state(self, data_us: int) -> State:
        """The catalog at a timestamp."""
        place = bisect_right(self._since_us, data_us)
        return self.record.states[place - 1].state if place else State()

    def base_version(self, table: TableId, data_us: int) -> int:
        """The number of a base table's version at a timestamp; -1 before the table came."""
        versions = self.record.bases[table]
        return bisect_right(versions, data_us, key=lambda version: version[0].physical_us) - 1

    def of(self, table: TableId, data_us: int) -> Contents:
        """What a dynamic table should hold.

        Raises:
            InputError: Its query meant nothing then.
            UserError: Its query failed.
        """
        entity = self._entities[table]
        while data_us in self.record.inherited.get(entity.identity, ()):
            assert entity.original is not None, "who inherits is a clone"
            entity = self._entities[entity.original]
        key = entity.identity, data_us
        if key not in self._known:
            self._known[key] = self._evaluated(entity, data_us)
        return self._known[key]

    def _evaluated(self, entity: Entity, data_us: int) -> Contents:
        state = self.state(max(data_us, entity.created.physical_us))
        query = self._bindings.query(state, state.entities.get(entity.identity, entity))
        sources = {source: self._source(state.entities[source], data_us) for source in query.sources}
        inputs = list(sources.values())
        last = self._last.get(entity.identity)
        if last is not None and last[0] is query and all(map(_same, last[1], inputs)):
            return last[2]
        found = self._backend.full(query, sources)
        self._last[entity.identity] = (query, inputs, found)
        return found

    def _source(self, entity: Entity, data_us: int) -> Contents:
        if entity.kind is EntityKind.DYNAMIC_TABLE:
            return self.of(entity.identity, data_us)
        number = self.base_version(entity.identity, data_us)
        stored = self.record.bases[entity.identity][number][1] if number >= 0 else {}
        return reshape(stored, layout(entity))


def _same(one: Contents, other: Contents) -> bool:
    return one is other
