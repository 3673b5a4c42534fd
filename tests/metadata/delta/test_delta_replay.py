"""DELTA-1: the files of a version are those that a replay of its log by a plain model gives."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from budget import examples
from delta_logs import FORMS, Action, WrittenLog, add, column, inline, metadata, protocol, remove
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from mutants.metadata.delta_replay import MUTANTS
from pruning.metadata.delta.opening import open_delta_version

# Names that their escapes differ from, among them one that reads as an escape itself.
NAMES = ("a", "b c", "é%20", "p=1/d")
VECTORS: tuple[dict[str, Any] | None, ...] = (None, inline([0]), inline([1]), inline([1]) | {"offset": 3})


@st.composite
def histories(draw: st.DrawFn) -> list[list[Action]]:
    """Commits that add and remove logical files; no version has a data file twice.

    Shrinks to: fewer commits, then additions alone.
    """
    live: dict[str, dict[str, Any] | None] = {}
    commits = []
    for _ in range(draw(st.integers(1, 6))):
        actions = []
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1)):
            path = quote(name)
            if name in live:
                actions.append(remove(path, deletionVector=live.pop(name)))
                if draw(st.booleans()):
                    continue
                actions.reverse()
            live[name] = draw(st.sampled_from(VECTORS))
            actions.append(add(path, deletionVector=live[name]))
        commits.append(actions)
    return commits


def model(root: Path, commits: list[list[Action]]) -> dict[str, list[int]]:
    """Return the files after some commits and their deleted rows, by the rules of the protocol.

    Keys are as the log has them, so that this shares no code with what it judges.
    """
    live: dict[tuple[str, str], dict[str, Any]] = {}
    for action in (action for commit in commits for action in commit):
        ((kind, fields),) = action.items()
        vector = fields.get("deletionVector")
        identity = "" if vector is None else f"{vector['pathOrInlineDv']}@{vector.get('offset')}"
        if kind == "add":
            live[fields["path"], identity] = fields
        else:
            live.pop((fields["path"], identity), None)
    names = {quote(name): name for name in NAMES}
    rows = {
        None: [],
        **{to_key(vector): [place] for vector, place in zip(VECTORS[1:], (0, 1, 1), strict=True)},
    }
    return {
        f"{root}/{names[fields['path']]}": rows[to_key(fields.get("deletionVector"))]
        for fields in live.values()
    }


def to_key(vector: dict[str, Any] | None) -> Any:
    return None if vector is None else (vector["pathOrInlineDv"], vector.get("offset"))


def state(commits: list[list[Action]]) -> list[Action]:
    """Return the actions of a checkpoint after some commits, with tombstones."""
    live: dict[str, Action] = {}
    gone = []
    for action in (action for commit in commits for action in commit):
        ((kind, fields),) = action.items()
        key = f"{fields['path']} {fields.get('deletionVector')}"
        if kind == "add":
            live[key] = action
        else:
            live.pop(key, None)
            gone.append(action)
    return [protocol(), metadata(column("v")), *live.values(), *gone]


def open_table(root: Path, version: int) -> dict[str, list[int]]:
    table = open_delta_version(str(root), version=version)
    positions = table.deleted_rows.positions(range(len(table.files.paths)))
    return {path: list(rows) for path, rows in zip(table.files.paths, positions, strict=True)}


def problem(commits: list[list[Action]], form: str | None, checkpoint: int) -> str | None:
    """Return the first version whose files are not those of the model."""
    with TemporaryDirectory() as directory:
        log = WrittenLog(Path(directory) / "t")
        log.commit(protocol(), metadata(column("v")), *commits[0])
        for actions in commits[1:]:
            log.commit(*actions)
        if form is not None:
            log.checkpoint(checkpoint, state(commits[: checkpoint + 1]), form)
        for version in range(len(commits)):
            files = open_table(log.root, version)
            if files != model(log.root, commits[: version + 1]):
                return f"version {version}: {files}"
    return None


@examples(0.3)
@given(commits=histories(), form=st.sampled_from((None, *FORMS)), data=st.data())
def test_files_of_each_version_agree_with_a_plain_model(
    commits: list[list[Action]], form: str | None, data: st.DataObject
) -> None:
    """DELTA-1. With a checkpoint of any form in place of the commits before it, or without."""
    event(f"checkpoint {form}")
    assert problem(commits, form, data.draw(st.integers(0, len(commits) - 1))) is None


@pytest.mark.parametrize("form", FORMS)
def test_a_table_whose_files_are_all_removed_is_opened_from_its_checkpoint(form: str) -> None:
    assert problem([[add("a")], [remove("a")]], form, 1) is None


def is_replaced_before_its_removal(commits: list[list[Action]]) -> bool:
    """Tell whether a commit adds a file with another vector before it removes the file as it was."""
    return any(
        "add" in first and "remove" in second and first["add"]["path"] == second["remove"]["path"]
        for commit in commits
        for first, second in pairwise(commit)
    )


def is_removed_and_added_again(commits: list[list[Action]]) -> bool:
    actions = [(next(iter(action)), action) for commit in commits for action in commit]
    removed = [action["remove"]["path"] for kind, action in actions if kind == "remove"]
    return any(kind == "add" and removed.count(action["add"]["path"]) > 1 for kind, action in actions)


@pytest.mark.parametrize("is_hard", [is_replaced_before_its_removal, is_removed_and_added_again])
def test_histories_reaches_each_hard_case(is_hard: Callable[[list[list[Action]]], bool]) -> None:
    """Without this, DELTA-1 could hold because each file is added once."""
    assert is_hard(find(histories(), is_hard))


KILLING: tuple[tuple[list[list[Action]], str | None], ...] = (
    ([[add("a"), add("d")], [remove("a")]], None),
    (
        [
            [add("a", deletionVector=VECTORS[2])],
            [add("a", deletionVector=VECTORS[3]), remove("a", deletionVector=VECTORS[2])],
        ],
        None,
    ),
    ([[add("a")], [remove("a")], [add("a")]], None),
    ([[add(quote("b c"))]], None),
    ([[add("a"), add("d")], [remove("a")]], "classic"),
)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_replay_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = dict.fromkeys((*NAMES, "d"))
    monkeypatch.setattr("test_delta_replay.NAMES", tuple(names))
    assert [problem(commits, form, len(commits) - 1) for commits, form in KILLING] == [None] * len(KILLING)
    monkeypatch.setattr(*MUTANTS[name])
    assert any(problem(commits, form, len(commits) - 1) for commits, form in KILLING)


def test_files_agree_with_those_of_delta_rs(tmp_path: Path) -> None:
    """DELTA-1. After appends, deletes and an overwrite, with a checkpoint on the way, at each version."""
    deltalake = pytest.importorskip("deltalake")
    path = str(tmp_path / "a table")
    for start in range(3):
        rows = pa.table({"v": pa.array(range(start, start + 4)), "p": ["x y", "é", None, "a/b"]})
        deltalake.write_deltalake(path, rows, mode="append", partition_by=["p"])
    table = deltalake.DeltaTable(path)
    table.delete("v < 2")
    table.create_checkpoint()
    table.delete("v = 4")
    deltalake.write_deltalake(path, rows, mode="overwrite")
    for version in range(6):
        table.load_as_version(version)
        theirs = pa.table(table.get_add_actions()).sort_by("path")
        ours = open_delta_version(path, version=version)
        assert len(ours.files.paths) == theirs.num_rows
        assert sorted(ours.files.byte_counts.tolist()) == sorted(theirs["size_bytes"].to_pylist())
        assert all(Path(file).is_file() for file in ours.files.paths)
        values = pa.table(ours.files.partition_values)["p"].to_pylist()
        assert sorted(map(str, values)) == sorted(str(row["p"]) for row in theirs["partition"].to_pylist())


def test_a_file_twice_in_one_version_is_refused(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "t")
    log.commit(protocol(), metadata(column("v")), add("a"), add("a", deletionVector=VECTORS[1]))
    with pytest.raises(ValueError, match="/t/a: is in this version of the table twice"):
        open_delta_version(str(log.root))
