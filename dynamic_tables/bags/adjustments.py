"""Groups whose held rows are adjusted by the changes of their input: counts and sums of exact numbers."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dynamic_tables.bags.aggregates import compile_aggregate, non_null_cells
from dynamic_tables.bags.intervals import Interval
from dynamic_tables.bags.operators import Pair, RowChanges
from dynamic_tables.maintenance.algebra import Aggregate, Group
from dynamic_tables.values.arithmetic import with_digit_check
from dynamic_tables.values.cells import EXACT, exact_key, row_canonical, row_key
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.evaluation import compile_expression, compile_row
from dynamic_tables.values.key_texts import key_id
from dynamic_tables.values.types import Kind


class Unsure(Exception):
    """The row of a group after the interval does not follow from its row before it."""


@dataclass(slots=True)
class ChangedGroup:
    """One group, and the changed rows of the input that belong to it."""

    cells: Row
    deleted: list[Pair] = field(default_factory=list)
    inserted: list[Pair] = field(default_factory=list)


# Gives an aggregate after the interval from that before it, the deleted rows and the inserted rows.
Adjust: TypeAlias = Callable[[Any, Sequence[Row], Sequence[Row]], Cell]


def compile_adjustment(
    relation: Group, places: Sequence[int]
) -> Callable[[Interval, RowChanges], tuple[RowChanges, RowChanges]]:
    """Return a function from changes of the input to the changes of groups, and the changes of other groups.

    Args:
        relation: A group whose aggregates can be adjusted.
        places: The position of each of its columns in held rows.
    """
    types = [expression.type for expression in relation.keys]
    keys, as_key, standing = compile_row(relation.keys), row_key(types), row_canonical(types)
    count = len(types)
    adjusts = [compile_adjust(aggregate) for aggregate in relation.aggregates]
    whole = [compile_aggregate(aggregate) for aggregate in relation.aggregates]
    counts = [place for place, aggregate in enumerate(relation.aggregates) if aggregate.argument is None]
    counts = [count + place for place in counts if relation.aggregates[place].function == "count"]

    def row_after(group: ChangedGroup, held: Row | None) -> Row | None:
        """Return the row of a group after the interval; None if there is none."""
        deleted, inserted = ([row for _, row in rows] for rows in (group.deleted, group.inserted))
        if held is None:
            if deleted:
                raise Unsure
            return (*group.cells, *[aggregate(inserted) for aggregate in whole])
        before = [held[place] for place in places]
        if len(inserted) < len(deleted):
            if not counts:
                raise Unsure
            if before[counts[0]] == len(deleted) - len(inserted):
                return None
        pairs = zip(adjusts, before[count:], strict=True)
        return (*group.cells, *[adjust(cell, deleted, inserted) for adjust, cell in pairs])

    def run(interval: Interval, changes: RowChanges) -> tuple[RowChanges, RowChanges]:
        groups: dict[Hashable, ChangedGroup] = {}
        for deletes, rows in zip((True, False), changes, strict=True):
            for pair in rows:
                cells = keys(pair[1])
                key = as_key(cells)
                if key not in groups:
                    groups[key] = ChangedGroup(standing(cells))
                (groups[key].deleted if deletes else groups[key].inserted).append(pair)
        by_id = {key_id(group.cells, types): group for group in groups.values()}
        held_rows = interval.result_rows(frozenset(by_id))
        adjusted: tuple[list[Pair], list[Pair]] = ([], [])
        unadjusted: tuple[list[Pair], list[Pair]] = ([], [])
        for row_id, group in by_id.items():
            held = held_rows.get(row_id)
            before = None if held is None else tuple([held[place] for place in places])
            try:
                after = row_after(group, held)
            except Unsure:
                unadjusted[0].extend(group.deleted)
                unadjusted[1].extend(group.inserted)
                continue
            if before is not None and after is not None and exact_key(before) == exact_key(after):
                continue
            if before is not None:
                adjusted[0].append((row_id, before))
            if after is not None:
                adjusted[1].append((row_id, after))
        return adjusted, unadjusted

    return run


def compile_adjust(aggregate: Aggregate) -> Adjust:
    """Return the adjustment of one aggregate."""
    if aggregate.argument is None:
        return lambda cell, deleted, inserted: cell - len(deleted) + len(inserted)
    evaluate = compile_expression(aggregate.argument)
    if aggregate.function != "sum":
        value = compile_aggregate(aggregate)
        return lambda cell, deleted, inserted: cell - value(deleted) + value(inserted)
    decimal = aggregate.type.kind is Kind.DECIMAL
    add: Callable[[Any, Any], Any] = EXACT.add if decimal else lambda left, right: left + right
    subtract: Callable[[Any, Any], Any] = EXACT.subtract if decimal else lambda left, right: left - right

    def run(cell: Any, deleted: Sequence[Row], inserted: Sequence[Row]) -> Cell:
        gone, come = non_null_cells(evaluate, deleted), non_null_cells(evaluate, inserted)
        if len(come) < len(gone) or (cell is None and gone):
            raise Unsure
        total = cell
        for value in come:
            total = value if total is None else add(total, value)
        for value in gone:
            total = subtract(total, value)
        return None if total is None else check(total)

    check = with_digit_check(lambda value: value, aggregate.type)
    return run
