"""The block metadata of files by their pages, and a note in it that its blocks are no row groups."""

import pyarrow as pa

from pruning.metadata.pages.kept_rows import KeptRows
from pruning.metadata.pages.page_reading import ArrowFiles, read_pages
from pruning.metadata.pages.run_blocks import run_blocks
from pruning.metadata.table.schema import column_types

_KEY, _PAGES = b"skipproof.level", b"page"


def page_blocks(metadata: pa.Table, *, cache: bool) -> pa.Table:
    """Return the blocks between the page boundaries of all columns of row groups, with the note.

    Args:
        metadata: Block metadata of row groups of Parquet files. A row group without page indexes is one block
            as before, and one without rows is left out.
        cache: Whether what was measured of pages, and is kept beside the data, is used.
    Raises:
        InputError: a file cannot be read or is damaged.
    """
    pages = read_pages(metadata, column_types(metadata), ArrowFiles(cache=cache))
    blocks = run_blocks(KeptRows.all_of(metadata), pages).blocks
    return blocks.replace_schema_metadata({**(blocks.schema.metadata or {}), _KEY: _PAGES})


def is_by_pages(metadata: pa.Table) -> bool:
    """Tell whether block metadata has the note."""
    return (metadata.schema.metadata or {}).get(_KEY) == _PAGES
