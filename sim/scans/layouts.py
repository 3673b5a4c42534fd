"""The positions of blocks in files, and the requests that read parts of them.

A file holds some blocks one after the other, and a block its column chunks, as in Parquet. Adjacent ranges
come
with one request; so reading fewer columns may take more requests for fewer bytes.

"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from pruning.metadata.pages.row_ranges import RowRanges

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
        pages_per_block: The number of pages of a column chunk, which share its bytes and rows evenly.
        page_kinds: Columns take turns in so many kinds of pages: the next one has twice as many, then three
            times, and so on. So pages of different columns do not align.
        index_bytes_per_page: The size of a column's page index, which gives positions and bounds of its
            pages.
    """

    sizes: np.ndarray
    columns: int = 1
    blocks_per_file: int = 1
    pages_per_block: int = 1
    page_kinds: int = 1
    index_bytes_per_page: int = 40

    @property
    def runs(self) -> int:
        """The number of runs of rows of a block that lie in one page of each column."""
        return self.pages_per_block * math.lcm(*range(1, self.page_kinds + 1))

    def pages_of(self, column: int) -> int:
        """Return the number of pages of a column's chunk."""
        return self.pages_per_block * (1 + column % self.page_kinds)

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
        rows: Sequence[RowRanges] | None = None,
    ) -> Iterator[Request]:
        """Yield the requests for columns of blocks.

        Args:
            blocks: Ordinals, ascending, shape (blocks,).
            columns_read: The number of columns, which lie as far apart as possible; 0 is all of them.
            rows: The wanted rows of each block, by its runs; None is all, without pages.
        """
        wanted = min(columns_read or self.columns, self.columns)
        column = np.arange(wanted) * self.columns // wanted
        if rows is None:
            owners, piece = np.repeat(blocks, wanted), np.tile(column, len(blocks))
            cuts: np.ndarray | int = self.columns
        else:
            owners, piece, cuts = self._pages(blocks, column, rows)
        starts, sizes = self._starts[owners], self.sizes[owners]
        return self._merge_ranges(
            owners, starts + sizes * piece // cuts, starts + sizes * (piece + 1) // cuts, ways
        )

    def _pages(
        self, blocks: np.ndarray, columns: np.ndarray, rows: Sequence[RowRanges]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pages of columns with wanted rows: their blocks, their places, and of how many each."""
        owners, places, cuts = [], [], []
        for block, kept in zip(blocks.tolist(), rows, strict=True):
            for column in columns.tolist():
                count = self.pages_of(column)
                width = self.runs // count
                pages = np.flatnonzero(kept.overlaps(np.arange(count) * width, np.full(count, width)))
                owners.append(np.full(len(pages), block))
                places.append(column * count + pages)
                cuts.append(np.full(len(pages), self.columns * count))
        nothing = np.zeros(0, np.int64)
        return (
            np.concatenate([nothing, *owners]),
            np.concatenate([nothing, *places]),
            np.concatenate([nothing, *cuts]),
        )

    def index_requests(self, blocks: np.ndarray, ways: RequestOptions, *, columns: int) -> Iterator[Request]:
        """Yield the requests for the page indexes of some columns of blocks, which lie at the end of the
        file.

        Args:
            blocks: Ordinals, ascending, shape (blocks,).
        """
        sizes = self.index_bytes_per_page * np.array(list(map(self.pages_of, range(self.columns))), np.int64)
        starts = np.cumsum(sizes) - sizes
        owners, column = np.repeat(blocks, columns), np.tile(np.arange(columns), len(blocks))
        begins = owners * sizes.sum() + starts[column]
        return self._merge_ranges(owners, begins, begins + sizes[column], ways)

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
