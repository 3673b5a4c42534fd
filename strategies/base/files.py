"""Generated tables as Parquet files: a row group per block, with or without statistics.

pyarrow writes the statistics, so they are its own: it leaves NaN out of bounds, writes no bounds
where a column has no other value, and truncates nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from strategies.base.page_layouts import PageLayout
from strategies.base.tables import Table, to_arrow


def write_files(table: Table, directory: Path, **options: Any) -> tuple[Path, ...]:
    """Write a table as `write_blocks` writes blocks."""
    return write_blocks([to_arrow(table.columns, block) for block in table.blocks], directory, **options)


def write_blocks(
    blocks: Sequence[pa.Table],
    directory: Path,
    *,
    blocks_per_file: int = 2,
    statistics: bool | Sequence[str] = True,
    page_index: bool = False,
    pages: PageLayout | None = None,
    together: bool = False,
    dictionary: bool | None = None,
    filters: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Write blocks of one schema, `blocks_per_file` row groups to a file; the last file may hold fewer.

    Args:
        directory: An existing directory; files are named part-00000.parquet and on.
        statistics: For all columns, for none, or for the columns named; for none if `pages` says so.
        page_index: Whether to write column and offset indexes as well.
        pages: The pages of such a file; None is one page of each column in a block.
        together: Whether the blocks of a file are one row group.
        dictionary: Whether columns are dictionary-coded, even if `pages` says otherwise.
        filters: The columns that get a bloom filter.
    Returns:
        The files, in the order of their blocks.
    Raises:
        ValueError: `blocks_per_file` is not positive.
    """
    if blocks_per_file < 1:
        raise ValueError(f"blocks_per_file is {blocks_per_file}; a file needs at least one block")
    bloom = {"bloom_filter_options": {name: {"ndv": 64, "fpp": 0.01} for name in filters}} if filters else {}
    layout = {} if pages is None else pages.options
    coding = {} if dictionary is None else {"use_dictionary": dictionary}
    stated = statistics if isinstance(statistics, bool) else list(statistics)
    paths: list[Path] = []
    for first in range(0, len(blocks), blocks_per_file):
        path = directory / f"part-{len(paths):05}.parquet"
        with pq.ParquetWriter(
            path,
            blocks[first].schema,
            **({"write_statistics": stated, "write_page_index": page_index} | layout | coding),
            **bloom,
        ) as writer:
            of_file = blocks[first : first + blocks_per_file]
            for block in [pa.concat_tables(of_file)] if together else of_file:
                # One call is one row group, also of no rows at all.
                writer.write_table(block, row_group_size=max(1, block.num_rows))
        paths.append(path)
    return tuple(paths)
