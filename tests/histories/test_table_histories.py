"""Tests of histories that are made from the commits of a table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from mutants.row_changes import HISTORY_MUTANTS
from oracles.isolation import Result, check
from pruning.metadata.versioned.commits import TableCommit
from skipproof.histories.table_histories import TableHistory, table_history

# The files of a bank: two accounts of Ann, one of Bob.
ACCOUNTS = {"a": [("ann", 1, 50), ("ann", 2, 50), ("bob", 3, 10)]}
FIRST = TableCommit(version=0, added={"a": BitMap([0, 1, 2])})


def _rows(rows: Sequence[tuple[str, int, int]]) -> pa.Table:
    names, numbers, balances = zip(*rows, strict=True)
    return pa.table({"name": names, "number": numbers, "balance": balances})


def _matches(conditions: Sequence[str], rows: pa.Table) -> np.ndarray:
    """Return on which rows conditions of Python are true."""
    return np.array([[bool(eval(text, {}, row)) for row in rows.to_pylist()] for text in conditions])


def _history(
    commits: Sequence[TableCommit],
    files: Mapping[str, Sequence[tuple[str, int, int]]],
    keys: Sequence[str] = (),
) -> TableHistory:
    tables = {name: _rows(rows) for name, rows in (ACCOUNTS | dict(files)).items()}
    return table_history([FIRST, *commits], tables.__getitem__, _matches, keys=keys)


def _result(
    commits: Sequence[TableCommit],
    files: Mapping[str, Sequence[tuple[str, int, int]]],
    keys: Sequence[str] = (),
) -> Result:
    return check(_history(commits, files, keys).history)


def _update(version: int, read: int, condition: str, position: int, file: str) -> TableCommit:
    """Return an update of a row of the first file, whose new values are the one row of a file."""
    return TableCommit(
        version=version,
        read_version=read,
        predicate=condition,
        removed={"a": BitMap([position])},
        added={file: BitMap([0])},
    )


def test_updates_one_after_the_other_are_serializable() -> None:
    later = TableCommit(
        version=2,
        read_version=1,
        predicate="number == 1",
        removed={"b": BitMap([0])},
        added={"c": BitMap([0])},
    )
    files = {"b": [("ann", 1, 40)], "c": [("ann", 1, 30)]}
    result = _result([_update(1, 0, "number == 1", 0, "b"), later], files)
    assert "PL-3" in result.holding
    assert "PL-SI" in result.holding


def test_an_update_that_is_lost_is_no_snapshot_isolation() -> None:
    both = [_update(1, 0, "number == 1", 0, "b"), _update(2, 0, "number == 1", 0, "c")]
    result = _result(both, {"b": [("ann", 1, 40)], "c": [("ann", 1, 45)]})
    assert "G-single" in result.phenomena


def test_an_update_that_is_lost_is_seen_by_the_key_alone_where_the_other_file_was_not_removed() -> None:
    # The second statement's commit was rebased: the file that it had read was gone.
    second = TableCommit(version=2, read_version=0, predicate="number == 1", added={"c": BitMap([0])})
    commits = [_update(1, 0, "number == 1", 0, "b"), second]
    files = {"b": [("ann", 1, 40)], "c": [("ann", 1, 45)]}
    assert "G-single" in _result(commits, files, keys=["number"]).phenomena


def test_two_withdrawals_that_each_read_both_accounts_are_write_skew() -> None:
    both = [_update(1, 0, "name == 'ann'", 0, "b"), _update(2, 0, "name == 'ann'", 1, "c")]
    result = _result(both, {"b": [("ann", 1, -40)], "c": [("ann", 2, -40)]})
    assert "G2" in result.phenomena
    assert "PL-SI" in result.holding
    assert "PL-3" not in result.holding


def test_a_row_that_is_inserted_beside_a_statement_that_would_have_read_it_comes_after_it() -> None:
    insert = TableCommit(version=1, read_version=0, predicate="False", added={"b": BitMap([0])})
    delete = TableCommit(version=2, read_version=0, predicate="name == 'bob'", removed={"a": BitMap([2])})
    result = _result([insert, delete], {"b": [("bob", 4, 5)]})
    assert "PL-3" in result.holding
    assert "T2-rwp->T1" in result.edges()


def test_rows_that_are_copied_into_another_file_are_not_written() -> None:
    rewrite = TableCommit(
        version=1,
        read_version=0,
        predicate="number == 1",
        removed={"a": BitMap([0, 1, 2])},
        added={"b": BitMap([0, 1])},
    )
    history = _history([rewrite], {"b": [("bob", 3, 10), ("ann", 2, 50)]}).history
    written = [str(version) for versions in history.orders.values() for version in versions[1:]]
    assert written == ["a[0]@1"]
    # The copies are the rows that they were.
    later = TableCommit(version=2, read_version=1, predicate="number == 3", removed={"b": BitMap([0])})
    history = _history([rewrite, later], {"b": [("bob", 3, 10), ("ann", 2, 50)]}).history
    assert [str(version) for version in history.orders["a[2]"]] == ["a[2]@0", "a[2]@2"]


def test_commits_without_reads_are_named() -> None:
    foreign = TableCommit(version=1, removed={"a": BitMap([2])})
    later = TableCommit(version=2, read_version=7, predicate="True")
    assert _history([foreign, later], {}).unchecked == (0, 1, 2)


def test_values_that_are_no_numbers_are_copied_too() -> None:
    nan = pa.table({"x": [float("nan"), 0.0]})
    files = {"a": nan, "b": nan, "c": pa.table({"x": [float("nan"), -0.0]})}
    copy = TableCommit(version=1, removed={"a": BitMap([0, 1])}, added={"b": BitMap([0, 1])})
    change = TableCommit(version=2, removed={"b": BitMap([0, 1])}, added={"c": BitMap([0, 1])})
    first = TableCommit(version=0, added={"a": BitMap([0, 1])})
    history = table_history([first, copy, change], files.__getitem__, _matches).history
    assert {name: len(versions) for name, versions in history.orders.items()} == {
        "a[0]": 1,
        "a[1]": 2,
        "c[1]": 1,
    }


def _stories() -> list[bool]:
    """Return whether each of several histories is judged rightly."""
    lost = [_update(1, 0, "number == 1", 0, "b"), _update(2, 0, "number == 1", 0, "c")]
    skewed = [_update(1, 0, "name == 'ann'", 0, "b"), _update(2, 0, "name == 'ann'", 1, "c")]
    rebased = [
        lost[0],
        TableCommit(version=2, read_version=0, predicate="number == 1", added={"c": BitMap([0])}),
    ]
    copy = TableCommit(version=1, removed={"a": BitMap([2])}, added={"b": BitMap([0])})
    files = {"b": [("ann", 1, 40)], "c": [("ann", 1, 45)]}
    return [
        "G-single" in _result(lost, files).phenomena,
        "G2" in _result(skewed, files).phenomena,
        "G-single" in _result(rebased, files, keys=["number"]).phenomena,
        all(len(order) == 1 for order in _history([copy], {"b": [("bob", 3, 10)]}).history.orders.values()),
    ]


def test_the_histories_that_find_mutants_are_judged_rightly() -> None:
    assert all(_stories())


@pytest.mark.parametrize("name", HISTORY_MUTANTS)
def test_a_history_that_tells_otherwise_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*HISTORY_MUTANTS[name])
    assert not all(_stories())
