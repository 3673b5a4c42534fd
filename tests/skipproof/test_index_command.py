"""The command `skipproof index`: what it prints, and that it is used afterwards."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.metadata.table.memberships import indexed_columns


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
    assert indexed_columns(pruning.collect(table)) == {"a", "b"}


def test_json_and_options(run: Any, table: Path) -> None:
    status, out, _ = run("index", str(table), "--columns", "b", "--bytes-per-block", "512", "--json")
    report = json.loads(out)
    assert status == 0
    assert [(column["name"], column["dictionary"]) for column in report["columns"]] == [("b", 10)]
    _, out, _ = run("index", str(table), "--no-data", "--json")
    assert all(column["dictionary"] == 0 for column in json.loads(out)["columns"])


def test_what_does_not_fit_is_said_with_what_a_filter_needs(run: Any, table: Path) -> None:
    status, out, _ = run("index", str(table), "--columns", "a", "--bytes-per-block", "64")
    assert status == 0
    assert "a: nothing fits in 64 bytes for 10 of 10 blocks; a filter needs 96 bytes per block" in out
    options = ("--bytes-per-block", "64", "--bits-per-value", "12", "--json")
    _, out, _ = run("index", str(table), "--columns", "a", *options)
    (column,) = json.loads(out)["columns"]
    assert (column["filter"], column["unfitting"]) == (10, 0)


def test_names_may_have_blanks_between_them(run: Any, table: Path) -> None:
    status, out, _ = run("index", str(table), "--columns", "b, a", "--json")
    assert status == 0
    assert [column["name"] for column in json.loads(out)["columns"]] == ["a", "b"]


def test_an_unknown_column_is_told_which_there_are(run: Any, table: Path) -> None:
    status, _, errors = run("index", str(table), "--columns", "a,c")
    assert status == 2
    assert "'c'" in errors
    assert "['a', 'b']" in errors


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


def test_bounds_are_computed_and_reported(run: Any, table: Path) -> None:
    """Instead of an index; progress goes to standard error, and a second run has nothing to do."""
    status, out, errors = run("index", str(table), "--bounds", "--columns", "a")
    assert status == 0
    assert "1 files, 10 row groups" in out
    assert "1/1 reading" in errors
    assert indexed_columns(pruning.collect(table)) == set()
    assert pruning.collect(table)["columns"].to_pylist()[3]["a"]["distinct_count"] == 10
    status, out, errors = run("index", str(table), "--bounds", "--columns", "a", "--json")
    assert (status, errors) == (0, "")
    assert json.loads(out) == {
        "files": 0, "row_groups": 0, "bytes": 0, "columns": [], "done_before": 1, "failures": {},
    }  # fmt: skip


def test_bounds_of_pages_are_counted_by_columns(run: Any, table: Path) -> None:
    """They are those of an option of its own, which says nothing without the other."""
    pq.write_table(pq.read_table(table / "x.parquet"), table / "x.parquet", write_page_index=True)
    status, out, _ = run("index", str(table), "--bounds", "--pages")
    assert (status, "pages" in out) == (0, True)
    status, _, errors = run("index", str(table), "--pages")
    assert (status, "--pages goes with --bounds" in errors) == (2, True)


def test_bounds_go_with_no_option_of_an_index(run: Any, table: Path) -> None:
    """And a wrong column is told as for an index; a file that cannot be read is named."""
    for options in (("--no-data",), ("--points", "a,b"), ("--bytes-per-block", "64")):
        status, _, errors = run("index", str(table), "--bounds", *options)
        assert (status, "--bounds goes with --columns" in errors) == (2, True)
    status, _, errors = run("index", str(table), "--bounds", "--columns", "c")
    assert (status, "'c'" in errors) == (2, True)
    (table / "y.parquet").write_bytes(b"PAR1 nothing else")
    status, out, _ = run("index", str(table), "--bounds")
    assert (status, "not measured" in out) == (0, True)
