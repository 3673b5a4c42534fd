"""Measured statistics are kept while files are the same; a query reads its columns, and packs stay few."""

import hashlib
import os
import stat
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.errors import DamagedMetadataWarning, InputError
from pruning.metadata.backfill import backfilling, measured_files
from pruning.metadata.backfill.backfilling import backfill, backfill_in_steps
from pruning.metadata.files import listing
from pruning.metadata.index import child_processes
from pruning.metadata.store import measured_packs, measured_writing
from pruning.metadata.store.collecting import collect, read_blocks
from pruning.metadata.store.log import FOLDER
from pruning.metadata.store.measured_packs import MEASURED
from pruning.metadata.store.packs import open_pack
from pruning.metadata.table.measured import DISTINCT

PACKAGE = Path(pruning.__file__).parent
# The code that decides which values are measured, and what is computed of them.
MEASURING = (
    "metadata/backfill/measuring.py",
    "metadata/backfill/measured_files.py",
    "metadata/footers/physical_types.py",
    "metadata/index/block_values.py",
    "metadata/index/int96.py",
)
DIGEST = (1, "239fe97c1958c31e")
BARE = {"write_statistics": False}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measure in this process; return the names of the files that are measured."""
    read: list[str] = []

    def run(module: str, files: list[str], options: dict[str, Any]) -> Any:
        read.extend(os.path.basename(file) for file in files)
        return measured_files.measure_files(files, **options)

    monkeypatch.setattr(child_processes, "_run_process", run)
    return read


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two files of two row groups each, without statistics."""
    root = tmp_path / "lake"
    root.mkdir()
    write(root / "a.parquet", [1, 2], [3, 4])
    write(root / "b.parquet", [5, 6], [7, 8])
    return root


def write(path: Path, *groups: list[int]) -> Path:
    """Write a file with a row group for each list: `x`, and `y` as texts."""
    with pq.ParquetWriter(path, pa.schema([("x", pa.int64()), ("y", pa.string())]), **BARE) as out:
        for group in groups:
            out.write_table(pa.table({"x": group, "y": list(map(str, group))}))
    return path


def touch(path: Path, second: int) -> None:
    os.utime(path, ns=(second * 10**9 + 1, second * 10**9 + 1))


def maxima(metadata: pa.Table, column: str = "x") -> list[Any]:
    return [row[column]["max"] for row in metadata["columns"].to_pylist()]


def packs(lake: Path) -> list[Path]:
    return sorted((lake / ".skipproof" / FOLDER).glob(f"*{MEASURED}"))


def test_what_is_measured_is_used_however_files_are_named(lake: Path) -> None:
    """By `collect`, also without what is kept of footers, and by what `prune` reads, of its columns alone."""
    assert maxima(collect(lake)) == [None] * 4
    assert str(backfill(lake)).startswith("2 files, 4 row groups,")
    assert maxima(collect(lake)) == maxima(collect(lake)) == [2, 4, 6, 8]
    files = [str(lake / "b.parquet"), str(lake / "a.parquet")]
    for _ in range(2):
        metadata, failures, _ = read_blocks(files, columns=frozenset({"x"}))
        assert (maxima(metadata), failures) == ([6, 8, 2, 4], {})
    assert metadata.schema.field("columns").type.names == ["x"]
    assert maxima(collect(lake, cache=False)) == [None] * 4
    assert maxima(collect(lake, verify=True)) == [2, 4, 6, 8]
    assert maxima(collect(lake, as_of=time.time() + 60)) == [2, 4, 6, 8]


def test_a_query_reads_the_columns_that_it_names(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that no query names may be damaged."""
    backfill(lake)
    collect(lake)
    wanted: list[Any] = []
    read = measured_packs.blocks_in
    monkeypatch.setattr(
        measured_packs, "blocks_in", lambda pack, columns: wanted.append(columns) or read(pack, columns)
    )
    read_blocks([str(lake / "a.parquet")], columns=frozenset({"y"}))
    assert wanted == [frozenset({"y"})]


def test_statistics_of_a_file_that_changed_are_not_used(
    lake: Path, here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only that file is measured again. The mutant that does not look at size and time is killed."""
    backfill(lake)
    write(lake / "a.parquet", [9, 9], [9, 9])
    touch(lake / "a.parquet", 10**9)
    assert maxima(collect(lake)) == [None, None, 6, 8]
    with monkeypatch.context() as patch:
        patch.setattr(measured_packs, "file_stamp", lambda listed: ANY)
        assert maxima(collect(lake)) == [2, 4, 6, 8]
    here.clear()
    report = backfill(lake)
    assert (report.files, report.done_before, here) == (1, 1, ["a.parquet"])
    assert maxima(collect(lake)) == [9, 9, 6, 8]


def test_a_second_run_reads_nothing_and_a_wider_one_what_is_missing(lake: Path, here: list[str]) -> None:
    """Columns are asked for by name or all at once; what all have, each has."""
    backfill(lake, ["x"])
    backfill(lake, ["x"])
    assert here == ["a.parquet", "b.parquet"]
    assert maxima(collect(lake), "y") == [None] * 4
    backfill(lake)
    backfill(lake, ["y"])
    assert len(here) == 4
    assert maxima(collect(lake), "y") == ["2", "4", "6", "8"]
    assert maxima(collect(lake), "x") == [2, 4, 6, 8]
    with pytest.raises(InputError, match=r"'z' is in no file as one that can be measured; .* \['x', 'y'\]"):
        backfill(lake, ["x", "z"])


def test_an_interrupted_run_loses_no_batch_that_was_read(
    lake: Path, here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress is told after each batch; the next run reads the others."""
    monkeypatch.setattr(child_processes, "_BATCH_FILES", 1)
    monkeypatch.setattr(child_processes, "_PROCESSES_MAX", 1)
    steps: list[tuple[int, int]] = []

    def interrupt(what: str, done: int, total: int) -> None:
        steps.append((done, total))
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill_in_steps(lake, step=interrupt)
    assert steps == [(0, 2), (1, 2)]
    assert maxima(collect(lake)) == [2, 4, None, None]
    here.clear()
    backfill_in_steps(lake, step=lambda what, done, total: steps.append((done, total)))
    assert (here, steps[2:]) == (["b.parquet"], [(1, 2), (2, 2)])
    assert maxima(collect(lake)) == [2, 4, 6, 8]


@pytest.mark.parametrize("place", ["section", "directory", "cut"])
def test_a_damaged_pack_counts_as_none_and_is_measured_again(lake: Path, place: str) -> None:
    """With a warning; a flipped bit is never a bound."""
    backfill(lake)
    (pack,) = packs(lake)
    data = bytearray(pack.read_bytes())
    data[{"section": 20, "directory": -40, "cut": 0}[place]] ^= 1
    pack.write_bytes(data[:-30] if place == "cut" else data)
    touch(pack, 10**9)
    with pytest.warns(DamagedMetadataWarning, match=r"unknown until `pruning\.backfill` runs again"):
        assert maxima(collect(lake)) == [None] * 4
    with warnings.catch_warnings(action="error"):
        assert backfill(lake).files == 2
        assert maxima(collect(lake)) == [2, 4, 6, 8]


def test_packs_stay_few_and_tell_of_files_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are merged, without files that are gone; the statistics stay those of their files."""
    monkeypatch.setattr(measured_writing, "PACKS_MAX", 3)
    for number in range(16):
        write(tmp_path / f"{number:02}.parquet", [number])
        backfill(tmp_path)
        assert len(packs(tmp_path)) <= 3
    assert maxima(collect(tmp_path)) == list(range(16))
    for number in range(16):
        if number % 5:
            (tmp_path / f"{number:02}.parquet").unlink()
    for number in range(16, 24):
        write(tmp_path / f"{number:02}.parquet", [number])
        backfill(tmp_path)
    opened_packs = [open_pack(str(pack)) for pack in packs(tmp_path)]
    kept = [file for pack in opened_packs for file in measured_packs.files_of(pack)]
    assert len({file.path for file in kept}) == len(kept) < 24
    assert maxima(collect(tmp_path)) == [0, 5, 10, 15, *range(16, 24)]


def test_a_merged_pack_that_cannot_be_deleted_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the two writes: the same is there twice."""
    monkeypatch.setattr(measured_writing, "PACKS_MAX", 2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        for number in range(4):
            write(tmp_path / f"{number}.parquet", [number])
            backfill(tmp_path)
    assert len(packs(tmp_path)) == 4
    assert maxima(collect(tmp_path)) == [0, 1, 2, 3]
    write(tmp_path / "4.parquet", [4])
    backfill(tmp_path)
    assert (len(packs(tmp_path)), maxima(collect(tmp_path))) == (1, [0, 1, 2, 3, 4])


def test_merged_rows_that_are_mixed_up_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant that gives merged packs the rows of other files is killed."""
    right = measured_writing._notes
    monkeypatch.setattr(measured_writing, "_notes", lambda files: right(files[::-1]))
    for number in range(3):
        write(tmp_path / f"{number}.parquet", [number])
    backfill(tmp_path)
    assert maxima(collect(tmp_path)) == [2, 1, 0]


def test_a_pack_of_no_file_that_exists_goes_away(lake: Path) -> None:
    """An hour after it was written, when something is recorded; not where one of its files still exists."""
    backfill(lake)
    (pack,) = packs(lake)
    for name in ("a", "b"):
        os.utime(pack, (time.time() - 4_000,) * 2)
        collect(lake)
        assert packs(lake) == [pack]
        (lake / f"{name}.parquet").unlink()
        write(lake / f"{name}2.parquet", [1])
    collect(lake)
    assert packs(lake) == []


def test_packs_are_read_by_those_who_may_read_their_files(lake: Path) -> None:
    """Also where a file becomes private later."""
    for path in lake.iterdir():
        path.chmod(0o640)
    lake.chmod(0o755)
    backfill(lake)
    (pack,) = packs(lake)
    assert stat.S_IMODE(pack.stat().st_mode) == 0o640
    (lake / "a.parquet").chmod(0o600)
    write(lake / "c.parquet", [1])
    collect(lake)
    assert stat.S_IMODE(pack.stat().st_mode) == 0o600


def test_writers_at_the_same_time_keep_each_others_statistics(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One writes while the other one reads; each pack is of one writer."""
    read = measured_files.measure_files
    nested: list[int] = []

    def run(module: str, files: list[str], options: dict[str, Any]) -> Any:
        if not nested:
            nested.append(1)
            assert backfill(lake, ["y"]).files == 2
        return read(files, **options)

    monkeypatch.setattr(child_processes, "_run_process", run)
    assert backfill(lake, ["x"]).files == 2
    assert len(packs(lake)) == 2
    assert maxima(collect(lake)) == [2, 4, 6, 8]
    assert maxima(collect(lake), "y") == ["2", "4", "6", "8"]


def test_a_file_that_is_written_meanwhile_is_not_kept(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named; so is one that may be written again without another time, and one that ends its reader."""
    read = measured_files.measure_files

    def run(module: str, files: list[str], options: dict[str, Any]) -> Any:
        if any(file.endswith("c.parquet") for file in files):
            return "ended"
        outcome = read(files, **options)
        touch(lake / "a.parquet", 10**9)
        return outcome

    write(lake / "c.parquet", [1])
    monkeypatch.setattr(child_processes, "_run_process", run)
    report = backfill(lake)
    assert report.files == 1
    assert {
        os.path.basename(file): sentence.split(": ")[1] for file, sentence in report.failures.items()
    } == {
        "a.parquet": "was written while it was read, or a moment before, so nothing is kept; run it again",
        "c.parquet": "ended",
    }
    assert maxima(collect(lake)) == [None, None, 6, 8, None]


def test_a_file_of_this_very_second_is_not_kept(
    lake: Path, here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If times are in whole seconds; however long its reading takes. The mutant that ignores it dies."""
    now = int(time.time()) * 10**9
    os.utime(lake / "a.parquet", ns=(now, now))
    monkeypatch.setattr(listing.time, "time_ns", lambda: now + 10**9)
    assert list(backfill(lake).failures) == [str(lake / "a.parquet")]
    monkeypatch.setattr(measured_writing, "may_change_unseen", lambda listed, now_ns: False)
    assert backfill(lake).failures == {}


def test_what_another_version_measured_is_not_used(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is measured again; a later version's packs stay."""
    monkeypatch.setattr(measured_writing, "VERSION", 2)
    backfill(lake)
    monkeypatch.setattr(measured_writing, "VERSION", 1)
    assert maxima(collect(lake)) == [None] * 4
    assert backfill(lake).files == 2
    assert (len(packs(lake)), maxima(collect(lake))) == (2, [2, 4, 6, 8])


def test_a_changed_line_of_what_measures_is_noticed() -> None:
    """Raise `measured_packs.VERSION` if other values or other conditions count; and note the digest here."""
    digest = hashlib.sha256()
    for name in MEASURING:
        digest.update((PACKAGE / name).read_bytes())
    assert (measured_packs.VERSION, digest.hexdigest()[:16]) == DIGEST


def test_nothing_is_kept_where_nothing_can_be_written(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error says so before anything is read."""
    for name in ("make_folder", "keep_measured"):
        with monkeypatch.context() as patch:
            patch.setattr(backfilling, name, refuse)
            with pytest.raises(InputError, match=r"statistics cannot be kept there \(read-only\)"):
                backfill(lake)


def refuse(*_: Any) -> Iterator[str]:
    raise OSError(30, "read-only")


def test_columns_are_widened_and_a_type_that_differs_is_unknown(tmp_path: Path) -> None:
    """As bounds of footers are, where files disagree."""
    pq.write_table(pa.table({"x": pa.array([1], pa.int32())}), tmp_path / "a.parquet", **BARE)
    pq.write_table(pa.table({"x": pa.array([2], pa.int64())}), tmp_path / "b.parquet", **BARE)
    backfill(tmp_path)
    assert maxima(collect(tmp_path)) == [1, 2]
    pq.write_table(pa.table({"x": ["text"]}), tmp_path / "0.parquet", **BARE)
    backfill(tmp_path)
    assert maxima(collect(tmp_path)) == ["text", None, None]


def test_a_table_of_partitions_keeps_statistics_in_one_place(lake: Path) -> None:
    """Queries that name the files of one partition look there too."""
    (lake / "p=1").mkdir()
    for name in ("a", "b"):
        (lake / f"{name}.parquet").rename(lake / "p=1" / f"{name}.parquet")
    assert backfill(lake).files == 2
    assert [path.parent.name for path in lake.rglob(".skipproof")] == ["lake"]
    assert len(packs(lake)) == 1
    metadata, _, _ = read_blocks([str(lake / "p=1" / "a.parquet")], columns=frozenset({"x"}))
    assert maxima(metadata) == [2, 4]


def test_the_table_of_blocks_shows_what_was_measured(lake: Path) -> None:
    """With the number of distinct values, and a mark."""
    backfill(lake, ["x"])
    rows = pruning.blocks(lake).select(["column", "max", DISTINCT, "measured"]).to_pylist()[:2]
    assert rows == [
        {"column": "x", "max": "2", DISTINCT: 2, "measured": True},
        {"column": "y", "max": None, DISTINCT: None, "measured": False},
    ]
