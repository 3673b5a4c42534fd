"""SEARCH-1: a search of a large table's kept metadata leaves out only files without a needed block."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from mutants.metadata.searching import MUTANTS
from mutants.replacements import Replacement
from pruning.errors import DamagedMetadataWarning, InputError
from pruning.metadata.store import collecting, contents, group_summaries, packs, searching, store
from pruning.metadata.store.collecting import BlocksRead, collect, read_blocks
from pruning.metadata.table.blocks import Shard, unite
from pruning.metadata.table.structs import field_of, whole

FILES, BLOCKS = 12, 3
EMPTY = FILES


class Least:
    """Asks for blocks that may hold a value of a column that is at least `value`; remembers the tables."""

    def __init__(self, value: int, column: str = "a") -> None:
        self.value, self.column = value, column
        self.sizes: list[int] = []

    def __call__(self, metadata: pa.Table) -> np.ndarray:
        self.sizes.append(len(metadata))
        highest = field_of(field_of(whole(metadata["columns"]), self.column), "max")
        marks: np.ndarray = pc.fill_null(pc.greater_equal(highest, self.value), True).to_numpy(False)
        return marks


@pytest.fixture(autouse=True, params=[0, 8], ids=["united summaries", "pack by pack"])
def large(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Every table counts as large, and groups have two files of three blocks."""
    monkeypatch.setattr(group_summaries, "_SINGLE_PACKS_MAX", request.param)
    monkeypatch.setenv(store.BLOCKS_LOADED_VARIABLE, "0")
    monkeypatch.setattr(contents, "GROUP_BLOCKS", 2 * BLOCKS)
    yield
    packs._open_once.cache_clear()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Files of ascending `a` and of `b` that repeats, and one without row groups."""
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(FILES):
        write(folder, number)
    with pq.ParquetWriter(name(folder, EMPTY), pa.schema([("a", pa.int64()), ("b", pa.int64())])):
        pass
    collect(folder)
    return folder


def write(folder: Path, number: int, *, add: int = 0) -> None:
    rows = range(number * 10, number * 10 + BLOCKS)
    table = pa.table({"a": [row + add for row in rows], "b": [row % 7 for row in rows]})
    pq.write_table(table, name(folder, number), row_group_size=1)


def name(folder: Path, number: int) -> str:
    return str(folder / f"{number:02}.parquet")


def search(folder: Path, question: Any, numbers: Any = range(FILES + 1), **options: Any) -> BlocksRead:
    return read_blocks([name(folder, number) for number in numbers], question=question, **options)


def kept_files(blocks: BlocksRead) -> list[str]:
    return blocks.metadata["file"].unique().to_pylist()


def excluded_files(blocks: BlocksRead) -> set[str]:
    return {file for part in blocks.excluded for file in part.files}


def test_groups_are_asked_first_and_only_those_left_are_read(lake: Path) -> None:
    """A file of the last group has a block that is too low; the file comes back whole."""
    question = Least(112)
    blocks = search(lake, question)
    assert kept_files(blocks) == [name(lake, 11)]
    assert len(blocks.metadata) == BLOCKS
    assert excluded_files(blocks) == {name(lake, number) for number in range(11)}
    # The file without blocks is in the last group.
    assert question.sizes == [FILES // 2, 2 * BLOCKS]
    assert sum(part.blocks for part in blocks.excluded) == 11 * BLOCKS
    assert blocks.failures == {}


def test_what_is_excluded_is_summarized(lake: Path) -> None:
    whole_table = collect(lake)
    blocks = search(lake, Least(112))
    summaries = [part.summary.to_pylist()[0] for part in blocks.excluded]
    left = [row for row in whole_table.to_pylist() if row["file"] != name(lake, 11)]
    for count in ("row_count", "byte_count"):
        assert sum(row[count] for row in summaries) == sum(row[count] for row in left)
    for column in ("a", "b"):
        sizes = [sum(row["columns"][column]["byte_count"] for row in rows) for rows in (summaries, left)]
        assert sizes[0] == sizes[1] > 0


def test_the_metadata_that_comes_back_is_that_of_the_footers(lake: Path) -> None:
    """In the order of the files that were asked for, and of the columns that were asked for."""
    numbers = [9, 3, 11, 0]
    blocks = search(lake, Least(30), numbers, columns=frozenset({"a"}))
    files = [name(lake, number) for number in (9, 3, 11)]
    plain = read_blocks(files, cache=False).metadata
    assert blocks.metadata.drop_columns(["columns"]).equals(plain.drop_columns(["columns"]))
    columns = whole(blocks.metadata["columns"])
    assert [field.name for field in columns.type] == ["a"]
    assert field_of(columns, "a").equals(field_of(whole(plain["columns"]), "a"))


def test_a_group_is_excluded_only_as_a_whole(lake: Path) -> None:
    """If not all of its files are asked for, its summary is about other rows too."""
    question = Least(112)
    blocks = search(lake, question, [0, 2, 3, 11])
    assert excluded_files(blocks) == {name(lake, number) for number in (0, 2, 3)}
    assert kept_files(blocks) == [name(lake, 11)]
    assert question.sizes == [FILES // 2, 4 * BLOCKS]
    assert sum(part.blocks for part in blocks.excluded) == 3 * BLOCKS


def wrong_files(lake: Path) -> set[str]:
    """Files that a search leaves out although a block is needed, or names although nobody asked for them."""
    plain = collect(lake)
    wrong: set[str] = set()
    for numbers in (range(FILES + 1), [1, 2, 3, 8, 11]):
        asked_for = {name(lake, number) for number in numbers}
        for column, value in itertools.product(("a", "b"), (-1, 2, 6, 55, 112, 1_000)):
            question = Least(value, column)
            blocks = search(lake, question, numbers)
            needed = set(plain.filter(pa.array(question(plain)))["file"].to_pylist()) & asked_for
            wrong |= needed - set(kept_files(blocks))
            wrong |= excluded_files(blocks) & (set(kept_files(blocks)) | needed)
            wrong |= {*kept_files(blocks), *excluded_files(blocks)} - asked_for
    return wrong


def test_searches_of_some_files_and_columns_agree_with_a_plain_reading(lake: Path) -> None:
    """SEARCH-1. Nothing, some and all of the files are left."""
    assert wrong_files(lake) == set()


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_a_search_that_leaves_out_too_much_is_found_out(
    lake: Path, monkeypatch: pytest.MonkeyPatch, mutant: Replacement
) -> None:
    monkeypatch.setattr(*mutant)
    monkeypatch.setattr(collecting, "_search", _without_reading)
    # A file that nobody asked for has no name.
    with contextlib.suppress(KeyError):
        assert wrong_files(lake)


def _without_reading(listing: Any, searched: searching.SearchResult, *_arguments: Any) -> BlocksRead:
    """A search's own answer: files that it leaves out would be read from their footers."""
    return BlocksRead(unite(searched.shards, files_of(searched.shards)), {}, tuple(searched.excluded))


def files_of(shards: list[Shard]) -> list[str]:
    return [file for shard in shards for file in shard.files]


def test_files_that_are_not_kept_are_read(lake: Path) -> None:
    """A new file, and one that was written anew under the same name."""
    write(lake, 20)
    write(lake, 4, add=500)
    blocks = search(lake, Least(112), [*range(FILES), 20])
    assert kept_files(blocks) == [name(lake, 4), name(lake, 11), name(lake, 20)]
    # They are kept now, and asked about like the others.
    assert kept_files(search(lake, Least(300), [*range(FILES), 20])) == [name(lake, 4)]


def pack_files(lake: Path, extension: str) -> list[Path]:
    return sorted((lake / ".skipproof" / "_store").glob(f"*.{extension}"))


def test_a_damaged_group_is_read_from_the_footers(lake: Path) -> None:
    """The first bytes of a pack of blocks are those of its first group."""
    (pack,) = pack_files(lake, "blocks")
    content = bytearray(pack.read_bytes())
    content[5] ^= 1
    pack.write_bytes(content)
    with pytest.warns(DamagedMetadataWarning, match="the footers of its files are read again"):
        blocks = search(lake, Least(-1))
    assert len(blocks.metadata) == FILES * BLOCKS
    assert blocks.excluded == ()


def test_a_pack_that_this_code_has_not_made_is_made_of_the_footers(lake: Path) -> None:
    """No file is opened for it."""
    (pack,) = pack_files(lake, "blocks")
    pack.unlink()
    shutil.move(lake, lake.with_name("elsewhere"))
    shutil.copytree(lake.with_name("elsewhere"), lake, copy_function=shutil.copy2)
    for number in range(FILES):
        size, times = os.stat(name(lake, number)).st_size, os.stat(name(lake, number))
        Path(name(lake, number)).write_bytes(b"\0" * size)
        os.utime(name(lake, number), ns=(times.st_atime_ns, times.st_mtime_ns))
    assert kept_files(search(lake, Least(112))) == [name(lake, 11)]


def test_where_nothing_can_be_made_the_table_is_loaded(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pack,) = pack_files(lake, "blocks")
    pack.unlink()

    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(store, "write_shared", refuse)
    blocks = search(lake, Least(112))
    assert len(blocks.metadata) == FILES * BLOCKS
    assert blocks.excluded == ()


def test_a_table_that_is_not_large_is_loaded(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.BLOCKS_LOADED_VARIABLE, str(FILES * BLOCKS))
    assert len(search(lake, Least(112)).metadata) == FILES * BLOCKS
    monkeypatch.setenv(store.BLOCKS_LOADED_VARIABLE, str(FILES * BLOCKS - 1))
    assert len(search(lake, Least(112)).metadata) == BLOCKS


def test_a_size_that_is_no_number_is_refused(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.BLOCKS_LOADED_VARIABLE, "many")
    with pytest.raises(InputError, match="SKIPPROOF_BLOCKS_LOADED='many' is no number of blocks"):
        search(lake, Least(112))
