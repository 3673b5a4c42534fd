"""The rows and bytes that metering reports for Spark jobs."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipproof.metering import block_count, run_metered


@pytest.fixture
def file(tmp_path: Path) -> str:
    """One file of five row groups of 1,000 rows, in the order of `a`."""
    path = tmp_path / "part.parquet"
    pq.write_table(pa.table({"a": list(range(5_000)), "b": [1] * 5_000}), path, row_group_size=1_000)
    return str(path)


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [("true", 5_000), ("a < 1500", 2_000), ("a >= 4000", 1_000), ("a + b < 3", 5_000), ("a < 0", 0)],
)
def test_the_rows_of_the_row_groups_that_were_read_are_counted(
    spark: Any, file: str, predicate: str, rows: int
) -> None:
    reading = run_metered(spark, lambda: spark.read.parquet(file).where(predicate).collect())
    assert reading.rows == rows
    assert len(reading.result) <= rows


def test_one_run_is_not_charged_for_another(spark: Any, file: str) -> None:
    first = run_metered(spark, spark.read.parquet(file).count)
    spark.read.parquet(file).collect()
    second = run_metered(spark, lambda: None)
    assert (first.result, first.seconds > 0) == (5_000, True)
    assert (second.rows, second.read_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("rows", "short", "blocks"),
    [
        (0, [], 0),
        (4_000, [700], 2),
        (700, [700], 1),
        (4_700, [700], 3),
        (4_950, [700, 250], 4),
        (250, [700, 250], 1),
    ],
)
def test_rows_are_told_as_blocks(rows: int, short: list[int], blocks: int) -> None:
    assert block_count(rows, block_rows=2_000, short=short) == blocks


def test_rows_that_are_no_whole_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="123 rows"):
        block_count(123, block_rows=2_000, short=[700])
