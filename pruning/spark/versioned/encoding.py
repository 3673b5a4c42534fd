"""Values of columns as bytes, in which they cross to Java in one call, however many there are.

Of each column these are: the number of its distinct values; of each of them a length, and so many bytes; the
number of rows; and of each row the place among the distinct values, or -1 for NULL. A number is a long, or a
double if it has a fraction; a decimal is its unscaled value; all have their highest byte first.
"""

import struct
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.thrift_lanes import Numbers

_LENGTH, _LONG, _DOUBLE = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">d")


def encode_columns(columns: Iterable[pa.ChunkedArray]) -> bytes:
    """Return columns as bytes."""
    parts: list[bytes] = []
    for column in columns:
        whole = column.combine_chunks()
        lanes = whole.dictionary_encode() if len(whole) else pa.array([], pa.string()).dictionary_encode()
        # Arrow may give NULL a place among the distinct values, which no row then has.
        distinct = _encodable(lanes.dictionary)
        parts.append(_LENGTH.pack(len(distinct)))
        parts += map(encode_bytes, distinct)
        places = pc.fill_null(lanes.indices, -1).to_numpy(zero_copy_only=False)
        parts += [_LENGTH.pack(len(whole)), np.asarray(places).astype(">i4").tobytes()]
    return b"".join(parts)


def encode_bytes(value: bytes) -> bytes:
    """Return bytes after their number."""
    return _LENGTH.pack(len(value)) + value


def encode_longs(numbers: Numbers) -> bytes:
    """Return numbers as longs."""
    return numbers.astype(">i8").tobytes()


def _encodable(distinct: pa.Array) -> list[bytes]:
    """Return the bytes of each of some values, none of which is NULL."""
    type_ = distinct.type
    if pa.types.is_timestamp(type_):
        distinct = distinct.cast(pa.timestamp("us", type_.tz)).cast(pa.int64())
    elif pa.types.is_date32(type_):
        distinct = distinct.cast(pa.int32())
    return [_bytes_of(value) for value in distinct.to_pylist()]


def _bytes_of(value: Any) -> bytes:
    match value:
        case bytes():
            return value
        case str():
            return value.encode()
        case float():
            return _DOUBLE.pack(value)
        case Decimal():
            unscaled = _unscaled_digits(value)
            return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
        case _:
            return _LONG.pack(value)


def _unscaled_digits(value: Decimal) -> int:
    """Return the integer of a decimal's digits, exactly: Arrow gives each value all digits of its scale."""
    sign, digits, _ = value.as_tuple()
    magnitude = int("".join(map(str, digits)))
    return -magnitude if sign else magnitude
