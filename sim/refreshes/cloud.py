"""The account under a simulated clock: its nodes, its scheduler, and the messages between them."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from simpy import Process, Resource
from simpy.events import Event as Waiting

from dynamic_tables import ddl
from dynamic_tables.accounts import Account
from dynamic_tables.backends import Backend
from dynamic_tables.bag_backend import BagBackend
from dynamic_tables.binding import bind
from dynamic_tables.clock import Clock
from dynamic_tables.entities import Kind
from dynamic_tables.events import (
    Command,
    Event,
    Fail,
    Failed,
    Finished,
    Flag,
    GraphChanged,
    Heartbeat,
    Resume,
    Skip,
    StartRefresh,
    Suspend,
    Tick,
    Timer,
)
from dynamic_tables.frontiers import TableId
from dynamic_tables.graphs import node_of, nodes
from dynamic_tables.refreshing import Engine
from dynamic_tables.scheduling import SILENCE_US_MAX, Scheduler
from dynamic_tables.sql_statements import Refresh, statement
from dynamic_tables.states import Condition, Expected, expected
from pruning.errors import InputError
from sim import draws
from sim.draws import Draws
from sim.refreshes import events as told
from sim.refreshes.binding import Bindings
from sim.refreshes.faults import Troubles
from sim.refreshes.model import Setup
from sim.refreshes.recording import Record
from sim.trace import Trace

Waits = Generator[Waiting, Any, Any]
RUNNING = (Condition.EXECUTING, Condition.INITIALIZING, Condition.SILENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays: the project's own scheduler, engine, clocks and backend, unless something is to be wrong."""

    scheduler: Callable[..., Scheduler] = Scheduler
    engine: type[Engine] = Engine
    clock: type[Clock] = Clock
    backend: Callable[[], Backend] = BagBackend


RIGHT = Cast()


class Cloud:
    """One account, with who works on it.

    Attributes:
        account: The tables and their engine.
        refresh: Starts a refresh as ordered; set by who builds the world.
        running: The processes on each node, which a crash ends.
        clocks: Of each node; a crash starts it again.
    """

    def __init__(self, env: draws.Clock, setup: Setup, troubles: Troubles, seeded: Draws, cast: Cast) -> None:
        self.env = env
        self.setup = setup
        self.troubles = troubles
        self.draws = seeded
        self.trace: Trace = []
        self.record = Record(keeps=setup.checked)
        self.bindings = Bindings()
        self.account = Account(backend=cast.backend(), bind=bind, log=_nowhere, engine=cast.engine)
        self._new_scheduler = partial(cast.scheduler, phase_us=setup.world.phase_us)
        self.scheduler = self._new_scheduler()
        self._lost_count = 0  # how many faults keep the scheduler down
        self.marks = [-1] * setup.world.nodes
        self._new_clock = cast.clock
        self.clocks = [self._clock(node) for node in range(setup.world.nodes)]
        self.running: list[dict[Process, None]] = [{} for _ in self.clocks]
        self.warehouses = {one.name: (one, Resource(env, one.workers)) for one in setup.warehouse}
        self.refresh: Callable[[StartRefresh], None]
        self._timer_us: int | None = None
        self._at_tick = False
        # What the scheduler may not know yet: the refreshes that were ordered and not told to have ended.
        self.working: dict[TableId, tuple[StartRefresh, int]] = {}

    @property
    def now_us(self) -> int:
        """The simulated time."""
        return int(self.env.now)

    def wall_us(self, node: int) -> int:
        """What the wall clock of a node shows."""
        return max(0, self.now_us + self.troubles.offset_us(node, self.now_us))

    def emit(self, event: Any) -> None:
        """Add to the trace."""
        self.trace.append(event)

    @contextmanager
    def asserting(self) -> Iterator[None]:
        """What should never be raised is told, and the world goes on."""
        try:
            yield
        except Exception as error:  # what is wrong on purpose may raise anything
            if isinstance(error, InputError):
                raise
            self.emit(told.Broken(at_us=self.now_us, what=f"{type(error).__name__}: {error}"))

    # Nodes

    def _clock(self, node: int) -> Clock:
        def save(mark_us: int) -> None:
            self.marks[node] = mark_us

        return self._new_clock(node, mark_us=self.marks[node], save=save)

    def crash(self, node: int) -> None:
        """A node loses all but its mark."""
        self.clocks[node] = self._clock(node)
        for process in list(self.running[node]):
            if process.is_alive:
                process.interrupt()

    def lose_scheduler(self) -> None:
        """Nobody hears of events, and no timer goes off, until `start_scheduler`."""
        self._lost_count += 1
        self._timer_us = None

    def start_scheduler(self) -> None:
        """Another scheduler starts, from the catalog and the frontiers alone."""
        self._lost_count -= 1
        if self._lost_count:
            return
        self.emit(told.Restarted(at_us=self.now_us))
        self.working.clear()
        self.scheduler = self._new_scheduler()
        self.tell(self.account.everything())
        for table, state in self.expected().items():
            frontier = self.account.tables[table].frontier
            if state.data_us != (frontier and frontier.data_us):
                what = f"a new scheduler has it at {state.data_us} us, and it is at {frontier}"
                self._misstated(table, state, what)

    # Statements

    def execute(self, sql: str, node: int) -> bool:
        """Execute a statement; whether it was accepted."""
        refused = ""
        try:
            with self.asserting():
                self._execute(sql, node)
        except InputError as error:
            refused = str(error)
        self.emit(told.Executed(at_us=self.now_us, sql=sql, node=node, refused=refused))
        return not refused

    def _execute(self, sql: str, node: int) -> None:
        state = self.account.catalog.state
        what = statement(sql, self.bindings.session(state))
        if isinstance(what, Refresh):
            if self._lost_count:
                raise InputError("the scheduler is down; ask again")
            asked = self.account.to_refresh(what.name, clock=self.clocks[node], wall_us=self.wall_us(node))
            self.emit(told.Asked(at_us=self.now_us, table=asked.table, asked_us=asked.asked_us))
            self.tell(asked)
            return
        if isinstance(what, ddl.CreateDynamicTable) and what.warehouse not in self.warehouses:
            known = ", ".join(self.warehouses)
            raise InputError(f"there is no warehouse {what.warehouse}; there are {known}")
        self.tell(self.apply(what, node))

    def apply(self, what: ddl.Statement, node: int) -> GraphChanged:
        """Write a statement to the catalog."""
        before = self.account.catalog.state
        event = self.account.execute(what, clock=self.clocks[node], wall_us=self.wall_us(node))
        last = self.account.catalog.last
        assert last is not None, "a statement was committed"
        state = self.account.catalog.state
        self.record.executed(len(self.trace), last, state)
        for identity, entity in state.entities.items():
            old = before.entities.get(identity)
            if old is None or old.name != entity.name:
                kind = entity.kind.value
                self.emit(told.Named(at_us=self.now_us, table=identity, name=entity.name, kind=kind))
        return event

    def identity(self, name: str) -> TableId | None:
        """What stands under a name, but for views."""
        entity = self.account.catalog.state.find(name)
        return None if entity is None or entity.kind is Kind.VIEW else entity.identity

    def name(self, table: TableId) -> str:
        """Under which name a table stands; its identity if under none."""
        entity = self.account.catalog.state.entities.get(table)
        return table if entity is None else entity.name

    # The scheduler

    def tell(self, event: Event) -> None:
        """Give the scheduler an event, and carry out what it orders; a lost one hears nothing."""
        if self._lost_count:
            return
        self._hear(event)
        self._at_tick = isinstance(event, Tick)
        waiting = deque([event])
        while waiting:
            with self.asserting():
                for command in self.scheduler.step(self.wall_us(0), waiting.popleft()):
                    waiting.extend(self._carry_out(command))
        if self.setup.checked:
            self._check_states()

    def _hear(self, event: Event) -> None:
        if not isinstance(event, Finished | Failed):
            return
        order, _ = self.working.get(event.table, (None, 0))
        how, attempt = "finished", -1
        if isinstance(event, Failed):
            how, attempt = event.fault.name.lower(), event.attempt
        same = order is not None and order.data_us == event.data_us and attempt in (-1, order.attempt)
        if same:
            del self.working[event.table]
        self.emit(
            told.Told(at_us=self.now_us, table=event.table, data_us=event.data_us, attempt=attempt, how=how)
        )

    def _carry_out(self, command: Command) -> list[Event]:
        now = self.now_us
        match command:
            case Timer(at_us):
                self._set_timer(at_us)
            case StartRefresh(table, data_us, attempt, trigger):
                checked = self.setup.checked
                above = [self._period_us(source) for source in self._upstream(table)] if checked else []
                self.emit(
                    told.Ordered(
                        at_us=now, table=table, data_us=data_us, attempt=attempt,
                        trigger=trigger.name.lower(), period_us=self._period_us(table),
                        above_us=max(above, default=0), at_tick=self._at_tick,
                    )
                )  # fmt: skip
                self.working[table] = command, now
                self.send("StartRefresh", partial(self.refresh, command))
            case Skip(table, data_us, reason):
                self.emit(told.Skipped(at_us=now, table=table, data_us=data_us, reason=reason.name.lower()))
            case Fail(table, data_us, trigger, reason):
                self.emit(
                    told.NotStarted(
                        at_us=now, table=table, data_us=data_us, trigger=trigger.name.lower(),
                        reason=reason.name.lower(),
                    )
                )  # fmt: skip
            case Flag(table, data_us, silent_us):
                self.emit(told.Flagged(at_us=now, table=table, data_us=data_us, silent_us=silent_us))
            case Suspend(table, reason):
                self.emit(told.Suspended(at_us=now, table=table, reason=reason))
                return self._written(table, lambda name: ddl.Suspend(name, reason))
            case Resume(table):
                self.emit(told.Resumed(at_us=now, table=table))
                return self._written(table, ddl.Resume)
        return []

    def _written(self, table: TableId, made: Callable[[str], ddl.Statement]) -> list[Event]:
        """The scheduler's own statements, written to the log."""
        entity = self.account.catalog.state.entities.get(table)
        return [] if entity is None else [self.apply(made(entity.name), 0)]

    def _upstream(self, table: TableId) -> tuple[TableId, ...]:
        state = self.account.catalog.state
        entity = state.entities.get(table)
        return () if entity is None else node_of(state, entity).upstream

    def _period_us(self, table: TableId) -> int:
        status = self.scheduler.status(table)
        return 0 if status is None or status.period_us is None else status.period_us

    def _set_timer(self, at_us: int) -> None:
        self._timer_us = at_us
        self.env.process(self._timer(at_us))

    def _timer(self, at_us: int) -> Waits:
        """Send a tick when the scheduler's clock has come to a time; a newer timer takes its place."""
        while self._timer_us == at_us:
            wait_us = at_us - self.wall_us(0)
            if wait_us <= 0:
                self._timer_us = None
                self.tell(Tick())
                return
            # A clock may step meanwhile, so it is looked at now and then.
            yield self.env.timeout(min(wait_us, 10_000_000))

    # Messages

    def send(self, kind: str, deliver: Callable[[], None]) -> None:
        """Send a message, which faults may lose, double and delay."""
        stream = self.draws.stream(f"message/{kind}")
        world = self.setup.world
        weather = self.troubles.weather(kind, self.now_us)
        copies = 1
        for one in weather:
            if stream.random() * 100 < one.lost_percent:
                self.emit(told.MessageTroubled(at_us=self.now_us, message=kind, how="lost"))
                return
            if stream.random() * 100 < one.doubled_percent:
                self.emit(told.MessageTroubled(at_us=self.now_us, message=kind, how="doubled"))
                copies += 1
        for _ in range(copies):
            delay = stream.randint(world.delay_us_min, world.delay_us_max)
            delay += sum(stream.randint(0, one.delay_us_max) for one in weather)
            self.env.process(self._deliver(delay, deliver))

    def doubled(self, kind: str) -> bool:
        """Whether a message of that kind comes twice now, where it is no message of its own here."""
        stream = self.draws.stream(f"message/{kind}")
        weather = self.troubles.weather(kind, self.now_us)
        found = any(stream.random() * 100 < one.doubled_percent for one in weather)
        if found:
            self.emit(told.MessageTroubled(at_us=self.now_us, message=kind, how="doubled"))
        return found

    def _deliver(self, delay_us: int, deliver: Callable[[], None]) -> Waits:
        yield self.env.timeout(delay_us)
        deliver()

    def tell_later(self, event: Heartbeat | Finished | Failed) -> None:
        """Send the scheduler an event."""
        self.send(type(event).__name__, partial(self.tell, event))

    # What is told of tables

    def expected(self) -> dict[TableId, Expected]:
        """The state of each dynamic table, as it can be told now (R-DVS-37)."""
        now = self.wall_us(0)
        return {
            table: expected(node, self.scheduler.status(table), now_us=now)
            for table, node in nodes(self.account.catalog.state).items()
        }

    def _is_working(self, table: TableId) -> bool:
        """Whether a table is refreshed; after a long silence that may be taken for lost."""
        return table in self.working and self.now_us - self.working[table][1] <= 2 * SILENCE_US_MAX

    def _check_states(self) -> None:
        """Tell of states that contradict what is so; a trace alone does not show them."""
        catalog = self.account.catalog.state
        for table, state in self.expected().items():
            frontier = self.account.tables[table].frontier
            what = ""
            if state.condition is Condition.UNKNOWN:
                what = "the scheduler does not know it"
            elif state.data_us is not None and (frontier is None or frontier.data_us < state.data_us):
                what = f"it is told at {state.data_us} us, and is at {frontier and frontier.data_us}"
            elif (state.suspended is None) != (catalog.entities[table].suspended is None):
                what = f"the catalog says {catalog.entities[table].suspended}"
            elif self._is_working(table) and state.condition not in RUNNING and state.attempt == 0:
                what = "it is refreshed"
            if what:
                self._misstated(table, state, what)

    def _misstated(self, table: TableId, state: Expected, what: str) -> None:
        self.emit(told.Misstated(at_us=self.now_us, table=table, told=state.condition.name, what=what))


def _nowhere(_: object) -> None:
    """The trace has the log of refreshes."""
