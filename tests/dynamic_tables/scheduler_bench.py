"""A scheduler on a bench: graphs in a line, events by name, commands that are kept."""

from dynamic_tables.catalog.ddl import Initialize
from dynamic_tables.catalog.graphs import Node
from dynamic_tables.catalog.lags import MINUTE_US
from dynamic_tables.scheduling.events import (
    Failed,
    Fault,
    Finished,
    GraphChanged,
    Heartbeat,
    ManualRefresh,
    StartRefresh,
    TableUpdate,
    Tick,
    Timer,
)
from dynamic_tables.scheduling.scheduler import TICK_US, Scheduler

SECOND_US = 1_000_000
CREATE = {"initialize": Initialize.ON_CREATE}


def node(table, *upstream, lag=MINUTE_US, suspended=None, initialize=Initialize.ON_SCHEDULE, created_us=0):
    """A table over base table `b` and others."""
    return Node(
        table=table, upstream=upstream, base=("b",), missing=(), lag=lag, warehouse="w",
        suspended=suspended, initialize=initialize, created_us=created_us,
    )  # fmt: skip


class Bench:
    """Times are seconds after the first tick; tick n is at 48 n."""

    def __init__(self, *nodes, scheduler=None):
        self.scheduler = scheduler or Scheduler()
        self.seconds = 0
        self.starts = []
        self.said = []
        if nodes:
            self.change(*nodes)

    def step(self, event):
        """Give an event; the commands but for timers."""
        commands = self.scheduler.step(int(self.seconds * SECOND_US), event)
        commands = [command for command in commands if not isinstance(command, Timer)]
        self.starts += [command for command in commands if isinstance(command, StartRefresh)]
        self.said += commands
        return commands

    def at(self, seconds):
        """Let time pass."""
        self.seconds = seconds
        return self.step(Tick())

    def tick(self, number):
        """Let a tick come; the tables started."""
        return started(self.at(number * 48))

    def change(self, *nodes, dropped=(), data_us=None, readable_from_us=0):
        known = tuple(TableUpdate(node, data_us, readable_from_us) for node in nodes)
        return self.step(GraphChanged(known, dropped))

    def finish(self, table, data=None, *, changed=True):
        """End a refresh; the tables started by that."""
        job = self.scheduler.status(table)
        data_us = job.target_us if data is None else data * SECOND_US
        return started(self.step(Finished(table, data_us, changed)))

    def fail(self, table, fault=Fault.USER):
        job = self.scheduler.status(table)
        return self.step(Failed(table, job.target_us, job.attempt, fault))

    def beat(self, table):
        job = self.scheduler.status(table)
        return self.step(Heartbeat(table, job.target_us, job.attempt))

    def manual(self, table, *, asked=0):
        return self.step(ManualRefresh(table, int(asked * SECOND_US)))

    def status(self, table):
        return self.scheduler.status(table)

    def lag(self, table):
        """How many seconds a table is behind; None before its first refresh."""
        data_us = self.status(table).data_us
        return None if data_us is None else self.seconds - data_us / SECOND_US


def started(commands):
    """The tables that commands start."""
    return [command.table for command in commands if isinstance(command, StartRefresh)]


def said(commands):
    """Commands in short: their kind, the table, and the tick where there is one."""
    short = []
    for command in commands:
        data_us = getattr(command, "data_us", None)
        tick = () if data_us is None else (data_us / TICK_US,)
        short.append((type(command).__name__, command.table, *tick))
    return short


def created(bench, table, *upstream, second=None, **options):
    """Create a table that is to be initialized at once; the tables started."""
    bench.seconds = bench.seconds if second is None else second
    created_us = int(bench.seconds * SECOND_US)
    return started(bench.change(node(table, *upstream, created_us=created_us, **CREATE, **options)))
