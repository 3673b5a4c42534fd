"""Aggregates of several expressions, whose argument is a list of their cells: MAX_BY, MIN_BY and LISTAGG.

Snowflake leaves open which of several rows with the greatest key MAX_BY takes, and the order of texts that
LISTAGG is not told. Here the cells themselves decide: of rows that tie, the first is the one whose first
expression is the least. So a result depends on the bag of the rows alone, and can be maintained.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dynamic_tables.bags.aggregate_signatures import AggregateResolver, AggregateSignature
from dynamic_tables.maintenance.algebra import Aggregate, Order
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.expressions import Expression, Literal
from dynamic_tables.values.functions import as_type, call
from dynamic_tables.values.key_texts import value_text
from dynamic_tables.values.types import ARRAY, TEXT, VARIANT, Kind
from pruning.errors import InputError

UNORDERED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT})


def order_key(cell: Cell) -> tuple[bool, str, Any]:
    """Return the sort key of cells of any type: NULL is the last, NaN the greatest number."""
    match cell:
        case None:
            return (True, "", 0)
        case bool() | str() | bytes() | datetime():
            return (False, type(cell).__name__, cell)
        case int() | Decimal():
            return (False, "number", (False, cell))
        case float():
            return (False, "number", (cell != cell, cell if cell == cell else 0.0))
        case date():
            return (False, "date", cell)
    return (False, "nested", value_text(cell))


def total_key(cell: Cell) -> tuple[Any, str]:
    """Return a sort key that is equal only for cells that no expression tells apart."""
    return order_key(cell), repr(cell)


def extreme_by(choose: Callable[..., Any]) -> AggregateResolver:
    """Return the resolver of MAX_BY or MIN_BY, of lists of the value and the key; a NULL key never counts."""

    def compute(cells: Sequence[tuple[Cell, Cell]]) -> Cell:
        keyed = [(order_key(key), value) for value, key in cells if key is not None]
        if not keyed:
            return None
        extreme = choose(key for key, _ in keyed)
        return min((value for key, value in keyed if key == extreme), key=total_key)

    return lambda argument: AggregateSignature(VARIANT, argument, compute)


def extreme_by_aggregate(name: str, value: Expression, key: Expression) -> Aggregate:
    """Build MAX_BY or MIN_BY: the value in the row with the greatest or least key.

    Raises:
        InputError: The key has no order.
    """
    if key.type.kind in UNORDERED:
        raise InputError(f"{name.upper()} takes a key that has an order, not {key.type}: cast it")
    return Aggregate(name, call("array_construct", value, key), False, value.type)


def joined_texts(cells: Sequence[tuple[Any, ...]]) -> str:
    """Return the texts of lists in order, with a separator between them; NULL is left out.

    Args:
        cells: Of each row the text, the terms of the order, the separator, and the directions of the terms.
    """
    rows = sorted((row for row in cells if row[0] is not None), key=lambda row: str(row[0]))
    if not rows:
        return ""
    *_, separator, directions = rows[0]
    for place in range(len(directions) // 2, 0, -1):
        descending, nulls_first = directions[2 * place - 2] == "d", directions[2 * place - 1] == "f"
        rows.sort(key=term_key(place, 0 if nulls_first != descending else 2), reverse=descending)
    return str(separator).join(str(row[0]) for row in rows)


def term_key(place: int, null_rank: int) -> Callable[[Sequence[Cell]], tuple[int, Any]]:
    """Return the sort key of lists by one of their cells; NULL has the rank 0 or 2, others the rank 1."""
    return lambda row: (null_rank, 0) if row[place] is None else (1, order_key(row[place]))


def listagg_aggregate(
    text: Expression, separator: str, order: Sequence[Order], *, distinct: bool = False
) -> Aggregate:
    """Build LISTAGG.

    Raises:
        InputError: A term of the order has no order.
    """
    for term in order:
        if term.expression.type.kind in UNORDERED:
            raise InputError(f"LISTAGG is ordered by what has an order, not {term.expression.type}: cast it")
    directions = "".join(
        f"{'d' if term.descending else 'a'}{'f' if term.nulls_first else 'l'}" for term in order
    )
    parts = (
        as_type(text, TEXT),
        *(term.expression for term in order),
        Literal(separator, TEXT),
        Literal(directions, TEXT),
    )
    return Aggregate("listagg", call("array_construct", *parts), distinct, TEXT)


LISTED: Mapping[str, AggregateResolver] = {
    "max_by": extreme_by(max),
    "min_by": extreme_by(min),
    "listagg": lambda argument: AggregateSignature(TEXT, ARRAY, joined_texts),
}
