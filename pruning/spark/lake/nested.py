"""The names of leaves below a table's columns, converted from the columns' types and back to them.

Block metadata knows a struct's field as "`a`.`b`", an array's elements as "`xs`[]" or "`xs`[].`price`", and
a map's keys and values as "`m`{key}" and "`m`{value}", as `field_name` and `leaf_name` write them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pruning.expressions.names import Inside, field_name, leaf_name
from pruning.expressions.type_names import type_to_json
from pruning.expressions.types import Type
from pruning.metadata.footers.other_columns import (
    SparkType,
    array_type,
    map_type,
    struct_type,
    unite_columns,
)
from pruning.metadata.table.schema import is_nested
from pruning.spark.jvm.datatypes import element_of, fields_of, map_parts_of

_MARKS = "|".join(re.escape(inside.value) for inside in Inside)
_STEP = re.compile(rf"`((?:[^`]|``)+)`({_MARKS})?(?:\.(?=`)|$)")

# A step down: into the field of that name, or into what an array or a map holds.
_Step: TypeAlias = str | Inside
_Tree: TypeAlias = dict[_Step, "_Tree | Type"]


def leaf_types(columns: Mapping[str, Type]) -> dict[str, Type]:
    """Return the types of all leaves that block metadata may have, by its names for them.

    Args:
        columns: The types of top-level columns, by exact name.
    """
    leaves: dict[str, Type] = {}
    for name, type_ in columns.items():
        # Block metadata has no column of such a name, because it reads as the name of a field.
        if is_nested(name):
            continue
        if type_.has_bounds:
            leaves[name] = type_
        else:
            leaves.update(_leaves_below((name,), type_))
    return leaves


def _leaves_below(path: tuple[str, ...], type_: Type) -> Iterator[tuple[str, Type]]:
    element, entry = element_of(type_), map_parts_of(type_)
    if element is not None:
        yield from _inner_leaves(field_name(path), (), element, Inside.ELEMENTS)
    if entry is not None:
        for inside, part in zip((Inside.KEYS, Inside.VALUES), entry, strict=True):
            yield from _inner_leaves(field_name(path), (), part, inside)
    for name, below in fields_of(type_):
        yield from _leaves_below((*path, name), below)
    if type_.has_bounds:
        yield field_name(path), type_


def _inner_leaves(
    column: str, fields: tuple[str, ...], type_: Type, inside: Inside
) -> Iterator[tuple[str, Type]]:
    for name, below in fields_of(type_):
        yield from _inner_leaves(column, (*fields, name), below, inside)
    if type_.has_bounds:
        yield leaf_name(column, fields, inside), type_


def row_type(columns: Mapping[str, Type], others: Mapping[str, SparkType] | None = None) -> SparkType:
    """Return the type of a table's rows in Spark's JSON; structs, arrays and maps are rebuilt from leaves.

    A name that cannot be parsed, and one that contradicts an earlier one, is left out.

    Args:
        columns: The types of the leaves, by their names in block metadata.
        others: The types of columns with parts that have no metadata, by their exact names.
    """
    tree: _Tree = {}
    for name, type_ in columns.items():
        _insert(tree, _steps(name), type_)
    # Where both know a column, its leaves with bounds keep the types of the bounds.
    return struct_type(
        unite_columns([{str(name): _type_json(below) for name, below in tree.items()}, others or {}])
    )


def top_name(name: str) -> str:
    """Return the name of the column that a leaf is in, by the leaf's name in block metadata."""
    steps = _steps(name)
    return str(steps[0]) if steps else name


def _steps(name: str) -> tuple[_Step, ...]:
    """Return the steps from the table to a leaf; empty where the name is not one of a leaf."""
    if not is_nested(name):
        return (name,)
    steps: list[_Step] = []
    place = 0
    while place < len(name):
        match = _STEP.match(name, place)
        if match is None:
            return ()
        steps += [match[1].replace("``", "`"), *([Inside(match[2])] if match[2] else [])]
        place = match.end()
    # A leaf is below at most one array or map.
    return tuple(steps) if len(steps) > 1 and sum(map(_is_inside, steps)) < 2 else ()


def _is_inside(step: _Step) -> bool:
    return isinstance(step, Inside)


def _kind(step: _Step) -> type | Inside:
    """Return what a step goes into: a struct, an array or a map."""
    if isinstance(step, str):
        return str
    return Inside.VALUES if step is Inside.KEYS else step


def _insert(tree: _Tree, steps: tuple[_Step, ...], type_: Type) -> None:
    """Add a leaf to a tree, unless it contradicts an earlier one."""
    above, below = _walk_existing(tree, steps)
    if not below or isinstance(above, Type) or any(_kind(step) != _kind(below[0]) for step in above):
        return
    for step in below[:-1]:
        deeper: _Tree = {}
        above[step] = deeper
        above = deeper
    above[below[-1]] = type_


def _walk_existing(tree: _Tree, steps: tuple[_Step, ...]) -> tuple[_Tree | Type, tuple[_Step, ...]]:
    """Follow steps down a tree as far as they exist; return the place reached and the remaining steps."""
    place: _Tree | Type = tree
    for taken, step in enumerate(steps):
        if isinstance(place, Type) or step not in place:
            return place, steps[taken:]
        place = place[step]
    return place, ()


def _type_json(below: _Tree | Type) -> SparkType:
    if isinstance(below, Type):
        return type_to_json(below)
    if Inside.ELEMENTS in below:
        return array_type(_type_json(below[Inside.ELEMENTS]))
    if Inside.KEYS in below or Inside.VALUES in below:
        # A part without a leaf is void until the type of the whole column says more.
        parts = (
            _type_json(below[part]) if part in below else "void" for part in (Inside.KEYS, Inside.VALUES)
        )
        return map_type(*parts)
    return struct_type({str(name): _type_json(part) for name, part in below.items()})
