"""Definitions in SQL, bound in a state of the catalog: what the names in them stand for there."""

from collections.abc import Callable
from typing import TypeAlias

from dynamic_tables.catalog.ddl import Name
from dynamic_tables.catalog.entities import Entity, Kind, State
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.engine import Columns
from dynamic_tables.sql.definitions import Definition, Lookup, Table, View, bound, view

# What a name is in full, for who uses it: a definition, by the schema of its table, or a session.
Qualified: TypeAlias = Callable[[Name], Name]


def bind(state: State, entity: Entity, columns: Columns) -> Query:
    """The binder of `refreshing` for definitions in SQL.

    Raises:
        InputError: A name stands for nothing, or nothing that fits.
    """
    return bound(definition_of(entity), names_of(state, entity.qualified, columns))


def names_of(state: State, qualified: Qualified, columns: Columns) -> Lookup:
    """What names stand for."""

    def lookup(name: str) -> Table | View | None:
        entity = state.find(qualified(name))
        if entity is None:
            return None
        if entity.kind is Kind.VIEW:
            return view(definition_of(entity), names_of(state, entity.qualified, columns))
        return Table(entity.identity, columns(entity))

    return lookup


def definition_of(entity: Entity) -> Definition:
    """The definition of a view or a dynamic table, which was written in SQL."""
    assert isinstance(entity.definition, Definition), "every definition of this catalog is in SQL"
    return entity.definition
