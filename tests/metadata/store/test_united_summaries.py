"""United summaries: one file has the summaries of the groups of many packs."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from mutants.metadata.group_summaries import MUTANTS
from mutants.replacements import Replacement
from pruning.errors import DamagedMetadataWarning
from pruning.metadata.files.places import Place, places_of_directory
from pruning.metadata.store import contents, group_summaries, recording, store
from pruning.metadata.store.collecting import collect
from pruning.metadata.store.contents import block_pieces, blocks_in
from pruning.metadata.store.packs import Pack
from pruning.metadata.store.snapshots import open_snapshot, paths_of
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.structs import field_of, whole

PACKS, FILES_OF_PACK = 4, 5


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups have two files, packs are not merged, and the summaries of more than one are united."""
    monkeypatch.setattr(group_summaries, "_SINGLE_PACKS_MAX", 1)
    monkeypatch.setattr(contents, "GROUP_BLOCKS", 2)
    monkeypatch.setattr(recording, "PACKS_MAX", 100)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Four packs of five files; `a` is the number of the file, and the last two packs have a column more."""
    for pack in range(PACKS):
        write(tmp_path, pack)
    return tmp_path


def write(folder: Path, pack: int) -> None:
    for number in range(pack * FILES_OF_PACK, (pack + 1) * FILES_OF_PACK):
        columns = {"a": [number]} | ({"b": [number]} if pack > 1 else {})
        pq.write_table(pa.table(columns), folder / f"{number:02}.parquet")
    collect(folder)


def least(value: int) -> Any:
    """A question for blocks that may hold an `a` of at least a value."""

    def question(metadata: pa.Table) -> np.ndarray:
        highest = field_of(field_of(whole(metadata["columns"]), "a"), "max")
        marks: np.ndarray = pc.fill_null(pc.greater_equal(highest, value), True).to_numpy(False)
        return marks

    return question


def place_of(folder: Path) -> Place:
    (place,) = places_of_directory(str(folder))
    return place


def search(folder: Path, value: int) -> list[str]:
    snapshot = open_snapshot(place_of(folder))
    assert snapshot is not None
    return paths_of(snapshot.search({"a"}, least(value)).files)


def expected(value: int, files: int = PACKS * FILES_OF_PACK) -> list[str]:
    return [f"{number:02}.parquet" for number in range(value, files)]


def summary_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f".skipproof/_store/*{group_summaries.EXTENSION}"))


def block_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f".skipproof/_store/*{store.BLOCKS}"))


def test_a_search_opens_the_packs_of_the_groups_that_are_left(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one writes the summaries; the others read nothing of the packs that they exclude."""
    assert search(lake, 18) == expected(18)
    (summaries,) = summary_files(lake)
    opened: list[str] = []
    init = Pack.__init__

    def record(pack: Pack, path: str) -> None:
        opened.append(path)
        init(pack, path)

    monkeypatch.setattr(Pack, "__init__", record)
    store.open_pack.__globals__["_open_once"].cache_clear()
    assert search(lake, 18) == expected(18)
    blocks = [path for path in opened if path.endswith(store.BLOCKS)]
    assert len(blocks) == 1
    assert str(summaries) in opened


def test_each_value_has_its_files(lake: Path) -> None:
    for value in range(PACKS * FILES_OF_PACK + 1):
        assert search(lake, value) == expected(value)


def test_a_new_pack_is_opened_alone_until_there_are_too_many(lake: Path) -> None:
    assert search(lake, 18) == expected(18)
    before = summary_files(lake)
    write(lake, PACKS)
    assert search(lake, 22) == expected(22, (PACKS + 1) * FILES_OF_PACK)
    assert summary_files(lake) == before
    write(lake, PACKS + 1)
    assert search(lake, 3) == expected(3, (PACKS + 2) * FILES_OF_PACK)
    assert len(summary_files(lake)) == 2
    assert search(lake, 27) == expected(27, (PACKS + 2) * FILES_OF_PACK)


def test_files_that_are_gone_are_in_no_answer(lake: Path) -> None:
    """The summaries still have them."""
    assert search(lake, 18) == expected(18)
    (lake / "19.parquet").unlink()
    collect(lake)
    assert search(lake, 0) == expected(0, 19)
    assert search(lake, 19) == []


def test_summaries_that_are_damaged_are_made_again(lake: Path) -> None:
    assert search(lake, 18) == expected(18)
    (before,) = summary_files(lake)
    content = bytearray(before.read_bytes())
    content[5] ^= 1
    before.write_bytes(content)
    with pytest.warns(DamagedMetadataWarning, match=r"\.summaries: .*; it is made again"):
        assert search(lake, 18) == expected(18)
    assert not before.exists()
    assert search(lake, 18) == expected(18)
    assert len(summary_files(lake)) == 1


def test_summaries_that_cannot_be_written_are_done_without(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(group_summaries, "write_shared", refuse)
    assert search(lake, 18) == expected(18)
    assert summary_files(lake) == []


def test_only_those_may_read_summaries_who_may_read_all_files(lake: Path) -> None:
    lake.chmod(0o755)
    for path in (lake / ".skipproof", lake / ".skipproof" / "_store"):
        path.chmod(0o755)
    write(lake, PACKS)
    search(lake, 18)
    (summaries,) = summary_files(lake)
    assert summaries.stat().st_mode & 0o077 == 0o044
    (lake / "07.parquet").chmod(0o600)
    write(lake, PACKS + 1)
    assert summaries.stat().st_mode & 0o077 == 0


def test_summaries_that_nothing_needs_are_deleted_after_an_hour(lake: Path) -> None:
    search(lake, 18)
    write(lake, PACKS)
    write(lake, PACKS + 1)
    search(lake, 18)
    first, last = sorted(summary_files(lake), key=lambda path: path.stat().st_mtime_ns)
    for path in (first, last):
        seconds = path.stat().st_mtime - 3_700
        os.utime(path, (seconds, seconds + (path == last)))
    write(lake, PACKS + 2)
    assert summary_files(lake) == [last]


def write_again(path: Path) -> None:
    """Write a pack of blocks again, with its files in the opposite order, and so in other groups."""
    (shard,) = blocks_in(Pack(str(path)), None)
    order = list(range(len(shard.files)))[::-1]
    turned = Shard(tuple(shard.files[at] for at in order), shard.table.take(pa.array(order)))
    path.write_bytes(b"".join(block_pieces([turned])))


def answers_after_writing_again(lake: Path) -> list[list[str]]:
    """Search before and after the packs of blocks are made again with other groups."""
    first = search(lake, 17)
    for path in block_files(lake):
        write_again(path)
    return [first, *(search(lake, value) for value in (17, 3, 12))]


def test_a_pack_that_was_written_again_excludes_nothing_by_its_old_groups(lake: Path) -> None:
    with pytest.warns(DamagedMetadataWarning, match="was written again with other groups"):
        answers = answers_after_writing_again(lake)
    for answer, value in zip(answers, (17, 17, 3, 12), strict=True):
        assert set(answer) >= set(expected(value))


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
@pytest.mark.filterwarnings("ignore::pruning.errors.DamagedMetadataWarning")
def test_mutants_of_united_summaries_are_found_out(
    lake: Path, monkeypatch: pytest.MonkeyPatch, mutant: Replacement
) -> None:
    search(lake, 18)
    for path in summary_files(lake):
        path.unlink()
    monkeypatch.setattr(*mutant)
    wrong = [value for value in range(21) if not set(search(lake, value)) >= set(expected(value))]
    write(lake, PACKS)
    wrong += [value for value in range(26) if not set(search(lake, value)) >= set(expected(value, 25))]
    for name in expected(0, FILES_OF_PACK):
        (lake / name).unlink()
    collect(lake)
    wrong += [value for value in range(5, 26) if not set(search(lake, value)) >= set(expected(value, 25))]
    answers = answers_after_writing_again(lake)
    wrong += [
        value
        for answer, value in zip(answers, (17, 17, 3, 12), strict=True)
        if not set(answer) >= set(expected(max(value, 5), 25))
    ]
    assert wrong
