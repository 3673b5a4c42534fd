"""The predicate cache over versions of tables of Delta Lake, whose rows are deleted in place."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import DataFrame

import pruning
from pruning.dml import WriteMode, delete
from pruning.spark.drive.cache import questions, scan_blocks

FILES = 6


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A table of six files, whose x and v are spread over all of them."""
    rows = [((7 * row) % 60, (13 * row) % 60) for row in range(60)]
    for file in range(FILES):
        own = rows[file::FILES]
        write_deltalake(
            str(tmp_path / "t"),
            pa.table({"x": [x for x, _ in own], "v": [v for _, v in own]}),
            mode="append",
            **({} if file else {"configuration": {"delta.enableDeletionVectors": "true"}}),
        )
    return str(tmp_path / "t")


def few(frame: DataFrame) -> DataFrame:
    return frame.where("x IN (25, 30) AND v BETWEEN 15 AND 31")


def first(frame: DataFrame) -> DataFrame:
    return frame.where("v BETWEEN 30 AND 40").orderBy("x").limit(2)


def run(spark, folder, query, cache) -> int:
    """Run a query through a cache; return the number of files that the cache has excluded."""
    frame = query(pruning.table(spark, folder))
    pruned = pruning.prune(frame, cache=cache)
    assert sorted(pruned.collect()) == sorted(frame.collect())
    (scan,) = pruning.explain(pruned).scans
    return sum(removal.files for removal in scan.removals if removal.technique == questions.TECHNIQUE)


@pytest.mark.parametrize("query", [few, first])
def test_rows_that_are_deleted_in_place_make_another_block(spark, folder, query):
    """The next rows by the order are in files that had none of the first."""
    cache = pruning.PredicateCache()
    assert [bool(run(spark, folder, query, cache)) for _ in range(2)] == [False, True]
    delete(spark, folder, "x IN (5, 8, 30)", mode=WriteMode.MERGE_ON_READ)
    run(spark, folder, query, cache)
    assert run(spark, folder, query, cache)


def test_a_mutant_that_overlooks_deleted_rows_is_found_out(spark, folder, monkeypatch):
    monkeypatch.setattr(scan_blocks, "_deletion_digests", lambda table: [""] * len(table.files))
    with pytest.raises(AssertionError):
        test_rows_that_are_deleted_in_place_make_another_block(spark, folder, first)
