"""Summaries of the rows of a join's build side, by running it or by its block metadata."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pruning.expressions.plans import Equality, Inequality, Plan, scans
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import type_of
from pruning.spark.drive.analyzed_plans import without_numbers
from pruning.spark.drive.join.run_costs import BUILD_ROWS_MAX, rows_of_build
from pruning.spark.drive.materials import Rows, expression_values, with_limit
from pruning.spark.drive.queries import Query
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import first_line
from pruning.spark.jvm.local_rows import local_relation
from pruning.techniques.join.key_ranges import RangeSummary, summarise_ranges
from pruning.techniques.join.summaries import JoinSummary, summarise_keys
from pruning.techniques.join.summary_keys import summarise_blocks
from pruning.techniques.join.summary_ranges import to_lanes
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.plan.reachability import Keys, key_paths
from pruning.techniques.plan.sites import JoinSite, KeyRange

# The most bytes of a summary that is sent to the probe side.
SUMMARY_BYTES_MAX = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSummary:
    """A summary of the rows of a build side.

    Attributes:
        keys: That of the keys that partners agree on; None where nothing is known of any.
        ranges: That of each of the site's `key_ranges`; None where nothing is known.
        how: The way in which it was made, for people.
    """

    keys: JoinSummary | None
    ranges: tuple[RangeSummary | None, ...]
    how: str


def summary_of_rows(query: Query, site: JoinSite) -> BuildSummary | None:
    """Return the summary of the build side's rows, running it if it was not.

    Returns:
        None where the side fails, or gives too many rows; a note says so.
    """
    ends = _range_ends(site)
    side = 0 if site.build_is_left else 1
    conjuncts: tuple[Equality | Inequality, ...] = (*site.join.equalities, *ends)
    expressions = [query.trees.sides[conjunct][side] for conjunct in conjuncts]
    try:
        if site.build not in query.materials and not _materialise(query, site.build):
            query.notes.append(
                f"a join's build side prunes nothing: it has more than {BUILD_ROWS_MAX:,} rows"
            )
            return None
        columns = expression_values(query.spark, query.materials[site.build], expressions)
    except (Py4JError, PySparkException, pa.ArrowException) as error:
        # The query itself may never run this side, or fail in the same way.
        query.notes.append(f"a join's build side could not be run first: {first_line(error)}")
        return None
    count = len(site.build_keys)
    keys = None
    if count:
        types = [type_of(key) for key in site.build_keys]
        keys = summarise_keys(types, columns[:count], bytes_max=SUMMARY_BYTES_MAX, null_safe=site.null_safe)
    lanes = {
        end: to_lanes(column, type_of(site.build_side(end)))
        for end, column in zip(ends, columns[count:], strict=True)
    }
    ranges = tuple(_range_of_rows(key_range, lanes) for key_range in site.key_ranges)
    return BuildSummary(keys=keys, ranges=ranges, how="run first")


def _materialise(query: Query, plan: Plan) -> bool:
    """Run a part of the query and keep its rows; return False if they are too many to be kept."""
    alike = without_numbers(query.spark, query.trees.javas[plan])
    tables = [query.scans[scan] for scan in scans(plan) if scan in query.scans]
    conditions = tuple(" AND ".join(map(to_sql, table.needed_conditions)) for table in tables)
    rows = query.shared.like(alike, conditions)
    if rows is None:
        rows = _run(query, plan)
        query.shared.add(alike, conditions, rows)
    if rows.row_count > BUILD_ROWS_MAX:
        return False
    leaf = local_relation(query.spark, query.trees.javas[plan].output(), rows.leaf.data())
    query.materialise(plan, leaf, row_count=rows.row_count)
    return True


def _run(query: Query, plan: Plan) -> Rows:
    """Run a part of the query, up to the first row that is too many."""
    reads = {scan: scan.files() for scan in query.live_scans(plan) if scan is not None}
    java = query.java(plan, with_conditions=True)
    if rows_of_build(query, plan) > BUILD_ROWS_MAX:
        java = with_limit(query.spark, java, BUILD_ROWS_MAX + 1)
    return query.run("build side of a join", java, reads)


def summary_of_blocks(query: Query, site: JoinSite) -> BuildSummary | None:
    """Return the summary of the build side's rows by its scan's metadata; None if it excludes nothing."""
    ends = _range_ends(site)
    wanted = (*site.build_keys, *map(site.build_side, ends))
    paths = list(key_paths(site.build, wanted))
    if len(paths) != 1 or not paths[0].sole_source or paths[0].scan not in query.scans:
        return None
    scan, count = query.scans[paths[0].scan], len(site.build_keys)
    scan_set = scan.read_scan_set()
    if not scan_set.is_complete:
        return None
    keys = _keys_of_blocks(scan, paths[0].keys[:count], site) if count else None
    bounds = {
        end: scan.bounds(key) for end, key in zip(ends, paths[0].keys[count:], strict=True) if key is not None
    }
    keep = scan.read_scan_set().keep
    ranges = tuple(_range_of_blocks(key_range, bounds, keep) for key_range in site.key_ranges)
    if keys is None and not any(ranges):
        return None
    return BuildSummary(keys=keys, ranges=ranges, how="by its block metadata")


def _keys_of_blocks(scan: TableScan, keys: Keys, site: JoinSite) -> JoinSummary | None:
    """Return the summary of the keys in the blocks of a scan; None if it excludes nothing."""
    share = SUMMARY_BYTES_MAX // len(keys)
    summaries = tuple(
        None
        if key is None
        else summarise_blocks(scan.bounds(key), scan.read_scan_set().keep, bytes_max=share)
        for key in keys
    )
    if all(key is None or key.ranges is None for key in summaries):
        return None
    return JoinSummary(
        keys=summaries,
        tuples=None,
        null_safe=site.null_safe,
        row_count=scan.read_scan_set().rows_kept,
        bytes_max=SUMMARY_BYTES_MAX,
    )


def _range_ends(site: JoinSite) -> tuple[Inequality, ...]:
    """Return the inequalities that give the ends of the site's ranges, each once."""
    ends = (end for key_range in site.key_ranges for end in (key_range.lower, key_range.upper))
    return tuple(dict.fromkeys(end for end in ends if end is not None))


def _range_of_rows(key_range: KeyRange, lanes: dict[Inequality, pa.Array]) -> RangeSummary | None:
    """Return the summary of one range, by the ends in each row."""
    return summarise_ranges(
        type_of(key_range.key),
        None if key_range.lower is None else lanes[key_range.lower],
        None if key_range.upper is None else lanes[key_range.upper],
        bytes_max=SUMMARY_BYTES_MAX,
    )


def _range_of_blocks(
    key_range: KeyRange, bounds: dict[Inequality, KeyBounds], keep: np.ndarray
) -> RangeSummary | None:
    """Return the summary of one range, by the bounds of its ends in each block; None if none is known."""
    sides = [
        (bounds[end], is_lower)
        for end, is_lower in ((key_range.lower, True), (key_range.upper, False))
        if end is not None and end in bounds
    ]
    valued = keep.copy()
    for side, _ in sides:
        valued &= side.may_value
        if (keep & side.may_nan).any():
            return None
    lanes: dict[bool, pa.Array] = {}
    for side, is_lower in sides:
        ends = (side.lower if is_lower else side.upper).filter(pa.array(valued))
        if not ends.null_count:
            lanes[is_lower] = ends
    return summarise_ranges(
        type_of(key_range.key), lanes.get(True), lanes.get(False), bytes_max=SUMMARY_BYTES_MAX
    )
