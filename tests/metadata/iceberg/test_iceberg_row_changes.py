"""The rows that snapshots of Iceberg tables have changed, as their manifests tell."""

from pathlib import Path

import pytest
from iceberg_lake import IcebergLake, change_of, data_files
from pyroaring import BitMap

from mutants.row_changes import ICEBERG_MUTANTS
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.row_changes import iceberg_commits
from pruning.metadata.versioned.commits import READ_PREDICATE, READ_VERSION, TableCommit


def _changed_table(folder: Path) -> tuple[IcebergLake, str]:
    """Return a lake with a table of two files of three rows, of which one loses two rows, and is removed."""
    lake = IcebergLake(folder)
    table = lake.create([(1, "a"), (2, "b"), (3, "c")], [(4, "d"), (5, "e"), (6, "f")])
    path = data_files(table)[1, 2, 3]
    commit_change(table, change_of(table, deleted_positions={path: [0]}))
    table = lake.load()
    read = {READ_VERSION: str(table.current_snapshot().snapshot_id), READ_PREDICATE: "x < 3"}
    commit_change(table, change_of(table, deleted_positions={path: [0, 1]}, properties=read))
    table = lake.load()
    commit_change(table, change_of(table, removed_files=frozenset([path])))
    return lake, path


def _commits(lake: IcebergLake) -> list[TableCommit]:
    return list(iceberg_commits(lake.load().metadata_location, lambda snapshot, path: 3))


def _is_told(lake: IcebergLake, path: str) -> bool:
    removed = [commit.removed for commit in _commits(lake)]
    # A statement deletes a row that is deleted already only if it has not seen that.
    return removed[-3:] == [{path: BitMap([0])}, {path: BitMap([0, 1])}, {path: BitMap([2])}] and not any(
        removed[:-3]
    )


def test_a_snapshot_has_removed_the_rows_that_its_statement_did(tmp_path: Path) -> None:
    lake, path = _changed_table(tmp_path)
    assert _is_told(lake, path)
    commits = _commits(lake)
    assert sum(len(commit.added) for commit in commits) == 2
    assert [commit.predicate for commit in commits[-3:]] == [None, "x < 3", None]
    assert commits[-2].read_version == commits[-3].version


@pytest.mark.parametrize("name", ICEBERG_MUTANTS)
def test_a_reader_of_snapshots_changes_that_is_wrong_is_found_out(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, path = _changed_table(tmp_path)
    monkeypatch.setattr(*ICEBERG_MUTANTS[name])
    assert not _is_told(lake, path)
