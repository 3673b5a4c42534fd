"""Separately refreshed materialized views, which read each other's newest contents, as [D] Figure 1 shows."""

from dataclasses import replace

from dynamic_tables.catalog.entities import Entity, EntityKind
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.versions import Version
from sim.refreshes.cloud import RefreshImplementations
from sim.refreshes.model import Setup


class PersistedEngine(Engine):
    """An engine that reads the newest version of a dynamic table, whatever its timestamp (R-DVS-06)."""

    def _version(self, entity: Entity, source: TableId, data_us: int) -> Version:
        if entity.kind is EntityKind.DYNAMIC_TABLE:
            return self._tables[source].latest
        return super()._version(entity, source, data_us)


def implementations_for(setup: Setup, implementations: RefreshImplementations) -> RefreshImplementations:
    """Return the implementations for a world, with the engine that its semantics need."""
    return replace(implementations, engine=PersistedEngine) if setup.world.persisted else implementations
