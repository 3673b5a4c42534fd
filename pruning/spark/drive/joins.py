"""Join pruning on Spark: one side reads only blocks that may hold the other side's keys ([P] 6, [M] 5.5)."""

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pruning.expressions.plans import Plan, scans
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import type_of
from pruning.spark.drive.join_costs import is_run_worthwhile, worthwhile_paths
from pruning.spark.drive.materials import expression_values
from pruning.spark.drive.queries import Query
from pruning.spark.drive.repeating import is_repeatable
from pruning.spark.jvm.gateway import first_line
from pruning.techniques.join.summaries import JoinSummary, summarise_keys
from pruning.techniques.join.summary_keys import summarise_blocks
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import JoinSite, join_sites

# The most bytes of a summary that is sent to the probe side.
SUMMARY_BYTES_MAX = 65_536
# A condition has at most so many values and ranges; a larger summary is cut down to fewer ranges.
TERMS_MAX = 256


def prune_by_joins(query: Query, *, runtime: bool) -> None:
    """Narrow the scans on those sides of joins whose rows without a partner do not matter.

    The keys of a build side are summarised by its block metadata, which costs no job. With `runtime`, a build
    side that is small and selective is run first, if it is sure to give the query the same rows again.
    """
    for site in join_sites(query.tree):
        reaching = query.narrowable_paths(key_paths(site.probe, site.probe_keys))
        worthwhile = worthwhile_paths(query, site)
        for path in reaching:
            query.scans[path.scan].decline(
                "join",
                "little is known of the other side's keys, and running that side first does not pay"
                if path in worthwhile
                else "to read its one small file takes less than to ask which of it is needed",
            )
        if not worthwhile:
            continue
        block_summary = _summary_of_blocks(query, site)
        runs = runtime and is_run_worthwhile(query, site, worthwhile, block_summary) and _may_run(query, site)
        summary = _summary_of_rows(query, site) if runs else None
        how = "run first"
        if summary is None:
            summary, how = block_summary, "by its block metadata"
        if summary is not None:
            for node in scans(site.build):
                if node in query.scans:
                    query.scans[node].is_pinned = True
            for path in worthwhile:
                _apply_summary(query, path, site, summary, how)


def _may_run(query: Query, site: JoinSite) -> bool:
    """Tell whether the build side gives the query the same rows again; note it if not."""
    if site.build in query.materials or is_repeatable(query, site.build):
        return True
    query.notes.append("a join's build side was not run first: it may give other rows when it is run again")
    return False


def _summary_of_rows(query: Query, site: JoinSite) -> JoinSummary | None:
    """Return the summary of the build side's rows, running it if it was not; None where that fails."""
    keys = [query.trees.sides[equality][0 if site.build_is_left else 1] for equality in site.join.equalities]
    try:
        if site.build not in query.materials:
            _materialise(query, site.build)
        columns = expression_values(query.spark, query.materials[site.build], keys)
    except (Py4JError, PySparkException, pa.ArrowException) as error:
        # The query itself may never run this side, or fail in the same way.
        query.notes.append(f"a join's build side could not be run first: {first_line(error)}")
        return None
    types = [type_of(key) for key in site.build_keys]
    return summarise_keys(types, columns, bytes_max=SUMMARY_BYTES_MAX, null_safe=site.null_safe)


def _materialise(query: Query, plan: Plan) -> None:
    reads = {scan: scan.files() for scan in query.live_scans(plan) if scan is not None}
    rows = query.run("build side of a join", query.java(plan), reads)
    query.materialise(plan, rows.leaf, row_count=rows.row_count)


def _summary_of_blocks(query: Query, site: JoinSite) -> JoinSummary | None:
    """Return the summary of the build side's keys by its scan's metadata; None if it excludes nothing."""
    build_paths = list(key_paths(site.build, site.build_keys))
    if len(build_paths) != 1 or not build_paths[0].sole_source or build_paths[0].scan not in query.scans:
        return None
    path = build_paths[0]
    scan = query.scans[path.scan]
    scan_set = scan.read_scan_set()
    if not scan_set.is_complete:
        return None
    share = SUMMARY_BYTES_MAX // len(path.keys)
    keys = tuple(
        None if key is None else summarise_blocks(scan.bounds(key), scan_set.keep, bytes_max=share)
        for key in path.keys
    )
    if all(key is None or key.ranges is None for key in keys):
        return None
    return JoinSummary(
        keys=keys,
        tuples=None,
        null_safe=site.null_safe,
        row_count=scan_set.rows_kept,
        bytes_max=SUMMARY_BYTES_MAX,
    )


def _apply_summary(query: Query, path: KeyPath, site: JoinSite, summary: JoinSummary, how: str) -> None:
    scan = query.scans[path.scan]

    def excluded_blocks() -> np.ndarray:
        return summary.excludes([None if key is None else scan.bounds(key) for key in path.keys])

    scan.decline("join", "each row group may hold a key of the other side")
    because = f"{_key_texts(path)} in the other side of the join, {how}: {summary.describe()}"
    scan.apply_condition(
        "join",
        summary.condition(path.keys, terms_max=TERMS_MAX),
        because=because,
        excluded=excluded_blocks,
    )


def _key_texts(path: KeyPath) -> str:
    return ", ".join(to_sql(key) for key in path.keys if key is not None)
