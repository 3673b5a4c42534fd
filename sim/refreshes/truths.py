"""The expected contents of dynamic tables at any timestamp, from users' writes and the catalog alone.

Shares   the binding of SQL and the full evaluation of the bag backend, both without the mutants' parts.
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


class ExpectedContents:
    """The contents that tables should have, according to a record."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._bindings = Bindings()
        self._backend = BagBackend()
        self._entities: dict[TableId, Entity] = {}
        for stated in record.states:
            self._entities.update(stated.state.entities)
        self._since_us = [stated.committed.physical_us for stated in record.states]
        self._cached: dict[tuple[TableId, int], Contents] = {}
        # The last evaluation of each table: its query, its inputs, and its result.
        self._last: dict[TableId, tuple[Query, list[Contents], Contents]] = {}

    def state(self, data_us: int) -> State:
        """Return the catalog at a timestamp."""
        place = bisect_right(self._since_us, data_us)
        return self.record.states[place - 1].state if place else State()

    def base_version(self, table: TableId, data_us: int) -> int:
        """Return the number of a base table's version at a timestamp; -1 before the table existed."""
        versions = self.record.bases[table]
        return bisect_right(versions, data_us, key=lambda version: version[0].physical_us) - 1

    def of(self, table: TableId, data_us: int) -> Contents:
        """Return the contents that a dynamic table should have.

        Raises:
            InputError: Its query did not bind then.
            UserError: Its query failed.
        """
        entity = self._entities[table]
        while data_us in self.record.inherited.get(entity.identity, ()):
            assert entity.original is not None, "who inherits is a clone"
            entity = self._entities[entity.original]
        key = entity.identity, data_us
        if key not in self._cached:
            self._cached[key] = self._evaluate(entity, data_us)
        return self._cached[key]

    def _evaluate(self, entity: Entity, data_us: int) -> Contents:
        state = self.state(max(data_us, entity.created.physical_us))
        query = self._bindings.query(state, state.entities.get(entity.identity, entity))
        sources = {source: self._source(state.entities[source], data_us) for source in query.sources}
        inputs = list(sources.values())
        last = self._last.get(entity.identity)
        if last is not None and last[0] is query and all(map(_is_same, last[1], inputs)):
            return last[2]
        contents = self._backend.full(query, sources)
        self._last[entity.identity] = (query, inputs, contents)
        return contents

    def _source(self, entity: Entity, data_us: int) -> Contents:
        if entity.kind is EntityKind.DYNAMIC_TABLE:
            return self.of(entity.identity, data_us)
        number = self.base_version(entity.identity, data_us)
        stored = self.record.bases[entity.identity][number][1] if number >= 0 else {}
        return reshape(stored, layout(entity))


def _is_same(first: Contents, second: Contents) -> bool:
    return first is second
