"""Frontiers: the versions from which a dynamic table's contents were computed (R-DVS-84)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from dynamic_tables.maintenance.queries import Query
from dynamic_tables.storage.clock import Timestamp

# The identity of a table, which stays when the table is renamed; a table that replaces another has its own.
TableId: TypeAlias = str


class SourceVersion(NamedTuple):
    """The version of a source that a refresh read: its number and its commit time."""

    number: int
    committed: Timestamp


class DefinitionKey(NamedTuple):
    """A definition by which contents are computed, as far as it can be stored and compared.

    Attributes:
        fingerprint: That of the query.
        columns: The names of the columns of the result.
        used: The columns that the query uses, each with its source and its position in stored rows
            (R-DVS-43): a column that was dropped and added again has another position.
    """

    fingerprint: str
    columns: tuple[str, ...]
    used: frozenset[tuple[TableId, str, int]]

    def agrees_with(self, other: "DefinitionKey") -> bool:
        """Tell whether contents computed by one definition stay valid under the other (R-DVS-42 to 44)."""
        return self.fingerprint == other.fingerprint and self.used == other.used


@dataclass(frozen=True, eq=False)
class Dependencies:
    """The definition by which contents are computed, and the columns on which it depends.

    Attributes:
        used: As in `DefinitionKey`.
        layouts: For each source, the positions of its present columns in stored rows; None: as stored.
    """

    query: Query
    used: frozenset[tuple[TableId, str, int]]
    layouts: Mapping[TableId, tuple[int, ...] | None]

    @cached_property
    def key(self) -> DefinitionKey:
        """The definition, as far as it can be stored."""
        return DefinitionKey(self.query.fingerprint, self.query.columns, self.used)

    def with_sources(self, identities: Mapping[TableId, TableId]) -> "Dependencies":
        """Return the same dependencies on other sources, as in a clone; sources not in `identities` stay."""
        return Dependencies(
            self.query.with_sources(identities),
            frozenset((identities.get(source, source), name, place) for source, name, place in self.used),
            {identities.get(source, source): layout for source, layout in self.layouts.items()},
        )


@dataclass(frozen=True, eq=False)
class StoredDependencies:
    """The dependencies of contents that another process computed."""

    key: DefinitionKey

    def with_sources(self, identities: Mapping[TableId, TableId]) -> "StoredDependencies":
        """Return dependencies that agree with none: a fingerprint has no sources that can be replaced."""
        return StoredDependencies(self.key._replace(fingerprint=""))


def agree(one: "AnyDependencies", other: "AnyDependencies") -> bool:
    """Tell whether contents computed by one definition stay valid under the other (R-DVS-42 to 44)."""
    return one is other or one.key.agrees_with(other.key)


def differ_in_columns(one: "AnyDependencies", other: "AnyDependencies") -> bool:
    """Tell whether two queries give different columns."""
    return one is not other and one.key.columns != other.key.columns


AnyDependencies: TypeAlias = Dependencies | StoredDependencies


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
    dependencies: AnyDependencies

    def with_sources(self, identities: Mapping[TableId, TableId]) -> "Frontier":
        """Return the frontier with other sources at the same versions, as in a clone (R-DVS-46)."""
        versions = {identities.get(source, source): version for source, version in self.versions.items()}
        return self._replace(versions=versions, dependencies=self.dependencies.with_sources(identities))
