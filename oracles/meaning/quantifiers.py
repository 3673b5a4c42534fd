"""Arrays, their elements and maps on a row, for `oracles.meaning.brute_force`.

A row holds an array as a tuple under its column's name; an element is a value, a mapping from the names of a
struct's fields, or None. It holds a map as a tuple of pairs of a key, which is no NaN, and such a value.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pruning.expressions.names import leaf_name
from pruning.expressions.trees import Element, Function
from pruning.expressions.types import Value

Elements: TypeAlias = tuple[Any, ...]
RowValues: TypeAlias = Mapping[str, Value | Elements | None]


def truths_of_elements(
    array: str, row: RowValues, truth: Callable[[RowValues], Value | None]
) -> Iterable[Any] | None:
    """Return the truth of a condition on each element of a row's array; None if the array is NULL."""
    elements = row[array]
    if elements is None:
        return None
    assert isinstance(elements, tuple)
    return (truth({**row, leaf_name(array, ()): element}) for element in elements)


def item_value(
    function: Function, element: Element, row: RowValues, index: Value | None = None
) -> Value | None:
    """Return the element of a row's array that a function picks, or its field; None where there is none."""
    elements = row[element.array]
    if elements is None:
        return None
    assert isinstance(elements, tuple)
    values = [_leaf(item, element.fields) for item in elements]
    if function is Function.ELEMENT_AT:
        place = 0 if index is None else int(index)
        return values[place - (place > 0)] if 1 <= abs(place) <= len(values) else None
    present = [value for value in values if value is not None]
    greatest = function is Function.ARRAY_MAX
    return sorted(present, key=_rank)[-1 if greatest else 0] if present else None


def map_value(element: Element, row: RowValues, key: Value | None) -> Value | None:
    """Return the value of the first entry of a row's map with a key, or its field; None if there is none."""
    entries = row[element.array]
    if entries is None or key is None:
        return None
    assert isinstance(entries, tuple)
    return next((_leaf(held, element.fields) for own, held in entries if own == key), None)


def _rank(value: Value) -> tuple[bool, Value]:
    """Return the place of a value in Spark's order, which ends with NaN."""
    return (True, 0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _leaf(cell: Any, fields: tuple[str, ...]) -> Value | None:
    for field in fields:
        cell = None if cell is None else cell[field]
    value: Value | None = cell
    return value


def element_value(element: Element, row: RowValues) -> Value | None:
    """Return the value of an element's leaf, from the element that `truths_of_elements` put into the row."""
    return _leaf(row[leaf_name(element.array, ())], element.fields)
