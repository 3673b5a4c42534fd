"""Control planes and nodes that are wrong on purpose: a check that none of them fails is no check.

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
from sim.scans.gathering import Gathering
from sim.scans.messages import Found, Heartbeat
from sim.scans.model import Keeping
from sim.scans.nodes import Node, Scanning
from sim.scans.placement import Queues
from sim.scans.planning import Compiler, Ordered, ScanPlan, Ticks, probed_side, start_of
from sim.scans.queries import Query
from sim.scans.reading import Reader, Waits
from sim.scans.run import Cast
from sim.scans.scan_state import Board, Out


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something wrong, and who plays it."""

    name: str
    what: str
    cast: Cast


class _OffByATie(Control):
    def top_k(self, plan: ScanPlan) -> TopK:
        machine, start = super().top_k(plan), start_of(plan)
        if start is not None:
            machine.learn(replace(start, held=True))
        return machine


class _LastToldBoundary(Node):
    def learn(self, plan: ScanPlan, boundary: Boundary) -> None:
        known = self.scanning(plan)
        assert known.top_k is not None
        assert plan.ordered is not None
        before, known.top_k = known.top_k.boundary, self.top_k(plan, plan.ordered)
        known.top_k.learn(boundary)
        self.moved(plan, before, known.top_k.boundary)


class _ShareOfK(Node):
    def top_k(self, plan: ScanPlan, ordered: Ordered) -> TopK:
        share = -(-ordered.wanted // self.world.warehouse.nodes)
        return super().top_k(plan, replace(ordered, wanted=share))


class _TiesWithItsOwn(Node):
    def keeps_ties(self, ordered: Ordered) -> bool:
        return ordered.ties_matter


class _OtherOrder(Node):
    def top_k(self, plan: ScanPlan, ordered: Ordered) -> TopK:
        order = replace(ordered.order, nulls_first=not ordered.order.nulls_first)
        return super().top_k(plan, replace(ordered, order=order))


class _SeenBefore(Node):
    def reaching(self, top_k: TopK) -> np.ndarray:
        mask = np.zeros_like(top_k.reaching)
        mask[top_k.needed] = True
        return mask


class _BoundaryOfAnotherQuery(Node):
    def scanning(self, plan: ScanPlan) -> Scanning:
        alike = replace(plan.query, name="any")
        return super().scanning(replace(plan, name=_spelled(plan), query=alike))


def _spelled(plan: ScanPlan) -> str:
    """What a scan is called where nobody thinks of its predicate."""
    ordered = plan.ordered
    return plan.name if ordered is None else f"{plan.table.name} {ordered.key} {ordered.order}"


class _WhatIsThere(Gathering):
    def merged(self) -> JoinSummary | None:
        if self.parts is None or not self.parts.reported:
            return None
        known = dict(enumerate(self.parts.reported.values()))
        return SummaryParts(len(known), known).merge()


class _BeforeComplete(Control):
    def gathering(self, plan: ScanPlan) -> Gathering:
        return _WhatIsThere(plan, self.world.control.summary_bytes_max)


class _DropsEarly(Gathering):
    def found(self, block: int, part: JoinSummary) -> None:
        if self.parts is not None:
            super().found(block, part)


class _EarlyPartsAreLost(Control):
    def gathering(self, plan: ScanPlan) -> Gathering:
        return _DropsEarly(plan, self.world.control.summary_bytes_max)


class _DeadHaveNothing(Control):
    def lost(self, board: Board, out: Out) -> None:
        if board.plan.built is not None:
            self.running[board.plan.query.name].gathering.spared(map(int, out.blocks))
        super().lost(board, out)


class _PreservedSide(Control):
    def plans(self, query: Query, *, known: bool) -> list[ScanPlan]:
        plans = super().plans(query, known=known)
        if query.join is not None:
            build, probe = plans
            build.built, probe.probed = probed_side(query, build, probe)
        return plans


class _NullsHaveNoPartner(Control):
    def plans(self, query: Query, *, known: bool) -> list[ScanPlan]:
        plans = super().plans(query, known=known)
        for plan in plans:
            if plan.built is not None:
                plan.built = replace(plan.built, null_safe=False)
            if plan.probed is not None:
                plan.probed = replace(plan.probed, null_safe=False)
        return plans


class _LateIsEmpty(Control):
    def board(self, plan: ScanPlan, queues: Queues) -> Board:
        board = super().board(plan, queues)
        if not plan.known and self.world.metadata.keeping is Keeping.COLUMNAR:
            self.settle(board, np.arange(plan.blocks), "filter", "compile", None)
        return board


class _CountsTwice(Control):
    def counted(self, board: Board, block: int) -> bool:
        return False


class _ForgetsTheLost(Control):
    def lost(self, board: Board, out: Out) -> None:
        return


class _LostAreEmpty(Control):
    def lost(self, board: Board, out: Out) -> None:
        for block in map(int, out.blocks):
            if not board.settled[block]:
                board.accept(block, Found(rows=(), row_count=0))


class _NeverWatches(Control):
    def watch(self) -> Waits:
        yield self._clock.timeout(0)


class _RowsToBeWithdrawn(Control):
    def hear(self, heartbeat: Heartbeat) -> None:
        super().hear(heartbeat)
        self._seen = {**getattr(self, "_seen", {}), heartbeat.node: heartbeat.rows_seen}
        for running in list(self.running.values()):
            for board in running.boards:
                seen = sum(rows.get(board.plan.name, 0) for rows in self._seen.values())
                if board.plan.wanted is not None and seen >= board.plan.wanted and board.plan.planned:
                    self.settle(board, np.arange(board.plan.blocks), "limit", "control", None)
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


class _CutBelowOr(Compiler):
    def classified(self, predicate: Expression, metadata: pa.Table, clock: Ticks) -> Classification:
        return super().classified(_without_disjuncts(predicate), metadata, clock)


def _without_disjuncts(predicate: Expression) -> Expression:
    match predicate:
        case Or(operands):
            return _without_disjuncts(operands[0])
        case And(operands):
            return And(tuple(map(_without_disjuncts, operands)))
        case _:
            return predicate


class _CutsBelowOr(Control):
    def compiler(self, plan: ScanPlan) -> Compiler:
        return _CutBelowOr(plan, self.world.control)


class _CutIsTrue(Compiler):
    def compile(self, start: int, stop: int) -> float:
        took = super().compile(start, stop)
        unasked = self.plan.unasked[start:stop] & (self.plan.matches[start:stop] == Match.SOME)
        self.plan.matches[start:stop][unasked] = Match.ALL
        return took


class _TakesCutForTrue(Control):
    def compiler(self, plan: ScanPlan) -> Compiler:
        return _CutIsTrue(plan, self.world.control)


class _EndsEarly(Board):
    @property
    def done(self) -> bool:
        return bool(self.settled[: self.plan.planned].all()) and self.plan.planned > 0


class _EndsBeforeMetadata(Control):
    def board(self, plan: ScanPlan, queues: Queues) -> Board:
        return _EndsEarly(plan, queues)


class _PrunedTwice(Board):
    def settle(self, blocks: np.ndarray, technique: str, where: str) -> np.ndarray:
        fresh = super().settle(blocks, technique, where)
        self.pruned[technique, where] += len(blocks) - len(fresh)
        return fresh


class _CountsPrunedTwice(Control):
    def board(self, plan: ScanPlan, queues: Queues) -> Board:
        return _PrunedTwice(plan, queues)


class _DeafToCancel(Node):
    def is_over(self, plan: ScanPlan) -> bool:
        return False


class _TakesAnything(Reader):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.unreadable: set[tuple[str, int]] = set()

    def tries(self, plan: ScanPlan, blocks: np.ndarray) -> tuple[int, int, bool]:
        requests, waited, given = super().tries(plan, blocks)
        if not given:
            self.unreadable.update((plan.name, block) for block in blocks.tolist())
        return requests, waited, True


class _EmptyIfUnreadable(Node):
    def reader(self) -> Reader:
        return _TakesAnything(
            self.number, self._clock, self.world, self._troubles, self._draws, self._turns, self._emit
        )

    def found(self, plan: ScanPlan, block: int) -> Found:
        assert isinstance(self._reader, _TakesAnything)
        found = super().found(plan, block)
        bad = (plan.name, block) in self._reader.unreadable
        return replace(found, rows=(), row_count=0, keys=()) if bad else found


class _LeftToNobody(Node):
    def found(self, plan: ScanPlan, block: int) -> Found:
        found = super().found(plan, block)
        if not plan.unasked[block] or not plan.known:
            return found
        rows = plan.table.blocks[block]  # type: ignore[attr-defined]
        return replace(found, rows=rows, row_count=len(rows))


def _play(name: str, what: str, **cast: Callable[..., Any]) -> Flaw:
    return Flaw(name=name, what=what, cast=Cast(**cast))


FLAWS: Mapping[str, Flaw] = {
    flaw.name: flaw
    for flaw in (
        _play("boundary off by a tie", "A boundary of metadata alone is taken for held.", control=_OffByATie),
        _play("boundary merged the wrong way", "Of two boundaries the later stands.", node=_LastToldBoundary),
        _play("boundary of a share", "Each node looks for its share of k rows.", node=_ShareOfK),
        _play(
            "ties with its own", "A node skips what ties with rows that it may lose.", node=_TiesWithItsOwn
        ),
        _play("boundary in another order", "Nodes place NULL at the other end.", node=_OtherOrder),
        _play("boundary of another query", "Nodes know boundaries by table.", node=_BoundaryOfAnotherQuery),
        _play("seen before", "A node skips what it has read, though its report was lost.", node=_SeenBefore),
        _play("summary before complete", "Parts that are there are the summary.", control=_BeforeComplete),
        _play(
            "early parts are lost",
            "Blocks read before all metadata have no key.",
            control=_EarlyPartsAreLost,
        ),
        _play("the dead have no keys", "Build blocks that are lost have no key.", control=_DeadHaveNothing),
        _play("preserved side", "A summary prunes the side that a join keeps.", control=_PreservedSide),
        _play("NULL has no partner", "A NULL-safe key is taken for plain.", control=_NullsHaveNoPartner),
        _play("late metadata is empty", "A table with late metadata has no blocks.", control=_LateIsEmpty),
        _play("double count after retry", "Each report of a block counts.", control=_CountsTwice),
        _play("lost block after a crash", "What a dead node had is forgotten.", control=_ForgetsTheLost),
        _play("lost block is empty", "What a dead node had is taken for read.", control=_LostAreEmpty),
        _play("nobody watches", "Neither silence nor a lease is noticed.", control=_NeverWatches),
        _play("rows later withdrawn", "LIMIT counts rows not delivered yet.", control=_RowsToBeWithdrawn),
        _play("LIMIT before the filter", "LIMIT counts the rows of metadata.", control=_LimitBeforeFilter),
        _play("cutoff below an OR", "Half of an OR is not asked.", control=_CutsBelowOr),
        _play("not asked is true", "What was not asked is taken for TRUE.", control=_TakesCutForTrue),
        _play("ends before the metadata", "What is planned is done, so all is.", control=_EndsBeforeMetadata),
        _play("pruned twice", "Blocks that go for two reasons count for both.", control=_CountsPrunedTwice),
        _play("deaf to cancel", "A node reads on for a query that is over.", node=_DeafToCancel),
        _play("empty if unreadable", "A block that cannot be read has no row.", node=_EmptyIfUnreadable),
        _play("left to nobody", "What was left to nodes is not asked there.", node=_LeftToNobody),
    )
}
