"""Row groups inside files of a version, of which the log knows the files and footers the row groups."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake

import pruning
from pruning.dml import WriteMode, delete
from pruning.spark.drive import version_blocks
from pruning.spark.drive.report import ScanReport

FILES, ROWS, GROUP = 3, 1_000, 100
VECTORS = {"delta.enableDeletionVectors": "true"}
# Spark pushes nothing of it.
NEAR = "abs(a - {}) <= 3"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of Delta Lake of three files of ten row groups each, in the order of `a`."""
    for first in range(0, FILES * ROWS, ROWS):
        rows = pa.table({"a": pa.array(range(first, first + ROWS), pa.int64()), "b": ["b"] * ROWS})
        properties = WriterProperties(max_row_group_size=GROUP)
        write_deltalake(tmp_path, rows, mode="append", writer_properties=properties, configuration=VECTORS)
    return tmp_path


def scan_of(df: Any) -> ScanReport:
    (scan,) = pruning.explain(df).scans
    return scan


def test_row_groups_of_the_files_that_are_left_are_skipped(spark: Any, table: Path) -> None:
    df = pruning.table(spark, table).where(NEAR.format(1550))
    scan = scan_of(df)
    assert (scan.files_kept, scan.files_total, scan.blocks_kept) == (1, FILES, 1)
    assert scan.blocks_total == FILES - 1 + ROWS // GROUP
    assert scan.range_filters == ("`a` >= 1500L AND `a` <= 1599L",)
    assert scan.blocks_skipped_by_filters == ROWS // GROUP - 1
    # Of the bytes of columns the log knows nothing, and footers only those of one file.
    assert (scan.bytes_kept, scan.bytes_total) == (None, None)
    assert sorted(row.a for row in pruning.prune(df).collect()) == list(range(1547, 1554))


def test_a_file_is_left_out_by_its_footer_where_its_log_says_nothing(spark: Any, table: Path) -> None:
    """Of `a` as a column without statistics in the log; `b` has them."""
    log = next(iter(sorted((table / "_delta_log").glob("*1.json"))))
    log.write_text(log.read_text().replace('\\"a\\":', '\\"c\\":'))
    scan = scan_of(pruning.table(spark, table).where(NEAR.format(250)))
    assert (scan.files_kept, scan.files_total) == (1, FILES)


def test_a_file_with_deleted_rows_stays_one_block(spark: Any, table: Path) -> None:
    """The rows that a footer counts are not all live, and a LIMIT needs live ones."""
    delete(spark, table, "a BETWEEN 1000 AND 1096", mode=WriteMode.MERGE_ON_READ)
    frame = pruning.table(spark, table)
    scan = scan_of(frame.where(NEAR.format(1550)))
    assert (scan.blocks_kept, scan.blocks_total, scan.range_filters) == (1, FILES, ())
    limited = frame.where("a >= 1000 AND a < 2000").limit(5)
    assert len(pruning.prune(limited).collect()) == 5


def test_a_file_of_another_number_of_rows_than_its_log_has_stays_one_block(spark: Any, table: Path) -> None:
    for log in (table / "_delta_log").glob("*.json"):
        log.write_text(log.read_text().replace(f'\\"numRecords\\":{ROWS}', f'\\"numRecords\\":{ROWS - 1}'))
    scan = scan_of(pruning.table(spark, table).where(NEAR.format(1550)))
    assert (scan.blocks_kept, scan.blocks_total, scan.range_filters) == (1, FILES, ())


def test_more_files_than_the_limit_are_not_divided(
    spark: Any, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_blocks, "DIVIDED_FILES_MAX", 0)
    scan = scan_of(pruning.table(spark, table).where(NEAR.format(1550)))
    assert (scan.blocks_kept, scan.blocks_total, scan.range_filters) == (1, FILES, ())


def test_the_mistake_that_divides_files_with_deleted_rows_is_found_out(
    spark: Any, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_blocks, "_of_same_count", lambda row_groups, files: row_groups)
    with pytest.raises(AssertionError):
        test_a_file_with_deleted_rows_stays_one_block(spark, table)
