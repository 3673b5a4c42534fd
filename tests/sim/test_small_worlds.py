"""SIM-1 to SIM-4: whatever goes wrong, every trace holds; and what is wrong on purpose is found out."""

import dataclasses
from collections import Counter

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from repeating import printed_twice
from searches import find_seed

from mutants.scans import MUTANTS
from sim.kernel.trace import FaultBegan, lines
from sim.scans import dispatching
from sim.scans.checks import violations
from sim.scans.events import (
    BlocksRead,
    Ignored,
    MessageDoubled,
    MessageLost,
    QueryEnded,
    ReadFailed,
    ScanPlanned,
    TakenForDead,
    TaskGivenUp,
    TaskSent,
)
from sim.scans.faults import AnyFault
from sim.scans.model import ScanWorld
from sim.scans.queries import QueryKind
from sim.scans.worlds import FAULTS_SPAN_US, WorldTheme, small_world, themed_world
from strategies.faults.scan_faults import fault_plans

SEEDS_AT_ONCE = 25
SEEDS_TO_CATCH = 200


@pytest.mark.parametrize("part", range(4))
def test_no_invariant_is_violated(part: int, deep: bool) -> None:
    """SIM-1. 100 seeds; 1,000 in a deep run."""
    count = SEEDS_AT_ONCE * (10 if deep else 1)
    for seed in range(part * count, (part + 1) * count):
        assert violations(small_world(seed).run(seed)) == []


def _tasks_take_longer_than_their_lease(world: ScanWorld) -> ScanWorld:
    return replace(
        world,
        warehouse=replace(world.warehouse, workers=1, tasks_ahead=2, blocks_per_task=4, guided=0),
        control=replace(world.control, lease_us=200_000, summary_wait_us=10_000_000),
    )


BUSY = WorldTheme(
    kinds=(QueryKind.JOIN,),
    nodes_max=1,
    queries_max=18,
    blocks=(40,),
    filtered=0.0,
    adapt_world=_tasks_take_longer_than_their_lease,
)


@pytest.mark.parametrize("seed", [4, 5])
def test_busy_nodes_are_not_drowned_in_tasks_given_twice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker for many joins: every task outlived its lease, and its report came too late, for ever."""
    world = themed_world(seed, BUSY)
    assert violations(world.run(seed)) == []
    monkeypatch.setattr(dispatching, "LEASE_DOUBLINGS_MAX", 0)
    assert {one.invariant for one in violations(world.run(seed))} == {"ends"}


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_each_mutant_is_caught(name: str) -> None:
    """SIM-2. Within 200 seeds; the project's own run of that seed is right."""
    implementations = MUTANTS[name].implementations
    seed = find_seed(
        SEEDS_TO_CATCH, lambda seed: bool(violations(small_world(seed).run(seed, implementations)))
    )
    assert seed is not None, f"{name} survives {SEEDS_TO_CATCH} seeds"
    assert violations(small_world(seed).run(seed)) == []


PRINTED = """
import sys
from sim.kernel.trace import lines
from sim.scans.worlds import small_world
for seed in range(6):
    for line in lines(small_world(seed).run(seed).trace):
        sys.stdout.buffer.write(line)
"""


def test_the_same_seed_gives_the_same_trace_byte_for_byte() -> None:
    """SIM-3. Whatever the hashes of strings are."""
    printed_twice(PRINTED)


def test_another_seed_gives_another_trace_of_the_same_world() -> None:
    world = small_world(1)
    assert list(lines(world.run(1).trace)) != list(lines(world.run(2).trace))


# A run of a world takes long beside drawing its faults, and a plan of many faults is meant to be large.
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_no_plan_of_faults_violates_an_invariant(data: st.DataObject) -> None:
    """SIM-1, where Hypothesis chooses what goes wrong, so that what fails becomes small."""
    seed = data.draw(st.integers(0, 50))
    world = small_world(seed)
    plans = fault_plans(nodes=world.world.warehouse.nodes, queries=len(world.queries), span_us=FAULTS_SPAN_US)
    assert violations(dataclasses.replace(world, faults=data.draw(plans)).run(seed)) == []


def test_what_fails_shrinks_to_the_one_fault_that_it_takes() -> None:
    """A control plane that forgets the blocks of dead nodes needs one crash, or one node that is cut off."""
    seed, world = 24, small_world(24)
    forgetful = MUTANTS["lost block after a crash"].implementations

    def fails(plan: tuple[AnyFault, ...]) -> bool:
        return bool(violations(dataclasses.replace(world, faults=plan).run(seed, forgetful)))

    plans = fault_plans(nodes=world.world.warehouse.nodes, queries=len(world.queries), span_us=FAULTS_SPAN_US)
    smallest = find(plans, fails, settings=settings(max_examples=400, derandomize=True, database=None))
    assert len(smallest) == 1


def test_drawn_worlds_reach_what_they_are_for() -> None:
    """SIM-4. Each technique at each place where it may act, each kind of fault, and what a fault leads to."""
    reached: Counter[str] = Counter()
    for seed in range(80):
        for event in small_world(seed).run(seed).trace:
            reached[type(event).__name__] += 1
            match event:
                case QueryEnded():
                    reached.update(event.pruned.keys())
                    reached["cancelled"] += event.cancelled
                case ScanPlanned():
                    reached["conjuncts cut"] += event.cut > 0
                    reached["blocks not asked"] += event.unasked > 0
                case TaskSent():
                    reached["stolen"] += event.stolen
                case BlocksRead():
                    reached["from the cache"] += event.cached > 0
                case FaultBegan():
                    reached[event.fault.split('"')[3]] += 1
    wanted = {
        *("filter at compile", "filter at node", "join at control", "join at node", "limit at control"),
        *("topk at control", "topk at node", "conjuncts cut", "blocks not asked", "stolen", "cancelled"),
        *("from the cache", "crash", "straggler", "partition", "weather", "store", "late_metadata", "cancel"),
        *(
            kind.__name__
            for kind in (Ignored, MessageDoubled, MessageLost, ReadFailed, TakenForDead, TaskGivenUp)
        ),
    }
    assert {name for name in wanted if reached[name] < 3} == set()
