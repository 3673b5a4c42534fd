"""Run one world; no other module of this package builds a clock and seeds it."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from dynamic_tables.catalog.applying import CLONED
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.scheduling.states import TableState
from sim.kernel.draws import Clock, Draws
from sim.kernel.trace import FaultBegan, FaultEnded, Trace
from sim.refreshes.cloud import CORRECT, Cloud, RefreshImplementations, Waits
from sim.refreshes.events import Purged
from sim.refreshes.faults import AnyFault, NodeCrash, Poison, Purge, RefreshFaultPlan, SchedulerCrash, Surgery
from sim.refreshes.judging import judge_lags
from sim.refreshes.model import Setup
from sim.refreshes.recording import Record
from sim.refreshes.semantics import implementations_for
from sim.refreshes.users import Users
from sim.refreshes.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRun:
    """The input of one run, and its outcome.

    Attributes:
        states: The state of each dynamic table at the end.
        quiet_us: The time at which users and faults had ended.
    """

    setup: Setup
    faults: Sequence[AnyFault]
    seed: int
    trace: Trace
    record: Record
    states: dict[str, TableState]
    quiet_us: int
    ended_us: int


def run(
    setup: Setup,
    faults: Sequence[AnyFault] = (),
    *,
    seed: int,
    implementations: RefreshImplementations = CORRECT,
    shuffled: bool = True,
) -> RefreshRun:
    """Run an account with its users and faults, and then let it settle.

    Args:
        shuffled: True if the events of one instant come in a drawn order.
    """
    draws = Draws(seed)
    env = Clock(draws.stream("ties") if shuffled else None)
    troubles = RefreshFaultPlan(faults, lambda: env.now_us)
    cloud = Cloud(
        env,
        setup=setup,
        troubles=troubles,
        seeded=draws,
        implementations=implementations_for(setup, implementations),
    )
    workers, users = Workers(cloud), Users(cloud)
    cloud.refresh = workers.start
    for at, statement in enumerate(setup.statement):
        if statement.at_us:
            env.process(users.executes(statement))
        else:
            # Statements at time 0 keep their order, a little apart.
            env.process(users.executes(msgspec.structs.replace(statement, at_us=1_000 * at)))
    for number, writer in enumerate(setup.writer):
        env.process(users.writes(writer, number))
    for number, reader in enumerate(setup.reader):
        env.process(users.reads(reader, number))
    for fault in faults:
        env.process(_run_fault(fault, cloud, users))
    quiet_us = max(troubles.over_us, setup.world.until_us)
    env.process(_resume_tables(cloud, quiet_us))
    ended_us = quiet_us + setup.world.settle_us
    with _rare_collection():
        env.run(until=ended_us)
    states = cloud.expected()
    cloud.trace += judge_lags(cloud, states, ended_us)
    return RefreshRun(
        setup=setup,
        faults=faults,
        seed=seed,
        trace=cloud.trace,
        record=cloud.record,
        states=states,
        quiet_us=quiet_us,
        ended_us=ended_us,
    )


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Make the garbage collector look less often: most objects of a run are in no cycle and freed at once."""
    youngest, *older = gc.get_threshold()
    gc.set_threshold(100 * youngest, *older)
    try:
        yield
    finally:
        gc.set_threshold(youngest, *older)


def _run_fault(fault: AnyFault, cloud: Cloud, users: Users) -> Waits:
    """Begin a fault, wait, and end it."""
    env = cloud.env
    yield env.timeout(fault.from_us)
    what = msgspec.json.encode(fault).decode()
    cloud.emit(FaultBegan(at_us=cloud.now_us, fault=what))
    lasts_us = fault.until_us - fault.from_us
    match fault:
        case NodeCrash(node=node):
            cloud.crash(node)
            yield env.timeout(lasts_us)
        case SchedulerCrash():
            cloud.lose_scheduler()
            yield env.timeout(lasts_us)
            cloud.start_scheduler()
        case Poison(table=name):
            place = users.poison(name, 0)
            yield env.timeout(lasts_us)
            if place is not None:
                users.heal(place, 0)
        case Surgery(sql=sql, undo=undo):
            done = cloud.execute(sql, 0)
            yield env.timeout(lasts_us)
            for text in undo if done else ():
                cloud.execute(text, 0)
        case Purge(keep_us=keep_us):
            horizon_us = max(0, cloud.now_us - keep_us)
            with cloud.asserting:
                cloud.account.purge(horizon_us)
            cloud.emit(Purged(at_us=cloud.now_us, horizon_us=horizon_us))
            yield env.timeout(lasts_us)
        case _:
            yield env.timeout(lasts_us)
    cloud.emit(FaultEnded(at_us=cloud.now_us, fault=what))


def _resume_tables(cloud: Cloud, quiet_us: int) -> Waits:
    """Resume suspended tables except clones once all is quiet, as an operator would."""
    yield cloud.env.timeout(quiet_us + 1)
    for entity in list(cloud.account.catalog.state.entities.values()):
        if entity.kind is EntityKind.DYNAMIC_TABLE and entity.suspended not in (None, CLONED):
            cloud.execute(f"ALTER DYNAMIC TABLE {entity.name} RESUME", 0)
