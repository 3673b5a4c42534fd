"""Costs of reads, by which it is decided if one side of a join is read before the other ([P] 6).

A cost is a number of bytes. To open a file takes as long as to read a number of bytes, which Spark's setting
`spark.sql.files.openCostInBytes` estimates; so many small files cost more than one large file.
"""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.techniques.plan.keys import KeyBounds

# A side is read first where that costs at most this share of what it may spare.
SHARE_MAX = 0.5
# A block with this share of the range of all keys is hardly ever without a partner.
WIDE_MIN = 0.9
# So many bytes of a string, behind those that all keys share, tell its place among them.
_BYTES_OF_PLACE = 6


@dataclass(frozen=True, slots=True)
class Reads:
    """A number of files that are opened, and the bytes that are read of them."""

    files: int = 0
    byte_count: int = 0

    def __add__(self, other: "Reads") -> "Reads":
        return Reads(self.files + other.files, self.byte_count + other.byte_count)

    def part(self, share: float) -> "Reads":
        """Return the reads of a share of the bytes, from 0 to 1, which lie in as few files."""
        return Reads(math.ceil(share * self.files), math.ceil(share * self.byte_count))

    def cost(self, open_bytes: int) -> int:
        """Return the cost in bytes; `open_bytes` is that of opening a file."""
        return self.files * open_bytes + self.byte_count


def share_without_keys(rows: int, blocks: int) -> float:
    """Estimate the share of blocks that the keys of some rows exclude, if each key is in a block of its own.

    It is more where keys share blocks or are in none, and less where a key is in many blocks.
    """
    return max(0.0, 1 - rows / blocks) if blocks else 0.0


def pays(first: Reads, spared: Reads, share: float, open_bytes: int) -> bool:
    """Tell whether to read one side first costs little beside what it may spare the other side.

    Args:
        first: The reads of the side that would be read first.
        spared: The reads of the other side that may be spared.
        share: The share of these that is likely to be spared.
        open_bytes: The bytes that could be read while a file is opened.
    """
    return first.cost(open_bytes) <= SHARE_MAX * share * spared.cost(open_bytes)


def wide_blocks(bounds: KeyBounds) -> np.ndarray:
    """Mark the blocks in whose range nearly every key of a scan may lie; shape (blocks,).

    The keys of another side exclude a block only if none of them is in its range. In a table that is not
    sorted by the key, each block's range is nearly that of the whole table, so that a single key inside of
    that range keeps all blocks. Of a scan of one block, nothing is known of other keys.
    """
    lower, upper = _places(bounds.lower, bounds.upper)
    nowhere: np.ndarray = np.zeros(len(bounds), bool)
    if np.isfinite(upper - lower).sum() < 2:
        return nowhere
    whole = np.nanmax(upper) - np.nanmin(lower)
    return upper - lower >= WIDE_MIN * whole if np.isfinite(whole) and whole > 0 else nowhere


def is_dense(bounds: KeyBounds, keep: np.ndarray, rows: int) -> bool:
    """Tell whether a scan has as many rows as the range of its keys has values.

    Mostly it then has each key once, as a dimension has, so that its rows exclude no more than the range.

    Args:
        bounds: The bounds of a key in the scan's blocks.
        keep: True for the blocks that are read; shape (blocks,).
        rows: The number of their rows.
    """
    if not pa.types.is_integer(bounds.lower.type):
        return False
    ends = [lanes.filter(pa.array(keep & bounds.may_value)) for lanes in (bounds.lower, bounds.upper)]
    if not len(ends[0]) or any(lanes.null_count for lanes in ends):
        return False
    least, greatest = pc.min(ends[0]).as_py(), pc.max(ends[1]).as_py()
    return bool(rows == greatest - least + 1)


def _places(lower: pa.Array, upper: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return lanes as numbers in the same order, NaN where unknown; both shape (blocks,)."""
    if pa.types.is_binary(lower.type):
        ends = pc.min_max(pa.chunked_array([lower, upper])).as_py()
        pairs = enumerate(zip(ends["min"] or b"", ends["max"] or b"", strict=False))
        start = next((place for place, (first, last) in pairs if first != last), len(ends["min"] or b""))
        return _places_of_texts(lower, start), _places_of_texts(upper, start)
    if pa.types.is_boolean(lower.type):
        lower, upper = lower.cast(pa.int8()), upper.cast(pa.int8())
    numbers = [lanes.cast(pa.float64(), safe=False) for lanes in (lower, upper)]
    first, second = (lanes.to_numpy(zero_copy_only=False) for lanes in numbers)
    return first, second


def _places_of_texts(lanes: pa.Array, start: int) -> np.ndarray:
    """Return the bytes of texts from one place on as numbers; shape (texts,)."""
    parts = pc.binary_slice(pc.fill_null(lanes, b""), start, start + _BYTES_OF_PLACE)
    padded = np.array(parts.to_pylist(), f"S{_BYTES_OF_PLACE}")
    digits = padded.view(np.uint8).reshape(len(lanes), _BYTES_OF_PLACE)
    places = digits @ 256.0 ** np.arange(_BYTES_OF_PLACE - 1, -1, -1)
    return np.where(lanes.is_valid(), places, np.nan)
