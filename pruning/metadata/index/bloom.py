"""Split-block bloom filters, as Parquet's format defines them: many small ones probed at once.

A value's hash chooses a block of 256 bits, and in it one bit of each of eight words. A value whose
bits are not all set was never inserted.

Source: Parquet's BloomFilter.md. The hash is XXH64 with seed 0 over the value's plain encoding.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import xxhash

BLOCK_BYTES = 32
_WORDS = 8
# Half full, a filter is wrong about one absent value in 256; three quarters full, about one in ten.
_FILL_WANTED, _FILL_MAX = 0.5, 0.75
# One odd number a word; a number times the hash's lower half gives the word's bit.
_SALT = np.array(
    [
        0x47B6137B,
        0x44974D91,
        0x8824AD5B,
        0xA2B7289D,
        0x705495C7,
        0x2DF1424B,
        0x9EFC4947,
        0x5C6BFB31,
    ],
    np.uint32,
)


def hashes_of(encoded: Iterable[bytes]) -> np.ndarray:
    """The hashes of encoded values, as uint64."""
    return np.fromiter((xxhash.xxh64_intdigest(value) for value in encoded), np.uint64)


def built(hashes: np.ndarray, size_bytes: int) -> bytes:
    """A filter of so many bytes, a positive multiple of `BLOCK_BYTES`, that holds every hash."""
    assert size_bytes > 0
    assert size_bytes % BLOCK_BYTES == 0
    words = np.zeros(size_bytes // 4, np.uint32)
    block = _block_of(hashes, np.uint64(size_bytes // BLOCK_BYTES))
    for word, mask in enumerate(masks(hashes)):
        np.bitwise_or.at(words, block * _WORDS + word, mask)
    return words.astype("<u4").tobytes()


def may_contain(filters: pa.LargeBinaryArray, lanes: np.ndarray, hash_: int) -> np.ndarray:
    """Of the filters at these places, whether each may hold a hash.

    Claim     A filter that a hash was inserted into is called True.
    Premises  Each filter at `lanes` is not null; one whose size is no multiple of a block is no filter.
    Proof     (1) Insertion set the same eight bits in the same block of the same number of blocks.
              (2) No bit is ever cleared, so all eight are set; one that is not was never inserted.
    """
    offsets, words = _layout(filters)
    starts, sizes = offsets[lanes], offsets[lanes + 1] - offsets[lanes]
    # Both are powers of two: a start that is none of a word, and a size that is none of a block, leave bits.
    odd = (starts & 3) | (sizes & (BLOCK_BYTES - 1))
    usable = (odd == 0) & (sizes > 0)
    found: np.ndarray = ~usable
    open_ = np.flatnonzero(usable)
    if not len(open_):
        return found
    value = np.array([hash_], np.uint64)
    sizes = sizes[open_]
    # Mostly all have one size, and then one place for the hash.
    blocks = sizes[:1] if (sizes == sizes[0]).all() else sizes
    places = (starts[open_] >> 2) + _block_of(value, blocks.astype(np.uint64) // BLOCK_BYTES) * _WORDS  # (1)
    for word, mask in enumerate(masks(value)):
        kept = np.flatnonzero(words[places + word] & mask[0])  # (2)
        open_, places = open_[kept], places[kept]
    found[open_] = True
    return found


def folded(bits: bytes, size_max: int) -> bytes | None:
    """The filter at half its size, again and again: while it is too large, or emptier than it need be.

    None where it does not get small enough, or would no longer exclude much.

    Claim     It holds every hash that the filter holds.
    Proof     A hash's block is the hash times the number of blocks, over 2^32, rounded down. So of half
              as many blocks it is half that, rounded down: the one that two neighbours are folded into.
    """
    words = np.frombuffer(bits, "<u4").reshape(-1, _WORDS)
    while len(words) % 2 == 0:
        half = words[0::2] | words[1::2]
        if words.nbytes <= size_max and _fill(half) > _FILL_WANTED:
            break
        words = half
    if words.nbytes > size_max or _fill(words) > _FILL_MAX:
        return None
    return words.tobytes()


def _fill(words: np.ndarray) -> float:
    """The share of the bits that are set; an absent value finds its eight with the eighth power of it."""
    return float(np.unpackbits(words.view(np.uint8)).mean())


def _layout(filters: pa.LargeBinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """The offsets of the filters, from the first byte of their words on."""
    _, offsets, data = filters.buffers()
    ends = np.frombuffer(offsets, np.int64)[filters.offset : filters.offset + len(filters) + 1]
    held = b"" if data is None else memoryview(data)[: data.size // 4 * 4]
    return ends, np.frombuffer(held, "<u4")


def _block_of(hashes: np.ndarray, blocks: np.ndarray | np.uint64) -> np.ndarray:
    """Which block a hash belongs to: its upper half, scaled to the number of blocks."""
    scaled: np.ndarray = ((hashes >> np.uint64(32)) * blocks) >> np.uint64(32)
    return scaled.astype(np.int64)


def masks(hashes: np.ndarray) -> list[np.ndarray]:
    """Per word, the bit that each hash has in it."""
    low = hashes.astype(np.uint32)
    return [np.uint32(1) << ((low * salt) >> np.uint32(27)) for salt in _SALT]
