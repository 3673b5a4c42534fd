"""Frontiers as JSON, and back."""

from collections.abc import Mapping
from typing import Any

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import DefinitionKey, Frontier, SourceVersion, StoredDependencies

# The member with the data timestamp.
DATA_US = "data_us"


def to_json(frontier: Frontier, *, columns_since: int) -> dict[str, Any]:
    """Return a frontier, with the first version of its table that has its columns."""
    key = frontier.dependencies.key
    sources = {source: [read.number, list(read.committed)] for source, read in frontier.versions.items()}
    return {
        DATA_US: frontier.data_us,
        "committed": list(frontier.committed),
        "sources": sources,
        "fingerprint": key.fingerprint,
        "columns": list(key.columns),
        "used": sorted(map(list, key.used)),
        "columns_since": columns_since,
    }


def from_json(body: Mapping[str, Any]) -> Frontier:
    """Return the frontier that `to_json` wrote."""
    used = frozenset((source, name, place) for source, name, place in body["used"])
    key = DefinitionKey(body["fingerprint"], tuple(body["columns"]), used)
    sources = {
        source: SourceVersion(number, Timestamp(*committed))
        for source, (number, committed) in body["sources"].items()
    }
    return Frontier(body[DATA_US], Timestamp(*body["committed"]), sources, StoredDependencies(key))
