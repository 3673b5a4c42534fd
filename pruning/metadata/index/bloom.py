"""Split-block bloom filters, as Parquet's format defines them, probed many at once.

A value's hash selects a block of 256 bits, and in the block one bit of each of eight words. A value
was never inserted if any of its bits is not set.

Source: Parquet's BloomFilter.md. The hash is XXH64 with seed 0 over the value's plain encoding.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import xxhash

BLOCK_BYTES = 32
_WORDS = 8
# A filter that is half full has false positives for one absent value in 256; one that is three quarters
# full, for one in ten.
_FILL_WANTED, _FILL_MAX = 0.5, 0.75
# One odd number for each word: its product with the hash's lower half gives the bit in that word.
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
    """Return the hashes of encoded values, as uint64."""
    return np.fromiter((xxhash.xxh64_intdigest(value) for value in encoded), np.uint64)


def build_filter(hashes: np.ndarray, size_bytes: int) -> bytes:
    """Build a filter of `size_bytes`, a positive multiple of `BLOCK_BYTES`, with every hash inserted."""
    assert size_bytes > 0
    assert size_bytes % BLOCK_BYTES == 0
    words = np.zeros(size_bytes // 4, np.uint32)
    block = _block_numbers(hashes, np.uint64(size_bytes // BLOCK_BYTES))
    for word, mask in enumerate(masks(hashes)):
        np.bitwise_or.at(words, block * _WORDS + word, mask)
    return words.astype("<u4").tobytes()


def may_contain(filters: pa.LargeBinaryArray, lanes: np.ndarray, hash_: int) -> np.ndarray:
    """Tell, for each of the filters at `lanes`, whether it may hold a hash.

    Claim     A filter that a hash was inserted into is called True.
    Premises  Each filter at `lanes` is not null; one whose size is no multiple of a block is no filter.
    Proof     (1) Insertion set the same eight bits in the same block of the same number of blocks.
              (2) No bit is ever cleared, so all eight are set; one that is not was never inserted.
    """
    offsets, words = _offsets_and_words(filters)
    starts, sizes = offsets[lanes], offsets[lanes + 1] - offsets[lanes]
    # Word and block sizes are powers of two, so starts and sizes that are not multiples have low bits set.
    odd = (starts & 3) | (sizes & (BLOCK_BYTES - 1))
    usable = (odd == 0) & (sizes > 0)
    may: np.ndarray = ~usable
    open_ = np.flatnonzero(usable)
    if not len(open_):
        return may
    value = np.array([hash_], np.uint64)
    sizes = sizes[open_]
    # Usually all filters have the same size, so the hash has the same block in each.
    blocks = sizes[:1] if (sizes == sizes[0]).all() else sizes
    places = (starts[open_] >> 2) + _block_numbers(
        value, blocks.astype(np.uint64) // BLOCK_BYTES
    ) * _WORDS  # (1)
    for word, mask in enumerate(masks(value)):
        kept = np.flatnonzero(words[places + word] & mask[0])  # (2)
        open_, places = open_[kept], places[kept]
    may[open_] = True
    return may


def fold_filter(bits: bytes, size_max: int) -> bytes | None:
    """Halve a filter repeatedly while it is too large or emptier than necessary.

    Returns None if it does not become small enough, or would no longer exclude much.

    Claim     It holds every hash that the filter holds.
    Proof     A hash's block is the hash times the number of blocks, over 2^32, rounded down. So of half
              as many blocks it is half that, rounded down: the one that two neighbours are folded into.
    """
    words = np.frombuffer(bits, "<u4").reshape(-1, _WORDS)
    while len(words) % 2 == 0:
        half = words[0::2] | words[1::2]
        if words.nbytes <= size_max and _fill_share(half) > _FILL_WANTED:
            break
        words = half
    if words.nbytes > size_max or _fill_share(words) > _FILL_MAX:
        return None
    return words.tobytes()


def _fill_share(words: np.ndarray) -> float:
    """Return the share of bits that are set; its eighth power is the false positive rate."""
    return float(np.unpackbits(words.view(np.uint8)).mean())


def _offsets_and_words(filters: pa.LargeBinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the filters' byte offsets, and the words of all of them."""
    _, offsets, data = filters.buffers()
    ends = np.frombuffer(offsets, np.int64)[filters.offset : filters.offset + len(filters) + 1]
    held = b"" if data is None else memoryview(data)[: data.size // 4 * 4]
    return ends, np.frombuffer(held, "<u4")


def _block_numbers(hashes: np.ndarray, blocks: np.ndarray | np.uint64) -> np.ndarray:
    """Return the block that each hash belongs to: its upper half, scaled to the number of blocks."""
    scaled: np.ndarray = ((hashes >> np.uint64(32)) * blocks) >> np.uint64(32)
    return scaled.astype(np.int64)


def masks(hashes: np.ndarray) -> list[np.ndarray]:
    """Return, for each word of a block, the bit that each hash sets in it."""
    low = hashes.astype(np.uint32)
    return [np.uint32(1) << ((low * salt) >> np.uint32(27)) for salt in _SALT]
