"""Costs of reads, by which it is decided if one side of a join is read before the other ([P] 6).

A cost is a number of bytes. To open a file takes as long as to read a number of bytes, which Spark's setting
`spark.sql.files.openCostInBytes` estimates; so many small files cost more than one large file.
"""

import math
from dataclasses import dataclass

# A side is read first where that costs at most this share of what it may spare.
SHARE_MAX = 0.5


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
