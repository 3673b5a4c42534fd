"""Stores of block metadata in an object store: here in memory, and in S3, served by moto."""

import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from kept_objects import FILES, counts, kept_paths, make_older, minima, write, write_object
from lake_world import forget

import pruning
from mutants.metadata.object_stores import MUTANTS
from pruning.errors import DamagedMetadataWarning, InputError
from pruning.metadata.backfill import measured_files
from pruning.metadata.files import object_stores, places
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.object_stores import DATED, TEMPORARY, listing_once
from pruning.metadata.files.places import Place, list_place
from pruning.metadata.index import child_processes, indexed_files
from pruning.metadata.store import log
from pruning.metadata.store.history import Change
from pruning.metadata.store.log import commit, newest_version
from pruning.metadata.store.packs import Damaged
from pruning.metadata.store.store import large_packs, open_store
from skipproof.commands.describing import describe
from tools.counting_stores import Store


def _run_here(module: str, files: list[str], options: dict[str, Any]) -> Any:
    is_index = module == indexed_files.__name__
    return (indexed_files.index_files if is_index else measured_files.measure_files)(files, **options)


def test_a_store_of_objects_is_used_as_one_of_files_is(
    kept_table: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is indexed and measured; beside the data nothing is written."""
    monkeypatch.setattr(child_processes, "_run_process", _run_here)
    first = pruning.collect(kept_table)
    assert sorted(reads) == ["0.parquet", "1.parquet", "2.parquet"]
    reads.clear()
    forget()
    assert pruning.collect(kept_table).equals(first)
    write(kept_table / "3.parquet", 7)
    assert minima(pruning.collect(kept_table)) == [0, 1, 2, 7]
    assert reads == ["3.parquet"]
    pruning.index(kept_table)
    pruning.backfill(kept_table)
    forget()
    assert "memberships" in pruning.collect(kept_table).schema.names
    assert pruning.blocks(kept_table)["measured"].to_pylist() == [True] * 4
    assert not (kept_table / ".skipproof").exists()
    assert len(kept_paths(".measured")) == len(kept_paths("/_index.arrow")) == 1


def test_a_pack_of_objects_is_searched(kept_table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pruning.collect(kept_table)
    monkeypatch.setenv("SKIPPROOF_BLOCKS_LOADED", "1")
    for path in kept_paths(".blocks"):
        del MemoryFileSystem.store[path]
    forget()
    table = large_packs(open_store(list_files(kept_table)), list_files(kept_table))
    assert table is not None
    (pack,) = table.packs
    assert sorted(pack.names_of(range(FILES))) == [
        str(kept_table / f"{number}.parquet") for number in range(FILES)
    ]
    metadata, _, excluded = pruning.metadata.store.collecting.read_blocks(
        [str(kept_table / f"{number}.parquet") for number in range(FILES)],
        question=lambda blocks: blocks["columns"].combine_chunks().field("x").field("min").to_numpy() == 1,
    )
    assert (minima(metadata), sum(files.blocks for files in excluded)) == ([1], 2)


def test_where_something_may_be_written_beside_data_no_store_is_asked(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Place, "is_writable", lambda place: True)
    pruning.collect(kept_table)
    assert (kept_table / ".skipproof").exists()
    assert kept_paths() == []


def test_a_store_in_s3_needs_few_requests(kept_lake: Store) -> None:
    """One listing is of the lake, the other of the store; a pack and a version are one request each."""
    first = pruning.collect(kept_lake.uri("t"))
    # The listings of a folder that is not there yet are three; the last one looks for other writers.
    assert counts(kept_lake) == {"LIST": 4, "HEAD": 1, "PUT": 3}
    assert pruning.collect(kept_lake.uri("t")).equals(first)
    assert counts(kept_lake) == {"LIST": 2, "GET": 2}
    assert pruning.collect(kept_lake.uri("t")).equals(first)
    assert counts(kept_lake) == {"LIST": 2}
    forget()
    assert pruning.collect(kept_lake.uri("t")).equals(first)
    assert counts(kept_lake) == {"LIST": 2, "GET": 2}
    write_object(kept_lake, "t/3.parquet", 7)
    assert minima(pruning.collect(kept_lake.uri("t"))) == [0, 1, 2, 7]
    assert counts(kept_lake) == {"LIST": 3, "PUT": 3}


def test_of_two_writers_of_a_version_in_s3_one_is_refused(kept_lake: Store) -> None:
    """It sees the other's change, and keeps its own after it."""
    pruning.collect(kept_lake.uri("t/0.parquet"))
    _check_that_one_writer_is_refused(open_store(list_files(kept_lake.uri("t"))).place)


def test_of_two_writers_of_a_version_in_memory_one_is_refused(kept_table: Path) -> None:
    pruning.collect(kept_table)
    _check_that_one_writer_is_refused(open_store(list_files(kept_table)).place)


def _check_that_one_writer_is_refused(place: Place | None) -> None:
    assert place is not None
    before = newest_version(place)
    changes = [
        Change(looked_us=before.history.looked_us + number, complete=False, added=(), removed=())
        for number in (1, 2)
    ]
    first, second = (commit(place, before, change, 0o666) for change in changes)
    assert first is not None
    assert second is None
    forget()
    now = newest_version(place)
    assert (now.number, now.history.looked_us) == (before.number + 1, changes[0].looked_us)
    third = commit(place, now, changes[1], 0o666)
    assert third is not None
    assert newest_version(place).history.looked_us == changes[1].looked_us


def test_what_no_version_needs_is_deleted_an_hour_later(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the store's clock, whatever this machine's is; an hour after a version last needed it."""
    monkeypatch.setattr(pruning.metadata.store.recording, "PACKS_MAX", 2)
    pruning.collect(kept_table / "0.parquet")
    pruning.collect(kept_table / "1.parquet")
    orphan = f"{os.path.dirname(kept_paths('.footers')[0])}/{'0' * 32}.footers"
    MemoryFileSystem().pipe_file(orphan, b"of another writer, who is about to commit it")
    # The clock of the store is behind.
    make_older(kept_paths())
    make_older(kept_paths())
    real = MemoryFileSystem.pipe_file

    def write_late(system: Any, path: str, data: bytes, mode: str = "overwrite") -> None:
        real(system, path, data, mode=mode)
        make_older([system._strip_protocol(path)])

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", write_late)
    MemoryFileSystem().pipe_file(orphan, b"another one")
    before = {path for path in kept_paths(".footers") if path != orphan}
    pruning.collect(kept_table)
    # The packs that were merged are kept: a reader may have opened the version before.
    assert before | {orphan} <= set(kept_paths(".footers"))
    assert {path.removesuffix(DATED) for path in kept_paths(DATED)} == before
    make_older(kept_paths())
    for number in range(5, 9):
        write(kept_table / f"{number}.parquet", number)
        pruning.collect(kept_table)
    assert not (before | {orphan}) & set(kept_paths(".footers"))
    make_older(kept_paths())
    make_older(kept_paths(DATED))
    write(kept_table / "9.parquet", 9)
    pruning.collect(kept_table)
    write(kept_table / "10.parquet", 9)
    pruning.collect(kept_table)
    assert not {f"{path}{DATED}" for path in before} & set(kept_paths())
    assert minima(pruning.collect(kept_table)) == [0, 1, 9, 2, 5, 6, 7, 8, 9]


def test_a_file_system_without_conditions_has_one_writer(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`describe` says so; the writer looks before it writes, and its objects are whole or not there."""
    assert describe(str(kept_table)).notes == ()
    monkeypatch.setenv(places.ENVIRONMENT, "plain://metadata/kept")
    first = pruning.collect(kept_table)
    forget()
    assert pruning.collect(kept_table).equals(first)
    place = open_store(list_files(kept_table)).place
    assert place is not None
    _check_that_one_writer_is_refused(place)
    assert describe(str(kept_table)).notes == (
        f"{place.folder}: only one writer may keep metadata there, because its file system cannot refuse to "
        "replace a file",
    )
    assert place.folder.startswith("plain://metadata/kept/")
    written: list[str] = []
    real = MemoryFileSystem.pipe_file

    def record(system: Any, path: str, data: bytes, mode: str = "overwrite") -> None:
        written.append(path.rpartition("/")[2])
        real(system, path, data, mode=mode)

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", record)
    write(kept_table / "3.parquet", 7)
    pruning.collect(kept_table)
    assert written
    assert all(name.startswith(TEMPORARY) for name in written)
    assert not [path for path in kept_paths() if TEMPORARY in path]


def test_a_listing_is_asked_for_once_until_something_is_written(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pruning.collect(kept_table)
    place = open_store(list_files(kept_table)).place
    assert place is not None
    asked: list[str] = []
    real = MemoryFileSystem.find

    def count(system: Any, path: str, **options: Any) -> Any:
        asked.append(path)
        return real(system, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "find", count)
    with listing_once(), listing_once():
        assert list(list_place(place)) == []
        names = set(list_place(place, log.FOLDER))
        assert len(asked) == 1
        object_stores.objects_at(place.folder).write(f"{place.folder}/_store/new", [b""], replaces=True)
        assert set(list_place(place, log.FOLDER)) == {*names, "new"}
    assert len(asked) == 2
    list_place(place)
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("root", "absent", "sentence"),
    [
        ("nosuch://bucket/kept", None, "is of no file system .*nosuch.*; install the package"),
        ("s3://bucket/kept", "s3fs", "is of no file system .*s3fs.*; install the package"),
        ("s3://bucket/kept", "fsspec", r"needs fsspec: run `pip install 'skipproof\[stores\]'`"),
        ("s3://bucket/kept?endpoint_override=h", None, "has a query; give the URL alone"),
    ],
)
def test_a_folder_that_no_package_knows_is_one_sentence(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch, root: str, absent: str | None, sentence: str
) -> None:
    monkeypatch.setenv(places.ENVIRONMENT, root)
    if absent == "s3fs":
        # fsspec remembers the classes that it has imported.
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    if absent is not None:
        monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(
        InputError, match=f"^{places.ENVIRONMENT}='{root.partition('?')[0]}.*{sentence}"
    ) as caught:
        pruning.collect(kept_table)
    assert "\n" not in str(caught.value)


def test_a_uri_of_a_local_folder_is_local(kept_table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.ENVIRONMENT, (kept_table.parent / "kept").as_uri())
    pruning.collect(kept_table)
    assert len(list((kept_table.parent / "kept").glob("*/_store/v*"))) == 1
    shutil.rmtree(kept_table.parent / "kept")


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_object_stores_is_found_out(
    name: str, kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "a version is written without the condition": partial(
            test_of_two_writers_of_a_version_in_memory_one_is_refused, kept_table
        ),
        "a listing outlives what is written": partial(
            test_a_listing_is_asked_for_once_until_something_is_written, kept_table, monkeypatch
        ),
        "ages are by the clock of this machine": partial(
            test_what_no_version_needs_is_deleted_an_hour_later, kept_table, monkeypatch
        ),
        "an object that is dated anew is as old as before": partial(
            test_what_no_version_needs_is_deleted_an_hour_later, kept_table, monkeypatch
        ),
        "a store of any scheme refuses": partial(
            test_a_file_system_without_conditions_has_one_writer, kept_table, monkeypatch
        ),
    }
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises((AssertionError, DamagedMetadataWarning, Damaged)):
        checks[name]()
