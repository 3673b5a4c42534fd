"""The leaves that take the places of scans: fewer files, filters that are added, some row groups alone."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pruning.metadata.table.schema import columns_only
from pruning.spark.drive.leaf_tables import (
    can_run,
    columns_of_ranges,
    is_part,
    reads_by_places,
    removals_before,
    with_files,
)
from pruning.spark.drive.pushdown import with_range_filters
from pruning.spark.drive.range_filters import RangeFilter
from pruning.spark.drive.scans import TableScan
from pruning.spark.drive.unread import (
    Conjuncts,
    PushedRange,
    PushedUnion,
    in_list_max,
    pushed_kinds,
    pushed_ranges,
    union_of_filter,
    unread_blocks,
)
from pruning.spark.jvm.gateway import Java
from pruning.spark.lake.leaf_copies import without_rows
from pruning.spark.lake.parquet_leaves import named_row_groups
from pruning.spark.lake.plan_statistics import with_own_statistics
from pruning.spark.lake.row_groups import RowGroups, open_cost, with_row_groups, worthwhile_row_groups
from pruning.spark.lake.tables import ParquetTable


def narrowed_leaf(
    scan: TableScan, files: Sequence[str] | None = None, *, leaf: Java | None = None
) -> Java | None:
    """Return the plan that takes the place of a scan's leaf; None where the leaf stays.

    Args:
        scan: The scan. What is read of `leaf` is noted in it for the report.
        files: Some of the files to read; None is all.
        leaf: The same table's leaf in the analyzed plan; None is the leaf of the optimized plan.
    Raises:
        Unprunable: Spark would read other files.
    """
    chosen = scan.kept_files if files is None else scan.all_files.mask_of(files)
    kept = scan.all_files.names_at(chosen)
    node = scan.leaf.node if leaf is None else leaf
    may_stay = can_run(scan.table) if leaf is None else not (scan.is_pinned or is_part(scan.table))
    # What Iceberg has planned is not planned again when the query runs; but of a scan with keys Iceberg may
    # then leave out more files, by the other side of a join.
    is_planned = bool(removals_before(scan.table)) and not scan.keys
    is_whole = len(kept) == len(scan.table.files) and may_stay and not is_planned
    if not kept and not is_whole:
        return without_rows(scan.spark, with_files(scan.spark, scan.table, [], leaf=node))
    ranges = _range_filters(scan, chosen)
    narrowed = node if is_whole else with_files(scan.spark, scan.table, kept, leaf=node)
    named = _with_kept_groups(scan, narrowed, chosen, ranges)
    narrowed = narrowed if named is None else named
    if isinstance(scan.table, ParquetTable) and narrowed is not node:
        narrowed = with_own_statistics(scan.spark, narrowed, live_rows_left(scan))
    if ranges:
        narrowed, ranges = with_range_filters(scan.spark, narrowed, ranges)
    if leaf is not None:
        scan.range_filters = tuple(ranges)
        scan.named_groups = {} if named is None else named_row_groups(named) or {}
    return None if is_whole and not ranges and named is None else narrowed


def live_rows_left(scan: TableScan) -> int | None:
    """Return the live rows of the blocks that are still to be read; None if some footer is not known."""
    scan_set = scan.scan_set
    if scan_set is None or not scan_set.is_complete:
        return None
    keeps_others = scan_set.keeps_summarized and scan_set.summarized.mask.any()
    return None if keeps_others else scan_set.rows_kept


def pushed_conjuncts(scan: TableScan, ranges: Sequence[RangeFilter]) -> Conjuncts:
    """Return what Spark pushes to the reader of a scan, some of it by range filters that are added."""
    pushed: list[PushedRange | PushedUnion] = [union_of_filter(added) for added in ranges]
    own = pushed_ranges(scan.own_filter.predicate, in_list_max=in_list_max(scan.spark))
    pushed += (part for part in own if part.column not in scan.shielded_columns)
    return [part for part in pushed if part.column not in scan.table.partition_columns]


def _range_filters(scan: TableScan, files: np.ndarray) -> list[RangeFilter]:
    """Return range filters around the kept blocks of files, a mask of shape (files,), if they help Spark."""
    # Another part of the query that shares the leaf may need rows that this scan's own filter drops,
    # such as those with NULL.
    if scan.is_shared or scan.scan_set is None or scan.scan_set.failures:
        return []
    allowed = columns_of_ranges(scan.table, scan.scan_set.metadata)
    if not allowed:
        return []
    file_of_block = scan.scan_set.file_of_block
    # A file without blocks in the metadata may hold anything, so no range is known to cover it.
    if not np.bincount(file_of_block, minlength=len(files))[files].all():
        return []
    try:
        return scan.derived_ranges.of_files(
            scan.own_filter.predicate,
            scan.scan_set.metadata,
            scan.scan_set.keep,
            files[file_of_block],
            allowed,
            needed=scan.needed_conditions,
            deferred=scan.deferred,
        )
    except RecursionError:
        # The predicate is nested more deeply than Python can follow, so no range is known.
        return []


def _with_kept_groups(
    scan: TableScan, leaf: Java, files: np.ndarray, ranges: Sequence[RangeFilter]
) -> Java | None:
    """Return a leaf that reads the kept row groups of files alone; None where that is not worth it.

    Args:
        scan: The scan.
        leaf: The leaf.
        files: True for the files; shape (files,).
        ranges: The range filters that are added.
    """
    scan_set = scan.scan_set
    if scan.is_shared or scan_set is None or not reads_by_places(scan.table):
        return None
    groups = scan_set.row_groups
    inside: np.ndarray = files[scan_set.file_of_group]
    keep = scan_set.kept_groups[inside]
    if keep.all():
        return None
    here = groups.filter(pa.array(inside)).combine_chunks()
    # The shield against NaN may keep comparisons of floats from the reader.
    pushed = [part for part in pushed_conjuncts(scan, ranges) if not part.type.floating]
    skipped = unread_blocks(
        pushed,
        columns_only(here, [part.column for part in pushed]),
        scan.table.data_columns,
        kinds=pushed_kinds(scan.spark),
    )
    columns = scan.columns_read
    lists = worthwhile_row_groups(here, keep, columns, open_cost(scan.spark), skipped=skipped)
    if not lists:
        return None
    ranged = with_row_groups(scan.spark, leaf, [RowGroups(lists)], columns=columns)
    return None if ranged is None else ranged.leaf
