"""Statements of the catalog's log as JSON, and back."""

import json
from typing import Any, get_args

import msgspec

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.ddl import Statement
from dynamic_tables.sql.definitions import EngineDefinition, SqlDefinition

KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Statement)}


def to_json(statement: Statement) -> str:
    """Return a statement as text.

    >>> to_json(ddl.Drop("s.t"))
    '{"kind": "Drop", "name": "s.t"}'
    """
    return json.dumps({"kind": type(statement).__name__, **msgspec.to_builtins(statement)})


def from_json(text: str) -> Statement:
    """Return the statement of a text.

    >>> from_json('{"kind": "Drop", "name": "s.t"}')
    Drop(name='s.t')
    """
    body = json.loads(text)
    kind = KINDS[body.pop("kind")]
    statement: Statement = msgspec.convert(body, kind, dec_hook=definition_of)
    return statement


def definition_of(kind: Any, value: Any) -> Any:
    """Return the definition of a view or a dynamic table, which is in SQL."""
    assert kind is ddl.Definition, "definitions alone are of no type that JSON has"
    if "fields" in value:
        return msgspec.convert(value, EngineDefinition)
    return SqlDefinition(value["text"])
