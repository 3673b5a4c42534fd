"""LIMIT pruning on Spark: the fewest files whose rows are sure to be enough ([P] 4)."""

import numpy as np

from pruning.expressions.plans import Limit, Offset, Project
from pruning.rules.sets.truths import Match
from pruning.spark.drive.queries import Query
from pruning.spark.drive.scans import TableScan
from pruning.techniques.limit import fewest_blocks
from pruning.techniques.plan.raising import may_raise
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import LimitSite


def prune_by_limit(query: Query, place: LimitSite) -> None:
    """Narrow the scans below a limit to the fewest files of which enough rows are known to come.

    Spark opens whole files, so a file is the block here, and its rows are those of its row groups that
    are known to match. Where they are not enough, Spark's own LIMIT is left alone; so it is at the top of a
    query that asks for any rows of whole tables, where it stops once it has enough.
    """
    reaching = query.narrowable_paths(key_paths(place.source, (), rows_wanted=place.wanted))
    sure_ways = [way for way in reaching if _is_sure(query, way)]
    for way in reaching:
        query.scans[way.scan].decline("limit", "not each of its rows is sure to be one that is asked for")
    scans = list(dict.fromkeys(query.scans[way.scan] for way in sure_ways))
    if not any(scan.is_filtered for scan in scans) and _is_at_top(query, place):
        for scan in scans:
            scan.decline("limit", "each row will do, and Spark stops once it has enough")
        return
    sure = [_sure_rows(scan) for scan in scans]
    rows = np.concatenate(sure)
    matches = np.where(rows > 0, np.int8(Match.ALL), np.int8(Match.SOME))
    chosen = fewest_blocks(matches, rows, place.wanted)
    if chosen is None:
        for scan in scans:
            scan.decline("limit", f"fewer than the {place.wanted:,} rows asked for are sure to match")
        return
    because = f"the {place.wanted:,} rows asked for are sure to be in the files that are kept"
    starts = np.cumsum([0, *(len(part) for part in sure)])
    for scan, start, part in zip(scans, starts, sure, strict=False):
        here = chosen[(chosen >= start) & (chosen < start + len(part))] - start
        files = [scan.table.files[place_] for place_ in sorted(here)]
        scan.keep_files("limit", files, because=because)


def _is_at_top(query: Query, place: LimitSite) -> bool:
    """Return whether the plan ends with a limit, so that Spark takes its rows from one task after another.

    Below anything else, such as an aggregate, each task reads as many rows as are asked for in all.
    """
    node = query.tree
    while isinstance(node, Limit | Offset | Project) and node is not place.source:
        node = node.child
    return node is place.source


def _is_sure(query: Query, way: KeyPath) -> bool:
    """Whether rows that match are rows of the answer, and taking others first can raise nothing new."""
    scan = query.scans[way.scan]
    return (
        way.preserving
        and way.rowwise
        and not any(map(may_raise, way.definitions))
        and not may_raise(scan.own_filter.predicate)
        and scan.read_scan_set().is_complete
    )


def _sure_rows(scan: TableScan) -> np.ndarray:
    """The rows of each of the table's files that are known to match, of those that are to be read."""
    scan_set = scan.read_scan_set()
    rows = np.where(scan_set.matches == Match.ALL, scan_set.row_counts, 0)
    sums = np.bincount(scan_set.file_of_block, weights=rows, minlength=len(scan.table.files))
    return sums.astype(np.int64)
