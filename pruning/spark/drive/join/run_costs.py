"""Costs and gains of running a build side before the query, by which it is decided ([P] 6)."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from pruning.expressions.plans import Plan, Scan, is_filtered_scan, scans
from pruning.expressions.trees import And, Column, Expression, IsNull, Not
from pruning.spark.drive import paging
from pruning.spark.drive.leaf_tables import reads_by_places
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.drive.range_filters import RANGED
from pruning.spark.drive.scan_sets import ScanSet
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import Java
from pruning.spark.lake.row_groups import open_cost
from pruning.techniques.join.costs import Reads, is_dense, pays, share_without_keys, wide_blocks
from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import JoinSite, is_restrictive, join_sites

# Of row groups in which only pages may be skipped, one in so many bytes counts, as nothing is known of pages.
PAGES_DISCOUNT = 8
# Reading one file of at most this size is faster than finding out which of its blocks are needed.
SMALL_FILE_BYTES = 65_536
# The rows of a build side stay in the driver until the query has run.
BUILD_ROWS_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Stake:
    """The blocks of a scan that a build side's rows could exclude, and the reads that this would spare."""

    blocks: int
    reads: Reads


@dataclass(slots=True)
class JoinGraph:
    """The sites of a query's joins, and which scans the rows of one may make smaller.

    Attributes:
        query: The query.
        sites: The sides of its joins that may leave out rows, from the bottom up.
        paths: Of each site, the paths from the keys of its probe side to scans.
        readers: Of each scan, the sites whose build sides read it.
    """

    query: Query
    sites: tuple[JoinSite, ...]
    paths: dict[JoinSite, list[KeyPath]]
    readers: dict[Scan, list[JoinSite]]
    _stakes: dict[tuple[object, ...], Stake] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query) -> "JoinGraph":
        """Return the graph of a query's joins."""
        sites = tuple(join_sites(query.tree))
        readers: dict[Scan, list[JoinSite]] = {}
        for site in sites:
            for scan in scans(site.build):
                readers.setdefault(scan, []).append(site)
        return cls(query, sites, {site: list(site.probe_paths()) for site in sites}, readers)

    def live_paths(self, site: JoinSite) -> list[KeyPath]:
        """Return the paths of a site to scans of Parquet tables outside of all materials."""
        return self.query.narrowable_paths(self.paths[site])

    def is_read_by_others(self, scan: Scan, site: JoinSite) -> bool:
        """Tell whether the build side of another join reads a scan, so that fewer of its rows prune more."""
        return any(other.join is not site.join for other in self.readers.get(scan, ()))

    def stakes(self, site: JoinSite, summary: JoinSummary | None = None) -> list[Stake]:
        """Return what a build side's rows could exclude: of its probe side, and of what that may exclude.

        Args:
            site: The join.
            summary: The summary of the build side by block metadata, if there is one.
        """
        stakes, pending, counted = [], [site], {site}
        while pending:
            here = pending.pop()
            for path in self.live_paths(here):
                scan = self.query.scans[path.scan]
                if is_worth_pruning(scan) and scan.read_scan_set().is_complete:
                    stakes.append(self._stake(path, summary if here is site else None))
                more = [other for other in self.readers.get(path.scan, ()) if other not in counted]
                more = [other for other in more if other.join is not here.join]
                counted.update(more)
                pending += more
        return [stake for stake in stakes if stake.blocks]

    def _stake(self, path: KeyPath, summary: JoinSummary | None) -> Stake:
        """Return the stake of a path, which changes only with its scan and the summary."""
        scan = self.query.scans[path.scan]
        key = (id(path), id(summary), len(scan.needed_conditions), int(scan.read_scan_set().keep.sum()))
        if key not in self._stakes:
            self._stakes[key] = _stake_of(scan, path, summary)
        return self._stakes[key]


def is_worth_pruning(scan: TableScan) -> bool:
    """Tell whether a scan reads more than one small file."""
    files = scan.file_count
    return files > 1 or (files == 1 and scan.listed_bytes() > SMALL_FILE_BYTES)


def reads_first(query: Query, site: JoinSite, stakes: Sequence[Stake], reduced: Container[Scan]) -> bool:
    """Tell whether to run the build side first is likely to save more than it costs.

    Args:
        query: The query.
        site: The join.
        stakes: What the build side's rows could exclude, of which there is something.
        reduced: The scans of which the rows of other sides exclude some.
    """
    if site.build in query.materials:
        return True
    if complete_scan_sets(query.live_scans(site.build)) is None:
        return False
    rows, reads_any = rows_of_build(query, site.build), any(query.live_scans(site.build))
    # If the build side has no row, running it tells no more than the metadata does.
    if reads_any and not rows:
        return False
    # Joins and groups of many rows take longer than to read them; and the query computes them once more.
    if rows > BUILD_ROWS_MAX and not is_filtered_scan(site.build):
        return False
    share = 1.0
    if not is_restrictive(site.build, lambda scan: scan in reduced or _is_selective(query, scan)):
        if rows > BUILD_ROWS_MAX:
            return False
        if _has_each_key_once(query, site, rows):
            return False
        share = share_without_keys(rows, sum(stake.blocks for stake in stakes))
    spared = sum((stake.reads for stake in stakes), Reads())
    return pays(reads_of_build(query, site), spared, share, open_cost(query.spark))


def _has_each_key_once(query: Query, site: JoinSite, rows: int) -> bool:
    """Tell whether a build side without conditions is a dimension that has every key of a range."""
    paths = list(key_paths(site.build, site.build_keys))
    if len(paths) != 1 or paths[0].scan not in query.scans:
        return False
    scan = query.scans[paths[0].scan]
    keep = scan.read_scan_set().keep
    return any(key is not None and is_dense(scan.bounds(key), keep, rows) for key in paths[0].keys)


def reads_of_source(leaf: Java) -> Reads | None:
    """Return the reads of a leaf that reads no files of Parquet; None where Spark does not know its size."""
    size, unknown = int(str(leaf.stats().sizeInBytes())), int(leaf.conf().defaultSizeInBytes())
    return Reads(1, size) if size < unknown else None


def rows_of_build(query: Query, plan: Plan) -> int:
    """Return the number of rows that the scans of a build side read, whose footers could all be read."""
    scan_sets = complete_scan_sets(query.live_scans(plan)) or []
    return sum(scan_set.rows_kept for scan_set in scan_sets)


def reads_of_build(query: Query, site: JoinSite) -> Reads:
    """Return the reads of the scans of a build side, whose footers could all be read."""
    scan_sets = complete_scan_sets(query.live_scans(site.build)) or []
    return sum(map(reads_of, scan_sets), Reads())


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


def _stake_of(scan: TableScan, path: KeyPath, block_summary: JoinSummary | None) -> Stake:
    """Return what the build side's rows could exclude of a scan, if it has any row.

    Of blocks that it can hardly exclude, but in which it could exclude pages, a part of the bytes counts.
    """
    count = len(scan.read_scan_set().keep)
    blocks, paged = np.zeros(count, bool), np.zeros(count, bool)
    for place, key in enumerate(path.keys):
        if key is None:
            continue
        bounds, summary = scan.bounds(key), None
        if block_summary is not None and place < len(block_summary.keys):
            summary = block_summary.keys[place]
        scan_set = scan.read_scan_set()
        if scan_set.is_indexed(key):
            return Stake(int(scan_set.keep.sum()), reads_of(scan_set))
        open_ = pc.or_(bounds.lower.is_valid(), bounds.upper.is_valid()).to_numpy(zero_copy_only=False)
        excludable = open_ & ~wide_blocks(bounds)
        blocks |= excludable if summary is None else excludable & ~summary.kept_by_any_part(bounds)
        if _has_pushable_ranges(scan, key):
            paged |= open_ & (scan_set.row_counts > paging.PAGE_ROWS)
    scan_set = scan.read_scan_set()
    blocks &= scan_set.keep
    pages = scan_set.bytes_of(scan_set.keep & paged & ~blocks) // PAGES_DISCOUNT
    # A file is spared where all of its blocks are.
    files = np.setdiff1d(scan_set.file_of_block[blocks], scan_set.file_of_block[scan_set.keep & ~blocks])
    return Stake(int(blocks.sum()), Reads(len(files), scan_set.bytes_of(blocks) + pages))


def _has_pushable_ranges(scan: TableScan, key: Expression) -> bool:
    """Tell whether values of a key can be pushed to the Parquet reader as ranges of a column."""
    return (
        isinstance(key, Column)
        and key.type.kind in RANGED
        and key.name in scan.table.data_columns
        and reads_by_places(scan.table)
        and not scan.is_shared
    )
