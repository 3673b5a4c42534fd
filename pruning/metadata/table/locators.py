"""Locators of blocks, by which tables of blocks are matched: file, row group and number of rows."""

import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.table.structs import whole

LOCATORS = ("file", "row_group", "row_count")
_ROW_GROUPS_MAX = 1 << 32  # ordinals are int32


def locator_rows(metadata: pa.Table, locators: pa.Table) -> pa.Array:
    """Return the row of each block of a table among the locators; null if it has none.

    Args:
        metadata: Block metadata.
        locators: A table with the fields of `LOCATORS`. A block with another number of rows there is a
            different block; of a block that occurs twice, the first row counts.
    """
    files = locators.column("file").unique()
    key = _locator_keys(metadata, files)
    locator_keys = _locator_keys(locators, files)
    place = pc.index_in(key, value_set=locator_keys)
    same = pc.equal(locators.column("row_count").take(place), metadata.column("row_count"))
    return pc.if_else(pc.fill_null(whole(same), False), place, pa.scalar(None, pa.int32()))


def _locator_keys(table: pa.Table, files: pa.Array) -> pa.Array:
    """Return the file and row group of each block as one number; null if the file is not in `files`."""
    file = pc.index_in(whole(table.column("file")), value_set=files).cast(pa.int64())
    group = whole(table.column("row_group")).cast(pa.int64())
    return pc.add(pc.multiply(file, pa.scalar(_ROW_GROUPS_MAX)), group)
