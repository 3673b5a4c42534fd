"""How blocks lie in files, and how many requests it takes to get what is wanted of them.

A file holds some blocks one after the other, and a block its column chunks, as Parquet has it. What lies
together comes with one request; so reading fewer columns may take more requests for fewer bytes.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

# The blocks of which a request brings something, once for each range, and its bytes.
Request: TypeAlias = tuple[np.ndarray, int]


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How a reader asks for ranges of a file.

    Attributes:
        gap_bytes: Those that are no further apart come together, with what is between them.
        request_bytes_max: What is longer comes in several requests; 0 is no limit.
    """

    gap_bytes: int = 0
    request_bytes_max: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Where the bytes of a table's blocks are.

    Attributes:
        sizes: Bytes of each block, shape (blocks,).
        columns: Column chunks of a block, which share its bytes evenly.
        blocks_per_file: The last file may have fewer.
        pages_per_block: Of each column chunk, which share its bytes evenly.
        index_bytes_per_page: Of a column's index, which tells where its pages begin and what is in them.
    """

    sizes: np.ndarray
    columns: int = 1
    blocks_per_file: int = 1
    pages_per_block: int = 1
    index_bytes_per_page: int = 40

    @cached_property
    def _starts(self) -> np.ndarray:
        starts: np.ndarray = np.cumsum(self.sizes) - self.sizes
        return starts

    def files(self, blocks: np.ndarray) -> int:
        """In how many files blocks lie."""
        return len(np.unique(blocks // self.blocks_per_file))

    def requests(
        self,
        blocks: np.ndarray,
        ways: Ways,
        *,
        columns_read: int = 0,
        pages: np.ndarray | None = None,
    ) -> Iterator[Request]:
        """The requests for columns of blocks.

        Args:
            blocks: Ordinals, ascending, shape (blocks,).
            columns_read: How many, which lie as far apart as so many can; 0 is all of them.
            pages: Which pages are wanted, shape (blocks, pages_per_block); None is all.
        """
        wanted = min(columns_read or self.columns, self.columns)
        column = np.arange(wanted) * self.columns // wanted
        parts = 1 if pages is None else self.pages_per_block
        cuts = self.columns * parts
        piece = (column[:, None] * parts + np.arange(parts)).ravel()
        owners, piece = np.repeat(blocks, len(piece)), np.tile(piece, len(blocks))
        if pages is not None:
            kept = np.repeat(pages[:, None, :], wanted, axis=1).ravel()
            owners, piece = owners[kept], piece[kept]
        starts, sizes = self._starts[owners], self.sizes[owners]
        return self._together(
            owners, starts + sizes * piece // cuts, starts + sizes * (piece + 1) // cuts, ways
        )

    def index_requests(self, blocks: np.ndarray, ways: Ways, *, columns: int) -> Iterator[Request]:
        """The requests for the page indexes of some columns of blocks, which lie at the end of the file.

        Args:
            blocks: Ordinals, ascending, shape (blocks,).
        """
        size = self.index_bytes_per_page * self.pages_per_block
        owners, column = np.repeat(blocks, columns), np.tile(np.arange(columns), len(blocks))
        begins = (owners * self.columns + column) * size
        return self._together(owners, begins, begins + size, ways)

    def _together(
        self, owners: np.ndarray, begins: np.ndarray, ends: np.ndarray, ways: Ways
    ) -> Iterator[Request]:
        """Ranges, ascending in each file, as requests."""
        if not len(owners):
            return
        files = owners // self.blocks_per_file
        apart = (begins[1:] - ends[:-1] > ways.gap_bytes) | (files[1:] != files[:-1])
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(owners)]
        for first, stop in itertools.pairwise(cuts):
            size = int(ends[stop - 1] - begins[first])
            most = ways.request_bytes_max or size
            for at in range(0, size, most):
                yield owners[first:stop], min(most, size - at)
