"""Worlds as JSON and back, so that they can be kept in files."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    SetOperation,
    Subquery,
    Window,
)
from strategies.engines.worlds import World

_CLASSES = {
    class_.__name__: class_
    for class_ in (
        World,
        StoredTable,
        StoredLayout,
        Question,
        Relation,
        Join,
        SetOperation,
        Window,
        Aggregate,
        Subquery,
        Key,
        Call,
        Column,
        Literal,
    )
}
# A JSON list is a tuple here; what JSON lacks is an object with one of these names, which no field has.
_CLASS, _SET, _MAP = "$class", "$set", "$map"


def world_json(world: World) -> Json:
    """Return a world as JSON."""
    return _to_json(world)


def world_from_json(document: Json) -> World:
    """Return the world of `world_json`.

    Raises:
        ValueError: the document is no world.
    """
    try:
        world = _from_json(document)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no world: {error}") from error
    if not isinstance(world, World):
        raise ValueError("no world")
    return world


def _to_json(node: Any) -> Json:
    """Return a part of a world as JSON; fields that have their default are left out."""
    if is_dataclass(node) and not isinstance(node, type):
        parts = {field.name: getattr(node, field.name) for field in fields(node)}
        defaults = {field.name: field.default for field in fields(node)}
        own = {name: _to_json(part) for name, part in parts.items() if part != defaults[name]}
        return {_CLASS: type(node).__name__, **own}
    if isinstance(node, Mapping):
        return {_MAP: [[key, _to_json(value)] for key, value in node.items()]}
    if isinstance(node, frozenset):
        return {_SET: sorted(node)}
    return [_to_json(part) for part in node] if isinstance(node, (tuple, list)) else node


def _from_json(node: Json) -> Any:
    """Return the part of a world that JSON describes."""
    if isinstance(node, list):
        return tuple(map(_from_json, node))
    if not isinstance(node, dict):
        return node
    if _SET in node:
        return frozenset(node[_SET])
    if _MAP in node:
        return {key: _from_json(value) for key, value in node[_MAP]}
    parts = {name: _from_json(part) for name, part in node.items() if name != _CLASS}
    return _CLASSES[node[_CLASS]](**parts)
