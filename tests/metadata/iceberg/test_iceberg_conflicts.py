"""Pairs of changes of which one was committed after the other had read the table."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from iceberg_lake import IcebergLake, change_of, data_files, replacement, rows_of, write_file
from pyiceberg.conversions import from_bytes
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.types import LongType

from mutants.metadata.iceberg_commits import CONFLICT_MUTANTS
from pruning.metadata.iceberg.commits import committing, new_snapshots
from pruning.metadata.iceberg.commits.changes import Isolation, NewDataFile, TableChange
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.commits.conflicts import SnapshotConflict

A, B, C = (1, 2), (3, 4), (200, 201)
BASE = {(1, "a"), (2, "a"), (3, "b"), (4, "b"), (200, "c"), (201, "c")}


class Base:
    """A table of the files A, B and C, to which each test returns."""

    def __init__(self, lake: IcebergLake) -> None:
        self.lake = lake
        self.table = lake.create([(1, "a"), (2, "a")], [(3, "b"), (4, "b")], [(200, "c"), (201, "c")])
        self.files = data_files(self.table)

    def reset(self) -> None:
        """Make the first snapshot of A, B and C the current one again."""
        table = self.lake.load()
        table.manage_snapshots().set_current_snapshot(self.table.current_snapshot().snapshot_id).commit()

    def added(self, *rows: tuple[int, str]) -> dict[str, Any]:
        """Return the part of a change that adds a file of these rows."""
        return {"added_files": (NewDataFile(path=write_file(self.table, list(rows))),)}


class Statement(NamedTuple):
    """A statement: the rows that it removes and adds, and its change of files."""

    removed: set[tuple[int, str]]
    added: set[tuple[int, str]]
    parts: Callable[[Base], dict[str, Any]]
    is_replace: bool = False


def _positions(base: Base, file: tuple[int, ...], *positions: int) -> dict[str, Any]:
    return {"deleted_positions": {base.files[file]: list(positions)}}


def _removed(base: Base, file: tuple[int, ...]) -> dict[str, Any]:
    return {"removed_files": frozenset([base.files[file]])}


# Each selects rows of `id < 3 OR id > 100`: all of A, none of B, and all of C, which it leaves as it is.
OURS = {
    "delete a row": Statement({(1, "a")}, set(), lambda b: _positions(b, A, 0)),
    "delete a file": Statement({(1, "a"), (2, "a")}, set(), lambda b: _removed(b, A)),
    "update a row": Statement({(1, "a")}, {(1, "z")}, lambda b: _positions(b, A, 0) | b.added((1, "z"))),
    "rewrite a file": Statement(
        {(1, "a")}, {(1, "z")}, lambda b: _removed(b, A) | b.added((1, "z"), (2, "a"))
    ),
}
THEIRS = {
    "append other rows": Statement(set(), {(50, "c")}, lambda b: b.added((50, "c"))),
    "append selected rows": Statement(set(), {(101, "c")}, lambda b: b.added((101, "c"))),
    "delete another row of A": Statement({(2, "a")}, set(), lambda b: _positions(b, A, 1)),
    "delete the same row": Statement({(1, "a")}, set(), lambda b: _positions(b, A, 0)),
    "delete a row of B": Statement({(3, "b")}, set(), lambda b: _positions(b, B, 0)),
    "delete A": Statement({(1, "a"), (2, "a")}, set(), lambda b: _removed(b, A)),
    "delete B": Statement({(3, "b"), (4, "b")}, set(), lambda b: _removed(b, B)),
    "update a row of A": Statement(
        {(2, "a")}, {(60, "z")}, lambda b: _positions(b, A, 1) | b.added((60, "z"))
    ),
    "rewrite A": Statement({(2, "a")}, {(60, "z")}, lambda b: _removed(b, A) | b.added((1, "a"), (60, "z"))),
    "rewrite B": Statement({(3, "b")}, {(60, "z")}, lambda b: _removed(b, B) | b.added((60, "z"), (4, "b"))),
    "select a row of B": Statement(
        {(3, "b")}, {(101, "z")}, lambda b: _removed(b, B) | b.added((101, "z"), (4, "b"))
    ),
    "compact A": Statement(set(), set(), lambda b: _removed(b, A) | b.added((1, "a"), (2, "a")), True),
    "delete a row of C": Statement({(200, "c")}, set(), lambda b: _positions(b, C, 0)),
    "delete C": Statement({(200, "c"), (201, "c")}, set(), lambda b: _removed(b, C)),
    "compact C": Statement(
        set(), set(), lambda b: _removed(b, C) | b.added((200, "c"), (201, "c")), is_replace=True
    ),
}
# Where theirs makes a conflict: with which of ours, serializable (1) and under snapshot isolation (2).
#                             delete a row, a file, update a row, rewrite a file
CONFLICTS = {
    "append other rows":       ("",   "",   "",   ""),
    "append selected rows":    ("1",  "1",  "1",  "1"),
    "delete another row of A": ("",   "",   "12", "12"),
    "delete the same row":     ("",   "",   "12", "12"),
    "delete a row of B":       ("",   "",   "",   ""),
    "delete A":                ("",   "",   "12", "12"),
    "delete B":                ("",   "",   "",   ""),
    "update a row of A":       ("2",  "2",  "12", "12"),
    "rewrite A":               ("12", "12", "12", "12"),
    "rewrite B":               ("",   "",   "",   ""),
    "select a row of B":       ("1",  "1",  "1",  "1"),
    "compact A":               ("12", "12", "12", "12"),
    "delete a row of C":       ("",   "",   "1",  "1"),
    "delete C":                ("",   "",   "1",  "1"),
    "compact C":               ("",   "",   "",   ""),
}  # fmt: skip
LEVELS = {"1": Isolation.SERIALIZABLE, "2": Isolation.SNAPSHOT}
# One statement of ours for each of theirs.
SAMPLE = list(zip(itertools.cycle(OURS), THEIRS))


@pytest.fixture(scope="module")
def shared_base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return Base(IcebergLake(tmp_path_factory.mktemp("lake")))


@pytest.fixture
def base(shared_base: Base) -> Iterator[Base]:
    """A table of A, B and C."""
    yield shared_base
    shared_base.reset()


def may_match(data_files: Sequence[Any]) -> bool:
    """Tell by the bounds if a file may hold a row with `id < 3 OR id > 100`."""
    return any(
        from_bytes(LongType(), file.lower_bounds[1]) < 3 or from_bytes(LongType(), file.upper_bounds[1]) > 100
        for file in data_files
    )


def _change(base: Base, statement: Statement) -> TableChange:
    return change_of(base.table, may_match=may_match, **statement.parts(base))


def _commit_theirs(base: Base, statement: Statement) -> int:
    with pytest.MonkeyPatch.context() as patched:
        if statement.is_replace:
            summary = Summary(operation=Operation.REPLACE)
            patched.setattr(new_snapshots, "_summary", lambda *arguments: summary)
        return commit_change(base.table, _change(base, statement)).snapshot_id


def _refusals(base: Base, theirs: str) -> list[str]:
    """Return the levels at which each of our statements is refused after theirs, without committing it."""
    _commit_theirs(base, THEIRS[theirs])
    table = base.lake.load()
    levels = []
    for statement in OURS.values():
        change = _change(base, statement)
        refused = ""
        for level, isolation in LEVELS.items():
            try:
                committing._Commit(table, replace(change, isolation=isolation)).prepare()
            except SnapshotConflict:
                refused += level
        levels.append(refused)
    return levels


@pytest.mark.parametrize("theirs", THEIRS)
def test_a_change_is_refused_where_it_might_mean_something_else(base: Base, theirs: str) -> None:
    assert _refusals(base, theirs) == list(CONFLICTS[theirs])


def _check_pair(base: Base, ours: str, theirs: str, isolation: Isolation) -> None:
    """Commit ours after theirs, and check that the table has the rows of both statements, or of theirs."""
    winner = _commit_theirs(base, THEIRS[theirs])
    change = replace(_change(base, OURS[ours]), isolation=isolation)
    statements = [THEIRS[theirs]]
    try:
        committed = commit_change(base.table, change)
    except SnapshotConflict as error:
        passed = error.snapshots
    else:
        passed = committed.passed
        statements.append(OURS[ours])
    rows = BASE.difference(*(s.removed for s in statements)).union(*(s.added for s in statements))
    assert (passed, rows_of(base.lake.load())) == ((winner,), sorted(rows))


@pytest.mark.parametrize(("ours", "theirs"), SAMPLE)
def test_after_two_changes_the_table_has_the_rows_of_both_or_of_the_first(
    base: Base, ours: str, theirs: str
) -> None:
    _check_pair(base, ours, theirs, Isolation.SERIALIZABLE)


@pytest.mark.deep
@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("theirs", THEIRS)
@pytest.mark.parametrize("ours", OURS)
def test_each_two_changes_make_the_rows_of_both_or_of_the_first(
    base: Base, ours: str, theirs: str, isolation: Isolation
) -> None:
    _check_pair(base, ours, theirs, isolation)


@pytest.mark.parametrize("name", CONFLICT_MUTANTS)
def test_mutants_refuse_too_little_or_too_much(
    base: Base, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant, theirs = CONFLICT_MUTANTS[name]
    monkeypatch.setattr(*mutant)
    assert _refusals(base, theirs) != list(CONFLICTS[theirs])


def test_a_race_is_noticed_whenever_it_is_lost(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other writer commits after the first check, so that only the catalog's requirement fails."""
    written = committing._Commit._write_files

    def write_and_lose(commit: Any) -> Any:
        files = written(commit)
        monkeypatch.setattr(committing._Commit, "_write_files", written)
        commit_change(base.table, change_of(base.table, **base.added((101, "c"))))
        return files

    monkeypatch.setattr(committing._Commit, "_write_files", write_and_lose)
    with pytest.raises(SnapshotConflict, match="added rows that the statement may select"):
        commit_change(base.table, _change(base, OURS["update a row"]))
    assert rows_of(base.lake.load()) == sorted(BASE | {(101, "c")})


def test_a_table_that_went_back_behind_what_was_read_is_a_conflict(base: Base) -> None:
    later = commit_change(base.table, change_of(base.table, **base.added((50, "c"))))
    change = change_of(base.lake.load(), deleted_positions={base.files[A]: [0]})
    assert change.read_snapshot == later.snapshot_id
    base.reset()
    with pytest.raises(SnapshotConflict, match="no longer leads to snapshot"):
        commit_change(base.table, change)


def test_a_snapshot_that_the_table_does_not_have_is_a_conflict(base: Base) -> None:
    with pytest.raises(SnapshotConflict, match="has no snapshot 7"):
        commit_change(base.table, replace(change_of(base.table), read_snapshot=7))


def test_rows_written_by_columns_that_have_changed_are_a_conflict(tmp_path: Path) -> None:
    table = IcebergLake(tmp_path).create([(1, "a")])
    change = replacement(table, data_files(table)[1,], [(9, "a")])
    with table.update_schema() as update:
        update.rename_column("p", "q")
    with pytest.raises(SnapshotConflict, match="columns have changed"):
        commit_change(table, change)


def test_a_change_that_is_in_the_table_already_is_a_conflict(base: Base) -> None:
    """Its files would be there twice, if it was tried again after an answer was lost."""
    change = replace(change_of(base.table, **base.added((50, "c"))), isolation=Isolation.SNAPSHOT)
    commit_change(base.table, change)
    with pytest.raises(SnapshotConflict, match=r"has added the file .* already"):
        commit_change(base.table, change)


def test_columns_that_change_at_the_last_moment_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = IcebergLake(tmp_path).create([(1, "a")])
    change = replacement(table, data_files(table)[1,], [(9, "a")])
    write = committing.write_snapshot

    def write_late(*arguments: Any) -> Any:
        with table.update_schema() as update:
            update.rename_column("p", "q")
        return write(*arguments)

    monkeypatch.setattr(committing, "write_snapshot", write_late)
    with pytest.raises(SnapshotConflict, match="columns have changed"):
        commit_change(table, change)
