"""Cells as text of row ids, by functions that Python and Spark SQL both have, and in order.

Every backend so gives a row the same id. The text of a key is that of its cells, one after the other:

===========================  ==========================================================================
type                         text of a cell
===========================  ==========================================================================
NULL, of any type            ``~``
BOOLEAN                      ``t`` or ``f``
INTEGER, INTERVAL            ``n``, the digits, ``;``
DECIMAL                      ``n``, the digits without zeros at the end, ``;``
FLOAT                        ``r``, the 64 bits of IEEE 754 as a signed integer, ``;``; one NaN, one zero
TEXT                         ``s``, the number of characters, ``:``, the characters
BINARY                       ``b``, the number of bytes, ``:``, the bytes in lower-case hexadecimal digits
DATE                         ``d``, the number of days since 1970-01-01, ``;``
TIMESTAMP                    ``m``, the number of microseconds since 1970-01-01 00:00:00, ``;``
ARRAY, OBJECT, VARIANT       by the value; equal numbers of different kinds have one text
===========================  ==========================================================================

No text is the beginning of another one, so that different keys never give one text (trap 52). A key's id is
``g:`` and its text, or, if that is long, ``h:``, its beginning, and half of its SHA-256 ([D] 5.5.2).
"""

import hashlib
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from dynamic_tables.values.cells import EXACT, NAN
from dynamic_tables.values.changes import Cell, RowId
from dynamic_tables.values.types import PLAIN, Kind, Type

# The longest key text that a row id holds unhashed, the length of the prefix kept of a longer one, and the
# number of hexadecimal digits of the hash behind it (R-DVS-96).
READABLE_MAX = 48
PREFIX_LENGTH = 16
HASH_DIGITS = 32
MIDNIGHT = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


def key_id(cells: Sequence[Cell], types: Iterable[Type]) -> RowId:
    """Return the row id of a group: its key as text, or a prefix (for pruning) and a 128-bit hash of it."""
    text = "".join([key_text(cell, type_) for cell, type_ in zip(cells, types, strict=True)])
    if len(text) <= READABLE_MAX:
        return f"g:{text}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"h:{text[:PREFIX_LENGTH]}{digest[:HASH_DIGITS]}"


def key_text(cell: Cell, type_: Type) -> str:
    """Return text that is equal exactly for equal cells of a type."""
    if cell is None:
        return "~"
    if type_.kind is Kind.FLOAT:
        assert isinstance(cell, float), "a cell has its type"
        return float_text(cell)
    if type_.kind is Kind.DECIMAL:
        assert isinstance(cell, (int, Decimal)), "a cell has its type"
        return digits_text(cell)
    return value_text(cell)


def value_text(cell: Cell) -> str:
    """Return text that is equal exactly for equal values, of whatever kinds of numbers they are."""
    match cell:
        case None:
            return "~"
        case bool():
            return "t" if cell else "f"
        case int():
            return f"n{cell};"
        case float() | Decimal():
            return number_text(cell)
        case str():
            return f"s{len(cell)}:{cell}"
        case bytes():
            return f"b{len(cell)}:{cell.hex()}"
        case datetime():
            return f"m{(cell - MIDNIGHT) // MICROSECOND};"
        case date():
            return f"d{(cell - MIDNIGHT.date()).days};"
        case tuple():
            return f"[{len(cell)}:{''.join(map(value_text, cell))}"
    items = (value_text(name) + value_text(cell[name]) for name in sorted(cell))
    return f"{{{len(cell)}:{''.join(items)}"


def number_text(number: float | Decimal) -> str:
    """Return the text of a number in a VARIANT: of an integer, else of a double, else of all its digits."""
    if number != number or abs(number) == float("inf"):
        return float_text(float(number))
    if number == int(number):
        return f"n{int(number)};"
    return float_text(float(number)) if float(number) == number else digits_text(Decimal(number))


def float_text(number: float) -> str:
    """Return the text of a double; 0.0 and -0.0 have one, and so have all NaN."""
    (bits,) = struct.unpack(">q", struct.pack(">d", (number or 0.0) if number == number else NAN))
    return f"r{bits};"


def digits_text(number: int | Decimal) -> str:
    """Return the text of an exact number, without zeros at its end behind the point."""
    # A zero has no sign after `plus`.
    return f"n{format(EXACT.plus(Decimal(number)).normalize(EXACT), 'f')};"


def sort_key(kind: Type) -> Callable[[Any], Any]:
    """Return the sort key for non-NULL cells of a type; values without an order have that of their text."""
    if kind.kind is Kind.FLOAT:
        return lambda cell: (cell != cell, cell if cell == cell else 0.0)
    if kind.kind in PLAIN:
        return lambda cell: cell
    return lambda cell: (type(cell).__name__, value_text(cell))
