"""One workload in two refresh modes: refreshes make the same of the same, unless something is wrong."""

from pathlib import Path

import pytest

from mutants.refreshes import MUTANTS
from pruning.errors import InputError
from sim.files import read
from sim.kernel.expecting import RunMeasures, missed_expectations
from sim.kernel.scenario_schema import convert_scenario, parse_toml
from sim.kernel.varying import Case, all_cases, cases_with
from sim.refreshes.cloud import CORRECT, RefreshImplementations
from sim.refreshes.results import results
from sim.refreshes.run import run
from sim.refreshes.scenario import RefreshScenario

REPLAY = Path(__file__).parents[2] / "sim" / "scenarios" / "replay-on-two-configurations.toml"
HEAD = 'title = ""\nclaim = ""\nsimulates = "dynamic tables"\n'
CREATED = "CREATE TABLE s.t (k INTEGER)"


def replay_case(case: Case, seed: int, implementations: RefreshImplementations) -> RunMeasures:
    """Run a case with other implementations; return its measures."""
    given = case.scenario
    assert isinstance(given, RefreshScenario)
    played = run(given.setup, given.plan(seed), seed=seed, implementations=implementations)
    return RunMeasures(case=case, seed=seed, measures={}, results=results(played))


def disagreement(implementations: RefreshImplementations) -> list[str]:
    """Return the disagreements of the two refresh modes on one warehouse."""
    given = read(REPLAY)
    two = cases_with(given, ["fixed_us=20_000_000", "workers=4"])
    found = [replay_case(case, seed, implementations) for case in two for seed in range(3)]
    return [one.what for one in missed_expectations(given, found) if one.measure == "results"]


def test_two_modes_agree_and_a_broken_one_is_found_without_any_truth() -> None:
    """SIM-14, R-DVS-110. [D] 6.1: production's workload, on two configurations."""
    assert disagreement(CORRECT) == []
    for name in ("NULL group dropped", "skip loses an interval"):
        assert any("is not that of mode" in what for what in disagreement(MUTANTS[name].implementations))


def missed_agreements(of_settings: list[tuple[bool, dict[str, str]]]) -> list[str]:
    """Return the missed agreements of runs, each given by whether it has faults and by its results."""
    text = f'{HEAD}sql = "{CREATED}"\n[vary]\n"world.persisted" = [true, false]\n'
    given = read_text(text + '[[agree]]\nacross = "world.persisted"\nmin = 2\n')
    by_setting = {case.settings["world.persisted"]: case for case in all_cases(given)}
    runs = [
        RunMeasures(case=by_setting[setting], seed=0, measures={}, results=found)
        for setting, found in of_settings
    ]
    return [one.what for one in missed_expectations(given, runs)]


def read_text(text: str) -> RefreshScenario:
    """Return the scenario of a text."""
    return convert_scenario(parse_toml(text), RefreshScenario)


def test_runs_agree_in_what_they_share_and_share_enough() -> None:
    """A result that only one run has does not count."""
    one, other = {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "2", "d": "4"}
    assert missed_agreements([(True, one), (False, other)]) == []
    (wrong,) = missed_agreements([(True, one), (False, {**other, "b": "5"})])
    assert wrong == "b is not that of persisted false"
    (all_wrong,) = missed_agreements([(True, one), (False, {"a": "0", "b": "5"})])
    assert all_wrong == "a is not that of persisted false, nor is 1 more"
    (few,) = missed_agreements([(True, one), (False, {"a": "1"})])
    assert few == "1 are shared with persisted false, not 2 or more: the claim was not put to the test"
    assert missed_agreements([(True, one)]) == ["no two runs to compare: the claim was not put to the test"]


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        (f'sql = "{CREATED} $mode"', "`sql` has $mode, and [words] does not tell"),
        (f'sql = "{CREATED}"\n[words]\nmode = "FULL"', "the word mode stands nowhere in `sql`: write $mode"),
        (f'sql = "{CREATED} $ "', "`sql` has a $ without a name"),
    ],
)
def test_a_word_that_is_not_given_or_not_used_is_told(rest: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        read_text(f"{HEAD}{rest}\n")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_word_varies() -> None:
    text = f'{HEAD}sql = "{CREATED} $word"\n[words]\nword = "x"\n[vary]\n"words.word" = ["y", "z"]\n'
    found = [case.scenario for case in all_cases(read_text(text))]
    assert [one.setup.statement[0].sql for one in found if isinstance(one, RefreshScenario)] == [
        f"{CREATED} y",
        f"{CREATED} z",
    ]
