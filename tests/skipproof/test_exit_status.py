"""A run that fails has its own exit status, and its results until then are kept."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mutants.small_engine.catalogue import MUTANTS
from pruning.errors import InputError
from skipproof import pages
from skipproof.commands import checking, cli
from skipproof.sessions import is_query_error, spark_sentence
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.reference.engine import SmallEngine

Run = Callable[..., tuple[int, str, str]]
WRONG = next(mutant for mutant in MUTANTS if mutant.name == "lower for upper")
HISTORY = '{"id": "serial", "ops": [["w", 1, "x@1"], ["c", 1]], "vo": {"x": ["x@1"]}}'
SCENARIO = """
title = "One query"
claim = "none"
seeds = { first = 0, count = 1 }
"""


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Restore the handler of SIGTERM, which the command line replaces."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> SmallEngine:
    """Make `check` hunt in a wrong engine of this process, whatever the engine's name."""
    wrong = WRONG.engine()
    monkeypatch.setattr(checking, "Worker", lambda command: nullcontext(wrong))
    return wrong


@pytest.fixture(scope="module")
def finished_hunt() -> Hunt:
    """Return a hunt with a finding."""
    wrong = WRONG.engine()
    limits = Limits(examples=300, findings=1, worlds_to_shrink=20)
    state = hunt(wrong, capabilities(wrong, areas=("filter",)), limits)
    assert state.findings
    return state


def check(*arguments: str) -> tuple[str, ...]:
    """Return the arguments of a short hunt that has a finding."""
    return ("check", "--engine", "duckdb", "--class", "filter", "--examples", "300", *arguments)


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("of two\nlines"), OSError(28, "No space left on device"), EOFError("ended")],
    ids=lambda error: type(error).__name__,
)
def test_an_internal_error_is_status_3_one_sentence_and_a_traceback_in_a_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(cli.NamedTable, "parse", fail)
    status, out, err = run("explain", "--table", "a=b", "SELECT 1")
    (file,) = tmp_path.iterdir()
    assert (status, out) == (3, "")
    assert err.startswith(f"skipproof: the run failed: {type(error).__name__}")
    assert err.endswith(f"; the traceback is in {file}\n")
    assert len(err.splitlines()) == 1
    assert "Traceback (most recent call last)" in file.read_text(encoding="utf-8")


def test_a_traceback_that_has_no_place_is_printed(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(cli.NamedTable, "parse", lambda _: 1 / 0)
    status, _, err = run("explain", "--table", "a=b", "SELECT 1")
    assert status == 3
    assert "Traceback (most recent call last)" in err
    assert err.splitlines()[-1] == (
        "skipproof: the run failed: ZeroDivisionError: division by zero; the traceback is above"
    )


def test_what_a_library_logs_of_an_error_is_not_printed_beside_the_sentence() -> None:
    """As py4j does when Java has ended, or Ctrl-C interrupts a query."""
    program = """
import logging, sys
from skipproof.commands import cli

def fail(text):
    logging.error("of py4j")
    raise KeyboardInterrupt if sys.argv[-1] == "SELECT 1" else ConnectionRefusedError

cli.NamedTable.parse = fail
cli.main()
"""
    ran = [
        subprocess.run(
            [sys.executable, "-c", program, "explain", "--table", "a=b", sql], capture_output=True, text=True
        )
        for sql in ("SELECT 1", "SELECT 2")
    ]
    assert [(one.returncode, len(one.stderr.splitlines())) for one in ran] == [(130, 0), (3, 1)]


def test_an_output_that_is_closed_early_is_no_violation(tmp_path: Path) -> None:
    path = tmp_path / "histories.jsonl"
    path.write_text(HISTORY + "\n", encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-u", "-m", "skipproof", "history", str(path)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert ran.returncode == 3
    assert ran.stderr == "skipproof: the run failed: its output was closed before all of it was written\n"


def test_spark_lays_an_error_to_the_query_or_it_failed_itself(spark: Any) -> None:

    def error_of(action: Callable[[], object]) -> Exception:
        with pytest.raises((PySparkException, Py4JError)) as caught:
            action()
        return caught.value

    of_the_query = [
        error_of(lambda: spark.sql("SELECT nowhere")),
        error_of(lambda: spark.sql("SELECT assert_true(id < 5) FROM range(9)").collect()),
    ]
    of_the_run = [
        error_of(lambda: spark._jvm.java.nio.ByteBuffer.allocateDirect(2**31 - 1)),
        error_of(lambda: spark._jvm.java.util.Optional.empty().get()),
    ]
    assert all(spark_sentence(error) for error in of_the_query + of_the_run)
    assert [is_query_error(error) for error in of_the_query] == [True] * len(of_the_query)
    assert [is_query_error(error) for error in of_the_run] == [False] * len(of_the_run)
    assert is_query_error(PySparkException("as Spark Connect raises it"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_hunt_that_is_ended_by_a_signal_tells_what_it_has_found(
    run: Run, engine: SmallEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals
) -> None:
    def hunt_until_signal(*arguments: Any, progress: Any, **options: Any) -> Any:
        def end_at_finding(state: Any) -> None:
            if state.findings:
                os.kill(os.getpid(), number)

        worker, what, limits = arguments
        # A finding is kept when it is shrunk, which has a fifth of a hunt otherwise.
        limits = replace(limits, worlds_to_shrink=20, shrinking_share=0.9)
        return hunt(worker, what, limits, **options | {"progress": end_at_finding})

    monkeypatch.setattr(checking, "hunt", hunt_until_signal)
    report, findings = tmp_path / "report.html", tmp_path / "findings"
    status, out, _ = run(*check("--json", "--report", str(report), "--findings", str(findings)))
    (result,) = json.loads(out)
    assert status == 1
    assert result["interrupted"]
    # One was shrunk; others may have waited for it.
    assert result["findings"]
    assert report.stat().st_size
    assert len(list(next(findings.iterdir()).iterdir())) == len(result["findings"])


def test_a_signal_elsewhere_is_status_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.NamedTable, "parse", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    assert run("explain", "--table", "a=b", "SELECT 1") == (130, "", "")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_hunt_of_no_time_is_a_usage_error(run: Run, engine: SmallEngine, seconds: str) -> None:
    status, out, err = run("check", "--engine", "duckdb", "--seconds", seconds)
    assert (status, out) == (2, "")
    assert "more than 0" in err


@pytest.mark.parametrize("option", ["--report", "--findings"])
def test_a_place_that_cannot_be_written_is_told_before_the_hunt(
    run: Run, engine: SmallEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    monkeypatch.setattr(checking, "hunt", lambda *_, **__: pytest.fail("the hunt began"))
    (tmp_path / "plain").write_text("", encoding="utf-8")
    status, out, err = run(*check(option, str(tmp_path / "plain" / "within")))
    assert (status, out) == (2, "")
    assert "cannot be written: " in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("option", ["--report", "--findings"])
def test_a_place_that_is_lost_meanwhile_costs_no_result_of_a_hunt(
    run: Run,
    engine: SmallEngine,
    finished_hunt: Hunt,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    option: str,
    as_json: bool,
) -> None:
    place = tmp_path / "lost" / "here"

    def lose(*_: Any, **__: Any) -> Hunt:
        if place.is_dir():
            place.rmdir()
        place.parent.rmdir()
        place.parent.write_text("", encoding="utf-8")
        return finished_hunt

    monkeypatch.setattr(checking, "hunt", lose)
    status, out, err = run(*check(option, str(place), *(["--json"] if as_json else [])))
    assert status == 2
    assert "cannot be written" in err.splitlines()[-1]
    assert json.loads(out)[0]["findings"] if as_json else re.search(r"findings? of", out)


@pytest.mark.parametrize("option", ["--report", "--trace"])
def test_a_place_that_is_lost_meanwhile_costs_no_simulation(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pages.os, "replace", full)
    scenario = Path(__file__).parents[2] / "sim" / "scenarios" / "node-crash-mid-scan.toml"
    place = tmp_path / "a"
    status, out, err = run("simulate", str(scenario), "--seed", "0", "--json", option, str(place))
    assert (status, err.splitlines()[-1]) == (
        2,
        f"skipproof: {place} cannot be written: No space left on device",
    )
    assert len(json.loads(out)["runs"]) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["history", "simulate"])
@pytest.mark.parametrize("name", ["plain/within", "n" * 252])
def test_a_place_that_cannot_be_written_is_told_before_the_run(
    run: Run, tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / "plain").write_text("", encoding="utf-8")
    source = tmp_path / "source"
    source.write_text(HISTORY if command == "history" else SCENARIO, encoding="utf-8")
    status, out, err = run(command, str(source), "--report", str(tmp_path / name))
    assert (status, out) == (2, "")
    assert "cannot be written: " in err
    assert len(err.splitlines()) == 1


def test_preparing_a_place_leaves_what_is_there(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    pages.check_writable(page)
    assert list(page.parent.iterdir()) == []
    page.write_text("as it was", encoding="utf-8")
    pages.check_writable(page)
    assert page.read_text(encoding="utf-8") == "as it was"
    with pytest.raises(InputError, match="it is a folder"):
        pages.check_writable(page.parent)
