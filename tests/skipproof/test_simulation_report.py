"""The report of a simulation: one page, escaped, the same each time, and written atomically."""

import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from repeating import printed_twice
from shown_page import Page
from typer.testing import CliRunner

from pruning.errors import InputError
from sim.kernel.expecting import MissedExpectation
from sim.kernel.scenario_schema import Violation
from sim.kernel.spans import Mark, Span, merge_spans
from sim.scans.timelines import Doing, Lane, QuerySpan, ScanSign, ScanTimeline, ScanTimelineLimits
from skipproof import extras
from skipproof.commands.cli import app
from skipproof.simulations.lanes import lanes_picture, rows_per_lane
from skipproof.simulations.report import render, write_report
from skipproof.simulations.simulating import SimulationResult, simulate
from skipproof.simulations.summaries import ratio_rows

EVIL = "<script>alert(1)</script> & $x^2$ \x1b"
SCENARIO = f"""
title = {json.dumps(EVIL)}
claim = "a claim that is <b>told</b>"
seeds = {{ first = 3, count = 2 }}

[world.warehouse]
nodes = 3

[[table]]
name = "t"
blocks = 12
rows_per_block = 2

[[query]]
sql = "SELECT * FROM t WHERE k >= 4 AND s <> '<i>'"

[[query]]
sql = "SELECT * FROM t ORDER BY k DESC NULLS LAST LIMIT 2"
arrives_us = 5_000

[[fault]]
kind = "crash"
node = 1
from_us = 20_000
until_us = 90_000

[[fault]]
kind = "weather"
from_us = 0
until_us = 60_000
lost_percent = 30
only = "<u>"

[expect]
crashes = {{ min = 1 }}
stolen = {{ min = 1_000 }}
"""
ENTITIES = "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $x^2$"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the scenario into a file whose name needs quotes in a shell; return its path."""
    path = tmp_path_factory.mktemp("scenarios") / "two words.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(file: Path) -> SimulationResult:
    """Return the result of the scenario, whose runs miss an expectation."""
    return simulate(file, None, [], lambda what, done, total: None)


@pytest.fixture(scope="module")
def wrong(result: SimulationResult) -> SimulationResult:
    """Return the result with violations added to the second run."""
    first, second = result.runs
    found = tuple(
        Violation(invariant="needed", at_us=at, what=f"<em>{at}</em> is skipped")
        for at in range(7_000, 7_012)
    )
    return replace(result, runs=(first, replace(second, violations=found)))


def test_the_page_shows_claim_measures_and_pictures(result: SimulationResult) -> None:
    page = Page(render(result))
    for shown in (
        "a claim that is <b>told</b>",
        "It did not hold",
        "two words.toml' --seeds 3:2",
        "One run: seed 3",
        "k >= 4 AND s <> '<i>'",
        "lost_percent = 30",
        "stolen, seed 4: ",
        "not 1,000 or more",
    ):
        assert shown in page.text
    rows = re.findall(r"<th scope=\"row\"><code>(\w+)</code>.*?</tr>", render(result), flags=re.DOTALL)
    assert {"blocks_read", "crashes", "latency_us", "stolen"} <= set(rows)
    assert page.tags.count("svg") == 4
    for told in (
        "Timelines of 3 nodes in the run of seed 3; q0 ends at ",
        "Shares of blocks at the end of seed 3: ",
        "The pruned share of blocks over 2 runs: ",
        "Latencies: q0 median ",
    ):
        assert any(told in label for label in page.values_of("aria-label"))
    for label in ("time since the beginning of the run (ms)", "share of blocks (%)", "node 2", "F2 weather"):
        assert label in page.text
    assert page.tags.count("figcaption") == page.tags.count("figure") == 4


def test_expectations_are_met_or_missed(result: SimulationResult) -> None:
    page = render(result)
    verdicts = {
        name: re.findall(rf"<code>{name}</code></th>.*?<td class=\"(held|failed)\">", page, flags=re.DOTALL)[
            0
        ]
        for name in ("crashes", "stolen")
    }
    assert verdicts == {"crashes": "held", "stolen": "failed"}


def test_violations_come_with_what_replays_them(wrong: SimulationResult) -> None:
    page = Page(render(wrong))
    assert "One run: seed 4" in page.text
    assert "<em>7000</em> is skipped" in page.text
    assert "7,000" in page.text
    assert "<em>7010</em>" not in page.text
    assert "Left out: 2 more of this seed" in page.text
    assert "two words.toml' --seed 4 --trace FILE" in page.text
    assert "an invariant is violated" in page.text
    assert "an invariant is violated" not in Page(render(replace(wrong, runs=wrong.runs[:1]))).text


VARIED = """
title = "Blocks and nodes"
claim = "more blocks take longer"
seeds = { first = 5, count = 2 }
table = [{ name = "t", blocks = 4, rows_per_block = 1 }]
query = [{ sql = "SELECT * FROM t WHERE k < 2" }]
[vary]
"table.t.blocks" = [4, 8]
"world.metadata.keeping" = ["columnar", "footers"]
[expect]
crashes = { max = 0 }
stolen = { some = 1_000 }
[[where]]
settings = { "world.metadata.keeping" = "columnar" }
expect = { unasked_blocks = { max = 0 }, blocks = { max = 4 } }
[[compare]]
measure = "requests"
of = { "table.t.blocks" = 8 }
to = { "table.t.blocks" = 4 }
where = { "world.metadata.keeping" = "footers" }
min = 1.5
[[compare]]
measure = "blocks"
of = { "table.t.blocks" = 8 }
to = { "table.t.blocks" = 4 }
max = 1.9
"""


@pytest.fixture(scope="module")
def varied_result(tmp_path_factory: pytest.TempPathFactory) -> SimulationResult:
    """Return the result of a scenario of four cases."""
    path = tmp_path_factory.mktemp("varied") / "varied.toml"
    path.write_text(VARIED, encoding="utf-8")
    return simulate(path, None, [], lambda what, done, total: None)


def test_each_case_is_summed_up_by_what_is_due_of_it(varied_result: SimulationResult) -> None:
    found = {
        (summary.case, row.measure): (row.expected, row.met)
        for summary in varied_result.summaries
        for row in summary.rows
        if row.expected
    }
    columnar, footers = "keeping columnar", "keeping footers"
    for blocks in ("blocks 4", "blocks 8"):
        for keeping in (columnar, footers):
            assert found.pop((f"{blocks}, {keeping}", "crashes")) == ("0 or less", True)
            assert found.pop((f"{blocks}, {keeping}", "stolen")) == ("1,000 in some seed", False)
        assert found.pop((f"{blocks}, {columnar}", "unasked_blocks")) == ("0 or less", True)
    assert found == {
        (f"blocks 4, {columnar}", "blocks"): ("4 or less", True),
        (f"blocks 8, {columnar}", "blocks"): ("4 or less", False),
    }


def test_of_some_cases_nothing_is_due(varied_result: SimulationResult) -> None:
    some = replace(varied_result, only=("blocks=4",))
    assert not any(row.expected for summary in some.summaries for row in summary.rows)
    assert some.command.endswith("varied.toml --only blocks=4 --seeds 5:2")
    assert "which are of all cases together, were not asked" in Page(render(some)).text
    assert "2 expectations were missed" not in Page(render(some)).text


def test_ratios_are_told_and_judged(varied_result: SimulationResult) -> None:
    first, second = ratio_rows(varied_result.scenario, varied_result.runs)
    assert first.measure == "requests of blocks 8 to blocks 4 where keeping footers"
    # Each block's footer, and the two blocks that hold the rows.
    assert (first.least, first.most, first.expected, first.met) == ("1.66667", "1.66667", "1.5 or more", True)
    assert (second.least, second.expected, second.met) == ("2", "1.9 or less", False)


def test_a_page_of_cases_shows_curves_along_what_varies(varied_result: SimulationResult) -> None:
    page = Page(render(varied_result))
    for shown in ("Latency by settings", "Pruned share by settings", "table.t.blocks", "footers", "ratio"):
        assert shown in page.text
    assert page.tags.count("details") == 4
    assert "One run: seed 5, blocks 4, keeping columnar" in page.text
    found = Violation(invariant="needed", at_us=1, what="a block is skipped")
    last = replace(varied_result.runs[-1], violations=(found,))
    told = Page(render(replace(varied_result, runs=(*varied_result.runs[:-1], last)))).text
    assert "One run: seed 6, blocks 8, keeping footers" in told
    only = "--only table.t.blocks=8 --only world.metadata.keeping=footers"
    assert f"varied.toml {only} --seed 6 --trace FILE" in told


def test_what_a_page_quotes_is_escaped(wrong: SimulationResult) -> None:
    rendered = render(wrong)
    page = Page(rendered)
    assert not {"script", "b", "i", "u", "em"}.intersection(page.tags)
    assert rendered.count(ENTITIES) == 2
    assert "\x1b" not in rendered
    assert "\\u{1b}" in rendered


def test_the_page_asks_for_nothing(wrong: SimulationResult) -> None:
    rendered = render(wrong)
    page = Page(rendered)
    named = rendered.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xlink", "")
    assert "http:" not in named
    assert "https:" not in named
    assert re.search(r"url\((?!#)|@import|@font-face", rendered) is None
    assert not {"link", "img", "image", "iframe", "object", "base", "form", "metadata"}.intersection(
        page.tags
    )
    assert page.tags.count("style") == 1
    assert all(link.startswith("#") for link in [*page.values_of("href"), *page.values_of("xlink:href")])
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values_of("content")


def test_each_part_of_a_page_has_a_name_of_its_own(wrong: SimulationResult) -> None:
    """And what pictures refer to is there."""
    rendered = render(wrong)
    names = Page(rendered).values_of("id")
    assert len(names) == len(set(names)) > 20
    assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', rendered)) <= set(names)


RENDERED = """
import sys
from pathlib import Path
from skipproof.simulations.simulating import simulate
from skipproof.simulations.report import render
sys.stdout.write(render(simulate(Path(sys.argv[1]), None, [], lambda *_: None)))
"""


def test_the_same_runs_give_the_same_page_byte_for_byte(file: Path, tmp_path: Path) -> None:
    """Whatever strings hash to, and whatever look the user has chosen for pictures."""
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 30\naxes.facecolor: red\nsvg.fonttype: path\n", encoding="utf-8"
    )
    look = {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc")}
    assert printed_twice(RENDERED, str(file), second=look).endswith(b"</html>")


def test_a_report_is_never_half_there(
    result: SimulationResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(result, path)
    older = path.read_text(encoding="utf-8")

    def fails(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(InputError, match=r"report\.html cannot be written: disk full"):
        write_report(replace(result, missed=()), path)
    assert path.read_text(encoding="utf-8") == older
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


def test_the_command_writes_a_report_beside_its_json(file: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    ran = CliRunner().invoke(app, ["simulate", str(file), "--seed", "3", "--json", "--report", str(report)])
    assert ran.exit_code == 1
    assert [run["seed"] for run in json.loads(ran.stdout)["runs"]] == [3]
    assert "One run: seed 3" in Page(report.read_text(encoding="utf-8")).text


@pytest.mark.parametrize("place", ["folder", "plain/report.html"])
def test_a_place_where_no_report_can_be_is_told_in_one_sentence_before_the_first_run(
    place: str, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "skipproof", "simulate", str(file), "--report", str(tmp_path / place)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"skipproof: {tmp_path / place} cannot be written: ")
    assert len(ran.stderr.splitlines()) == 1


def test_who_has_no_matplotlib_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("skipproof.simulations.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    sentence = r"need Matplotlib: run `pip install 'skipproof\[simulator\]'`"
    with pytest.raises(InputError, match=sentence), extras.importing(extras.SIMULATION_REPORTS):
        importlib.import_module("skipproof.simulations.report")


def test_many_runs_and_many_events_make_a_small_page(result: SimulationResult) -> None:
    """10,000 runs, and 32 nodes of which each of 8 workers reads 20,000 times."""
    runs = tuple(
        replace(result.runs[0], seed=seed, latencies_us={"q0": 1_000 + seed}) for seed in range(10_000)
    )
    missed = tuple(MissedExpectation("stolen", "0, not 1 or more", seed) for seed in range(10_000))
    assert len(render(replace(result, runs=runs, missed=missed))) < 1_000_000

    until_us, room = 100_000_000, ScanTimelineLimits(rows=rows_per_lane(32))
    work = [
        Span(doing=Doing.READING, from_us=at, until_us=at + 2_500 + at // 10_000, row=row)
        for row in range(room.rows)
        for at in range(0, until_us, 5_000)
    ]
    lane = Lane(
        who=0,
        work=merge_spans(work, closer_us=until_us // room.spans),
        states=(),
        marks=tuple(
            Mark(sign=sign, at_us=at, count=9)
            for sign in ScanSign
            for at in range(0, until_us, until_us // room.marks)
        ),
        at_once=8,
        rows=room.rows,
    )
    line = ScanTimeline(
        until_us=until_us,
        queries=tuple(
            QuerySpan(query=f"q{at}", from_us=at, until_us=None, cancelled=False) for at in range(99)
        ),
        lanes=(replace(lane, who=None), *(replace(lane, who=node) for node in range(32))),
        left_out=968,
        troubles=(),
    )
    picture = lanes_picture(line, seed=0, violations_us=())
    assert len(picture.svg) < 8_000_000
    assert "968 nodes are left out" in picture.caption
    assert "several share a row" in picture.caption
