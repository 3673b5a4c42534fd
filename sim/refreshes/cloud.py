"""The account under a simulated clock: its nodes, its scheduler, and the messages between them."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from simpy import Resource
from simpy.events import Event as Waiting

from dynamic_tables.bags.backends import Backend
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.catalog.graphs import node_of
from dynamic_tables.refreshes.accounts import Account
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.scheduling.events import (
    Command,
    Event,
    Fail,
    Failed,
    Finished,
    Flag,
    GraphChanged,
    Heartbeat,
    ResumeTable,
    Skip,
    StartRefresh,
    SuspendTable,
    Tick,
    Timer,
)
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.scheduling.states import TableState
from dynamic_tables.sql.binding import bind
from dynamic_tables.sql.statements import CreateTableAs, NoChange, Refresh, read_statement
from dynamic_tables.storage.clock import Clock
from dynamic_tables.storage.frontiers import TableId
from pruning.errors import InputError
from sim.kernel import draws
from sim.kernel.draws import Draws
from sim.kernel.trace import Trace
from sim.refreshes import events as trace_events
from sim.refreshes.asserting import Guard
from sim.refreshes.binding import Bindings
from sim.refreshes.faults import RefreshFaultPlan
from sim.refreshes.messages import Messages
from sim.refreshes.model import Setup
from sim.refreshes.node_clocks import NodeClocks
from sim.refreshes.recording import Record
from sim.refreshes.state_checks import StateChecks

Waits = Generator[Waiting, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshImplementations:
    """The implementations that a run uses; a mutant replaces one of the project's own."""

    scheduler: Callable[..., Scheduler] = Scheduler
    engine: Callable[..., Engine] = Engine
    clock: type[Clock] = Clock
    backend: Callable[[], Backend] = BagBackend


CORRECT = RefreshImplementations()


class NodeWork(Protocol):
    """Work on a node, which a crash of the node ends."""

    def crash(self) -> None:
        """End the work because its node has crashed."""


class Cloud:
    """One account with its nodes and users, and the switchboard between users, scheduler and refreshes.

    Attributes:
        account: The tables and their engine.
        clocks: The clocks of nodes; a crash starts one again.
        messages: The messages between the scheduler and refreshes.
        states: The reported states of tables, and their checks.
        asserting: The guard that reports exceptions that must never be raised.
        emit: Add an event to the trace.
        refresh: Start a refresh as ordered; the builder of the world sets it.
        running: The refreshes on each node, which a crash ends.
    """

    def __init__(
        self,
        env: draws.Clock,
        *,
        setup: Setup,
        troubles: RefreshFaultPlan,
        seeded: Draws,
        implementations: RefreshImplementations,
    ) -> None:
        self.env = env
        self.setup = setup
        self.troubles = troubles
        self.draws = seeded
        self.trace: Trace = []
        self.asserting = Guard(self.report_broken)
        self.emit = self.trace.append
        self.record = Record(keeps=setup.checked)
        self.bindings = Bindings()
        self.account = Account(backend=implementations.backend(), bind=bind, engine=implementations.engine)
        self._new_scheduler = partial(implementations.scheduler, phase_us=setup.world.phase_us)
        self.scheduler = self._new_scheduler()
        self._lost_count = 0  # how many faults keep the scheduler down
        self.clocks = NodeClocks(env, nodes=setup.world.nodes, troubles=troubles, clock=implementations.clock)
        self.messages = Messages(env, world=setup.world, troubles=troubles, seeded=seeded, emit=self.emit)
        self.states = StateChecks(env, account=self.account, clocks=self.clocks, emit=self.emit)
        self.running: list[dict[NodeWork, None]] = [{} for _ in range(setup.world.nodes)]
        self.warehouses = {
            warehouse.name: (warehouse, Resource(env, warehouse.workers)) for warehouse in setup.warehouse
        }
        self.refresh: Callable[[StartRefresh], None]
        self._timer_us: int | None = None
        self._at_tick = False

    @property
    def now_us(self) -> int:
        """The simulated time."""
        return self.env.now_us

    def report_broken(self, error: Exception) -> None:
        """Record an exception that must never be raised."""
        self.emit(trace_events.Broken(at_us=self.now_us, what=f"{type(error).__name__}: {error}"))

    # Nodes

    def crash(self, node: int) -> None:
        """Crash a node: its work ends, and its clock starts again from the saved mark."""
        self.clocks.restart(node)
        for work in list(self.running[node]):
            work.crash()

    def lose_scheduler(self) -> None:
        """Take the scheduler down: until `start_scheduler` it hears no event, and no timer goes off."""
        self._lost_count += 1
        self._timer_us = None

    def start_scheduler(self) -> None:
        """Start another scheduler from the catalog and the frontiers alone."""
        self._lost_count -= 1
        if self._lost_count:
            return
        self.emit(trace_events.Restarted(at_us=self.now_us))
        self.states.forget()
        self.scheduler = self._new_scheduler()
        self.tell(self.account.initial_event())
        self.states.check_restart(self.scheduler)

    # Statements

    def execute(self, sql: str, node: int) -> bool:
        """Execute a statement; return True if it was accepted."""
        refused = ""
        try:
            with self.asserting:
                self._execute(sql, node)
        except InputError as error:
            refused = str(error)
        self.emit(trace_events.Executed(at_us=self.now_us, sql=sql, node=node, refused=refused))
        return not refused

    def _execute(self, sql: str, node: int) -> None:
        state = self.account.catalog.state
        what = read_statement(sql, self.bindings.session_lookup(state))
        if isinstance(what, Refresh):
            if self._lost_count:
                raise InputError("the scheduler is down; ask again")
            request = self.account.request_refresh(
                what.name, clock=self.clocks[node], wall_us=self.clocks.wall_us(node)
            )
            self.emit(
                trace_events.RefreshRequested(
                    at_us=self.now_us, table=request.table, asked_us=request.asked_us
                )
            )
            self.tell(request)
            return
        if isinstance(what, NoChange):
            return
        if isinstance(what, CreateTableAs):
            raise InputError(f"{what.create.name}: CREATE TABLE AS is not simulated: write rows afterwards")
        if isinstance(what, ddl.CreateDynamicTable) and what.warehouse not in self.warehouses:
            names = ", ".join(self.warehouses)
            raise InputError(f"there is no warehouse {what.warehouse}; there are {names}")
        self.tell(self.apply(what, node))

    def apply(self, what: ddl.Statement, node: int) -> GraphChanged:
        """Write a statement to the catalog and return the event for the scheduler."""
        before = self.account.catalog.state
        event = self.account.execute(what, clock=self.clocks[node], wall_us=self.clocks.wall_us(node))
        last = self.account.catalog.last
        assert last is not None, "a statement was committed"
        state = self.account.catalog.state
        self.record.add_state(len(self.trace), self.now_us, last, state)
        for identity, entity in state.entities.items():
            old = before.entities.get(identity)
            if old is None or old.name != entity.name:
                kind = entity.kind.value
                self.emit(trace_events.Named(at_us=self.now_us, table=identity, name=entity.name, kind=kind))
        return event

    def identity(self, name: str) -> TableId | None:
        """Return the identity of the table with a name; None if there is none or it is a view."""
        entity = self.account.catalog.state.find(name)
        return None if entity is None or entity.kind is EntityKind.VIEW else entity.identity

    def name(self, table: TableId) -> str:
        """Return the name of a table; its identity if it was dropped."""
        entity = self.account.catalog.state.entities.get(table)
        return table if entity is None else entity.name

    # The scheduler

    def tell(self, event: Event) -> None:
        """Give the scheduler an event and carry out its commands; do nothing while it is down."""
        if self._lost_count:
            return
        now_us = self.now_us
        self._hear(event, now_us)
        self._at_tick = isinstance(event, Tick)
        events = [event]
        for next_event in events:  # commands may add more events
            with self.asserting:
                for command in self.scheduler.step(self.clocks.wall_us(0), next_event):
                    events += self._carry_out(command, now_us)
        if self.setup.checked:
            self.states.check(self.scheduler)

    def _hear(self, event: Event, now_us: int) -> None:
        match event:
            case Finished():
                how, attempt = "finished", -1
            case Failed():
                how, attempt = event.fault.name.lower(), event.attempt
            case _:
                return
        table, data_us = event.table, event.data_us
        self.states.end(table, data_us, attempt)
        self.emit(
            trace_events.EndReported(at_us=now_us, table=table, data_us=data_us, attempt=attempt, how=how)
        )

    def _carry_out(self, command: Command, now: int) -> Sequence[Event]:
        match command:
            case StartRefresh():
                self._order(command, now)
            case Timer(at_us):
                self._set_timer(at_us)
            case Skip(table, data_us, reason):
                self.emit(
                    trace_events.Skipped(at_us=now, table=table, data_us=data_us, reason=reason.name.lower())
                )
            case Fail(table, data_us, trigger, reason):
                self.emit(
                    trace_events.NotStarted(
                        at_us=now, table=table, data_us=data_us, trigger=trigger.name.lower(),
                        reason=reason.name.lower(),
                    )
                )  # fmt: skip
            case Flag(table, data_us, silent_us):
                self.emit(trace_events.Flagged(at_us=now, table=table, data_us=data_us, silent_us=silent_us))
            case SuspendTable(table, reason):
                self.emit(trace_events.Suspended(at_us=now, table=table, reason=reason))
                return self._write_statement(table, lambda name: ddl.Suspend(name, reason))
            case ResumeTable(table):
                self.emit(trace_events.Resumed(at_us=now, table=table))
                return self._write_statement(table, ddl.Resume)
        return ()

    def _order(self, order: StartRefresh, now_us: int) -> None:
        table, data_us, attempt, trigger = order
        period_us = self.scheduler.period_us
        above_us = 0
        if self.setup.checked:
            self.states.begin(order)
            above_us = max((period_us(source) or 0 for source in self._upstream(table)), default=0)
        self.emit(
            trace_events.RefreshOrdered(
                at_us=now_us, table=table, data_us=data_us, attempt=attempt, trigger=trigger._name_.lower(),
                period_us=period_us(table) or 0, above_us=above_us, at_tick=self._at_tick,
            )
        )  # fmt: skip
        self.messages.send(order, self.refresh)

    def _write_statement(self, table: TableId, make_statement: Callable[[str], ddl.Statement]) -> list[Event]:
        """Write the scheduler's own statement to the catalog."""
        entity = self.account.catalog.state.entities.get(table)
        return [] if entity is None else [self.apply(make_statement(entity.name), 0)]

    def _upstream(self, table: TableId) -> tuple[TableId, ...]:
        state = self.account.catalog.state
        entity = state.entities.get(table)
        return () if entity is None else node_of(state, entity).upstream

    def _set_timer(self, at_us: int) -> None:
        self._timer_us = at_us
        self.env.process(self._timer(at_us))

    def _timer(self, at_us: int) -> Waits:
        """Send a tick when the scheduler's clock has reached a time, unless a newer timer took its place."""
        while self._timer_us == at_us:
            wait_us = at_us - self.clocks.wall_us(0)
            if wait_us <= 0:
                self._timer_us = None
                self.tell(Tick())
                return
            # A fault may step the clock meanwhile, so wait in short pieces.
            yield self.env.timeout(min(wait_us, 10_000_000))

    # Messages

    def tell_later(self, event: Heartbeat | Finished | Failed) -> None:
        """Send the scheduler an event as a message."""
        self.messages.send(event, self.tell)

    def expected(self) -> dict[TableId, TableState]:
        """Return the state of each dynamic table as it would be reported now (R-DVS-37)."""
        return self.states.expected(self.scheduler)
