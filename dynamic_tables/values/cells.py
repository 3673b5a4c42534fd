"""Cells as keys and in order: what equals what, and what comes first.

In keys NULL equals NULL, NaN equals NaN and -0.0 equals 0.0; in order NaN is the greatest number.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from math import isfinite

from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.types import PLAIN, Kind, Type

# The only NaN that evaluation produces: inside a tuple it equals itself, because it is the same object.
NAN = float("nan")
# The types whose values are their own keys.
HASHED = frozenset({type(None), int, str, bytes, Decimal, date, datetime})
# Decimal arithmetic that never rounds numbers of 38 digits.
EXACT = Context(prec=200)
# Decimal arithmetic that can hold any double together with 38 digits behind the point.
ROUNDING = Context(prec=400)


def key(cell: Cell) -> Hashable:
    """Return a hashable key that is equal for cells that SQL groups together; booleans are no numbers."""
    kind = type(cell)
    if kind in HASHED:
        return cell
    if kind is float:
        return cell if cell == cell else NAN
    if kind is bool:
        return bool, cell
    if isinstance(cell, tuple):
        return tuple(map(key, cell))
    if isinstance(cell, Mapping):
        return frozenset((name, key(value)) for name, value in cell.items())
    return cell


def exact_key(cell: Cell) -> Hashable:
    """Return a key that is equal only for cells that no expression tells apart: -0.0 is not 0.0."""
    if isinstance(cell, float):
        return float, repr(cell)
    if isinstance(cell, tuple):
        return tuple(map(exact_key, cell))
    if isinstance(cell, Mapping):
        return frozenset((name, exact_key(value)) for name, value in cell.items())
    return type(cell), cell


def canonical(cell: Cell) -> Cell:
    """Return the cell that represents all cells of its key, so that group keys depend on no row order."""
    if isinstance(cell, float):
        return (cell or 0.0) if cell == cell else NAN
    return cell


def canonical_variant(cell: Cell) -> Cell:
    """Like `canonical`, for cells that mix kinds of numbers: integers or doubles where that is exact."""
    if isinstance(cell, tuple):
        return tuple(map(canonical_variant, cell))
    if isinstance(cell, Mapping):
        return {name: canonical_variant(cell[name]) for name in sorted(cell)}
    if not isinstance(cell, (float, Decimal)) or not isfinite(cell):
        return canonical(cell)
    if cell == int(cell):
        return int(cell)
    nearest = float(cell)
    return nearest if nearest == cell else Decimal(cell).normalize(EXACT)


def row_canonical(types: Sequence[Type]) -> Callable[[Row], Row]:
    """Return a function that replaces each cell of a row of these types by its canonical cell."""
    loose = {place: kind.kind for place, kind in enumerate(types) if kind.kind not in PLAIN}
    rules = {place: canonical if kind is Kind.FLOAT else canonical_variant for place, kind in loose.items()}
    if not rules:
        return lambda row: row
    return lambda row: tuple([rules[at](cell) if at in rules else cell for at, cell in enumerate(row)])


def row_key(types: Sequence[Type]) -> Callable[[Row], Hashable]:
    """Return a function that turns rows of these types into their keys."""
    loose = [place for place, kind in enumerate(types) if kind.kind not in PLAIN]
    if not loose:
        return whole_row
    if any(types[place].kind is not Kind.FLOAT for place in loose):
        return lambda row: tuple(map(key, row))

    def with_one_nan(row: Row) -> Hashable:
        for place in loose:
            if row[place] != row[place]:
                return tuple(map(key, row))
        return row

    return with_one_nan


def row_exact_key(types: Sequence[Type]) -> Callable[[Row], Hashable]:
    """Return a function that turns rows of these types into keys that are equal only for identical rows."""
    if all(kind.kind in PLAIN for kind in types):
        return whole_row
    return repr


def whole_row(row: Row) -> Hashable:
    """Return the row itself, which is its own key."""
    return row
