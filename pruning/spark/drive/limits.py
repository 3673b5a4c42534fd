"""LIMIT pruning on Spark: the fewest files, and blocks in them, that are sure to hold enough rows ([P] 4)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.plans import Limit, Offset, Plan, Project
from pruning.rules.sets.truths import Match
from pruning.spark.drive.queries import Query
from pruning.spark.drive.scans import TableScan
from pruning.spark.lake.first_task import TaskSizes, first_task
from pruning.techniques.limit import fewest_blocks
from pruning.techniques.plan.raising import may_raise
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import LimitSite, limit_sites


def prune_by_limit(query: Query, site: LimitSite) -> None:
    """Narrow the scans below a limit to the fewest files and blocks that are sure to give enough rows.

    The rows of a file are those of its blocks in which every row matches. Nothing is done where these are too
    few, and at the top of a query without filters if Spark's first task is likely to have enough: it runs
    that task alone, and others only if rows are missing.
    """
    reaching = query.narrowable_paths(key_paths(site.source, (), rows_wanted=site.wanted))
    sure_ways = [path for path in reaching if _is_sure(query, path)]
    for path in reaching:
        query.scans[path.scan].decline("limit", "not each of its rows is sure to be one that is asked for")
    scans = list(dict.fromkeys(query.scans[path.scan] for path in sure_ways))
    is_plain = bool(scans) and not any(scan.is_filtered for scan in scans) and _is_at_top(query, site)
    if is_plain and _first_task_has(scans[0], site.wanted):
        for scan in scans:
            scan.decline(
                "limit",
                f"each row will do, and the first of Spark's tasks is likely to have {site.wanted:,}",
                "a LIMIT of more rows than one task has",
            )
        return
    scans = [scan for scan in scans if scan.read_scan_set().is_complete]
    if not scans:
        return
    in_files = [_rows_of_files(scan) for scan in scans]
    files = _fewest(in_files, site.wanted)
    if files is None:
        for scan in scans:
            scan.decline(
                "limit",
                f"fewer than the {site.wanted:,} rows asked for are sure to match",
                "conditions on columns by which the table is clustered would be met by whole blocks",
            )
        return
    in_blocks = [
        np.where(mask[scan.read_scan_set().file_of_block], _sure_rows(scan), 0)
        for scan, mask in zip(scans, files, strict=True)
    ]
    blocks = _fewest(in_blocks, site.wanted)
    assert blocks is not None, "The blocks of the files have the rows of the files."
    because = f"the {site.wanted:,} rows asked for are sure to be in what is kept"
    for scan, mask, needed in zip(scans, files, blocks, strict=True):
        names = [scan.table.files[place] for place in np.flatnonzero(mask)]
        scan.keep_files("limit", names, because=because, blocks=needed)


def limited_shares(query: Query, plan: Plan) -> dict[TableScan, float]:
    """Estimate what share is read of each scan below a LIMIT, by the rows that are sure to match.

    Args:
        query: The query.
        plan: A part of it.
    Returns:
        The shares, from 0 to 1, of the scans of which a part is enough.
    """
    shares = {}
    for site in limit_sites(plan):
        if isinstance(site, LimitSite):
            ways = query.narrowable_paths(key_paths(site.source, (), rows_wanted=site.wanted))
            scans = dict.fromkeys(query.scans[path.scan] for path in ways if _is_sure(query, path))
            rows = sum(int(_sure_rows(scan).sum()) for scan in scans)
            if rows > site.wanted:
                shares.update(dict.fromkeys(scans, site.wanted / rows))
    return shares


def _fewest(sure: Sequence[np.ndarray], wanted: int) -> list[np.ndarray] | None:
    """Mark the fewest units of several scans that are sure to give enough rows; None where all are too few.

    Args:
        sure: The sure rows of each unit of each scan, which are its files or its blocks.
        wanted: The rows that are wanted of all scans together.
    """
    rows = np.concatenate(sure)
    matches = np.where(rows > 0, np.int8(Match.ALL), np.int8(Match.SOME))
    chosen = fewest_blocks(matches, rows, wanted)
    if chosen is None:
        return None
    mask = np.zeros(len(rows), bool)
    mask[chosen] = True
    return np.split(mask, np.cumsum([len(part) for part in sure])[:-1])


def _is_at_top(query: Query, site: LimitSite) -> bool:
    """Tell whether the plan ends with the limit, so that Spark takes its rows from its first tasks.

    Below any other operator, such as an aggregate, each task reads as many rows as the limit asks for in all.
    """
    node = query.tree
    while isinstance(node, Limit | Offset | Project) and node is not site.source:
        node = node.child
    return node is site.source


def _first_task_has(scan: TableScan, wanted: int) -> bool:
    """Tell whether the first task of an unfiltered scan has enough rows, by its own footers alone."""
    kept = np.flatnonzero(scan.kept_files)
    places, share = first_task(scan.all_files.sizes[kept], TaskSizes.of(scan.spark))
    # Mostly the first file has enough.
    return any(_rows_of(scan, kept[some]) * share >= wanted for some in (places[:1], places))


def _rows_of(scan: TableScan, places: np.ndarray) -> int:
    """Return the rows of the files at some places, without those whose footers cannot be read."""
    files = scan.all_files.some(places.tolist())
    metadata = scan.read_metadata(files, frozenset(), None).metadata
    mask = pc.is_in(metadata["file"], value_set=pa.array(files.files, pa.string()))
    return pc.sum(metadata["row_count"].filter(mask)).as_py() or 0


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
    )


def _sure_rows(scan: TableScan) -> np.ndarray:
    """Return the rows of each kept block in which every row matches, 0 for the others; shape (blocks,)."""
    scan_set = scan.read_scan_set()
    rows: np.ndarray = np.where(scan_set.matches == Match.ALL, scan_set.row_counts, 0)
    return rows


def _rows_of_files(scan: TableScan) -> np.ndarray:
    """Return the rows of each file that are in such blocks; shape (files,)."""
    files = scan.read_scan_set().file_of_block
    sums = np.bincount(files, weights=_sure_rows(scan), minlength=len(scan.table.files))
    return sums.astype(np.int64)
