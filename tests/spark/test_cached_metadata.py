"""`prune` keeps block metadata beside the data, and uses it while the files are as they were."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.metadata.table import reading


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Three files of ten rows."""
    for number in range(3):
        write(tmp_path / f"{number}.parquet", range(10 * number, 10 * number + 10))
    return tmp_path


def write(file: Path, values: range) -> None:
    """A file with one column of integers."""
    pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), file)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose footers are read, as they are."""
    asked: list[str] = []

    def record(files: Any, **options: Any) -> Any:
        asked.extend(files)
        return original(files, **options)

    original = reading.read_footers
    monkeypatch.setattr(reading, "read_footers", record)
    return asked


def answer(spark: Any, lake: Path) -> list[int]:
    """The rows below 5, pruned."""
    return sorted(row[0] for row in pruning.prune(spark.read.parquet(str(lake)).where("a < 5")).collect())


def test_a_footer_is_read_once(spark: Any, lake: Path, read: list[str]) -> None:
    assert answer(spark, lake) == answer(spark, lake) == [0, 1, 2, 3, 4]
    assert len(read) == 3
    assert (lake / ".skipproof").is_dir()


def test_a_file_that_was_rewritten_is_read_again(spark: Any, lake: Path, read: list[str]) -> None:
    answer(spark, lake)
    write(lake / "2.parquet", range(-8, 3))
    assert answer(spark, lake) == sorted([*range(-8, 3), *range(5)])
    assert [Path(file).name for file in read[3:]] == ["2.parquet"]


def test_a_file_that_was_added_or_taken_away_is_noticed(spark: Any, lake: Path) -> None:
    answer(spark, lake)
    write(lake / "3.parquet", range(3, 6))
    (lake / "0.parquet").unlink()
    assert answer(spark, lake) == [3, 4]


def test_a_directory_that_cannot_be_written_does_without(spark: Any, lake: Path, read: list[str]) -> None:
    (lake / ".skipproof").write_text("not a directory")
    assert answer(spark, lake) == answer(spark, lake) == [0, 1, 2, 3, 4]
    assert len(read) == 6
