"""Binding of definitions in SQL to the tables of a state of the catalog."""

from collections.abc import Callable
from typing import TypeAlias

from dynamic_tables.catalog.ddl import Name
from dynamic_tables.catalog.entities import Entity, EntityKind, State
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.engine import Columns
from dynamic_tables.sql.definitions import (
    BoundTable,
    BoundView,
    EngineDefinition,
    Lookup,
    SqlDefinition,
    bind_definition,
    bind_engine_definition,
    bind_view,
)

# Returns a name with its schema: that of a definition's table, or that of a session.
Qualified: TypeAlias = Callable[[Name], Name]


def bind(state: State, entity: Entity, columns: Columns) -> Query:
    """Bind the definition of a table in a state; this is the binder of `refreshes.engine` for SQL.

    Raises:
        InputError: A name does not exist, or its table does not fit.

    >>> from dynamic_tables import Account, BagBackend, Clock, read_statement
    >>> account, clock = Account(backend=BagBackend(), bind=bind), Clock(0)
    >>> statement = read_statement("CREATE TABLE s.orders (id INTEGER, city TEXT)", {}.get)
    >>> event = account.execute(statement, clock=clock, wall_us=0)
    >>> state = account.catalog.state
    >>> lookup = name_lookup(state, str, account.engine.columns_in(state))
    >>> statement = read_statement(
    ...     "CREATE DYNAMIC TABLE s.cities TARGET_LAG = '5 minutes' WAREHOUSE = w"
    ...     " AS SELECT DISTINCT city FROM s.orders",
    ...     lookup,
    ... )
    >>> event = account.execute(statement, clock=clock, wall_us=0)
    >>> state = account.catalog.state
    >>> query = bind(state, state.get("s.cities"), account.engine.columns_in(state))
    >>> query.columns, query.incremental
    (('city',), True)
    """
    lookup = name_lookup(state, entity.qualify, columns)
    if isinstance(entity.definition, EngineDefinition):
        return bind_engine_definition(entity.definition, lookup)
    return bind_definition(definition_of(entity), lookup)


def name_lookup(state: State, qualified: Qualified, columns: Columns) -> Lookup:
    """Return a function that looks up the tables and views of a state by name.

    >>> from dynamic_tables import Account, BagBackend, Clock, read_statement
    >>> account, clock = Account(backend=BagBackend(), bind=bind), Clock(0)
    >>> statement = read_statement("CREATE TABLE s.orders (id INTEGER, city TEXT)", {}.get)
    >>> event = account.execute(statement, clock=clock, wall_us=0)
    >>> state = account.catalog.state
    >>> lookup = name_lookup(state, str, account.engine.columns_in(state))
    >>> [field.name for field in lookup("s.orders").fields]
    ['id', 'city']
    >>> lookup("s.customers") is None
    True
    """

    def lookup(name: str) -> BoundTable | BoundView | None:
        entity = state.find(qualified(name))
        if entity is None:
            return None
        if entity.kind is EntityKind.VIEW:
            return bind_view(definition_of(entity), name_lookup(state, entity.qualify, columns))
        return BoundTable(entity.identity, columns(entity))

    return lookup


def definition_of(entity: Entity) -> SqlDefinition:
    """Return the definition of a view or a dynamic table, which is always in SQL."""
    assert isinstance(entity.definition, SqlDefinition), "every definition of this catalog is in SQL"
    return entity.definition
