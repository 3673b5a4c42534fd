"""The command line: exit status, one sentence on standard error, JSON."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pruning
from skipproof.commands import cli


@pytest.fixture
def numbers(tmp_path: Path) -> str:
    """`numbers=PATH` of 100 rows in ten row groups, `a` ascending."""
    path = tmp_path / "numbers.parquet"
    rows = pa.table({"a": list(range(100)), "x": [float("nan") if i % 7 == 0 else i / 3 for i in range(100)]})
    pq.write_table(rows, path, row_group_size=10)
    return f"numbers={path}"


@pytest.fixture
def run(run: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `skipproof ARGUMENTS` in this process, and in the tests' session; returns the same."""

    @contextmanager
    def this_session(settings: object = None) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr(cli, "spark_session", this_session)
    return run


def test_a_query_prints_its_rows(run: Any, numbers: str) -> None:
    status, out, err = run("query", "--table", numbers, "SELECT a FROM numbers WHERE a >= 98 ORDER BY a")
    assert (status, err) == (0, "")
    assert [line.strip() for line in out.splitlines() if line.strip().isdigit()] == ["98", "99"]
    assert "2 rows" in out


@pytest.mark.parametrize("compare", [False, True])
def test_only_the_rows_that_are_printed_reach_python(
    run: Any, spark: Any, numbers: str, monkeypatch: pytest.MonkeyPatch, compare: bool
) -> None:
    collected = []

    def collect(frame: Any) -> list[Any]:
        rows = whole(frame)
        collected.append(len(rows))
        return rows

    frame_type = type(spark.range(1))
    whole = frame_type.collect
    monkeypatch.setattr(frame_type, "collect", collect)
    options = ["--compare"] if compare else []
    status, out, _ = run(
        "query", "--table", numbers, "--rows", "5", "--json", *options, "SELECT a FROM numbers"
    )
    answer = json.loads(out)
    assert status == 0
    assert answer["rows"] == [[0], [1], [2], [3], [4]]
    assert answer["row_count"] == 100
    assert max(collected) <= 5


def test_a_compared_query_says_that_the_rows_are_the_same(run: Any, numbers: str) -> None:
    status, out, _ = run(
        "query", "--table", numbers, "--compare", "--json", "SELECT * FROM numbers WHERE x < 3"
    )
    found = json.loads(out)
    assert status == 0
    assert found["comparison"]["same"] is True
    assert found["row_count"] == found["comparison"]["rows_expected"] > 0


def test_a_pruner_that_loses_rows_is_a_violation(
    run: Any, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "prune", lambda frame, **_: frame.where("a < 99"))
    status, out, _ = run("query", "--table", numbers, "--compare", "SELECT a FROM numbers WHERE a > 90")
    assert status == 1
    assert "DIFFERENT" in out
    assert "Spark without pruning" not in out


def test_a_row_that_spark_itself_would_lose_is_not_lost(run: Any, numbers: str) -> None:
    """NaN is above every number, but no bound in the file covers it, and Spark's pushdown trusts bounds."""
    status, out, _ = run(
        "query", "--table", numbers, "--compare", "--json", "SELECT a FROM numbers WHERE x > 30"
    )
    assert status == 0
    assert json.loads(out)["comparison"]["same"] is True


def test_a_row_that_spark_itself_loses_is_laid_to_spark(
    run: Any, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a query is left as it is."""
    monkeypatch.setattr(pruning, "prune", lambda frame, **_: frame)
    status, out, _ = run(
        "query", "--table", numbers, "--compare", "--json", "SELECT a FROM numbers WHERE x > 30"
    )
    comparison = json.loads(out)["comparison"]
    assert status == 1
    assert comparison["rows_found"] < comparison["rows_expected"]
    assert comparison["spark_alone"] is True


def test_an_explanation_is_text_or_json(run: Any, numbers: str) -> None:
    arguments = ("explain", "--table", numbers, "SELECT * FROM numbers WHERE if(a > 50, a, a + a) > 190")
    status, out, _ = run(*arguments)
    assert status == 0
    assert "190" in out
    status, out, _ = run(*arguments, "--json")
    assert status == 0
    assert json.loads(out)


def test_a_query_is_explained_with_its_jobs_or_by_metadata_alone(run: Any, tmp_path: Path) -> None:
    for number in range(3):
        rows = pa.table({"a": list(range(number, 300, 3)), "b": list(range(100))})
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    arguments = (
        "explain",
        "--table",
        f"t={tmp_path}",
        "SELECT * FROM t ORDER BY a * b DESC LIMIT 2",
        "--json",
    )
    _, with_jobs, _ = run(*arguments)
    _, without, _ = run(*arguments, "--metadata-only")
    assert {job["purpose"] for job in json.loads(with_jobs)["jobs"]} == {"wave of a top-k"}
    assert json.loads(without)["jobs"] == []


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("SELECT b FROM numbers", "`b`"),
        ("SELECT * FROM elsewhere", "`elsewhere`"),
        ("SELECT * FORM numbers", "PARSE_SYNTAX_ERROR"),
        ("DROP VIEW numbers", "DROP is not a query"),
    ],
)
@pytest.mark.parametrize("command", ["query", "explain"])
def test_a_query_that_cannot_be_planned_is_one_sentence(
    run: Any, numbers: str, command: str, sql: str, sentence: str
) -> None:
    status, out, err = run(command, "--table", numbers, sql)
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert sentence in err


def test_a_query_that_fails_on_its_data_is_one_sentence(run: Any, numbers: str) -> None:
    status, out, err = run("query", "--table", numbers, "SELECT assert_true(a < 50) FROM numbers")
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert "is not true" in err


@pytest.mark.parametrize(
    "arguments", [["query"], ["query", "--table", "x=/nowhere", "SELECT 1"], ["nothing"]]
)
def test_bad_usage_is_status_2_without_a_traceback(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "skipproof", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_help_names_every_command_and_the_exit_status() -> None:
    command = [sys.executable, "-m", "skipproof", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for word in ("demo", "explain", "query", "Exit status"):
        assert word in shown


def test_help_tells_every_exit_status() -> None:
    shown = " ".join(CliRunner().invoke(cli.app, ["--help"]).stdout.split())
    for told in (
        "0 all held",
        "1 a violation",
        "2 bad usage",
        "3 the run itself failed",
        "130 it was interrupted",
    ):
        assert told in shown
