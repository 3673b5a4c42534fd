"""XXH64 with seed 0, computed for many byte strings of one length at once, column by column.

Source: the specification of XXH64 in xxHash's doc/xxhash_spec.md.
"""

import numpy as np
import pyarrow as pa
import xxhash

from pruning.metadata.index.plain_bytes import rows_by_length

_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_P1, _P2, _P3, _P4, _P5 = (np.uint64(prime) for prime in _PRIMES)
_MASK = (1 << 64) - 1
_STARTS = [(_PRIMES[0] + _PRIMES[1]) & _MASK, _PRIMES[1], 0, -_PRIMES[0] & _MASK]
_TURNS = (1, 7, 12, 18)
_STRIPE_BYTES = 32
# For fewer strings of one length, a call for each string is faster than numpy operations on columns.
_ROWS_MIN = 64


def hash_bytes(values: pa.Array) -> np.ndarray:
    """Return the hash of each string of a binary array without nulls, as uint64."""
    hashes = np.zeros(len(values), np.uint64)
    for places, rows in rows_by_length(values):
        hashes[places] = hash_rows(rows)
    return hashes


def hash_rows(rows: np.ndarray) -> np.ndarray:
    """Return the hash of each row of bytes, uint8 of shape (n, length), as uint64."""
    if len(rows) < _ROWS_MIN:
        digests = (xxhash.xxh64_intdigest(row.tobytes()) for row in rows)
        return np.fromiter(digests, np.uint64, len(rows))
    length = rows.shape[1]
    at = length - length % _STRIPE_BYTES
    state = _hash_stripes(_words(rows[:, :at], "<u8")) if at else np.full(len(rows), _P5)
    state = state + np.uint64(length)
    for word in _words(rows[:, at : length - length % 8], "<u8").T:
        state = _rotate(state ^ _round(np.uint64(0), word), 27) * _P1 + _P4
    at = length - length % 8
    if length - at >= 4:
        word = _words(rows[:, at : at + 4], "<u4")[:, 0].astype(np.uint64)
        state = _rotate(state ^ (word * _P1), 23) * _P2 + _P3
        at += 4
    for place in range(at, length):
        state = _rotate(state ^ (rows[:, place].astype(np.uint64) * _P5), 11) * _P1
    return _finalize(state)


def _hash_stripes(words: np.ndarray) -> np.ndarray:
    """Hash whole stripes: four words at a time into four lanes, and finally the lanes into one."""
    lanes = [np.full(len(words), start, np.uint64) for start in _STARTS]
    for place, word in enumerate(words.T):
        lanes[place % 4] = _round(lanes[place % 4], word)
    rotated = [_rotate(lane, turn) for lane, turn in zip(lanes, _TURNS, strict=True)]
    state: np.ndarray = rotated[0] + rotated[1] + rotated[2] + rotated[3]
    for lane in lanes:
        state = (state ^ _round(np.uint64(0), lane)) * _P1 + _P4
    return state


def _words(rows: np.ndarray, type_: str) -> np.ndarray:
    words: np.ndarray = np.ascontiguousarray(rows).view(type_)
    return words


def _round(state: np.ndarray | np.uint64, word: np.ndarray) -> np.ndarray:
    return _rotate(state + word * _P2, 31) * _P1


def _finalize(state: np.ndarray) -> np.ndarray:
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    finalized: np.ndarray = state ^ (state >> np.uint64(32))
    return finalized


def _rotate(state: np.ndarray, bits: int) -> np.ndarray:
    rotated: np.ndarray = (state << np.uint64(bits)) | (state >> np.uint64(64 - bits))
    return rotated
