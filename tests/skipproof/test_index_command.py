"""The command `skipproof index`: what it prints, and that it is used afterwards."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.metadata.memberships import indexed
from skipproof import cli


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `skipproof ARGUMENTS` in this process; returns status, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["skipproof", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A directory of one file of ten row groups with columns `a` and `b`."""
    path = tmp_path / "table"
    path.mkdir()
    rows = pa.table({"a": list(range(100)), "b": [f"name {number % 7}" for number in range(100)]})
    pq.write_table(rows, path / "x.parquet", row_group_size=10)
    return path


def test_it_prints_what_is_kept_and_keeps_it(run: Any, table: Path) -> None:
    status, out, errors = run("index", str(table))
    assert (status, errors) == (0, "")
    assert "1 files, 10 blocks" in out
    assert indexed(pruning.collect(table)) == {"a", "b"}


def test_json_and_options(run: Any, table: Path) -> None:
    status, out, _ = run("index", str(table), "--columns", "b", "--bytes-per-block", "512", "--json")
    report = json.loads(out)
    assert status == 0
    assert [(column["name"], column["dictionary"]) for column in report["columns"]] == [("b", 10)]
    _, out, _ = run("index", str(table), "--no-data", "--json")
    assert all(column["dictionary"] == 0 for column in json.loads(out)["columns"])


def test_bad_input_is_one_sentence(run: Any, table: Path) -> None:
    for arguments in (("index", str(table / "nothing")), ("index", str(table), "--columns", "c")):
        status, out, errors = run(*arguments)
        assert (status, out) == (2, "")
        assert errors.startswith("skipproof: ")
        assert errors.count("\n") == 1


def test_a_broken_file_is_named_beside_what_is_kept(run: Any, table: Path) -> None:
    (table / "bad.parquet").write_bytes(b"PAR1")
    status, out, _ = run("index", str(table))
    assert status == 0
    assert "not indexed" in out
