"""Rare and frequent values: rare ones are listed for each block, frequent ones once for all blocks.

Point lookups mostly look for rare values. If the lists of all values are too long, those without the
frequent values are often short enough ([M] 5.3.5). Then a lookup of a rare value keeps the blocks that
hold it, and a lookup of a value that is neither rare nor frequent keeps none.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FrequencySplit:
    """Flags of the values that are frequent, and of the entries of the blocks' lists that are rare."""

    frequent: np.ndarray
    kept: np.ndarray


def split_by_frequency(
    codes: np.ndarray, sizes: np.ndarray, code_bytes: int, *, bytes_max: int
) -> FrequencySplit | None:
    """Split values into rare and frequent ones, with as many rare ones as the budget allows.

    Args:
        codes: The blocks' lists one after another, as indices in `sizes`; each value at most once a block.
        sizes: The bytes of each value, which is stored once.
        code_bytes: The additional bytes of each entry.
        bytes_max: The most bytes for all lists and the frequent values together.
    Returns:
        Flags of the values and of the entries; None if no split fits the budget.
    """
    blocks = np.bincount(codes, minlength=len(sizes))
    # For each number n: the bytes of the lists if the values in at most n blocks are rare, and the bytes of
    # the other values, which are then frequent.
    as_rare = np.cumsum(np.bincount(blocks, weights=blocks * code_bytes + sizes))
    as_frequent = np.bincount(blocks, weights=sizes)
    as_frequent = as_frequent.sum() - np.cumsum(as_frequent)
    affordable = np.flatnonzero(as_rare + as_frequent <= bytes_max)
    if not len(affordable):
        return None
    frequent = blocks > affordable[-1]
    return FrequencySplit(frequent, ~frequent[codes])


def frequent_values(stream: bytes) -> pa.Array:
    """Read the frequent values that `frequent_stream` wrote."""
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all().column(0).combine_chunks()


def frequent_stream(values: pa.Array) -> bytes:
    """Write values as an Arrow stream, which includes their type."""
    sink = pa.BufferOutputStream()
    table = pa.table({"value": values})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return cast(bytes, sink.getvalue().to_pybytes())
