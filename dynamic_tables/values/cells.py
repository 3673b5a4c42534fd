"""Cells as keys, as text of row ids, and in order: what equals what, and what comes first.

In keys NULL equals NULL, NaN equals NaN and -0.0 equals 0.0; in order NaN is the greatest number.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from math import isfinite
from typing import Any

from dynamic_tables.values.changes import Cell, Row, RowId
from dynamic_tables.values.types import PLAIN, Kind, Type

# The one NaN that evaluation makes: it equals itself as part of a tuple, by identity.
NAN = float("nan")
# What is its own key.
HASHED = frozenset({type(None), int, str, bytes, Decimal, date, datetime})
# Decimal arithmetic that rounds nothing of 38 digits.
EXACT = Context(prec=200)
# The same for any double with 38 digits behind the point.
ROUNDING = Context(prec=400)
# The longest text of a key that stands in a row id as it is, and how much of a longer one does (R-DVS-96).
READABLE_MAX = 48
PREFIX_LENGTH = 16
HASH_BYTES = 16


def key(cell: Cell) -> Hashable:
    """Equal, with equal hash, for cells that are one key; booleans are no numbers."""
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


def exact(cell: Cell) -> Hashable:
    """Equal for cells that no expression can tell apart: here -0.0 is not 0.0, and 1 not 1.0."""
    if isinstance(cell, float):
        return float, repr(cell)
    if isinstance(cell, tuple):
        return tuple(map(exact, cell))
    if isinstance(cell, Mapping):
        return frozenset((name, exact(value)) for name, value in cell.items())
    return type(cell), cell


def canonical(cell: Cell) -> Cell:
    """The one cell that stands for all of its key, so that a group's key depends on no order of rows."""
    if isinstance(cell, float):
        return (cell or 0.0) if cell == cell else NAN
    return cell


def canonical_variant(cell: Cell) -> Cell:
    """`canonical` where numbers of several kinds meet: they become integers or doubles if they can."""
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
    """How rows with these types become what stands for all rows of their key."""
    loose = {place: kind.kind for place, kind in enumerate(types) if kind.kind not in PLAIN}
    rules = {place: canonical if kind is Kind.FLOAT else canonical_variant for place, kind in loose.items()}
    if not rules:
        return lambda row: row
    return lambda row: tuple([rules[at](cell) if at in rules else cell for at, cell in enumerate(row)])


def encoded(cell: Cell) -> str:
    """Text of a key: equal for equal keys and else different, also when texts are put in a row (trap 52)."""
    match cell:
        case None:
            return "~"
        case bool():
            return "t" if cell else "f"
        case int():
            return f"n{cell};"
        case float() | Decimal():
            return encoded_fraction(cell)
        case str():
            return f"s{len(cell)}:{cell}"
        case bytes():
            return f"b{len(cell)}:{cell.hex()}"
        case datetime():
            return f"m{cell.isoformat()};"
        case date():
            return f"d{cell.isoformat()};"
        case tuple():
            return f"[{len(cell)}:{''.join(map(encoded, cell))}"
    items = (encoded(name) + encoded(cell[name]) for name in sorted(cell))
    return f"{{{len(cell)}:{''.join(items)}"


def encoded_fraction(number: float | Decimal) -> str:
    """Text of a number that may have a fraction; equal numbers of different kinds have the same."""
    if number != number:
        return "rnan;"
    if abs(number) == float("inf"):
        return f"r{float(number)!r};"
    if number == int(number):
        return f"n{int(number)};"
    if float(number) == number:
        return f"r{float(number)!r};"
    return f"n{format(Decimal(number).normalize(EXACT), 'f')};"


def key_id(cells: Iterable[Cell]) -> RowId:
    """The row id of a group: its key as text; of a long one a prefix, which prunes, and 128 bits of hash."""
    text = "".join(map(encoded, cells))
    if len(text) <= READABLE_MAX:
        return f"g:{text}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).hexdigest()
    return f"h:{text[:PREFIX_LENGTH]}{digest}"


def row_key(types: Sequence[Type]) -> Callable[[Row], Hashable]:
    """How rows with these types become keys."""
    loose = [place for place, kind in enumerate(types) if kind.kind not in PLAIN]
    if not loose:
        return unchanged
    if any(types[place].kind is not Kind.FLOAT for place in loose):
        return lambda row: tuple(map(key, row))

    def with_one_nan(row: Row) -> Hashable:
        for place in loose:
            if row[place] != row[place]:
                return tuple(map(key, row))
        return row

    return with_one_nan


def row_exact(types: Sequence[Type]) -> Callable[[Row], Hashable]:
    """How rows with these types become what no expression can tell apart; cells as texts, which is fast."""
    if all(kind.kind in PLAIN for kind in types):
        return unchanged
    return repr


def unchanged(row: Row) -> Hashable:
    """The row."""
    return row


def ordered(kind: Type) -> Callable[[Any], Any]:
    """What non-NULL cells of a type are sorted by."""
    if kind.kind is Kind.FLOAT:
        return lambda cell: (cell != cell, cell if cell == cell else 0.0)
    if kind.kind in PLAIN:
        return lambda cell: cell
    return lambda cell: (type(cell).__name__, encoded(cell))
