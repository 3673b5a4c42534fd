"""Control planes and nodes that are wrong on purpose; each must be found by a check.

Each is the project's own with one method replaced, as somebody might write it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pruning.expressions.trees import And, Expression, Or
from pruning.rules.sets.truths import Match
from pruning.techniques.join.summaries import JoinSummary, SummaryParts
from pruning.techniques.limit import LimitPruning
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.topk import TopK
from pruning.verdicts.classification import Classification
from sim.scans.control import Control
from sim.scans.gathering import SummaryBuilder
from sim.scans.messages import BlockResult, Heartbeat
from sim.scans.model import MetadataLocation
from sim.scans.network import RunContext
from sim.scans.nodes import Node, NodeScan
from sim.scans.placement import Queues
from sim.scans.planning import (
    CountingClock,
    PredicateCompiler,
    ScanPlan,
    ServedTopK,
    initial_boundary,
    join_sides,
)
from sim.scans.queries import Query
from sim.scans.reading import StoreReader, Waits
from sim.scans.run import ScanImplementations
from sim.scans.scan_state import OutstandingTask, ScanState
from sim.scans.tables import RowTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanMutant:
    """A wrong implementation of the control plane or of a node."""

    name: str
    what: str
    implementations: ScanImplementations


class _OffByATie(Control):
    def top_k(self, plan: ScanPlan) -> TopK:
        machine, start = super().top_k(plan), initial_boundary(plan)
        if start is not None:
            machine.learn(replace(start, held=True))
        return machine


class _LastToldBoundary(Node):
    def learn(self, plan: ScanPlan, boundary: Boundary) -> None:
        scan = self.scanning(plan)
        assert scan.top_k is not None
        assert plan.top_k is not None
        before, scan.top_k = scan.top_k.boundary, self.top_k(plan, plan.top_k)
        scan.top_k.learn(boundary)
        self.announce_boundary(plan, before, scan.top_k.boundary)


class _ShareOfK(Node):
    def top_k(self, plan: ScanPlan, ordered: ServedTopK) -> TopK:
        share = -(-ordered.wanted // self.world.warehouse.nodes)
        return super().top_k(plan, replace(ordered, wanted=share))


class _TiesWithItsOwn(Node):
    def keeps_ties(self, ordered: ServedTopK) -> bool:
        return ordered.ties_matter


class _OtherOrder(Node):
    def top_k(self, plan: ScanPlan, ordered: ServedTopK) -> TopK:
        order = replace(ordered.order, nulls_first=not ordered.order.nulls_first)
        return super().top_k(plan, replace(ordered, order=order))


class _SeenBefore(Node):
    def reaching(self, top_k: TopK) -> np.ndarray:
        mask = np.zeros_like(top_k.reaching)
        mask[top_k.needed_blocks] = True
        return mask


class _BoundaryOfAnotherQuery(Node):
    def scanning(self, plan: ScanPlan) -> NodeScan:
        alike = replace(plan.query, name="any")
        return super().scanning(replace(plan, name=_name_without_predicate(plan), query=alike))


def _name_without_predicate(plan: ScanPlan) -> str:
    """Return a name of a scan that does not tell predicates apart."""
    ordered = plan.top_k
    return plan.name if ordered is None else f"{plan.table.name} {ordered.key} {ordered.order}"


class _IncompleteSummary(SummaryBuilder):
    def merge(self) -> JoinSummary | None:
        if self.parts is None or not self.parts.reported:
            return None
        parts = dict(enumerate(self.parts.reported.values()))
        return SummaryParts(len(parts), parts).merge()


class _BeforeComplete(Control):
    def summary_builder(self, plan: ScanPlan) -> SummaryBuilder:
        return _IncompleteSummary(plan, self.world.control.summary_bytes_max)


class _DropsEarly(SummaryBuilder):
    def add_part(self, block: int, part: JoinSummary) -> None:
        if self.parts is not None:
            super().add_part(block, part)


class _EarlyPartsAreLost(Control):
    def summary_builder(self, plan: ScanPlan) -> SummaryBuilder:
        return _DropsEarly(plan, self.world.control.summary_bytes_max)


class _DeadHaveNothing(Control):
    def handle_lost_task(self, state: ScanState, out: OutstandingTask) -> None:
        if state.plan.build_side is not None:
            self.running[state.plan.query.name].summary_builder.add_empty(map(int, out.blocks))
        super().handle_lost_task(state, out)


class _PreservedSide(Control):
    def plans(self, query: Query, *, has_metadata: bool) -> list[ScanPlan]:
        plans = super().plans(query, has_metadata=has_metadata)
        if query.join is not None:
            build, probe = plans
            build.build_side, probe.probe_side = join_sides(query, build, probe)
        return plans


class _NullsHaveNoPartner(Control):
    def plans(self, query: Query, *, has_metadata: bool) -> list[ScanPlan]:
        plans = super().plans(query, has_metadata=has_metadata)
        for plan in plans:
            if plan.build_side is not None:
                plan.build_side = replace(plan.build_side, null_safe=False)
            if plan.probe_side is not None:
                plan.probe_side = replace(plan.probe_side, null_safe=False)
        return plans


class _LateIsEmpty(Control):
    def scan_state(self, plan: ScanPlan, queues: Queues) -> ScanState:
        state = super().scan_state(plan, queues)
        if not plan.has_metadata and self.world.metadata.keeping is MetadataLocation.COLUMNAR:
            self.settle(state, np.arange(plan.blocks), "filter", "compile", None)
        return state


class _CountsTwice(Control):
    def is_counted(self, state: ScanState, block: int) -> bool:
        return False


class _ForgetsTheLost(Control):
    def handle_lost_task(self, state: ScanState, out: OutstandingTask) -> None:
        return


class _LostAreEmpty(Control):
    def handle_lost_task(self, state: ScanState, out: OutstandingTask) -> None:
        for block in map(int, out.blocks):
            if not state.settled[block]:
                state.accept(block, BlockResult(rows=(), row_count=0))


class _NeverWatches(Control):
    def watch(self) -> Waits:
        yield self._clock.timeout(0)


class _RowsToBeWithdrawn(Control):
    def hear(self, heartbeat: Heartbeat) -> None:
        super().hear(heartbeat)
        self._seen = {**getattr(self, "_seen", {}), heartbeat.node: heartbeat.rows_seen}
        for running in list(self.running.values()):
            for state in running.states:
                rows_seen = sum(rows.get(state.plan.name, 0) for rows in self._seen.values())
                if state.plan.wanted is not None and rows_seen >= state.plan.wanted and state.plan.planned:
                    self.settle(state, np.arange(state.plan.blocks), "limit", "control", None)
                    self.finish(running)


class _RowsOfMetadata(LimitPruning):
    def __init__(self, matches: np.ndarray, row_counts: np.ndarray, *, wanted: int) -> None:
        super().__init__(matches, row_counts, wanted=wanted)
        self._all = row_counts

    def observe(self, blocks: np.ndarray, row_count: int) -> None:
        super().observe(blocks, int(np.maximum(self._all[blocks], row_count).sum()))


class _LimitBeforeFilter(Control):
    def limit(self, plan: ScanPlan, wanted: int) -> LimitPruning:
        return _RowsOfMetadata(plan.matches, plan.row_counts, wanted=wanted)


class _CutBelowOr(PredicateCompiler):
    def classify(self, predicate: Expression, metadata: pa.Table, clock: CountingClock) -> Classification:
        return super().classify(_without_disjuncts(predicate), metadata, clock)


def _without_disjuncts(predicate: Expression) -> Expression:
    match predicate:
        case Or(operands):
            return _without_disjuncts(operands[0])
        case And(operands):
            return And(tuple(map(_without_disjuncts, operands)))
        case _:
            return predicate


class _CutsBelowOr(Control):
    def compiler(self, plan: ScanPlan) -> PredicateCompiler:
        return _CutBelowOr(plan, self.world.control)


class _CutIsTrue(PredicateCompiler):
    def compile(self, start: int, stop: int) -> float:
        took = super().compile(start, stop)
        unasked = self.plan.unasked[start:stop] & (self.plan.matches[start:stop] == Match.SOME)
        self.plan.matches[start:stop][unasked] = Match.ALL
        return took


class _TakesCutForTrue(Control):
    def compiler(self, plan: ScanPlan) -> PredicateCompiler:
        return _CutIsTrue(plan, self.world.control)


class _EndsEarly(ScanState):
    @property
    def is_done(self) -> bool:
        return bool(self.settled[: self.plan.planned].all()) and self.plan.planned > 0


class _EndsBeforeMetadata(Control):
    def scan_state(self, plan: ScanPlan, queues: Queues) -> ScanState:
        return _EndsEarly(plan, queues)


class _PrunedTwice(ScanState):
    def settle(self, blocks: np.ndarray, technique: str, where: str) -> np.ndarray:
        fresh = super().settle(blocks, technique, where)
        self.pruned[technique, where] += len(blocks) - len(fresh)
        return fresh


class _CountsPrunedTwice(Control):
    def scan_state(self, plan: ScanPlan, queues: Queues) -> ScanState:
        return _PrunedTwice(plan, queues)


class _DeafToCancel(Node):
    def is_over(self, plan: ScanPlan) -> bool:
        return False


class _TakesAnything(StoreReader):
    def __init__(self, number: int, context: RunContext) -> None:
        super().__init__(number, context)
        self.unreadable: set[tuple[str, int]] = set()

    def tries(self, plan: ScanPlan, blocks: np.ndarray) -> tuple[int, int, bool]:
        requests, waited, is_answered = super().tries(plan, blocks)
        if not is_answered:
            self.unreadable.update((plan.name, block) for block in blocks.tolist())
        return requests, waited, True


class _EmptyIfUnreadable(Node):
    def reader(self) -> StoreReader:
        return _TakesAnything(self.number, self.context)

    def block_result(self, plan: ScanPlan, block: int) -> BlockResult:
        assert isinstance(self._reader, _TakesAnything)
        result = super().block_result(plan, block)
        bad = (plan.name, block) in self._reader.unreadable
        return replace(result, rows=(), row_count=0, keys=()) if bad else result


class _LeftToNobody(Node):
    def block_result(self, plan: ScanPlan, block: int) -> BlockResult:
        result = super().block_result(plan, block)
        if not plan.unasked[block] or not plan.has_metadata:
            return result
        assert isinstance(plan.table, RowTable), "small worlds have tables with rows"
        rows = plan.table.blocks[block]
        return replace(result, rows=rows, row_count=len(rows))


def _mutant(name: str, what: str, **implementations: Callable[..., Any]) -> ScanMutant:
    return ScanMutant(name=name, what=what, implementations=ScanImplementations(**implementations))


MUTANTS: Mapping[str, ScanMutant] = {
    mutant.name: mutant
    for mutant in (
        _mutant(
            "boundary off by a tie", "A boundary of metadata alone is taken for held.", control=_OffByATie
        ),
        _mutant(
            "boundary merged the wrong way", "Of two boundaries the later stands.", node=_LastToldBoundary
        ),
        _mutant("boundary of a share", "Each node looks for its share of k rows.", node=_ShareOfK),
        _mutant(
            "ties with its own", "A node skips what ties with rows that it may lose.", node=_TiesWithItsOwn
        ),
        _mutant("boundary in another order", "Nodes place NULL at the other end.", node=_OtherOrder),
        _mutant("boundary of another query", "Nodes know boundaries by table.", node=_BoundaryOfAnotherQuery),
        _mutant(
            "seen before", "A node skips what it has read, though its report was lost.", node=_SeenBefore
        ),
        _mutant("summary before complete", "Parts that are there are the summary.", control=_BeforeComplete),
        _mutant(
            "early parts are lost",
            "Blocks read before all metadata have no key.",
            control=_EarlyPartsAreLost,
        ),
        _mutant("the dead have no keys", "Build blocks that are lost have no key.", control=_DeadHaveNothing),
        _mutant("preserved side", "A summary prunes the side that a join keeps.", control=_PreservedSide),
        _mutant("NULL has no partner", "A NULL-safe key is taken for plain.", control=_NullsHaveNoPartner),
        _mutant("late metadata is empty", "A table with late metadata has no blocks.", control=_LateIsEmpty),
        _mutant("double count after retry", "Each report of a block counts.", control=_CountsTwice),
        _mutant("lost block after a crash", "What a dead node had is forgotten.", control=_ForgetsTheLost),
        _mutant("lost block is empty", "What a dead node had is taken for read.", control=_LostAreEmpty),
        _mutant("nobody watches", "Neither silence nor a lease is noticed.", control=_NeverWatches),
        _mutant("rows later withdrawn", "LIMIT counts rows not delivered yet.", control=_RowsToBeWithdrawn),
        _mutant("LIMIT before the filter", "LIMIT counts the rows of metadata.", control=_LimitBeforeFilter),
        _mutant("cutoff below an OR", "Half of an OR is not asked.", control=_CutsBelowOr),
        _mutant("not asked is true", "What was not asked is taken for TRUE.", control=_TakesCutForTrue),
        _mutant(
            "ends before the metadata", "What is planned is done, so all is.", control=_EndsBeforeMetadata
        ),
        _mutant("pruned twice", "Blocks that go for two reasons count for both.", control=_CountsPrunedTwice),
        _mutant("deaf to cancel", "A node reads on for a query that is over.", node=_DeafToCancel),
        _mutant("empty if unreadable", "A block that cannot be read has no row.", node=_EmptyIfUnreadable),
        _mutant("left to nobody", "What was left to nodes is not asked there.", node=_LeftToNobody),
    )
}
