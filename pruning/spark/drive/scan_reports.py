"""Makes the report on one scan: what it reads, what each technique removed, and what Spark surely skips."""

import numpy as np

from pruning.metadata.table.schema import columns_only
from pruning.spark.drive.leaf_tables import removals_before
from pruning.spark.drive.report import ScanReport
from pruning.spark.drive.scan_sets import ScanSet
from pruning.spark.drive.scans import TableScan
from pruning.spark.drive.unread import (
    PushedRange,
    PushedUnion,
    pushdown_notes,
    pushed_kinds,
    pushed_ranges,
    union_of_filter,
    unread_blocks,
)
from pruning.spark.lake.columns_read import bytes_read


def scan_report(scan: TableScan) -> ScanReport:
    """Return the report on a scan: each decision and its reason."""
    before = removals_before(scan.table)
    report = ScanReport(
        paths=scan.table.roots,
        files_total=len(scan.table.files) + scan.left_out.files + sum(removal.files for removal in before),
        files_kept=scan.file_count,
        removals=(*before, *scan.removals),
        range_filters=tuple(part.sql for part in scan.range_filters),
        notes=tuple(scan.notes),
    )
    if scan.range_filters:
        report = report.with_notes(*pushdown_notes(scan.spark))
    if not report.files_total:
        report = report.with_notes("there is no file")
    elif not scan.removals:
        report = report.with_notes(*(f"{name}: {reason}" for name, reason in scan.declined.items()))
    return report if scan.scan_set is None else _with_blocks(report, scan, scan.scan_set)


def _with_blocks(report: ScanReport, scan: TableScan, scan_set: ScanSet) -> ScanReport:
    columns, summarized, left_out = _columns_in_files(scan), scan_set.summarized, scan.left_out
    sizes = bytes_read(scan_set.metadata, columns)
    opened = scan_set.kept_files[scan_set.file_of_block] & ~_unread_mask(scan, scan_set)
    skipped = ~scan_set.keep & ~opened & (scan_set.row_counts > 0)
    kept_mask = summarized.mask & scan_set.keeps_summarized
    opened_mask = summarized.mask & scan_set.kept_files
    summarized_blocks = summarized.blocks_of(summarized.mask)
    blocks_before = sum(removal.blocks for removal in removals_before(scan.table))
    skipped_blocks = int(skipped.sum()) + summarized_blocks - summarized.blocks_of(opened_mask)
    left_out_bytes = sum(int(bytes_read(summary, columns).sum()) for summary in left_out.summaries)
    inside = int((skipped & scan_set.kept_files[scan_set.file_of_block]).sum())
    return report.with_blocks(
        with_files=skipped_blocks - inside + left_out.blocks + blocks_before,
        by_filters=inside,
        total=len(scan_set.keep) + summarized_blocks + left_out.blocks + blocks_before,
        kept=int(scan_set.keep.sum()) + summarized.blocks_of(kept_mask),
        read_max=int((opened | scan_set.keep).sum()) + summarized.blocks_of(opened_mask),
        bytes_total=int(sizes.sum()) + summarized.bytes_of(summarized.mask, columns) + left_out_bytes,
        bytes_kept=int(sizes[scan_set.keep].sum()) + summarized.bytes_of(kept_mask, columns),
        bytes_read_max=int(sizes[opened | scan_set.keep].sum()) + summarized.bytes_of(opened_mask, columns),
    ).with_requests(_requests_saved(scan, scan_set, skipped_blocks + left_out.blocks))


def _requests_saved(scan: TableScan, scan_set: ScanSet, skipped: int) -> int:
    """Return the least number of reads that are saved: one for each skipped file, one for each skipped block.

    Reads before the query, which decided what the query must read, are subtracted.

    Args:
        scan: The scan.
        scan_set: Its row groups.
        skipped: The number of blocks that are not read.
    """
    per_block = 0 if _columns_in_files(scan) == frozenset() else 1
    saved = len(scan.table.files) + scan.left_out.files - scan.file_count + per_block * skipped
    counts = np.bincount(scan_set.file_of_block, minlength=len(scan.table.files))
    places = {file: place for place, file in enumerate(scan.table.files)} if scan.files_read_ahead else {}
    spent = sum(1 + per_block * int(counts[places[file]]) for file in scan.files_read_ahead)
    return max(0, saved - spent)


def _columns_in_files(scan: TableScan) -> frozenset[str] | None:
    """Return the columns that the query reads from the files; None is all of them."""
    if scan.columns_read is None:
        return None
    return scan.columns_read - frozenset(scan.table.partition_columns)


def _unread_mask(scan: TableScan, scan_set: ScanSet) -> np.ndarray:
    """Mark the blocks that Spark is sure to skip in files that it opens; shape (blocks,)."""
    if not (~scan_set.keep & scan_set.kept_files[scan_set.file_of_block]).any():
        return np.zeros(len(scan_set.keep), bool)
    pushed: list[PushedRange | PushedUnion] = [union_of_filter(added) for added in scan.range_filters]
    pushed += (
        part for part in pushed_ranges(scan.own_filter.predicate) if part.column not in scan.shielded_columns
    )
    ranges = [part for part in pushed if part.column not in scan.table.partition_columns]
    return unread_blocks(
        ranges,
        columns_only(scan_set.metadata, [part.column for part in ranges]),
        scan.table.data_columns,
        kinds=pushed_kinds(scan.spark),
    )
