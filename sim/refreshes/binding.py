"""Definitions bound apart from the engine: for users' statements, and for what tables should hold."""

from dynamic_tables.catalog.ddl import Name
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.graphs import referenced_entities
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.engine import Columns
from dynamic_tables.sql.binding import bind, name_lookup
from dynamic_tables.sql.definitions import Lookup
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.types import Field

# Of names without a schema in statements.
SCHEMA = "s"


class Bindings:
    """Queries of dynamic tables; one stays the same object as long as its names mean the same."""

    def __init__(self) -> None:
        """Nothing is bound yet."""
        self._bound: dict[TableId, tuple[tuple[object, ...], Query]] = {}

    def query(self, state: State, entity: Entity) -> Query:
        """The query of a dynamic table.

        Raises:
            InputError: A name leads nowhere, or its columns do not fit.
        """
        found = referenced_entities(state, entity)
        above = (one for one in found[1:] if one is not None and one.kind is EntityKind.DYNAMIC_TABLE)
        means = (*found, *(self.query(state, one) for one in above))
        known = self._bound.get(entity.identity)
        if known is not None and known[0] == means:
            return known[1]
        query = bind(state, entity, self._columns(state))
        self._bound[entity.identity] = (means, query)
        return query

    def session(self, state: State) -> Lookup:
        """What names in a user's statement stand for."""
        return name_lookup(state, _in_session, self._columns(state))

    def _columns(self, state: State) -> Columns:
        def columns_of(entity: Entity) -> tuple[Field, ...]:
            if entity.kind is EntityKind.DYNAMIC_TABLE:
                return self.query(state, entity).fields
            return tuple(column.field for column in entity.columns)

        return columns_of


def _in_session(name: Name) -> Name:
    """What a name means to a user."""
    return name if "." in name else f"{SCHEMA}.{name}"
