"""The schema of a footer as columns: flat ones, fields of structs, elements of arrays.

What a group is read as follows Parquet's rules for lists, its older forms included, as Spark applies
them. Maps, arrays in arrays, repeated columns outside of a list and groups of unknown meaning have no
column here, nor has a name that occurs twice: nothing is known of them.
"""

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pruning.expressions.names import field_name, leaf_name
from pruning.metadata.footers.thrift_layout import Malformed

_REQUIRED, _REPEATED = 0, 2
_CONVERTED_LIST = 3
# How older writers call a repeated group that is the element itself, though it has one field.
_ELEMENT, _ELEMENT_SUFFIX = "array", "_tuple"
# What lies deeper is left out: a damaged footer may claim any depth.
DEPTH_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A primitive column.

    Attributes:
        name: The exact name of a top-level column, else what `names.field_name` and `leaf_name` say.
        chunk: Its place among the chunks of a row group.
        element: Its schema element.
        path: The names of the schema elements that lead to it.
        fields: The names that lead from the row to the value, or to the array that holds it.
        below: The names that lead from the array's element to the value; None where there is no array.
        required: Whether no row can be NULL here.
        inherits: Whether a parent may be NULL, and so the value with it.
        ordered: Whether the file names the order of the column's bounds.
    """

    name: str
    chunk: int
    element: Any
    path: tuple[bytes, ...]
    fields: tuple[str, ...]
    below: tuple[str, ...] | None
    required: bool
    inherits: bool
    ordered: bool

    @property
    def flat(self) -> bool:
        """Whether it is a column at the top."""
        return len(self.path) == 1

    @property
    def repeated(self) -> bool:
        """Whether a row may hold any number of its values."""
        return self.below is not None


class _Children(enum.Enum):
    """What the children of a group are."""

    FIELDS = enum.auto()
    REPETITION = enum.auto()
    ELEMENT = enum.auto()


class _Place(NamedTuple):
    """Where a schema element stands, and what Spark makes of it; `required` takes in its parents."""

    path: tuple[bytes, ...]
    fields: tuple[str, ...]
    below: tuple[str, ...] | None
    required: bool
    children: _Children


@dataclass(slots=True)
class _Open:
    """A group of which some children are still to come; None is a place that means nothing here."""

    left: int
    path: tuple[bytes, ...]
    place: _Place | None


_TOP = _Place(path=(), fields=(), below=None, required=True, children=_Children.FIELDS)


def leaves(schema: list[Any], orders: list[Any]) -> tuple[int, tuple[Leaf, ...]]:
    """How many leaves a schema has, and those of them that are columns.

    Args:
        schema: The elements, parents first.
        orders: The column orders, one a leaf; a partial list cannot be matched with them, and is none.
    Raises:
        Malformed: the groups have other numbers of children than they say.
    """
    seen: Counter[tuple[bytes, ...]] = Counter()
    found, count = [], 0
    for path, place, inherits, element in _walk(schema):
        seen[path] += 1
        if element.type is None:
            continue
        if place is not None:
            found.append((count, place, inherits, element))
        count += 1
    known = [order.TYPE_ORDER is not None for order in orders] if len(orders) == count else [False] * count
    twice = {path for path, times in seen.items() if times > 1}
    return count, tuple(
        _leaf(chunk, place, inherits, element, ordered=known[chunk])
        for chunk, place, inherits, element in found
        if not twice or not any(place.path[:length] in twice for length in range(1, len(place.path) + 1))
    )


def _walk(schema: list[Any]) -> Iterator[tuple[tuple[bytes, ...], _Place | None, bool, Any]]:
    """Each element with its path, what it is, and whether a parent of it may be NULL."""
    open_groups = [_Open(schema[0].num_children or 0, (), _TOP)]
    for element in schema[1:]:
        while open_groups and open_groups[-1].left == 0:
            open_groups.pop()
        if not open_groups:
            raise Malformed("its schema has more columns than it says")
        parent = open_groups[-1]
        parent.left -= 1
        deep = len(parent.path) == DEPTH_MAX
        place = None if deep or parent.place is None else _placed(parent.place, element)
        path = parent.path if deep else (*parent.path, element.name)
        yield path, place, parent.place is not None and not parent.place.required, element
        if element.type is None:
            open_groups.append(_Open(element.num_children or 0, path, place))
    if any(group.left for group in open_groups):
        raise Malformed("its schema has fewer columns than it says")


def _leaf(chunk: int, place: _Place, inherits: bool, element: Any, *, ordered: bool) -> Leaf:
    name = field_name(place.fields)
    return Leaf(
        name=name if place.below is None else leaf_name(name, place.below),
        chunk=chunk,
        element=element,
        path=place.path,
        fields=place.fields,
        below=place.below,
        required=place.required and place.below is None,
        inherits=inherits,
        ordered=ordered,
    )


def _placed(parent: _Place, element: Any) -> _Place | None:
    """What an element is below its parent; None where that is not certain."""
    name = _text(element.name)
    if name is None:
        return None
    match parent.children:
        case _Children.FIELDS:
            return _field(parent, element, name)
        case _Children.REPETITION:
            return _repetition(parent, element, name)
        case _Children.ELEMENT:
            repeated = element.repetition_type == _REPEATED
            return None if repeated else _value(parent, element, parent.fields, ())


def _field(parent: _Place, element: Any, name: str) -> _Place | None:
    # Such a name at the top would read like a path.
    if element.repetition_type == _REPEATED or (not parent.path and name.startswith("`")):
        return None
    if parent.below is None:
        return _value(parent, element, (*parent.fields, name), None)
    return _value(parent, element, parent.fields, (*parent.below, name))


def _repetition(array: _Place, element: Any, name: str) -> _Place | None:
    """The repeated child of a list: the element itself in older forms, else what is around it."""
    if element.repetition_type != _REPEATED:
        return None
    if element.type is not None:
        return _value(array, element, array.fields, ())
    if element.converted_type is not None or element.logicalType is not None:
        return None
    if list_element_is_itself(_text(array.path[-1]), name, element):
        return _value(array, element, array.fields, ())
    path = (*array.path, element.name)
    return _Place(path, array.fields, (), required=False, children=_Children.ELEMENT)


def list_element_is_itself(array: str | None, name: str | None, repeated: Any) -> bool:
    """Return whether the repeated group in a list is the element, as in older forms."""
    return repeated.num_children != 1 or name in (_ELEMENT, (array or "") + _ELEMENT_SUFFIX)


def _value(
    parent: _Place, element: Any, fields: tuple[str, ...], below: tuple[str, ...] | None
) -> _Place | None:
    """A primitive, a struct or a list as a value; None for any other group."""
    children = _Children.FIELDS if element.type is not None else _children(element)
    if children is None or (children is _Children.REPETITION and below is not None):
        return None
    required = parent.required and element.repetition_type == _REQUIRED
    return _Place((*parent.path, element.name), fields, below, required, children)


def _children(group: Any) -> _Children | None:
    """What the children of a group are by its annotation, of which writers give one form or both."""
    if group.converted_type is None and group.logicalType is None:
        return _Children.FIELDS
    return _Children.REPETITION if is_list(group) else None


def is_list(group: Any) -> bool:
    """Return whether a group is annotated as a list, in one form or both, and has one child as a list has."""
    converted, logical = group.converted_type, group.logicalType
    annotated = converted is not None or logical is not None
    of_list = converted in (None, _CONVERTED_LIST) and (logical is None or logical.LIST is not None)
    return annotated and of_list and group.num_children == 1


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
