"""Join pruning on Spark: a side reads only blocks that may hold partners of the other ([P] 6, [M] 5.5).

Sides of several joins are run one after the other: what the rows of one side exclude makes another side
smaller, which then excludes more. So a filter on a part of a snowflake reaches the facts.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from pruning.expressions.plans import Scan, scans
from pruning.expressions.sql import to_sql
from pruning.spark.drive.join.build_sides import BuildSummary, summary_of_blocks, summary_of_rows
from pruning.spark.drive.join.run_costs import (
    JoinGraph,
    is_worth_pruning,
    reads_first,
    reads_of_build,
    rows_of_build,
)
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.drive.repeating import is_repeatable
from pruning.techniques.plan.reachability import KeyPath
from pruning.techniques.plan.sites import JoinSite

# A condition has at most so many values and ranges; a larger summary is cut down to fewer ranges.
TERMS_MAX = 256
# Block metadata of one side may exclude blocks that exclude others, so many times.
ROUNDS_MAX = 2
# The numbers of conditions and of blocks of each scan of a build side, which change when it gets smaller.
State: TypeAlias = tuple[tuple[int, int], ...]


def prune_by_joins(query: Query, *, runtime: bool) -> None:
    """Narrow the scans on those sides of joins whose rows without a partner do not matter.

    The keys of a build side are summarised by its block metadata, which costs no job. With `runtime`, build
    sides that cost little beside what they may spare are run first, if they are sure to give the query the
    same rows again.
    """
    pruning = _JoinPruning(query, JoinGraph.of(query))
    pruning.decline_all()
    for _ in range(ROUNDS_MAX):
        while runtime and (site := pruning.next_run()) is not None:
            pruning.run(site)
        if not pruning.apply_metadata():
            break


@dataclass(slots=True)
class _JoinPruning:
    """The pruning of the scans of a query by its joins.

    Attributes:
        query: The query.
        graph: The sides of its joins that may leave out rows.
        ran: The sites whose build sides were run, with their states at that time.
        applied: The sites whose build sides were summarised by metadata, likewise.
        summaries: These summaries.
        reduced: The scans of which the rows of another side exclude some.
        refused: The sites whose build sides may give other rows when they are run again.
    """

    query: Query
    graph: JoinGraph
    ran: dict[JoinSite, State] = field(default_factory=dict)
    applied: dict[JoinSite, State] = field(default_factory=dict)
    summaries: dict[JoinSite, tuple[State, BuildSummary | None]] = field(default_factory=dict)
    reduced: set[Scan] = field(default_factory=set)
    refused: set[JoinSite] = field(default_factory=set)

    def decline_all(self) -> None:
        """Note of each scan that could be narrowed why it might not be."""
        for site in self.graph.sites:
            for path in self.graph.live_paths(site):
                self.query.scans[path.scan].decline("join", *self._why_not(path.scan, site))

    def next_run(self) -> JoinSite | None:
        """Return the site whose build side should be run next; None if to run another does not pay.

        A side that others may still make smaller waits for them; of the rest, the cheapest comes first.
        """
        runnable = [site for site in self.graph.sites if self._is_runnable(site)]
        probed = {site: {path.scan for path in self.graph.live_paths(site)} for site in runnable}

        def order(site: JoinSite) -> tuple[int, int]:
            read = set(scans(site.build))
            reducing = sum(1 for other in runnable if other.join is not site.join and probed[other] & read)
            return reducing, reads_of_build(self.query, site).byte_count

        return min(runnable, key=order, default=None)

    def run(self, site: JoinSite) -> None:
        """Run a build side, and exclude what has no partner among its rows."""
        self.ran[site] = self._state(site)
        summary = summary_of_rows(self.query, site)
        if summary is None:
            return
        self._pin(site)
        for path in self.graph.live_paths(site):
            if is_worth_pruning(self.query.scans[path.scan]) or self.graph.is_read_by_others(path.scan, site):
                self._apply(path, site, summary)
                self.reduced.add(path.scan)

    def apply_metadata(self) -> bool:
        """Exclude what has no partner by the block metadata of build sides that were not run.

        Returns:
            True if a summary was applied.
        """
        acted = False
        for site in self.graph.sites:
            state = self._state(site)
            paths = [
                path for path in self.graph.live_paths(site) if is_worth_pruning(self.query.scans[path.scan])
            ]
            if not paths or site in self.ran or self.applied.get(site) == state:
                continue
            summary = self._block_summary(site)
            self.applied[site] = self._state(site)
            if summary is not None:
                acted = True
                self._pin(site)
                for path in paths:
                    self._apply(path, site, summary)
        return acted

    def _why_not(self, scan: Scan, site: JoinSite) -> tuple[str, str]:
        """Return why a join may exclude nothing of a scan, and what would change that."""
        if not is_worth_pruning(self.query.scans[scan]):
            return "to read its one small file takes less than to ask which of it is needed", ""
        if complete_scan_sets(self.query.live_scans(site.build)) is None:
            return "the other side reads more than files of Parquet, and too much to be read first", ""
        rows, reads = rows_of_build(self.query, site.build), reads_of_build(self.query, site)
        return (
            "little is known of the other side's keys, and running that side first does not pay: it reads "
            f"{rows:,} rows, {reads.byte_count:,} bytes",
            "a condition on the other side would let it be run first",
        )

    def _is_runnable(self, site: JoinSite) -> bool:
        """Tell whether to run a build side is likely to pay, and sure to be repeated by the query."""
        if site in self.refused or self.ran.get(site) == self._state(site):
            return False
        if not any(self.graph.live_paths(site)):
            return False
        summary = self._block_summary(site)
        stakes = self.graph.stakes(site, None if summary is None else summary.keys)
        if not stakes or not reads_first(self.query, site, stakes, self.reduced):
            return False
        if site.build in self.query.materials or is_repeatable(self.query, site.build):
            return True
        self.refused.add(site)
        self.query.notes.append(
            "a join's build side was not run first: it may give other rows when it is run again"
        )
        return False

    def _state(self, site: JoinSite) -> State:
        tables = [self.query.scans[scan] for scan in scans(site.build) if scan in self.query.scans]
        return tuple(
            (len(scan.needed_conditions), -1 if scan.scan_set is None else int(scan.scan_set.keep.sum()))
            for scan in tables
        )

    def _block_summary(self, site: JoinSite) -> BuildSummary | None:
        state, summary = self.summaries.get(site, (None, None))
        if state is None or state != self._state(site):
            summary = summary_of_blocks(self.query, site)
            self.summaries[site] = (self._state(site), summary)
        return summary

    def _pin(self, site: JoinSite) -> None:
        """Let the files of a build side stay those that other scans were narrowed by."""
        for node in scans(site.build):
            if node in self.query.scans:
                self.query.scans[node].is_pinned = True

    def _apply(self, path: KeyPath, site: JoinSite, summary: BuildSummary) -> None:
        """Exclude the blocks of a scan without a row that has a partner."""
        scan, count = self.query.scans[path.scan], len(site.probe_keys)
        if site in self.ran:
            scan.decline("join", "each row group may hold a key of the other side")
        equal, ranged = path.keys[:count], path.keys[count:]
        keys = summary.keys
        if keys is not None and any(key is not None for key in equal):

            def excluded_blocks() -> np.ndarray:
                return keys.excludes([None if key is None else scan.bounds(key) for key in equal])

            names = ", ".join(to_sql(key) for key in equal if key is not None)
            scan.apply_condition(
                "join",
                keys.condition(equal, terms_max=TERMS_MAX),
                because=f"{names} in the other side of the join, {summary.how}: {keys.describe()}",
                excluded=excluded_blocks,
            )
        for key, ends in zip(ranged, summary.ranges, strict=True):
            if key is not None and ends is not None:
                scan.apply_condition(
                    "join",
                    ends.condition(key, TERMS_MAX),
                    because=f"{to_sql(key)} as the other side of the join bounds it, {summary.how}: "
                    f"{ends.describe()}",
                )
