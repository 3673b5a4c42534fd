"""LIMIT pruning on Spark: the fewest files that are sure to hold enough rows ([P] 4)."""

import numpy as np

from pruning.expressions.plans import Limit, Offset, Project
from pruning.rules.sets.truths import Match
from pruning.spark.drive.queries import Query
from pruning.spark.drive.scans import TableScan
from pruning.techniques.limit import fewest_blocks
from pruning.techniques.plan.raising import may_raise
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import LimitSite


def prune_by_limit(query: Query, site: LimitSite) -> None:
    """Narrow the scans below a limit to the fewest files that are sure to give enough rows.

    Spark opens whole files, so a file is the block here, and its rows are those of its row groups in which
    every row matches. Nothing is done where these are too few, and at the top of a query without filters,
    where Spark's own LIMIT stops reading once it has enough rows.
    """
    reaching = query.narrowable_paths(key_paths(site.source, (), rows_wanted=site.wanted))
    sure_ways = [path for path in reaching if _is_sure(query, path)]
    for path in reaching:
        query.scans[path.scan].decline("limit", "not each of its rows is sure to be one that is asked for")
    scans = list(dict.fromkeys(query.scans[path.scan] for path in sure_ways))
    if not scans:
        return
    if not any(scan.is_filtered for scan in scans) and _is_at_top(query, site):
        for scan in scans:
            scan.decline("limit", "each row will do, and Spark stops once it has enough")
        return
    sure = [_sure_rows(scan) for scan in scans]
    rows = np.concatenate(sure)
    matches = np.where(rows > 0, np.int8(Match.ALL), np.int8(Match.SOME))
    chosen = fewest_blocks(matches, rows, site.wanted)
    if chosen is None:
        for scan in scans:
            scan.decline("limit", f"fewer than the {site.wanted:,} rows asked for are sure to match")
        return
    because = f"the {site.wanted:,} rows asked for are sure to be in the files that are kept"
    starts = np.cumsum([0, *(len(part) for part in sure)])
    for scan, start, part in zip(scans, starts, sure, strict=False):
        here = chosen[(chosen >= start) & (chosen < start + len(part))] - start
        files = [scan.table.files[place] for place in sorted(here)]
        scan.keep_files("limit", files, because=because)


def _is_at_top(query: Query, site: LimitSite) -> bool:
    """Tell whether the plan ends with the limit, so that Spark takes its rows from one task after another.

    Below any other operator, such as an aggregate, each task reads as many rows as the limit asks for in all.
    """
    node = query.tree
    while isinstance(node, Limit | Offset | Project) and node is not site.source:
        node = node.child
    return node is site.source


def _is_sure(query: Query, path: KeyPath) -> bool:
    """Tell whether every matching row of a scan is a row of the answer, and no expression may raise.

    Spark may then evaluate other rows than without pruning, and meets no error that it would not have met.
    """
    scan = query.scans[path.scan]
    return (
        path.preserving
        and path.rowwise
        and not any(map(may_raise, path.definitions))
        and not may_raise(scan.own_filter.predicate)
        and scan.read_scan_set().is_complete
    )


def _sure_rows(scan: TableScan) -> np.ndarray:
    """Return the rows of each file in those kept row groups in which every row matches; shape (files,)."""
    scan_set = scan.read_scan_set()
    rows = np.where(scan_set.matches == Match.ALL, scan_set.row_counts, 0)
    sums = np.bincount(scan_set.file_of_block, weights=rows, minlength=len(scan.table.files))
    return sums.astype(np.int64)
