"""What a dynamic table's contents were computed from: its frontier, committed with them (R-DVS-84)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dynamic_tables.clock import Timestamp

# The identity of a table: it stays when the name changes, and a table that replaces another has its own.
TableId: TypeAlias = str


class Consumed(NamedTuple):
    """The version of a source that a refresh read: its number, and when it was committed."""

    number: int
    committed: Timestamp


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The definition that contents were computed by.

    Attributes:
        fingerprint: Of the bound query, with the identities of its sources and the columns that it uses.
        used_columns: By source (R-DVS-43).
    """

    fingerprint: str
    used_columns: Mapping[TableId, frozenset[str]]


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
