"""Definitions of dynamic tables and views in SQL, and their binding to tables."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from dynamic_tables.maintenance.algebra import Opaque
from dynamic_tables.maintenance.narrowing import narrow_relation
from dynamic_tables.maintenance.obstacles import obstacle
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.dialect import DefinitionDialect
from dynamic_tables.sql.engine_text import time_calls, with_view_names
from dynamic_tables.sql.names import tables_read
from dynamic_tables.sql.relations import BoundTable, BoundView, Lookup, Names, bind_query, named_relation
from dynamic_tables.values.types import Field
from pruning.errors import InputError

__all__ = [
    "BoundTable",
    "BoundView",
    "EngineDefinition",
    "Lookup",
    "SqlDefinition",
    "bind_definition",
    "bind_engine_definition",
    "bind_view",
    "parse_statement",
]

DIALECT = "snowflake"
# Errors of the parser over functions without the arguments that it expects.
PARSER_ERRORS = (AttributeError, LookupError, TypeError, ValueError)


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Any:
    """Parse one statement of SQL into its tree.

    Raises:
        InputError: The text is not SQL, or holds several statements.
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, read=DefinitionDialect) if tree is not None]
    except ParseError as error:
        raise InputError(f"this is no SQL: {problem_of(error)}") from None
    except SqlglotError as error:
        raise InputError(f"this is no SQL: {error}") from None
    except PARSER_ERRORS:
        raise InputError("this is no SQL: a function has no arguments that it needs") from None
    if len(trees) != 1:
        raise InputError(f"one statement is expected, not {len(trees)}")
    return trees[0]


def problem_of(error: ParseError) -> str:
    """Return the first problem that the parser reports, and its place; no names of the parser's classes."""
    details = error.errors[0] if error.errors else {}
    what = str(details.get("description") or "a part is missing").partition("<Token")[0].strip()
    if what.startswith("Required keyword"):
        what = "a part is missing"
    return f"{what} in line {details.get('line')}, column {details.get('col')}"


@dataclass(frozen=True)
class SqlDefinition:
    """The query of a view or a dynamic table, as written in SQL."""

    text: str

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The names that the query reads, each once, as "schema.table" or the table alone."""
        return tuple(dict.fromkeys(tables_read(self.tree)))

    @property
    def tree(self) -> Any:
        """The parsed query, which callers must not change."""
        tree = parse_statement(self.text)
        if not isinstance(tree, exp.Query):
            raise InputError("a definition has to be a SELECT")
        return tree


@dataclass(frozen=True)
class EngineDefinition:
    """The query of a dynamic table in the SQL of the engine that computes it, always in full.

    Attributes:
        text: The query.
        reads: The names that it reads, each once.
        fields: The columns that the engine says it gives.
        obstacle: The reason for which it is not bound here.
    """

    text: str
    reads: tuple[str, ...]
    fields: tuple[Field, ...]
    obstacle: str


def bind_engine_definition(definition: EngineDefinition, lookup: Lookup) -> Query:
    """Return the query that a definition means now.

    Raises:
        InputError: A name does not exist.
    """
    names = Names(lookup, {})
    children = tuple(narrow_relation(named_relation(name, names)) for name in definition.reads)
    text, views = with_view_names(definition.text, parse_statement(definition.text))
    tables = tuple(views.get(name, name) for name in definition.reads)
    opaque = Opaque(text, tables, children, definition.fields, time_calls(text))
    return Query(opaque, definition.obstacle)


def bind_view(definition: SqlDefinition, lookup: Lookup) -> BoundView:
    """Return the view of a definition, whose names `lookup` resolves."""
    return BoundView(definition.tree, lookup)


def bind_definition(definition: SqlDefinition, lookup: Lookup) -> Query:
    """Return the query that a definition means now.

    Raises:
        InputError: A name does not exist, or types do not fit.
        Refused: The query has a construct that no refresh mode supports; the error names it.

    >>> from dynamic_tables import BagBackend
    >>> from dynamic_tables.values.types import INTEGER, TEXT, Field
    >>> tables = {"orders": BoundTable("t1", (Field("id", INTEGER), Field("city", TEXT)))}
    >>> definition = SqlDefinition("SELECT city, count(*) AS n FROM orders GROUP BY city")
    >>> query = bind_definition(definition, tables.get)
    >>> BagBackend().full(query, {"t1": {"r1": (1, "Bern"), "r2": (2, "Bern")}})
    {'g:s4:Bern': ('Bern', 2)}
    """
    relation = narrow_relation(bind_query(definition.tree, Names(lookup, {})))
    names = [field.name for field in relation.fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice}: give one another name by AS")
    return Query(relation, obstacle(relation))
