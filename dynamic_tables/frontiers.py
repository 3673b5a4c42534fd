"""What a dynamic table's contents were computed from: its frontier, committed with them (R-DVS-84)."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from dynamic_tables.clock import Timestamp
from dynamic_tables.queries import Query

# The identity of a table: it stays when the name changes, and a table that replaces another has its own.
TableId: TypeAlias = str


class Consumed(NamedTuple):
    """The version of a source that a refresh read: its number, and when it was committed."""

    number: int
    committed: Timestamp


class Frontier(NamedTuple):
    """What the contents of a dynamic table hold. A tuple, because millions are made.

    Attributes:
        data_us: The data timestamp: they are what the query gave then.
        committed: When the refresh was committed.
        versions: The version that was read of each source (R-DVS-85: an interval per source).
        query: The definition that they were computed by; its fingerprint tells evolution (R-DVS-42 to 44).
    """

    data_us: int
    committed: Timestamp
    versions: Mapping[TableId, Consumed]
    query: Query
