"""`classify` and `collect` by pages."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning import dml
from pruning.errors import InputError

PAGED = {"write_page_index": True, "use_dictionary": False, "data_page_size": 1, "write_batch_size": 2}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A directory of two days, a file each: one in pages of two rows, and one without page indexes."""
    for day, options in ((1, PAGED), (2, {})):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        pq.write_table(pa.table({"x": [1, 2, 3, 4, 5, 6]}), folder / "t.parquet", **options)
    return tmp_path


def runs(table: pa.Table) -> list[tuple[int, int, int]]:
    """Return the first row, row count and verdict of each run."""
    return [(run["row_offset"], run["row_count"], run["verdict"]) for run in table.to_pylist()]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("x > 2", [(0, 2, 0), (2, 4, 2), (0, 6, 1)]),
        ("x > 3", [(0, 2, 0), (2, 2, 1), (4, 2, 2), (0, 6, 1)]),
        ("x > 2 AND day = 1", [(0, 2, 0), (2, 4, 2), (0, 6, 0)]),
        ("day = 2", [(0, 6, 0), (0, 6, 2)]),
        ("x > 9", [(0, 6, 0), (0, 6, 0)]),
    ],
)
def test_rows_have_the_verdicts_of_their_pages(
    spark: Any, lake: Path, predicate: str, expected: list[tuple[int, int, int]]
) -> None:
    """Neighbouring rows of one verdict are together, and a file without page indexes is its row groups."""
    assert runs(pruning.classify(predicate, lake, level="page")) == expected


def test_blocks_by_pages_are_classified_as_others_are(spark: Any, lake: Path) -> None:
    """A verdict on each run, in their order."""
    blocks = pruning.collect(lake, level="page", columns=["x"])
    assert blocks.schema.equals(pruning.collect(lake, columns=["x"]).schema)
    assert blocks["row_count"].to_pylist() == [2, 2, 2, 6]
    assert pruning.classify("x > 3", blocks).to_pylist() == [0, 1, 2, 1]


def test_statements_refuse_blocks_by_pages(spark: Any, lake: Path) -> None:
    """They rewrite row groups."""
    with pytest.raises(InputError, match="runs of pages"):
        dml.plan_delete("x > 3", pruning.collect(lake, level="page"))


def test_page_indexes_are_read_of_files_alone(spark: Any, lake: Path) -> None:
    """Block metadata names files that may have changed."""
    metadata = pruning.collect(lake)
    for where in (metadata, spark.createDataFrame([(1,)], "x int")):
        with pytest.raises(InputError, match="give paths"):
            pruning.classify("x > 3", where, level="page")


def test_elements_of_arrays_have_the_bounds_of_their_row_group(spark: Any, tmp_path: Path) -> None:
    """Their pages are not believed, and those of a column beside them are."""
    table = pa.table({"x": [1, 2, 3, 4], "items": [[1], [2, 2], [], [9]]})
    pq.write_table(table, tmp_path / "t.parquet", **PAGED)
    predicate = "exists(items, item -> item > 5) AND x > 2"
    assert runs(pruning.classify(predicate, tmp_path, level="page")) == [(0, 2, 0), (2, 2, 1)]
