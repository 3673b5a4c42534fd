"""The large row groups of a scan set are cut at pages, so that every technique looks inside them."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.names import top_column
from pruning.metadata.table.schema import column_types, is_nested
from pruning.metadata.table.structs import field_of, has_field, whole
from pruning.rules.sets.truths import Match
from pruning.spark.drive import paging
from pruning.spark.drive.paging import PageReader
from pruning.spark.drive.range_filters import RANGED, ordered_bounds
from pruning.spark.drive.scan_sets import ScanSet

# The page indexes of more row groups take the driver longer than a query should wait.
GROUPS_MAX = 1_000
# One in so many row groups is looked at first, and at least so many.
SAMPLED_EVERY, SAMPLED_MIN = 16, 3
# Pages may exclude rows by a key if this share of them has other values than the page in the middle.
APART_MIN = 0.25


# Tells whether something is gained by a scan set in which some blocks, shape (blocks,), are newly cut.
Promise: TypeAlias = Callable[[ScanSet, np.ndarray], bool]


class PagesUnread(Exception):
    """The reason for which no page indexes were read."""


def paged_columns(
    metadata: pa.Table, in_files: Collection[str], named: Collection[str], keys: Collection[str]
) -> list[str]:
    """Return the columns whose pages may exclude rows; none if no range of them can be pushed.

    Args:
        metadata: The block metadata of a table.
        in_files: The top-level columns that its files have.
        named: The columns that the scan's own filter names.
        keys: The top-level columns that keys of joins, groups and orders are made of.
    """
    columns = {
        name: type_
        for name, type_ in column_types(metadata).items()
        if top_column(name) in in_files and (name in named or top_column(name) in keys)
    }
    can_push = any(not is_nested(name) and type_.kind in RANGED for name, type_ in columns.items())
    return list(columns) if can_push else []


def cut_scan_set(
    scan_set: ScanSet,
    columns: Collection[str],
    verdicts_of: Callable[[pa.Table], np.ndarray],
    reader: PageReader,
    *,
    blocks: np.ndarray,
    is_promising: Promise,
) -> ScanSet:
    """Return a scan set with large row groups cut at pages, where that may exclude more rows.

    Of many row groups some are looked at first, evenly spaced; if their pages exclude nothing, no other is.

    Args:
        scan_set: The scan set, some of whose row groups may be cut already.
        columns: The columns whose page indexes are read.
        verdicts_of: Returns the verdict of the scan's own filter on each block.
        reader: Reads the pages.
        blocks: True for the blocks whose row groups may be cut; shape (blocks,).
        is_promising: Tells whether row groups were cut with success.
    Raises:
        PagesUnread: there are too many row groups, or a file cannot be read.
    """
    groups = _open_groups(scan_set, blocks, columns)
    if not groups.any():
        return scan_set
    if groups.sum() > GROUPS_MAX:
        raise PagesUnread(f"{groups.sum():,} row groups are more than {GROUPS_MAX:,}")
    places = np.flatnonzero(groups)
    sample = np.zeros(len(groups), bool)
    sample[places[:: max(1, min(SAMPLED_EVERY, len(places) // SAMPLED_MIN))]] = True
    cut = scan_set
    for chosen in [groups] if (sample == groups).all() else [sample, groups]:
        try:
            finer = _cut(scan_set, chosen, columns, verdicts_of, reader)
        except InputError as error:
            raise PagesUnread(str(error)) from error
        if finer is None or finer.paging is None:
            return scan_set
        if not is_promising(finer, finer.keep & chosen[finer.paging.groups]):
            return scan_set
        cut = finer
    return cut


def has_large_groups(scan_set: ScanSet, blocks: np.ndarray) -> bool:
    """Tell whether some of the blocks, shape (blocks,), are in row groups that are large enough to be cut."""
    return bool(_large_groups(scan_set, blocks).any())


def _large_groups(scan_set: ScanSet, blocks: np.ndarray) -> np.ndarray:
    """Mark the large row groups with some of the blocks; shape (row groups,)."""
    paged = scan_set.paging
    rows: np.ndarray = scan_set.row_groups.column("row_count").to_numpy()
    mask: np.ndarray = (blocks if paged is None else paged.group_mask(blocks)) & (rows > paging.PAGE_ROWS)
    return mask


def _open_groups(scan_set: ScanSet, blocks: np.ndarray, columns: Collection[str]) -> np.ndarray:
    """Mark the large row groups with some of the blocks that are not cut at pages of all columns yet."""
    paged, groups = scan_set.paging, _large_groups(scan_set, blocks)
    if paged is not None:
        groups &= np.array([not pages.keys() >= set(columns) for pages in paged.pages], bool)
    return groups if columns else np.zeros(len(groups), bool)


def _cut(
    scan_set: ScanSet,
    groups: np.ndarray,
    columns: Collection[str],
    verdicts_of: Callable[[pa.Table], np.ndarray],
    reader: PageReader,
) -> ScanSet | None:
    """Return the scan set with these row groups cut; None if they have no page indexes of the columns."""
    before = scan_set.paging
    cut = paging.cut_at_pages(
        scan_set.row_groups,
        groups,
        columns,
        reader,
        pages_before=None if before is None else before.pages,
    )
    if cut is None:
        return None
    metadata, pages = cut
    # Each new block is a part of one that was there before, and has its verdict if that was decided.
    of_before = pages.groups if before is None else before.blocks_at(pages.groups, pages.starts)
    verdicts = scan_set.verdicts[of_before]
    is_open = groups[pages.groups] & (verdicts == Match.SOME)
    verdicts[is_open] = verdicts_of(metadata.filter(pa.array(is_open)).combine_chunks())
    return replace(
        scan_set,
        metadata=metadata,
        paging=pages,
        verdicts=verdicts,
        keep=scan_set.keep[of_before],
        file_of_block=scan_set.file_of_block[of_before],
    )


def excludes_by_filter(scan_set: ScanSet, blocks: np.ndarray) -> bool:
    """Tell whether the scan's own filter excludes some of the blocks."""
    return bool((scan_set.verdicts[blocks] == Match.NONE).any())


def lies_apart(names: Collection[str]) -> Promise:
    """Return what tells whether blocks have other values of columns, so that a top-k may need few of them."""

    def is_promising(scan_set: ScanSet, blocks: np.ndarray) -> bool:
        assert scan_set.paging is not None
        structs = whole(scan_set.metadata.filter(pa.array(blocks)).column("columns"))
        groups = scan_set.paging.groups[blocks]
        return any(_lie_apart(field_of(structs, name), groups) for name in names if has_field(structs, name))

    return is_promising


def _lie_apart(column: pa.StructArray, groups: np.ndarray) -> bool:
    """Tell whether enough blocks share no value of a column with the middle one of their row group."""
    lower, upper = ordered_bounds(field_of(column, "min")), ordered_bounds(field_of(column, "max"))
    starts, counts = np.unique(groups, return_index=True, return_counts=True)[1:]
    middles = pa.array(np.repeat(starts + counts // 2, counts))
    is_apart = pc.or_(pc.greater(lower, upper.take(middles)), pc.less(upper, lower.take(middles)))
    count: int = pc.sum(is_apart).as_py() or 0
    return count >= APART_MIN * len(groups)
