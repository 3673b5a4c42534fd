"""ICEBERG-3: each version of a table of Iceberg has the rows that its history leaves, and no others."""

import tempfile
from pathlib import Path

import pytest
from budget import examples, unshrunk
from handmade_tables import HandmadeTable, column
from hypothesis import event, find, given
from table_histories import BY_TEXT, FIELDS, HISTORIES, ID, SPECS, Commit, problem_of_history
from version_rows import live_rows, problem_of_blocks

from mutants.metadata.iceberg_versions import MUTANTS
from pruning.metadata.iceberg.opening import open_iceberg_version


@examples(0.2)
@given(HISTORIES)
def test_each_version_has_the_rows_that_its_history_leaves(history: list[Commit]) -> None:
    """ICEBERG-3. Whatever is appended and deleted, and by which kind of deletes."""
    event(" ".join(commit.kind for commit in history))
    with tempfile.TemporaryDirectory() as folder:
        assert problem_of_history(history, Path(folder) / "table") is None


@pytest.mark.parametrize("scope", ["reference", "full", "cut", "none"])
def test_histories_reach_each_scope_after_an_append(scope: str) -> None:
    find(
        HISTORIES,
        lambda history: any(commit.kind == "positions" and commit.scope == scope for commit in history[1:]),
        settings=unshrunk(2_000),
    )


ROWS = [{"id": 0, "s": "a"}, {"id": 1, "s": "b"}, {"id": 2, "s": None}]
APPEND = Commit(kind="append", rows=ROWS)
KILLING = (
    (APPEND, Commit(kind="positions", positions=(0,), scope="none")),
    (APPEND, Commit(kind="positions", positions=(0,), scope="cut")),
    (APPEND, Commit(kind="positions", positions=(0,), scope="full"), Commit(kind="vector", positions=(1,))),
    (APPEND, Commit(kind="values", rows=ROWS[:1], ids=(ID,), appended=ROWS)),
    (APPEND, Commit(kind="values", rows=ROWS[:1], ids=(ID,)), Commit(kind="append", rows=ROWS), APPEND),
    (
        Commit(kind="append", rows=[{"id": 0, "s": "a"}, {"id": 0, "s": "b"}], spec=BY_TEXT),
        Commit(kind="values", rows=[{"id": 0, "s": "a"}], ids=(ID,), spec=BY_TEXT),
    ),
    (
        Commit(kind="append", rows=ROWS, spec=BY_TEXT),
        Commit(kind="values", rows=[{"id": 0, "s": "a"}], ids=(ID,)),
    ),
)


def problem_of_evolution(folder: Path) -> str | None:
    """Return in which way a table is read wrongly of which a field got the name of another one."""
    table = HandmadeTable(folder, [column(1, "a", "long"), column(2, "b c", "string")])
    table.commit(table.data([{"a": 1, "b c": "x"}]))
    table.evolve([column(1, "old", "long"), column(2, "b c", "string"), column(3, "a", "long")])
    table.commit(table.data([{"old": 2, "b c": "y", "a": 3}]))
    version = open_iceberg_version(str(folder))
    rows = sorted(live_rows(version), key=lambda row: str(row["old"]))
    expected = [{"old": 1, "b c": "x", "a": None}, {"old": 2, "b c": "y", "a": 3}]
    if rows != expected:
        return f"{rows} instead of {expected}"
    return problem_of_blocks(version, ("old", "a"))


def problem_of_names(folder: Path) -> str | None:
    """Return in which way a file is read wrongly of which the writer changed a column's name."""
    table = HandmadeTable(folder, [column(1, "b_x20c", "long")])
    file = table.data([{"b_x20c": 1}])
    table.schemas = [[column(1, "b c", "long")]]
    table.commit(file)
    rows = live_rows(open_iceberg_version(str(folder)))
    return None if rows == [{"b c": 1}] else str(rows)


def problem_of_partitions(folder: Path) -> str | None:
    """Return in which way a table is read wrongly of which some files have partitions."""
    table = HandmadeTable(folder, FIELDS, specs=SPECS)
    table.commit(table.data(ROWS[:1], spec_id=BY_TEXT, partition=("a",)), table.data(ROWS[1:]))
    rows = live_rows(open_iceberg_version(str(folder)))
    return None if sorted(rows, key=str) == sorted(ROWS, key=str) else str(rows)


def problem(folder: Path) -> str | None:
    """Return the first problem of some tables that are read."""
    evolved = problem_of_evolution(folder / "evolved") or problem_of_names(folder / "named")
    evolved = evolved or problem_of_partitions(folder / "partitioned")
    histories = (problem_of_history(history, folder / str(at)) for at, history in enumerate(KILLING))
    return evolved or next((wrong for wrong in histories if wrong is not None), None)


def test_the_tables_that_find_mutants_are_read_rightly(tmp_path: Path) -> None:
    assert problem(tmp_path) is None


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reader_that_is_wrong_is_found_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    assert problem(tmp_path)
