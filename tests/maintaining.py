"""Definitions in SQL maintained over versions of their tables, and compared with full evaluation at each."""

from collections.abc import Hashable, Mapping
from itertools import pairwise

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.definitions import BoundTable, SqlDefinition, bind_definition
from dynamic_tables.storage.netting import apply, difference
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Contents, Delta, Row
from dynamic_tables.values.types import (
    ARRAY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    VARIANT,
    Field,
    decimal,
)
from strategies.dynamic.contents import IntervalChanges

TABLES: Mapping[str, BoundTable] = {
    "l": BoundTable("L", (Field("k", INTEGER), Field("x", TEXT))),
    "r": BoundTable("R", (Field("k", INTEGER), Field("y", TEXT))),
    "s": BoundTable("S", (Field("k", INTEGER), Field("z", TEXT))),
    "f": BoundTable("F", (Field("k", INTEGER), Field("f", FLOAT))),
    "d": BoundTable("D", (Field("k", INTEGER), Field("d", decimal(2)))),
    "n": BoundTable("N", (Field("k", INTEGER), Field("n", INTEGER), Field("unused", TEXT))),
    "t": BoundTable("T", (Field("a", TEXT), Field("b", TEXT))),
    "e": BoundTable("E", (Field("k", INTEGER), Field("items", ARRAY), Field("payload", VARIANT))),
    "m": BoundTable("M", (Field("at", TIMESTAMP), Field("day", DATE), Field("flag", BOOLEAN))),
}
Version = Mapping[str, Contents]


def query(text: str) -> Query:
    """A definition bound to these tables."""
    return bind_definition(SqlDefinition(text), TABLES.get)


def whole(version: Version) -> dict[str, Contents]:
    """All tables by identity; those that are not given are empty."""
    return {table.identity: version.get(name, {}) for name, table in TABLES.items()}


def evaluated(text: str, version: Version) -> list[Row]:
    """The rows of a full evaluation, in an order of their own."""
    return ordered(BagBackend().full(query(text), whole(version)))


def ordered(contents: Contents) -> list[Row]:
    """Rows in an order that any have."""
    return sorted(contents.values(), key=repr)


def deltas(text: str, *versions: Version) -> list[Delta]:
    """The changes from each version to the next, which turn one full result into the other, ids included."""
    bound_query, backend = query(text), BagBackend()
    found: list[Delta] = []
    result = dict(backend.full(bound_query, whole(versions[0])))
    for before, after in pairwise(versions):
        old, new = whole(before), whole(after)
        sources = {one: IntervalChanges(old[one], new[one], difference(old[one], new[one])) for one in old}
        delta = backend.changes(bound_query, sources)
        apply(result, delta)
        full = backend.full(bound_query, new)
        assert {one: exact_key(row) for one, row in result.items()} == {
            one: exact_key(row) for one, row in full.items()
        }
        found.append(delta)
    return found


def exactly(contents: Contents) -> dict[str, Hashable]:
    """Contents as what no expression can tell apart."""
    return {row_id: exact_key(row) for row_id, row in contents.items()}


def maintained(text: str, *versions: Version) -> list[Row]:
    """The rows at the last version, maintained from the first on."""
    deltas(text, *versions)
    return evaluated(text, versions[-1])
