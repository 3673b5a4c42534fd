"""Hash buckets: the hashes of all values of a block leave one rest modulo some number.

Tables that Spark wrote in buckets, or that were repartitioned by a column, are such: the modulus is
the number of buckets. It is found from the data: the rests are the same modulo m where m divides
every difference of two hashes, so the greatest common divisor of them says most.

The hash is Spark's own, Murmur3 of 32 bits with seed 42, taken as a signed number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.metadata.index.plain_bytes import rows_by_length, shortest_by_length, unscaled
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
    """What the hashes of at least two values, neither NULL nor NaN, have in common, if anything.

    Claim     The hash of each value is `bucket` modulo `modulus`.
    Proof     (1) `modulus` divides the difference of each hash from the first.
              (2) So each leaves the rest that the first leaves.
    """
    found = hashes(values, type_).astype(np.int64)
    if not len(found):
        return None
    modulus = int(np.gcd.reduce(found - found[0]))  # (1)
    return Bucket(int(found[0]) % modulus, modulus) if modulus > 1 else None  # (2)


def hashes_of(values: Sequence[Value], type_: Type) -> list[int]:
    """Spark's hash of each value of a type."""
    if not values:
        return []
    numbers = [int(value) if isinstance(value, bool) else value for value in values]
    return [int(found) for found in hashes(pa.array(numbers, lane_type(type_)), type_)]


def hashes(values: pa.Array, type_: Type) -> np.ndarray:
    """Spark's hash of each value, none of them NULL, as int32."""
    lanes = kernels.reinterpret(values, lane_type(type_))
    if type_.kind in BYTES:
        return _of_bytes(rows_by_length(lanes), len(lanes))
    if type_.kind is Kind.DECIMAL:
        return _of_decimals(lanes, type_)
    numbers = lanes.to_numpy(zero_copy_only=False)
    if type_.floating:
        numbers = (numbers + 0).view(np.int32 if type_.kind is Kind.FLOAT else np.int64)  # -0.0 is 0.0
    if type_.kind in _LONGS or type_.kind is Kind.DOUBLE:
        return _signed(_of_longs(numbers.astype(np.int64)))
    word = numbers.astype(np.int32).view(np.uint32)
    return _signed(_finished(_mixed(_seeds(len(word)), word), 4))


def _of_longs(numbers: np.ndarray) -> np.ndarray:
    bits = numbers.view(np.uint64)
    low, high = bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
    return _finished(_mixed(_mixed(_seeds(len(bits)), low), high), 8)


def _of_decimals(lanes: pa.Array, type_: Type) -> np.ndarray:
    integers = unscaled(lanes)
    if type_.precision <= _LONG_DIGITS:
        return _signed(_of_longs(np.ascontiguousarray(integers[:, :8]).view("<i8")[:, 0]))
    return _of_bytes(shortest_by_length(integers), len(lanes))


def _of_bytes(groups: Iterable[tuple[np.ndarray, np.ndarray]], count: int) -> np.ndarray:
    """Hashes of byte strings, those of one length at once."""
    found = np.zeros(count, np.uint32)
    for places, rows in groups:
        found[places] = _of_rows(rows)
    return _signed(found)


def _of_rows(rows: np.ndarray) -> np.ndarray:
    """Hashes of byte strings of one length: whole words first, then each byte left as a signed word."""
    state, length = _seeds(len(rows)), rows.shape[1]
    whole = length - length % 4
    words = np.ascontiguousarray(rows[:, :whole]).view("<u4")
    for word in range(whole // 4):
        state = _mixed(state, words[:, word])
    for place in range(whole, length):
        state = _mixed(state, rows[:, place].view(np.int8).astype(np.int32).view(np.uint32))
    return _finished(state, length)


def _seeds(count: int) -> np.ndarray:
    return np.full(count, _SEED, np.uint32)


def _mixed(state: np.ndarray, word: np.ndarray) -> np.ndarray:
    """Murmur3's round."""
    scrambled = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(state ^ scrambled, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finished(state: np.ndarray, length: int) -> np.ndarray:
    """Murmur3's last step."""
    state = state ^ np.uint32(length)
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    finished: np.ndarray = state ^ (state >> np.uint32(16))
    return finished


def _rotated(word: np.ndarray, bits: int) -> np.ndarray:
    turned: np.ndarray = (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))
    return turned


def _signed(found: np.ndarray) -> np.ndarray:
    return found.view(np.int32)
