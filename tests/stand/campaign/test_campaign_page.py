"""The how-to on campaigns has files that can be read, and options that there are."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from skipproof.commands.cli import app
from skipproof.stand import plugin
from skipproof.stand.campaign.plan import Plan, PlannedEngine, parse_plan

yaml = pytest.importorskip(
    "yaml", reason="reads the workflow; the group `tests` of pyproject.toml has PyYAML"
)
TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "run-a-campaign.md").read_text(encoding="utf-8")


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_each_file_of_a_campaign_can_be_read() -> None:
    plans = [parse_plan(text) for text in fences("toml")]
    assert [plan.lengths_seconds() for plan in plans] == [
        {"arrow": None},
        {"duckdb-1.5.6": 3_600.0, "duckdb-next": 3_600.0},
    ]


def test_each_key_is_in_the_table() -> None:
    keys = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| `.*?\|", TEXT, re.MULTILINE))))
    fields = {*Plan.__struct_fields__, *PlannedEngine.__struct_fields__} - {"engine"}
    assert keys == fields


def runs() -> list[str]:
    """The commands of the workflows."""
    nightly, pull_request = map(yaml.safe_load, fences("yaml"))
    steps: list[dict[str, Any]] = [*nightly["jobs"]["campaign"]["steps"], *pull_request]
    return [step["run"] for step in steps if "run" in step]


def test_each_option_of_the_workflows_exists() -> None:
    (campaign,) = (run for run in runs() if "skipproof campaign" in run)
    (pytest_run,) = (run for run in runs() if run.startswith("pytest "))
    command = typer.main.get_group(app).commands["campaign"]
    options = {option for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"--[a-z]+", campaign))
    assert {"--results", "--seed", "--compare"} == named <= options
    assert set(re.findall(r"--skipproof-[a-z]+", pytest_run)) <= set(
        re.findall(r"--skipproof-[a-z]+", Path(plugin.__file__).read_text(encoding="utf-8"))
    )
