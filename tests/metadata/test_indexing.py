"""Indexing files: what is kept is used while the files are the same, and never otherwise."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from looking_up import denied_in_files
from rewriting import KEYS, rewrite

import pruning
from pruning.errors import InputError
from pruning.metadata.files.locations import CACHE_DIRECTORY
from pruning.metadata.index import child_processes, indexed_files
from pruning.metadata.index.indexing import index
from pruning.metadata.store.collecting import collect, read_blocks
from pruning.metadata.table import cache
from pruning.metadata.table.memberships import FIELD
from pruning.metadata.table.reading import ReadResult


def write(path: Path, *groups: list[Any], name: str = "x", **options: Any) -> Path:
    """A file with a row group for each list."""
    with pq.ParquetWriter(path, pa.schema([(name, pa.array([*groups[0]]).type)]), **options) as out:
        for group in groups:
            out.write_table(pa.table({name: group}))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two files of two row groups each, whose bounds all are [0, 9]."""
    root = tmp_path / "table"
    root.mkdir()
    write(root / "a.parquet", [0, 1, 9], [0, 2, 9])
    write(root / "b.parquet", [0, 3, 9], [0, None, 9])
    return root


def lists(metadata: pa.Table, column: str = "x") -> list[list[Any] | None]:
    if FIELD not in metadata.schema.names:
        return [None] * len(metadata)
    return [row and row[column] and row[column]["dictionary"] for row in metadata.column(FIELD).to_pylist()]


def test_an_index_tells_what_bounds_cannot(spark: Any, table: Path) -> None:
    """By `classify`, `prune` and `explain` alike."""
    assert pruning.classify("x = 2", table).to_pylist() == [1, 1, 1, 1]
    report = pruning.index(table)
    assert (report.files, report.blocks, report.failures) == (2, 4, {})
    assert pruning.classify("x = 2", table).to_pylist() == [0, 1, 0, 0]
    assert pruning.classify("x in (3, 5)", table).to_pylist() == [0, 0, 1, 0]
    assert pruning.classify("x > 2 and x < 9", table).to_pylist() == [0, 0, 1, 0]
    frame = spark.read.parquet(str(table)).filter("x = 2")
    assert [row.x for row in pruning.prune(frame).collect()] == [2]
    assert pruning.explain(frame).to_dict()["scans"][0]["blocks_kept"] == 1


def test_a_dictionary_answers_for_patterns_too(spark: Any, tmp_path: Path) -> None:
    """No value of the second block matches, though its bounds enclose some that do."""
    path = write(tmp_path / "x.parquet", ["ab", "cd", "xy"], ["ab", "ce", "xy"])
    index(path)
    assert pruning.classify("x like '%d'", path).to_pylist() == [1, 0]
    assert pruning.classify("x >= 'c' and x < 'cdz'", path).to_pylist() == [1, 0]


def test_the_index_of_a_file_that_changed_is_not_used(table: Path) -> None:
    """The others' is; it comes back when the file is indexed again."""
    index(table)
    write(table / "a.parquet", [0, 5, 9], [0, 6, 9])
    os.utime(table / "a.parquet", ns=(10**18, 10**18))
    assert lists(collect(table)) == [None, None, [0, 3, 9], [0, 9]]
    assert denied_in_files(collect(table), "x") == []
    index(table)
    assert lists(collect(table))[:2] == [[0, 5, 9], [0, 6, 9]]


def test_a_stale_index_would_lose_rows(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that does not look at the stamps is killed."""
    index(table)
    write(table / "a.parquet", [0, 5, 9], [0, 6, 9])
    os.utime(table / "a.parquet", ns=(10**18, 10**18))
    monkeypatch.setattr(cache, "_unchanged_files", cache._listed_by_path)
    assert denied_in_files(collect(table), "x") != []


def test_it_is_found_however_the_files_are_named(table: Path) -> None:
    """As a directory, one by one, in another order; and not where nothing is to be kept."""
    index(table)
    files = [str(table / "b.parquet"), str(table / "a.parquet")]
    assert lists(collect(files)) == [[0, 3, 9], [0, 9], [0, 1, 9], [0, 2, 9]]
    found, failures, _ = read_blocks(files[:1])
    assert (lists(found), failures) == ([[0, 3, 9], [0, 9]], {})
    assert FIELD not in collect(table, cache=False).schema.names


def test_it_is_found_below_the_directory_that_was_indexed(tmp_path: Path) -> None:
    """Spark names the files, whose common directory lies deeper."""
    (tmp_path / "t" / "part=1").mkdir(parents=True)
    file = write(tmp_path / "t" / "part=1" / "a.parquet", [1, 2])
    index(tmp_path / "t")
    assert lists(collect(tmp_path / "t")) == lists(collect(file)) == [[1, 2]]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_index_counts_as_none(table: Path, damage: str) -> None:
    index(table)
    kept = table / CACHE_DIRECTORY / cache.INDEX
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes({"flip": bytes(data), "cut": bytes(data[:-9]), "empty": b""}[damage])
    assert lists(collect(table)) == [None] * 4


def test_indexing_more_columns_later_replaces_what_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), path)
    assert [column.name for column in index(path, ["y"]).columns] == ["y"]
    assert [column.name for column in index(path).columns] == ["x", "y"]
    assert lists(collect(path), "y") == [["a"]]


def test_files_of_several_schemas_are_indexed_together(tmp_path: Path) -> None:
    """A column is looked up as its own file stores it, and under the widest integer."""
    write(tmp_path / "a.parquet", [1, 2])
    pq.write_table(pa.table({"x": pa.array([3], pa.int32()), "y": [1]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"x": ["text"]}), tmp_path / "c.parquet")
    assert index(tmp_path).files == 3
    metadata = collect(tmp_path)
    assert lists(metadata) == [[1, 2], [3], None]
    assert (
        metadata.schema.field(FIELD).type.field("x").type.field("dictionary").type.value_type.value_type
        == pa.int64()
    )


def test_values_that_spark_may_read_as_others_are_not_kept(tmp_path: Path) -> None:
    """Old dates in a file of an unknown calendar, strings that are no text, and INT96."""
    days = pa.array([-200_000, 1], pa.int32()).view(pa.date32())
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    pq.write_table(pa.table({"x": days}), tmp_path / "days.parquet")
    pq.write_table(pa.table({"x": text}), tmp_path / "text.parquet")
    pq.write_table(
        pa.table({"x": pa.array([5], pa.timestamp("us"))}),
        tmp_path / "96.parquet",
        use_deprecated_int96_timestamps=True,
    )
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    index(tmp_path)
    for name in ("days", "text", "96"):
        assert lists(collect(tmp_path / f"{name}.parquet")) == [None], name
    modern = tmp_path / "corrected.parquet"
    pq.write_table(pa.table({"x": days}), modern)

    def by_spark(footer: dict[int, Any]) -> None:
        entry = {1: (8, b"org.apache.spark.version"), 2: (8, b"4.0.0")}
        footer[KEYS] = (9, (12, [entry]))

    rewrite(modern, by_spark)
    index(tmp_path)
    assert lists(collect(modern)) != [None]


def test_numbers_outside_of_a_narrow_type_are_not_kept(tmp_path: Path) -> None:
    """Without bounds, a byte stored in 32 bits may be any number."""
    narrow = pa.array([1, 2], pa.int8())
    for name, statistics in (("known", True), ("unknown", False)):
        root = tmp_path / name
        root.mkdir()
        pq.write_table(pa.table({"x": narrow}), root / "x.parquet", write_statistics=statistics)
        index(root)
        assert lists(collect(root)) == [[1, 2] if statistics else None]


def test_what_cannot_be_indexed_is_said(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence each."""
    for options, sentence in (
        ({"columns": ["y"]}, "Column 'y' is in no file"),
        ({"columns": ["`a`.`b`"]}, "name top-level columns"),
        ({"bytes_per_block": -1}, "give a whole number from 0"),
    ):
        with pytest.raises(InputError, match=sentence):
            index(table, **options)
    with pytest.raises(InputError, match="does not exist"):
        index(tmp_path / "nothing")
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 nothing else")
    with pytest.raises(InputError, match=r"bad\.parquet"):
        index(bad)
    monkeypatch.setattr(cache, "_save", _refuses)
    with pytest.raises(InputError, match="could not be kept"):
        index(table)


def _refuses(*_: Any) -> None:
    raise OSError("read-only")


def test_a_broken_file_among_others_is_named(table: Path) -> None:
    """Whether its footer or its data is damaged."""
    (table / "bad.parquet").write_bytes(b"PAR1 nothing else")
    data = bytearray((table / "a.parquet").read_bytes())
    data[4:60] = b"\xff" * 56
    (table / "a.parquet").write_bytes(data)
    report = index(table)
    assert sorted(os.path.basename(file) for file in report.failures) == ["a.parquet", "bad.parquet"]
    assert report.files == 1


def test_a_file_that_ends_the_process_ends_no_other(table: Path) -> None:
    """The rest is indexed; files are halved until the one is found."""

    def dies(module: str, files: list[str], options: dict[str, object]) -> ReadResult | str:
        if any(file.endswith("b.parquet") for file in files):
            return "ended"
        return indexed_files.index_files(files, columns=None, points=(), bytes_per_block=64, read_data=True)

    files = [str(table / "a.parquet"), str(table / "b.parquet"), str(table / "a.parquet")]
    outcome = child_processes._read_batch("unused", files, {}, dies)
    assert list(outcome.failures) == [files[1]]
    assert [file for part in outcome.shards for file in part.files] == [files[0], files[0]]


def test_how_a_process_ended_is_said(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.CompletedProcess((), returncode=-6, stdout=b"", stderr=b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(InputError, match="exit status -6"):
        index(table)


def test_the_files_own_filters_are_kept_without_reading_data(tmp_path: Path) -> None:
    """And only if they can be folded to fit the bound."""
    path = write(
        tmp_path / "x.parquet", list(range(100)), bloom_filter_options={"x": {"ndv": 100, "fpp": 0.01}}
    )
    report = index(path, read_data=False)
    assert (report.columns[0].filter, report.columns[0].dictionary) == (1, 0)
    assert denied_in_files(collect(path), "x") == []
    assert index(path, read_data=False, bytes_per_block=64).columns[0].filter == 0


def test_the_report_tells_the_size(table: Path) -> None:
    report = index(table)
    (column,) = report.columns
    assert (column.name, column.type, column.blocks, column.dictionary) == ("x", "bigint", 4, 4)
    assert 0 < column.bytes_per_block <= 1_024
    assert report.to_dict()["columns"][0]["name"] == "x"
    assert "x: of 4 blocks 4 by dictionary" in str(report)
