"""Row groups of a scan set as runs of pages, so that every technique looks inside them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.pages.kept_rows import KeptRows
from pruning.metadata.pages.page_beliefs import ColumnPages
from pruning.metadata.pages.page_reading import GroupPages, PageFiles, read_pages
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.metadata.pages.run_blocks import run_blocks, unstated_columns
from pruning.metadata.table.comparable import with_comparable
from pruning.metadata.table.measured import with_stated
from pruning.metadata.table.structs import whole

# Writers begin a page after at most about so many rows, so that smaller row groups have no page to skip.
PAGE_ROWS = 20_000
_NO_PAGES: GroupPages = {}


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads the pages of row groups, each column of each once.

    Attributes:
        source: Reads page indexes.
        pages_read: What is known of the pages, by the file and the row group; None of a column without any.
    """

    source: PageFiles
    pages_read: dict[tuple[str, int], dict[str, ColumnPages | None]] = field(default_factory=dict)

    def read(self, row_groups: pa.Table, columns: Collection[str]) -> list[GroupPages]:
        """Return the pages of some columns of each row group, as `read_pages` does.

        Raises:
            InputError: a file cannot be read or is damaged.
        """
        located = row_groups.select(["file", "row_group"]).to_pydict()
        keys = list(zip(located["file"], located["row_group"], strict=True))
        of_groups = [self.pages_read.setdefault(key, {}) for key in keys]
        unread = [place for place, pages in enumerate(of_groups) if not pages.keys() >= set(columns)]
        if unread:
            chosen = row_groups.take(pa.array(unread)).combine_chunks()
            for place, pages in zip(unread, read_pages(chosen, columns, self.source), strict=True):
                of_groups[place].update((name, pages.get(name)) for name in columns)
        return [
            {name: of_column for name in columns if (of_column := pages[name]) is not None}
            for pages in of_groups
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paging:
    """The row groups whose runs of pages are the blocks of a scan set.

    Attributes:
        row_groups: The block metadata of the row groups.
        pages: The believed pages of each row group, by column; empty where none were read.
        groups: The row group of each block; shape (blocks,).
        starts, ends: The rows of each block, inside its row group; shape (blocks,).
        reader: Reads more pages.
    """

    row_groups: pa.Table
    pages: Sequence[GroupPages]
    groups: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    reader: PageReader

    def group_mask(self, blocks: np.ndarray) -> np.ndarray:
        """Mark the row groups with some block of a mask of shape (blocks,); shape (row groups,)."""
        mask: np.ndarray = np.zeros(len(self.pages), bool)
        mask[self.groups[blocks]] = True
        return mask

    def rows_of(self, group: int, blocks: np.ndarray) -> RowRanges:
        """Return the rows of a row group in the blocks of a mask of shape (blocks,)."""
        chosen = blocks & (self.groups == group)
        return RowRanges.of(zip(self.starts[chosen].tolist(), self.ends[chosen].tolist(), strict=True))

    def with_pages_of(self, groups: np.ndarray, columns: Collection[str]) -> "Paging":
        """Return the same blocks, with the pages of more columns of some row groups.

        Args:
            groups: True for the row groups whose pages are read; shape (row groups,).
            columns: The columns, by their names in block metadata.
        Raises:
            InputError: a file cannot be read or is damaged.
        """
        places = np.flatnonzero(groups)
        chosen = self.row_groups.take(pa.array(places)).combine_chunks()
        pages = list(self.pages)
        for place, more in zip(places.tolist(), self.reader.read(chosen, columns), strict=True):
            pages[place] = {**more, **pages[place]}
        return replace(self, pages=pages)

    def blocks_at(self, groups: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the blocks that have some rows, each by its row group and its place in it; shape (rows,)."""
        order = np.lexsort((self.starts, self.groups))
        stride = max(self.ends.max(initial=0), starts.max(initial=0)) + 1
        keys = self.groups[order] * stride + self.starts[order]
        places: np.ndarray = order[np.searchsorted(keys, groups * stride + starts, "right") - 1]
        return places


def cut_at_pages(
    row_groups: pa.Table,
    groups: np.ndarray,
    columns: Collection[str],
    reader: PageReader,
    *,
    pages_before: Sequence[GroupPages] | None = None,
) -> tuple[pa.Table, Paging] | None:
    """Return block metadata in which some row groups are cut where a page of a column begins.

    The bytes of a run are its share of those of its row group, by its rows.

    Args:
        row_groups: The block metadata of row groups.
        groups: True for the row groups that may be cut; shape (row groups,).
        columns: The columns whose pages are read, by their names in block metadata.
        reader: Reads the pages.
        pages_before: The pages of each row group at which it is cut already; None if none is.
    Returns:
        The blocks in the order of their rows, and what they are of which row group; None if no row group has
        page indexes of these columns that are believed.
    Raises:
        InputError: a file cannot be read or is damaged.
    """
    places = np.flatnonzero(groups)
    pages_read = reader.read(row_groups.take(pa.array(places)).combine_chunks(), columns)
    if not any(pages_read):
        return None
    row_groups = with_stated(row_groups, unstated_columns(row_groups, pages_read))
    pages = [_NO_PAGES] * len(row_groups) if pages_before is None else list(pages_before)
    for place, of_group in zip(places.tolist(), pages_read, strict=True):
        pages[place] = {**pages[place], **of_group}
    has_pages = np.array([bool(of_group) for of_group in pages], bool)
    cut, others = np.flatnonzero(has_pages), np.flatnonzero(~has_pages)
    chosen = row_groups.take(pa.array(cut)).combine_chunks()
    runs = run_blocks(KeptRows.all_of(chosen), [pages[place] for place in cut.tolist()])
    rows: np.ndarray = whole(row_groups.column("row_count")).to_numpy()
    groups_of_blocks = np.concatenate([others, cut[runs.groups]])
    starts = np.concatenate([np.zeros(len(others), np.int64), runs.starts])
    ends = np.concatenate([rows[others], runs.ends])
    order = np.lexsort((starts, groups_of_blocks))
    paging = Paging(
        row_groups=row_groups,
        pages=pages,
        groups=groups_of_blocks[order],
        starts=starts[order],
        ends=ends[order],
        reader=reader,
    )
    blocks = pa.concat_tables([row_groups.take(pa.array(others)), runs.blocks]).take(pa.array(order))
    return _with_shared_bytes(blocks.combine_chunks(), paging, rows), paging


def _with_shared_bytes(blocks: pa.Table, paging: Paging, rows: np.ndarray) -> pa.Table:
    """Return the blocks, each with the share of its row group's bytes; the reader compares none of them."""
    place = blocks.schema.get_field_index("byte_count")
    counts = whole(paging.row_groups.column("byte_count"))
    sizes = counts.fill_null(0).to_numpy()[paging.groups]
    row_counts, group_rows = paging.ends - paging.starts, np.maximum(rows[paging.groups], 1)
    shares = pa.array((sizes * (row_counts / group_rows)).astype(np.int64))
    is_known = counts.is_valid().take(pa.array(paging.groups))
    lanes = pc.if_else(is_known, shares, pa.scalar(None, pa.int64()))
    blocks = blocks.set_column(place, blocks.schema.field(place), lanes)
    return with_comparable(blocks, ())
