"""Whether to run a build side before the query, by what it costs and by what it may spare ([P] 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from pruning.expressions.plans import Scan
from pruning.expressions.trees import And, IsNull, Not
from pruning.spark.drive import paging
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.drive.scan_sets import ScanSet
from pruning.spark.drive.scans import TableScan
from pruning.spark.lake.row_groups import open_cost
from pruning.techniques.join.costs import Reads, pays, share_without_keys
from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import JoinSite, is_restrictive

# Of row groups in which only pages may be skipped, one in so many bytes counts, as nothing is known of pages.
PAGES_DISCOUNT = 8
# Reading one file of at most this size is faster than finding out which of its blocks are needed.
SMALL_FILE_BYTES = 65_536
# The rows of a build side stay in the driver until the query has run.
BUILD_ROWS_MAX = 200_000


def worthwhile_paths(query: Query, site: JoinSite) -> list[KeyPath]:
    """Return the paths from the probe side's keys to scans that read more than one small file."""
    paths = query.narrowable_paths(key_paths(site.probe, site.probe_keys))
    return [path for path in paths if _is_worth_pruning(query.scans[path.scan])]


def _is_worth_pruning(scan: TableScan) -> bool:
    """Tell whether a scan reads more than one small file."""
    files = scan.file_count
    return files > 1 or (files == 1 and scan.listed_bytes() > SMALL_FILE_BYTES)


def is_run_worthwhile(
    query: Query, site: JoinSite, paths: Sequence[KeyPath], block_summary: JoinSummary | None
) -> bool:
    """Tell whether running the build side first is likely to save more than it costs.

    Args:
        query: The query.
        site: The join.
        paths: The paths to the scans of the probe side that would be narrowed.
        block_summary: The summary of the build side's keys by block metadata; None where there is none.
    """
    if site.build in query.materials:
        return True
    scan_sets = complete_scan_sets(query.live_scans(site.build))
    if scan_sets is None:
        return False
    rows = sum(scan_set.rows_kept for scan_set in scan_sets)
    # If the build side has no row, running it tells no more than the metadata does.
    if rows > BUILD_ROWS_MAX or (scan_sets and not rows):
        return False
    stakes = [stake_of(query.scans[path.scan], path, block_summary) for path in paths]
    share = 1.0
    if not is_restrictive(site.build, lambda scan: _is_selective(query, scan)):
        share = share_without_keys(rows, sum(stake.blocks for stake in stakes))
    first = sum(map(reads_of, scan_sets), Reads())
    return pays(first, sum((stake.reads for stake in stakes), Reads()), share, open_cost(query.spark))


def probe_reads(query: Query, site: JoinSite) -> Reads | None:
    """Return the reads of the probe side that a build side may spare; None where it may spare none."""
    paths = worthwhile_paths(query, site)
    stakes = [stake_of(query.scans[path.scan], path, None) for path in paths]
    return sum((stake.reads for stake in stakes), Reads()) if paths else None


def reads_of(scan_set: ScanSet) -> Reads:
    """Return the reads of the blocks that are still to be read."""
    return Reads(int(scan_set.kept_files.sum()), scan_set.bytes_kept)


def _is_selective(query: Query, scan: Scan) -> bool:
    """Tell whether a scan's filters, or a technique that narrowed it, drop more than NULLs."""
    table_scan = query.scans.get(scan)
    if table_scan is None or any(removal.technique != "filter" for removal in table_scan.removals):
        return True
    predicate = table_scan.own_filter.predicate
    parts = predicate.operands if isinstance(predicate, And) else (predicate,)
    return table_scan.is_filtered and not all(
        isinstance(part, Not) and isinstance(part.operand, IsNull) for part in parts
    )


@dataclass(frozen=True, slots=True)
class Stake:
    """The blocks of a scan that a build side's rows could exclude, and the reads that this would spare."""

    blocks: int
    reads: Reads


def stake_of(scan: TableScan, path: KeyPath, block_summary: JoinSummary | None) -> Stake:
    """Return what the build side's rows could exclude of a scan, if it has any row.

    Of blocks that it cannot exclude, but in which it could exclude pages, a part of the bytes counts.
    """
    count = len(scan.read_scan_set().keep)
    blocks, paged = np.zeros(count, bool), np.zeros(count, bool)
    for place, key in enumerate(path.keys):
        if key is None:
            continue
        bounds, summary = scan.bounds(key), None if block_summary is None else block_summary.keys[place]
        scan_set = scan.read_scan_set()
        if scan_set.is_indexed(key):
            return Stake(int(scan_set.keep.sum()), reads_of(scan_set))
        open_ = pc.or_(bounds.lower.is_valid(), bounds.upper.is_valid()).to_numpy(zero_copy_only=False)
        blocks |= open_ if summary is None else open_ & ~summary.kept_by_any_part(bounds)
        if scan.has_pushable_ranges(key):
            paged |= open_ & (scan_set.row_counts > paging.PAGE_ROWS)
    scan_set = scan.read_scan_set()
    blocks &= scan_set.keep
    pages = scan_set.bytes_of(scan_set.keep & paged & ~blocks) // PAGES_DISCOUNT
    # A file is spared where all of its blocks are.
    files = np.setdiff1d(scan_set.file_of_block[blocks], scan_set.file_of_block[scan_set.keep & ~blocks])
    return Stake(int(blocks.sum()), Reads(len(files), scan_set.bytes_of(blocks) + pages))
