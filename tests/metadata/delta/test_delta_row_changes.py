"""The rows that commits of Delta Lake tables have changed, as their logs tell."""

import dataclasses
from pathlib import Path

import pyarrow as pa
import pytest
from changed_delta_tables import WrittenTable, deletion, write_table
from pyroaring import BitMap

from mutants.row_changes import DELTA_MUTANTS
from pruning.metadata.delta.changed_files import remove_files
from pruning.metadata.delta.commits import DeltaCommit
from pruning.metadata.delta.committing import commit_changes
from pruning.metadata.delta.row_changes import delta_commits
from pruning.metadata.delta.writer_protocol import RowChange
from pruning.metadata.versioned.commits import READ_PREDICATE, READ_VERSION, TableCommit


def _changed_table(folder: Path) -> WrittenTable:
    """Return a table of two files with four rows each, of which one loses three rows, and is removed."""
    table = write_table(folder, pa.table({"x": range(4)}), pa.table({"x": range(4, 8)}))
    path = table.files[0].path
    table.commit(table.delete({path: BitMap([0, 1])}))
    state = table.state
    commit = deletion(table.delete({path: BitMap([1, 2])}), state.version)
    properties = {READ_VERSION: state.version, READ_PREDICATE: "x < 3"}
    commit_changes(table.root, dataclasses.replace(commit, properties=properties), table.reads())
    removal = DeltaCommit(
        operation="DELETE",
        change=RowChange.DELETE,
        read_version=table.state.version,
        removed=remove_files([table.files[0]]),
    )
    commit_changes(table.root, removal, table.reads())
    return table


def _commits(table: WrittenTable) -> list[TableCommit]:
    return list(delta_commits(table.root, lambda version, path: 4))


def _is_told(table: WrittenTable) -> bool:
    commits = _commits(table)
    path = next(iter(commits[4].removed))
    removed = [commit.removed for commit in commits]
    return removed == [{}, {}, {path: BitMap([0, 1])}, {path: BitMap([2])}, {path: BitMap([3])}]


def test_a_commit_has_removed_the_rows_that_its_statement_did(tmp_path: Path) -> None:
    table = _changed_table(tmp_path)
    assert _is_told(table)
    commits = _commits(table)
    assert [len(commit.added) for commit in commits] == [1, 1, 0, 0, 0]
    assert [(commit.read_version, commit.predicate) for commit in commits[2:]] == [
        (None, None),
        (2, "x < 3"),
        (None, None),
    ]


def test_a_log_that_begins_with_a_checkpoint_adds_what_is_left_there(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    table = _changed_table(tmp_path)
    DeltaTable(table.root, version=3).create_checkpoint()
    for version in range(4):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    first, last = _commits(table)
    assert sorted(map(len, first.added.values())) == [1, 4]
    assert list(last.removed.values()) == [BitMap([3])]


@pytest.mark.parametrize("name", DELTA_MUTANTS)
def test_a_reader_of_changes_that_is_wrong_is_found_out(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _changed_table(tmp_path)
    monkeypatch.setattr(*DELTA_MUTANTS[name])
    assert not _is_told(table)
