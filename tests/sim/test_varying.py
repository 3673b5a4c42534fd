"""The settings that scenarios vary, their expectations of some cases, and tasks of many blocks."""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from pruning.errors import InputError
from sim.kernel.expecting import RunMeasures, missed_expectations
from sim.kernel.varying import all_cases, cases_with
from sim.scans.measures import measures
from sim.scans.scenario import scenario, world_of_seed
from skipproof.simulations.simulating import MeasuredRun, SimulationResult

TEXT = """
title = ""
claim = ""

[world.warehouse]
nodes = 2

[world.control]
lease_us = 60_000_000

[[table]]
name = "t"
spread = true
blocks = 1_000
rows_per_block = 10

[[query]]
sql = "SELECT * FROM t WHERE k < 5000"
"""


def test_each_combination_is_a_case() -> None:
    """By names and by places in lists."""
    text = TEXT + '[vary]\n"table.t.blocks" = [2, 3]\n"table.0.order" = ["ascending", "random"]\n'
    found = all_cases(scenario(text))
    assert [(one.scenario.table[0].blocks, one.scenario.table[0].order) for one in found] == [
        (2, "ascending"),
        (2, "random"),
        (3, "ascending"),
        (3, "random"),
    ]
    assert not any(one.scenario.vary for one in found)


@pytest.mark.parametrize(
    ("vary", "sentence"),
    [
        ('"table.u.blocks" = [2]', "a scenario has no u there"),
        ('"table.t.bricks" = [2]', "unknown field `bricks`"),
        ('"table.t.blocks" = ["many"]', "Expected `int`, got `str`"),
        ('"table.t.blocks" = []', "there is no value"),
        ('"query.0.sql" = ["SELECT * FROM u"]', "u is no table"),
    ],
)
def test_what_cannot_vary_is_said(vary: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        all_cases(scenario(f"{TEXT}[vary]\n{vary}\n"))
    assert sentence in str(raised.value)


VARIED = (
    TEXT
    + '[[table]]\nname = "u"\nblocks = 1\nrows_per_block = 1\n'
    + '[vary]\n"table.t.blocks" = [30, 300]\n"table.u.blocks" = [1, 30]\n'
    + '"world.warehouse.page_index" = [true, false]\n"table.t.order" = ["within", "random"]\n'
)


@pytest.mark.parametrize(
    ("only", "path", "value"),
    [
        ("table.t.blocks=30", "table.t.blocks", 30),
        ("t.blocks = 3_00", "table.t.blocks", 300),
        ("page_index=true", "world.warehouse.page_index", True),
        ("order=random", "table.t.order", "random"),
        ('order="random"', "table.t.order", "random"),
    ],
)
def test_a_setting_chooses_its_cases(only: str, path: str, value: object) -> None:
    """By the whole path, or what comes after a dot of it; values are spelled as in the file."""
    given = scenario(VARIED)
    found = cases_with(given, [only])
    assert len(found) == 8
    assert {one.settings[path] for one in found} == {value}
    assert len(cases_with(given, [only, "u.blocks=1"])) == 4


def test_what_replays_a_run_names_its_case() -> None:
    """Whatever its settings are: true or false, a number, a text with blanks."""
    vary = {
        "world.warehouse.page_index": (True, False),
        "query.0.columns_read": (1, 2),
        "query.0.sql": ("SELECT * FROM t WHERE k = 1", "SELECT * FROM t"),
    }
    given = replace(scenario(TEXT), vary=vary)
    simulated = SimulationResult(path=Path("x.toml"), scenario=given, only=(), runs=(), missed=())
    for case in all_cases(given):
        run = MeasuredRun(case=case, seed=3, measures={}, latencies_us={}, violations=())
        words = shlex.split(simulated.replay(run))
        only = [word for before, word in pairwise(words) if before == "--only"]
        assert [one.settings for one in cases_with(given, only)] == [case.settings]


@pytest.mark.parametrize(
    ("only", "sentence"),
    [
        ("locks=30", "locks does not vary; what does is table.t.blocks, table.u.blocks, world"),
        ("=30", "=30: that does not vary"),
        ("nodes=4", "nodes does not vary"),
        ("blocks=30", "blocks is the end of table.t.blocks and of table.u.blocks: give more of it"),
        ("t.blocks=3", "t.blocks=3: no case that is left has it; table.t.blocks may be 30, 300"),
        ("t.blocks=30.0", "table.t.blocks may be 30, 300"),
        ("page_index=True", "world.warehouse.page_index may be true, false"),
        ("page_index=1", "world.warehouse.page_index may be true, false"),
        ("u.blocks=true", "table.u.blocks may be 1, 30"),
        ("page_index", "world.warehouse.page_index may be true, false"),
    ],
)
def test_a_setting_that_no_case_has_is_told(only: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        cases_with(scenario(VARIED), [only])
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_expectations_of_some_cases_and_ratios() -> None:
    """Of no case, and of no two, they were not put to the test."""
    given = scenario(
        TEXT
        + '[vary]\n"world.warehouse.nodes" = [1, 2]\n'
        + '[[where]]\nsettings = { "world.warehouse.nodes" = 2 }\nexpect = { requests = { max = 5 } }\n'
        + '[[where]]\nsettings = { "world.warehouse.nodes" = 7 }\nexpect = { requests = { max = 5 } }\n'
        + '[[compare]]\nmeasure = "requests"\nof = { "world.warehouse.nodes" = 1 }\n'
        + 'to = { "world.warehouse.nodes" = 2 }\nmax = 1\n'
        + '[[compare]]\nmeasure = "requests"\nof = { "world.warehouse.nodes" = 1 }\n'
        + 'to = { "world.warehouse.nodes" = 9 }\nmax = 1\n'
    )
    one, two = all_cases(given)
    runs = [
        RunMeasures(case=one, seed=0, measures={"requests": 20}),
        RunMeasures(case=two, seed=0, measures={"requests": 10}),
    ]
    told = [(miss.seed, miss.what.partition(",")[0]) for miss in missed_expectations(given, runs)]
    assert told == [
        (0, "10"),
        (None, "no run has these settings: the claim was not put to the test"),
        (0, "2"),
        (None, "no two runs to compare: the claim was not put to the test"),
    ]


@pytest.mark.parametrize("condition", ["k < 0", "k >= 0"])
def test_tasks_of_many_blocks_take_as_long_as_tasks_of_one(condition: str) -> None:
    """SIM-9. 10,000 blocks with footers, within a hundredth; the clock decides, not the machine."""
    text = TEXT.replace("k < 5000", condition).replace("1_000", "10_000").replace("nodes = 2", "nodes = 16")
    given = scenario(text + '[world.metadata]\nkeeping = "footers"\n')
    found = []
    for blocks_per_task, guided in ((1, 0), (50, 2)):
        warehouse = replace(
            given.world.warehouse, blocks_per_task=blocks_per_task, guided=guided, tasks_ahead=2
        )
        world = replace(given.world, warehouse=warehouse)
        found.append(measures(world_of_seed(replace(given, world=world), 1).run(1)))
    one, many = found
    assert many["tasks"] < one["tasks"] / 3
    for measure in ("latency_us", "work_us"):
        assert many[measure] == pytest.approx(one[measure], rel=0.01)
