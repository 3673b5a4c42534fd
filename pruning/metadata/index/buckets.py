"""Hash buckets: blocks in which the hashes of all values have the same remainder modulo some number.

Tables that Spark bucketed or repartitioned by a column have such blocks: the modulus is the number of
buckets. It is derived from the data: remainders are equal modulo m if m divides all differences of two
hashes, so the greatest common divisor of the differences is the strongest such m.

The hash is Spark's own, Murmur3 of 32 bits with seed 42, taken as a signed number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.metadata.index.plain_bytes import rows_by_length, shortest_by_length, unscaled_integers
from pruning.rules.interpreters.arrow import kernels
from pruning.rules.interpreters.arrow.interpreter import lane_type

_SEED = 42
_LONG_DIGITS = 18
_LONGS = frozenset({Kind.LONG, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


@dataclass(frozen=True, slots=True)
class Bucket:
    """Each value's hash is `bucket` modulo `modulus`, which is greater than 1."""

    bucket: int
    modulus: int


def bucket_of(values: pa.Array, type_: Type) -> Bucket | None:
    """Return the bucket of at least two values, neither NULL nor NaN; None if their hashes share none.

    Claim     The hash of each value is `bucket` modulo `modulus`.
    Proof     (1) `modulus` divides the difference of each hash from the first.
              (2) So each has the remainder of the first.
    """
    value_hashes = hashes(values, type_).astype(np.int64)
    if not len(value_hashes):
        return None
    modulus = int(np.gcd.reduce(value_hashes - value_hashes[0]))  # (1)
    return Bucket(int(value_hashes[0]) % modulus, modulus) if modulus > 1 else None  # (2)


def hashes_of(values: Sequence[Value], type_: Type) -> list[int]:
    """Return Spark's hash of each value of a type."""
    if not values:
        return []
    numbers = [int(value) if isinstance(value, bool) else value for value in values]
    return [int(hash_) for hash_ in hashes(pa.array(numbers, lane_type(type_)), type_)]


def hashes(values: pa.Array, type_: Type) -> np.ndarray:
    """Return Spark's hash of each value, none of them NULL, as int32."""
    lanes = kernels.reinterpret(values, lane_type(type_))
    if type_.kind in BYTES:
        return _hash_bytes(rows_by_length(lanes), len(lanes))
    if type_.kind is Kind.DECIMAL:
        return _hash_decimals(lanes, type_)
    numbers = lanes.to_numpy(zero_copy_only=False)
    if type_.floating:
        numbers = (numbers + 0).view(np.int32 if type_.kind is Kind.FLOAT else np.int64)  # -0.0 is 0.0
    if type_.kind in _LONGS or type_.kind is Kind.DOUBLE:
        return _as_signed(_hash_longs(numbers.astype(np.int64)))
    word = numbers.astype(np.int32).view(np.uint32)
    return _as_signed(_finalize(_mix(_seeds(len(word)), word), 4))


def _hash_longs(numbers: np.ndarray) -> np.ndarray:
    bits = numbers.view(np.uint64)
    low, high = bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
    return _finalize(_mix(_mix(_seeds(len(bits)), low), high), 8)


def _hash_decimals(lanes: pa.Array, type_: Type) -> np.ndarray:
    integers = unscaled_integers(lanes)
    if type_.precision <= _LONG_DIGITS:
        return _as_signed(_hash_longs(np.ascontiguousarray(integers[:, :8]).view("<i8")[:, 0]))
    return _hash_bytes(shortest_by_length(integers), len(lanes))


def _hash_bytes(groups: Iterable[tuple[np.ndarray, np.ndarray]], count: int) -> np.ndarray:
    """Return the hashes of byte strings, which are grouped by length."""
    hashes_ = np.zeros(count, np.uint32)
    for places, rows in groups:
        hashes_[places] = _hash_rows(rows)
    return _as_signed(hashes_)


def _hash_rows(rows: np.ndarray) -> np.ndarray:
    """Return the hashes of byte strings of one length: words first, then each remaining byte as a word."""
    state, length = _seeds(len(rows)), rows.shape[1]
    whole = length - length % 4
    words = np.ascontiguousarray(rows[:, :whole]).view("<u4")
    for word in range(whole // 4):
        state = _mix(state, words[:, word])
    for place in range(whole, length):
        state = _mix(state, rows[:, place].view(np.int8).astype(np.int32).view(np.uint32))
    return _finalize(state, length)


def _seeds(count: int) -> np.ndarray:
    return np.full(count, _SEED, np.uint32)


def _mix(state: np.ndarray, word: np.ndarray) -> np.ndarray:
    """Compute one round of Murmur3."""
    scrambled = _rotate(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotate(state ^ scrambled, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finalize(state: np.ndarray, length: int) -> np.ndarray:
    """Compute the last step of Murmur3."""
    state = state ^ np.uint32(length)
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    finalized: np.ndarray = state ^ (state >> np.uint32(16))
    return finalized


def _rotate(word: np.ndarray, bits: int) -> np.ndarray:
    rotated: np.ndarray = (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))
    return rotated


def _as_signed(words: np.ndarray) -> np.ndarray:
    return words.view(np.int32)
