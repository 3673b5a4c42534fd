"""A bloom filter of a key's values, asked of the blocks that can hold few values.

The filter is the split-block one of `pruning.metadata.index.bloom`; the hash is Spark's, of 32 bits, which
numpy computes for many values at once, spread over 64 bits by a multiplication.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import BYTES, Type
from pruning.metadata.index import bloom, buckets

# Of more values than these in a block, some are found by mistake, and most blocks hold a partner anyway.
CANDIDATES_MAX = 64
# So many values set little more than half of the bits of 32 bytes; one absent value in 120 is found then.
_VALUES_PER_BLOCK = 25
_FILL_MAX = 0.75
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MANY = np.uint64(CANDIDATES_MAX)


def is_suitable(type_: Type) -> bool:
    """Whether blocks often hold few values of a type: integers, dates, instants; texts if all are one."""
    return type_.integer_range is not None or type_.kind in BYTES


def filter_bytes(values: int, bytes_max: int) -> int:
    """The bytes of the smallest filter that so many values do not overfill; 0 if it is too large.

    It is a power of two times `bloom.BLOCK_BYTES`, so that filters of different sizes can be united.
    """
    blocks = 1 << max(0, -(-values // _VALUES_PER_BLOCK) - 1).bit_length()
    size_bytes = blocks * bloom.BLOCK_BYTES
    return size_bytes if size_bytes <= bytes_max else 0


def build_filter(values: pa.Array, type_: Type, size_bytes: int) -> bytes:
    """A filter of values: lanes without null and NaN."""
    return bloom.build_filter(_hashes(values, type_), size_bytes)


def unite_filters(one: bytes, other: bytes, bytes_max: int) -> bytes | None:
    """A filter that holds what either does, in at most so many bytes; None if it would exclude too little.

    Claim     It holds every hash that one of the two holds.
    Proof     A hash's block is the hash times the number of blocks, over 2^32, rounded down. So of a
              half, a quarter ... of the blocks it is that part of it, rounded down: the one that its
              neighbours are folded into.
    """
    size_bytes = min(len(one), len(other))
    while size_bytes > bytes_max:
        size_bytes //= 2
    if size_bytes < bloom.BLOCK_BYTES:
        return None
    words = _fold(one, size_bytes) | _fold(other, size_bytes)
    return words.tobytes() if np.unpackbits(words.view(np.uint8)).mean() <= _FILL_MAX else None


def _fold(filter_: bytes, size_bytes: int) -> np.ndarray:
    parts = np.frombuffer(filter_, "<u4").reshape(-1, len(filter_) // size_bytes, bloom.BLOCK_BYTES // 4)
    folded: np.ndarray = np.bitwise_or.reduce(parts, axis=1)
    return folded


def may_hold(filter_: bytes, lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    """Whether each [lower, upper] may hold a value of the filter; neither end is null.

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
        found = contains(filter_, _candidates(lower, open_, step), type_)  # (2)
        may[open_[found]] = True
        open_ = open_[~found]
    return may


def contains(filter_: bytes, values: pa.Array, type_: Type) -> np.ndarray:
    """Whether the filter may have been built of each value."""
    words = np.frombuffer(filter_, "<u4")
    hashes = _hashes(values, type_)
    blocks = np.uint64(len(filter_) // bloom.BLOCK_BYTES)
    block = ((hashes >> np.uint64(32)) * blocks) >> np.uint64(32)
    first = block.astype(np.int64) * (bloom.BLOCK_BYTES // 4)
    found = np.ones(len(hashes), bool)
    for word, mask in enumerate(bloom.masks(hashes)):
        found &= (words[first + word] & mask) != 0
    return found


def _hashes(values: pa.Array, type_: Type) -> np.ndarray:
    spread: np.ndarray = buckets.hashes(values, type_).view(np.uint32).astype(np.uint64) * _SPREAD
    return spread


def _step_counts(lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    """How many values follow `lower` up to `upper`; many where that cannot be told."""
    if type_.integer_range is None:
        same = pc.equal(lower, upper).to_numpy(zero_copy_only=False)
        return np.where(same, np.uint64(0), _MANY)
    first, last = (bound.to_numpy().astype(np.int64) for bound in (lower, upper))
    # The difference of two integers of 64 bits is one without sign; of ends in the wrong order, a great one.
    steps: np.ndarray = (last - first).view(np.uint64)
    return steps


def _candidates(lower: pa.Array, lanes: np.ndarray, step: int) -> pa.Array:
    first = lower.take(pa.array(lanes))
    if step == 0:
        return first
    return pa.array((first.to_numpy().astype(np.int64) + step).astype(first.type.to_pandas_dtype()))
