"""Frontiers: the versions from which a dynamic table's contents were computed (R-DVS-84)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dynamic_tables.maintenance.queries import Query
from dynamic_tables.storage.clock import Timestamp

# The identity of a table, which stays when the table is renamed; a table that replaces another has its own.
TableId: TypeAlias = str


class SourceVersion(NamedTuple):
    """The version of a source that a refresh read: its number and its commit time."""

    number: int
    committed: Timestamp


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The definition by which contents are computed, and the columns on which it depends.

    Attributes:
        used: The columns that the query uses, each with its source and its position in stored rows
            (R-DVS-43): a column that was dropped and added again has another position.
        layouts: For each source, the positions of its present columns in stored rows; None: as stored.
    """

    query: Query
    used: frozenset[tuple[TableId, str, int]]
    layouts: Mapping[TableId, tuple[int, ...] | None]

    def agree_with(self, other: "Dependencies") -> bool:
        """Tell whether contents computed by one definition stay valid under the other (R-DVS-42 to 44)."""
        same = self.query.fingerprint == other.query.fingerprint and self.used == other.used
        return self is other or same

    def has_other_columns(self, other: "Dependencies") -> bool:
        """Tell whether the two queries give different columns."""
        return self is not other and self.query.columns != other.query.columns

    def with_sources(self, identities: Mapping[TableId, TableId]) -> "Dependencies":
        """Return the same dependencies on other sources, as in a clone; sources not in `identities` stay."""
        return Dependencies(
            self.query.with_sources(identities),
            frozenset((identities.get(source, source), name, place) for source, name, place in self.used),
            {identities.get(source, source): layout for source, layout in self.layouts.items()},
        )


class Frontier(NamedTuple):
    """The origin of a dynamic table's contents. A tuple, because millions are made.

    Attributes:
        data_us: The data timestamp: the contents are the query's result at that time.
        committed: The commit time of the refresh.
        versions: The version that was read of each source (R-DVS-85: an interval per source).
        dependencies: The definition by which the contents were computed.
    """

    data_us: int
    committed: Timestamp
    versions: Mapping[TableId, SourceVersion]
    dependencies: Dependencies

    def with_sources(self, identities: Mapping[TableId, TableId]) -> "Frontier":
        """Return the frontier with other sources at the same versions, as in a clone (R-DVS-46)."""
        versions = {identities.get(source, source): version for source, version in self.versions.items()}
        return self._replace(versions=versions, dependencies=self.dependencies.with_sources(identities))
