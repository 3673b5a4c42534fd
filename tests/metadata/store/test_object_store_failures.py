"""Object stores that fail: crashes, lost answers, damage, and whatever their file systems raise."""

import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from crashing import Crash, crash_at
from fsspec.implementations.memory import MemoryFileSystem
from kept_objects import FILES, ROOT, cut, kept_paths, minima, newest, write
from lake_world import forget
from object_world import OBJECT_WRITES

import pruning
from mutants.metadata.object_stores import FAILURE_MUTANTS
from pruning.errors import DamagedMetadataWarning, UnkeptMetadataWarning
from pruning.metadata.files import places
from pruning.metadata.store.packs import Damaged, open_pack, pack_pieces
from tools.counting_stores import Store


def test_a_crash_at_any_write_leaves_the_version_before(kept_table: Path) -> None:
    """And what the next call gives is right."""
    pruning.collect(kept_table / "0.parquet")
    objects = dict(MemoryFileSystem.store)
    expected = pruning.collect(kept_table, cache=False)
    outcomes = set()
    for number in range(8):
        for after in (False, True):
            MemoryFileSystem.store.clear()
            MemoryFileSystem.store.update(objects)
            forget()
            has_crashed = False
            try:
                with crash_at(OBJECT_WRITES, number, after=after):
                    pruning.collect(kept_table)
            except Crash:
                has_crashed = True
            forget()
            outcomes.add((has_crashed, len(newest(kept_table).history.files)))
            assert pruning.collect(kept_table).equals(expected)
            assert len(newest(kept_table).history.files) == FILES
    assert outcomes == {(True, 1), (True, FILES), (False, FILES)}


@pytest.mark.parametrize(
    ("error", "is_read"),
    [(FileExistsError(), True), (OSError("a conflict"), True), (ValueError("no answer"), False)],
)
def test_a_version_whose_answer_was_lost_is_the_writers_own(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, is_read: bool
) -> None:
    """The client asks again and is refused, or it gives up; what is there decides. The packs stay."""
    _check_lost_answer(kept_table, monkeypatch, error, is_read=is_read)


def _check_lost_answer(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, *, is_read: bool
) -> None:
    pruning.collect(kept_table / "0.parquet")
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
        pruning.collect(kept_table)
    assert len(lost) == 1
    assert [warning.category for warning in caught] == [UnkeptMetadataWarning] * (not is_read)
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert minima(pruning.collect(kept_table)) == [0, 1, 2]
    packs = {file.pack for file in newest(kept_table).history.files.values()}
    assert packs == {Path(path).name.partition(".")[0] for path in kept_paths(".footers")}
    assert newest(kept_table).number == 2


def test_a_folder_that_cannot_be_written_is_said(kept_lake: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no such bucket."""
    monkeypatch.setenv(places.ENVIRONMENT, "s3://none/kept")
    with pytest.warns(
        UnkeptMetadataWarning,
        match=r"s3://none/kept/\w+: metadata cannot be kept there \(The specified ",
    ):
        assert minima(pruning.collect(kept_lake.uri("t"))) == [0, 1, 2]


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        (".blocks", "it is made again from the footers that are kept"),
        (".footers", None),
        ("_store/v000000000001", "footers are read again"),
    ],
)
def test_a_damaged_object_is_made_again_and_said_so(
    kept_table: Path, ending: str, sentence: str | None
) -> None:
    first = pruning.collect(kept_table)
    (path,) = kept_paths(ending)
    cut(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert pruning.collect(kept_table).equals(first)
    assert [str(warning.message).partition("; ")[2] for warning in caught] == ([sentence] if sentence else [])
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pruning.collect(kept_table).equals(first)


def test_an_object_that_is_written_again_is_opened_again(kept_table: Path) -> None:
    """It is remembered by its URL alone, and digests tell that it is another one."""
    url = f"{ROOT}/pack"
    contents = [bytes(99_000), os.urandom(99_000)]
    for content in contents:
        MemoryFileSystem().pipe_file(url, b"".join(pack_pieces({}, {"x": content, "y": os.urandom(99_000)})))
        if content is contents[1]:
            with pytest.raises(Damaged, match="is not as it was written"):
                open_pack(url).sections(["x"])
        assert open_pack(url).sections(["x"]) == [content]


def test_the_directory_of_a_pack_of_many_sections_is_read_whole(kept_table: Path) -> None:
    """It is longer than the end that is read first."""
    sections = {f"{number:09}": os.urandom(9) for number in range(4_000)}
    content = b"".join(pack_pieces({}, sections))
    MemoryFileSystem().pipe_file(f"{ROOT}/pack", content)
    pack = open_pack(f"{ROOT}/pack")
    assert pack.size_bytes == len(content)
    assert pack.sections(list(sections)) == list(sections.values())


def test_a_store_that_cannot_be_asked_is_neither_used_nor_written(
    kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history stays, whatever the file system raises; what it does not give now is not damaged."""
    first = pruning.collect(kept_table)
    before = dict(MemoryFileSystem.store)
    write(kept_table / "3.parquet", 7)

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no credentials")

    for name, sentence in (("find", "cannot be listed"), ("cat_file", "cannot be read")):
        forget()
        with monkeypatch.context() as patch:
            patch.setattr(MemoryFileSystem, name, fail)
            with pytest.warns(DamagedMetadataWarning, match=rf"{sentence} \(RuntimeError: no credentials\)"):
                assert minima(pruning.collect(kept_table)) == [0, 1, 2, 7]
        assert before == MemoryFileSystem.store
    (kept_table / "3.parquet").unlink()
    assert pruning.collect(kept_table).equals(first)
    assert newest(kept_table).number == 1


@pytest.mark.parametrize("name", FAILURE_MUTANTS)
def test_a_mutant_that_takes_a_failure_wrongly_is_found_out(
    name: str, kept_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "a version whose answer was lost is another writer's": partial(
            _check_lost_answer, kept_table, monkeypatch, FileExistsError(), is_read=True
        ),
        "packs that a version may name are deleted": partial(
            _check_lost_answer, kept_table, monkeypatch, ValueError("no answer"), is_read=False
        ),
        "what a store does not give is damaged": partial(
            test_a_store_that_cannot_be_asked_is_neither_used_nor_written, kept_table, monkeypatch
        ),
        "an object is opened once, whatever it has become": partial(
            test_an_object_that_is_written_again_is_opened_again, kept_table
        ),
    }
    monkeypatch.setattr(*FAILURE_MUTANTS[name])
    with pytest.raises((AssertionError, DamagedMetadataWarning, Damaged)):
        checks[name]()
