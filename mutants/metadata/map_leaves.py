"""Ways to read maps from the schema of a footer that are wrong in one way each."""

from collections.abc import Mapping
from typing import Any

from mutants.replacements import Replacement
from pruning.expressions.names import Inside, leaf_name
from pruning.metadata.footers import nested


def _any_group_of_one(group: Any) -> bool:
    """Takes a group for a map by its shape, whatever its annotation says."""
    return bool(group.num_children == 1)


def _as_pairs(column: str, fields: tuple[str, ...], inside: Inside = Inside.ELEMENTS) -> str:
    """Names keys and values as an array of structs of such fields would be named."""
    names = {Inside.KEYS: ("key",), Inside.VALUES: ("value",)}.get(inside, ())
    return leaf_name(column, (*names, *fields))


def _any_entries(parent: Any, element: Any) -> Any:
    """Takes a repeated group of any number of children for the entries of a map."""
    return nested._Place(
        (*parent.path, element.name), parent.fields, (), required=False, children=nested._ChildrenKind.ENTRY
    )


def _last_first(parent: Any, element: Any, inside: Inside) -> Any:
    """Takes the first child of an entry for the value, the second for the key."""
    return _CHILD_PLACE(parent, element, Inside.VALUES if inside is Inside.KEYS else Inside.KEYS)


_CHILD_PLACE = nested._child_place
MUTANTS: Mapping[str, Replacement] = {
    "any group of one child is a map": Replacement(nested, "is_map", _any_group_of_one),
    "entries are an array of structs": Replacement(nested, "leaf_name", _as_pairs),
    "entries of any number of children": Replacement(nested, "_entry_place", _any_entries),
    "the value comes first": Replacement(nested, "_child_place", _last_first),
}
