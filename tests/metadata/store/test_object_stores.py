"""Stores of block metadata in an object store: here in memory, and in S3, served by moto."""

import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from lake_world import OBJECT_WRITES, Crash, crash_at, forget
from pyarrow import fs

import pruning
from mutants.object_stores import MUTANTS
from pruning.errors import DamagedMetadataWarning, InputError, UnkeptMetadataWarning
from pruning.metadata.backfill import measured_files
from pruning.metadata.files import object_stores, places
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.object_stores import DATED, TEMPORARY, listing_once
from pruning.metadata.files.places import Place, list_place
from pruning.metadata.index import child_processes, indexed_files
from pruning.metadata.store import log
from pruning.metadata.store.history import Change
from pruning.metadata.store.log import Version, commit, newest_version
from pruning.metadata.store.packs import Damaged, open_pack, pack_pieces
from pruning.metadata.store.store import large_packs, open_store
from skipproof.commands.describing import describe
from tools.counting_stores import Request, Store, operations, s3_store

FILES = 3
ROOT = "memory://metadata/kept"
LATE = 3_700


class Plain(MemoryFileSystem):
    """A file system that knows no condition, as most of fsspec's: it looks first, and then writes."""

    protocol = "plain"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.removeprefix("plain://"))


fsspec.register_implementation("plain", Plain, clobber=True)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table beside which nothing may be written; its metadata is kept in memory."""
    monkeypatch.setenv(places.ENVIRONMENT, ROOT)
    monkeypatch.setattr(Place, "is_writable", lambda place: not place.is_beside_data)
    for number in range(FILES):
        write(tmp_path / f"t/{number}.parquet", number)
    yield tmp_path / "t"
    forget()
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def write(path: Path, value: int) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": [value]}), path)


def kept_paths(ending: str = "") -> list[str]:
    return sorted(path for path in MemoryFileSystem.store if path.endswith(ending))


def minima(table: pa.Table) -> list[int]:
    return [block["x"]["min"] for block in table["columns"].to_pylist()]


def newest(table: Path) -> Version:
    return open_store(list_files(table)).version


def cut(path: str) -> None:
    MemoryFileSystem().pipe_file(path, MemoryFileSystem().cat_file(path)[:-1])
    forget()


def make_older(paths: list[str]) -> None:
    for path in paths:
        MemoryFileSystem.store[path].created -= timedelta(seconds=LATE)


def _run_here(module: str, files: list[str], options: dict[str, Any]) -> Any:
    is_index = module == indexed_files.__name__
    return (indexed_files.index_files if is_index else measured_files.measure_files)(files, **options)


def test_a_store_of_objects_is_used_as_one_of_files_is(
    table: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is indexed and measured; beside the data nothing is written."""
    monkeypatch.setattr(child_processes, "_run_process", _run_here)
    first = pruning.collect(table)
    assert sorted(reads) == ["0.parquet", "1.parquet", "2.parquet"]
    reads.clear()
    forget()
    assert pruning.collect(table).equals(first)
    write(table / "3.parquet", 7)
    assert minima(pruning.collect(table)) == [0, 1, 2, 7]
    assert reads == ["3.parquet"]
    pruning.index(table)
    pruning.backfill(table)
    forget()
    assert "memberships" in pruning.collect(table).schema.names
    assert pruning.blocks(table)["measured"].to_pylist() == [True] * 4
    assert not (table / ".skipproof").exists()
    assert len(kept_paths(".measured")) == len(kept_paths("/_index.arrow")) == 1


def test_a_pack_of_objects_is_searched(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pruning.collect(table)
    monkeypatch.setenv("SKIPPROOF_BLOCKS_LOADED", "1")
    for path in kept_paths(".blocks"):
        del MemoryFileSystem.store[path]
    forget()
    packs = large_packs(open_store(list_files(table)), list_files(table))
    assert packs is not None
    assert sorted(packs[0].names.values()) == [str(table / f"{number}.parquet") for number in range(FILES)]
    metadata, _, excluded = pruning.metadata.store.collecting.read_blocks(
        [str(table / f"{number}.parquet") for number in range(FILES)],
        question=lambda blocks: blocks["columns"].combine_chunks().field("x").field("min").to_numpy() == 1,
    )
    assert (minima(metadata), sum(files.blocks for files in excluded)) == ([1], 2)


def test_where_something_may_be_written_beside_data_no_store_is_asked(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Place, "is_writable", lambda place: True)
    pruning.collect(table)
    assert (table / ".skipproof").exists()
    assert kept_paths() == []


def _counts(lake: Store) -> dict[str, int]:
    return operations([request for request in lake.take() if not _is_data(request)])


def _is_data(request: Request) -> bool:
    return request.path.startswith("/lakes/t/")


@pytest.fixture(scope="module")
def bucket() -> Iterator[Store]:
    with s3_store("lakes") as store:
        yield store


@pytest.fixture
def lake(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A bucket with a table `t`; metadata is kept in it, too. Files count as written ten seconds ago."""
    system, name = fs.FileSystem.from_uri(bucket.root + bucket.query)
    system.delete_dir_contents(name, accept_root_dir=True)
    port = bucket.query.partition("127.0.0.1:")[2].partition("&")[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "any")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv(places.ENVIRONMENT, "s3://lakes/kept")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10 * 10**9)
    for number in range(FILES):
        write_object(bucket, f"t/{number}.parquet", number)
    return bucket


def write_object(bucket: Store, path: str, value: int) -> None:
    system, name = fs.FileSystem.from_uri(bucket.uri(path))
    with system.open_output_stream(name) as file:
        pq.write_table(pa.table({"x": [value]}), file)
    bucket.take()


def test_a_store_in_s3_needs_few_requests(lake: Store) -> None:
    """One listing is of the lake, the other of the store; a pack and a version are one request each."""
    first = pruning.collect(lake.uri("t"))
    # The listings of a folder that is not there yet are three; the last one looks for other writers.
    assert _counts(lake) == {"LIST": 4, "HEAD": 1, "PUT": 3}
    assert pruning.collect(lake.uri("t")).equals(first)
    assert _counts(lake) == {"LIST": 2, "GET": 2}
    assert pruning.collect(lake.uri("t")).equals(first)
    assert _counts(lake) == {"LIST": 2}
    forget()
    assert pruning.collect(lake.uri("t")).equals(first)
    assert _counts(lake) == {"LIST": 2, "GET": 2}
    write_object(lake, "t/3.parquet", 7)
    assert minima(pruning.collect(lake.uri("t"))) == [0, 1, 2, 7]
    assert _counts(lake) == {"LIST": 3, "PUT": 3}


def test_of_two_writers_of_a_version_in_s3_one_is_refused(lake: Store) -> None:
    """It sees the other's change, and keeps its own after it."""
    pruning.collect(lake.uri("t/0.parquet"))
    _check_that_one_writer_is_refused(open_store(list_files(lake.uri("t"))).place)


def test_of_two_writers_of_a_version_in_memory_one_is_refused(table: Path) -> None:
    pruning.collect(table)
    _check_that_one_writer_is_refused(open_store(list_files(table)).place)


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


def test_a_crash_at_any_write_leaves_the_version_before(table: Path) -> None:
    """And what the next call gives is right."""
    pruning.collect(table / "0.parquet")
    objects = dict(MemoryFileSystem.store)
    expected = pruning.collect(table, cache=False)
    outcomes = set()
    for number in range(8):
        for after in (False, True):
            MemoryFileSystem.store.clear()
            MemoryFileSystem.store.update(objects)
            forget()
            has_crashed = False
            try:
                with crash_at(OBJECT_WRITES, number, after=after):
                    pruning.collect(table)
            except Crash:
                has_crashed = True
            forget()
            outcomes.add((has_crashed, len(newest(table).history.files)))
            assert pruning.collect(table).equals(expected)
            assert len(newest(table).history.files) == FILES
    assert outcomes == {(True, 1), (True, FILES), (False, FILES)}


@pytest.mark.parametrize(
    ("error", "is_read"),
    [(FileExistsError(), True), (OSError("a conflict"), True), (ValueError("no answer"), False)],
)
def test_a_version_whose_answer_was_lost_is_the_writers_own(
    table: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, is_read: bool
) -> None:
    """The client asks again and is refused, or it gives up; what is there decides. The packs stay."""
    _check_lost_answer(table, monkeypatch, error, is_read=is_read)


def _check_lost_answer(
    table: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, *, is_read: bool
) -> None:
    pruning.collect(table / "0.parquet")
    create, read = MemoryFileSystem.pipe_file, MemoryFileSystem.cat_file
    lost: list[str] = []

    def lose_answer(system: Any, path: str, data: bytes, mode: str = "overwrite") -> None:
        create(system, path, data, mode=mode)
        if mode == "create":
            lost.append(path)
            raise error

    def fail_afterwards(system: Any, path: str, **options: Any) -> bytes:
        if lost and not is_read:
            raise error
        return bytes(read(system, path, **options))

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        patch.setattr(MemoryFileSystem, "pipe_file", lose_answer)
        patch.setattr(MemoryFileSystem, "cat_file", fail_afterwards)
        warnings.simplefilter("always")
        pruning.collect(table)
    assert len(lost) == 1
    assert [warning.category for warning in caught] == [UnkeptMetadataWarning] * (not is_read)
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert minima(pruning.collect(table)) == [0, 1, 2]
    packs = {file.pack for file in newest(table).history.files.values()}
    assert packs == {Path(path).name.partition(".")[0] for path in kept_paths(".footers")}
    assert newest(table).number == 2


def test_a_folder_that_cannot_be_written_is_said(lake: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no such bucket."""
    monkeypatch.setenv(places.ENVIRONMENT, "s3://none/kept")
    with pytest.warns(
        UnkeptMetadataWarning,
        match=r"s3://none/kept/\w+: metadata cannot be kept there \(The specified bucket",
    ):
        assert minima(pruning.collect(lake.uri("t"))) == [0, 1, 2]


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        (".blocks", "it is made again from the footers that are kept"),
        (".footers", None),
        ("_store/v000000000001", "footers are read again"),
    ],
)
def test_a_damaged_object_is_made_again_and_said_so(table: Path, ending: str, sentence: str | None) -> None:
    first = pruning.collect(table)
    (path,) = kept_paths(ending)
    cut(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert pruning.collect(table).equals(first)
    assert [str(warning.message).partition("; ")[2] for warning in caught] == ([sentence] if sentence else [])
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pruning.collect(table).equals(first)


def test_an_object_that_is_written_again_is_opened_again(table: Path) -> None:
    """It is remembered by its URL alone, and digests tell that it is another one."""
    url = f"{ROOT}/pack"
    contents = [bytes(99_000), os.urandom(99_000)]
    for content in contents:
        MemoryFileSystem().pipe_file(url, b"".join(pack_pieces({}, {"x": content, "y": os.urandom(99_000)})))
        if content is contents[1]:
            with pytest.raises(Damaged, match="is not as it was written"):
                open_pack(url).sections(["x"])
        assert open_pack(url).sections(["x"]) == [content]


def test_the_directory_of_a_pack_of_many_sections_is_read_whole(table: Path) -> None:
    """It is longer than the end that is read first."""
    sections = {f"{number:09}": os.urandom(9) for number in range(4_000)}
    content = b"".join(pack_pieces({}, sections))
    MemoryFileSystem().pipe_file(f"{ROOT}/pack", content)
    pack = open_pack(f"{ROOT}/pack")
    assert pack.size_bytes == len(content)
    assert pack.sections(list(sections)) == list(sections.values())


def test_a_store_that_cannot_be_asked_is_neither_used_nor_written(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history stays, whatever the file system raises; what it does not give now is not damaged."""
    first = pruning.collect(table)
    before = dict(MemoryFileSystem.store)
    write(table / "3.parquet", 7)

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no credentials")

    for name, sentence in (("find", "cannot be listed"), ("cat_file", "cannot be read")):
        forget()
        with monkeypatch.context() as patch:
            patch.setattr(MemoryFileSystem, name, fail)
            with pytest.warns(DamagedMetadataWarning, match=rf"{sentence} \(RuntimeError: no credentials\)"):
                assert minima(pruning.collect(table)) == [0, 1, 2, 7]
        assert before == MemoryFileSystem.store
    (table / "3.parquet").unlink()
    assert pruning.collect(table).equals(first)
    assert newest(table).number == 1


def test_what_no_version_needs_is_deleted_an_hour_later(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the store's clock, whatever this machine's is; an hour after a version last needed it."""
    monkeypatch.setattr(pruning.metadata.store.recording, "PACKS_MAX", 2)
    pruning.collect(table / "0.parquet")
    pruning.collect(table / "1.parquet")
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
    pruning.collect(table)
    # The packs that were merged are kept: a reader may have opened the version before.
    assert before | {orphan} <= set(kept_paths(".footers"))
    assert {path.removesuffix(DATED) for path in kept_paths(DATED)} == before
    make_older(kept_paths())
    for number in range(5, 9):
        write(table / f"{number}.parquet", number)
        pruning.collect(table)
    assert not (before | {orphan}) & set(kept_paths(".footers"))
    make_older(kept_paths())
    make_older(kept_paths(DATED))
    write(table / "9.parquet", 9)
    pruning.collect(table)
    write(table / "10.parquet", 9)
    pruning.collect(table)
    assert not {f"{path}{DATED}" for path in before} & set(kept_paths())
    assert minima(pruning.collect(table)) == [0, 1, 9, 2, 5, 6, 7, 8, 9]


def test_a_file_system_without_conditions_has_one_writer(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`describe` says so; the writer looks before it writes, and its objects are whole or not there."""
    assert describe(str(table)).notes == ()
    monkeypatch.setenv(places.ENVIRONMENT, "plain://metadata/kept")
    first = pruning.collect(table)
    forget()
    assert pruning.collect(table).equals(first)
    place = open_store(list_files(table)).place
    assert place is not None
    _check_that_one_writer_is_refused(place)
    assert describe(str(table)).notes == (
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
    write(table / "3.parquet", 7)
    pruning.collect(table)
    assert written
    assert all(name.startswith(TEMPORARY) for name in written)
    assert not [path for path in kept_paths() if TEMPORARY in path]


def test_a_listing_is_asked_for_once_until_something_is_written(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pruning.collect(table)
    place = open_store(list_files(table)).place
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
    table: Path, monkeypatch: pytest.MonkeyPatch, root: str, absent: str | None, sentence: str
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
        pruning.collect(table)
    assert "\n" not in str(caught.value)


def test_a_uri_of_a_local_folder_is_local(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.ENVIRONMENT, (table.parent / "kept").as_uri())
    pruning.collect(table)
    assert len(list((table.parent / "kept").glob("*/_store/v*"))) == 1
    shutil.rmtree(table.parent / "kept")


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_object_stores_is_found_out(
    name: str, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "a version is written without the condition": partial(
            test_of_two_writers_of_a_version_in_memory_one_is_refused, table
        ),
        "a version whose answer was lost is another writer's": partial(
            _check_lost_answer, table, monkeypatch, FileExistsError(), is_read=True
        ),
        "packs that a version may name are deleted": partial(
            _check_lost_answer, table, monkeypatch, ValueError("no answer"), is_read=False
        ),
        "a listing outlives what is written": partial(
            test_a_listing_is_asked_for_once_until_something_is_written, table, monkeypatch
        ),
        "what a store does not give is damaged": partial(
            test_a_store_that_cannot_be_asked_is_neither_used_nor_written, table, monkeypatch
        ),
        "ages are by the clock of this machine": partial(
            test_what_no_version_needs_is_deleted_an_hour_later, table, monkeypatch
        ),
        "an object that is dated anew is as old as before": partial(
            test_what_no_version_needs_is_deleted_an_hour_later, table, monkeypatch
        ),
        "an object is opened once, whatever it has become": partial(
            test_an_object_that_is_written_again_is_opened_again, table
        ),
        "a store of any scheme refuses": partial(
            test_a_file_system_without_conditions_has_one_writer, table, monkeypatch
        ),
    }
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises((AssertionError, DamagedMetadataWarning, Damaged)):
        checks[name]()
