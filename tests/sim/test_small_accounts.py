"""SIM-10 to SIM-13: accounts of dynamic tables hold whatever goes wrong; what is wrong is found out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from repeating import printed_twice
from searches import find_seed

from dynamic_tables.refreshes.accounts import Account
from dynamic_tables.storage.netting import RepeatedRow
from mutants.refreshes import MUTANTS
from sim.kernel.scenario_schema import Violation
from sim.refreshes.checks import violations
from sim.refreshes.cloud import CORRECT, RefreshImplementations
from sim.refreshes.events import Broken
from sim.refreshes.faults import AnyFault, Purge
from sim.refreshes.histories import histories
from sim.refreshes.measures import measures
from sim.refreshes.model import Setup
from sim.refreshes.run import run
from sim.refreshes.worlds import SmallRefreshWorld, small_world
from skipproof.simulations.judging import judge_histories
from strategies.faults.refresh_faults import refresh_fault_plans

SEEDS_AT_ONCE = 25
SEEDS_TO_CATCH = 200
# Assertions of the code; anything else that is raised breaks no promise: the mutant crashed.
ASSERTIONS = ("AssertionError", "MissingRow", "RepeatedRow", "DuplicateRowId")


def wrong(
    world: SmallRefreshWorld, seed: int, implementations: RefreshImplementations = CORRECT
) -> Iterable[Violation]:
    """Return the violations of a run, including those of its history's isolation."""
    run = world.run(seed, implementations)
    return violations(run) or judge_histories(histories(run))[1]


@pytest.mark.parametrize("part", range(4))
def test_no_promise_of_dynamic_tables_is_broken(part: int, deep: bool) -> None:
    """SIM-10, R-DVS-62, R-DVS-63. 100 seeds; 1,000 in a deep run."""
    count = SEEDS_AT_ONCE * (10 if deep else 1)
    for seed in range(part * count, (part + 1) * count):
        assert wrong(small_world(seed), seed) == []


def catches(violation: Violation) -> bool:
    """Tell whether a violation is a mutant's fault, and not an error that any broken code raises."""
    return violation.invariant != "DVS-13" or violation.what.partition(":")[0] in ASSERTIONS


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_each_mutant_of_refreshes_is_caught(name: str) -> None:
    """SIM-11. Within 200 seeds; the project's own run of that seed is right."""
    implementations = MUTANTS[name].implementations
    seed = find_seed(
        SEEDS_TO_CATCH, lambda seed: any(map(catches, wrong(small_world(seed), seed, implementations)))
    )
    assert seed is not None, f"{name} survives {SEEDS_TO_CATCH} seeds"
    assert wrong(small_world(seed), seed) == []


def test_isolation_alone_finds_tables_that_are_read_as_of_a_time() -> None:
    """DVS-14 and DVS-15 can fail, whatever else does."""
    implementations, found = MUTANTS["upstream by commit time"].implementations, set[str]()
    for seed in range(SEEDS_TO_CATCH):
        found |= {
            one.invariant
            for one in judge_histories(histories(small_world(seed).run(seed, implementations)))[1]
        }
        if found == {"DVS-14", "DVS-15"}:
            return
    pytest.fail(f"only {found} in {SEEDS_TO_CATCH} seeds")


PRINTED = """
import sys
from sim.refreshes.worlds import small_world
from sim.kernel.trace import lines
for seed in range(6):
    for line in lines(small_world(seed).run(seed).trace):
        sys.stdout.buffer.write(line)
"""


def test_the_same_seed_gives_the_same_refreshes_byte_for_byte() -> None:
    """SIM-12. Whatever the hashes of strings are."""
    printed_twice(PRINTED)


# A run of a world takes long beside drawing its faults, and a plan of many faults is meant to be large.
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_no_plan_of_faults_breaks_a_promise(data: st.DataObject) -> None:
    """SIM-10, where Hypothesis chooses what goes wrong, so that what fails becomes small."""
    seed = data.draw(st.integers(0, 50))
    world = small_world(seed)
    assert wrong(replace(world, faults=data.draw(refresh_fault_plans(world.targets))), seed) == []


def test_what_breaks_a_promise_shrinks_to_the_one_fault_that_it_takes() -> None:
    """A scheduler that hears of no failure of the system needs one."""
    seed = 1
    world = small_world(seed)
    deaf = MUTANTS["deaf to failures"].implementations

    def fails(plan: tuple[AnyFault, ...]) -> bool:
        return bool(violations(replace(world, faults=plan).run(seed, deaf)))

    options = settings(max_examples=300, derandomize=True, database=None)
    assert len(find(refresh_fault_plans(world.targets), fails, settings=options)) == 1


def test_what_a_purge_raises_is_told_and_the_world_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that holds what cannot be may raise wherever it is read."""

    def raises(account: Account, horizon_us: int) -> None:
        raise RepeatedRow("row r1 is inserted but exists")

    monkeypatch.setattr(Account, "purge", raises)
    done = run(Setup(), [Purge(from_us=1_000, until_us=1_000)], seed=0)
    assert [(event.at_us, event.what) for event in done.trace if isinstance(event, Broken)] == [
        (1_000, "RepeatedRow: row r1 is inserted but exists")
    ]


def test_drawn_accounts_reach_what_they_are_for() -> None:
    """SIM-13. Each action, each way to fail and to be passed over, each kind of fault."""
    reached: Counter[str] = Counter()
    for seed in range(80):
        world = small_world(seed)
        run = world.run(seed)
        reached.update(name for name, value in measures(run).items() if value)
        reached.update(type(fault).__name__ for fault in world.faults)
    wanted = {
        *("no_data", "full", "incremental", "reinitialize", "skipped_busy", "skipped_upstream", "manual"),
        *("initial", "failed_user", "failed_system", "died", "committed_already", "flagged", "refused"),
        *("messages_lost", "messages_doubled", "writes_aborted", "attempts_again", "suspended"),
        *(
            "NodeCrash",
            "WorkerDies",
            "Slow",
            "Failing",
            "Late",
            "Skew",
            "RefreshMessageFaults",
            "Poison",
            "Purge",
        ),
        *("Surgery", "SchedulerCrash", "restarts"),
    }
    assert {name for name in wanted if reached[name] < 2} == set()
