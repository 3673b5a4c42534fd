"""The steps of a refresh: it begins, a warehouse computes it, it is committed; it may die between any two."""

import random
from collections.abc import Callable
from functools import partial

from simpy.events import Event as Waiting
from simpy.resources.resource import Request

from dynamic_tables.refreshes.actions import (
    AlreadyRefreshed,
    RefreshAction,
    RefreshFailed,
    RefreshPlan,
    StagedRefresh,
    ValidationFailed,
)
from dynamic_tables.scheduling.events import Failed, Fault, Finished, Heartbeat, StartRefresh
from sim.refreshes import events as trace_events
from sim.refreshes.cloud import Cloud, Waits
from sim.refreshes.faults import Phase
from sim.refreshes.model import RefreshWarehouse
from sim.refreshes.recording import CommittedRefresh

# The latest time after a commit at which a repeated delivery of it arrives.
REPEATED_US_MAX = 60_000_000


class _WorkerDied(Exception):
    """The worker of a refresh died."""


class Workers:
    """Start refreshes on the nodes in turn."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._count = 0

    def start(self, order: StartRefresh) -> None:
        """Start a refresh as ordered, on the next node; a node that is down does nothing."""
        cloud = self.cloud
        self._count += 1
        node = self._count % len(cloud.clocks)
        work = RefreshAttempt(cloud, order, node)
        if cloud.troubles.planned and cloud.troubles.is_down(node):
            work.emit_died("down")
        else:
            cloud.running[node][work] = None
            work.do(work.start)


class RefreshAttempt:
    """One attempt at one refresh: steps, each after a delay.

    It is no SimPy process, because millions of attempts are made and a process takes three more events. For
    the
    same reason it asks for faults only if any are planned, and enums for `_name_`, which is faster than
    `name`.

    """

    __slots__ = ("_late_us", "_turn", "cloud", "node", "order", "phase")

    def __init__(self, cloud: Cloud, order: StartRefresh, node: int) -> None:
        self.cloud = cloud
        self.order = order
        self.node = node
        self.phase = "ordered"
        self._late_us = 0
        self._turn: Request | None = None

    # From step to step

    def _then(self, delay_us: int, step: Callable[[int], None]) -> None:
        """Do the next step after a delay; without one no event is made."""
        if delay_us:
            self.cloud.env.after(delay_us, partial(self.do, step))
        else:
            step(self.cloud.env.now_us)

    def do(self, step: Callable[[int], None], _: Waiting | None = None) -> None:
        """Do one step, unless the attempt has ended."""
        cloud = self.cloud
        if self not in cloud.running[self.node]:
            return
        try:
            step(cloud.env.now_us)
        except AlreadyRefreshed:
            self._end()
            self._emit_already()
            cloud.tell_later(Finished(self.order.table, self.order.data_us, True))
        except RefreshFailed as error:
            self._end()
            validation = error.validation if isinstance(error, ValidationFailed) else 0
            self._report_failure(error.fault, str(error), validation)
        except _WorkerDied:
            self.crash()
        except (
            Exception
        ) as error:  # engines that are mutants may raise anything; the attempt must end all the same
            self._end()
            cloud.report_broken(error)
            self._report_failure(Fault.SYSTEM, "broken", 0)

    def _end(self) -> None:
        del self.cloud.running[self.node][self]
        self._give_back()

    def _give_back(self) -> None:
        """Release its worker of the warehouse, or its place in the queue for one."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn.resource.release(self._turn)
            self._turn = None

    def crash(self) -> None:
        """End the attempt because its worker died."""
        self._end()
        self.emit_died(self.phase)
        if self.cloud.setup.world.noticed_us:
            failed = Failed(*self.order[:3], Fault.SYSTEM)
            self.cloud.env.after(self.cloud.setup.world.noticed_us, partial(self.cloud.tell_later, failed))

    def emit_died(self, phase: str) -> None:
        """Record that its worker died."""
        table, data_us, attempt, _ = self.order
        died = trace_events.Died(
            at_us=self.cloud.now_us, table=table, data_us=data_us, attempt=attempt, phase=phase
        )
        self.cloud.emit(died)

    def _fate_stream(self) -> random.Random:
        return self.cloud.draws.stream("fates")

    def _may_die(self, phase: Phase) -> None:
        percent = self.cloud.troubles.dies_percent(phase)
        if percent and self._fate_stream().random() * 100 < percent:
            raise _WorkerDied

    def _name(self) -> str:
        return self.cloud.name(self.order.table)

    def _emit_already(self) -> None:
        table, data_us, attempt, _ = self.order
        self.cloud.emit(
            trace_events.CommittedAlready(
                at_us=self.cloud.now_us, table=table, data_us=data_us, attempt=attempt
            )
        )

    def _report_failure(self, fault: Fault, because: str, validation: int) -> None:
        table, data_us, attempt, _ = self.order
        self.cloud.emit(
            trace_events.Failed(
                at_us=self.cloud.now_us, table=table, data_us=data_us, attempt=attempt,
                fault=fault.name.lower(), validation=validation, because=because,
            )
        )  # fmt: skip
        self.cloud.tell_later(Failed(table, data_us, attempt, fault))

    def _beat(self) -> Waits:
        cloud = self.cloud
        while True:
            yield cloud.env.timeout(cloud.setup.world.heartbeat_us)
            if self not in cloud.running[self.node]:
                return
            cloud.tell_later(Heartbeat(*self.order[:3]))

    # The steps

    def start(self, _now_us: int) -> None:
        """Take the order and wait for the refresh to begin."""
        cloud = self.cloud
        if cloud.troubles.planned:
            self._late_us = cloud.troubles.late_us(self._name())
        if self._late_us:
            cloud.env.process(self._beat())
        self._then(cloud.setup.world.begin_us + self._late_us, self._begin)

    def _begin(self, now_us: int) -> None:
        cloud, (table, data_us, attempt, _) = self.cloud, self.order
        plan = cloud.account.engine.begin(table, data_us, now_us=now_us)
        cloud.emit(
            trace_events.Began(
                at_us=now_us, table=table, data_us=data_us, attempt=attempt, node=self.node,
                action=plan.action._value_, cause=plan.cause._name_.lower(), changed=plan.changed_count,
            )
        )  # fmt: skip
        self.phase = "begun"
        if cloud.troubles.planned:
            self._may_die("begun")
        if plan.action is RefreshAction.NO_DATA:
            self._stage(cloud.account.engine.compute(plan))
            return
        if not self._late_us:
            cloud.env.process(self._beat())  # nothing else takes long enough for a heartbeat
        entity = cloud.account.catalog.state.entities.get(table)
        # A table that was dropped meanwhile has no warehouse; then any will do.
        warehouse = entity.warehouse if entity else next(iter(cloud.warehouses))
        model, workers = cloud.warehouses[warehouse]
        self._turn = workers.request()
        assert self._turn.callbacks is not None, "it comes later"
        self._turn.callbacks.append(partial(self.do, partial(self._compute, plan, model)))

    def _compute(self, plan: RefreshPlan, model: RefreshWarehouse, now_us: int) -> None:
        cloud, (table, data_us, attempt, _) = self.cloud, self.order
        rows, row_us = plan.changed_count, model.row_us
        if plan.action is not RefreshAction.INCREMENTAL:
            rows, row_us = self._rows(plan), row_us if model.full_row_us is None else model.full_row_us
        slowdown = cloud.troubles.slowdown(self._name())
        takes_us = (model.fixed_us + row_us * rows) * slowdown
        cloud.emit(
            trace_events.Computing(
                at_us=now_us, table=table, data_us=data_us, attempt=attempt, warehouse=model.name,
                takes_us=takes_us,
            )
        )  # fmt: skip
        self._then(takes_us, partial(self._finish_computing, plan))

    def _rows(self, plan: RefreshPlan) -> int:
        """Return the number of rows of the sources, for a refresh that reads them whole."""
        tables = self.cloud.account.tables
        return sum(len(tables[source].contents(tables[source].latest.number)) for source in plan.versions)

    def _finish_computing(self, plan: RefreshPlan, now_us: int) -> None:
        cloud = self.cloud
        percent = cloud.troubles.failed_percent(self._name())
        if percent and self._fate_stream().random() * 100 < percent:
            raise RefreshFailed(Fault.SYSTEM, "a fault of the warehouse")
        staged = cloud.account.engine.compute(plan)
        self._give_back()
        self._stage(staged)

    def _stage(self, staged: StagedRefresh) -> None:
        self.phase = "computed"
        if self.cloud.troubles.planned:
            self._may_die("computed")
        self._then(self.cloud.setup.world.commit_us, partial(self._finish, staged))

    def _finish(self, staged: StagedRefresh, now_us: int) -> None:
        cloud, (table, data_us, _, _) = self.cloud, self.order
        self._commit(staged, now_us)
        self.phase = "committed"
        if cloud.troubles.planned:
            if cloud.messages.is_doubled("Commit"):
                cloud.env.process(self._commit_again(staged))
            self._may_die("committed")
        self._end()
        cloud.tell_later(Finished(table, data_us, staged.plan.action is not RefreshAction.NO_DATA))

    def _commit(self, staged: StagedRefresh, now_us: int) -> None:
        """Commit, and record the contents of the table."""
        cloud, plan = self.cloud, staged.plan
        table = cloud.account.tables[plan.table]
        before = table.frontier
        done = cloud.account.engine.commit(
            staged, clock=cloud.clocks[self.node], wall_us=cloud.clocks.wall_us(self.node), now_us=now_us
        )
        if not done:
            raise AlreadyRefreshed
        changes = staged.changes
        cloud.emit(
            trace_events.Committed(
                at_us=now_us, table=plan.table, data_us=plan.data_us, attempt=self.order.attempt,
                action=plan.action._value_, inserted=changes.inserted_count, deleted=changes.deleted_count,
                peak_us=now_us - before.data_us if before else 0, trough_us=now_us - plan.data_us,
            )
        )  # fmt: skip
        if cloud.setup.checked:
            self._record_contents(plan)

    def _commit_again(self, staged: StagedRefresh) -> Waits:
        """Deliver a commit a second time; this must change nothing."""
        cloud = self.cloud
        yield cloud.env.timeout(self._fate_stream().randint(1, REPEATED_US_MAX))
        with cloud.asserting:
            try:
                self._commit(staged, cloud.now_us)
            except (AlreadyRefreshed, RefreshFailed):
                self._emit_already()

    def _record_contents(self, plan: RefreshPlan) -> None:
        cloud = self.cloud
        table = cloud.account.tables[plan.table]
        frontier = table.frontier
        assert frontier is not None, "a refresh was committed"
        cloud.record.add_refresh(
            CommittedRefresh(
                at_us=cloud.now_us,
                table=plan.table,
                data_us=plan.data_us,
                committed=frontier.committed,
                version=table.latest.number,
                contents=dict(table.contents(table.latest.number)),
                versions=plan.versions,
                read_us={
                    source: cloud.record.read_us(source, consumed.number, plan.data_us)
                    for source, consumed in plan.versions.items()
                    if source not in cloud.record.bases
                },
                action=plan.action.value,
                cause=plan.cause.name.lower(),
            )
        )
