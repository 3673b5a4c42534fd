"""A version is written whole or not at all, by one writer, and after what others have written."""

import builtins
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from crashing import Crash, crash_at
from fsspec.implementations.memory import MemoryFileSystem

# The packages are in the extra `delta`.
pytest.importorskip("pyroaring")
pytest.importorskip("deltalake")
from changed_delta_tables import WrittenTable, deletion, rows_by_delta_rs, write_table
from deltalake import DeltaTable
from pyroaring import BitMap

from mutants.metadata.delta_writing import COMMIT_MUTANTS
from pruning.errors import InputError
from pruning.metadata.delta import created_files
from pruning.metadata.delta.changed_files import remove_files
from pruning.metadata.delta.commits import (
    DeltaCommit,
    LostRace,
    UncertainCommit,
    entry_path,
    newest_version,
    predicate_parameter,
    read_entry,
    write_version,
)
from pruning.metadata.delta.committing import commit_changes
from pruning.metadata.delta.conflicts import CommitConflict, TableReads, no_file
from pruning.metadata.delta.created_files import create_file, root_of
from pruning.metadata.delta.log_actions import AddedFile, DeltaMetadata, TransactionId
from pruning.metadata.delta.table_state import read_state
from pruning.metadata.delta.writer_protocol import RowChange
from tools.counting_stores import s3_store

WRITERS = 4
CHECKPOINT_EVERY = 20
# The calls by which a deletion changes files.
WRITES = (
    (builtins, "open"),
    *((os, name) for name in ("makedirs", "open", "fsync", "link", "unlink", "close")),
)


def table_of_ten(folder: Path) -> WrittenTable:
    """A table of one file with the numbers 0 to 9."""
    return write_table(folder, pa.table({"x": range(10)}))


def append(table: WrittenTable, path: str, **fields: Any) -> DeltaCommit:
    """Return the commit that adds a file, which nobody reads."""
    file = AddedFile(path=path, partition_values={}, size_bytes=1, modified_ms=0)
    version = newest_version(table.root)
    return DeltaCommit(
        operation="WRITE", change=RowChange.INSERT, read_version=version, added=(file,), **fields
    )


def test_the_history_tells_what_a_commit_did(tmp_path: Path) -> None:
    table = table_of_ten(tmp_path)
    changes = table.delete({table.files[0].path: BitMap([3])})
    commit = replace(
        deletion(changes, 0),
        parameters={"predicate": predicate_parameter("x = 3")},
        metrics={"numDeletedRows": "1"},
        properties={"read": {"files": 1}},
        transactions=(TransactionId(application="app", number=7, updated_ms=1),),
    )
    assert commit_changes(table.root, commit, table.reads()) == 1
    (newest, _) = DeltaTable(table.root).history()
    assert {key: newest[key] for key in ("operation", "operationParameters", "readVersion", "txnId")} == {
        "operation": "DELETE",
        "operationParameters": {"predicate": '["x = 3"]'},
        "readVersion": 0,
        "txnId": commit.identity,
    }
    assert (newest["isolationLevel"], newest["isBlindAppend"]) == ("WriteSerializable", False)
    assert newest["engineInfo"].startswith("skipproof/")
    assert newest["skipproof"] == {"read": {"files": 1}}
    assert DeltaTable(table.root).transaction_version("app") == 7
    assert table.state.applications == {"app": 7}


def check_no_overwriting(table: WrittenTable) -> None:
    """Write the first version once more, which fails and changes nothing."""
    path = Path(entry_path(table.root, 0))
    before = path.read_bytes()
    with pytest.raises(LostRace) as lost:
        write_version(table.root, 0, b"{}\n")
    assert lost.value.version == 0
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == [path.name]


def test_a_version_is_never_overwritten(tmp_path: Path) -> None:
    check_no_overwriting(table_of_ten(tmp_path))


def check_lost_race(table: WrittenTable) -> None:
    """Two writers delete rows of one version: of the same file, which is refused, and then of another."""
    first, second = (table.delete({table.files[0].path: BitMap([row])}) for row in (1, 2))
    reads = table.reads(whole_table=False, files=frozenset({table.files[0].path}))
    start = newest_version(table.root)
    table.commit(first, reads)
    with pytest.raises(
        CommitConflict, match=rf"version {start + 1}, written by another writer since"
    ) as error:
        table.commit(second, reads)
    assert error.value.version == start + 1
    assert rows_by_delta_rs(table) == [0, *range(2, 10)]


def test_a_writer_that_lost_a_race_learns_what_won(tmp_path: Path) -> None:
    """An append to the table is no conflict, and the deletion follows it."""
    table = table_of_ten(tmp_path)
    check_lost_race(table)
    changes, reads = table.delete({table.files[0].path: BitMap([2])}), table.reads()
    write_table(tmp_path, pa.table({"x": [20]}), properties={})
    DeltaTable(table.root).create_checkpoint()
    blind = replace(append(table, "none.parquet"), read_version=0)
    assert (
        commit_changes(table.root, blind, replace(reads, whole_table=False, may_match=no_file, version=0))
        == 3
    )
    with pytest.raises(CommitConflict, match="added 1 files, in which this commit may have to change rows"):
        table.commit(changes, reads)
    reads = replace(reads, whole_table=False, may_match=lambda added: added[0].path == "other")
    assert table.commit(changes, reads) == 4
    assert read_state(table.root, 4).files.keys() == table.state.files.keys()


def test_a_version_whose_file_is_gone_is_a_conflict(tmp_path: Path) -> None:
    """A writer that slept for long cannot examine it, and may not take its number."""
    table = table_of_ten(tmp_path)
    reads = table.reads(whole_table=False, may_match=no_file)
    late = append(table, "late.parquet")
    for number in range(3):
        commit_changes(table.root, append(table, f"{number}.parquet"), table.reads())
    DeltaTable(table.root).create_checkpoint()
    for version in range(4):
        os.unlink(entry_path(table.root, version))
    with pytest.raises(CommitConflict, match=r"version 1, .*cannot be examined, because its file"):
        commit_changes(table.root, late, reads)
    assert not Path(entry_path(table.root, 1)).exists()
    assert commit_changes(table.root, append(table, "later.parquet"), table.reads()) == 4


def count_up(table: WrittenTable, writer: int, commits: int) -> None:
    """Commit many times; each commit depends on a number in the table and raises it by one."""
    for number in range(commits):
        while True:
            state = table.state
            (counter,) = [file for file in state.files.values() if file.path.startswith("counter")]
            value = int(counter.path.partition("=")[2])
            added = replace(counter, path=f"counter={value + 1}")
            commit = DeltaCommit(
                operation="UPDATE",
                change=RowChange.UPDATE,
                read_version=state.version,
                removed=remove_files([counter]),
                added=(added, replace(counter, path=f"{writer}-{number}")),
            )
            reads = TableReads(
                version=state.version,
                protocol=state.protocol,
                metadata=state.metadata,
                whole_table=False,
                files=frozenset({counter.path}),
                may_match=no_file,
            )
            try:
                version = commit_changes(table.root, commit, reads)
            except CommitConflict:
                continue
            # Without checkpoints, each state would be read from all versions.
            if version % CHECKPOINT_EVERY == 0:
                DeltaTable(table.root, version=version).create_checkpoint()
            break


def check_writers(table: WrittenTable, commits: int) -> None:
    """Let writers count up at once, and check that no update is lost and no version is left out."""
    commit_changes(table.root, append(table, "counter=0"), table.reads())
    errors: list[BaseException] = []

    def run(writer: int) -> None:
        try:
            count_up(table, writer, commits)
        # Whatever stops a thread is the test's failure, and pytest would only warn of it.
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    total = WRITERS * commits
    assert newest_version(table.root) == total + 1
    numbers = [int(name[:20]) for name in os.listdir(f"{table.root}/_delta_log") if name.endswith(".json")]
    assert sorted(numbers) == list(range(total + 2))
    wanted = {f"{writer}-{number}" for writer in range(WRITERS) for number in range(commits)}
    assert {path for path in table.state.files if not path.endswith(".parquet")} == {
        *wanted,
        f"counter={total}",
    }


def test_writers_at_once_lose_no_update(tmp_path: Path) -> None:
    """COMMIT-1."""
    check_writers(table_of_ten(tmp_path), 6)


@pytest.mark.deep
def test_eight_hundred_commits_at_once_lose_no_update(tmp_path: Path) -> None:
    """COMMIT-1, at length: 200 commits of each of four writers."""
    check_writers(table_of_ten(tmp_path), 200)


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_write_leaves_a_version_whole(tmp_path: Path, after: bool) -> None:
    """COMMIT-2: the old version or the new one; the next deletion is not disturbed."""
    table_of_ten(tmp_path / "table")
    for number in range(40):
        shutil.copytree(tmp_path / "table", tmp_path / f"{number}")
        table = WrittenTable(f"{tmp_path}/{number}")
        try:
            with crash_at(WRITES, number, after=after):
                table.commit(table.delete({table.files[0].path: BitMap([3])}, prefix="new"))
        except Crash:
            pass
        else:
            break
        old, new = list(range(10)), [0, 1, 2, *range(4, 10)]
        version = DeltaTable(table.root).version()
        assert rows_by_delta_rs(table) == (new if version else old)
        assert newest_version(table.root) == version
        table.commit(table.delete({table.files[0].path: BitMap([3, 4])}))
        assert rows_by_delta_rs(table) == [0, 1, 2, *range(5, 10)]
    assert number > 10


def test_a_version_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its name is on the disk before the writer says so."""
    calls = []

    def record(name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*arguments: Any) -> Any:
            calls.append(name)
            return original(*arguments)

        return call

    for name in ("fsync", "link", "unlink"):
        monkeypatch.setattr(os, name, record(name))
    create_file(f"{tmp_path}/new/file", b"content")
    # The new folder, the content, and the name in the folder.
    assert calls == ["fsync", "fsync", "link", "fsync", "unlink"]
    assert Path(tmp_path, "new/file").read_bytes() == b"content"


def test_failures_of_the_file_system_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of_ten(tmp_path)

    def fail(error: int) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            raise OSError(error, os.strerror(error))

        return call

    with monkeypatch.context() as patch:
        patch.setattr(created_files, "_sync_folder", fail(5))
        with pytest.raises(UncertainCommit, match=r"1\.json: it may have been written before"):
            commit_changes(table.root, append(table, "a"), table.reads())
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", fail(95))
        with pytest.raises(InputError, match="its file system has no links"):
            commit_changes(table.root, append(table, "b"), table.reads())
        patch.setattr(os, "link", fail(28))
        with pytest.raises(InputError, match="No space left on device\\); the table was not changed"):
            commit_changes(table.root, append(table, "b"), table.reads())
        # The answer of the first request was lost, and the second one is refused.
        patch.setattr(os, "link", fail(17))
        patch.setattr(os.path, "samefile", lambda first, second: True)
        assert commit_changes(table.root, append(table, "b"), table.reads()) == 2
    with pytest.raises(InputError, match="there is no log of a Delta Lake table"):
        newest_version(f"{tmp_path}/none")
    Path(entry_path(table.root, 2)).write_bytes(b"{\n")
    with pytest.raises(InputError, match="version 2 of the log: has a line that is no action"):
        read_entry(table.root, 2)


def test_each_version_of_a_table_that_keeps_times_is_later(tmp_path: Path) -> None:
    """The time stands first, and exceeds the one before, whatever this machine's clock says."""
    table = table_of_ten(tmp_path)
    path = Path(entry_path(table.root, 0))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"] = {"delta.enableInCommitTimestamps": "true"}
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="it has no inCommitTimestamp, which the next version must exceed"):
        commit_changes(table.root, append(table, "a"), table.reads())
    future_ms = 10**14
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"]["inCommitTimestamp"] = future_ms
    path.write_text("\n".join(map(json.dumps, lines)))
    for version in (1, 2):
        commit_changes(table.root, append(table, f"{version}"), table.reads())
        first = json.loads(Path(entry_path(table.root, version)).read_text().splitlines()[0])
        assert first["commitInfo"]["inCommitTimestamp"] == future_ms + version
    without = DeltaMetadata(fields={**table.state.metadata.fields, "configuration": {}})
    commit = replace(append(table, "b"), metadata=without)
    with pytest.raises(InputError, match="enableInCommitTimestamps is not changed here"):
        commit_changes(table.root, commit, table.reads())


@pytest.fixture
def memory_table(tmp_path: Path) -> Iterator[WrittenTable]:
    """A table in an object store in memory."""
    table_of_ten(tmp_path)
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        MemoryFileSystem().pipe_file(f"/lake/t/{path.relative_to(tmp_path)}", path.read_bytes())
    yield WrittenTable(root_of("memory://lake/t/"))
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def check_deletion_in_store(table: WrittenTable) -> None:
    """Delete rows in two commits, of which the second follows an append; a lost race is noticed."""
    reads = table.reads(whole_table=False, may_match=no_file)
    changes = table.delete({table.files[0].path: BitMap([3])})
    commit_changes(table.root, append(table, "other.parquet"), reads)
    assert table.commit(changes, reads) == 2
    with pytest.raises(LostRace):
        write_version(table.root, 2, b"{}\n")
    with pytest.raises(CommitConflict):
        table.commit(changes, reads)
    (file,) = [file for file in table.files if file.vector]
    changes = table.delete({file.path: BitMap([5])})
    assert changes.added[0].vector is not None
    assert changes.added[0].vector.cardinality == 2


def test_a_table_in_memory_is_changed(memory_table: WrittenTable) -> None:
    check_deletion_in_store(memory_table)


@pytest.mark.deep
def test_a_table_in_s3_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table_of_ten(tmp_path)
    # File systems that earlier tests have made ask another server.
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with s3_store("tables") as store:
        port = store.query.partition("127.0.0.1:")[2].partition("&")[0]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(variable, "any")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system, _ = fsspec.url_to_fs("s3://tables/t")
        for path in filter(Path.is_file, tmp_path.rglob("*")):
            system.pipe_file(f"tables/t/{path.relative_to(tmp_path)}", path.read_bytes())
        check_deletion_in_store(WrittenTable(root_of("s3://tables/t")))


def test_a_store_that_may_replace_a_version_is_refused() -> None:
    with pytest.raises(InputError, match="cannot refuse to replace a file"):
        root_of("http://lake/t")
    assert root_of("file:///lake/t%20u/") == "/lake/t u"


@pytest.mark.parametrize("mutant", COMMIT_MUTANTS)
def test_a_mutant_of_commits_is_found_out(
    mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*COMMIT_MUTANTS[mutant])
    check = check_no_overwriting if mutant == "a version is overwritten" else check_lost_race
    table = table_of_ten(tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(table)
