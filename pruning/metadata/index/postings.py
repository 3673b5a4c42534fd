"""Rare values: those that few blocks hold are listed block by block, those that many hold once.

What point lookups look for is mostly rare. Where the lists of all values would be too long, those
without the frequent values are often short ([M] 5.3.5): a rare value is then found in its blocks alone,
and one that is neither rare nor frequent in none.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Split:
    """Which values are frequent, and which entries of the blocks' lists remain."""

    frequent: np.ndarray
    kept: np.ndarray


def split(codes: np.ndarray, sizes: np.ndarray, code_bytes: int, *, bytes_max: int) -> Split | None:
    """The values in as many blocks as the budget bears are rare, the others frequent.

    Args:
        codes: The blocks' lists one after another, each value at most once a block, as places in
            `sizes`.
        sizes: The bytes that each value takes, wherever it is kept: once.
        code_bytes: What an entry takes besides.
        bytes_max: What all lists and the frequent values may take together.
    Returns:
        Flags of the values and of the entries; None where nothing fits the budget.
    """
    blocks = np.bincount(codes, minlength=len(sizes))
    # By how many blocks hold a value: what it costs as a rare one, and as a frequent one.
    as_rare = np.cumsum(np.bincount(blocks, weights=blocks * code_bytes + sizes))
    as_frequent = np.bincount(blocks, weights=sizes)
    as_frequent = as_frequent.sum() - np.cumsum(as_frequent)
    affordable = np.flatnonzero(as_rare + as_frequent <= bytes_max)
    if not len(affordable):
        return None
    frequent = blocks > affordable[-1]
    return Split(frequent, ~frequent[codes])


def frequent_values(stream: bytes) -> pa.Array:
    """The values that many blocks hold, as `frequent_stream` wrote them."""
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all().column(0).combine_chunks()


def frequent_stream(values: pa.Array) -> bytes:
    """Values as an Arrow stream, which has their type."""
    sink = pa.BufferOutputStream()
    table = pa.table({"value": values})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return cast(bytes, sink.getvalue().to_pybytes())
