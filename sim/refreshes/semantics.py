"""Materialized views that are refreshed apart, each from what the others hold: what [D] Figure 1 shows."""

from dataclasses import replace

from dynamic_tables.catalog.entities import Entity, EntityKind
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.versions import Version
from sim.refreshes.cloud import Cast
from sim.refreshes.model import Setup


class PersistedEngine(Engine):
    """Reads the newest version of a dynamic table, whatever timestamp that has (R-DVS-06)."""

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        if entity.kind is EntityKind.DYNAMIC_TABLE:
            return self._tables[source].latest
        return super()._version(entity, source, data_us)


def cast_of(setup: Setup, cast: Cast) -> Cast:
    """Who plays in a world."""
    return replace(cast, engine=PersistedEngine) if setup.world.persisted else cast
