"""What the control plane concludes from metadata before anything is read, in the time that it has ([P] 3.2).

The rules, the cut of conjuncts that do not pay, boundaries from metadata, and where a technique may act are
the project's own; here they are given a clock that counts what they ask.
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
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import Match
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
from sim.scans.synthetic_tables import SpreadTable, paged
from sim.scans.tables import Table, unknown_metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """The top-k that a scan serves.

    Attributes:
        bounds: Of the key as the control plane knows it; of blocks whose metadata it has not, nothing.
        at_nodes: Of the key as who reads a block's footer knows it.
        ties_matter: Whether rows that tie the boundary may be asked for.
        metadata_counts: Whether each of a block's rows that match is a row of the answer, so that
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
class Probed:
    """The scan may leave out rows whose key the build side has not."""

    key: Expression
    null_safe: bool
    bounds: KeyBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The scan's keys are summarised for the other side of the join."""

    key: Expression
    type: Type
    null_safe: bool


@dataclass(kw_only=True, eq=False)
class ScanPlan:
    """One scan of a query: what is to be done with its blocks.

    Attributes:
        name: The query's and the table's; trace and messages go by it.
        known: Whether the control plane has metadata.
        matches: `Match` of each block; SOME of those that were not asked, shape (blocks,).
        row_counts: Live rows, -1 where unknown, shape (blocks,).
        planned: How many blocks, from the first, the control plane has looked at.
        unasked: Blocks of which the predicate was not, or not as a whole, asked, shape (blocks,).
        wanted: The rows of a LIMIT without an order that the scan serves.
    """

    name: str
    query: Query
    scan: Scan
    table: Table
    known: bool
    matches: np.ndarray
    row_counts: np.ndarray
    unasked: np.ndarray
    planned: int = 0
    wanted: int | None = None
    ordered: Ordered | None = None
    probed: Probed | None = None
    built: Built | None = None

    @property
    def predicate(self) -> Expression | None:
        """What the query asks of the scan's rows."""
        return self.query.scans[self.scan].predicate

    @cached_property
    def program(self) -> Program:
        """The predicate, compiled once by the control plane and run by nodes as it is."""
        assert self.predicate is not None
        return compile_predicate(self.predicate, beyond=beyond_bounds(self.table.metadata))

    @cached_property
    def verdicts(self) -> np.ndarray:
        """What who sees the metadata of a block concludes, with all the time it needs, shape (blocks,).

        It is of each block alone, and so is asked of all at once, whoever wants to know and when.
        """
        if self.predicate is None:
            rows = self.table.metadata.column("row_count").to_numpy()
            return np.where(rows == 0, int(Match.NONE), int(Match.ALL))
        verdicts: np.ndarray = classify_blocks(self.program, self.table.metadata).to_numpy()
        return verdicts

    def pages(self, blocks: np.ndarray) -> np.ndarray | None:
        """Which pages may hold a row that the predicate wants, shape (blocks, pages); None if not known."""
        if self.predicate is None or not isinstance(self.table, SpreadTable):
            return None
        asked = classify_blocks(self.program, paged(self.table, blocks).metadata).to_numpy()
        needed: np.ndarray = (asked != Match.NONE).reshape(len(blocks), -1)
        return needed

    @cached_property
    def matching(self) -> np.ndarray:
        """How many rows of each block satisfy the predicate, of a table without rows, shape (blocks,)."""
        assert isinstance(self.table, SpreadTable)
        return self.table.matching(self.predicate)

    @property
    def blocks(self) -> int:
        """How many blocks the table has."""
        return len(self.matches)


def scan_plans(query: Query, tables: Mapping[str, Table], *, known: bool) -> list[ScanPlan]:
    """The scans of a query, the build side of a join first, before a block's metadata was looked at.

    Args:
        known: Whether the control plane has metadata.
    """
    return [_plan(query, scan, tables[asked.table], known=known) for scan, asked in query.scans.items()]


def _plan(query: Query, scan: Scan, table: Table, *, known: bool) -> ScanPlan:
    blocks = table.metadata.num_rows
    counts = table.metadata.column("row_count").to_numpy() if known else np.full(blocks, -1)
    plan = ScanPlan(
        name=query.scan_name(scan),
        query=query,
        scan=scan,
        table=table,
        known=known,
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
        found = [
            way for way in key_paths(place.source, (), rows_wanted=place.wanted) if way.scan is plan.scan
        ]
        if found and found[0].preserving and found[0].rowwise and found[0].sole_source:
            plan.wanted = place.wanted
        return
    for way in key_paths(place.sort.child, (place.first.key,)):
        (key,) = way.keys
        if way.scan is not plan.scan or key is None or not way.monotone:
            continue
        at_nodes = key_bounds(key, plan.table.metadata)
        plan.ordered = Ordered(
            key=key,
            order=SortOrder(place.first.descending, place.first.nulls_first),
            wanted=place.wanted,
            bounds=at_nodes if plan.known else key_bounds(key, unknown_metadata(plan.table)),
            at_nodes=at_nodes,
            ties_matter=len(place.sort.items) > 1 or not way.rowwise or not way.sole_source,
            metadata_counts=plan.known and way.preserving and way.rowwise,
        )


def _serve_join(plan: ScanPlan, place: JoinSite) -> None:
    """As the probe side, or as the build side if that is read first."""
    first, _ = plan.query.scans
    for way in key_paths(place.probe, place.probe_keys):
        (key,) = way.keys
        if way.scan is plan.scan and plan.scan is not first and key is not None:
            plan.probed = Probed(
                key=key, null_safe=place.null_safe[0], bounds=key_bounds(key, plan.table.metadata)
            )
    for way in key_paths(place.build, place.build_keys):
        (key,) = way.keys
        if way.scan is plan.scan is first and key is not None:
            plan.built = Built(key=key, type=type_of(key), null_safe=place.null_safe[0])


def probed_side(query: Query, build: ScanPlan, probe: ScanPlan) -> tuple[Built, Probed]:
    """What a build side summarises and a probe side is asked, whether or not the join allows it."""
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
        Built(key=built, type=type_of(built), null_safe=equality.null_safe),
        Probed(key=probed, null_safe=equality.null_safe, bounds=key_bounds(probed, probe.table.metadata)),
    )


@dataclass(slots=True)
class Ticks:
    """A clock for the rules, which look at it before and after they ask some blocks one more conjunct.

    Attributes:
        step_us: What that takes; from one look to the next so much passes.
        looks: How often it was looked at.
    """

    step_us: float
    looks: int = 0

    def __call__(self) -> float:
        """Seconds."""
        self.looks += 1
        return self.looks * self.step_us / 1e6

    @property
    def spent_us(self) -> float:
        """What was spent between the first look and the second one of each pair."""
        return self.looks / 2 * self.step_us


@dataclass(slots=True)
class Compiler:
    """Asks the predicate of one scan after another chunk of blocks, until its time is over.

    Attributes:
        spent_us: What it took so far.
        cut: Conjuncts that were left to nodes for some blocks.
    """

    plan: ScanPlan
    control: ControlPlane
    spent_us: float = 0.0
    cut: set[Expression] = field(default_factory=set)

    def compile(self, start: int, stop: int) -> float:
        """Ask of these blocks what there is time for.

        Returns:
            What it took, in us.
        """
        plan = self.plan
        if plan.predicate is None:
            plan.matches[start:stop] = np.where(
                plan.row_counts[start:stop] == 0, int(Match.NONE), int(Match.ALL)
            )
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
        clock = Ticks(lanes * self.control.classify_ns / 1_000)
        asked = self.classified(predicate, self.plan.table.metadata.slice(start, stop - start), clock)
        self.plan.matches[start:stop] = asked.verdicts.to_numpy()
        self.plan.unasked[start:stop] = bool(asked.deferred)
        self.cut.update(asked.deferred)
        self.spent_us += clock.spent_us

    def classified(self, predicate: Expression, metadata: pa.Table, clock: Ticks) -> Classification:
        """Verdicts of a chunk of blocks, without conjuncts that take longer than what they spare."""
        return classify_within(
            predicate,
            metadata,
            read_seconds=self.control.read_us / 1e6,
            clock=clock,
            chunk_lanes=self._lanes,
        )

    @property
    def _lanes(self) -> int:
        """Blocks to look at before a conjunct may be cut."""
        return max(1, self.control.lanes_per_chunk // 8)


def at_node(plan: ScanPlan, blocks: np.ndarray) -> np.ndarray:
    """Which of these blocks may hold a row that the predicate wants, asked as a whole."""
    needed: np.ndarray = plan.verdicts[blocks] != Match.NONE
    return needed


def start_of(plan: ScanPlan) -> Boundary | None:
    """The boundary that metadata alone gives."""
    ordered = plan.ordered
    if ordered is None or not ordered.metadata_counts:
        return None
    known = (ordered.bounds, plan.matches, plan.row_counts, ordered.order, ordered.wanted)
    return strictest(ordered.order, boundary_by_maxima(*known, distinct=False), boundary_by_counts(*known))
