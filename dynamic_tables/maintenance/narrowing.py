"""Leaves out of a relation the columns that nothing above needs, down to what scans read.

So an update of unused columns is no change (trap 50), and a dropped unused column changes nothing (R-DVS-43).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from dynamic_tables.maintenance.algebra import (
    Distinct,
    Explode,
    Filter,
    Group,
    Join,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
    WindowFunction,
)
from dynamic_tables.values.expressions import Column, Expression, columns_of, moved

# Where the old columns stand in the new relation, for at least those needed.
Places: TypeAlias = dict[int, int]
Narrowed: TypeAlias = tuple[Relation, Places]


def narrowed(relation: Relation) -> Relation:
    """The same relation, reading no more than it needs."""
    whole = range(len(relation.fields))
    found, places = narrow(relation, frozenset(whole))
    assert [places[place] for place in whole] == list(whole)
    return found


def narrow(relation: Relation, needed: frozenset[int]) -> Narrowed:
    """A relation with the needed columns, in their order; it may keep others."""
    return NARROWERS[type(relation)](relation, needed)


def kept(columns: Iterable[int]) -> Places:
    """Where columns stand when only these are left."""
    return {old: new for new, old in enumerate(sorted(columns))}


def scan(relation: Scan, needed: frozenset[int]) -> Narrowed:
    """The columns that are read; there may be none."""
    places = kept(needed)
    if len(places) == len(relation.fields):
        return relation, places
    positions = tuple(range(len(relation.fields))) if relation.positions is None else relation.positions
    fields = tuple(relation.fields[old] for old in places)
    return replace(relation, fields=fields, positions=tuple(positions[old] for old in places)), places


def filtered(relation: Filter, needed: frozenset[int]) -> Narrowed:
    """Also what the condition reads."""
    child, places = narrow(relation.child, needed | columns_of(relation.condition))
    return Filter(child, moved(relation.condition, places)), places


def projected(relation: Project, needed: frozenset[int]) -> Narrowed:
    """Only the expressions that are needed."""
    chosen = sorted(needed)
    columns = tuple(relation.columns[old] for old in chosen)
    child, places = narrow(relation.child, columns_of(*columns))
    fewer = Project(
        child,
        tuple(moved(column, places) for column in columns),
        tuple(relation.names[old] for old in chosen),
    )
    return fewer, kept(chosen)


def united(relation: UnionAll, needed: frozenset[int]) -> Narrowed:
    """The same columns of each input."""
    return UnionAll(tuple(exactly(one, needed) for one in relation.inputs)), kept(needed)


def exactly(relation: Relation, needed: frozenset[int]) -> Relation:
    """A relation with the needed columns and no others."""
    found, places = narrow(relation, needed)
    if places == kept(needed) and len(found.fields) == len(needed):
        return found
    old = relation.fields
    columns = tuple(moved(column_of(relation, place), places) for place in sorted(needed))
    return Project(found, columns, tuple(old[place].name for place in sorted(needed)))


def column_of(relation: Relation, place: int) -> Expression:
    """A column of a relation."""
    return Column(place, relation.fields[place].type)


def joined(relation: Join, needed: frozenset[int]) -> Narrowed:
    """Also keys and the rest of the condition."""
    width = len(relation.left.fields)
    residual = frozenset() if relation.residual is None else columns_of(relation.residual)
    wanted = needed | residual
    left, left_places = narrow(
        relation.left, frozenset(one for one in wanted if one < width) | columns_of(*relation.left_keys)
    )
    right, right_places = narrow(
        relation.right,
        frozenset(one - width for one in wanted if one >= width) | columns_of(*relation.right_keys),
    )
    places = left_places | {old + width: new + len(left.fields) for old, new in right_places.items()}
    fewer = replace(
        relation,
        left=left,
        right=right,
        left_keys=tuple(moved(key, left_places) for key in relation.left_keys),
        right_keys=tuple(moved(key, right_places) for key in relation.right_keys),
        residual=None if relation.residual is None else moved(relation.residual, places),
    )
    return fewer, places


def exploded(relation: Explode, needed: frozenset[int]) -> Narrowed:
    """Also the list or object; the columns that are added stay."""
    width = len(relation.child.fields)
    child, places = narrow(
        relation.child, frozenset(one for one in needed if one < width) | columns_of(relation.elements)
    )
    added = {width + place: len(child.fields) + place for place in range(len(relation.added))}
    return replace(relation, child=child, elements=moved(relation.elements, places)), places | added


def made_distinct(relation: Distinct, needed: frozenset[int]) -> Narrowed:
    """All columns: they tell which rows are equal."""
    whole = frozenset(range(len(relation.fields)))
    return Distinct(exactly(relation.child, whole)), kept(whole)


def grouped(relation: Group, needed: frozenset[int]) -> Narrowed:
    """All keys, and the aggregates that are needed."""
    count = len(relation.keys)
    chosen = [place for place in range(len(relation.aggregates)) if place + count in needed]
    aggregates = [relation.aggregates[place] for place in chosen]
    arguments = [one.argument for one in aggregates if one.argument is not None]
    child, places = narrow(relation.child, columns_of(*relation.keys, *arguments))
    fewer = Group(
        child,
        tuple(moved(key, places) for key in relation.keys),
        tuple(
            one if one.argument is None else replace(one, argument=moved(one.argument, places))
            for one in aggregates
        ),
        (*relation.names[:count], *(relation.names[count + place] for place in chosen)),
    )
    return fewer, kept([*range(count), *(count + place for place in chosen)])


def windowed(relation: Window, needed: frozenset[int]) -> Narrowed:
    """Also partition, order and arguments of the functions that are needed."""
    width = len(relation.child.fields)
    chosen = [place for place in range(len(relation.functions)) if place + width in needed]
    below = frozenset(one for one in needed if one < width) | columns_of(*relation.partition)
    if not chosen:
        return narrow(relation.child, frozenset(one for one in needed if one < width))
    for place in chosen:
        below |= columns_of(*read_by(relation.functions[place]))
    child, places = narrow(relation.child, below)
    fewer = Window(
        child,
        tuple(moved(key, places) for key in relation.partition),
        tuple(moved_function(relation.functions[place], places) for place in chosen),
        tuple(relation.names[place] for place in chosen),
    )
    added = {width + old: len(child.fields) + new for new, old in enumerate(chosen)}
    return fewer, places | added


def read_by(function: WindowFunction) -> tuple[Expression, ...]:
    """The expressions of a window function."""
    optional = (function.argument, function.default)
    return (*(one for one in optional if one is not None), *(term.expression for term in function.order))


def moved_function(function: WindowFunction, places: Places) -> WindowFunction:
    """A window function over rows whose columns stand elsewhere."""

    def at(expression: Expression | None) -> Expression | None:
        return None if expression is None else moved(expression, places)

    order = tuple(replace(term, expression=moved(term.expression, places)) for term in function.order)
    return replace(function, argument=at(function.argument), default=at(function.default), order=order)


NARROWERS: Mapping[type[Relation], Callable[[Any, frozenset[int]], Narrowed]] = {
    Scan: scan,
    Filter: filtered,
    Project: projected,
    UnionAll: united,
    Join: joined,
    Explode: exploded,
    Distinct: made_distinct,
    Group: grouped,
    Window: windowed,
}
