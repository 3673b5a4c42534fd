"""A report for the tracker of an engine has a script that shows the fault with the engine alone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapters_page import module

from mutants.small_engine.catalogue import MUTANTS
from skipproof.stand.hunt import upstream
from skipproof.stand.hunt.cures import find_signature
from skipproof.stand.hunt.findings import ConfirmedFinding, confirm
from skipproof.stand.hunt.hunting import Limits, capabilities, hunt
from skipproof.stand.hunt.upstream import save_report, upstream_report
from skipproof.stand.workers.workers import Hello, Worker
from strategies.engines.files import write_stored

SOUND, UNSOUND = ".to_pylist()]", ".to_pylist()[:-1]]"


@pytest.fixture
def forgetful_worker(tmp_path: Path) -> Iterator[Worker]:
    """The engine of the how-to, which forgets the last row of each file."""
    path = tmp_path / "forgetful.py"
    assert SOUND in module()
    path.write_text(module().replace(SOUND, UNSOUND), encoding="utf-8")
    with Worker([sys.executable, str(path)]) as worker:
        yield worker


def confirmed_finding(worker: Worker, area: str) -> ConfirmedFinding:
    limits = Limits(examples=200, findings=1, seconds_to_shrink=2.0)
    (finding,) = hunt(worker, capabilities(worker, areas=(area,)), limits).findings
    return confirm(worker, finding, write=write_stored)


def run(script: str, directory: Path) -> tuple[int, list[str]]:
    path = directory / "script.py"
    path.write_text(script, encoding="utf-8")
    ended = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    return ended.returncode, [line.partition(" ")[0] for line in ended.stdout.splitlines()]


@pytest.mark.parametrize("area", ["filter", "limit", "topk"])
def test_the_script_shows_the_fault_and_nothing_once_it_is_mended(forgetful_worker, tmp_path, area) -> None:
    report = upstream_report(forgetful_worker, confirmed_finding(forgetful_worker, area), write=write_stored)
    assert report.is_shown
    assert run(report.script, tmp_path) == (1, ["expected", "actual"])
    assert run(report.script.replace(UNSOUND, SOUND), tmp_path) == (0, ["expected", "actual"])
    assert "skipproof" not in report.script
    save_report(report, tmp_path / "report")
    assert (tmp_path / "report/reproduce.py").read_text(encoding="utf-8") == report.script
    issue = (tmp_path / "report/issue.md").read_text(encoding="utf-8")
    assert report.script in issue
    assert f"sqlite=={forgetful_worker.hello.version}" in issue


def test_switches_that_cure_a_finding_are_told() -> None:
    """A pruner that takes one bound for the other is right where there are no bounds."""
    (wrong,) = (mutant.engine() for mutant in MUTANTS if mutant.name == "lower for upper")
    limits = Limits(examples=400, findings=1, worlds_to_shrink=50)
    (finding,) = hunt(wrong, capabilities(wrong, areas=("filter",)), limits, hunt_seed=1).findings
    cures = {cure.name for cure in find_signature(wrong, finding, write=write_stored).cures}
    assert "statistics=no bounds" in cures
    assert "statistics=no counts" not in cures


def test_a_script_that_shows_nothing_says_so(forgetful_worker, tmp_path) -> None:
    """The script is of an engine that was mended since the finding."""
    confirmed = confirmed_finding(forgetful_worker, "filter")
    (tmp_path / "sound.py").write_text(module(), encoding="utf-8")
    with Worker([sys.executable, str(tmp_path / "sound.py")]) as sound:
        report = upstream_report(sound, confirmed, write=write_stored)
    assert not report.is_shown
    assert "did not show it" in report.issue


def test_a_report_names_the_library_that_writes_the_tables() -> None:
    message = {"protocol": 1, "engine": "iceberg", "version": "0.12.0", "areas": ["filter"]}
    assert upstream._requirement(Hello.from_message(message)) == "pyiceberg==0.12.0"
    message |= {"engine": "polars-iceberg", "reader": "polars", "version": "2.1.0+pyiceberg.0.12.0"}
    assert upstream._requirement(Hello.from_message(message)) == "polars==2.1.0 pyiceberg==0.12.0"
