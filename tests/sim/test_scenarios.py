"""SIM-5, SIM-6: scenarios hold, show what they claim, repeat themselves, and say what is wrong with them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from budget import sampled
from repeating import printed_twice
from typer.testing import CliRunner

from pruning.errors import InputError
from sim.files import read
from sim.kernel.expecting import RunMeasures, missed_expectations
from sim.kernel.varying import Case, all_cases
from sim.scans.scenario import Scenario, scenario
from skipproof.commands.cli import app
from skipproof.simulations.simulating import run_case

SCENARIOS = sorted((Path(__file__).parents[2] / "sim" / "scenarios").glob("*.toml"))
NAMES = [path.stem for path in SCENARIOS]
# These take a quarter of a minute each; a default run only compares two runs of their first seed.
LONG = ("bi-workload", "metadata-columnar-or-footers")
SEEDS_AT_MOST, BLOCKS_AT_MOST = 20, 1_000
BLOCKS_AT_MOST_DEEP = 100_000
UNBOUNDED = sys.maxsize
PRINTED = """
import sys
from pathlib import Path
from sim.files import read
from sim.kernel.trace import lines
for path in sys.argv[1:]:
    print(path, flush=True)
    for line in lines(read(Path(path)).play(7).trace):
        sys.stdout.buffer.write(line)
    sys.stdout.flush()
"""
HEAD = 'title = ""\nclaim = ""\n'
TABLE = '[[table]]\nname = "t"\nblocks = 2\nrows_per_block = 2\n'


@pytest.mark.parametrize(
    "path", sampled(SCENARIOS, default=[path for path in SCENARIOS if path.stem not in LONG]), ids=NAMES
)
def test_a_scenario_holds_and_shows_what_it_claims(path: Path, deep: bool, exhaustive: bool) -> None:
    """SIM-5. On its first seeds and small tables; a deep run takes all seeds and larger tables."""
    parsed = read(path)
    count = parsed.seeds.count if deep else min(parsed.seeds.count, SEEDS_AT_MOST)
    blocks_max = UNBOUNDED if exhaustive else BLOCKS_AT_MOST_DEEP if deep else BLOCKS_AT_MOST
    runs, chosen = [], [case for case in all_cases(parsed) if _block_count(case) <= blocks_max]
    for case in chosen:
        for seed in range(parsed.seeds.first, parsed.seeds.first + count):
            run = run_case(case, seed)
            assert run.violations == ()
            runs.append(run)
    assert parsed.expect or parsed.where or parsed.compare
    missed = [
        miss
        for miss in missed_expectations(parsed, runs)
        if miss.seed is not None or len(chosen) == len(all_cases(parsed))
    ]
    assert missed == []


def _block_count(case: Case) -> int:
    """Return the number of blocks of the largest table; 0 of a scenario of refreshes or drawn worlds."""
    parsed = case.scenario
    return max((table.blocks for table in parsed.table), default=0) if isinstance(parsed, Scenario) else 0


def test_each_scenario_repeats_itself_byte_for_byte() -> None:
    """SIM-6. Whatever the hashes of strings are."""
    printed_twice(PRINTED, *map(str, SCENARIOS))


def test_an_expectation_that_is_not_met_is_told() -> None:
    """Of one seed where each must meet it, and of none where one must."""
    given = scenario(
        HEAD + "[expect]\nrequests = { min = 5, max = 6 }\nstolen = { some = 2 }\n"
        f"{TABLE}"
        '[[query]]\nsql = "SELECT * FROM t"\n'
    )
    (case,) = all_cases(given)
    found = [
        RunMeasures(case=case, seed=0, measures={"requests": 4, "stolen": 1}),
        RunMeasures(case=case, seed=1, measures={"requests": 7, "stolen": 0}),
    ]
    told = [(one.measure, one.seed, one.what) for one in missed_expectations(given, found)]
    assert told == [
        ("requests", 0, "4, not 5 or more"),
        ("requests", 1, "7, not 6 or less"),
        ("stolen", None, "1 at most, and 2 in no seed: the claim was not put to the test"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title = 1", "Expected `str`, got `int` - at `title`"),
        ("title = ", "no TOML"),
        (HEAD + "fast = true", "unknown field `fast`"),
        (
            HEAD + "[world.warehouse]\nspeed = 1",
            "unknown field `speed` - at `world.warehouse`",
        ),
        (HEAD + '[[fault]]\nkind = "flood"', "Invalid value 'flood' - at `fault[0].kind`"),
        (HEAD, "it needs a [[table]] and a [[query]]"),
        (f"{HEAD}drawn = true\n{TABLE}", "name none of them"),
        (f'{HEAD}{TABLE}[[query]]\nsql = "SELECT k FROM t"', "must begin with SELECT *"),
        (
            f'{HEAD}{TABLE}[[query]]\nsql = "SELECT * FROM u"',
            "u is no table of the scenario",
        ),
        (f'{HEAD}{TABLE}[[query]]\nsql = "SELECT * FROM t WHERE k + 1 = 2"', "no Add here"),
        (f'{HEAD}{TABLE}[[query]]\nsql = "SELECT * FROM t ORDER BY k"', "needs a LIMIT"),
        (
            f'{HEAD}{TABLE}[[query]]\nsql = "SELECT * FROM t"\n'
            '[[fault]]\nkind = "crash"\nnode = 9\nfrom_us = 0\nuntil_us = 1',
            "a fault befalls node 9, and there are nodes 0 to 3",
        ),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        scenario(text)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_command_runs_a_scenario_and_its_status_is_the_verdict(tmp_path: Path) -> None:
    path = str(next(one for one in SCENARIOS if one.stem == "limit-over-many-nodes"))
    trace = tmp_path / "trace.jsonl"
    ran = CliRunner().invoke(app, ["simulate", path, "--seed", "3", "--json", "--trace", str(trace)])
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    assert found["held"]
    assert [run["seed"] for run in found["runs"]] == [3]
    assert found["runs"][0]["measures"]["blocks_read"] == 1
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    assert events[0]["event"] == "NodeStarted"
    assert any(event["event"] == "QueryEnded" for event in events)
    plain = CliRunner().invoke(app, ["simulate", path, "--seeds", "0:2"])
    assert plain.exit_code == 0
    assert "2 runs: 0 violate an invariant" in plain.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nosuch.toml"], "nosuch.toml: it cannot be read"),
        (["x.toml", "--seeds", "7"], "give the first seed and how many there are"),
        (["x.toml", "--seed", "1", "--seeds", "0:2"], "give one of them"),
        (["x.toml", "--trace", "t"], "give --seed N"),
    ],
)
def test_bad_usage_is_told_in_one_sentence(
    run: Callable[..., tuple[int, str, str]], arguments: list[str], sentence: str
) -> None:
    status, _, errors = run("simulate", *arguments)
    assert status == 2
    assert sentence in errors
    assert len(errors.strip().splitlines()) == 1
