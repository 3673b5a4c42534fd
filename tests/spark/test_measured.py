"""Measured statistics at work: a stripped lake prunes as its twin, and NaN that is counted frees x > c."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measuring_here import measure_in_process

import pruning
from oracles.files.counterfactual_files import write_stripped
from pruning.metadata.backfill import backfilling
from pruning.metadata.index import child_processes
from pruning.spark.drive import range_filters

ROWS, NAN = 200, float("nan")
PREDICATES = (
    "i > 700 and i < 750",
    "i = 1",
    "s like 'v01%'",
    "d < date'1970-01-11'",
    "n is null",
    "n is not null",
    "dec >= 600.5",
    "t > timestamp'1970-01-01 00:00:00.0009'",
    "not b",
    "nt >= timestamp_ntz'1970-01-01 00:00:00.0009'",
    "i + 1 between 100 and 300 or s = 'v0999'",
)


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Measure in this process."""
    with measure_in_process():
        yield


def rows(start: int) -> pa.Table:
    numbers = list(range(start, start + ROWS))
    columns = {
        "i": pa.array(numbers),
        "s": [f"v{number:04}" for number in numbers],
        "d": pa.array([number // 10 for number in numbers], pa.date32()),
        "n": pa.array([None if start < ROWS else number for number in numbers], pa.int32()),
        "dec": pa.array(numbers, pa.int32()).cast(pa.decimal128(12, 2)),
        "t": pa.array(numbers, pa.timestamp("us", "UTC")),
        "nt": pa.array(numbers, pa.timestamp("us")),
        "b": pa.array([start < ROWS] * ROWS),
        "x": pa.array([float(number) for number in numbers[:-1]] + [NAN if start == ROWS else None]),
    }
    return pa.table(columns).replace_schema_metadata({"org.apache.spark.version": "4.3.0"})


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A lake, and the same without statistics."""
    root = tmp_path_factory.mktemp("lakes")
    twin, stripped = root / "twin", root / "stripped"
    twin.mkdir()
    stripped.mkdir()
    for place in range(5):
        file = twin / f"{place}.parquet"
        pq.write_table(rows(place * ROWS), file, row_group_size=ROWS // 2)
        write_stripped(file, stripped / file.name)
    return twin, stripped


def skipped_blocks(lake: Path) -> list[list[int]]:
    metadata = pruning.collect(lake)
    return [pruning.classify(predicate, metadata).to_pylist() for predicate in PREDICATES]


def test_a_stripped_lake_prunes_as_its_twin_once_it_is_measured(spark: Any, lakes: tuple[Path, Path]) -> None:
    """Verdict by verdict; before, nothing is excluded."""
    twin, stripped = lakes
    expected = skipped_blocks(twin)
    assert all(0 in verdicts for verdicts in expected)
    assert set(pruning.classify(PREDICATES[0], stripped).to_pylist()) == {1}
    assert all(column.measured == column.row_groups for column in pruning.backfill(stripped).columns)
    assert skipped_blocks(stripped) == expected
    frame = spark.read.parquet(str(stripped)).filter("i > 700 and i < 750")
    assert pruning.explain(frame).to_dict()["scans"][0]["files_kept"] == 1
    assert pruning.prune(frame).count() == frame.count() == 49


def test_counted_nan_frees_comparisons_of_floats(
    spark: Any, lakes: tuple[Path, Path], tmp_path: Path
) -> None:
    """Footers count no NaN, so that `x > c` excludes nothing by them; a block that has NaN stays."""
    twin, _ = lakes
    lake = tmp_path / "lake"
    lake.mkdir()
    for file in twin.glob("*.parquet"):
        (lake / file.name).write_bytes(file.read_bytes())
    frame = spark.read.parquet(str(lake)).filter("x > 850")
    assert pruning.explain(frame).to_dict()["scans"][0]["blocks_kept"] == 10
    pruning.backfill(lake, ["x"])
    metadata = pruning.collect(lake)
    assert pruning.classify("x > 850", metadata).to_pylist() == [0, 0, 0, 1, 0, 0, 0, 0, 1, 1]
    assert pruning.classify("x < 850 or x is null", metadata).to_pylist()[:4] == [2, 2, 2, 1]
    assert pruning.explain(frame).to_dict()["scans"][0]["blocks_kept"] == 3
    # Spark alone loses the row with NaN, because its reader goes by bounds.
    values = sorted(str(row.x) for row in pruning.prune(frame).collect())
    assert values == sorted(["nan", *(f"{number}.0" for number in range(851, 999))])


def test_the_tasks_of_spark_measure_the_same(
    spark: Any, lakes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several jobs; and where a job fails, processes do the rest."""
    monkeypatch.setattr(backfilling, "SPARK_FILES_MIN", 1)
    monkeypatch.setattr(backfilling, "_BATCHES_PER_SLOT", 1)
    monkeypatch.setattr(child_processes, "_BATCH_FILES", 1)
    _, stripped = lakes
    kept = {}
    for name in ("here", "by tasks", "by failing tasks"):
        lake = tmp_path / name
        lake.mkdir()
        for file in sorted(stripped.glob("*.parquet"))[:2]:
            (lake / file.name).write_bytes(file.read_bytes())
        with monkeypatch.context() as patch:
            if name == "by tasks":
                patch.setattr(child_processes, "_run_process", None)
            if name == "by failing tasks":
                patch.setattr(backfilling, "_measure_in_task", lambda columns, files: 1 / 0)
            report = pruning.backfill(lake, spark=None if name == "here" else spark)
        assert (report.files, report.failures) == (2, {})
        kept[name] = pruning.collect(lake)["columns"].to_pylist()
    assert kept["here"] == kept["by tasks"] == kept["by failing tasks"]
    assert kept["here"][0]["i"]["max"] == ROWS // 2 - 1


# The rest of this module: what Parquet's reader is told.


@pytest.fixture
def doubtful_lake(tmp_path: Path) -> Path:
    """A file whose footer states a minimum above its maximum, and one with a row group beyond its values."""
    lake = tmp_path / "doubted"
    lake.mkdir()
    pq.write_table(pa.table({"x": [4, 5]}), lake / "a.parquet")
    state_bounds(lake / "a.parquet", lower=100, upper=0)
    pq.write_table(pa.table({"x": [4, 5, 50, 60]}), lake / "b.parquet", row_group_size=2)
    return lake


def state_bounds(path: Path, *, lower: int, upper: int) -> None:
    """Let the footer of a file with one chunk of integers state other bounds, of the same size."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length :]
    old, new = ((value.to_bytes(8, "little") for value in pair) for pair in ((4, 5), (lower, upper)))
    for before, after in zip(old, new, strict=True):
        assert before in footer
        footer = footer.replace(b"\x08" + before, b"\x08" + after)
    path.write_bytes(data[: -8 - length] + footer)


def answer(spark: Any, lake: Path) -> tuple[list[int], list[str]]:
    """Return the rows of a query with a condition that Spark does not push, and the added filters."""
    frame = spark.read.parquet(str(lake)).filter("if(x > 10, false, true)")
    (scan,) = pruning.explain(frame).scans
    return sorted(row.x for row in pruning.prune(frame).collect()), [str(part) for part in scan.range_filters]


def test_a_column_whose_footers_are_doubted_gets_no_range_filter(
    spark: Any, doubtful_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet's reader believes them. The mutant that goes by measured bounds alone loses the rows."""
    assert answer(spark, doubtful_lake)[0] == [4, 4, 5, 5]
    pruning.backfill(doubtful_lake)
    assert pruning.classify("x > 10", doubtful_lake).to_pylist() == [0, 0, 2]
    assert answer(spark, doubtful_lake) == ([4, 4, 5, 5], [])
    monkeypatch.setattr(range_filters, "STATED", "no such field")
    rows, filters = answer(spark, doubtful_lake)
    assert (rows, len(filters)) == ([4, 5], 1)


def test_believed_footers_keep_their_range_filters(spark: Any, doubtful_lake: Path) -> None:
    """Measuring takes no skipping of row groups away."""
    (doubtful_lake / "a.parquet").unlink()
    pq.write_table(pa.table({"x": [4, 5]}), doubtful_lake / "a.parquet")
    before = answer(spark, doubtful_lake)
    assert len(before[1]) == 1
    pruning.backfill(doubtful_lake)
    assert answer(spark, doubtful_lake) == before
