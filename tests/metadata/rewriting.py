"""Rewriting a Parquet footer in place: any field, of any writer, that no library would write.

A footer is read without a schema, as the Thrift compact protocol spells it: a structure is a dict
from field number to (wire type, value), a list is (wire type of its elements, values).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12

ROW_GROUPS, CREATED_BY, COLUMN_ORDERS, KEYS = 4, 6, 7, 5
CHUNKS, META, STATISTICS = 1, 3, 12
# Each is followed by the field of its length.
OFFSET_INDEX, COLUMN_INDEX = 4, 6


def rewrite(path: Path, change: Callable[[dict[int, Any]], None]) -> Path:
    """Apply `change` to a file's footer structure; the data stays as it is."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _struct(data[-8 - length : -8], 0)
    change(footer)
    raw = _encoded(STRUCT, footer)
    path.write_bytes(data[: -8 - length] + raw + len(raw).to_bytes(4, "little") + b"PAR1")
    return path


def rewrite_indexes(
    path: Path,
    change: Callable[[dict[int, Any], dict[int, Any]], None],
    *,
    column: int = 0,
    row_group: int = 0,
) -> Path:
    """Apply `change` to the column index and the offset index of one chunk, which are written anew."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _struct(data[-8 - length : -8], 0)
    fields = chunk(footer, column=column, row_group=row_group)
    columns, _ = _struct(data, fields[COLUMN_INDEX][1])
    places, _ = _struct(data, fields[OFFSET_INDEX][1])
    change(columns, places)
    body = data[: -8 - length]
    for number, index in ((COLUMN_INDEX, columns), (OFFSET_INDEX, places)):
        raw = _encoded(STRUCT, index)
        fields[number], fields[number + 1] = (I64, len(body)), (I32, len(raw))
        body += raw
    raw = _encoded(STRUCT, footer)
    path.write_bytes(body + raw + len(raw).to_bytes(4, "little") + b"PAR1")
    return path


def chunk(footer: dict[int, Any], *, column: int = 0, row_group: int = 0) -> dict[int, Any]:
    """The structure of one chunk, for changing."""
    return footer[ROW_GROUPS][1][1][row_group][CHUNKS][1][1][column]


def statistics(footer: dict[int, Any], *, column: int, row_group: int = 0) -> dict[int, Any]:
    """The statistics structure of one chunk, for changing."""
    meta = chunk(footer, column=column, row_group=row_group)[META][1]
    return meta.setdefault(STATISTICS, (STRUCT, {}))[1]


def element(footer: dict[int, Any], *, column: int) -> dict[int, Any]:
    """The schema element of a top-level column of a flat file, for changing."""
    return footer[2][1][1][column + 1]


def _struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    fields: dict[int, Any] = {}
    last = 0
    while header := data[at]:
        at += 1
        if header >> 4:
            last += header >> 4
        else:
            last, at = _signed(data, at)
        kind = header & 15
        if kind in (TRUE, FALSE):
            fields[last] = (kind, kind == TRUE)
        else:
            value, at = _value(kind, data, at)
            fields[last] = (kind, value)
    return fields, at + 1


def _value(kind: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind in (BYTE, TRUE, FALSE):
        return data[at], at + 1
    if kind in (I16, I32, I64):
        return _signed(data, at)
    if kind == DOUBLE:
        return data[at : at + 8], at + 8
    if kind == BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind == STRUCT:
        return _struct(data, at)
    assert kind == LIST, kind
    return _list(data, at)


def _list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    header, at = data[at], at + 1
    size = header >> 4
    if size == 15:
        size, at = _varint(data, at)
    values = []
    for _ in range(size):
        value, at = _value(header & 15, data, at)
        values.append(value)
    return (header & 15, values), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def _encoded(kind: int, value: Any) -> bytes:
    if kind in (BYTE, TRUE, FALSE):
        return bytes([value])
    if kind in (I16, I32, I64):
        return _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _unsigned(len(value)) + value
    if kind == LIST:
        inner, values = value
        return bytes([0xF0 | inner]) + _unsigned(len(values)) + b"".join(_encoded(inner, v) for v in values)
    fields = b"".join(_field(number, *value[number]) for number in sorted(value))
    return fields + b"\0"


def _field(number: int, kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        kind = TRUE if value else FALSE
    # A field number in full, never as a difference: readers know both.
    header = bytes([kind]) + _encoded(I16, number)
    return header if kind in (TRUE, FALSE) else header + _encoded(kind, value)


def _unsigned(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
