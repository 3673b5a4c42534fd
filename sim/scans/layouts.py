"""The positions of blocks in files, and the requests that read parts of them.

A file holds some blocks one after the other, and a block its column chunks, as in Parquet. Adjacent ranges
come
with one request; so reading fewer columns may take more requests for fewer bytes.

"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

# The blocks of which a request reads something, once for each range, and its bytes.
Request: TypeAlias = tuple[np.ndarray, int]


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """The way in which a reader requests ranges of a file.

    Attributes:
        gap_bytes: Ranges that are no further apart are read together, with the bytes between them.
        request_bytes_max: The most bytes of a request; 0 is no limit.
    """

    gap_bytes: int = 0
    request_bytes_max: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class FileLayout:
    """The positions of the bytes of a table's blocks.

    Attributes:
        sizes: Bytes of each block, shape (blocks,).
        columns: The number of column chunks of a block, which share its bytes evenly.
        blocks_per_file: The number of blocks of a file; the last file may have fewer.
        pages_per_block: The number of pages of each column chunk, which share its bytes evenly.
        index_bytes_per_page: The size of a column's page index, which gives positions and bounds of its
            pages.
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
        """Return the number of files that blocks lie in."""
        return len(np.unique(blocks // self.blocks_per_file))

    def requests(
        self,
        blocks: np.ndarray,
        ways: RequestOptions,
        *,
        columns_read: int = 0,
        pages: np.ndarray | None = None,
    ) -> Iterator[Request]:
        """Yield the requests for columns of blocks.

        Args:
            blocks: Ordinals, ascending, shape (blocks,).
            columns_read: The number of columns, which lie as far apart as possible; 0 is all of them.
            pages: A mask of the wanted pages, shape (blocks, pages_per_block); None is all.
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
        return self._merge_ranges(
            owners, starts + sizes * piece // cuts, starts + sizes * (piece + 1) // cuts, ways
        )

    def index_requests(self, blocks: np.ndarray, ways: RequestOptions, *, columns: int) -> Iterator[Request]:
        """Yield the requests for the page indexes of some columns of blocks, which lie at the end of the
        file.

        Args:
            blocks: Ordinals, ascending, shape (blocks,).
        """
        size = self.index_bytes_per_page * self.pages_per_block
        owners, column = np.repeat(blocks, columns), np.tile(np.arange(columns), len(blocks))
        begins = (owners * self.columns + column) * size
        return self._merge_ranges(owners, begins, begins + size, ways)

    def _merge_ranges(
        self, owners: np.ndarray, begins: np.ndarray, ends: np.ndarray, ways: RequestOptions
    ) -> Iterator[Request]:
        """Merge ranges, which ascend in each file, into requests."""
        if not len(owners):
            return
        files = owners // self.blocks_per_file
        apart = (begins[1:] - ends[:-1] > ways.gap_bytes) | (files[1:] != files[:-1])
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(owners)]
        for first, stop in itertools.pairwise(cuts):
            size = int(ends[stop - 1] - begins[first])
            most = ways.request_bytes_max or size
            # A range of no bytes, as a column chunk of a tiny block may be, still takes a request.
            for at in range(0, max(size, 1), max(most, 1)):
                yield owners[first:stop], min(most, size - at)
