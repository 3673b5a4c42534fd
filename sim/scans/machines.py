"""The project's own machines, as the control plane makes them for a scan; what is wrong replaces one."""

from collections.abc import Mapping

from pruning.techniques.limit import LimitPruning
from pruning.techniques.topk.topk import TopK
from sim.scans.gathering import Gathering
from sim.scans.model import World
from sim.scans.placement import Queues
from sim.scans.planning import Compiler, ScanPlan, scan_plans, start_of
from sim.scans.queries import Query
from sim.scans.scan_state import Board
from sim.scans.tables import Table


class Machines:
    """Makes what decides about the blocks of scans."""

    def __init__(self, world: World, tables: Mapping[str, Table]) -> None:
        self.world, self._tables = world, tables

    def plans(self, query: Query, *, known: bool) -> list[ScanPlan]:
        """What is to be done with the scans of a query."""
        return scan_plans(query, self._tables, known=known)

    def compiler(self, plan: ScanPlan) -> Compiler:
        """What asks the predicate of a scan of block metadata."""
        return Compiler(plan, self.world.control)

    def limit(self, plan: ScanPlan, wanted: int) -> LimitPruning:
        """The state machine of a LIMIT."""
        # Of a conjunct that was cut no block is known to match: `classify_within` calls none ALL then.
        return LimitPruning(plan.matches, plan.row_counts, wanted=wanted)

    def top_k(self, plan: ScanPlan) -> TopK:
        """The state machine of a top-k, whose first wave keeps all workers busy."""
        ordered = plan.ordered
        assert ordered is not None
        return TopK(
            ordered.bounds,
            plan.matches,
            plan.row_counts,
            ordered.order,
            wanted=ordered.wanted,
            keeps_ties=ordered.ties_matter,
            start=start_of(plan),
            first_wave=self.world.warehouse.nodes * self.world.warehouse.workers,
        )

    def board(self, plan: ScanPlan, queues: Queues) -> Board:
        """Where the blocks of a scan stand."""
        return Board(plan, queues)

    def gathering(self, plan: ScanPlan) -> Gathering:
        """What makes the summary of a build side."""
        return Gathering(plan, self.world.control.summary_bytes_max)
