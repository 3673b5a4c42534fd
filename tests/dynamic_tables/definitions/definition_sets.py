"""Two hundred definitions with the base tables that they read: those written by hand, and drawn ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count, islice

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import Relation
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.definitions import BoundTable, SqlDefinition, bind_definition
from dynamic_tables.values.errors import UserError
from strategies.dynamic import definitions
from strategies.dynamic.base_tables import Version, WriteHistory
from strategies.dynamic.cases import RESULT_ROWS_MAX
from strategies.dynamic.contents import SourceTable
from strategies.dynamic.drawn_definitions import LETTERS, drawn_definition, letters_history
from strategies.dynamic.shop_tables import SHOP, shop_history

DEFINITIONS_COUNT = 200
# The drawn ones are run in groups of so many.
GROUP_SIZE = 23
SHOP_HISTORY = shop_history(1)
LETTERS_HISTORY = letters_history(1)
WRITTEN_GROUPS: Mapping[str, Mapping[str, str]] = {
    "expressions": definitions.EXPRESSIONS,
    "joins": definitions.JOINS,
    "aggregates": definitions.AGGREGATES,
    "distincts and unions": definitions.DISTINCTS_AND_UNIONS,
    "windows": definitions.WINDOWS,
    "flattened": definitions.FLATTENED,
    "nested": definitions.NESTED,
    "with constants": definitions.WITH_CONSTANTS,
    "wider": definitions.WIDER,
}


@dataclass(frozen=True)
class Definition:
    """A definition of a dynamic table.

    Attributes:
        query: The text, bound to tables whose identities are their names.
        relation: The relation that the text was made from, if it was drawn.
    """

    name: str
    text: str
    query: Query
    relation: Relation | None = None


@dataclass(frozen=True)
class DefinitionGroup:
    """Definitions that one warehouse has at once, and the writes to their base tables."""

    definitions: tuple[Definition, ...]
    history: WriteHistory


def bound_query(text: str, tables: tuple[SourceTable, ...]) -> Query:
    """Bind a definition to tables."""
    bound_tables = {table.identity: BoundTable(table.identity, table.fields) for table in tables}
    return bind_definition(SqlDefinition(text), bound_tables.get)


@cache
def written_definitions() -> tuple[Definition, ...]:
    """Return the definitions that are written by hand."""
    return tuple(
        Definition(name, text, bound_query(text, SHOP)) for name, text in definitions.DEFINITIONS.items()
    )


@cache
def drawn_definitions() -> tuple[Definition, ...]:
    """Return as many drawn definitions as make two hundred with those that are written by hand."""
    wanted = DEFINITIONS_COUNT - len(written_definitions())
    return tuple(islice(usable_definitions(), wanted))


def usable_definitions() -> Iterator[Definition]:
    """Yield drawn definitions that read tables, are maintained incrementally, never fail, and stay small."""
    versions = LETTERS_HISTORY.versions()
    for seed in count():
        relation, text = drawn_definition(seed)
        query = bound_query(text, LETTERS)
        if query.obstacle is None and query.sources and is_always_small(query, versions):
            yield Definition(f"seed {seed}", text, query, relation)


def is_always_small(query: Query, versions: list[Version]) -> bool:
    """Tell whether a query has few rows over each version, and fails over none."""
    backend = BagBackend()
    try:
        return all(len(backend.full(query, version)) <= RESULT_ROWS_MAX for version in versions)
    except UserError:
        return False


def group_names() -> list[str]:
    """Return the names of the groups: those of the hand-written ones, and numbers of drawn ones."""
    drawn_count = DEFINITIONS_COUNT - sum(map(len, WRITTEN_GROUPS.values()))
    return [*WRITTEN_GROUPS, *(f"drawn {first}" for first in range(0, drawn_count, GROUP_SIZE))]


def definition_group(name: str) -> DefinitionGroup:
    """Return a group by its name."""
    if name in WRITTEN_GROUPS:
        members = [part for part in written_definitions() if part.name in WRITTEN_GROUPS[name]]
        return DefinitionGroup(tuple(members), SHOP_HISTORY)
    first = int(name.removeprefix("drawn "))
    return DefinitionGroup(drawn_definitions()[first : first + GROUP_SIZE], LETTERS_HISTORY)


def selected_definitions(*names: str) -> DefinitionGroup:
    """Return some definitions that are written by hand, by their names."""
    members = [part for part in written_definitions() if part.name in names]
    assert len(members) == len(names), "each name is that of a definition"
    return DefinitionGroup(tuple(members), SHOP_HISTORY)
