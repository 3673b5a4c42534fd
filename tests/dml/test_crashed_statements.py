"""A crash at any call of a statement that changes files: the table has its old version or the new one."""

import builtins
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from crashing import Crash, crash_at
from merge_model import FORMATS, MODES, ModelTable, Row
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile
from pyspark.sql import SparkSession

from pruning.dml import Then, When, WhenClause, WriteMode, delete, merge, running, update

# Spark's own writes of one statement are one call here.
_BY_SPARK = ((running, "write_rows"),)
WRITES: dict[str, tuple[tuple[Any, str], ...]] = {
    "delta": (
        *_BY_SPARK,
        (builtins, "open"),
        *((os, name) for name in ("makedirs", "open", "fsync", "link", "unlink", "close")),
    ),
    "iceberg": (*_BY_SPARK, (PyArrowFile, "create"), (SqlCatalog, "commit_table")),
}
TABLE = [[Row(1, 10, 0), Row(2, 20, 0)], [Row(5, 30, 1)]]
CLAUSES = [
    WhenClause(when=When.MATCHED, then=Then.UPDATE, values={"v": "source.v"}),
    WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values="*"),
]


def _delete(spark: SparkSession, table: Any, mode: WriteMode) -> None:
    delete(spark, table, "k >= 2", mode=mode)


def _update(spark: SparkSession, table: Any, mode: WriteMode) -> None:
    update(spark, table, {"v": "v + 1"}, "k >= 2", mode=mode)


def _merge(spark: SparkSession, table: Any, mode: WriteMode) -> None:
    source = spark.createDataFrame([(2, 5, 0), (9, 9, 1)], "k long, v long, p long")
    merge(spark, table, source, {"k": "k"}, CLAUSES, mode=mode)


STATEMENTS: dict[str, tuple[Callable[[SparkSession, Any, WriteMode], None], list[Row]]] = {
    "delete": (_delete, [Row(1, 10, 0)]),
    "update": (_update, [Row(1, 10, 0), Row(2, 21, 0), Row(5, 31, 1)]),
    "merge": (_merge, [Row(1, 10, 0), Row(2, 5, 0), Row(5, 30, 1), Row(9, 9, 1)]),
}


def check_crashes(
    spark: SparkSession, folder: Path, format_: str, name: str, mode: WriteMode, numbers: Iterable[int]
) -> int:
    """STATEMENT-1 for crashes at calls with some numbers, up to the last; return how many there were."""
    statement, expected = STATEMENTS[name]
    crashes = 0
    for number in numbers:
        for after in (False, True):
            place = folder / f"{number} {after}"
            place.mkdir()
            table = ModelTable(place, format_, TABLE)
            before, version = table.rows, table.version
            try:
                with crash_at(WRITES[format_], number, after=after):
                    statement(spark, table.handle, mode)
            except Crash:
                crashes += 1
            else:
                return crashes
            is_new = table.version != version
            assert table.rows == (expected if is_new else before)
            if not is_new:
                # What the crash has left does not disturb the next statement.
                statement(spark, table.handle, mode)
                assert table.rows == expected
            shutil.rmtree(place)
    return crashes


@pytest.mark.parametrize("format_", [FORMATS[0], pytest.param(FORMATS[1], marks=pytest.mark.deep)])
def test_a_crash_leaves_the_old_version_or_the_new_one(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    """STATEMENT-1, at one call of a MERGE."""
    assert check_crashes(spark, tmp_path, format_, "merge", WriteMode.MERGE_ON_READ, (1,)) == 2


@pytest.mark.deep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_crash_at_any_call_leaves_the_old_version_or_the_new_one(
    spark: SparkSession, tmp_path: Path, format_: str, name: str, mode: WriteMode
) -> None:
    """STATEMENT-1, at each call."""
    assert check_crashes(spark, tmp_path, format_, name, mode, range(200)) > 4
