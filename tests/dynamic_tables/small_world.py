"""A small account under a scheduler, driven step by step: workers that are slow, die, or answer twice.

Each step checks what must hold always; a check that fails raises `Violation` with the promise's id.
"""

from collections import deque
from dataclasses import dataclass

from small_queries import BACKEND, FIELDS, Small, bind
from world_promises import Promises, Violation

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.catalog.graphs import nodes
from dynamic_tables.catalog.lags import MINUTE_US
from dynamic_tables.refreshes.accounts import Account
from dynamic_tables.refreshes.actions import AlreadyRefreshed, RefreshAction, RefreshFailed
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.scheduling.events import (
    Failed,
    Fault,
    Finished,
    Heartbeat,
    ResumeTable,
    StartRefresh,
    SuspendTable,
    Tick,
    Timer,
    Trigger,
)
from dynamic_tables.scheduling.scheduler import ERRORS, ERRORS_MAX, Scheduler
from dynamic_tables.storage.clock import Clock
from dynamic_tables.storage.versions import Table
from dynamic_tables.values.changes import Action, Change
from dynamic_tables.values.types import INTEGER, Field
from pruning.errors import InputError

SECOND_US = 1_000_000
# A node's clock may be this far behind or ahead.
SKEWS_US = (0, 3 * SECOND_US, -3 * SECOND_US)


@dataclass
class Work:
    """One attempt at a refresh, at some worker."""

    order: StartRefresh
    node: int
    plan: object = None
    staged: object = None
    gone: bool = False  # the scheduler was told how the refresh ended: this is a second delivery
    silent: bool = False  # its heartbeats are lost
    held: int = 0  # how often it stands still while others finish


class World(Promises):
    """An account with base tables s.b0 and s.b1, and its scheduler."""

    def __init__(self, *, engine=Engine, scheduler=None, clock=Clock, table=Table):
        self.scheduler = scheduler or Scheduler()
        self.log = []
        self.account = Account(backend=BACKEND, bind=bind, log=self.log.append, engine=engine, table=table)
        self.clocks = [clock(node) for node in range(len(SKEWS_US))]
        self.now_us = 0
        self.timer_us = None
        self.works = []
        self.next_row = 0
        self.said = []
        self.orders = []
        self.purged = []
        self.live = {}
        self.errors = {}
        for name in ("s.b0", "s.b1"):
            self.ddl(ddl.CreateTable(name, FIELDS))
            self.write(name, 2)

    # Clocks and events

    def wall(self, node):
        return max(0, self.now_us + SKEWS_US[node])

    def tell(self, event):
        """Give the scheduler an event, and carry out what it orders."""
        if isinstance(event, Finished | Failed):
            self.count_errors(event)
            for work in self.works:
                same = work.order.table == event.table and work.order.data_us == event.data_us
                work.gone |= same and (isinstance(event, Finished) or work.order.attempt <= event.attempt)
        events = deque([event])
        while events:
            for command in self.scheduler.step(self.now_us, events.popleft()):
                self.said.append(command)
                events.extend(self.carry_out(command))
        self.check_states()

    def carry_out(self, command):
        match command:
            case Timer(at_us):
                self.timer_us = at_us
            case StartRefresh():
                self.check_order(command)
                self.orders.append(command)
                self.live[command.table, command.data_us] = command
                self.works.append(Work(command, node=len(self.orders) % len(self.clocks)))
            case SuspendTable(table, reason):
                if reason == ERRORS and self.errors.get(table, 0) <= ERRORS_MAX:
                    raise Violation(f"R-DVS-34 {table} is suspended after {self.errors.get(table, 0)} errors")
                return self.written(table, lambda name: ddl.Suspend(name, reason))
            case ResumeTable(table):
                return self.written(table, ddl.Resume)
        return []

    def written(self, table, statement):
        """The scheduler's own statements, written to the log."""
        entity = self.account.catalog.state.entities.get(table)
        if entity is None:
            return []
        return [self.account.execute(statement(entity.name), clock=self.clocks[0], wall_us=self.wall(0))]

    # What happens

    def ddl(self, statement, node=0):
        """Execute a statement; whether it was accepted."""
        try:
            event = self.account.execute(statement, clock=self.clocks[node], wall_us=self.wall(node))
        except InputError:
            return False
        self.tell(event)
        return True

    def dynamic(self, name, kind, *reads, lag=MINUTE_US, **options):
        definition = Small(kind, reads)
        created = ddl.CreateDynamicTable(name=name, definition=definition, lag=lag, warehouse="w", **options)
        return self.ddl(created)

    def write(self, name, count, node=0, *, zero=False):
        """Change a base table: `count` rows come, the oldest goes; none: it is maintained."""
        entity = self.account.catalog.state.find(name)
        if entity is None or entity.kind is not EntityKind.TABLE:
            return
        table = self.account.tables[entity.identity]
        held = table.contents(table.latest.number)
        delta = [Change(Action.DELETE, row_id, row) for row_id, row in list(held.items())[: count // 2]]
        for _ in range(count):
            self.next_row += 1
            number = self.next_row
            cells = [number % 3, 0 if zero else 1 + number % 4]
            row = (*cells, *(None for _ in range(entity.column_count - len(cells))))
            delta.append(Change(Action.INSERT, f"r{number}", row))
        self.account.write({name: tuple(delta)}, clock=self.clocks[node], wall_us=self.wall(node))

    def fix_zeros(self, name):
        """Take away the rows over which `divide` fails."""
        entity = self.account.catalog.state.find(name)
        if entity is None or entity.kind is not EntityKind.TABLE:
            return
        table = self.table(name)
        held = table.contents(table.latest.number)
        delta = tuple(Change(Action.DELETE, row_id, row) for row_id, row in held.items() if row[1] == 0)
        self.account.write({name: delta}, clock=self.clocks[0], wall_us=self.wall(0))

    def advance(self, seconds):
        """Let time pass; timers go off on the way."""
        until_us = self.now_us + int(seconds * SECOND_US)
        while self.timer_us is not None and self.timer_us <= until_us:
            self.now_us = max(self.now_us, self.timer_us)
            self.timer_us = None
            self.beat()
            self.tell(Tick())
            self.check_periods()
        self.now_us = until_us

    def manual(self, name, node=0):
        """A user on a node asks for a table."""
        try:
            asked = self.account.request_refresh(name, clock=self.clocks[node], wall_us=self.wall(node))
        except InputError:
            return
        count = len(self.orders)
        self.tell(asked)
        for order in self.orders[count:]:
            if order.trigger is Trigger.MANUAL and order.data_us <= asked.asked_us:
                raise Violation(f"R-DVS-07 {order} is not after {asked}")

    def purge(self, seconds):
        self.purged.append(self.now_us - int(seconds * SECOND_US))
        self.account.purge(self.purged[-1])

    # Workers

    def work(self, place):
        """A worker gets one step further: begins, computes, commits."""
        if not self.works:
            return
        work = self.works[place % len(self.works)]
        table, data_us, attempt, _ = work.order
        try:
            self.advance_work(work)
        except AlreadyRefreshed:
            self.works.remove(work)
            self.tell(Finished(table, data_us, True))
        except RefreshFailed as error:
            self.works.remove(work)
            self.tell(Failed(table, data_us, attempt, error.fault))

    def advance_work(self, work):
        table, data_us, *_ = work.order
        engine = self.account.engine
        if work.plan is None:
            work.plan = engine.begin(table, data_us, now_us=self.now_us)
        elif work.staged is None:
            work.staged = engine.compute(work.plan)
        else:
            before = self.account.tables[table].frontier
            self.commit(engine, work)
            self.check_commit(work, before)
            self.works.remove(work)
            self.tell(Finished(table, data_us, work.plan.action is not RefreshAction.NO_DATA))

    def commit(self, engine, work):
        wall_us = self.wall(work.node)
        engine.commit(work.staged, clock=self.clocks[work.node], wall_us=wall_us, now_us=self.now_us)

    def finish_all(self):
        """All workers work until none is left, but those held."""
        while any(not work.held for work in self.works):
            self.work(next(place for place, work in enumerate(self.works) if not work.held))
        for work in self.works:
            work.held = max(0, work.held - 1)

    def hold(self, place, times):
        """A worker stands still for a while; it goes on giving heartbeats."""
        if self.works:
            self.works[place % len(self.works)].held = times

    def renew_column(self, name, column):
        """A column is dropped and added again."""
        self.ddl(ddl.DropColumn(name, column))
        self.ddl(ddl.AddColumn(name, Field(column, INTEGER)))

    def settle(self, seconds):
        """Time passes with fast workers."""
        for _ in range(int(seconds // 12)):
            self.advance(12)
            self.finish_all()

    def crash(self, place):
        """A worker dies, and that is noticed."""
        if self.works:
            table, data_us, attempt, _ = self.works.pop(place % len(self.works)).order
            self.tell(Failed(table, data_us, attempt, Fault.SYSTEM))

    def vanish(self, place):
        """A worker dies, and nobody is told."""
        if self.works:
            self.works.pop(place % len(self.works))

    def repeat(self, place):
        """An order is delivered to a second worker."""
        if self.works:
            work = self.works[place % len(self.works)]
            node = (work.node + 1) % len(self.clocks)
            self.works.append(Work(work.order, node=node, gone=work.gone, silent=work.silent))

    def silence(self, place):
        """A worker goes on, and its heartbeats are lost."""
        if self.works:
            self.works[place % len(self.works)].silent = True

    def beat(self):
        for work in self.works:
            if not work.silent:
                self.tell(Heartbeat(*work.order[:3]))

    def calm_down(self):
        """Faults stop, and zeros go; what is then still late, though nothing stands in its way."""
        for name in ("s.b0", "s.b1", "t.b0", "t.b1"):
            self.fix_zeros(name)
        for work in self.works:  # whose heartbeats stay lost: a silent worker is told so until it ends
            work.held = 0
        self.finish_all()
        self.settle(1200)
        healthy = {}
        for table, node in nodes(self.account.catalog.state).items():
            self.check_errors(table)
            healthy[table] = self.is_healthy(node)
        for table in healthy:
            status = self.scheduler.status(table)
            if status.period_us is None or not self.is_healthy_above(table, healthy):
                continue
            if status.data_us is None or self.now_us - status.data_us > status.period_us + 2 * 12 * SECOND_US:
                raise Violation(f"R-DVS-12 {table} is late, and nothing stands in its way: {status}")

    def table(self, name):
        return self.account.tables[self.account.catalog.state.get(name).identity]

    def node(self, table):
        return nodes(self.account.catalog.state).get(table)
