"""Separately refreshed materialized views, which read each other's newest contents, as [D] Figure 1 shows."""

from dataclasses import replace
from functools import partial

from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.refreshes.policy import EnginePolicy, choose_version
from dynamic_tables.storage.stores import StoredVersion
from dynamic_tables.storage.versions import Table
from sim.refreshes.cloud import RefreshImplementations
from sim.refreshes.model import Setup


def newest_if_dynamic(table: Table, kind: EntityKind, data_us: int) -> StoredVersion:
    """Return the newest version of a dynamic table, whatever its data timestamp (R-DVS-06)."""
    return table.latest if kind is EntityKind.DYNAMIC_TABLE else choose_version(table, kind, data_us)


persisted_engine = partial(Engine, policy=EnginePolicy(choose_version=newest_if_dynamic))


def implementations_for(setup: Setup, implementations: RefreshImplementations) -> RefreshImplementations:
    """Return the implementations for a world, with the engine that its semantics need."""
    return replace(implementations, engine=persisted_engine) if setup.world.persisted else implementations
