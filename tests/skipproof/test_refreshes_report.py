"""The report of a simulation of dynamic tables: its pictures, and their place on the page."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from shown_page import Page

from sim.kernel.scenario_schema import Violation
from sim.refreshes.layering import layered_layout
from sim.refreshes.sawtooths import Sawtooth
from sim.refreshes.timelines import ExecutedStatement
from skipproof.simulations import bands, look
from skipproof.simulations.graphs import stop_positions
from skipproof.simulations.lags import FEW, TABLES_MAX, lags_picture, teeth_picture
from skipproof.simulations.refreshes import MANY, statement_bars
from skipproof.simulations.report import render
from skipproof.simulations.simulating import SimulationResult, simulate

S = 1_000_000
EVIL = "<b>$x^2$</b> & \x1b"
SCENARIO = f"""
title = "lags"
claim = "they are met"
simulates = "dynamic tables"
seeds = {{ first = 3, count = 2 }}
sql = '''
CREATE TABLE s.t (k INTEGER, v INTEGER);
CREATE VIEW s.w AS SELECT k, v FROM t;
CREATE DYNAMIC TABLE s.d TARGET_LAG = DOWNSTREAM WAREHOUSE = w AS SELECT k, SUM(v) AS v FROM w GROUP BY k;
CREATE DYNAMIC TABLE s.e TARGET_LAG = '1 minute' WAREHOUSE = w REFRESH_MODE = FULL AS SELECT k FROM d;
'''

[world]
until_us = 900_000_000
settle_us = 100_000_000

[[statement]]
sql = {json.dumps(f"ALTER TABLE {EVIL}")}
at_us = 400_000_000

[[statement]]
sql = "ALTER DYNAMIC TABLE s.e SUSPEND"
at_us = 950_000_000

[[writer]]
table = "s.t"

[[fault]]
kind = "slow"
from_us = 300_000_000
until_us = 500_000_000
slowdown = 100

[expect]
full = {{ min = 1 }}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the scenario; return its path."""
    path = tmp_path_factory.mktemp("scenarios") / "lags.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(file: Path) -> SimulationResult:
    """Return the result of the scenario."""
    return simulate(file, None, [], lambda what, done, total: None)


def test_the_page_has_lags_timelines_and_the_graph(result: SimulationResult) -> None:
    rendered = render(result)
    page = Page(rendered)
    assert page.tags.count("figcaption") == page.tags.count("figure") == page.tags.count("svg") == 4
    for title in (
        "Who reads whom",
        "How far behind the tables were",
        "From close by: e where it was farthest behind",
        "What each table's refreshes did",
    ):
        assert title in page.text
    for told in (
        "The graph at the end of the run of seed 3; w reads t; d reads w; e reads d",
        "Lags in the run of seed 3: e: target 1 min, then none; up to ",
        "refreshes of e in the run of seed 3",
        "Refreshes of 2 tables in the run of seed 3; ",
    ):
        assert any(told in label for label in page.values_of("aria-label"))
    for shown in ("target DOWNSTREAM", "target 1 min", "FULL", "view", "F1 slow", "S1–4", "S6", "lag (s)"):
        assert shown in page.text
    assert "All runs" not in page.text
    assert page.text.count("suspended") == 2, "its box says so, and what the hatching of its row means"
    assert "not at rest, or late" in page.text


def test_statements_and_faults_are_told_with_the_numbers_that_pictures_have(
    result: SimulationResult,
) -> None:
    rendered = render(result)
    found = re.findall(r'<th scope="row">([SF]\d+)</th>', rendered)
    assert found == ["S1", "S2", "S3", "S4", "S5", "S6", "F1"]
    assert "refused: " in Page(rendered).text
    assert "slowdown = 100" in rendered


def test_what_is_found_wrong_is_drawn_where_it_was_but_not_at_the_end(result: SimulationResult) -> None:
    first = result.runs[0]

    def page_with(at_us: int) -> str:
        found = Violation(invariant="DVS-1", at_us=at_us, what="a row is another")
        return Page(render(replace(result, runs=(replace(first, violations=(found,)),)))).text

    assert "an invariant is violated" in page_with(200 * S)
    assert "an invariant is violated" not in page_with(1_000 * S)


def test_the_page_is_escaped_and_its_parts_have_names_of_their_own(result: SimulationResult) -> None:
    rendered = render(result)
    page = Page(rendered)
    assert not {"b", "script"}.intersection(page.tags)
    assert "\x1b" not in rendered
    assert "ALTER TABLE &lt;b&gt;$x^2$&lt;/b&gt; &amp; \\u{1b}" in rendered
    names = page.values_of("id")
    assert len(names) == len(set(names)) > 20
    assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', rendered)) <= set(names)


VARIED = SCENARIO.replace(
    "[world]", "[vary]\n'world.commit_us' = [30_000, 9_000_000]\n[world]\ncommit_us = 1", 1
).replace("count = 2", "count = 1")


def test_a_page_of_cases_shows_the_greatest_lag_along_what_varies(tmp_path: Path) -> None:
    path = tmp_path / "varied.toml"
    path.write_text(VARIED, encoding="utf-8")
    page = Page(render(simulate(path, None, [], lambda what, done, total: None)))
    assert "Greatest lag by settings" in page.text
    assert any("world.commit_us from 30000 to 9000000" in label for label in page.values_of("aria-label"))


RENDERED = """
import sys
from pathlib import Path
from skipproof.simulations.simulating import simulate
from skipproof.simulations.report import render
sys.stdout.write(render(simulate(Path(sys.argv[1]), range(3, 4), [], lambda *_: None)))
"""


def test_the_same_run_gives_the_same_page_byte_for_byte(file: Path) -> None:
    """The page does not depend on the hashes of strings."""
    found = [
        subprocess.run(
            [sys.executable, "-c", RENDERED, str(file)],
            env={**os.environ, "PYTHONHASHSEED": hashed},
            capture_output=True,
            check=True,
        ).stdout
        for hashed in ("1", "2")
    ]
    assert found[0].endswith(b"</html>")
    assert found[0] == found[1]


def sawtooth(name: str, refreshes: int) -> Sawtooth:
    """A table that is refreshed every 48 s."""
    refreshed = tuple((48 * S * at + S, 48 * S * at) for at in range(refreshes))
    return Sawtooth(
        table=name, name=name, refreshed=refreshed, until_us=48 * S * refreshes, targets=((0, 60 * S),)
    )


def test_tables_that_have_no_room_are_counted() -> None:
    found = [sawtooth(f"t{at}", 4) for at in range(TABLES_MAX + 2)]
    picture = lags_picture(found, until_us=200 * S, seed=0)
    assert f"t{TABLES_MAX - 1}: target" in picture.svg
    assert f"t{TABLES_MAX}: target" not in picture.svg
    assert "2 more tables are left out" in picture.caption
    assert "left out" not in lags_picture(found[:TABLES_MAX], until_us=200 * S, seed=0).caption


def test_teeth_are_shown_from_close_by_where_there_are_many() -> None:
    assert teeth_picture(sawtooth("t", FEW), seed=0) is None
    assert teeth_picture(sawtooth("t", FEW + 1), seed=0) is not None


def test_a_week_of_refreshes_makes_a_small_picture() -> None:
    picture = lags_picture([sawtooth("t", 12_600)] * 6, until_us=12_600 * 48 * S, seed=0)
    assert len(picture.svg) < 800_000


def test_statements_near_each_other_are_told_together() -> None:
    """Within 3 points of 700, where 700 s are as long; those of many within the length of a name."""

    def bars_at(*at_s: int) -> list[tuple[str, int]]:
        given = [
            ExecutedStatement(place=place, at_us=at * S, sql="x", refused="") for place, at in enumerate(at_s)
        ]
        return [(bar.name, bar.from_us // S) for bar in statement_bars(given, 700 * S)]

    assert bars_at(0, 2, 4, 300) == [("S1–2", 0), ("S3", 4), ("S4", 300)]
    assert [name for name, _ in bars_at(*range(0, 10 * MANY + 1, 10))][:2] == ["S1–4", "S5–8"]


def test_layers_stand_side_by_side_and_boxes_apart() -> None:
    nodes = [f"n{at}" for at in range(9)]
    edges = [*pairwise(nodes[:7]), ("n0", "n7"), ("n0", "n8")]
    layout = layered_layout(nodes, edges)
    places = stop_positions(layout, height=300)
    for layer, following in pairwise(layout.layers):
        assert max(places[stop].right for stop in layer) < min(places[stop].left for stop in following)
    for layer in layout.layers:
        middles = [places[stop].middle for stop in layer]
        assert all(after - before > 60 for before, after in pairwise(middles))
    assert min(place.left for place in places.values()) >= 0
    assert max(place.right for place in places.values()) <= bands.WIDTH


@pytest.mark.parametrize(
    ("us", "told"),
    [(60 * S, "1 min"), (90 * S, "90 s"), (57_600 * S, "16 h"), (86_400 * S, "24 h"), (1_500, "1,500 µs")],
)
def test_a_chosen_time_is_told_exactly(us: int, told: str) -> None:
    assert look.exact_duration(us) == told


@pytest.mark.parametrize(
    ("us", "unit"),
    [
        (9_999, "µs"),
        (9_999_999, "ms"),
        (599 * S, "s"),
        (600 * S, "min"),
        (35_999 * S, "min"),
        (36_000 * S, "h"),
    ],
)
def test_long_times_are_told_in_long_units(us: int, unit: str) -> None:
    assert look.time_unit(us)[0] == unit
