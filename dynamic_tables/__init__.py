"""Dynamic tables with delayed view semantics: versions, frontiers, refreshes, a scheduler ([D] 3 and 5).

[D] is "Streaming Democratized: Continuous Data Pipelines with Delayed View Semantics and Dynamic Tables",
SIGMOD-Companion 2025.

The public surface is here; a module is imported when one of its names is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamic_tables.bags.bag_backend import BagBackend
    from dynamic_tables.refreshes.accounts import Account
    from dynamic_tables.scheduling.scheduler import Scheduler
    from dynamic_tables.sql.binding import bind, name_lookup
    from dynamic_tables.sql.definitions import SqlDefinition, bind_definition
    from dynamic_tables.sql.relations import BoundTable
    from dynamic_tables.sql.statements import read_statement
    from dynamic_tables.storage.clock import Clock
    from dynamic_tables.values.errors import Refused, UserError
    from dynamic_tables.warehouse.warehouse import Warehouse, init, open

__all__ = [
    "Account",
    "BagBackend",
    "BoundTable",
    "Clock",
    "Refused",
    "Scheduler",
    "SqlDefinition",
    "UserError",
    "Warehouse",
    "bind",
    "bind_definition",
    "init",
    "name_lookup",
    "open",
    "read_statement",
]

_HOMES = {
    "Account": "dynamic_tables.refreshes.accounts",
    "BagBackend": "dynamic_tables.bags.bag_backend",
    "BoundTable": "dynamic_tables.sql.relations",
    "Clock": "dynamic_tables.storage.clock",
    "Refused": "dynamic_tables.values.errors",
    "Scheduler": "dynamic_tables.scheduling.scheduler",
    "SqlDefinition": "dynamic_tables.sql.definitions",
    "UserError": "dynamic_tables.values.errors",
    "Warehouse": "dynamic_tables.warehouse.warehouse",
    "bind": "dynamic_tables.sql.binding",
    "bind_definition": "dynamic_tables.sql.definitions",
    "init": "dynamic_tables.warehouse.warehouse",
    "name_lookup": "dynamic_tables.sql.binding",
    "open": "dynamic_tables.warehouse.warehouse",
    "read_statement": "dynamic_tables.sql.statements",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
