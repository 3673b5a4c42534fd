"""How blocks lie in files, and how many requests it takes to get what is wanted of them.

A file holds some blocks one after the other, and a block its column chunks, as Parquet has it. What lies
together comes with one request; so reading fewer columns may take more requests for fewer bytes.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Where the bytes of a table's blocks are.

    Attributes:
        sizes: Bytes of each block, shape (blocks,).
        columns: Column chunks of a block, which share its bytes evenly.
        blocks_per_file: The last file may have fewer.
    """

    sizes: np.ndarray
    columns: int = 1
    blocks_per_file: int = 1

    @cached_property
    def _starts(self) -> np.ndarray:
        starts: np.ndarray = np.cumsum(self.sizes) - self.sizes
        return starts

    def files(self, blocks: np.ndarray) -> int:
        """In how many files blocks lie."""
        return len(np.unique(blocks // self.blocks_per_file))

    def requests(
        self, blocks: np.ndarray, *, columns_read: int = 0, gap_bytes: int = 0
    ) -> Iterator[tuple[np.ndarray, int]]:
        """The requests for columns of blocks.

        Args:
            blocks: Ordinals, shape (blocks,).
            columns_read: How many, which lie as far apart as so many can; 0 is all of them.
            gap_bytes: Ranges of a file that are no further apart come together, with what is between them.
        Yields:
            The blocks of which a request brings something, and its bytes.
        """
        wanted = min(columns_read or self.columns, self.columns)
        blocks = np.sort(blocks)
        chosen = np.arange(wanted) * self.columns // wanted
        owners = np.repeat(blocks, wanted)
        column, sizes = np.tile(chosen, len(blocks)), self.sizes[owners]
        begins = self._starts[owners] + sizes * column // self.columns
        ends = self._starts[owners] + sizes * (column + 1) // self.columns
        files = owners // self.blocks_per_file
        apart = (begins[1:] - ends[:-1] > gap_bytes) | (files[1:] != files[:-1])
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(owners)]
        for first, stop in itertools.pairwise(cuts):
            if stop > first:
                yield owners[first:stop], int(ends[stop - 1] - begins[first])
