"""Join pruning on Spark: one side reads only what may hold the other's keys ([P] 6, [M] 5.5)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pruning.expressions.plans import Plan, Scan, scans
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import And, IsNull, Not, type_of
from pruning.spark.drive.materials import expression_values, first_line
from pruning.spark.drive.queries import Query
from pruning.spark.drive.repeating import is_repeatable
from pruning.spark.drive.scans import TableScan, complete_scan_sets
from pruning.techniques.join.summaries import JoinSummary, summarise_keys
from pruning.techniques.join.summary_keys import summarise_blocks
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import JoinSite, is_restrictive, join_sites

# What a summary may take on its way to the probe side.
SUMMARY_BYTES_MAX = 65_536
# A summary of more values, or ranges, is asked of blocks as a whole, not value by value.
TERMS_MAX = 256
# A build side is run first where it reads at most this share of what the probe side does.
BUILD_SHARE_MAX = 0.5
# To ask which blocks of one such file are needed takes longer than to read it.
SMALL_FILE_BYTES = 65_536
# The rows of a build side stay in the driver until the query has run.
BUILD_ROWS_MAX = 200_000


def prune_by_joins(query: Query, *, runtime: bool) -> None:
    """Narrow the scans on those sides of joins whose rows without a partner do not matter.

    What block metadata says of a side's keys costs nothing. With `runtime`, a side that is small and gives
    few of its rows is run first, if the query is sure to see the same rows when it runs it again.
    """
    for place in join_sites(query.tree):
        reaching = query.narrowable_paths(key_paths(place.probe, place.probe_keys))
        found = [way for way in reaching if _is_worth_pruning(query.scans[way.scan])]
        for way in reaching:
            query.scans[way.scan].decline(
                "join",
                "little is known of the other side's keys, and running that side first does not pay"
                if way in found
                else "to read its one small file takes less than to ask which of it is needed",
            )
        if not found:
            continue
        known = _summary_of_blocks(query, place)
        runs = runtime and _is_run_worthwhile(query, place, found, known) and _may_run(query, place)
        summary = _summary_of_rows(query, place) if runs else None
        how = "run first"
        if summary is None:
            summary, how = known, "by its block metadata"
        if summary is not None:
            for node in scans(place.build):
                if node in query.scans:
                    query.scans[node].is_pinned = True
            for way in found:
                _apply_summary(query, way, place, summary, how)


def _is_worth_pruning(scan: TableScan) -> bool:
    """Whether a scan has more to read than one small file."""
    files = scan.file_count
    return files > 1 or (files == 1 and scan.listed_bytes() > SMALL_FILE_BYTES)


def _is_run_worthwhile(
    query: Query, place: JoinSite, found: Sequence[KeyPath], known: JoinSummary | None
) -> bool:
    """Whether running the build side first is likely to spare more than it costs.

    Args:
        known: What block metadata says of its keys.
    """
    if place.build in query.materials:
        return True
    scan_sets = complete_scan_sets(query.live_scans(place.build))
    if scan_sets is None:
        return False
    rows = sum(scan_set.rows_kept for scan_set in scan_sets)
    # Of no row, metadata knows all there is to know.
    if rows > BUILD_ROWS_MAX or (scan_sets and not rows):
        return False
    if not is_restrictive(place.build, lambda scan: _is_selective(query, scan)):
        return False
    cost = sum(scan_set.bytes_kept for scan_set in scan_sets)
    gain = sum(_bytes_at_stake(query.scans[way.scan], way, known) for way in found)
    return cost <= BUILD_SHARE_MAX * gain


def _may_run(query: Query, place: JoinSite) -> bool:
    """Return whether the build side gives the query the rows that it gives now."""
    if place.build in query.materials or is_repeatable(query, place.build):
        return True
    query.notes.append("a join's build side was not run first: it may give other rows when it is run again")
    return False


def _is_selective(query: Query, scan: Scan) -> bool:
    """Whether a scan's filters, or what it was narrowed by, ask for more than values."""
    known = query.scans.get(scan)
    if known is None or any(removal.technique != "filter" for removal in known.removals):
        return True
    asked = known.own_filter.predicate
    parts = asked.operands if isinstance(asked, And) else (asked,)
    return known.is_filtered and not all(
        isinstance(part, Not) and isinstance(part.operand, IsNull) for part in parts
    )


def _bytes_at_stake(scan: TableScan, way: KeyPath, known: JoinSummary | None) -> int:
    """The bytes of the blocks that some rows of the build side could exclude, if it has any."""
    blocks = np.zeros(len(scan.read_scan_set().keep), bool)
    for place, key in enumerate(way.keys):
        if key is None:
            continue
        bounds, summary = scan.bounds(key), None if known is None else known.keys[place]
        scan_set = scan.read_scan_set()
        if scan_set.is_indexed(key):
            return scan_set.bytes_kept
        open_ = pc.or_(bounds.lower.is_valid(), bounds.upper.is_valid()).to_numpy(zero_copy_only=False)
        blocks |= open_ if summary is None else open_ & ~summary.kept_by_any_part(bounds)
    scan_set = scan.read_scan_set()
    return scan_set.bytes_of(scan_set.keep & blocks)


def _summary_of_rows(query: Query, place: JoinSite) -> JoinSummary | None:
    """The summary of the build side's rows, which are run unless they were; None where that fails."""
    keys = [query.trees.sides[one][0 if place.build_is_left else 1] for one in place.join.equalities]
    try:
        if place.build not in query.materials:
            _materialise(query, place.build)
        columns = expression_values(query.spark, query.materials[place.build], keys)
    except (Py4JError, PySparkException, pa.ArrowException) as error:
        # It may be that the query never runs this side, or fails in the same way itself.
        query.notes.append(f"a join's build side could not be run first: {first_line(error)}")
        return None
    types = [type_of(key) for key in place.build_keys]
    return summarise_keys(types, columns, bytes_max=SUMMARY_BYTES_MAX, null_safe=place.null_safe)


def _materialise(query: Query, plan: Plan) -> None:
    reads = {scan: scan.files() for scan in query.live_scans(plan) if scan is not None}
    rows = query.run("build side of a join", query.java(plan), reads)
    query.settle(plan, rows.leaf, row_count=rows.row_count)


def _summary_of_blocks(query: Query, place: JoinSite) -> JoinSummary | None:
    """What the blocks of one scan say of the build side's keys; None where that is nothing."""
    found = list(key_paths(place.build, place.build_keys))
    if len(found) != 1 or not found[0].sole_source or found[0].scan not in query.scans:
        return None
    way = found[0]
    scan = query.scans[way.scan]
    scan_set = scan.read_scan_set()
    if not scan_set.is_complete:
        return None
    share = SUMMARY_BYTES_MAX // len(way.keys)
    keys = tuple(
        None if key is None else summarise_blocks(scan.bounds(key), scan_set.keep, bytes_max=share)
        for key in way.keys
    )
    if all(key is None or key.ranges is None for key in keys):
        return None
    return JoinSummary(
        keys=keys,
        tuples=None,
        null_safe=place.null_safe,
        row_count=scan_set.rows_kept,
        bytes_max=SUMMARY_BYTES_MAX,
    )


def _apply_summary(query: Query, way: KeyPath, place: JoinSite, summary: JoinSummary, how: str) -> None:
    scan = query.scans[way.scan]
    bounds = [None if key is None else scan.bounds(key) for key in way.keys]
    scan.decline("join", "each row group may hold a key of the other side")
    because = f"{_key_texts(way)} in the other side of the join, {how}: {summary.describe()}"
    scan.apply_condition(
        "join",
        summary.condition(way.keys, terms_max=TERMS_MAX),
        because=because,
        excluded=summary.excludes(bounds),
    )


def _key_texts(way: KeyPath) -> str:
    return ", ".join(to_sql(key) for key in way.keys if key is not None)
