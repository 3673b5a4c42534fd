"""Facts about listed files are held in memory while Spark's own listing stays the same, and no longer."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from mutants.held_listings import MUTANTS
from pruning.metadata.files import listing as listing_module
from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.recent import Recent
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.store import collecting
from pruning.metadata.table import reading
from pruning.spark.drive import block_reading
from pruning.spark.jvm.gateway import dataframe
from pruning.spark.lake import listings
from pruning.spark.lake.row_groups import RowGroups, with_row_groups

FILES, ROWS = 3, 4
LONG_AGO_NS, SECOND_NS = 1_600_000_000_123_000_000, 1_000_000_000


def write(
    folder: Path, place: int, first: int, *, modified_ns: int = LONG_AGO_NS, wide: bool = False
) -> None:
    """Write a file of consecutive values, whose size tells nothing of them unless it is wide."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Any] = {"a": pa.array(range(first, first + ROWS), pa.int64())}
    if wide:
        rows["b"] = ["x" * 100] * ROWS
    file = folder / f"{place}.parquet"
    pq.write_table(pa.table(rows), file, compression="none")
    os.utime(file, ns=(modified_ns, modified_ns))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Files whose values ascend."""
    for place in range(FILES):
        write(tmp_path / "t", place, 10 * place)
    return tmp_path / "t"


@pytest.fixture(autouse=True)
def nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is held in memory when a test starts."""
    monkeypatch.setattr(listings, "_LISTINGS", Recent(listings.FILES_HELD_MAX))
    monkeypatch.setattr(block_reading, "_UNCHANGED", Recent(listings.FILES_HELD_MAX))
    monkeypatch.setattr(collecting, "_METADATA", Recent(1 << 30))


def answer(spark: Any, folder: Path, condition: str = "a >= 20") -> list[int]:
    """The rows of a new DataFrame, pruned."""
    frame = spark.read.schema("a long").parquet(str(folder)).where(condition)
    return sorted(row[0] for row in pruning.prune(frame).collect())


def check_files_of_another_size(spark: Any, lake: Path) -> None:
    assert answer(spark, lake) == [20, 21, 22, 23]
    write(lake, 0, 50, wide=True)
    assert answer(spark, lake) == [20, 21, 22, 23, 50, 51, 52, 53]


def check_files_of_another_time(spark: Any, lake: Path) -> None:
    assert answer(spark, lake) == answer(spark, lake) == [20, 21, 22, 23]
    write(lake, 0, 50, modified_ns=LONG_AGO_NS + SECOND_NS)
    assert answer(spark, lake) == [20, 21, 22, 23, 50, 51, 52, 53]


def check_files_of_another_directory(spark: Any, lake: Path) -> None:
    assert answer(spark, lake) == [20, 21, 22, 23]
    other = lake.parent / "other"
    for place in range(FILES):
        write(other, place, 100 - 10 * place)
    assert answer(spark, other, "a >= 95") == [100, 101, 102, 103]


def check_young_files(spark: Any, lake: Path) -> None:
    """Of times in whole seconds, the present second is not over: the files are looked at again."""
    for place in range(FILES):
        write(lake, place, 10 * place, modified_ns=4_000_000_000 * SECOND_NS)
    assert answer(spark, lake) == [20, 21, 22, 23]
    assert not block_reading._UNCHANGED._values


def check_files_that_were_written_before(spark: Any, lake: Path) -> None:
    """A file that is written after Spark has listed it is read in full."""
    frame = spark.read.schema("a long").parquet(str(lake)).where("a >= 20")
    write(lake, 0, 50, modified_ns=LONG_AGO_NS + SECOND_NS)
    for _ in range(2):
        (scan,) = pruning.explain(frame).scans
        assert scan.files_kept == 2
        assert any("has been written since the DataFrame was made" in note for note in scan.notes)


def check_row_groups_alone(spark: Any, lake: Path) -> None:
    """Of two leaves over the same files, each reads other row groups, as many of them."""
    for place in (0, 1):
        rows = pa.table({"a": range(20 * place, 20 * place + 20)})
        pq.write_table(rows, lake / f"{place}.parquet", row_group_size=10)
    (lake / "2.parquet").unlink()
    frame = spark.read.parquet(str(lake))
    first, second = sorted(frame.inputFiles())
    for groups, values in (([0], [0, 1]), [35]), (([0, 1], [0]), [5, 15]):
        parts = [RowGroups({first: groups[0], second: groups[1]})]
        leaf = with_row_groups(spark, frame._jdf.queryExecution().analyzed(), parts, open_bytes=0)
        assert leaf is not None
        for value in values:
            pruned = pruning.prune(dataframe(spark, leaf.leaf).where(f"a = {value}"))
            assert [row.a for row in pruned.collect()] == [value]
            assert len(pruned.inputFiles()) == 1


def files_kept(spark: Any, folder: Path, condition: str) -> int | None:
    """The files that a new DataFrame reads of all columns."""
    (scan,) = pruning.explain(spark.read.parquet(str(folder)).where(condition)).scans
    return scan.files_kept


def check_other_columns(spark: Any, lake: Path) -> None:
    for place in range(FILES):
        pq.write_table(pa.table({"a": [place], "b": [-place]}), lake / f"{place}.parquet")
    for condition in ("a = 1", "a = 1", "b = -2"):
        assert files_kept(spark, lake, condition) == 1


def check_what_is_kept_later(spark: Any, lake: Path) -> None:
    """Of the first look, nothing is kept yet."""
    with pytest.MonkeyPatch.context() as patch:
        answer(spark, lake)
        patch.setattr(reading, "read_footers", refuse)
        assert answer(spark, lake) == [20, 21, 22, 23]


def check_what_is_indexed_later(spark: Any, lake: Path) -> None:
    for place in range(FILES):
        values = pa.table({"a": [0, place + 1, 9]})
        pq.write_table(values, lake / f"{place}.parquet")
    assert files_kept(spark, lake, "a = 2") == files_kept(spark, lake, "a = 2") == FILES
    pruning.index(str(lake))
    assert files_kept(spark, lake, "a = 2") == 1


def check_what_is_measured_later(spark: Any, lake: Path) -> None:
    for place in range(FILES):
        write_table = pa.table({"a": [place, place]})
        pq.write_table(write_table, lake / f"{place}.parquet", write_statistics=False)
    assert files_kept(spark, lake, "a = 2") == files_kept(spark, lake, "a = 2") == FILES
    pruning.backfill(str(lake))
    assert files_kept(spark, lake, "a = 2") == 1


def refuse(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("A file was looked at.")


CHECKS: dict[str, Callable[[Any, Path], None]] = {
    "sizes are not in the digest": check_files_of_another_size,
    "times are not in the digest": check_files_of_another_time,
    "directories are not in the digest": check_files_of_another_directory,
    "a listing is held by its names": check_files_of_another_time,
    "files that may change unseen are held": check_young_files,
    "files that have changed are held": check_files_that_were_written_before,
    "the listing of kept metadata does not matter": check_files_of_another_time,
    "the store of kept metadata does not matter": check_what_is_kept_later,
    "the indexed of kept metadata does not matter": check_what_is_indexed_later,
    "the packs of kept metadata does not matter": check_what_is_measured_later,
    "the columns of kept metadata does not matter": check_other_columns,
    "blocks of other metadata have the same files": check_row_groups_alone,
}


@pytest.mark.parametrize("check", dict.fromkeys(CHECKS.values()))
def test_rows_are_those_of_the_files_as_spark_lists_them(
    spark: Any, lake: Path, check: Callable[[Any, Path], None]
) -> None:
    check(spark, lake)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_held_listings_is_found_out(
    name: str, spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these checks fail."""
    for replacement in MUTANTS[name]:
        monkeypatch.setattr(*replacement)
    with pytest.raises(AssertionError):
        CHECKS[name](spark, lake)


def test_a_warm_prune_looks_at_no_file(spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither are the files listed in Python, nor is their list fetched from Java."""
    expected = answer(spark, lake)
    monkeypatch.setattr(listing_module, "_locate_all", refuse)
    monkeypatch.setattr(listings, "fetch_files", refuse)
    assert answer(spark, lake) == expected


def test_digests_tell_listings_apart() -> None:
    first = TableFiles(("/t",), ("/t/a", "/t/b"), (Stamp(1, 2), Stamp(3, 4)))
    others = [
        TableFiles((), ("/t", "/t/a"), (Stamp(1, 2), Stamp(3, 4))),
        TableFiles(("/t",), ("/t/b", "/t/a"), (Stamp(1, 2), Stamp(3, 4))),
        TableFiles(("/t",), ("/t/a", "/t/b"), (Stamp(1, 2), Stamp(3, 5))),
        TableFiles(("/t",), ("/t/a", "/t/b"), (Stamp(12, 2), Stamp(3, 4))),
        TableFiles(("/t", "/t/a"), ("/t/b",), (Stamp(3, 4),)),
    ]
    assert len({files.digest for files in [first, *others]}) == 1 + len(others)


def test_a_file_of_each_directory_stands_for_the_others() -> None:
    files = TableFiles(
        ("/t", "/u/9.parquet"),
        ("/t/p=2/1", "/t/p=1/2", "/t/p=2/3", "/u/8.parquet", "/u/9.parquet"),
        (Stamp(0, 0),) * 5,
    )
    assert files.one_of_each_directory == ("/t/p=2/1", "/t/p=1/2", "/u/8.parquet", "/u/9.parquet")
    assert files.order.tolist() == [1, 0, 2, 3, 4]


def test_values_used_last_are_held_as_their_weights_permit() -> None:
    recent: Recent[str, int] = Recent(10)
    for number, (key, weight) in enumerate({"a": 4, "b": 4, "c": 2}.items()):
        recent.keep(key, number, weight)
    assert recent.get("a") == 0
    recent.keep("d", 3, 3)
    assert [recent.get(key) for key in "abcd"] == [0, None, 2, 3]
    recent.keep("a", 5, 1)
    recent.keep("e", 6, 4)
    assert [recent.get(key) for key in "acde"] == [5, 2, 3, 6]
    recent.keep("f", 7, 11)
    assert recent.get("f") is None
    assert recent.get("e") == 6


def test_no_row_that_fails_where_comes_out_of_a_file_that_was_written_after_it_was_pruned(
    spark: Any, lake: Path
) -> None:
    """FRAME-2. Such a file is taken for what it was when Spark listed it, until it is listed again."""
    frame = spark.read.schema("a long").parquet(str(lake)).where("a >= 20")
    assert len(pruning.prune(frame).inputFiles()) == 1
    write(lake, 0, 18, modified_ns=LONG_AGO_NS + SECOND_NS)
    write(lake, 2, 18, modified_ns=LONG_AGO_NS + SECOND_NS)
    rows = [row.a for row in pruning.prune(frame).collect()]
    assert rows == [20, 21]
    assert answer(spark, lake) == [20, 20, 21, 21]
