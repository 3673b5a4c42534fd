"""Bind definitions without the engine: for users' statements, and for the expected contents of tables."""

from dynamic_tables.catalog.ddl import Name
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.catalog.graphs import referenced_entities
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.engine import Columns
from dynamic_tables.sql.binding import bind, name_lookup
from dynamic_tables.sql.definitions import Lookup
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.types import Field

# The schema of names in statements that name none.
SCHEMA = "s"


class Bindings:
    """The bound queries of dynamic tables; a query stays the same object while its names mean the same."""

    def __init__(self) -> None:
        """Start without any bound query."""
        self._bound: dict[TableId, tuple[tuple[object, ...], Query]] = {}

    def query(self, state: State, entity: Entity) -> Query:
        """Return the bound query of a dynamic table.

        Raises:
            InputError: A name does not resolve, or columns do not fit.
        """
        resolved = referenced_entities(state, entity)
        above = (
            source
            for source in resolved[1:]
            if source is not None and source.kind is EntityKind.DYNAMIC_TABLE
        )
        means = (*resolved, *(self.query(state, source) for source in above))
        cached = self._bound.get(entity.identity)
        if cached is not None and cached[0] == means:
            return cached[1]
        query = bind(state, entity, self._columns(state))
        self._bound[entity.identity] = (means, query)
        return query

    def session_lookup(self, state: State) -> Lookup:
        """Return the lookup of names in a user's statement."""
        return name_lookup(state, _with_schema, self._columns(state))

    def _columns(self, state: State) -> Columns:
        def columns_of(entity: Entity) -> tuple[Field, ...]:
            if entity.kind is EntityKind.DYNAMIC_TABLE:
                return self.query(state, entity).fields
            return tuple(column.field for column in entity.columns)

        return columns_of


def _with_schema(name: Name) -> Name:
    """Add the default schema to a name without one."""
    return name if "." in name else f"{SCHEMA}.{name}"
