"""Mutants of the union of groups that ROLLUP, CUBE and GROUPING SETS are."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dynamic_tables.maintenance.algebra import Distinct, Project, Relation, UnionAll
from dynamic_tables.sql.grouping_sets import union_of_groups


def without_repeated_sets(
    relation: Relation, keys: Any, sets: tuple[tuple[int, ...], ...], *others: Any
) -> Relation:
    """Take a grouping set that is written twice once."""
    return union_of_groups(relation, keys, tuple(dict.fromkeys(sets)), *others)


def with_turned_marks(relation: Relation, keys: Any, sets: Any, aggregates: Any, marks: Any) -> Relation:
    """Give the bits of GROUPING in the other order."""
    return union_of_groups(relation, keys, sets, aggregates, tuple(mark[::-1] for mark in marks))


def with_all_keys(relation: Relation, keys: Any, sets: Any, *others: Any) -> Relation:
    """Group by all keys in each set."""
    return union_of_groups(relation, keys, tuple(tuple(range(len(keys))) for _ in sets), *others)


def without_equal_rows(relation: Relation, *others: Any) -> Relation:
    """Take groups of several sets that look alike for one."""
    return Distinct(union_of_groups(relation, *others))


def with_keys_of_the_group(relation: Relation, keys: Any, sets: Any, *others: Any) -> Relation:
    """Fill the place of a key that a set does not have with one that it has."""
    union = union_of_groups(relation, keys, sets, *others)
    if not isinstance(union, UnionAll):
        return union
    branches = []
    for branch, members in zip(union.inputs, sets, strict=True):
        assert isinstance(branch, Project)
        columns = list(branch.columns)
        for place, key in enumerate(keys):
            same = [member for member in members if keys[member].type == key.type]
            if place not in members and same:
                columns[place] = branch.columns[same[0]]
        branches.append(replace(branch, columns=tuple(columns)))
    return UnionAll(tuple(branches))


MUTANTS: Mapping[str, Callable[..., Relation]] = {
    "a set that is written twice counts once": without_repeated_sets,
    "the bits of GROUPING are in the other order": with_turned_marks,
    "each set has all keys": with_all_keys,
    "equal groups of several sets are one": without_equal_rows,
    "a key that is not in a set has the cells of another": with_keys_of_the_group,
}
