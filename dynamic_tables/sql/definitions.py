"""Definitions of dynamic tables and views in SQL, bound to what their names stand for."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from dynamic_tables.maintenance.narrowing import narrowed
from dynamic_tables.maintenance.obstacles import obstacle
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.names import tables_read
from dynamic_tables.sql.relations import Lookup, Names, Table, View, bound_query
from pruning.errors import InputError

__all__ = ["Definition", "Lookup", "Table", "View", "bound", "parsed", "view"]

DIALECT = "snowflake"


@lru_cache(maxsize=4096)
def parsed(text: str) -> Any:
    """The tree of one statement.

    Raises:
        InputError: It is no SQL, or several statements.
    """
    try:
        found = [one for one in sqlglot.parse(text, read=DIALECT) if one is not None]
    except ParseError as error:
        told = error.errors[0]
        place = f"in line {told.get('line')}, column {told.get('col')}"
        what = str(told.get("description")).partition("<Token")[0].strip()
        raise InputError(f"this is no SQL: {what} {place}") from None
    except SqlglotError as error:
        raise InputError(f"this is no SQL: {error}") from None
    if len(found) != 1:
        raise InputError(f"one statement is expected, not {len(found)}")
    return found[0]


@dataclass(frozen=True)
class Definition:
    """The query of a view or a dynamic table, as written."""

    text: str

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The names that it reads, each once, as "schema.table" or the table alone."""
        return tuple(dict.fromkeys(tables_read(self.tree)))

    @property
    def tree(self) -> Any:
        """Its tree, which nobody changes."""
        found = parsed(self.text)
        if not isinstance(found, exp.Query):
            raise InputError("a definition has to be a SELECT")
        return found


def view(definition: Definition, lookup: Lookup) -> View:
    """What the name of a view stands for, whose own names mean what `lookup` says."""
    return View(definition.tree, lookup)


def bound(definition: Definition, lookup: Lookup) -> Query:
    """The query that a definition means now.

    Raises:
        InputError: A name stands for nothing, or types do not fit.
        Refused: It has a construct that no mode supports, which the error names.
    """
    relation = narrowed(bound_query(definition.tree, Names(lookup, {})))
    names = [field.name for field in relation.fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice}: give one another name by AS")
    return Query(relation, obstacle(relation))
