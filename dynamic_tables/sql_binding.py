"""Definitions in SQL, bound to what their names mean in a state of the catalog."""

from collections.abc import Callable
from typing import cast

from dynamic_tables.ddl import Name
from dynamic_tables.entities import Entity, Kind, State
from dynamic_tables.graphs import meaning
from dynamic_tables.queries import Query
from dynamic_tables.sql import Definition, Lookup, Table, View, bound, view
from dynamic_tables.types import Field

# How a name that stands in a definition is found: by the entity's own schema, or as it is.
Qualified = Callable[[Name], Name]


class SqlBinder:
    """Binds definitions; what was bound stays as long as the names in it mean the same."""

    def __init__(self) -> None:
        """Nothing is bound yet."""
        self._bound: dict[str, tuple[tuple[Entity | None, ...], tuple[tuple[Field, ...], ...], Query]] = {}

    def __call__(self, state: State, entity: Entity) -> Query:
        """The query of a dynamic table.

        Raises:
            InputError: A name leads nowhere, or its columns do not fit.
        """
        means = meaning(state, entity)
        above = tuple(
            self(state, source).fields
            for source in means[1:]
            if source is not None and source.kind is Kind.DYNAMIC_TABLE
        )
        known = self._bound.get(entity.identity)
        if known is not None and known[0] == means and known[1] == above:
            return known[2]
        query = bound(definition_of(entity), self.lookup(state, entity.qualified))
        self._bound[entity.identity] = (means, above, query)
        return query

    def lookup(self, state: State, qualified: Qualified) -> Lookup:
        """What names stand for in a state."""

        def find(name: Name) -> Table | View | None:
            entity = state.find(qualified(name))
            if entity is None:
                return None
            if entity.kind is Kind.VIEW:
                return view(definition_of(entity), self.lookup(state, entity.qualified))
            if entity.kind is Kind.DYNAMIC_TABLE:
                return Table(entity.identity, self(state, entity).fields)
            # Rows are handed to backends with the present columns, one after the other.
            return Table(entity.identity, tuple(column.field for column in entity.columns))

        return find


def definition_of(entity: Entity) -> Definition:
    """What an entity of SQL is defined by."""
    return cast(Definition, entity.definition)
