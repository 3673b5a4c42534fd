"""What a dynamic table's contents were computed from: its frontier, committed with them (R-DVS-84)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dynamic_tables.maintenance.queries import Query
from dynamic_tables.storage.clock import Timestamp

# The identity of a table: it stays when the name changes, and a table that replaces another has its own.
TableId: TypeAlias = str


class Consumed(NamedTuple):
    """The version of a source that a refresh read: its number, and when it was committed."""

    number: int
    committed: Timestamp


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The definition that contents are computed by, with what it depends on.

    Attributes:
        used: The columns that it uses, each with its source and its place in stored rows (R-DVS-43): a
            column that was dropped and added again has another place.
        layouts: Of each source, where its present columns stand in stored rows; None: as they are.
    """

    query: Query
    used: frozenset[tuple[TableId, str, int]]
    layouts: Mapping[TableId, tuple[int, ...] | None]

    def agree_with(self, other: "Dependencies") -> bool:
        """Whether contents computed by the one go on under the other (R-DVS-42 to 44)."""
        same = self.query.fingerprint == other.query.fingerprint and self.used == other.used
        return self is other or same

    def has_other_columns(self, other: "Dependencies") -> bool:
        """Whether the contents have other columns."""
        return self is not other and self.query.columns != other.query.columns

    def rewired(self, identities: Mapping[TableId, TableId]) -> "Dependencies":
        """The same over other sources, as a clone's are; those not in `identities` stay."""
        return Dependencies(
            self.query.rewired(identities),
            frozenset((identities.get(source, source), name, place) for source, name, place in self.used),
            {identities.get(source, source): layout for source, layout in self.layouts.items()},
        )


class Frontier(NamedTuple):
    """What the contents of a dynamic table hold. A tuple, because millions are made.

    Attributes:
        data_us: The data timestamp: they are what the query gave then.
        committed: When the refresh was committed.
        versions: The version that was read of each source (R-DVS-85: an interval per source).
        dependencies: The definition that they were computed by.
    """

    data_us: int
    committed: Timestamp
    versions: Mapping[TableId, Consumed]
    dependencies: Dependencies

    def rewired(self, identities: Mapping[TableId, TableId]) -> "Frontier":
        """The same frontier over other sources with the same versions, as a clone's is (R-DVS-46)."""
        versions = {identities.get(source, source): version for source, version in self.versions.items()}
        return self._replace(versions=versions, dependencies=self.dependencies.rewired(identities))
