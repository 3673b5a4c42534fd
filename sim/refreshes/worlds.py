"""Draw a whole small account from one seed: its tables, its users, and its faults."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from sim.refreshes.cloud import CORRECT, RefreshImplementations
from sim.refreshes.drawing import (
    disturbances,
    dividing_table,
    drawn_readers,
    drawn_statements,
    drawn_writer,
    late_join,
)
from sim.refreshes.faults import (
    AnyFault,
    Failing,
    Late,
    Poison,
    RefreshMessageFaults,
    SchedulerCrash,
    Skew,
    Slow,
    Surgery,
    Targets,
    draw_faults,
)
from sim.refreshes.model import MINUTE_US, RefreshWarehouse, RefreshWorld, Setup, Statement
from sim.refreshes.run import RefreshRun, run

BASES_MAX, TABLES_MAX, FAULTS_MAX = 4, 5, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRefreshWorld:
    """The drawn input of a run."""

    setup: Setup
    faults: Sequence[AnyFault]
    targets: Targets

    def run(self, seed: int, implementations: RefreshImplementations = CORRECT) -> RefreshRun:
        """Run the world; the seed decides all else: durations, and the fates of messages and workers."""
        return run(self.setup, self.faults, seed=seed, implementations=implementations)


def _clocks_differ(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    """Skew all clocks but the scheduler's so far that users write after a refresh with earlier timestamps."""
    ends = [(-3_000_000, 3_000_000), *[(-12_000_000, 3_000_000)] * (targets.nodes - 1)]
    return [
        Skew(from_us=0, until_us=targets.span_us, node=node, offset_us=draw.randint(*end))
        for node, end in enumerate(ends)
    ]


def _clocks_step_back(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    return [
        Skew(
            from_us=draw.randrange(targets.span_us),
            until_us=targets.span_us,
            node=node,
            offset_us=-draw.randint(20, 90) * 1_000_000,
        )
        for node in range(1, targets.nodes)
    ]


def _some_are_late(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    """Delay refreshes so that their sources have gone on when they begin."""
    return [
        Late(from_us=0, until_us=targets.span_us, table=table, delay_us=draw.randint(50, 100) * 1_000_000)
        for table in targets.tables[1:]
        if draw.random() < 0.5
    ]


def _tables_come_late(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    """Create tables late, over tables that have gone on, each at its own pace."""
    faults = []
    for name in ("s.l0", "s.l1", "s.l2"):
        begin = draw.randrange(targets.span_us)
        sql = late_join(draw, name, targets.tables)
        faults.append(Surgery(from_us=begin, until_us=targets.span_us, sql=sql))
    return faults


def _the_lost_come_back(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    """Let refreshes that nobody hears of end after those that followed them have failed, and others began."""
    return [
        Slow(from_us=40_000_000, until_us=60_000_000, slowdown=300),
        RefreshMessageFaults(from_us=0, until_us=300_000_000, lost_percent=100, only="Heartbeat"),
        Failing(from_us=100_000_000, until_us=draw.randint(180, 280) * 1_000_000),
    ]


def _all_comes_twice(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    return [
        RefreshMessageFaults(
            from_us=0, until_us=targets.span_us, doubled_percent=60, delay_us_max=draw.choice((0, 9_000_000))
        )
    ]


def _failures_come_late(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    return [
        Failing(from_us=0, until_us=targets.span_us, percent=50),
        RefreshMessageFaults(
            from_us=0,
            until_us=targets.span_us,
            doubled_percent=60,
            delay_us_max=10_000_000,
            only="Failed",
        ),
    ]


def _columns_are_renewed(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    base = draw.choice(targets.bases)
    drop, add = f"ALTER TABLE {base} DROP COLUMN k", f"ALTER TABLE {base} ADD COLUMN k INTEGER"
    return [Surgery(from_us=100_000_000, until_us=160_000_000, sql=drop, undo=(add,))]


def _errors_come_and_go(draw: random.Random, targets: Targets) -> Sequence[AnyFault]:
    base = draw.choice(targets.bases)
    if draw.random() < 0.5:
        return [Poison(from_us=30_000_000, until_us=400_000_000, table=base)]
    return [
        Poison(from_us=from_us, until_us=from_us + 100_000_000, table=base)
        for from_us in (50_000_000, 195_000_000, 340_000_000)
    ]


def _scheduler_is_lost(seed: int, span_us: int) -> Sequence[AnyFault]:
    """Lose the scheduler in one world of four, drawn from a stream of its own so that no other draw moves."""
    draw = random.Random(f"{seed}/scheduler")
    if draw.randrange(4):
        return ()
    begin_us = draw.randrange(span_us)
    lasts_us = draw.choice((1, 100_000, 20_000_000, 100_000_000))
    return [SchedulerCrash(from_us=begin_us, until_us=min(begin_us + lasts_us, span_us))]


# Each seed has one theme: if everything is drawn at once, rare conjunctions never come (swarm testing).
_THEMES = (
    *(None, None),
    *(_clocks_differ, _clocks_step_back, _all_comes_twice, _failures_come_late, _errors_come_and_go),
    *(_columns_are_renewed, _some_are_late, _tables_come_late, _the_lost_come_back),
)


def small_world(seed: int) -> SmallRefreshWorld:
    """Draw the world of a seed, with its faults."""
    draw = random.Random(f"{seed}/refreshes")
    bases = [f"s.b{number}" for number in range(draw.randint(2, BASES_MAX))]
    tables = [f"s.d{number}" for number in range(draw.randint(2, TABLES_MAX))]
    world = RefreshWorld(
        nodes=draw.randint(2, 3),
        noticed_us=draw.choice((0, 2_000_000)),
        delay_us_max=draw.choice((5_000, 2_000_000)),
        until_us=8 * MINUTE_US,
        settle_us=12 * MINUTE_US,
    )
    warehouse = RefreshWarehouse(
        workers=draw.randint(1, 3),
        fixed_us=draw.choice((200_000, 1_500_000)),
        row_us=draw.choice((0, 20_000)),
    )
    statements = [Statement(sql=text) for text in drawn_statements(draw, bases, tables)]
    askers = random.Random(f"{seed}/askers")
    statements += [
        Statement(
            sql=f"ALTER DYNAMIC TABLE {draw.choice(tables)} REFRESH",
            at_us=draw.randrange(world.until_us),
            node=askers.randrange(world.nodes),
        )
        for _ in range(draw.choice((0, 0, 1, 3)))
    ]
    written = [*bases, draw.choice(bases)]
    writers = [drawn_writer(draw, name, bases, world.nodes) for name in written]
    readers = drawn_readers(draw, tables, bases, world.nodes)
    theme = random.Random(f"{seed}/theme").choice(_THEMES)
    if theme is _the_lost_come_back:
        # Each lost refresh takes minutes; there must be workers left for the refreshes that follow it.
        warehouse = msgspec.structs.replace(warehouse, workers=16, fixed_us=1_500_000)
    if theme is _errors_come_and_go:
        statements += [Statement(sql=dividing_table(f"s.e{base[3:]}", base)) for base in bases]
    setup = Setup(
        world=world,
        warehouse=(warehouse,),
        statement=tuple(statements),
        writer=tuple(writers),
        reader=tuple(readers),
    )
    troubles = random.Random(f"{seed}/faults")
    targets = Targets(
        nodes=world.nodes,
        bases=bases,
        tables=tables,
        surgeries=disturbances(troubles, bases, tables),
        span_us=world.until_us,
    )
    plan: tuple[AnyFault, ...] = draw_faults(troubles, targets, count_max=FAULTS_MAX)
    plan += tuple(theme(troubles, targets)) if theme else ()
    plan += tuple(_scheduler_is_lost(seed, targets.span_us))
    return SmallRefreshWorld(setup=setup, faults=plan, targets=targets)
