"""Writers of one Iceberg table at once, and writers that fail in the middle of a commit."""

import builtins
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hadoop_lake import make_hadoop_table
from iceberg_lake import (
    PATIENT,
    IcebergLake,
    change_of,
    data_files,
    replacement,
    rows_of,
    write_file,
)
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile

from mutants.metadata.iceberg_commits import RACING_MUTANTS
from pruning.errors import InputError
from pruning.metadata.iceberg.commits import hadoop_tables
from pruning.metadata.iceberg.commits.changes import Isolation, NewDataFile
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.commits.conflicts import SnapshotConflict
from pruning.metadata.iceberg.commits.hadoop_tables import open_hadoop_table

WRITERS = 4


def _run_writers(load: Callable[[int], Callable[[], Any]], commits: int) -> list[tuple[int, str]]:
    """Let writers each add and delete rows; return the rows that the table should have then.

    Args:
        load: Returns, for a writer, a function that loads the table.
        commits: The number of commits of each writer.
    """
    expected: list[tuple[int, str]] = []
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            loaded = load(number)
            path = None
            for step in range(commits):
                table = loaded()
                identity = number * 1000 + step
                if path is None:
                    rows = [(identity, "kept"), (identity, "deleted")]
                    path = write_file(table, rows)
                    change = change_of(
                        table, added_files=(NewDataFile(path=path),), may_match=lambda files: False
                    )
                    expected.append(rows[0])
                else:
                    change = change_of(table, deleted_positions={path: [1]}, may_match=lambda files: False)
                    path = None
                commit_change(table, change)
        # A thread keeps its error, or the test would pass without it.
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sorted(expected)


def _check_catalog(lake: IcebergLake, commits: int) -> None:
    lake.create()
    expected = _run_writers(lambda number: lake.another().load, commits)
    table = lake.load()
    assert len(table.metadata.snapshots) == WRITERS * commits
    # The last change of each writer, if their number is odd, appended two rows.
    assert [row for row in rows_of(table) if row[1] == "kept"] == expected
    assert len([row for row in rows_of(table) if row[1] == "deleted"]) == WRITERS * (commits % 2)
    assert table.current_snapshot().summary["total-records"] == str(2 * len(expected))


def test_commits_of_four_writers_are_all_in_the_table(tmp_path: Path) -> None:
    """Each writer appends two rows and then deletes one by its position, and so on."""
    _check_catalog(IcebergLake(tmp_path), commits=3)


@pytest.mark.deep
def test_a_hundred_commits_of_four_writers_are_all_in_the_table(tmp_path: Path) -> None:
    _check_catalog(IcebergLake(tmp_path), commits=25)


def test_writers_of_a_directory_without_catalog_lose_nothing(tmp_path: Path) -> None:
    directory = make_hadoop_table(tmp_path, **PATIENT)
    expected = _run_writers(lambda number: lambda: open_hadoop_table(directory), 4)
    table = open_hadoop_table(directory)
    assert len(table.metadata.snapshots) == 4 * WRITERS
    assert rows_of(table) == expected
    assert table.metadata_location.endswith(f"/v{1 + 4 * WRITERS}.metadata.json")


@pytest.mark.parametrize("name", RACING_MUTANTS)
def test_mutants_lose_an_update(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*RACING_MUTANTS[name])
    assert not _both_are_there(tmp_path, monkeypatch)


def test_no_update_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _both_are_there(tmp_path, monkeypatch)


def _both_are_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Commit a change between the manifests and the last step of another one; tell if the table has both.

    The table is of version 1, as PyIceberg itself notices a late snapshot by its sequence number in others.
    """
    lake = IcebergLake(folder)
    table = lake.create([(1, "a")], [(2, "b")], [(3, "c")], format_version="1")
    files = data_files(table)
    commit_table = SqlCatalog.commit_table

    def lose(catalog: Any, *arguments: Any) -> Any:
        monkeypatch.setattr(SqlCatalog, "commit_table", commit_table)
        commit_change(table, change_of(table, removed_files=frozenset([files[1,]])))
        return commit_table(catalog, *arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", lose)
    commit_change(table, change_of(table, removed_files=frozenset([files[3,]])))
    return rows_of(lake.load()) == [(2, "b")]


def test_a_writer_that_is_always_slower_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = IcebergLake(tmp_path)
    table = lake.create([(1, "a")])
    with table.transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "2"})
    table = lake.load()
    commit_table = SqlCatalog.commit_table
    is_nested: list[bool] = []

    def lose(catalog: Any, *arguments: Any) -> Any:
        if not is_nested:
            is_nested.append(True)
            lake.load().append(table.scan().to_arrow())
            is_nested.clear()
        return commit_table(catalog, *arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", lose)
    [path] = data_files(table).values()
    change = change_of(table, deleted_positions={path: [0]}, isolation=Isolation.SNAPSHOT)
    with pytest.raises(SnapshotConflict, match="in each of 3 attempts") as raised:
        commit_change(table, change)
    monkeypatch.undo()
    assert len(raised.value.snapshots) == 3
    assert rows_of(lake.load()) == [(1, "a")] * 4
    written = {path.name for path in tmp_path.rglob("*deletes.parquet")}
    assert not written


def test_an_answer_that_is_lost_is_a_commit_if_the_table_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = IcebergLake(tmp_path)
    table = lake.create([(1, "a"), (2, "b")])
    commit_table = SqlCatalog.commit_table

    def lose_answer(catalog: Any, *arguments: Any) -> Any:
        commit_table(catalog, *arguments)
        raise ConnectionError("lost")

    monkeypatch.setattr(SqlCatalog, "commit_table", lose_answer)
    [path] = data_files(table).values()
    committed = commit_change(table, change_of(table, deleted_positions={path: [0]}))
    table = lake.load()
    assert (table.current_snapshot().snapshot_id, rows_of(table)) == (committed.snapshot_id, [(2, "b")])
    assert len(table.metadata.snapshots) == 2


def test_files_of_a_commit_whose_answer_never_comes_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the snapshot, and neither the commit nor the look for it gets an answer."""
    lake = IcebergLake(tmp_path)
    table = lake.create([(1, "a"), (2, "b")])
    [path] = data_files(table).values()
    change = change_of(table, deleted_positions={path: [0]})
    commit_table = SqlCatalog.commit_table

    def answer_nothing(*arguments: Any) -> None:
        raise InputError("no answer")

    def lose_answer(catalog: Any, *arguments: Any) -> None:
        commit_table(catalog, *arguments)
        monkeypatch.setattr(SqlCatalog, "load_table", answer_nothing)
        raise ConnectionError("lost")

    monkeypatch.setattr(SqlCatalog, "commit_table", lose_answer)
    with pytest.raises(InputError, match="no answer"):
        commit_change(table, change)
    monkeypatch.undo()
    assert rows_of(lake.load()) == [(2, "b")]


class Crash(BaseException):
    """The end of the process, which no handler of errors catches."""


class _CrashingFiles:
    """Calls of functions that change files, of which one is the last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int) -> None:
        self.calls: list[str] = []
        self._last = last
        changing = [
            (os, "link"),
            (os, "unlink"),
            (os, "replace"),
            (PyArrowFile, "create"),
            (SqlCatalog, "commit_table"),
        ]
        for owner, name in changing:
            monkeypatch.setattr(owner, name, self._counted(name, getattr(owner, name)))
        opened = builtins.open
        monkeypatch.setattr(
            hadoop_tables,
            "open",
            lambda path, mode="r": self._counted("open", opened)(path, mode),
            raising=False,
        )

    def _counted(self, name: str, original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self._end_at(f"before {name}")
            result = original(*arguments, **options)
            self._end_at(f"after {name}")
            return result

        return call

    def _end_at(self, call: str) -> None:
        # A process that has ended changes nothing more.
        if len(self.calls) > self._last:
            raise Crash(call)
        self.calls.append(call)
        if len(self.calls) > self._last:
            raise Crash(call)


def _crashes(table: Any, change: Any, last: int) -> bool:
    with pytest.MonkeyPatch.context() as patched:
        _CrashingFiles(patched, last)
        try:
            commit_change(table, change)
        except Crash:
            return True
    return False


@pytest.mark.parametrize("kind", ["directory", "catalog"])
def test_a_crash_anywhere_leaves_the_old_version_or_the_new_one(tmp_path: Path, kind: str) -> None:
    """At each call that changes files, before and after it; then the next writer goes on."""
    load = _loader(tmp_path, kind)
    table = load()
    rows = [(number, "kept") for number in range(100, 160)]
    kept, replaced = write_file(table, rows), write_file(table, [(0, "replaced")])
    commit_change(table, change_of(table, added_files=(NewDataFile(path=kept), NewDataFile(path=replaced))))
    old, outcomes, crashes = [(0, "replaced"), *rows], set(), True
    step = 0
    while crashes:
        table = load()
        change = replacement(table, replaced, [(step + 1, "replaced")], deleted_positions={kept: [step]})
        crashes = _crashes(table, change, step)
        rows_now = rows_of(load())
        new = [(step + 1, "replaced")] + [row for row in old[1:] if row != rows[step]]
        assert rows_now in (old, new)
        outcomes.add((crashes, rows_now == new))
        if rows_now == new:
            replaced = change.added_files[0].path
        old = rows_now
        step += 1
    assert outcomes == {(True, False), (True, True), (False, True)}
    assert step > 10


def _loader(folder: Path, kind: str) -> Callable[[], Any]:
    """Return a function that loads a new table without rows."""
    if kind == "directory":
        directory = make_hadoop_table(folder, **PATIENT)
        return lambda: open_hadoop_table(directory)
    lake = IcebergLake(folder)
    lake.create()
    return lake.load
