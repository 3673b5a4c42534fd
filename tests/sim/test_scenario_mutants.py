"""A scenario of scans tells a world in which its claim is false: an invariant or a bound breaks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mutants.scenarios import MUTANTS, ScenarioMutant
from sim.files import read
from sim.kernel.expecting import RunMeasures, missed_expectations
from sim.kernel.varying import all_cases
from sim.scans.checks import violations
from sim.scans.measures import measures
from sim.scans.scenario import Scenario, world_of_seed

SCENARIOS = Path(__file__).parents[2] / "sim" / "scenarios"
BLOCKS_AT_MOST = 1_000


def is_distinguished(mutant: ScenarioMutant) -> bool:
    """Tell whether the first seed of a scenario fails with its mutant."""
    given = read(SCENARIOS / f"{mutant.stem}.toml")
    assert isinstance(given, Scenario)
    runs = []
    for case in all_cases(given):
        scenario: Any = case.scenario
        if any(table.blocks > BLOCKS_AT_MOST for table in scenario.table):
            continue
        run = world_of_seed(mutant.change(scenario), given.seeds.first).run(
            given.seeds.first, mutant.implementations
        )
        if violations(run):
            return True
        found: Mapping[str, float] = measures(run)
        runs.append(RunMeasures(case=case, seed=given.seeds.first, measures=found))
    return any(one.seed is not None for one in missed_expectations(given, runs))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.stem}: {mutant.what}")
def test_a_scenario_whose_claim_is_false_is_told(mutant: ScenarioMutant) -> None:
    """SIM-5. The first seed is enough."""
    assert is_distinguished(mutant)


def test_each_scenario_of_scans_has_a_mutant() -> None:
    """That of small worlds has the mutants of SIM-2."""
    scans = {path.stem for path in SCENARIOS.glob("*.toml") if isinstance(read(path), Scenario)}
    assert scans - {mutant.stem for mutant in MUTANTS} == {"small-worlds"}
