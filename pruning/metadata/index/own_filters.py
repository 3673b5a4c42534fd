"""Bloom filters that are built from a block's values, and the sizes they may and need to have."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.expressions.types import BYTES, Kind, Type
from pruning.metadata.footers.physical_types import Physical
from pruning.metadata.index import bloom, xxh64
from pruning.metadata.index.encodings import Encoding, own_encoding
from pruning.metadata.index.plain_bytes import unscaled_integers
from pruning.rules.interpreters.arrow import kernels
from pruning.rules.interpreters.arrow.interpreter import lane_type

BYTES_PER_BLOCK = 1_024
# With 12 bits per value a filter has false positives for one absent value in 200, with 5 for one in 5.
BITS_WANTED, BITS_MIN = 12, 5
BITS_MAX = 64
BYTES_MAX = 1 << 40
# The bytes for the offsets and the null flags of a block's parts.
LAYOUT_BYTES = 64
_WIDTHS = {Physical.INT32: 4, Physical.INT64: 8}


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """The bits of a bloom filter, and the encoding of values before hashing."""

    bits: bytes
    encoding: Encoding


@dataclass(frozen=True, slots=True)
class Budget:
    """The bytes that the index of one column may take in one block.

    Attributes:
        bytes_per_block: The bytes for all parts together, >= 0.
        bits_per_value: The bits for each value of the block that a filter may take if that is more, >= 0.
    """

    bytes_per_block: int = BYTES_PER_BLOCK
    bits_per_value: float = 0

    @property
    def bytes_for_lists(self) -> int:
        """The bytes that lists of values may take."""
        return max(0, self.bytes_per_block - LAYOUT_BYTES)

    def bytes_for_filter(self, values: int) -> int:
        """Return the bytes that a filter of so many values may take."""
        return max(self.bytes_for_lists, _filter_bytes(values, self.bits_per_value))


def bytes_needed(values: int, *, bits: float = BITS_MIN) -> int:
    """Return the least `bytes_per_block` that leaves room for a filter of so many values."""
    return LAYOUT_BYTES + _filter_bytes(values, bits)


def own_filter(values: pa.Array, type_: Type, budget: Budget) -> BloomFilter | None:
    """Return a filter of distinct values, as large as useful and allowed.

    None if it would be too small to exclude much, and for booleans.
    """
    encoding = own_encoding(type_)
    wanted = _filter_bytes(len(values), max(BITS_WANTED, budget.bits_per_value))
    size = min(wanted, budget.bytes_for_filter(len(values)) // bloom.BLOCK_BYTES * bloom.BLOCK_BYTES)
    if encoding is None or size <= 0 or 8 * size < BITS_MIN * len(values):
        return None
    return BloomFilter(bloom.build_filter(hashes(values, type_, encoding), size), encoding)


def hashes(values: pa.Array, type_: Type, encoding: Encoding) -> np.ndarray:
    """Return the hashes of all bytes that a row equal to one of the values may be stored as.

    Args:
        values: Neither NULL nor NaN; 0.0 stands for -0.0 too.
        type_: Their type, as block metadata holds it.
        encoding: The type's own encoding, whose `of` gives the same bytes for one value.
    """
    lanes = kernels.reinterpret(values, lane_type(type_))
    if type_.kind in BYTES:
        return xxh64.hash_bytes(lanes)
    if type_.kind is Kind.DECIMAL:
        integers = unscaled_integers(lanes)
        wide = encoding.physical is Physical.FIXED_LEN_BYTE_ARRAY
        return xxh64.hash_rows(integers[:, ::-1] if wide else integers[:, : _WIDTHS[encoding.physical]])
    numbers = lanes.to_numpy(zero_copy_only=False)
    if type_.floating:
        # The two zeros are equal, but their bytes differ.
        numbers = np.append(numbers, -numbers[numbers == 0])
        stored = numbers.astype(numbers.dtype.newbyteorder("<"))
    else:
        stored = numbers.astype(f"<i{_WIDTHS[encoding.physical]}")
    return xxh64.hash_rows(stored.view(np.uint8).reshape(len(stored), stored.itemsize))


def _filter_bytes(values: int, bits: float) -> int:
    """Return the bytes of a filter with so many bits for each value, in whole blocks."""
    return bloom.BLOCK_BYTES * -int(-bits * values // (8 * bloom.BLOCK_BYTES))
