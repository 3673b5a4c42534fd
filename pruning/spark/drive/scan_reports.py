"""Makes the report on one scan: what it reads, what each technique removed, and what Spark surely skips."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.names import top_column
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import leaf_names
from pruning.metadata.table.comparable import comparable_columns
from pruning.metadata.table.schema import columns_only
from pruning.spark.drive.leaf_tables import removals_before
from pruning.spark.drive.narrowed_leaves import live_rows_left, pushed_conjuncts
from pruning.spark.drive.pages_read import PagesRead, pages_read, rows_left
from pruning.spark.drive.paging import Paging
from pruning.spark.drive.range_filters import is_pushed
from pruning.spark.drive.refusals import declined_techniques
from pruning.spark.drive.report import ScanReport
from pruning.spark.drive.scan_sets import ScanSet
from pruning.spark.drive.scans import TableScan
from pruning.spark.drive.unread import Conjuncts, pushdown_notes, pushed_kinds, unread_blocks
from pruning.spark.lake.columns_read import bytes_read
from pruning.spark.lake.nested import leaf_types

# The most parts of a table in the picture of what is kept.
PICTURE_CELLS = 120


def scan_report(scan: TableScan) -> ScanReport:
    """Return the report on a scan: each decision and its reason."""
    before = removals_before(scan.table)
    report = ScanReport(
        paths=scan.table.roots,
        files_total=len(scan.table.files) + scan.left_out.files + sum(removal.files for removal in before),
        files_kept=scan.file_count,
        removals=(*before, *scan.removals),
        range_filters=tuple(part.sql for part in scan.range_filters),
        notes=(*scan.notes, *_deferred_notes(scan)),
        attributes=scan.copied_ids.union(attribute.id for attribute in scan.leaf.attributes),
    )
    if scan.range_filters:
        report = report.with_notes(*pushdown_notes(scan.spark))
    if not report.files_total:
        report = report.with_notes("there is no file")
    elif not scan.removals:
        report = report.with_notes(*(f"{name}: {decline.reason}" for name, decline in scan.declined.items()))
    report = replace(report, declined=declined_techniques(scan))
    return report if scan.scan_set is None else _with_blocks(report, scan, scan.scan_set)


def _with_blocks(report: ScanReport, scan: TableScan, scan_set: ScanSet) -> ScanReport:
    """Return the report with counts of row groups, of their bytes, and of pages inside them."""
    columns, summarized, left_out = _columns_in_files(scan), scan_set.summarized, scan.left_out
    groups, kept, is_in_kept_file = scan_set.row_groups, scan_set.kept_groups, _is_in_kept_file(scan_set)
    sizes, rows = bytes_read(groups, columns), groups.column("row_count").to_numpy()
    conjuncts = pushed_conjuncts(scan, scan.range_filters)
    left_out_places = _unnamed_mask(scan, groups)
    opened = is_in_kept_file & ~left_out_places & ~_unread_mask(scan, scan_set, conjuncts)
    inside = _pages_of_groups(scan, scan_set, opened | kept, conjuncts)
    for group, counts in inside.items():
        opened[group] &= counts.rows > 0
    skipped = ~kept & ~opened & (rows > 0)
    kept_mask = summarized.mask & scan_set.keeps_summarized
    opened_mask = summarized.mask & scan_set.kept_files
    summarized_blocks = summarized.blocks_of(summarized.mask)
    blocks_before = sum(removal.blocks for removal in removals_before(scan.table))
    skipped_blocks = int(skipped.sum()) + summarized_blocks - summarized.blocks_of(opened_mask)
    left_out_bytes = sum(int(bytes_read(summary, columns).sum()) for summary in left_out.summaries)
    by_places = int((skipped & is_in_kept_file & left_out_places).sum())
    by_filters = int((skipped & is_in_kept_file & ~left_out_places).sum())
    read = opened | kept
    beside = sum(counts.bytes_beside for group, counts in inside.items() if kept[group])
    not_read = sum(counts.bytes_skipped for group, counts in inside.items() if read[group])
    report = report.with_blocks(
        with_files=skipped_blocks - by_filters - by_places + left_out.blocks + blocks_before,
        by_filters=by_filters,
        by_places=by_places,
        total=len(kept) + summarized_blocks + left_out.blocks + blocks_before,
        kept=int(kept.sum()) + summarized.blocks_of(kept_mask),
        read_max=int(read.sum()) + summarized.blocks_of(opened_mask),
    ).with_requests(
        _requests_saved(
            scan,
            scan_set,
            skipped_blocks + left_out.blocks,
            sum(counts.requests_more for group, counts in inside.items() if read[group]),
        )
    )
    # A log knows the sizes of files, and not those of the columns in them.
    if groups.column("byte_offset").null_count == 0:
        report = report.with_bytes(
            total=int(sizes.sum()) + summarized.bytes_of(summarized.mask, columns) + left_out_bytes,
            kept=int(sizes[kept].sum()) - beside + summarized.bytes_of(kept_mask, columns),
            read_max=int(sizes[read].sum()) - not_read + summarized.bytes_of(opened_mask, columns),
        )
    picture = kept_picture(scan_set, scan.all_files.order)
    report = replace(report, picture=picture, rows_left=live_rows_left(scan))
    if scan_set.paging is None:
        return report
    whole = [group for group in np.flatnonzero(read).tolist() if group not in inside]
    return replace(
        report,
        pages_total=sum(counts.pages for counts in inside.values()),
        pages_kept=sum(counts.pages_kept for counts in inside.values()),
        pages_read_max=sum(counts.pages_max for counts in inside.values()),
        rows_total=int(rows.sum()),
        rows_kept=scan_set.rows_kept,
        rows_read_max=int(rows[whole].sum()) + sum(counts.rows for counts in inside.values()),
    )


def _deferred_notes(scan: TableScan) -> Iterator[str]:
    """Yield, of each conjunct that was not asked of every block, what asks it when the query runs."""
    ranged = {part.column for part in scan.range_filters if part.is_of_conditions}
    for conjunct in scan.deferred:
        by_reader = is_pushed(conjunct) or not ranged.isdisjoint(leaf_names(conjunct))
        asked_by = "the reader, of the row groups that it opens" if by_reader else "the query"
        yield f"left to {asked_by}: {to_sql(conjunct)}"


def kept_picture(scan_set: ScanSet, order: np.ndarray) -> tuple[float, ...]:
    """Return the shares of row groups that are kept, of parts of the files in an order, shape (files,)."""
    files = len(scan_set.kept_files)
    groups = np.bincount(scan_set.file_of_group, minlength=files)
    kept = np.bincount(scan_set.file_of_group[scan_set.kept_groups], minlength=files)
    shares = np.where(groups > 0, kept / np.maximum(groups, 1), scan_set.kept_files)
    shares = shares[order]
    if files == 1:
        shares = scan_set.kept_groups.astype(float)
    parts = np.array_split(shares, min(len(shares), PICTURE_CELLS) or 1)
    return tuple(round(float(part.mean()), 3) for part in parts if len(part))


def _pages_of_groups(
    scan: TableScan, scan_set: ScanSet, opened: np.ndarray, conjuncts: Conjuncts
) -> dict[int, PagesRead]:
    """Return the counts of pages of the opened row groups that are cut at pages.

    Args:
        scan: The scan.
        scan_set: Its blocks.
        opened: True for row groups that Spark may read; shape (row groups,).
        conjuncts: What Spark pushes.
    """
    if scan_set.paging is None:
        return {}
    compared, kinds = comparable_columns(scan_set.row_groups), pushed_kinds(scan.spark)
    pushed = [part for part in conjuncts if part.column in compared]
    named = {part.column for part in conjuncts}
    rows, paging = scan_set.row_groups.column("row_count").to_pylist(), scan_set.paging
    places = [place for place in np.flatnonzero(opened).tolist() if paging.pages[place]]
    left = {
        place: rows_left(pushed, paging.pages[place], rows[place], scan.table.data_columns, kinds=kinds)
        for place in places
    }
    partly = [place for place in places if left[place].count < rows[place]]
    columns = _columns_in_files(scan)
    paging = _with_pages_of_columns_read(scan, paging, partly, columns)
    return {
        place: pages_read(
            paging.pages[place], paging.rows_of(place, scan_set.keep), left[place], columns, named
        )
        for place in places
    }


def _with_pages_of_columns_read(
    scan: TableScan, paging: Paging, groups: Sequence[int], columns: frozenset[str] | None
) -> Paging:
    """Return the paging with the pages of all columns that the query reads of some row groups.

    Args:
        scan: The scan.
        paging: The row groups and their pages.
        groups: The row groups of which some pages are skipped.
        columns: The columns that are read; None is all of them.
    """
    names = [
        name
        for name in leaf_types(scan.table.data_columns)
        if top_column(name) not in scan.table.partition_columns
        and (columns is None or top_column(name) in columns)
    ]
    missing = {name for name in names if any(name not in paging.pages[group] for group in groups)}
    if not missing:
        return paging
    mask = np.zeros(len(paging.pages), bool)
    mask[list(groups)] = True
    try:
        return paging.with_pages_of(mask, missing)
    except InputError:
        # A file is gone, so that its bytes are counted as if all pages of other columns were read.
        return paging


def _requests_saved(scan: TableScan, scan_set: ScanSet, skipped: int, inside: int) -> int:
    """Return the least number of reads that are saved: one for each skipped file, one for each skipped block.

    Reads before the query, which decided what the query must read, are subtracted, and those inside row
    groups that would not be made of whole ones.

    Args:
        scan: The scan.
        scan_set: Its row groups.
        skipped: The number of row groups that are not read.
        inside: The number of reads inside row groups, beside one for each column.
    """
    per_block = 0 if _columns_in_files(scan) == frozenset() else 1
    saved = len(scan.table.files) + scan.left_out.files - scan.file_count + per_block * skipped
    counts = np.bincount(scan_set.file_of_group, minlength=len(scan.table.files))
    places = {file: place for place, file in enumerate(scan.table.files)} if scan.files_read_ahead else {}
    spent = sum(1 + per_block * int(counts[places[file]]) for file in scan.files_read_ahead)
    return max(0, saved - spent - inside)


def _columns_in_files(scan: TableScan) -> frozenset[str] | None:
    """Return the columns that the query reads from the files; None is all of them."""
    if scan.columns_read is None:
        return None
    return scan.columns_read - frozenset(scan.table.partition_columns)


def _is_in_kept_file(scan_set: ScanSet) -> np.ndarray:
    """Mark the row groups of files that are opened; shape (row groups,)."""
    mask: np.ndarray = scan_set.kept_files[scan_set.file_of_group]
    return mask


def _unnamed_mask(scan: TableScan, groups: pa.Table) -> np.ndarray:
    """Mark the row groups that are not among those of their file that are read; shape (row groups,)."""
    if not scan.named_groups:
        return np.zeros(len(groups), bool)
    places = zip(groups["file"].to_pylist(), groups["row_group"].to_pylist(), strict=True)
    named = scan.named_groups
    return np.array([file in named and group not in named[file] for file, group in places], bool)


def _unread_mask(scan: TableScan, scan_set: ScanSet, conjuncts: Conjuncts) -> np.ndarray:
    """Mark the row groups that Spark is sure to skip by filters in opened files; shape (row groups,)."""
    groups = scan_set.row_groups
    if not (~scan_set.kept_groups & _is_in_kept_file(scan_set)).any():
        return np.zeros(len(groups), bool)
    return unread_blocks(
        conjuncts,
        columns_only(groups, [part.column for part in conjuncts]),
        scan.table.data_columns,
        kinds=pushed_kinds(scan.spark),
    )
