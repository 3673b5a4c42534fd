"""The account under a simulated clock: its nodes, its scheduler, and the messages between them."""

import random
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, TypeVar

from simpy import Resource
from simpy.events import Event as Waiting

from dynamic_tables.bags.backends import Backend
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.catalog.graphs import node_of, nodes
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
from dynamic_tables.scheduling.scheduler import SILENCE_US_MAX, Scheduler
from dynamic_tables.scheduling.states import Condition, TableState, table_state
from dynamic_tables.sql.binding import bind
from dynamic_tables.sql.statements import Refresh, read_statement
from dynamic_tables.storage.clock import Clock
from dynamic_tables.storage.frontiers import TableId
from pruning.errors import InputError
from sim.kernel import draws
from sim.kernel.draws import Draws
from sim.kernel.trace import Trace
from sim.refreshes import events as told
from sim.refreshes.asserting import Asserting
from sim.refreshes.binding import Bindings
from sim.refreshes.faults import Troubles, Weather
from sim.refreshes.model import Setup
from sim.refreshes.recording import Record

Waits = Generator[Waiting, Any, Any]
Message = TypeVar("Message", bound=StartRefresh | Heartbeat | Finished | Failed)
# The names of messages in traces, plans of faults and random streams: they stay when a class is renamed.
KINDS = {StartRefresh: "StartRefresh", Heartbeat: "Heartbeat", Finished: "Finished", Failed: "Failed"}
RUNNING = (Condition.EXECUTING, Condition.INITIALIZING, Condition.SILENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays: the project's own scheduler, engine, clocks and backend, unless something is to be wrong."""

    scheduler: Callable[..., Scheduler] = Scheduler
    engine: type[Engine] = Engine
    clock: type[Clock] = Clock
    backend: Callable[[], Backend] = BagBackend


RIGHT = Cast()


class Crashing(Protocol):
    """What runs on a node."""

    def crash(self) -> None:
        """Its node has crashed."""


class Cloud:
    """One account, with who works on it.

    Attributes:
        account: The tables and their engine.
        asserting: Within it, what should never be raised is told.
        emit: Adds to the trace.
        refresh: Starts a refresh as ordered; set by who builds the world.
        running: The refreshes on each node, which a crash ends.
        clocks: Of each node; a crash starts it again.
    """

    def __init__(self, env: draws.Clock, setup: Setup, troubles: Troubles, seeded: Draws, cast: Cast) -> None:
        self.env = env
        self.setup = setup
        self.troubles = troubles
        self.draws = seeded
        self._message_stream = cache(lambda kind: seeded.stream(f"message/{kind}"))
        self.trace: Trace = []
        self.asserting = Asserting(self.broken)
        self.emit = self.trace.append
        self.record = Record(keeps=setup.checked)
        self.bindings = Bindings()
        self.account = Account(backend=cast.backend(), bind=bind, engine=cast.engine)
        self._new_scheduler = partial(cast.scheduler, phase_us=setup.world.phase_us)
        self.scheduler = self._new_scheduler()
        self._lost_count = 0  # how many faults keep the scheduler down
        self._delay_us_min = setup.world.delay_us_min
        self._delay_count = 1 + setup.world.delay_us_max - setup.world.delay_us_min
        self.marks = [-1] * setup.world.nodes
        self._new_clock = cast.clock
        self.clocks = [self._clock(node) for node in range(setup.world.nodes)]
        self.running: list[dict[Crashing, None]] = [{} for _ in self.clocks]
        self.warehouses = {one.name: (one, Resource(env, one.workers)) for one in setup.warehouse}
        self.refresh: Callable[[StartRefresh], None]
        self._timer_us: int | None = None
        self._at_tick = False
        # What the scheduler may not know yet: the refreshes that were ordered and not told to have ended, if
        # states are checked.
        self.working: dict[TableId, tuple[StartRefresh, int]] = {}

    @property
    def now_us(self) -> int:
        """The simulated time."""
        return self.env.now_us

    def wall_us(self, node: int) -> int:
        """What the wall clock of a node shows."""
        now_us = self.env.now_us
        return max(0, now_us + self.troubles.offset_us(node)) if self.troubles.planned else now_us

    def broken(self, error: Exception) -> None:
        """Tell of what should never be raised."""
        self.emit(told.Broken(at_us=self.now_us, what=f"{type(error).__name__}: {error}"))

    # Nodes

    def _clock(self, node: int) -> Clock:
        def save(mark_us: int) -> None:
            self.marks[node] = mark_us

        return self._new_clock(node, mark_us=self.marks[node], save=save)

    def crash(self, node: int) -> None:
        """A node loses all but its mark."""
        self.clocks[node] = self._clock(node)
        for one in list(self.running[node]):
            one.crash()

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
        self.tell(self.account.initial_event())
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
            with self.asserting:
                self._execute(sql, node)
        except InputError as error:
            refused = str(error)
        self.emit(told.Executed(at_us=self.now_us, sql=sql, node=node, refused=refused))
        return not refused

    def _execute(self, sql: str, node: int) -> None:
        state = self.account.catalog.state
        what = read_statement(sql, self.bindings.session(state))
        if isinstance(what, Refresh):
            if self._lost_count:
                raise InputError("the scheduler is down; ask again")
            asked = self.account.request_refresh(
                what.name, clock=self.clocks[node], wall_us=self.wall_us(node)
            )
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
        self.record.executed(len(self.trace), self.now_us, last, state)
        for identity, entity in state.entities.items():
            old = before.entities.get(identity)
            if old is None or old.name != entity.name:
                kind = entity.kind.value
                self.emit(told.Named(at_us=self.now_us, table=identity, name=entity.name, kind=kind))
        return event

    def identity(self, name: str) -> TableId | None:
        """What stands under a name, but for views."""
        entity = self.account.catalog.state.find(name)
        return None if entity is None or entity.kind is EntityKind.VIEW else entity.identity

    def name(self, table: TableId) -> str:
        """Under which name a table stands; its identity if under none."""
        entity = self.account.catalog.state.entities.get(table)
        return table if entity is None else entity.name

    # The scheduler

    def tell(self, event: Event) -> None:
        """Give the scheduler an event, and carry out what it orders; a lost one hears nothing."""
        if self._lost_count:
            return
        now_us = self.now_us
        self._hear(event, now_us)
        self._at_tick = isinstance(event, Tick)
        events = [event]
        for one in events:  # what it orders may make more of them
            with self.asserting:
                for command in self.scheduler.step(self.wall_us(0), one):
                    events += self._carry_out(command, now_us)
        if self.setup.checked:
            self._check_states()

    def _hear(self, event: Event, now_us: int) -> None:
        match event:
            case Finished():
                how, attempt = "finished", -1
            case Failed():
                how, attempt = event.fault.name.lower(), event.attempt
            case _:
                return
        table, data_us = event.table, event.data_us
        if table in self.working:
            order, _ = self.working[table]
            if order.data_us == data_us and attempt in (-1, order.attempt):
                del self.working[table]
        self.emit(told.Told(at_us=now_us, table=table, data_us=data_us, attempt=attempt, how=how))

    def _carry_out(self, command: Command, now: int) -> Sequence[Event]:
        match command:
            case StartRefresh():
                self._order(command, now)
            case Timer(at_us):
                self._set_timer(at_us)
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
            case SuspendTable(table, reason):
                self.emit(told.Suspended(at_us=now, table=table, reason=reason))
                return self._written(table, lambda name: ddl.Suspend(name, reason))
            case ResumeTable(table):
                self.emit(told.Resumed(at_us=now, table=table))
                return self._written(table, ddl.Resume)
        return ()

    def _order(self, order: StartRefresh, now_us: int) -> None:
        table, data_us, attempt, trigger = order
        period_us = self.scheduler.period_us
        above_us = 0
        if self.setup.checked:
            self.working[table] = order, now_us
            above_us = max((period_us(source) or 0 for source in self._upstream(table)), default=0)
        self.emit(
            told.Ordered(
                at_us=now_us, table=table, data_us=data_us, attempt=attempt, trigger=trigger._name_.lower(),
                period_us=period_us(table) or 0, above_us=above_us, at_tick=self._at_tick,
            )
        )  # fmt: skip
        self.send(order, self.refresh)

    def _written(self, table: TableId, made: Callable[[str], ddl.Statement]) -> list[Event]:
        """The scheduler's own statements, written to the log."""
        entity = self.account.catalog.state.entities.get(table)
        return [] if entity is None else [self.apply(made(entity.name), 0)]

    def _upstream(self, table: TableId) -> tuple[TableId, ...]:
        state = self.account.catalog.state
        entity = state.entities.get(table)
        return () if entity is None else node_of(state, entity).upstream

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

    def send(self, message: Message, deliver: Callable[[Message], None]) -> None:
        """Send a message, which faults may lose, double and delay."""
        kind = KINDS[type(message)]
        stream = self._message_stream(kind)
        weather = self.troubles.weather(kind) if self.troubles.planned else ()
        for _ in range(self._copies(kind, weather, stream) if weather else 1):
            delay_us = self._delay_us_min + draws.below(stream, self._delay_count)
            for one in weather:
                delay_us += stream.randint(0, one.delay_us_max)
            self.env.after(delay_us, partial(deliver, message))

    def _copies(self, kind: str, weather: Iterable[Weather], stream: random.Random) -> int:
        """How often a message comes."""
        copies = 1
        for one in weather:
            if stream.random() * 100 < one.lost_percent:
                self.emit(told.MessageTroubled(at_us=self.now_us, message=kind, how="lost"))
                return 0
            if stream.random() * 100 < one.doubled_percent:
                self.emit(told.MessageTroubled(at_us=self.now_us, message=kind, how="doubled"))
                copies += 1
        return copies

    def doubled(self, kind: str) -> bool:
        """Whether a message of that kind comes twice now, where it is no message of its own here."""
        weather = self.troubles.weather(kind)
        if not weather:
            return False
        stream = self._message_stream(kind)
        found = any(stream.random() * 100 < one.doubled_percent for one in weather)
        if found:
            self.emit(told.MessageTroubled(at_us=self.now_us, message=kind, how="doubled"))
        return found

    def tell_later(self, event: Heartbeat | Finished | Failed) -> None:
        """Send the scheduler an event."""
        self.send(event, self.tell)

    # What is told of tables

    def expected(self) -> dict[TableId, TableState]:
        """The state of each dynamic table, as it can be told now (R-DVS-37)."""
        now = self.wall_us(0)
        return {
            table: table_state(node, self.scheduler.status(table), now_us=now)
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

    def _misstated(self, table: TableId, state: TableState, what: str) -> None:
        self.emit(told.Misstated(at_us=self.now_us, table=table, told=state.condition.name, what=what))
