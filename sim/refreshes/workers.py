"""A refresh on its way: begun, computed by a warehouse, committed; it may die between any two."""

from collections.abc import Generator
from typing import Any

from simpy import Interrupt
from simpy.events import Event as Waiting

from dynamic_tables.actions import (
    AlreadyRefreshed,
    Plan,
    RefreshAction,
    RefreshFailed,
    Staged,
    ValidationFailed,
)
from dynamic_tables.events import Failed, Fault, Finished, Heartbeat, StartRefresh
from sim.refreshes import events as told
from sim.refreshes.cloud import Cloud, Waits
from sim.refreshes.faults import Phase
from sim.refreshes.recording import Refreshed

# After a commit, until a second one of the same refresh arrives at the latest.
AGAIN_US_MAX = 60_000_000


class _Died(Exception):
    """The worker of a refresh is gone."""


class Workers:
    """All refreshes; each runs on a node, in turn."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._count = 0

    def start(self, order: StartRefresh) -> None:
        """Refresh as ordered, on the next node; one that is down does nothing."""
        cloud = self.cloud
        self._count += 1
        node = self._count % len(cloud.clocks)
        if cloud.troubles.down(node, cloud.now_us):
            cloud.emit(self._died(order, "down"))
            return
        work = Work(self, order, node)
        process = cloud.env.process(work.run())
        cloud.running[node][process] = None
        process.callbacks.append(lambda _: cloud.running[node].pop(process, None))

    def _died(self, order: StartRefresh, phase: str) -> told.Died:
        table, data_us, attempt, _ = order
        return told.Died(at_us=self.cloud.now_us, table=table, data_us=data_us, attempt=attempt, phase=phase)


class Work:
    """One attempt at one refresh."""

    def __init__(self, workers: Workers, order: StartRefresh, node: int) -> None:
        self.workers = workers
        self.cloud = workers.cloud
        self.order = order
        self.node = node
        self.alive = True
        self.phase = "ordered"
        self._fates = self.cloud.draws.stream("fates")

    def run(self) -> Waits:
        """From the order to the message that it is done. Waits on the clock and a worker of the warehouse."""
        cloud, (table, data_us, _, _) = self.cloud, self.order
        late_us = cloud.troubles.late_us(cloud.name(table), cloud.now_us)
        if late_us:
            cloud.env.process(self._beat())
        try:
            yield from self._refresh(late_us)
        except AlreadyRefreshed:
            self._already()
            cloud.tell_later(Finished(table, data_us, True))
        except RefreshFailed as error:
            validation = error.validation if isinstance(error, ValidationFailed) else 0
            self._failed(error.fault, str(error), validation)
        except (_Died, Interrupt):
            cloud.emit(self.workers._died(self.order, self.phase))
            if cloud.setup.world.noticed_us:
                cloud.env.process(self._noticed())
        except Exception as error:  # what is wrong on purpose may raise anything: told, as in `asserting`
            cloud.emit(told.Broken(at_us=cloud.now_us, what=f"{type(error).__name__}: {error}"))
            self._failed(Fault.SYSTEM, "broken", 0)
        self.alive = False

    def _already(self) -> None:
        table, data_us, attempt, _ = self.order
        self.cloud.emit(
            told.CommittedAlready(at_us=self.cloud.now_us, table=table, data_us=data_us, attempt=attempt)
        )

    def _failed(self, fault: Fault, because: str, validation: int) -> None:
        table, data_us, attempt, _ = self.order
        self.cloud.emit(
            told.Failed(
                at_us=self.cloud.now_us, table=table, data_us=data_us, attempt=attempt,
                fault=fault.name.lower(), validation=validation, because=because,
            )
        )  # fmt: skip
        self.cloud.tell_later(Failed(table, data_us, attempt, fault))

    def _noticed(self) -> Waits:
        yield self.cloud.env.timeout(self.cloud.setup.world.noticed_us)
        table, data_us, attempt, _ = self.order
        self.cloud.tell_later(Failed(table, data_us, attempt, Fault.SYSTEM))

    def _beat(self) -> Waits:
        while self.alive:
            yield self.cloud.env.timeout(self.cloud.setup.world.heartbeat_us)
            if self.alive:
                self.cloud.tell_later(Heartbeat(*self.order[:3]))

    def _refresh(self, late_us: int) -> Waits:
        cloud, (table, data_us, attempt, _) = self.cloud, self.order
        world, name = cloud.setup.world, cloud.name(table)
        yield cloud.env.timeout(world.begin_us + late_us)
        plan = cloud.account.engine.begin(table, data_us, now_us=cloud.now_us)
        cloud.emit(
            told.Began(
                at_us=cloud.now_us, table=table, data_us=data_us, attempt=attempt, node=self.node,
                action=plan.action.value, cause=plan.cause.name.lower(), changed=plan.changed_count,
            )
        )  # fmt: skip
        self._may_die("begun")
        if plan.action is RefreshAction.NO_DATA:
            staged = cloud.account.engine.compute(plan)
        else:
            if not late_us:
                cloud.env.process(self._beat())  # nothing else takes long enough for a heartbeat
            staged = yield from self._compute(plan, name)
        self._may_die("computed")
        yield cloud.env.timeout(world.commit_us)
        self._commit(staged)
        if cloud.doubled("Commit"):
            cloud.env.process(self._commit_again(staged))
        self._may_die("committed")
        cloud.tell_later(Finished(table, data_us, plan.action is not RefreshAction.NO_DATA))

    def _may_die(self, phase: Phase) -> None:
        self.phase = phase
        percent = self.cloud.troubles.dies_percent(phase, self.cloud.now_us)
        if percent and self._fates.random() * 100 < percent:
            raise _Died

    def _compute(self, plan: Plan, name: str) -> Generator[Waiting, Any, Staged]:
        cloud, (table, data_us, attempt, _) = self.cloud, self.order
        entity = cloud.account.catalog.state.entities.get(table)
        # A table that was dropped meanwhile has none; then any is as good.
        warehouse = entity.warehouse if entity else next(iter(cloud.warehouses))
        model, workers = cloud.warehouses[warehouse]
        with workers.request() as turn:
            yield turn
            rows = plan.changed_count if plan.action is RefreshAction.INCREMENTAL else self._rows(plan)
            takes_us = (model.fixed_us + model.row_us * rows) * cloud.troubles.slowdown(name, cloud.now_us)
            cloud.emit(
                told.Computing(
                    at_us=cloud.now_us, table=table, data_us=data_us, attempt=attempt, warehouse=model.name,
                    takes_us=takes_us,
                )
            )  # fmt: skip
            yield cloud.env.timeout(takes_us)
            percent = cloud.troubles.failed_percent(name, cloud.now_us)
            if percent and self._fates.random() * 100 < percent:
                raise RefreshFailed(Fault.SYSTEM, "a fault of the warehouse")
            return cloud.account.engine.compute(plan)

    def _rows(self, plan: Plan) -> int:
        """How many rows the sources have that are read whole."""
        tables = self.cloud.account.tables
        return sum(len(tables[source].contents(tables[source].latest.number)) for source in plan.versions)

    def _commit(self, staged: Staged) -> None:
        """Commit, and keep what it made of the table."""
        cloud, plan = self.cloud, staged.plan
        table = cloud.account.tables[plan.table]
        before = table.frontier
        done = cloud.account.engine.commit(
            staged,
            clock=cloud.clocks[self.node],
            wall_us=cloud.wall_us(self.node),
            now_us=cloud.now_us,
        )
        frontier = table.frontier
        if not done or frontier is None:
            raise AlreadyRefreshed
        now = cloud.now_us
        cloud.emit(
            told.Committed(
                at_us=now, table=plan.table, data_us=plan.data_us, attempt=self.order.attempt,
                action=plan.action.value,
                inserted=sum(change.action.value == "INSERT" for change in staged.changes),
                deleted=sum(change.action.value == "DELETE" for change in staged.changes),
                peak_us=now - before.data_us if before else 0, trough_us=now - plan.data_us,
            )
        )  # fmt: skip
        if cloud.setup.checked:
            self._keep(plan)

    def _keep(self, plan: Plan) -> None:
        cloud = self.cloud
        table = cloud.account.tables[plan.table]
        frontier = table.frontier
        assert frontier is not None, "a refresh was committed"
        cloud.record.refreshed(
            Refreshed(
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

    def _commit_again(self, staged: Staged) -> Waits:
        """A commit that was delivered twice: it has to change nothing."""
        cloud = self.cloud
        yield cloud.env.timeout(self._fates.randint(1, AGAIN_US_MAX))
        with cloud.asserting():
            try:
                self._commit(staged)
            except (AlreadyRefreshed, RefreshFailed):
                self._already()
