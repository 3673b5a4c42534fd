"""Create the state machines of scans for the control plane; a mutant replaces one of them."""

from collections.abc import Mapping

from pruning.techniques.limit import LimitPruning
from pruning.techniques.topk.topk import TopK
from sim.scans.gathering import SummaryBuilder
from sim.scans.model import ScanWorld
from sim.scans.placement import Queues
from sim.scans.planning import PredicateCompiler, ScanPlan, initial_boundary, scan_plans
from sim.scans.queries import Query
from sim.scans.scan_state import ScanState
from sim.scans.tables import ScannedTable


class MachineFactory:
    """Create the objects that decide about the blocks of scans."""

    def __init__(self, world: ScanWorld, tables: Mapping[str, ScannedTable]) -> None:
        self.world, self._tables = world, tables

    def plans(self, query: Query, *, has_metadata: bool) -> list[ScanPlan]:
        """Return the plans of a query's scans."""
        return scan_plans(query, self._tables, has_metadata=has_metadata)

    def compiler(self, plan: ScanPlan) -> PredicateCompiler:
        """Return the compiler that evaluates a scan's predicate on block metadata."""
        return PredicateCompiler(plan, self.world.control)

    def limit(self, plan: ScanPlan, wanted: int) -> LimitPruning:
        """Return the state machine of a LIMIT."""
        # No block counts as matching on behalf of a conjunct that was cut: `classify_within` calls no block
        # ALL then.
        return LimitPruning(plan.matches, plan.row_counts, wanted=wanted)

    def top_k(self, plan: ScanPlan) -> TopK:
        """Return the state machine of a top-k; its first wave keeps all workers busy."""
        ordered = plan.top_k
        assert ordered is not None
        return TopK(
            ordered.bounds,
            plan.matches,
            plan.row_counts,
            ordered.order,
            wanted=ordered.wanted,
            keeps_ties=ordered.ties_matter,
            start=initial_boundary(plan),
            first_wave=self.world.warehouse.nodes * self.world.warehouse.workers,
        )

    def scan_state(self, plan: ScanPlan, queues: Queues) -> ScanState:
        """Return the state of a scan whose blocks are all unsettled."""
        return ScanState(plan, queues)

    def summary_builder(self, plan: ScanPlan) -> SummaryBuilder:
        """Return the builder of a build side's summary."""
        return SummaryBuilder(plan, self.world.control.summary_bytes_max)
