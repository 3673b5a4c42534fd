"""The driver: runs the scheduler on the wall clock, and the refreshes that it orders in threads.

Begin and commit of refreshes are in the thread of the scheduler; other threads only compute and write files.
A commit is in one transaction with the check of the lease: a driver that was paused cannot commit after
another one took over. What a driver leaves when it is killed are files that belong to no version.
"""

import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.entities import SYSTEM
from dynamic_tables.refreshes.actions import (
    AlreadyRefreshed,
    RefreshAction,
    RefreshFailed,
    RefreshPlan,
    StagedRefresh,
)
from dynamic_tables.scheduling import events as scheduling
from dynamic_tables.scheduling.events import Command, Event, Fault, StartRefresh
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.stores.version_logs import VersionExists
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.leases import Lease, LeaseLost
from pruning.errors import InputError

LEASE_US = 30_000_000
HEARTBEAT_US = 5_000_000
POLL_SECONDS = 0.2
WORKERS = 2


class Outcome(NamedTuple):
    """The end of one attempt's computation: what it staged, or the failure."""

    order: StartRefresh
    staged: StagedRefresh | None
    failure: RefreshFailed | AlreadyRefreshed | None


class Driver:
    """The driver of one process.

    Args:
        account: The account of this process, which no other thread uses meanwhile.
        workers: The most refreshes of one [D] warehouse that are computed at a time.
        lease_us: The time after which another driver may take over from one that does not answer.
        poll_seconds: The time after which other processes' statements and requests are looked for again.
        scheduler: Makes a scheduler; a mutant passes another.
    """

    def __init__(
        self,
        account: WarehouseAccount,
        *,
        workers: int = WORKERS,
        lease_us: int = LEASE_US,
        poll_seconds: float = POLL_SECONDS,
        scheduler: Callable[[], Scheduler] = Scheduler,
    ) -> None:
        self.account = account
        self.workers = workers
        self.now_us = account.now_us
        self.poll_seconds = poll_seconds
        self.new_scheduler = scheduler
        self.scheduler = scheduler()
        self.lease = Lease(account.database, lease_us)
        self.pools: dict[str, ThreadPoolExecutor] = {}
        self.outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self.running: dict[tuple[TableId, int, int], StartRefresh] = {}
        self.timer_us: int | None = None
        self.beaten_us = 0
        self.stopped = threading.Event()

    # The loop

    def wait_for_lease(self, finished: Callable[[], bool]) -> bool:
        """Wait until this driver has the lease; return False if it was stopped before."""
        while not self.stopped.is_set() and not finished():
            if self.lease.take(self.now_us()):
                return True
            self.stopped.wait(self.poll_seconds)
        return False

    def run(self, finished: Callable[[], bool] = lambda: False) -> None:
        """Wait for the lease, and drive the warehouse until it is stopped or `finished` says so.

        A driver that lost its lease, because it did not answer for a while, waits for it again.

        Raises:
            InputError: Spark has ended: another process can take over at once.
        """
        while self.wait_for_lease(finished):
            try:
                self.drive(finished, anew=True)
                return
            except LeaseLost:
                self.log_driver("lost its lease")

    def drive(self, finished: Callable[[], bool], *, anew: bool) -> None:
        """Drive the warehouse, with the lease, until it is stopped or `finished` says so and nothing runs.

        Args:
            finished: Called before each turn.
            anew: True: refresh what was due since the last driver ended; False: only what is due from now on.

        Raises:
            LeaseLost: Another driver took over.
            InputError: Spark has ended.
        """
        self.log_driver("began")
        try:
            self.scheduler = self.new_scheduler()
            self.timer_us = None
            with self.account.database.transaction():
                self.account.catch_up()
                self.account.repair()
                self.account.take_changes()
                first = self.account.initial_event()
            updates = tuple(map(self.with_learnt, first.tables))
            for update in updates:
                self.account.publish(update.node.table)
            self.handle([first._replace(tables=updates, anew=anew)])
            while not self.stopped.is_set() and (self.running or not finished()):
                self.turn()
            self.log_driver("ended")
        finally:
            for pool in self.pools.values():
                pool.shutdown(wait=True, cancel_futures=True)
            self.pools.clear()
            self.running.clear()
            self.lease.release()

    def stop(self) -> None:
        """Make the loop end; refreshes that are running are not committed."""
        self.stopped.set()

    def turn(self) -> None:
        """Handle what happened since the last turn, and wait a moment for an outcome."""
        now_us = self.now_us()
        if now_us - self.beaten_us >= min(HEARTBEAT_US, self.lease.length_us // 3):
            self.beaten_us = now_us
            self.lease.renew(now_us)
            self.handle(scheduling.Heartbeat(*order[:3]) for order in list(self.running.values()))
        self.account.catch_up()
        self.handle(self.account.take_changes())
        self.handle(self.take_requests())
        if self.timer_us is not None and now_us >= self.timer_us:
            self.handle([scheduling.Tick()])
        try:
            self.finish(self.outcomes.get(timeout=self.poll_seconds))
        except queue.Empty:
            return

    def take_requests(self) -> list[Event]:
        """Return the events of manual refreshes that processes request, and mark these with the lease.

        The process that requests one removes it when it is done; until then, the next driver takes it again.
        """
        database, token = self.account.database, self.lease.token
        query = "SELECT identity, asked_us FROM requests WHERE token != ? ORDER BY number"
        if not database.rows(f"{query} LIMIT 1", token):
            return []
        with self.commit_transaction():
            requests = database.rows(query, token)
            database.run("UPDATE requests SET token = ?", token)
        return [scheduling.ManualRefresh(identity, asked_us) for identity, asked_us in requests]

    def handle(self, events: Iterable[Event]) -> None:
        """Give events to the scheduler, and carry out what it commands.

        Refreshes without changed sources are committed at once, all in one transaction.
        """
        commands: deque[Command] = deque()
        plans: list[tuple[StartRefresh, RefreshPlan]] = []
        for event in events:
            commands += self.scheduler.step(self.now_us(), event)
        while commands and isinstance(commands[0], scheduling.Timer):
            self.carry_out(commands.popleft(), plans)
        if not commands:
            return
        for data_us in {command.data_us for command in commands if isinstance(command, StartRefresh)}:
            self.account.resolve(data_us)
        with self.commit_transaction():
            while commands:
                for event in self.carry_out(commands.popleft(), plans):
                    commands += self.scheduler.step(self.now_us(), event)
                    if isinstance(event, scheduling.Failed):
                        self.learn(event.table)
        for order, plan in plans:
            self.submit(order, plan)

    @contextmanager
    def commit_transaction(self) -> Iterator[None]:
        """Open a transaction in which this driver may commit.

        Raises:
            LeaseLost: Another driver took over.
        """
        with self.account.database.transaction():
            self.lease.check()
            yield

    # Commands

    def carry_out(self, command: Command, plans: list[tuple[StartRefresh, RefreshPlan]]) -> list[Event]:
        """Carry out a command; return the events that follow, and add refreshes to compute to `plans`."""
        match command:
            case StartRefresh():
                return self.begin(command, plans)
            case scheduling.Timer(at_us):
                self.timer_us = at_us
            case scheduling.SuspendTable(identity, because):
                return self.alter(identity, lambda name: ddl.Suspend(name, because))
            case scheduling.ResumeTable(identity):
                return self.alter(identity, ddl.Resume)
            case scheduling.Skip(identity, data_us, reason) | scheduling.Fail(identity, data_us, _, reason):
                self.log(identity, EventKind.SKIPPED, data_us=data_us, reason=reason.value)
            case scheduling.Flag(identity, data_us, silent_us):
                self.log(identity, EventKind.SILENT, data_us=data_us, silent_us=silent_us)
        return []

    def alter(self, identity: TableId, statement: Callable[[str], ddl.Statement]) -> list[Event]:
        """Write to the catalog what the scheduler decided of a table."""
        entity = self.account.catalog.state.entities.get(identity)
        if entity is None:
            return []
        self.account.run(statement(entity.name), SYSTEM)
        return list(self.account.take_changes())

    def begin(self, order: StartRefresh, plans: list[tuple[StartRefresh, RefreshPlan]]) -> list[Event]:
        """Begin a refresh; one that changes nothing is committed."""
        try:
            plan = self.account.begin(order.table, order.data_us)
            if plan.action is not RefreshAction.NO_DATA:
                plans.append((order, plan))
                return []
            self.account.commit(self.account.engine.compute(plan))
        except AlreadyRefreshed:
            return [scheduling.Finished(order.table, order.data_us, True)]
        except RefreshFailed as failure:
            return [self.report_failure(order, failure)]
        except (InputError, OSError) as error:  # of the files of this table or its sources
            return [self.report_failure(order, RefreshFailed(Fault.SYSTEM, str(error)))]
        return [scheduling.Finished(order.table, order.data_us, False)]

    def report_failure(self, order: StartRefresh, failure: RefreshFailed) -> Event:
        """Write a failure to the log of events, and return the event for the scheduler."""
        self.log(
            order.table,
            EventKind.FAILED,
            data_us=order.data_us,
            attempt=order.attempt,
            fault=failure.fault.name,
            message=str(failure),
        )
        return scheduling.Failed(order.table, order.data_us, order.attempt, failure.fault)

    # Computing

    def submit(self, order: StartRefresh, plan: RefreshPlan) -> None:
        """Compute a refresh in a thread of the table's [D] warehouse, or let it wait for one."""
        entity = self.account.catalog.state.entities.get(order.table)
        warehouse = "" if entity is None else entity.warehouse
        if warehouse not in self.pools:
            self.pools[warehouse] = ThreadPoolExecutor(
                self.workers, thread_name_prefix=f"warehouse {warehouse}"
            )
        self.running[order.table, order.data_us, order.attempt] = order
        self.pools[warehouse].submit(self.compute, order, plan)

    def compute(self, order: StartRefresh, plan: RefreshPlan) -> None:
        """Compute a refresh and write its files; this runs in a thread."""
        try:
            self.outcomes.put(Outcome(order, self.account.engine.compute(plan), None))
        except (RefreshFailed, AlreadyRefreshed) as failure:
            self.outcomes.put(Outcome(order, None, failure))
        except Exception as error:  # whatever Spark or the disk raises: the refresh is tried again
            message = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            self.outcomes.put(Outcome(order, None, RefreshFailed(Fault.SYSTEM, message)))

    def finish(self, outcome: Outcome) -> None:
        """Commit what an attempt computed, unless another one replaced it, and tell the scheduler."""
        order = outcome.order
        if self.running.pop((order.table, order.data_us, order.attempt), None) is None:
            return
        try:
            if outcome.failure is not None:
                raise outcome.failure
            assert outcome.staged is not None, "an attempt staged something, or failed"
            with self.commit_transaction():
                self.account.commit(outcome.staged)
            event: Event = scheduling.Finished(order.table, order.data_us, True)
        except AlreadyRefreshed:
            event = scheduling.Finished(order.table, order.data_us, True)
        except (RefreshFailed, VersionExists, OSError, sqlite3.Error) as error:
            failure = error if isinstance(error, RefreshFailed) else RefreshFailed(Fault.SYSTEM, str(error))
            event = self.report_failure(order, failure)
            if failure.fault is Fault.SYSTEM and self.account.backend.has_lost_spark():
                raise InputError("Spark has ended: start the driver in a new process") from failure
        self.handle([event])
        self.learn(order.table)
        if isinstance(event, scheduling.Finished):
            self.compact(order.table)
            self.account.publish(order.table)

    def compact(self, identity: TableId) -> None:
        """Write the files of a table anew if they are many and small; what fails is tried again later."""
        table = self.account.tables[identity]
        if table.is_scattered():
            self.lease.renew(self.now_us())
            try:
                table.compact(self.now_us)
            except OSError as error:
                self.log(identity, EventKind.NOT_COMPACTED, message=str(error))

    # What a new driver has to know

    def log(self, identity: TableId, kind: EventKind, **body: object) -> None:
        """Add an event to the log."""
        self.account.events.add(identity, kind, at_us=self.now_us(), **body)

    def log_driver(self, action: str) -> None:
        """Write to the log that this driver began or ended."""
        self.log("", EventKind.DRIVER, action=action, holder=self.lease.holder, token=self.lease.token)

    def learn(self, identity: TableId) -> None:
        """Write to the log what the scheduler learnt of a table, if it changed."""
        status = self.scheduler.status(identity)
        if status is not None:
            last = self.account.events.newest_of(identity, EventKind.LEARNT)
            learnt = {"errors": status.errors, "cost_us": status.cost_us}
            if last is None or last.body != learnt:
                self.log(identity, EventKind.LEARNT, **learnt)

    def with_learnt(self, update: scheduling.TableUpdate) -> scheduling.TableUpdate:
        """Return the properties of a table with what earlier drivers learnt."""
        last = self.account.events.newest_of(update.node.table, EventKind.LEARNT)
        return update if last is None else update._replace(**last.body)
