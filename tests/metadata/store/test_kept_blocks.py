"""The store answers only for files that have not changed, and never stands in the way."""

import dataclasses
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pruning.errors import DamagedMetadataWarning, InputError
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.locations import CACHE_DIRECTORY
from pruning.metadata.footers import trust
from pruning.metadata.store import log, store
from pruning.metadata.store.collecting import collect, read_listed_blocks
from pruning.metadata.table import believing
from pruning.metadata.table.reading import read_footers


def _write(path: Path, values: list[int], *, modified_ns: int = 10**18) -> Path:
    pq.write_table(pa.table({"x": values}), path)
    os.utime(path, ns=(modified_ns, modified_ns))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A directory of two files."""
    root = tmp_path / "table"
    root.mkdir()
    _write(root / "a.parquet", [1])
    _write(root / "b.parquet", [2])
    return root


def _bounds(paths: Any, **options: Any) -> list[int]:
    return [row["x"]["min"] for row in collect(paths, **options)["columns"].to_pylist()]


def test_a_second_collection_reads_no_footer_and_answers_the_same(table: Path, reads: list[str]) -> None:
    """Equal in rows and schema."""
    first = collect(table)
    reads.clear()
    assert collect(table).equals(first)
    assert reads == []


@pytest.mark.parametrize(("after_us", "is_kept"), [(500_000, False), (3_000_000, True)])
def test_a_file_that_was_young_when_it_was_listed_is_not_kept(
    table: Path, reads: list[str], after_us: int, *, is_kept: bool
) -> None:
    """However long its reading took: its time is in whole seconds, and it may have been written meanwhile."""
    listing = dataclasses.replace(list_files(str(table)), looked_us=10**15 + after_us)
    read_listed_blocks(listing, read=lambda listed: read_footers([file.file for file in listed]))
    reads.clear()
    collect(table)
    assert (reads == []) is is_kept


def test_only_files_that_changed_are_read_again(table: Path, reads: list[str]) -> None:
    """New, touched and deleted files; the rest is reused."""
    collect(table)
    reads.clear()
    _write(table / "a.parquet", [7], modified_ns=11 * 10**17)
    _write(table / "c.parquet", [3])
    assert _bounds(table) == [7, 2, 3]
    assert sorted(reads) == ["a.parquet", "c.parquet"]
    (table / "b.parquet").unlink()
    assert _bounds(table) == [7, 3]
    reads.clear()
    assert _bounds(table) == [7, 3]
    assert reads == []


def test_a_change_of_size_alone_is_noticed(table: Path) -> None:
    """Same time, other size."""
    collect(table)
    size = (table / "a.parquet").stat().st_size
    _write(table / "a.parquet", list(range(5, 500)))
    assert (table / "a.parquet").stat().st_size != size
    assert _bounds(table) == [5, 2]


def test_a_list_of_files_shares_the_cache_of_their_directory(table: Path, reads: list[str]) -> None:
    """Under any spelling, in any order, and a part of them keeps the rest."""
    collect(table)
    reads.clear()
    assert _bounds([f"file://{table}/b.parquet", table / "a.parquet"]) == [2, 1]
    assert _bounds(table / "b.parquet") == [2]
    _write(table / "a.parquet", [9], modified_ns=12 * 10**17)
    assert _bounds(table / "a.parquet") == [9]
    assert reads == ["a.parquet"]
    assert _bounds(table) == [9, 2]
    assert reads == ["a.parquet"]


def test_a_moved_table_keeps_its_cache(table: Path, reads: list[str]) -> None:
    """Paths are kept relative to the directory; times survive a move."""
    collect(table)
    moved = table.rename(table.parent / "moved")
    reads.clear()
    assert collect(moved)["file"].to_pylist() == [f"{moved}/a.parquet", f"{moved}/b.parquet"]
    assert reads == []


def test_verify_names_the_first_file_whose_metadata_changed_unseen(table: Path) -> None:
    """Same size, same time, other data: the limit of the trust, and what verify is for."""
    collect(table)
    size = (table / "b.parquet").stat().st_size
    _write(table / "b.parquet", [4])
    assert (table / "b.parquet").stat().st_size == size
    assert _bounds(table) == [1, 2]
    with pytest.raises(InputError, match=f"^{table}/b.parquet: its kept metadata"):
        collect(table, verify=True)


def test_verify_reads_every_footer_and_accepts_what_is_true(table: Path, reads: list[str]) -> None:
    """An honest cache, and a file that changed in the open."""
    collect(table)
    _write(table / "b.parquet", [4, 5, 6, 7, 8], modified_ns=11 * 10**17)
    reads.clear()
    assert _bounds(table, verify=True) == [1, 4]
    assert sorted(reads) == ["a.parquet", "b.parquet"]


def _damages(good: bytes) -> Iterator[bytes]:
    """Yield what may become of a file: cut short, or with any bit flipped, which may be a bound's."""
    yield from (b"", b"no pack at all", good[: len(good) // 2], good[:-1])
    yield from (good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(0, len(good), 37))


def _store_files(table: Path, pattern: str) -> list[Path]:
    return sorted((table / CACHE_DIRECTORY / log.FOLDER).glob(pattern))


def test_damaged_blocks_are_made_again_of_the_kept_footers(table: Path, reads: list[str]) -> None:
    """The footers are facts, and no file is opened for them."""
    collect(table)
    (file,) = _store_files(table, "*.blocks")
    good = file.read_bytes()
    reads.clear()
    for bad in _damages(good):
        file.write_bytes(bad)
        with pytest.warns(DamagedMetadataWarning, match="made again from the footers"):
            assert _bounds(table) == [1, 2]
        assert _store_files(table, "*.blocks") == [file]
        assert file.read_bytes() == good
    assert reads == []


def test_damaged_footers_are_read_again_when_they_are_needed(table: Path, reads: list[str]) -> None:
    """They are not while the blocks are whole."""
    collect(table)
    (footers,) = _store_files(table, "*.footers")
    good = footers.read_bytes()
    for bad in _damages(good):
        for former in (*_store_files(table, "*.blocks"), *_store_files(table, "*.footers")):
            former.unlink(missing_ok=True)
        footers.write_bytes(bad)
        reads.clear()
        with pytest.warns(DamagedMetadataWarning, match="footers of its files are read again"):
            assert _bounds(table) == [1, 2]
        assert sorted(reads) == ["a.parquet", "b.parquet"]
        reads.clear()
        assert _bounds(table) == [1, 2]
        assert reads == []
        (footers,) = (file for file in _store_files(table, "*.footers") if file != footers)


def test_after_a_damaged_log_the_history_begins_anew(table: Path, reads: list[str]) -> None:
    """The number of its version is not given again."""
    collect(table)
    for bad in _damages(_store_files(table, "v*")[-1].read_bytes()):
        newest = _store_files(table, "v*")[-1]
        newest.write_bytes(bad)
        reads.clear()
        with pytest.warns(DamagedMetadataWarning, match="footers are read again"):
            assert _bounds(table) == [1, 2]
        assert len(reads) == 2
        assert _store_files(table, "v*")[-1] > newest


def test_what_a_later_release_keeps_is_neither_used_nor_touched(
    table: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log has another format."""
    with monkeypatch.context() as later:
        later.setattr(log, "FORMAT", log.FORMAT + 1)
        collect(table)
    before = {file: file.read_bytes() for file in _store_files(table, "*")}
    reads.clear()
    with pytest.warns(DamagedMetadataWarning, match="a later release of this package writes it"):
        assert _bounds(table) == [1, 2]
    assert sorted(reads) == ["a.parquet", "b.parquet"]
    assert {file: file.read_bytes() for file in _store_files(table, "*")} == before


def test_what_another_version_believed_is_made_again_of_the_kept_footers(
    table: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A doubt that was added since applies to old files too, without opening them."""
    first = collect(table)
    reads.clear()
    monkeypatch.setattr(store, "fingerprint", lambda: "another" * 3)
    monkeypatch.setattr(believing, "beliefs", _nothing_is_believed)
    assert _bounds(table) == [None, None]
    assert len(_store_files(table, "*.blocks")) == 2
    monkeypatch.undo()
    assert collect(table).equals(first)
    assert reads == []


def _nothing_is_believed(*arguments: Any) -> trust.Beliefs:
    believed = trust.beliefs(*arguments)
    none = pa.nulls(len(believed.min), believed.min.type)
    return dataclasses.replace(believed, min=none, max=none)


def test_a_cache_that_cannot_be_written_is_not_missed(table: Path) -> None:
    """Here a file stands where the directory would; a read-only table behaves alike."""
    (table / CACHE_DIRECTORY).write_text("in the way")
    assert _bounds(table) == _bounds(table) == [1, 2]


def test_without_cache_nothing_is_written(table: Path) -> None:
    """The option means both ways."""
    collect(table, cache=False)
    assert sorted(os.listdir(table)) == ["a.parquet", "b.parquet"]


def test_the_store_leaves_nothing_beside_itself(table: Path) -> None:
    """Temporary files are renamed, or removed."""
    collect(table)
    assert os.listdir(table / CACHE_DIRECTORY) == [log.FOLDER]
    assert [file.suffix for file in _store_files(table, "*")] == [".blocks", ".footers", ""]


def test_files_with_different_columns_survive_the_cache(table: Path, reads: list[str]) -> None:
    """Each file's own types are kept, so that another selection unites them anew."""
    pq.write_table(pa.table({"x": ["text"], "y": [1]}), table / "c.parquet")
    first = collect(table)
    alone = collect(table / "c.parquet", cache=False)
    reads.clear()
    assert collect(table).equals(first)
    assert collect(table / "c.parquet").equals(alone)
    assert reads == []


def test_a_copied_cache_does_not_speak_for_other_files(table: Path, tmp_path: Path) -> None:
    """Sizes or times differ there."""
    collect(table)
    other = tmp_path / "other"
    other.mkdir()
    _write(other / "a.parquet", [5], modified_ns=5 * 10**17)
    shutil.copytree(table / CACHE_DIRECTORY, other / CACHE_DIRECTORY)
    assert _bounds(other) == [5]


def test_a_file_system_without_links_keeps_versions_too(
    table: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are copied, and no version is written twice."""

    def refuse(source: str, target: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    collect(table)
    _write(table / "c.parquet", [3])
    collect(table)
    reads.clear()
    assert _bounds(table) == [1, 2, 3]
    assert reads == []
    assert [file.name for file in _store_files(table, "v*")] == ["v000000000001", "v000000000002"]
    assert [file.name for file in _store_files(table, "_*")] == []


def test_packs_of_a_version_that_cannot_be_written_are_deleted(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each query would leave two files."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(log, "write_shared", refuse)
    for _ in range(2):
        assert _bounds(table) == [1, 2]
    assert _store_files(table, "*") == []
