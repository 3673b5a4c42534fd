"""GROUP BY as grouping sets: ROLLUP, CUBE and GROUPING SETS are unions of groups by some of the keys."""

from collections.abc import Callable, Iterable
from itertools import combinations, product
from typing import Any, TypeAlias

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Aggregate, Group, Project, Relation, UnionAll
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression, Literal
from dynamic_tables.values.types import INTEGER
from pruning.errors import InputError

# Grouping sets of one GROUP BY: CUBE has this many of seven keys, the most that Snowflake takes.
SETS_MAX = 128
# The parts of the parser's GROUP BY that have several sets.
SETS = ("rollup", "cube", "grouping_sets")
# The nodes of the keys of each grouping set.
Sets: TypeAlias = list[tuple[Any, ...]]


def terms_of(group: Any) -> list[Any]:
    """Return the terms of a GROUP BY, of which the parser may have those with several sets apart.

    Raises:
        Refused: It is written as WITH ROLLUP or WITH CUBE.
    """
    terms = list(group.expressions)
    for clause in SETS:
        for term in group.args.get(clause) or ():
            if not isinstance(term, exp.Expression) or not term.expressions:
                name = clause.upper().replace("_", " ")
                raise Refused(f"WITH {name}", f"is not supported: write GROUP BY {name} (...)")
            terms.append(term)
    return terms


def sets_of(nodes: Iterable[Any]) -> Sets:
    """Return the grouping sets of a GROUP BY: those of its terms combined, each with each.

    Raises:
        InputError: There are too many.
    """
    sets: Sets = [()]
    for node in nodes:
        sets = [(*left, *right) for left, right in product(sets, sets_of_term(node))]
        if len(sets) > SETS_MAX:
            raise InputError(f"GROUP BY has more than {SETS_MAX} grouping sets")
    return sets


def sets_of_term(node: Any) -> Sets:
    """Return the grouping sets of one term of GROUP BY."""
    match node:
        case exp.Rollup():
            keys = [keys_of(part) for part in node.expressions]
            return [together(keys[:count]) for count in range(len(keys), -1, -1)]
        case exp.Cube():
            keys = [keys_of(part) for part in node.expressions]
            if 2 ** len(keys) > SETS_MAX:
                raise InputError(f"CUBE has more than {SETS_MAX} grouping sets")
            counts = range(len(keys), -1, -1)
            return [together(chosen) for count in counts for chosen in combinations(keys, count)]
        case exp.GroupingSets():
            return [keys for part in node.expressions for keys in sets_of_term(part)]
    return [keys_of(node)]


def keys_of(node: Any) -> tuple[Any, ...]:
    """Return the keys that stand together in parentheses, or the only one."""
    match node:
        case exp.Tuple():
            return tuple(node.expressions)
        case exp.Paren():
            return (node.this,)
    return (node,)


def together(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the keys of several parts."""
    return tuple(key for part in parts for key in part)


def bound_sets(
    sets: Sets, bind: Callable[[Any], Expression]
) -> tuple[tuple[Expression, ...], tuple[tuple[int, ...], ...]]:
    """Return the keys of all sets, each once, and the positions of the keys of each set."""
    keys = list(dict.fromkeys(bind(node) for nodes in sets for node in nodes))
    places = [tuple(dict.fromkeys(keys.index(bind(node)) for node in nodes)) for nodes in sets]
    return tuple(keys), tuple(places)


def union_of_groups(
    relation: Relation,
    keys: tuple[Expression, ...],
    sets: tuple[tuple[int, ...], ...],
    aggregates: tuple[Aggregate, ...],
    marks: tuple[tuple[int, ...], ...],
) -> Relation:
    """Return the groups of each set: all keys, of which those not in the set are NULL, aggregates, marks.

    Args:
        sets: The positions of the keys of each grouping set.
        marks: For each column of GROUPING, the positions of its keys, each of which has a bit.
    """
    branches = []
    names = tuple(f"g{place}" for place in range(len(keys) + len(aggregates) + len(marks)))
    for members in sets:
        chosen = tuple(keys[place] for place in members)
        group = Group(relation, chosen, aggregates, names[: len(chosen) + len(aggregates)])
        columns: list[Expression] = [
            Column(members.index(place), key.type) if place in members else Literal(None, key.type)
            for place, key in enumerate(keys)
        ]
        columns += [Column(len(members) + place, part.type) for place, part in enumerate(aggregates)]
        columns += [Literal(grouping_bits(mark, members), INTEGER) for mark in marks]
        branches.append(Project(group, tuple(columns), names))
    return branches[0] if len(branches) == 1 else UnionAll(tuple(branches))


def grouping_bits(mark: tuple[int, ...], members: tuple[int, ...]) -> int:
    """Return the bits of GROUPING, the first key's first: 1 for a key that is not in the grouping set."""
    bits = 0
    for place in mark:
        bits = 2 * bits + (place not in members)
    return bits
