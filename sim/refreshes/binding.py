"""Definitions in SQL, bound in states of the catalog and kept, apart from what an engine keeps."""

from functools import partial

from dynamic_tables.binding import Qualified, bind, names_of
from dynamic_tables.entities import Entity, Kind, State
from dynamic_tables.graphs import meaning
from dynamic_tables.queries import Query
from dynamic_tables.sql import Lookup
from dynamic_tables.types import Field


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
        dynamic = (source for source in means[1:] if source and source.kind is Kind.DYNAMIC_TABLE)
        above = tuple(self.columns(state, source) for source in dynamic)
        known = self._bound.get(entity.identity)
        if known is not None and known[0] == means and known[1] == above:
            return known[2]
        query = bind(state, entity, partial(self.columns, state))
        self._bound[entity.identity] = (means, above, query)
        return query

    def columns(self, state: State, entity: Entity) -> tuple[Field, ...]:
        """The columns of a table; of a dynamic table those of its query."""
        if entity.kind is Kind.DYNAMIC_TABLE:
            return self(state, entity).fields
        return tuple(column.field for column in entity.columns)

    def lookup(self, state: State, qualified: Qualified) -> Lookup:
        """What names stand for in a state."""
        return names_of(state, qualified, partial(self.columns, state))
