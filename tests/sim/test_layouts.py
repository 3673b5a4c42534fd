"""SIM-7: requests bring each byte that is wanted, once, as few as they can be, and none of another file."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pruning.metadata.pages.row_ranges import RowRanges
from sim.scans.layouts import FileLayout, RequestOptions


@st.composite
def layouts(draw: st.DrawFn) -> FileLayout:
    sizes = draw(st.lists(st.integers(1, 60), min_size=1, max_size=6))
    return FileLayout(
        sizes=np.array(sizes, np.int64),
        columns=draw(st.integers(1, 4)),
        blocks_per_file=draw(st.integers(1, 3)),
        pages_per_block=draw(st.integers(1, 3)),
        page_kinds=draw(st.integers(1, 3)),
    )


@given(layouts(), st.data())
def test_requests_bring_what_is_wanted(layout: FileLayout, data: st.DataObject) -> None:
    """SIM-7. Without gaps and limits their bytes are those of the pieces, each once."""
    blocks = np.array(sorted(data.draw(st.sets(st.integers(0, len(layout.sizes) - 1), min_size=1))))
    wide = data.draw(st.integers(0, layout.columns))
    masks = [data.draw(st.lists(st.booleans(), min_size=layout.runs, max_size=layout.runs)) for _ in blocks]
    rows = [RowRanges.of((run, run + 1) for run, is_kept in enumerate(mask) if is_kept) for mask in masks]
    chosen = [at * layout.columns // (wide or layout.columns) for at in range(wide or layout.columns)]
    starts = np.cumsum(layout.sizes) - layout.sizes
    wanted: set[tuple[int, int]] = set()
    for row, block in enumerate(blocks.tolist()):
        for column in chosen:
            count = layout.pages_per_block * (1, 2, 3)[column % layout.page_kinds]
            for page in {run * count // layout.runs for run in np.flatnonzero(masks[row]).tolist()}:
                cuts = layout.columns * count
                piece, size = column * count + page, int(layout.sizes[block])
                begin, end = (int(starts[block]) + size * at // cuts for at in (piece, piece + 1))
                wanted.update((block // layout.blocks_per_file, byte) for byte in range(begin, end))
    plain = list(layout.requests(blocks, RequestOptions(), columns_read=wide, rows=rows))
    assert sum(size for _, size in plain) == len(wanted)
    apart = sum((file, byte - 1) not in wanted for file, byte in wanted)
    assert len([size for _, size in plain if size]) == apart
    cut = list(layout.requests(blocks, RequestOptions(request_bytes_max=7), columns_read=wide, rows=rows))
    assert sum(size for _, size in cut) == len(wanted)
    assert all(size <= 7 for _, size in cut)
    joined = list(layout.requests(blocks, RequestOptions(gap_bytes=10**6), columns_read=wide, rows=rows))
    files = {
        int(block) // layout.blocks_per_file for block, mask in zip(blocks, masks, strict=True) if any(mask)
    }
    assert len(joined) == len(files)


def test_a_file_takes_one_request_whole_and_sixteen_for_one_column() -> None:
    """[S]: 1 GB, 8 columns, 16 row groups."""
    layout = FileLayout(sizes=np.full(16, 64_000_000), columns=8, blocks_per_file=16)
    blocks = np.arange(16)
    assert [size for _, size in layout.requests(blocks, RequestOptions())] == [1_024_000_000]
    one = list(layout.requests(blocks, RequestOptions(), columns_read=1))
    assert [size for _, size in one] == [8_000_000] * 16
    assert layout.files(blocks) == 1


def test_page_indexes_of_a_file_adjoin() -> None:
    """Of all columns they come together; of one, row group by row group."""
    layout = FileLayout(sizes=np.full(4, 1_000), columns=5, blocks_per_file=2, pages_per_block=3)
    blocks = np.arange(4)
    assert [size for _, size in layout.index_requests(blocks, RequestOptions(), columns=5)] == [1_200, 1_200]
    assert [size for _, size in layout.index_requests(blocks, RequestOptions(), columns=1)] == [120] * 4


def test_a_column_chunk_without_bytes_takes_a_request() -> None:
    """A block of one byte and two columns has none for the first column."""
    layout = FileLayout(sizes=np.array([1]), columns=2)
    assert [size for _, size in layout.requests(np.arange(1), RequestOptions(), columns_read=1)] == [0]
