"""Bloom filters of a key's values, which are looked up for blocks that can hold only few values.

The filter is the split-block one of `pruning.metadata.index.bloom`; the hash is Spark's, of 32 bits, which
numpy computes for many values at once, spread over 64 bits by a multiplication.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import BYTES, Type
from pruning.metadata.index import bloom, buckets

# With more candidates in a block than these, some would match the filter by mistake, and most such blocks
# hold a partner anyway.
CANDIDATES_MAX = 64
# So many values set little more than half of the bits of 32 bytes; then one absent value in 120 matches.
_VALUES_PER_BLOCK = 25
_FILL_MAX = 0.75
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MANY = np.uint64(CANDIDATES_MAX)


def is_suitable(type_: Type) -> bool:
    """Tell whether blocks often hold few values of a type: integers, dates, instants and single texts."""
    return type_.integer_range is not None or type_.kind in BYTES


def filter_bytes(values: int, bytes_max: int) -> int:
    """Return the bytes of the smallest filter that so many values do not overfill; 0 if it is too large.

    The result is a power of two times `bloom.BLOCK_BYTES`, so that filters of different sizes can be united.
    """
    blocks = 1 << max(0, -(-values // _VALUES_PER_BLOCK) - 1).bit_length()
    size_bytes = blocks * bloom.BLOCK_BYTES
    return size_bytes if size_bytes <= bytes_max else 0


def build_filter(values: pa.Array, type_: Type, size_bytes: int) -> bytes:
    """Build a filter of values, lanes without null and NaN."""
    return bloom.build_filter(_hashes(values, type_), size_bytes)


def unite_filters(first: bytes, other: bytes, bytes_max: int) -> bytes | None:
    """Unite two filters in at most `bytes_max` bytes; None if the result would exclude too little.

    Claim     It holds every hash that one of the two holds.
    Proof     A hash's block is the hash times the number of blocks, over 2^32, rounded down. So of a
              half, a quarter ... of the blocks it is that part of it, rounded down: the one that its
              neighbours are folded into.
    """
    size_bytes = min(len(first), len(other))
    while size_bytes > bytes_max:
        size_bytes //= 2
    if size_bytes < bloom.BLOCK_BYTES:
        return None
    words = _fold(first, size_bytes) | _fold(other, size_bytes)
    return words.tobytes() if np.unpackbits(words.view(np.uint8)).mean() <= _FILL_MAX else None


def _fold(filter_: bytes, size_bytes: int) -> np.ndarray:
    parts = np.frombuffer(filter_, "<u4").reshape(-1, len(filter_) // size_bytes, bloom.BLOCK_BYTES // 4)
    folded: np.ndarray = np.bitwise_or.reduce(parts, axis=1)
    return folded


def may_hold(filter_: bytes, lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    """Mark each [lower, upper] that may hold a value of the filter; neither end is null.

    Claim     [lower, upper] called False holds none of the values that the filter was built of.
    Proof     (1) It has at most `CANDIDATES_MAX` values: `lower`, and those up to `upper`.
              (2) The filter finds none of them, and it finds every value that it was built of.
    """
    steps = _step_counts(lower, upper, type_)
    may: np.ndarray = steps >= _MANY
    open_ = np.flatnonzero(~may)
    for step in range(CANDIDATES_MAX):  # (1)
        open_ = open_[steps[open_] >= step]
        if not len(open_):
            break
        is_member = contains(filter_, _candidates(lower, open_, step), type_)  # (2)
        may[open_[is_member]] = True
        open_ = open_[~is_member]
    return may


def contains(filter_: bytes, values: pa.Array, type_: Type) -> np.ndarray:
    """Mark each value that the filter may have been built of."""
    words = np.frombuffer(filter_, "<u4")
    hashes = _hashes(values, type_)
    blocks = np.uint64(len(filter_) // bloom.BLOCK_BYTES)
    block = ((hashes >> np.uint64(32)) * blocks) >> np.uint64(32)
    first = block.astype(np.int64) * (bloom.BLOCK_BYTES // 4)
    is_member = np.ones(len(hashes), bool)
    for word, mask in enumerate(bloom.masks(hashes)):
        is_member &= (words[first + word] & mask) != 0
    return is_member


def _hashes(values: pa.Array, type_: Type) -> np.ndarray:
    spread: np.ndarray = buckets.hashes(values, type_).view(np.uint32).astype(np.uint64) * _SPREAD
    return spread


def _step_counts(lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    """Return the number of values after `lower` up to `upper`; `_MANY` where it is not known."""
    if type_.integer_range is None:
        same = pc.equal(lower, upper).to_numpy(zero_copy_only=False)
        return np.where(same, np.uint64(0), _MANY)
    first, last = (bound.to_numpy().astype(np.int64) for bound in (lower, upper))
    # The difference of two 64-bit integers fits an unsigned one; it is large for ends in the wrong order.
    steps: np.ndarray = (last - first).view(np.uint64)
    return steps


def _candidates(lower: pa.Array, lanes: np.ndarray, step: int) -> pa.Array:
    first = lower.take(pa.array(lanes))
    if step == 0:
        return first
    return pa.array((first.to_numpy().astype(np.int64) + step).astype(first.type.to_pandas_dtype()))
