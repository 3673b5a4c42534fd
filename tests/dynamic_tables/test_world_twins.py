"""Broken twins of the engine, the scheduler, clocks and tables: random worlds tell each from ours."""

from random import Random

import pytest
from scheduler_bench import Bench, created
from world_actions import run
from world_twins import TWINS, NaiveStart

SEEDS = 200
LENGTH = 150


def is_seen(world, said):
    """Whether a promise that is broken, or an assertion, says so under one of the seeds."""
    for seed in range(SEEDS):
        try:
            run(world(), Random(seed), LENGTH)
        except (
            AssertionError
        ) as error:  # a `Violation` too; all else is no flaw, but a twin that is misspelled
            if str(error).startswith(said):
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_random_worlds_kill(twin):
    """R-DVS-110. Each flaw is seen within 200 seeds, by the promise that it breaks."""
    where, said = TWINS[twin]
    assert is_seen(where(twin), said)


def test_a_naive_initial_timestamp_costs_a_quadratic_number_of_refreshes():
    """R-DVS-10. Started from its creation each time, a chain of n costs n(n+1)/2 refreshes, which is seen."""
    bench = Bench(scheduler=NaiveStart())
    for number in range(8):
        todo = created(bench, f"t{number}", *([f"t{number - 1}"] if number else []), second=number)
        while todo:
            todo = [table for one in todo for table in bench.finish(one)]
    assert len(bench.starts) == 8 * 9 / 2
