"""The decisions of the engine: the versions that a refresh reads, and the changes that it takes from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from dynamic_tables.bags.backends import Backend
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.log import Catalog
from dynamic_tables.refreshes.actions import RefreshPlan
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.stores import StoredVersion, TableStore


class NewVersions(NamedTuple):
    """The versions of one source since the last refresh; their numbers differ.

    Attributes:
        old: The version that the last refresh read.
        new: The version that this refresh reads.
    """

    table: TableStore
    old: int
    new: int


def choose_state(catalog: Catalog, entity: Entity, data_us: int) -> State:
    """Return the catalog at the data timestamp or at the table's creation, if later (R-DVS-45)."""
    created_us = entity.created.physical_us
    return catalog.as_of(data_us if data_us > created_us else created_us)


def choose_version(table: TableStore, kind: EntityKind, data_us: int) -> StoredVersion:
    """Return a source's version at a data timestamp; a dynamic table needs that refresh (R-DVS-06).

    Raises:
        NoVersion: The source has no version for this timestamp.
        Purged: The version is not retained.
    """
    return table.refreshed_at(data_us) if kind is EntityKind.DYNAMIC_TABLE else table.read_at(data_us)


def count_changes(sources: Sequence[NewVersions]) -> tuple[bool, int]:
    """Tell from metadata whether the sources with new versions have changes, and the number of changed rows.

    Maintenance makes new versions without changes (trap 29).

    Raises:
        Purged: The metadata is not retained (trap 32).
    """
    changed_count = 0
    for table, old, new in sources:
        changed_count += table.changed_count(old, new)
    return changed_count > 0, changed_count


def compute_delta(plan: RefreshPlan, tables: Mapping[TableId, TableStore], backend: Backend) -> Any:
    """Return the changes of the query's result in the backend's form, from an interval per source (R-DVS-85).

    Each interval begins at the version that the table's present contents were computed from, however many
    data timestamps were skipped since (R-DVS-31).
    """
    assert plan.base is not None, "the first refresh is not incremental"
    layouts = plan.dependencies.layouts
    sources = {
        source: tables[source].interval(plan.base.versions[source].number, consumed.number, layouts[source])
        for source, consumed in plan.versions.items()
    }
    table = tables[plan.table]
    return backend.changes(plan.dependencies.query, sources, table.rows(table.latest.number))


ChooseState: TypeAlias = Callable[[Catalog, Entity, int], State]
# The class of tables is that of the engine.
ChooseVersion: TypeAlias = Callable[[Any, EntityKind, int], StoredVersion]
CountChanges: TypeAlias = Callable[[Sequence[NewVersions]], tuple[bool, int]]
ComputeDelta: TypeAlias = Callable[[RefreshPlan, Mapping[TableId, Any], Backend], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePolicy:
    """The decisions of an engine, as named functions; a mutant replaces one field.

    Attributes:
        choose_state: Returns the catalog in which the names of a table's definition are bound.
        choose_version: Returns the version that a refresh reads of a source.
        count_changes: Tells whether sources have changes since the last refresh; without any, only the data
            timestamp moves.
        compute_delta: Returns the changes of an incremental refresh, which the engine validates.
    """

    choose_state: ChooseState = choose_state
    choose_version: ChooseVersion = choose_version
    count_changes: CountChanges = count_changes
    compute_delta: ComputeDelta = compute_delta


POLICY = EnginePolicy()
