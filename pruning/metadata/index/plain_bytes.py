"""The bytes of many values as numpy rows, without a Python object for each value.

Rows of one length are grouped, so that a hash can be computed column by column.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

_DECIMAL_BYTES = 16
# Rows are copied out of a longer array in parts of this size, which stay in the processor's cache.
_PART_BYTES = 1 << 22


def rows_by_length(values: pa.Array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the byte strings of a binary array without nulls, grouped by length.

    Returns:
        Pairs of positions in the array, of shape (n,), and their bytes, uint8 of shape (n, length).
    """
    if not len(values):
        return
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    starts = ends[:-1].astype(np.int64)
    data_bytes = np.frombuffer(b"" if data is None else data, np.uint8)
    for length, places in _by_length(np.diff(ends)):
        if not length:
            yield places, np.zeros((len(places), 0), np.uint8)
            continue
        windows = np.lib.stride_tricks.sliding_window_view(data_bytes, length)
        part = max(1, _PART_BYTES // length)
        for start in range(0, len(places), part):
            chosen = places[start : start + part]
            yield chosen, windows[starts[chosen]]


def unscaled_integers(values: pa.Array) -> np.ndarray:
    """Return the integers of a decimal128 array without nulls: little-endian, uint8 of shape (n, 16)."""
    data = values.buffers()[1]
    data_bytes = np.frombuffer(b"" if data is None else data, np.uint8)
    start = _DECIMAL_BYTES * values.offset
    return data_bytes[start : start + _DECIMAL_BYTES * len(values)].reshape(-1, _DECIMAL_BYTES)


def shortest_by_length(integers: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield integers as their shortest big-endian two's complements, like Java's BigInteger.

    Args:
        integers: As `unscaled_integers` returns them.
    Returns:
        As `rows_by_length`.
    """
    rows = integers[:, ::-1]
    # The leading zeros of a negative number's complement are the repeated sign bits.
    magnitudes = rows ^ np.where(rows[:, :1] >= 128, np.uint8(255), np.uint8(0))
    first = np.where(magnitudes.any(axis=1), (magnitudes != 0).argmax(axis=1), _DECIMAL_BYTES - 1)
    top = magnitudes[np.arange(len(rows)), first]
    bits = 8 * (_DECIMAL_BYTES - 1 - first) + np.where(top > 0, np.frexp(top.astype(float))[1], 0)
    for length, places in _by_length(bits // 8 + 1):
        yield places, rows[places, _DECIMAL_BYTES - length :]


def _by_length(lengths: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each length with the positions that have it."""
    if not len(lengths):
        return
    order = np.argsort(lengths, kind="stable")
    changes = np.flatnonzero(np.diff(lengths[order])) + 1
    for places in np.split(order, changes):
        yield int(lengths[places[0]]), places
