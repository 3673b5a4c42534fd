"""Mutants of the engine, the scheduler, clocks and tables: random worlds tell each from ours."""

from random import Random

import pytest
from scheduler_bench import Bench, created
from searches import find_seed
from small_world import World
from world_actions import run

from mutants.accounts import MUTANTS
from mutants.schedulers import at_creation, with_policy

SEEDS = 200
LENGTH = 150


def world_of(mutant):
    return World(engine=mutant.engine, scheduler=mutant.scheduler(), clock=mutant.clock, table=mutant.table)


def is_seen(mutant, seed):
    """Tell whether a promise that is broken, or an assertion, says so under a seed."""
    try:
        run(world_of(mutant), Random(seed), LENGTH)
    # A `Violation` is one too. Any other exception means that the mutant itself is misspelled.
    except AssertionError as error:
        return str(error).startswith(mutant.message)
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_random_worlds_kill(name):
    """R-DVS-110. Each mutant is seen within 200 seeds, by the promise that it breaks."""
    assert find_seed(SEEDS, lambda seed: is_seen(MUTANTS[name], seed)) is not None


def test_a_naive_initial_timestamp_costs_a_quadratic_number_of_refreshes():
    """R-DVS-10. Started from its creation each time, a chain of n costs n(n+1)/2 refreshes, which is seen."""
    bench = Bench(scheduler=with_policy(first_timestamp=at_creation)())
    for number in range(8):
        todo = created(bench, f"t{number}", *([f"t{number - 1}"] if number else []), second=number)
        while todo:
            todo = [table for one in todo for table in bench.finish(one)]
    assert len(bench.starts) == 8 * 9 / 2
