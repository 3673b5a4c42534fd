"""Names of a warehouse: those without a schema, and those that columns may have."""

from collections.abc import Sequence
from functools import partial

from dynamic_tables.catalog.entities import Entity, EntityKind
from dynamic_tables.sql.binding import name_lookup
from dynamic_tables.sql.definitions import Lookup
from dynamic_tables.stores.arrow_rows import HIDDEN
from dynamic_tables.warehouse.accounts import WarehouseAccount
from pruning.errors import InputError

# The schema of names without one.
SCHEMA = "main"


def qualify(name: str, schema: str = SCHEMA) -> str:
    """Return a name with its schema.

    >>> qualify("late"), qualify("s.late")
    ('main.late', 's.late')
    """
    return name if "." in name else f"{schema}.{name}"


def lookup_in(account: WarehouseAccount, schema: str = SCHEMA) -> Lookup:
    """Return a function that resolves names now; those without a schema are of this one."""
    state = account.catalog.state
    return name_lookup(state, partial(qualify, schema=schema), account.engine.columns_in(state))


def dynamic_table(account: WarehouseAccount, name: str) -> Entity:
    """Return a dynamic table.

    Raises:
        InputError: There is none of this name.
    """
    entity = account.catalog.state.get(qualify(name))
    if entity.kind is not EntityKind.DYNAMIC_TABLE:
        raise InputError(f"{entity.name} is a {entity.kind.value}; only dynamic tables are maintained")
    return entity


def with_files(account: WarehouseAccount, name: str) -> Entity:
    """Return a table that has rows of its own.

    Raises:
        InputError: There is none of this name, or it is a view.
    """
    entity = account.catalog.state.get(qualify(name))
    if entity.kind is EntityKind.VIEW:
        raise InputError(f"{entity.name} is a view and has no files")
    return entity


def check_names(names: Sequence[str]) -> None:
    """Raise InputError unless names of columns can stand in files: readers do not tell their case apart."""
    folded = [name.lower() for name in names]
    for name in names:
        if name.lower() in HIDDEN:
            raise InputError(f"a column cannot be called {name}, which each table has: give it another name")
        if folded.count(name.lower()) > 1:
            raise InputError(f"two columns are called {name}: give one another name")
