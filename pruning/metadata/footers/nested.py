"""The columns of a footer's schema: flat columns, fields of structs, elements of arrays, entries of maps.

Groups are interpreted by Parquet's rules for lists and maps, including the older forms, as Spark applies
them. Arrays and maps in one another, repeated columns outside of them, groups of unknown meaning and names
that occur twice are left out.
"""

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pruning.expressions.names import Inside, field_name, leaf_name
from pruning.metadata.footers.thrift_layout import Malformed

_REQUIRED, _REPEATED = 0, 2
_CONVERTED_LIST = 3
_CONVERTED_MAPS = (1, 2)
# Older writers annotate the repeated group of a map too.
_CONVERTED_ENTRY = 2
# Older writers' names for a repeated group that is the element itself, though it has one field.
_ELEMENT, _ELEMENT_SUFFIX = "array", "_tuple"
# Deeper columns are left out, because a damaged footer may claim any depth.
DEPTH_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLeaf:
    """A primitive column.

    Attributes:
        name: The exact name of a top-level column, else the name by `names.field_name` or `leaf_name`.
        chunk: Its index among the chunks of a row group.
        element: Its schema element.
        path: The names of the schema elements that lead to it.
        fields: The names that lead from the row to the value, or to the array or map that holds it.
        below: The names that lead from what the array or map holds to the value; None if there is neither.
        inside: The values, of those that the array or map holds; None if there is neither.
        required: True if no row can be NULL here.
        inherits: True if a parent may be NULL, which makes the value NULL.
        ordered: True if the file names the order of the column's bounds.
    """

    name: str
    chunk: int
    element: Any
    path: tuple[bytes, ...]
    fields: tuple[str, ...]
    below: tuple[str, ...] | None
    inside: Inside | None
    required: bool
    inherits: bool
    ordered: bool

    @property
    def is_flat(self) -> bool:
        """True for a top-level column."""
        return len(self.path) == 1

    @property
    def is_repeated(self) -> bool:
        """True if a row may hold any number of values."""
        return self.below is not None


class _ChildrenKind(enum.Enum):
    """The roles of a group's children.

    They are fields, the repeated group of a list or a map, the list's element, or the map's key and value.
    """

    FIELDS = enum.auto()
    REPETITION = enum.auto()
    ELEMENT = enum.auto()
    ENTRIES = enum.auto()
    ENTRY = enum.auto()


class _Place(NamedTuple):
    """A schema element's position, and the column Spark makes of it; `required` includes its parents."""

    path: tuple[bytes, ...]
    fields: tuple[str, ...]
    below: tuple[str, ...] | None
    required: bool
    children: _ChildrenKind
    inside: Inside | None = None


@dataclass(slots=True)
class _OpenGroup:
    """A group whose children are being read; `place` is None if the group has no meaning here."""

    children_left: int
    path: tuple[bytes, ...]
    place: _Place | None


_TOP = _Place(path=(), fields=(), below=None, required=True, children=_ChildrenKind.FIELDS)


def leaves(schema: list[Any], orders: list[Any]) -> tuple[int, tuple[SchemaLeaf, ...]]:
    """Return the number of leaves of a schema, and the leaves that are columns.

    Args:
        schema: The elements, parents first.
        orders: The column orders, one per leaf; a list of another length is ignored.
    Raises:
        Malformed: the groups do not have the numbers of children that they claim.
    """
    path_counts: Counter[tuple[bytes, ...]] = Counter()
    columns, count = [], 0
    for path, place, inherits, element in _walk(schema):
        path_counts[path] += 1
        if element.type is None:
            continue
        if place is not None:
            columns.append((count, place, inherits, element))
        count += 1
    is_ordered = (
        [order.TYPE_ORDER is not None for order in orders] if len(orders) == count else [False] * count
    )
    repeated_paths = {path for path, times in path_counts.items() if times > 1}
    return count, tuple(
        _leaf(chunk, place, inherits, element, ordered=is_ordered[chunk])
        for chunk, place, inherits, element in columns
        if not repeated_paths
        or not any(place.path[:length] in repeated_paths for length in range(1, len(place.path) + 1))
    )


def _walk(schema: list[Any]) -> Iterator[tuple[tuple[bytes, ...], _Place | None, bool, Any]]:
    """Yield each element's path, its place, and whether a parent may be NULL, with the element."""
    open_groups = [_OpenGroup(schema[0].num_children or 0, (), _TOP)]
    for element in schema[1:]:
        while open_groups and open_groups[-1].children_left == 0:
            open_groups.pop()
        if not open_groups:
            raise Malformed("its schema has more columns than it says")
        parent = open_groups[-1]
        parent.children_left -= 1
        deep = len(parent.path) == DEPTH_MAX
        inside = Inside.KEYS if parent.children_left else Inside.VALUES
        place = None if deep or parent.place is None else _child_place(parent.place, element, inside)
        path = parent.path if deep else (*parent.path, element.name)
        yield path, place, parent.place is not None and not parent.place.required, element
        if element.type is None:
            open_groups.append(_OpenGroup(element.num_children or 0, path, place))
    if any(group.children_left for group in open_groups):
        raise Malformed("its schema has fewer columns than it says")


def _leaf(chunk: int, place: _Place, inherits: bool, element: Any, *, ordered: bool) -> SchemaLeaf:
    name = field_name(place.fields)
    return SchemaLeaf(
        name=name
        if place.below is None or place.inside is None
        else leaf_name(name, place.below, place.inside),
        chunk=chunk,
        element=element,
        path=place.path,
        fields=place.fields,
        below=place.below,
        inside=place.inside,
        required=place.required and place.below is None,
        inherits=inherits,
        ordered=ordered,
    )


def _child_place(parent: _Place, element: Any, inside: Inside) -> _Place | None:
    """Return the place of an element below its parent; None if it is not certain.

    Args:
        inside: The keys if the element is not the last child of its parent, else the values.
    """
    name = _text(element.name)
    if name is None:
        return None
    match parent.children:
        case _ChildrenKind.FIELDS:
            return _field_place(parent, element, name)
        case _ChildrenKind.REPETITION:
            return _repetition_place(parent, element, name)
        case _ChildrenKind.ELEMENT:
            repeated = element.repetition_type == _REPEATED
            return None if repeated else _value_place(parent, element, parent.fields, (), Inside.ELEMENTS)
        case _ChildrenKind.ENTRIES:
            return _entry_place(parent, element)
        case _ChildrenKind.ENTRY:
            repeated = element.repetition_type == _REPEATED
            return None if repeated else _value_place(parent, element, parent.fields, (), inside)


def _field_place(parent: _Place, element: Any, name: str) -> _Place | None:
    # A top-level name with a leading backtick would read like a path.
    if element.repetition_type == _REPEATED or (not parent.path and name.startswith("`")):
        return None
    if parent.below is None:
        return _value_place(parent, element, (*parent.fields, name), None, None)
    return _value_place(parent, element, parent.fields, (*parent.below, name), parent.inside)


def _repetition_place(array: _Place, element: Any, name: str) -> _Place | None:
    """Return the place of a list's repeated child: the element in older forms, else the group around it."""
    if element.repetition_type != _REPEATED:
        return None
    if element.type is not None:
        return _value_place(array, element, array.fields, (), Inside.ELEMENTS)
    if element.converted_type is not None or element.logicalType is not None:
        return None
    if list_element_is_itself(_text(array.path[-1]), name, element):
        return _value_place(array, element, array.fields, (), Inside.ELEMENTS)
    path = (*array.path, element.name)
    return _Place(path, array.fields, (), required=False, children=_ChildrenKind.ELEMENT)


def _entry_place(parent: _Place, element: Any) -> _Place | None:
    """Return the place of a map's repeated group, whose two children are the key and the value, in order."""
    is_annotated = element.converted_type not in (None, _CONVERTED_ENTRY) or element.logicalType is not None
    if element.repetition_type != _REPEATED or element.num_children != 2 or is_annotated:
        return None
    path = (*parent.path, element.name)
    return _Place(path, parent.fields, (), required=False, children=_ChildrenKind.ENTRY)


def list_element_is_itself(array: str | None, name: str | None, repeated: Any) -> bool:
    """Tell whether the repeated group in a list is the element itself, as in older forms."""
    return repeated.num_children != 1 or name in (_ELEMENT, (array or "") + _ELEMENT_SUFFIX)


def _value_place(
    parent: _Place,
    element: Any,
    fields: tuple[str, ...],
    below: tuple[str, ...] | None,
    inside: Inside | None,
) -> _Place | None:
    """Return the place of a primitive, a struct, a list or a map; None for any other group."""
    children = _ChildrenKind.FIELDS if element.type is not None else _children_kind(element)
    if children is None or (children is not _ChildrenKind.FIELDS and below is not None):
        return None
    required = parent.required and element.repetition_type == _REQUIRED
    return _Place((*parent.path, element.name), fields, below, required, children, inside)


def _children_kind(group: Any) -> _ChildrenKind | None:
    """Return the role of a group's children; writers give the newer annotation, the older one, or both."""
    if group.converted_type is None and group.logicalType is None:
        return _ChildrenKind.FIELDS
    if is_map(group):
        return _ChildrenKind.ENTRIES
    return _ChildrenKind.REPETITION if is_list(group) else None


def is_map(group: Any) -> bool:
    """Tell whether a group has one child and is annotated as a map, by either annotation or both."""
    converted, logical = group.converted_type, group.logicalType
    annotated = converted is not None or logical is not None
    of_map = (converted is None or converted in _CONVERTED_MAPS) and (
        logical is None or logical.MAP is not None
    )
    return annotated and of_map and group.num_children == 1


def is_list(group: Any) -> bool:
    """Tell whether a group has one child and is annotated as a list, by either annotation or both."""
    converted, logical = group.converted_type, group.logicalType
    annotated = converted is not None or logical is not None
    of_list = converted in (None, _CONVERTED_LIST) and (logical is None or logical.LIST is not None)
    return annotated and of_list and group.num_children == 1


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
