"""The large row groups of a scan set are cut at pages, so that every technique looks inside them."""

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.names import top_column
from pruning.metadata.pages.page_reading import PageFiles
from pruning.metadata.table.schema import column_types, is_nested
from pruning.metadata.table.structs import field_of, has_field, whole
from pruning.rules.sets.truths import Match
from pruning.spark.drive import paging
from pruning.spark.drive.range_filters import RANGED, ordered_bounds
from pruning.spark.drive.scan_sets import ScanSet

# The page indexes of more row groups take the driver longer than a query should wait.
GROUPS_MAX = 1_000
# One in so many row groups is looked at first, and at least so many.
SAMPLED_EVERY, SAMPLED_MIN = 16, 3
# Pages may exclude rows by a key if this share of them has other values than the page in the middle.
APART_MIN = 0.25


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
    source: PageFiles,
    *,
    keys: Collection[str],
) -> ScanSet:
    """Return a scan set of row groups with the large ones cut at pages, where that may exclude more rows.

    Of many row groups some are looked at first, evenly spaced; if their pages exclude nothing, no other is.

    Args:
        scan_set: The row groups, of which none is excluded yet.
        columns: The columns whose page indexes are read.
        verdicts_of: Returns the verdict of the scan's own filter on each block.
        source: Reads the page indexes.
        keys: The top-level columns that keys of joins, groups and orders are made of; they may exclude rows
            that pass the filter.
    Raises:
        PagesUnread: there are too many row groups, or a file cannot be read.
    """
    verdicts = scan_set.verdicts
    is_open = (verdicts == Match.SOME) | ((verdicts == Match.ALL) & bool(keys))
    groups = is_open & (scan_set.row_counts > paging.PAGE_ROWS)
    if not columns or not groups.any():
        return scan_set
    if groups.sum() > GROUPS_MAX:
        raise PagesUnread(f"{groups.sum():,} row groups are more than {GROUPS_MAX:,}")
    places = np.flatnonzero(groups)
    sample = np.zeros(len(groups), bool)
    sample[places[:: max(1, min(SAMPLED_EVERY, len(places) // SAMPLED_MIN))]] = True
    try:
        if (sample != groups).any() and not _is_promising(
            scan_set.metadata, sample, columns, verdicts_of, source, keys
        ):
            return scan_set
        cut = paging.cut_at_pages(scan_set.metadata, groups, columns, source)
    except InputError as error:
        raise PagesUnread(str(error)) from error
    if cut is None:
        return scan_set
    metadata, pages = cut
    return replace(
        scan_set,
        metadata=metadata,
        paging=pages,
        verdicts=verdicts_of(metadata),
        keep=np.ones(len(metadata), bool),
        file_of_block=scan_set.file_of_block[pages.groups],
    )


def _is_promising(
    row_groups: pa.Table,
    sample: np.ndarray,
    columns: Collection[str],
    verdicts_of: Callable[[pa.Table], np.ndarray],
    source: PageFiles,
    keys: Collection[str],
) -> bool:
    """Tell whether the pages of some row groups exclude rows, or lie apart in a key, which then may.

    Args:
        row_groups: The block metadata of all row groups.
        sample: True for those that are looked at; shape (row groups,).
        columns: As for `cut_scan_set`.
        verdicts_of, source, keys: Likewise.
    """
    chosen = row_groups.filter(pa.array(sample)).combine_chunks()
    cut = paging.cut_at_pages(chosen, np.ones(len(chosen), bool), columns, source)
    if cut is None:
        return False
    blocks, pages = cut
    if (verdicts_of(blocks) == Match.NONE).any():
        return True
    structs = whole(blocks.column("columns"))
    return any(
        _lie_apart(field_of(structs, name), pages.groups)
        for name in columns
        if top_column(name) in keys and has_field(structs, name)
    )


def _lie_apart(column: pa.StructArray, groups: np.ndarray) -> bool:
    """Tell whether enough blocks share no value of a column with the middle one of their row group."""
    lower, upper = ordered_bounds(field_of(column, "min")), ordered_bounds(field_of(column, "max"))
    starts, counts = np.unique(groups, return_index=True, return_counts=True)[1:]
    middles = pa.array(np.repeat(starts + counts // 2, counts))
    is_apart = pc.or_(pc.greater(lower, upper.take(middles)), pc.less(upper, lower.take(middles)))
    count: int = pc.sum(is_apart).as_py() or 0
    return count >= APART_MIN * len(groups)
