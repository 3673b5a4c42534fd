"""Measured bounds of pages fill what a file does not state, and are used at the same rows alone."""

import math
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paged_files import facts_of_runs, metadata_of, pages_of, runs_of, write_paged
from rewriting import COLUMN_INDEX, I64, chunk, rewrite, rewrite_indexes

import pruning
from mutants.metadata.pages import MEASURED_MUTANTS
from pruning.errors import InputError
from pruning.metadata.backfill import measured_files
from pruning.metadata.index import child_processes
from pruning.metadata.pages.measured_pages import MeasuredFiles
from pruning.metadata.pages.page_reading import ArrowFiles, read_pages
from pruning.metadata.store.measured_packs import MEASURED, MEASURED_PAGES

NAN = math.nan
MINIMA, NULL_COUNTS = 2, 5
NUMBERS = pa.table({"x": pa.array([1, 2, 5, 6, None, None], pa.int64())})


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure in this process."""

    def run(module: str, files: list[str], options: dict[str, Any]) -> Any:
        return measured_files.measure_files(files, **options)

    monkeypatch.setattr(child_processes, "_run_process", run)


def age(path: Path, seconds: int = 100) -> Path:
    """Let a file be so old that no later write can go unseen."""
    past = time.time() - seconds
    os.utime(path, (past, past))
    return path


def without_bounds(path: Path) -> Path:
    """Write three pages of two rows; the file has their places alone."""
    write_paged(path, NUMBERS)
    return rewrite(path, lambda footer: chunk(footer).__setitem__(COLUMN_INDEX, (I64, 4)))


def with_wrong_minimum(path: Path) -> Path:
    """Write the same pages; the file states that the second one begins with 6."""
    write_paged(path, NUMBERS)

    def change(columns: dict[int, Any], places: dict[int, Any]) -> None:
        columns[MINIMA][1][1][1] = (6).to_bytes(8, "little")

    return rewrite_indexes(path, change)


PAGES = [(0, 2, 1, 2, 0), (2, 2, 5, 6, 0), (4, 2, None, None, 2)]


@pytest.mark.parametrize("write", [without_bounds, with_wrong_minimum])
def test_pages_that_a_file_describes_wrongly_or_not_at_all_have_measured_bounds(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    """They are bounds that the file does not state, so that Parquet's reader does not know them."""
    path = age(write(tmp_path / "x.parquet"))
    assert facts_of_runs(runs_of(path)) != PAGES
    report = pruning.backfill(tmp_path, level="page")
    assert [(column.row_groups, column.measured, column.pages) for column in report.columns] == [(1, 1, 3)]
    assert "x: 1 of 1 row groups measured, 3 pages" in str(report)
    assert facts_of_runs(runs_of(path)) == PAGES
    assert not pages_of(path)[0]["x"].is_stated
    assert runs_of(path).blocks["columns"][0]["x"]["stated"].as_py() is False
    collected = pruning.collect(path, level="page")
    assert [block["x"]["max"] for block in collected["columns"].to_pylist()] == [2, 6, None]
    assert len(pruning.collect(path, level="page", cache=False)) == (1 if write is without_bounds else 3)


def test_measured_pages_count_nan(tmp_path: Path) -> None:
    """The file still states the bounds of the pages, as far as readers know."""
    path = age(write_paged(tmp_path / "x.parquet", pa.table({"x": [1.0, NAN, 3.0, 4.0, 5.0, 6.0]})))
    stated = pages_of(path)[0]["x"]
    pruning.backfill(tmp_path, ["x"], level="page")
    measured = pages_of(path)[0]["x"]
    assert (stated.nan_counts.to_pylist(), measured.nan_counts.to_pylist()) == ([None] * 3, [1, 0, 0])
    assert measured.min.to_pylist() == [1.0, 3.0, 5.0]
    verdicts = pruning.classify("x > 4.5", path, level="page").to_pylist()
    assert [(run["row_count"], run["verdict"]) for run in verdicts] == [(2, 1), (2, 0), (2, 2)]


def test_pages_of_an_earlier_file_are_not_used(tmp_path: Path) -> None:
    """Nor those of the row groups of other columns."""
    path = age(without_bounds(tmp_path / "x.parquet"))
    pruning.backfill(tmp_path, level="page")
    age(without_bounds(path), seconds=50)
    assert pages_of(path) == [{}]
    assert pruning.backfill(tmp_path, level="page").files == 1
    assert pruning.backfill(tmp_path, level="page").done_before == 1
    assert [*pages_of(path)[0]] == ["x"]


def test_pages_and_row_groups_are_kept_apart(tmp_path: Path) -> None:
    """A query that looks at row groups reads nothing about pages."""
    path = age(without_bounds(tmp_path / "x.parquet"))
    pruning.backfill(tmp_path, level="page")
    names = [entry.suffix for entry in (tmp_path / ".skipproof").rglob("*") if entry.is_file()]
    assert MEASURED not in names
    assert MEASURED_PAGES in names
    assert pruning.backfill(tmp_path).done_before == 0
    assert metadata_of(path)["columns"][0]["x"]["max"].as_py() == 6


def test_a_row_group_without_pages_is_not_measured(tmp_path: Path) -> None:
    """Its file does not say where pages begin."""
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "x.parquet", write_page_index=False)
    age(tmp_path / "x.parquet")
    (column,) = pruning.backfill(tmp_path, level="page").columns
    assert (column.row_groups, column.measured, column.pages) == (1, 0, 0)
    assert pages_of(tmp_path / "x.parquet") == [{}]


def test_a_level_must_be_known(tmp_path: Path) -> None:
    """The sentence names the two that are."""
    with pytest.raises(InputError, match=r"level is 'file'; give 'row_group' or 'page'"):
        pruning.backfill(tmp_path, level="file")


def half_stated(path: Path) -> Path:
    """Write three pages of two rows; the file does not state how many of them are NULL."""
    write_paged(path, pa.table({"x": [1, 2, 4, 5, 6, 7]}))
    return rewrite_indexes(path, lambda columns, places: columns.pop(NULL_COUNTS) and None)


@dataclass(frozen=True, slots=True)
class Moved(ArrowFiles):
    """Files whose measured pages are said to begin with other rows."""

    def measured_pages(self, files: Sequence[str], columns: Collection[str]) -> MeasuredFiles:
        """Return what was measured, with the second page a row later."""
        of_files = super(Moved, self).measured_pages(files, columns)
        return {
            file: {
                key: replace(pages, first_rows=np.array([0, 3, 4]), row_counts=np.array([3, 1, 2]))
                for key, pages in of_file.items()
            }
            for file, of_file in of_files.items()
        }


def with_measured_pages(path: Path) -> Path:
    """Measure the pages of a file."""
    age(path)
    pruning.backfill(path.parent, level="page")
    return path


def what_is_known(path: Path, source: ArrowFiles) -> list[Any]:
    """Return of each page of `x` its bounds, and whether the file states them; nothing if it has no pages."""
    (pages,) = read_pages(metadata_of(path), ["x"], source)
    if not pages:
        return []
    of_column = pages["x"]
    return [*zip(of_column.min.to_pylist(), of_column.max.to_pylist(), strict=True), of_column.is_stated]


#     the mutant's name: the file, what reads it, and what is known without the mutant
CASES: dict[str, tuple[Callable[[Path], Path], ArrowFiles, list[Any]]] = {
    "pages are measured at other rows": (without_bounds, Moved(), []),
    "a file states the right bounds": (
        with_wrong_minimum,
        ArrowFiles(),
        [(1, 2), (5, 6), (None, None), False],
    ),
    "a file states the bounds of all pages": (
        half_stated,
        ArrowFiles(),
        [(1, 2), (4, 5), (6, 7), False],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mutant_of_measured_pages_says_something_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the conditions under which they are used is needed."""
    write, source, expected = CASES[name]
    path = with_measured_pages(write(tmp_path / "x.parquet"))
    assert what_is_known(path, source) == expected
    monkeypatch.setattr(*MEASURED_MUTANTS[name])
    assert what_is_known(path, source) != expected


def test_each_mutant_has_a_case() -> None:
    """Without this, one could be forgotten."""
    assert CASES.keys() == MEASURED_MUTANTS.keys()
