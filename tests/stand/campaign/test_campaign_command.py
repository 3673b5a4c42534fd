"""`skipproof campaign` hunts in engines of a file, and says what it has come to."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from adapters_page import broken_program
from shown_page import Page
from typer.testing import CliRunner

from pruning.errors import InputError
from skipproof.commands.cli import app

FILE = """
results = "{place}/results"
slice_examples = 15
[[engine]]
name = "broken"
command = ["{python}", "{place}/broken.py"]
examples = 40
"""


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["campaign", *map(str, arguments)])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file of a campaign, and the worker that it names."""
    place = tmp_path_factory.mktemp("campaign")
    (place / "broken.py").write_text(broken_program(), encoding="utf-8")
    (place / "nightly.toml").write_text(FILE.format(place=place, python=sys.executable), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def first_run(place: Path) -> Any:
    return invoke(place / "nightly.toml")


def test_a_campaign_tells_what_it_found_and_writes_its_page(first_run, place) -> None:
    assert first_run.exit_code == 1, first_run.output
    assert "broken: filter: rows lost, " in first_run.stdout
    assert f"page: {place}/results/report.html" in first_run.stdout
    text = Page((place / "results" / "report.html").read_text(encoding="utf-8")).text
    assert "broken" in text
    folders = list((place / "results" / "findings" / "broken").iterdir())
    assert folders
    assert all((folder / "question.json").is_file() for folder in folders)


def test_a_finished_campaign_only_writes_its_page_again(first_run, place) -> None:
    """Also beside itself, where all causes are still there, and as JSON."""
    page = place / "results" / "report.html"
    slices = {path: path.stat().st_mtime_ns for path in (place / "results" / "slices").rglob("*.json")}
    page.unlink()
    again = invoke(place / "nightly.toml", "--json", "--compare", place / "results")
    assert again.exit_code == first_run.exit_code
    document = json.loads(again.stdout)
    (engine,), (compared,) = document["engines"], document["compared"]
    assert engine["examples"] >= 40
    assert len(engine["causes"]) == engine["richness"]["causes"] == 1
    assert compared["engines"][0]["still"] == [engine["causes"][0]["cause"]]
    assert not compared["engines"][0]["new"]
    assert not compared["engines"][0]["gone"]
    assert page.is_file()
    assert slices == {path: path.stat().st_mtime_ns for path in slices}
    assert len(slices) == engine["slices"] > 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{place}/nightly.toml", "--seed", "7"], "has the results of a campaign with another `seeds`"),
        (["{place}/nightly.toml", "--compare", "/nowhere"], "/nowhere has no campaign"),
        (["/nowhere.toml"], "/nowhere.toml: it cannot be read"),
        (["{place}/unplaced.toml"], "unplaced.toml: it has no `results`: name the directory there, or as --"),
        (["{place}/nightly.toml", "--results", "{place}/nightly.toml"], "cannot be written"),
        (["{place}/unkept.toml"], "unkept.toml: `corpora` {place}/nightly.toml: it cannot be written"),
    ],
    ids=["seed", "compare", "file", "results", "a file for a directory", "corpora"],
)
def test_bad_usage_of_a_campaign_gets_one_sentence(arguments, sentence, first_run, place) -> None:
    text = '[[engine]]\nname = "arrow"\nexamples = 1\n'
    (place / "unplaced.toml").write_text(text, encoding="utf-8")
    (place / "unkept.toml").write_text(
        f'results = "{place}/other"\ncorpora = "{place}/nightly.toml"\n{text}', encoding="utf-8"
    )
    sentence = sentence.format(place=place)
    raised = invoke(*(argument.format(place=place) for argument in arguments)).exception
    assert isinstance(raised, InputError)
    assert sentence in str(raised)
