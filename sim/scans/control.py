"""The control plane: plans queries, gives blocks to nodes, and takes what they report, each block once.

It is told what arrives and what time it is, and never crashes; all else may.
"""

from collections.abc import Mapping

import numpy as np

from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.boundary import Boundary
from sim.kernel.draws import Clock
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
from sim.scans.faults import Troubles
from sim.scans.machines import Machines
from sim.scans.messages import Cancel, Heartbeat, KnowBoundary, KnowSummary, Report, ToControl
from sim.scans.model import World
from sim.scans.network import Emit
from sim.scans.nodes import excluded_by
from sim.scans.placement import Queues, homes
from sim.scans.planning import Compiler, ScanPlan
from sim.scans.queries import Query
from sim.scans.reading import Waits
from sim.scans.running import Running
from sim.scans.scan_state import Board, Enough, First, Out
from sim.scans.service import MetadataService
from sim.scans.tables import Table


class Control(Machines):
    """The control plane of a run."""

    def __init__(
        self,
        clock: Clock,
        world: World,
        troubles: Troubles,
        tables: Mapping[str, Table],
        emit: Emit,
        send: Send,
    ) -> None:
        """One that runs no query.

        Args:
            send: Takes a message to a node: its number, the message, and its size in bytes.
        """
        super().__init__(world, tables)
        self._clock = clock
        self._emit, self._send = emit, send
        self._service = MetadataService(world.metadata, troubles)
        self._dispatcher = Dispatcher(clock, world, emit, send, self.lost)
        self.running: dict[str, Running] = {}
        self.over: set[str] = set()
        clock.process(self.watch())

    @property
    def now(self) -> int:
        """The time, in us."""
        return int(self._clock.now)

    @property
    def boards(self) -> list[Board]:
        """Those of all queries that are not over."""
        return [board for running in self.running.values() for board in running.boards]

    # One query.

    def run(self, query: Query) -> Waits:
        """Plan a query and let its blocks be read. Waits until it arrives, and on metadata and compiling."""
        yield self._clock.timeout(query.arrives_us)
        if query.name in self.over:
            return
        known, waits = self._service.answers(self.now)
        plans = self.plans(query, known=known)
        running = Running(query, [self._board(plan) for plan in plans], self.gathering(plans[0]))
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
        for board in running.boards:
            if query.name in self.over:
                return
            yield from self._plan(running, board)

    def _board(self, plan: ScanPlan) -> Board:
        model = self.world.warehouse
        salt = sorted(self._tables).index(plan.table.name)
        found = homes(plan.blocks, model.nodes, salt, together=model.blocks_per_home)
        return self.board(plan, Queues(found, model.nodes))

    def _plan(self, running: Running, board: Board) -> Waits:
        """Look at the metadata of a scan, chunk by chunk. Waits on the service, and on compiling."""
        plan, model = board.plan, self.world.metadata
        at_once = plan.wanted is None and plan.ordered is None
        if not plan.known:
            plan.planned = plan.blocks
        elif at_once:
            self._open(running, board)
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
            self._planned(board, compiler, start, stop, began)
            if at_once:
                self._fill(board)
        self._service.scanned(plan)
        if plan.wanted is not None:
            board.goal = Enough(plan, self.limit(plan, plan.wanted))
        if plan.ordered is not None:
            board.goal = First(self.top_k(plan))
        if plan.built is not None:
            running.gathering.count(map(int, np.flatnonzero(~board.settled)))
        if not plan.known or not at_once:
            self._open(running, board)
        self._after(running, board, None)

    def _open(self, running: Running, board: Board) -> None:
        """Let nodes have the blocks, of a probe scan once it has waited for the summary."""
        if board.plan.probed is None or running.summary is not None:
            board.waits = False
        elif board.waits:
            self._clock.process(self._wait_for_summary(running, board))

    def _wait_for_summary(self, running: Running, board: Board) -> Waits:
        yield self._clock.timeout(self.world.control.summary_wait_us)
        if running.query.name not in self.over:
            board.waits = False
            self._fill(board)

    def _planned(self, board: Board, compiler: Compiler, start: int, stop: int, began: int) -> None:
        plan = board.plan
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
        self.settle(board, gone, "filter", "compile", None)

    # What nodes tell.

    def receive(self, message: ToControl) -> None:
        """A node tells something."""
        if not self._dispatcher.heard(message.node, message.incarnation, self.boards):
            # What a node found before it crashed is as true as what it finds now; that it lives is not.
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
        board = next(board for board in running.boards if board.plan is plan)
        before = board.boundary
        self._dispatcher.returned(board, report.task)
        for technique, blocks in report.pruned.items():
            self.settle(board, blocks, technique, "node", report.node)
            if board.plan.built is not None:
                running.gathering.spared(map(int, blocks))
        self._accept(running, board, report)
        if len(report.unread):
            board.again(report.unread)
        self._after(running, board, before)

    def _accept(self, running: Running, board: Board, report: Report) -> None:
        """Take what is new in a report; each block counts once, whoever reads it how often."""
        fresh = [at for at, block in enumerate(report.read) if not self.counted(board, int(block))]
        if len(fresh) < len(report.read):
            self._ignore(report, "blocks that are settled")
        if not fresh:
            return
        for at in fresh:
            block, found = int(report.read[at]), report.found[at]
            board.accept(block, found)
            if found.part is not None:
                running.gathering.found(block, found.part)
        self._emit(
            Accepted(
                at_us=self.now,
                scan=board.plan.name,
                task=report.task,
                node=report.node,
                blocks=ranges(report.read[fresh]),
                rows=sum(report.found[at].row_count for at in fresh),
            )
        )

    def counted(self, board: Board, block: int) -> bool:
        """Whether a block is settled, so that its rows, if it has any, are in the answer already."""
        return bool(board.settled[block])

    def _ignore(self, report: Report, because: str) -> None:
        self._emit(
            Ignored(
                at_us=self.now, scan=report.plan.name, task=report.task, node=report.node, because=because
            )
        )

    def hear(self, heartbeat: Heartbeat) -> None:
        """A node lives; what it seems not to have been told it is told again."""
        for name in sorted(heartbeat.queries & self.over):
            self._send(heartbeat.node, Cancel(query=name), 0)
        for running in self.running.values():
            if running.summary is None or running.query.name not in heartbeat.queries:
                continue
            for board in running.boards:
                if board.plan.probed is not None and board.plan.name not in heartbeat.summaries:
                    self._tell_summary(heartbeat.node, board, running.summary)

    def watch(self) -> Waits:
        """Look now and then for what is not heard of. Waits on the clock."""
        while True:
            yield self._clock.timeout(self.world.control.heartbeat_us)
            self._dispatcher.look(self.boards)
            self._give_all()

    def lost(self, board: Board, out: Out) -> None:
        """A task is lost: its blocks are given again."""
        board.again(out.blocks)

    # What follows from it.

    def _after(self, running: Running, board: Board, before: Boundary | None) -> None:
        """Something was learnt of a scan, whose boundary was another before it."""
        goal = board.goal
        self._moved(board, before, board.boundary)
        self.settle(board, goal.unneeded(), goal.technique, "control", None)
        self._summarise(running)
        self._fill(board)
        self.finish(running)

    def settle(self, board: Board, blocks: np.ndarray, technique: str, where: str, node: int | None) -> None:
        """Blocks need not be read."""
        fresh = board.settle(blocks, technique, where)
        if len(fresh):
            self._emit(
                Pruned(
                    at_us=self.now,
                    scan=board.plan.name,
                    technique=technique,
                    where=where,
                    node=node,
                    blocks=ranges(fresh),
                )
            )

    def _summarise(self, running: Running) -> None:
        """Tell the summary once it is whole."""
        if running.summary is not None or not any(board.plan.built for board in running.boards):
            return
        summary = running.gathering.merged()
        if summary is None:
            return
        running.summary = summary
        for board in running.boards:
            plan = board.plan
            if plan.probed is None:
                continue
            self._emit(
                SummaryComplete(
                    at_us=self.now, scan=plan.name, rows=summary.row_count, bytes=summary.byte_count
                )
            )
            if plan.known:
                self.settle(board, np.flatnonzero(excluded_by(plan, summary)), "join", "control", None)
            for node in self._dispatcher.alive:
                self._tell_summary(node, board, summary)
            if board.waits and plan.planned:
                board.waits = False
                self._fill(board)

    def _tell_summary(self, node: int, board: Board, summary: JoinSummary) -> None:
        self._send(node, KnowSummary(plan=board.plan, summary=summary), summary.byte_count)

    def _moved(self, board: Board, before: Boundary | None, after: Boundary | None) -> None:
        """Tell nodes of a boundary that has moved."""
        ordered = board.plan.ordered
        if after is None or after == before or ordered is None:
            return
        self._emit(
            BoundaryMoved(
                at_us=self.now,
                scan=board.plan.name,
                node=None,
                incarnation=0,
                boundary=repr(after.value),
                held=after.held,
                looser=before is not None and ordered.order.is_worse(after.value, before.value),
            )
        )
        for node in sorted({out.node for out in board.out.values()}):
            self._send(node, KnowBoundary(plan=board.plan, boundary=after), 0)

    def _fill(self, board: Board) -> None:
        board.refill()
        self._dispatcher.give(board)

    def _give_all(self) -> None:
        for board in self.boards:
            self._dispatcher.give(board)

    def finish(self, running: Running) -> None:
        """Answer the query if each block of it is settled."""
        if running.done and running.query.name in self.running:
            self._end(running, cancelled=False)

    def cancel(self, query: Query) -> None:
        """Nobody wants the answer any more."""
        if query.name in self.over:
            return
        running = self.running.get(query.name)
        if running is None:
            self.over.add(query.name)
            return
        self._end(running, cancelled=True)

    def _end(self, running: Running, *, cancelled: bool) -> None:
        query = running.query
        del self.running[query.name]
        self.over.add(query.name)
        for board in running.boards:
            for number in list(board.out):
                self._dispatcher.returned(board, number)
        answer = None if cancelled else running.answer()
        self._emit(
            QueryEnded(
                at_us=self.now,
                query=query.name,
                cancelled=cancelled,
                answer=answer,
                rows=sum(board.row_count for board in running.boards) if answer is None else len(answer),
                total=sum(board.plan.blocks for board in running.boards),
                read=sum(board.read for board in running.boards),
                pruned=running.pruned,
            )
        )
        for node in range(self.world.warehouse.nodes):
            self._send(node, Cancel(query=query.name), 0)
