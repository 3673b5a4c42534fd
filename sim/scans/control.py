"""The control plane: it plans queries, gives blocks to nodes, and counts each reported block once.

It sees only messages and the clock, and never crashes; everything else may.

"""

from collections.abc import Mapping

import numpy as np

from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.boundary import Boundary
from sim.scans.dispatching import Dispatcher, Send
from sim.scans.events import (
    Accepted,
    BoundaryMoved,
    Ignored,
    Pruned,
    QueryBegan,
    QueryEnded,
    ScanPlanned,
    SummaryComplete,
    ranges,
)
from sim.scans.machines import MachineFactory
from sim.scans.messages import Cancel, Heartbeat, KnowBoundary, KnowSummary, Report, ToControl
from sim.scans.network import RunContext
from sim.scans.nodes import excluded_by
from sim.scans.placement import Queues, homes
from sim.scans.planning import PredicateCompiler, ScanPlan
from sim.scans.queries import Query
from sim.scans.reading import Waits
from sim.scans.running import RunningQuery
from sim.scans.scan_state import LimitGoal, OutstandingTask, ScanState, TopKGoal
from sim.scans.service import MetadataService
from sim.scans.tables import ScannedTable


class Control(MachineFactory):
    """The control plane of a run."""

    def __init__(self, context: RunContext, *, tables: Mapping[str, ScannedTable], send: Send) -> None:
        """Start a control plane without queries.

        Args:
            send: Send a message to a node: its number, the message, and its size in bytes.
        """
        super().__init__(context.world, tables)
        self._clock, self._emit, self._send = context.clock, context.emit, send
        self._service = MetadataService(context.world.metadata, context.troubles)
        self._dispatcher = Dispatcher(context, send=send, lost=self.handle_lost_task)
        self.running: dict[str, RunningQuery] = {}
        self.over: set[str] = set()
        self._clock.process(self.watch())

    @property
    def now(self) -> int:
        """The current time, in us."""
        return int(self._clock.now)

    @property
    def states(self) -> list[ScanState]:
        """The scan states of all queries that are not over."""
        return [state for running in self.running.values() for state in running.states]

    # One query.

    def run(self, query: Query) -> Waits:
        """Plan a query and let its blocks be read. Waits for its arrival, for metadata and for compiling."""
        yield self._clock.timeout(query.arrives_us)
        if query.name in self.over:
            return
        has_metadata, waits = self._service.availability(self.now)
        plans = self.plans(query, has_metadata=has_metadata)
        running = RunningQuery(
            query, [self._new_state(plan) for plan in plans], self.summary_builder(plans[0])
        )
        self.running[query.name] = running
        self._emit(
            QueryBegan(
                at_us=self.now,
                query=query.name,
                kind=query.kind.value,
                scans=tuple(plan.name for plan in plans),
            )
        )
        yield self._clock.timeout(waits)
        for state in running.states:
            if query.name in self.over:
                return
            yield from self._plan(running, state)

    def _new_state(self, plan: ScanPlan) -> ScanState:
        model = self.world.warehouse
        salt = sorted(self._tables).index(plan.table.name)
        home_nodes = homes(plan.blocks, model.nodes, salt, together=model.blocks_per_home)
        return self.scan_state(plan, Queues(home_nodes, model.nodes))

    def _plan(self, running: RunningQuery, state: ScanState) -> Waits:
        """Look at the metadata of a scan, chunk by chunk. Waits for the service and for compiling."""
        plan, model = state.plan, self.world.metadata
        at_once = plan.wanted is None and plan.top_k is None
        if not plan.has_metadata:
            plan.planned = plan.blocks
        elif at_once:
            self._open(running, state)
        compiler = self.compiler(plan)
        for start in range(plan.planned, plan.blocks, model.blocks_per_chunk):
            stop = min(start + model.blocks_per_chunk, plan.blocks)
            began = self.now
            yield self._clock.timeout(self._service.scan_us(plan, stop - start))
            if running.query.name in self.over:
                return
            yield self._clock.timeout(int(compiler.compile(start, stop)))
            if running.query.name in self.over:
                return
            plan.planned = stop
            self._finish_chunk(state, compiler, start, stop, began)
            if at_once:
                self._fill(state)
        self._service.keep_hot(plan)
        if plan.wanted is not None:
            state.goal = LimitGoal(plan, self.limit(plan, plan.wanted))
        if plan.top_k is not None:
            state.goal = TopKGoal(self.top_k(plan))
        if plan.build_side is not None:
            running.summary_builder.set_blocks(map(int, np.flatnonzero(~state.settled)))
        if not plan.has_metadata or not at_once:
            self._open(running, state)
        self._after(running, state, None)

    def _open(self, running: RunningQuery, state: ScanState) -> None:
        """Release the blocks to nodes; those of a probe scan once it has waited for the summary."""
        if state.plan.probe_side is None or running.summary is not None:
            state.waits = False
        elif state.waits:
            self._clock.process(self._wait_for_summary(running, state))

    def _wait_for_summary(self, running: RunningQuery, state: ScanState) -> Waits:
        yield self._clock.timeout(self.world.control.summary_wait_us)
        if running.query.name not in self.over:
            state.waits = False
            self._fill(state)

    def _finish_chunk(
        self, state: ScanState, compiler: PredicateCompiler, start: int, stop: int, began: int
    ) -> None:
        plan = state.plan
        gone = start + np.flatnonzero(plan.matches[start:stop] == 0)
        self._emit(
            ScanPlanned(
                at_us=self.now,
                scan=plan.name,
                blocks=stop - start,
                pruned=len(gone),
                unasked=int(plan.unasked[start:stop].sum()),
                cut=len(compiler.cut),
                took_us=self.now - began,
            )
        )
        self.settle(state, gone, "filter", "compile", None)

    # Messages from nodes.

    def receive(self, message: ToControl) -> None:
        """Handle a message from a node."""
        if not self._dispatcher.note_message(message.node, message.incarnation, self.states):
            # Results from before a crash are as true as new ones; but an old message does not prove that the
            # node lives.
            if isinstance(message, Report):
                self._report(message)
            return
        if isinstance(message, Report):
            self._report(message)
        else:
            self.hear(message)
        self._give_all()

    def _report(self, report: Report) -> None:
        plan = report.plan
        running = self.running.get(plan.query.name)
        if running is None:
            self._ignore(report, "the query is over")
            self._send(report.node, Cancel(query=plan.query.name), 0)
            return
        state = next(state for state in running.states if state.plan is plan)
        before = state.boundary
        self._dispatcher.release(state, report.task)
        for technique, blocks in report.pruned.items():
            self.settle(state, blocks, technique, "node", report.node)
            if state.plan.build_side is not None:
                running.summary_builder.add_empty(map(int, blocks))
        self._accept(running, state, report)
        if len(report.unread):
            state.requeue(report.unread)
        self._after(running, state, before)

    def _accept(self, running: RunningQuery, state: ScanState, report: Report) -> None:
        """Count the new results of a report; each block counts once, however often it is read."""
        fresh = [at for at, block in enumerate(report.read) if not self.is_counted(state, int(block))]
        if len(fresh) < len(report.read):
            self._ignore(report, "blocks that are settled")
        if not fresh:
            return
        for at in fresh:
            block, result = int(report.read[at]), report.results[at]
            state.accept(block, result)
            if result.part is not None:
                running.summary_builder.add_part(block, result.part)
        self._emit(
            Accepted(
                at_us=self.now,
                scan=state.plan.name,
                task=report.task,
                node=report.node,
                blocks=ranges(report.read[fresh]),
                rows=sum(report.results[at].row_count for at in fresh),
            )
        )

    def is_counted(self, state: ScanState, block: int) -> bool:
        """Tell whether a block is settled, so that its rows, if any, are already in the answer."""
        return bool(state.settled[block])

    def _ignore(self, report: Report, because: str) -> None:
        self._emit(
            Ignored(
                at_us=self.now, scan=report.plan.name, task=report.task, node=report.node, because=because
            )
        )

    def hear(self, heartbeat: Heartbeat) -> None:
        """Handle a heartbeat: repeat messages that the node seems not to have received."""
        for name in sorted(heartbeat.queries & self.over):
            self._send(heartbeat.node, Cancel(query=name), 0)
        for running in self.running.values():
            if running.summary is None or running.query.name not in heartbeat.queries:
                continue
            for state in running.states:
                if state.plan.probe_side is not None and state.plan.name not in heartbeat.summaries:
                    self._tell_summary(heartbeat.node, state, running.summary)

    def watch(self) -> Waits:
        """Look regularly for silent nodes and overdue tasks. Waits on the clock."""
        while True:
            yield self._clock.timeout(self.world.control.heartbeat_us)
            self._dispatcher.look(self.states)
            self._give_all()

    def handle_lost_task(self, state: ScanState, out: OutstandingTask) -> None:
        """Queue the blocks of a lost task again."""
        state.requeue(out.blocks)

    # Consequences of new information.

    def _after(self, running: RunningQuery, state: ScanState, before: Boundary | None) -> None:
        """Act on what was learnt of a scan; `before` is the boundary that it had before."""
        goal = state.goal
        self._announce_boundary(state, before, state.boundary)
        self.settle(state, goal.unneeded_blocks(), goal.technique, "control", None)
        self._summarise(running)
        self._fill(state)
        self.finish(running)

    def settle(
        self, state: ScanState, blocks: np.ndarray, technique: str, where: str, node: int | None
    ) -> None:
        """Settle blocks that need not be read."""
        fresh = state.settle(blocks, technique, where)
        if len(fresh):
            self._emit(
                Pruned(
                    at_us=self.now,
                    scan=state.plan.name,
                    technique=technique,
                    where=where,
                    node=node,
                    blocks=ranges(fresh),
                )
            )

    def _summarise(self, running: RunningQuery) -> None:
        """Send the summary to nodes once it is complete."""
        if running.summary is not None or not any(state.plan.build_side for state in running.states):
            return
        summary = running.summary_builder.merge()
        if summary is None:
            return
        running.summary = summary
        for state in running.states:
            plan = state.plan
            if plan.probe_side is None:
                continue
            self._emit(
                SummaryComplete(
                    at_us=self.now, scan=plan.name, rows=summary.row_count, bytes=summary.byte_count
                )
            )
            if plan.has_metadata:
                self.settle(state, np.flatnonzero(excluded_by(plan, summary)), "join", "control", None)
            for node in self._dispatcher.alive:
                self._tell_summary(node, state, summary)
            if state.waits and plan.planned:
                state.waits = False
                self._fill(state)

    def _tell_summary(self, node: int, state: ScanState, summary: JoinSummary) -> None:
        self._send(node, KnowSummary(plan=state.plan, summary=summary), summary.byte_count)

    def _announce_boundary(self, state: ScanState, before: Boundary | None, after: Boundary | None) -> None:
        """Send nodes a boundary that has moved."""
        ordered = state.plan.top_k
        if after is None or after == before or ordered is None:
            return
        self._emit(
            BoundaryMoved(
                at_us=self.now,
                scan=state.plan.name,
                node=None,
                incarnation=0,
                boundary=repr(after.value),
                held=after.held,
                looser=before is not None and ordered.order.is_worse(after.value, before.value),
            )
        )
        for node in sorted({out.node for out in state.out.values()}):
            self._send(node, KnowBoundary(plan=state.plan, boundary=after), 0)

    def _fill(self, state: ScanState) -> None:
        state.refill()
        self._dispatcher.give(state)

    def _give_all(self) -> None:
        for state in self.states:
            self._dispatcher.give(state)

    def finish(self, running: RunningQuery) -> None:
        """Answer the query if all its blocks are settled."""
        if running.is_done and running.query.name in self.running:
            self._end(running, cancelled=False)

    def cancel(self, query: Query) -> None:
        """End a query whose answer is no longer wanted."""
        if query.name in self.over:
            return
        running = self.running.get(query.name)
        if running is None:
            self.over.add(query.name)
            return
        self._end(running, cancelled=True)

    def _end(self, running: RunningQuery, *, cancelled: bool) -> None:
        query = running.query
        del self.running[query.name]
        self.over.add(query.name)
        for state in running.states:
            for number in list(state.out):
                self._dispatcher.release(state, number)
        answer = None if cancelled else running.answer()
        self._emit(
            QueryEnded(
                at_us=self.now,
                query=query.name,
                cancelled=cancelled,
                answer=answer,
                rows=sum(state.row_count for state in running.states) if answer is None else len(answer),
                total=sum(state.plan.blocks for state in running.states),
                read=sum(state.read for state in running.states),
                pruned=running.pruned_counts,
            )
        )
        for node in range(self.world.warehouse.nodes):
            self._send(node, Cancel(query=query.name), 0)
