"""The simulated clock: calls and processes come at their times; what falls on one instant, in any order."""

import gc
import random
from collections.abc import Iterator
from typing import Any

from sim.kernel.draws import Clock
from sim.refreshes.model import RefreshWorld, Setup
from sim.refreshes.run import run


def timed_events(ties: random.Random | None, *times_us: int) -> list[tuple[int, str]]:
    """Return the times and names of events, with a call and a process for each time."""
    clock, found = Clock(ties), []

    def waits(at_us: int, name: str) -> Iterator[Any]:
        yield clock.timeout(at_us)
        found.append((int(clock.now), name))

    for number, at_us in enumerate(times_us):
        name = f"call {number}"
        clock.after(at_us, lambda name=name: found.append((int(clock.now), name)))
        clock.process(waits(at_us, f"process {number}"))
    clock.run(until=1_000)
    return found


def test_calls_and_processes_come_at_their_times() -> None:
    """Whatever the order in which they were asked for."""
    assert timed_events(None, 30, 10) == [
        (10, "call 1"),
        (10, "process 1"),
        (30, "call 0"),
        (30, "process 0"),
    ]


def test_what_falls_on_one_instant_comes_in_each_order() -> None:
    """A call before a process, and after it; the same from the same draws."""
    orders = {tuple(timed_events(random.Random(seed), 5)) for seed in range(20)}
    assert orders == {((5, "call 0"), (5, "process 0")), ((5, "process 0"), (5, "call 0"))}
    assert timed_events(random.Random(1), 5, 5, 5) == timed_events(random.Random(1), 5, 5, 5)


def test_a_run_leaves_the_garbage_collector_as_it_was() -> None:
    """It looks less often meanwhile."""
    before = gc.get_threshold()
    run(Setup(world=RefreshWorld(until_us=1, settle_us=0)), seed=0)
    assert gc.get_threshold() == before
