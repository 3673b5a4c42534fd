"""Arrays and their elements on a row, for `oracles.meaning.brute_force`.

A row holds an array as a tuple under its column's name; an element is a value, a mapping from the names of a
struct's fields, or None.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pruning.expressions.names import leaf_name
from pruning.expressions.trees import Element
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


def element_value(element: Element, row: RowValues) -> Value | None:
    """Return the value of an element's leaf, from the element that `truths_of_elements` put into the row."""
    cell: Any = row[leaf_name(element.array, ())]
    for field in element.fields:
        cell = None if cell is None else cell[field]
    value: Value | None = cell
    return value
