"""Row groups that no filter tells apart are left out of queries by their places in files."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.spark.drive import narrowed_leaves
from pruning.spark.lake.row_groups import WHOLE_FILES_VARIABLE
from skipproof.metering import run_metered

GROUP_ROWS, GROUPS = 100, 8
NUMBERS = "SELECT n FROM named WHERE abs(f - 250.5) < 20"


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of eight row groups, sorted by a floating column."""
    root = tmp_path_factory.mktemp("named")
    rows = range(GROUP_ROWS * GROUPS)
    table = pa.table({"f": [row / 2 for row in rows], "n": list(rows)})
    pq.write_table(table, root / "0.parquet", row_group_size=GROUP_ROWS)
    spark.read.parquet(str(root)).createOrReplaceTempView("named")
    return root


@pytest.fixture
def free_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be worth to leave out the smallest row group."""
    monkeypatch.setattr(narrowed_leaves, "open_cost", lambda spark: 1)


def test_a_query_reads_the_row_groups_that_are_kept(spark: Any, lake: Path, free_opening: None) -> None:
    """The report says so, and the rows that leave the scan are theirs."""
    frame = spark.sql(NUMBERS)
    pruned = pruning.prune(frame)
    scan = pruning.explain(pruned).scans[0]
    reading = run_metered(spark, pruned.collect)
    assert sorted(reading.result) == sorted(frame.collect())
    assert scan.blocks_kept == scan.blocks_read_max == 2
    assert scan.blocks_skipped_by_places == GROUPS - 2
    assert reading.rows == 2 * GROUP_ROWS
    assert f"{GROUPS - 2} by their places" in "\n".join(scan.lines())
    again = pruning.prune(pruned)
    assert sorted(again.collect()) == sorted(reading.result)


@pytest.mark.parametrize(
    "query",
    [
        # A filter tells the row groups apart, or the place of the split is asked.
        "SELECT n FROM named WHERE n BETWEEN 460 AND 520",
        "SELECT n, input_file_block_start() FROM named WHERE abs(f - 250.5) < 20",
        "SELECT n FROM named WHERE n % 2 = 0",
    ],
)
def test_files_stay_whole_where_places_spare_nothing_or_are_asked_for(
    spark: Any, lake: Path, free_opening: None, query: str
) -> None:
    frame = spark.sql(query)
    pruned = pruning.prune(frame)
    assert not any(scan.blocks_skipped_by_places for scan in pruning.explain(pruned).scans)
    assert sorted(pruned.collect()) == sorted(frame.collect())


def test_small_row_groups_are_not_worth_it(spark: Any, lake: Path) -> None:
    scan = pruning.explain(spark.sql(NUMBERS)).scans[0]
    assert (scan.blocks_kept, scan.blocks_read_max, scan.blocks_skipped_by_places) == (2, GROUPS, 0)


def test_an_environment_variable_keeps_files_whole(
    spark: Any, lake: Path, free_opening: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WHOLE_FILES_VARIABLE, "1")
    assert pruning.explain(spark.sql(NUMBERS)).scans[0].blocks_skipped_by_places == 0
