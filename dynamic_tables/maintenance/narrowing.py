"""Removal of columns that nothing above needs from a relation, down to its scans.

So an update of an unused column is no change (trap 50), and dropping one changes nothing (R-DVS-43).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from dynamic_tables.maintenance.algebra import (
    ConstantRows,
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
from dynamic_tables.values.expressions import Column, Expression, columns_of, remap_columns

# The new positions of old columns in a narrowed relation, at least of the needed columns.
Places: TypeAlias = dict[int, int]
Narrowed: TypeAlias = tuple[Relation, Places]


def narrow_relation(relation: Relation) -> Relation:
    """Return the same relation, reading only the columns that it needs."""
    whole = range(len(relation.fields))
    narrower, places = narrow(relation, frozenset(whole))
    assert [places[place] for place in whole] == list(whole)
    return narrower


def narrow(relation: Relation, needed: frozenset[int]) -> Narrowed:
    """Return a relation with at least the needed columns, in their order, and their new positions."""
    return NARROWERS[type(relation)](relation, needed)


def new_positions(columns: Iterable[int]) -> Places:
    """Return the new positions of columns when only these are kept."""
    return {old: new for new, old in enumerate(sorted(columns))}


def narrow_scan(relation: Scan, needed: frozenset[int]) -> Narrowed:
    """Narrow a scan to the needed columns; there may be none."""
    places = new_positions(needed)
    if len(places) == len(relation.fields):
        return relation, places
    positions = tuple(range(len(relation.fields))) if relation.positions is None else relation.positions
    fields = tuple(relation.fields[old] for old in places)
    return replace(relation, fields=fields, positions=tuple(positions[old] for old in places)), places


def narrow_constants(relation: ConstantRows, needed: frozenset[int]) -> Narrowed:
    """Narrow constant rows to the needed columns; there may be none."""
    places = new_positions(needed)
    rows = tuple(tuple(row[place] for place in places) for row in relation.rows)
    return ConstantRows(rows, tuple(relation.output[place] for place in places)), places


def narrow_filter(relation: Filter, needed: frozenset[int]) -> Narrowed:
    """Narrow a filter to the needed columns and those of its condition."""
    child, places = narrow(relation.child, needed | columns_of(relation.condition))
    return Filter(child, remap_columns(relation.condition, places)), places


def narrow_project(relation: Project, needed: frozenset[int]) -> Narrowed:
    """Narrow a projection to the needed expressions."""
    chosen = sorted(needed)
    columns = tuple(relation.columns[old] for old in chosen)
    child, places = narrow(relation.child, columns_of(*columns))
    fewer = Project(
        child,
        tuple(remap_columns(column, places) for column in columns),
        tuple(relation.names[old] for old in chosen),
    )
    return fewer, new_positions(chosen)


def narrow_union(relation: UnionAll, needed: frozenset[int]) -> Narrowed:
    """Narrow each input of a union to the same columns."""
    return UnionAll(tuple(narrow_exactly(branch, needed) for branch in relation.inputs)), new_positions(
        needed
    )


def narrow_exactly(relation: Relation, needed: frozenset[int]) -> Relation:
    """Return a relation with the needed columns and no others."""
    narrower, places = narrow(relation, needed)
    if places == new_positions(needed) and len(narrower.fields) == len(needed):
        return narrower
    old = relation.fields
    columns = tuple(remap_columns(column_of(relation, place), places) for place in sorted(needed))
    return Project(narrower, columns, tuple(old[place].name for place in sorted(needed)))


def column_of(relation: Relation, place: int) -> Expression:
    """Return a reference to a column of a relation."""
    return Column(place, relation.fields[place].type)


def narrow_join(relation: Join, needed: frozenset[int]) -> Narrowed:
    """Narrow a join to the needed columns and those of its keys and condition."""
    width = len(relation.left.fields)
    residual = frozenset() if relation.residual is None else columns_of(relation.residual)
    wanted = needed | residual
    left, left_places = narrow(
        relation.left, frozenset(place for place in wanted if place < width) | columns_of(*relation.left_keys)
    )
    right, right_places = narrow(
        relation.right,
        frozenset(place - width for place in wanted if place >= width) | columns_of(*relation.right_keys),
    )
    places = left_places | {old + width: new + len(left.fields) for old, new in right_places.items()}
    fewer = replace(
        relation,
        left=left,
        right=right,
        left_keys=tuple(remap_columns(key, left_places) for key in relation.left_keys),
        right_keys=tuple(remap_columns(key, right_places) for key in relation.right_keys),
        residual=None if relation.residual is None else remap_columns(relation.residual, places),
    )
    return fewer, places


def narrow_explode(relation: Explode, needed: frozenset[int]) -> Narrowed:
    """Narrow a FLATTEN to the needed columns and the list or object.

    The columns that it adds stay, but for the path and the list or object if neither is needed.
    """
    width = len(relation.child.fields)
    added = range(width, len(relation.fields))
    detailed = relation.detailed and any(place in needed for place in added[-2:])
    child, places = narrow(
        relation.child, frozenset(place for place in needed if place < width) | columns_of(relation.elements)
    )
    fewer = replace(
        relation,
        child=child,
        elements=remap_columns(relation.elements, places),
        detailed=detailed,
        prefix=relation.prefix if detailed else "",
    )
    kept = added if detailed or not relation.detailed else added[:-2]
    return fewer, places | {place: place - width + len(child.fields) for place in kept}


def narrow_distinct(relation: Distinct, needed: frozenset[int]) -> Narrowed:
    """Keep all columns of a DISTINCT: they decide which rows are equal."""
    whole = frozenset(range(len(relation.fields)))
    return Distinct(narrow_exactly(relation.child, whole)), new_positions(whole)


def narrow_group(relation: Group, needed: frozenset[int]) -> Narrowed:
    """Narrow a GROUP BY to all its keys and the needed aggregates."""
    count = len(relation.keys)
    chosen = [place for place in range(len(relation.aggregates)) if place + count in needed]
    aggregates = [relation.aggregates[place] for place in chosen]
    arguments = [aggregate.argument for aggregate in aggregates if aggregate.argument is not None]
    child, places = narrow(relation.child, columns_of(*relation.keys, *arguments))
    fewer = Group(
        child,
        tuple(remap_columns(key, places) for key in relation.keys),
        tuple(
            aggregate
            if aggregate.argument is None
            else replace(aggregate, argument=remap_columns(aggregate.argument, places))
            for aggregate in aggregates
        ),
        (*relation.names[:count], *(relation.names[count + place] for place in chosen)),
    )
    return fewer, new_positions([*range(count), *(count + place for place in chosen)])


def narrow_window(relation: Window, needed: frozenset[int]) -> Narrowed:
    """Narrow a window relation to the needed columns and functions, and to what these functions read."""
    width = len(relation.child.fields)
    chosen = [place for place in range(len(relation.functions)) if place + width in needed]
    below = frozenset(place for place in needed if place < width) | columns_of(*relation.partition)
    if not chosen:
        return narrow(relation.child, frozenset(place for place in needed if place < width))
    for place in chosen:
        below |= columns_of(*expressions_of(relation.functions[place]))
    child, places = narrow(relation.child, below)
    fewer = Window(
        child,
        tuple(remap_columns(key, places) for key in relation.partition),
        tuple(remap_function(relation.functions[place], places) for place in chosen),
        tuple(relation.names[place] for place in chosen),
    )
    added = {width + old: len(child.fields) + new for new, old in enumerate(chosen)}
    return fewer, places | added


def expressions_of(function: WindowFunction) -> tuple[Expression, ...]:
    """Return the expressions that a window function reads."""
    optional = (function.argument, function.default)
    return (
        *(expression for expression in optional if expression is not None),
        *(term.expression for term in function.order),
    )


def remap_function(function: WindowFunction, places: Places) -> WindowFunction:
    """Return a window function for rows whose columns moved."""

    def at(expression: Expression | None) -> Expression | None:
        return None if expression is None else remap_columns(expression, places)

    order = tuple(replace(term, expression=remap_columns(term.expression, places)) for term in function.order)
    return replace(function, argument=at(function.argument), default=at(function.default), order=order)


NARROWERS: Mapping[type[Relation], Callable[[Any, frozenset[int]], Narrowed]] = {
    Scan: narrow_scan,
    ConstantRows: narrow_constants,
    Filter: narrow_filter,
    Project: narrow_project,
    UnionAll: narrow_union,
    Join: narrow_join,
    Explode: narrow_explode,
    Distinct: narrow_distinct,
    Group: narrow_group,
    Window: narrow_window,
}
