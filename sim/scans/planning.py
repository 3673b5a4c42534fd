"""The control plane's conclusions from metadata before anything is read, within its time limit ([P] 3.2).

The rules, the cut of conjuncts that do not pay, boundaries from metadata, and the sites of techniques are the
project's own; here they get a clock that counts their steps.

"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from pruning.expressions.plans import Scan
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression, type_of
from pruning.expressions.types import Type
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import Match, match_codes
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.plan.reachability import key_paths
from pruning.techniques.plan.sites import JoinSite, LimitSite, TopKSite, join_sites, limit_sites
from pruning.techniques.topk.boundary import Boundary, strictest
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.upfront import boundary_by_counts, boundary_by_maxima
from pruning.verdicts.bounding import key_bounds
from pruning.verdicts.classification import (
    Classification,
    beyond_bounds,
    classify_blocks,
    classify_within,
    compile_predicate,
)
from sim.scans.model import ControlPlane
from sim.scans.queries import Query
from sim.scans.synthetic_tables import SyntheticTable, run_table
from sim.scans.tables import ScannedTable, unknown_metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTopK:
    """The top-k that a scan serves.

    Attributes:
        bounds: The control plane's bounds of the key; unknown for blocks whose metadata it has not.
        at_nodes: The bounds of the key for a reader of the blocks' footers.
        ties_matter: True if rows that tie the boundary may be needed.
        metadata_counts: True if each matching row of a block is a row of the answer, so that
        metadata may give a boundary.
    """

    key: Expression
    order: SortOrder
    wanted: int
    bounds: KeyBounds
    at_nodes: KeyBounds
    ties_matter: bool
    metadata_counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSide:
    """The scan may leave out rows whose key the build side lacks."""

    key: Expression
    null_safe: bool
    bounds: KeyBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSide:
    """The scan's keys are summarised for the other side of the join."""

    key: Expression
    type: Type
    null_safe: bool


@dataclass(kw_only=True, eq=False)
class ScanPlan:
    """The plan of one scan of a query.

    Attributes:
        name: The names of query and table, as in traces and messages.
        has_metadata: True if the control plane has metadata.
        matches: `Match` of each block; SOME for those that were not classified, shape (blocks,).
        row_counts: Live rows, -1 where unknown, shape (blocks,).
        planned: The number of blocks, from the first, that the control plane has looked at.
        unasked: A mask of the blocks whose predicate was not, or not wholly, evaluated, shape (blocks,).
        wanted: The count of a LIMIT without an order that the scan serves.
    """

    name: str
    query: Query
    scan: Scan
    table: ScannedTable
    has_metadata: bool
    matches: np.ndarray
    row_counts: np.ndarray
    unasked: np.ndarray
    planned: int = 0
    wanted: int | None = None
    top_k: ServedTopK | None = None
    probe_side: ProbeSide | None = None
    build_side: BuildSide | None = None

    @property
    def predicate(self) -> Expression | None:
        """The predicate of the scan."""
        return self.query.scans[self.scan].predicate

    @cached_property
    def program(self) -> Program:
        """The predicate, compiled once by the control plane and run by nodes as it is."""
        assert self.predicate is not None
        return compile_predicate(self.predicate, beyond=beyond_bounds(self.table.metadata))

    @cached_property
    def verdicts(self) -> np.ndarray:
        """The verdicts of a reader of each block's metadata who has unlimited time, shape (blocks,).

        A verdict depends on its block alone, so all blocks are classified at once.
        """
        if self.predicate is None:
            has_rows = self.table.metadata.column("row_count").to_numpy() != 0
            return match_codes(has_rows, has_rows)
        verdicts: np.ndarray = classify_blocks(self.program, self.table.metadata).to_numpy()
        return verdicts

    def rows(self, blocks: np.ndarray) -> list[RowRanges] | None:
        """Return the rows of each block that may match the predicate, by runs of pages; None if unknown."""
        if self.predicate is None or not isinstance(self.table, SyntheticTable):
            return None
        verdicts = classify_blocks(self.program, run_table(self.table, blocks).metadata).to_numpy()
        needed = (verdicts != Match.NONE).reshape(len(blocks), -1)
        return [RowRanges.of((run, run + 1) for run in np.flatnonzero(mask).tolist()) for mask in needed]

    @cached_property
    def matching(self) -> np.ndarray:
        """The number of rows of each block that satisfy the predicate, for a synthetic table, shape
        (blocks,).
        """
        assert isinstance(self.table, SyntheticTable)
        return self.table.matching(self.predicate)

    @property
    def blocks(self) -> int:
        """The number of blocks of the table."""
        return len(self.matches)


def scan_plans(query: Query, tables: Mapping[str, ScannedTable], *, has_metadata: bool) -> list[ScanPlan]:
    """Return the plans of a query's scans, the build side of a join first, before any metadata was read.

    Args:
        has_metadata: True if the control plane has metadata.
    """
    return [
        _plan(query, scan, tables[source.table], has_metadata=has_metadata)
        for scan, source in query.scans.items()
    ]


def _plan(query: Query, scan: Scan, table: ScannedTable, *, has_metadata: bool) -> ScanPlan:
    blocks = table.metadata.num_rows
    counts = table.metadata.column("row_count").to_numpy() if has_metadata else np.full(blocks, -1)
    plan = ScanPlan(
        name=query.scan_name(scan),
        query=query,
        scan=scan,
        table=table,
        has_metadata=has_metadata,
        matches=np.full(blocks, int(Match.SOME), np.int8),
        row_counts=counts,
        unasked=np.ones(blocks, bool),
    )
    for place in limit_sites(query.plan):
        _serve_limit(plan, place)
    for join in join_sites(query.plan):
        _serve_join(plan, join)
    return plan


def _serve_limit(plan: ScanPlan, place: LimitSite | TopKSite) -> None:
    if isinstance(place, LimitSite):
        paths = [
            way for way in key_paths(place.source, (), rows_wanted=place.wanted) if way.scan is plan.scan
        ]
        if paths and paths[0].preserving and paths[0].rowwise and paths[0].sole_source:
            plan.wanted = place.wanted
        return
    for way in key_paths(place.sort.child, (place.first.key,)):
        (key,) = way.keys
        if way.scan is not plan.scan or key is None or not way.monotone:
            continue
        at_nodes = key_bounds(key, plan.table.metadata)
        plan.top_k = ServedTopK(
            key=key,
            order=SortOrder(place.first.descending, place.first.nulls_first),
            wanted=place.wanted,
            bounds=at_nodes if plan.has_metadata else key_bounds(key, unknown_metadata(plan.table)),
            at_nodes=at_nodes,
            ties_matter=len(place.sort.items) > 1 or not way.rowwise or not way.sole_source,
            metadata_counts=plan.has_metadata and way.preserving and way.rowwise,
        )


def _serve_join(plan: ScanPlan, place: JoinSite) -> None:
    """Plan the scan as a probe side, or as a build side if it is read first."""
    first, _ = plan.query.scans
    for way in key_paths(place.probe, place.probe_keys):
        (key,) = way.keys
        if way.scan is plan.scan and plan.scan is not first and key is not None:
            plan.probe_side = ProbeSide(
                key=key, null_safe=place.null_safe[0], bounds=key_bounds(key, plan.table.metadata)
            )
    for way in key_paths(place.build, place.build_keys):
        (key,) = way.keys
        if way.scan is plan.scan is first and key is not None:
            plan.build_side = BuildSide(key=key, type=type_of(key), null_safe=place.null_safe[0])


def join_sides(query: Query, build: ScanPlan, probe: ScanPlan) -> tuple[BuildSide, ProbeSide]:
    """Return the summarised keys of a build side and the pruned keys of a probe side, even if unsound."""
    join = query.join
    assert join is not None
    (equality,) = join.equalities
    build_key, probe_key = equality.left, equality.right
    if not columns(build_key).keys() <= build.scan.columns.keys():
        build_key, probe_key = probe_key, build_key
    ((built,),) = (way.keys for way in key_paths(build.scan, (build_key,)))
    ((probed,),) = (way.keys for way in key_paths(probe.scan, (probe_key,)))
    assert built is not None
    assert probed is not None
    return (
        BuildSide(key=built, type=type_of(built), null_safe=equality.null_safe),
        ProbeSide(key=probed, null_safe=equality.null_safe, bounds=key_bounds(probed, probe.table.metadata)),
    )


@dataclass(slots=True)
class CountingClock:
    """A clock for the rules, which read it before and after each further conjunct of some blocks.

    Attributes:
        step_us: The time of such a step; it passes from one reading to the next.
        looks: The number of readings.
    """

    step_us: float
    looks: int = 0

    def __call__(self) -> float:
        """Return the time in seconds."""
        self.looks += 1
        return self.looks * self.step_us / 1e6

    @property
    def spent_us(self) -> float:
        """The time between the first and the second reading of all pairs."""
        return self.looks / 2 * self.step_us


@dataclass(slots=True)
class PredicateCompiler:
    """Evaluates the predicate of one scan on chunks of blocks until its time is over.

    Attributes:
        spent_us: The time that it took so far.
        cut: Conjuncts that were left to nodes for some blocks.
    """

    plan: ScanPlan
    control: ControlPlane
    spent_us: float = 0.0
    cut: set[Expression] = field(default_factory=set)

    def compile(self, start: int, stop: int) -> float:
        """Evaluate the predicate on these blocks as far as time allows.

        Returns:
            The time that it took, in us.
        """
        plan = self.plan
        if plan.predicate is None:
            has_rows = plan.row_counts[start:stop] != 0
            plan.matches[start:stop] = match_codes(has_rows, has_rows)
            plan.unasked[start:stop] = False
            return 0.0
        size = self.control.lanes_per_chunk
        before = self.spent_us
        for begin in range(start, stop, size):
            if self.spent_us >= self.control.compile_us_max:
                break
            self._chunk(plan.predicate, begin, min(begin + size, stop))
        return self.spent_us - before

    def _chunk(self, predicate: Expression, start: int, stop: int) -> None:
        lanes = min(self._lanes, stop - start)
        clock = CountingClock(lanes * self.control.classify_ns / 1_000)
        classification = self.classify(predicate, self.plan.table.metadata.slice(start, stop - start), clock)
        self.plan.matches[start:stop] = classification.verdicts.to_numpy()
        self.plan.unasked[start:stop] = bool(classification.deferred)
        self.cut.update(classification.deferred)
        self.spent_us += clock.spent_us

    def classify(self, predicate: Expression, metadata: pa.Table, clock: CountingClock) -> Classification:
        """Classify a chunk of blocks, without conjuncts that take longer than the reads they save."""
        return classify_within(
            predicate,
            metadata,
            read_seconds=self.control.read_us / 1e6,
            clock=clock,
            chunk_lanes=self._lanes,
        )

    @property
    def _lanes(self) -> int:
        """The number of blocks to evaluate at a time; between such chunks a conjunct may be dropped."""
        return max(1, self.control.lanes_per_chunk // 8)


def at_node(plan: ScanPlan, blocks: np.ndarray) -> np.ndarray:
    """Return a mask of these blocks that may match the whole predicate."""
    needed: np.ndarray = plan.verdicts[blocks] != Match.NONE
    return needed


def initial_boundary(plan: ScanPlan) -> Boundary | None:
    """Return the boundary that metadata alone gives."""
    ordered = plan.top_k
    if ordered is None or not ordered.metadata_counts:
        return None
    facts = (ordered.bounds, plan.matches, plan.row_counts, ordered.order, ordered.wanted)
    return strictest(ordered.order, boundary_by_maxima(*facts, distinct=False), boundary_by_counts(*facts))
