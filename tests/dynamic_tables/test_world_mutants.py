"""Mutants of the engine, the scheduler, clocks and tables: random worlds tell each from ours."""

from random import Random

import pytest
from scheduler_bench import Bench, created
from world_actions import run
from world_mutants import MUTANTS, NaiveStart

SEEDS = 200
LENGTH = 150


def is_seen(world, said):
    """Whether a promise that is broken, or an assertion, says so under one of the seeds."""
    for seed in range(SEEDS):
        try:
            run(world(), Random(seed), LENGTH)
        # A `Violation` is one too. Any other exception means that the mutant itself is misspelled.
        except AssertionError as error:
            if str(error).startswith(said):
                return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_random_worlds_kill(mutant):
    """R-DVS-110. Each mutant is seen within 200 seeds, by the promise that it breaks."""
    where, said = MUTANTS[mutant]
    assert is_seen(where(mutant), said)


def test_a_naive_initial_timestamp_costs_a_quadratic_number_of_refreshes():
    """R-DVS-10. Started from its creation each time, a chain of n costs n(n+1)/2 refreshes, which is seen."""
    bench = Bench(scheduler=NaiveStart())
    for number in range(8):
        todo = created(bench, f"t{number}", *([f"t{number - 1}"] if number else []), second=number)
        while todo:
            todo = [table for one in todo for table in bench.finish(one)]
    assert len(bench.starts) == 8 * 9 / 2
