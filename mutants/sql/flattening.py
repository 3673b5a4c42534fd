"""Mutants of the elements that FLATTEN finds in a value."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from dynamic_tables.bags.operators import element_finder
from dynamic_tables.maintenance.algebra import Explode
from dynamic_tables.values.changes import Cell, Row

Finder: TypeAlias = Callable[[Cell], list[tuple[str, Row]]]


def of_one_depth(relation: Explode) -> Finder:
    """Forget the elements of elements."""
    return element_finder(replace(relation, recursive=False, detailed=True))


def without_prefix(relation: Explode) -> Finder:
    """Begin paths at the list or object itself."""
    return element_finder(replace(relation, prefix=""))


def with_last_part_alone(relation: Explode) -> Finder:
    """Identify an element of an element by its own place."""
    elements = element_finder(relation)
    return lambda value: [(part.rpartition("/")[2], cells) for part, cells in elements(value)]


def with_whole_value(relation: Explode) -> Finder:
    """Show the whole value as the list or object that has an element."""
    elements = element_finder(relation)
    return lambda value: [(part, (*cells[:4], value)) for part, cells in elements(value)]


MUTANTS: Mapping[str, Callable[[Explode], Finder]] = {
    "elements of elements are forgotten": of_one_depth,
    "paths begin at the value": without_prefix,
    "elements are identified by their last step": with_last_part_alone,
    "the whole value has each element": with_whole_value,
}
