"""Runs of pages as blocks, and the rows that several techniques keep together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paged_files import facts_of_runs, metadata_of, pages_of, runs_of, write_paged

from mutants.metadata.pages import ANY_ROW_GROUP, HIDDEN_ARE_READ, ONE_REQUEST_EACH, RUN_MUTANTS
from pruning.expressions.trees import Column, Compare, Comparison, Expression, Literal
from pruning.expressions.types import LONG
from pruning.metadata.footers.footer import ByteRange, read_footer
from pruning.metadata.pages import page_facts, run_blocks
from pruning.metadata.pages.kept_rows import KeptRows, Runs
from pruning.metadata.pages.page_facts import GAP_MAX, coalesce
from pruning.metadata.pages.page_reading import directory_names, read_pages
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.comparable import comparable_columns
from pruning.rules.sets.truths import Match
from pruning.techniques.join.summaries import summarise_keys
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.key_extremes import KeyExtremes
from pruning.techniques.topk.orders import SortOrder
from pruning.verdicts.bounding import key_bounds
from pruning.verdicts.classification import classify_blocks
from pruning.verdicts.page_verdicts import classify_rows

ROWS = 12
A, B, C = (Column(name, LONG) for name in "abc")


@pytest.fixture
def unaligned(tmp_path: Path) -> Path:
    """A file of two row groups; pages end after three numbers of 8 bytes, or five of 4."""
    numbers = list(range(ROWS))
    table = pa.table({"x": numbers, "y": pa.array([None if n % 6 == 4 else n for n in numbers], pa.int32())})
    return write_paged(
        tmp_path / "t.parquet", pa.concat_tables([table, table]), page_rows=1, data_page_size=17,
        row_group_size=ROWS,
    )  # fmt: skip


def test_a_run_begins_where_a_page_of_any_column_does(unaligned: Path) -> None:
    """Bounds are those of the page around it, and a NULL of the page may be in any of its runs."""
    runs = runs_of(unaligned)
    assert facts_of_runs(runs)[:4] == [(0, 3, 0, 2, 0), (3, 3, 3, 5, 0), (6, 3, 6, 8, 0), (9, 3, 9, 11, 0)]
    assert facts_of_runs(runs, "y")[:2] == [(0, 3, 0, 5, None), (3, 3, 0, 5, None)]
    assert facts_of_runs(runs)[4] == (ROWS, 3, 0, 2, 0)
    assert (runs.groups[4], runs.starts[4], runs.ends[4]) == (1, 0, 3)


def test_nothing_of_a_part_is_exact_or_compared_by_readers(unaligned: Path) -> None:
    """Each bound of a run is that of more rows."""
    blocks = runs_of(unaligned).blocks
    facts = [column for block in blocks.to_pylist() for column in block["columns"].values()]
    assert {fact["min_exact"] for fact in facts} == {fact["max_exact"] for fact in facts} == {None}
    assert comparable_columns(metadata_of(unaligned)) == {"x", "y"}
    assert comparable_columns(blocks) == frozenset()


def test_bytes_of_a_run_are_those_of_the_pages_that_hold_it(unaligned: Path) -> None:
    """The dictionary pages are left out, of which this file has none; a page counts in each of its runs."""
    first, *_ = runs_of(unaligned).blocks.to_pylist()
    pages = pages_of(unaligned)[0]
    assert first["byte_count"] == pages["x"].sizes[0] + pages["y"].sizes[0]
    assert first["byte_offset"] == pages["x"].offsets[0]
    assert first["columns"]["y"]["byte_count"] == pages["y"].sizes[0]


def test_a_file_without_page_indexes_is_its_row_groups(tmp_path: Path) -> None:
    """All that is known of them stays."""
    path = write_paged(tmp_path / "t.parquet", pa.table({"x": range(ROWS)}), write_page_index=False)
    metadata = metadata_of(path)
    columns = ["row_offset", "byte_offset", "byte_count", "row_count", "columns"]
    assert runs_of(path).blocks.select(columns).to_pylist() == metadata.select(columns).to_pylist()


def test_a_row_group_without_rows_has_no_run(tmp_path: Path) -> None:
    """No row of it has to be read."""
    path = write_paged(tmp_path / "t.parquet", pa.table({"x": pa.array([], pa.int64())}))
    assert metadata_of(path).num_rows in (0, 1)
    assert runs_of(path).blocks.num_rows == 0


def test_columns_beyond_the_limit_cut_no_runs(unaligned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of them, what the row group says of all its rows is known."""
    monkeypatch.setattr(run_blocks, "CELLS_MAX", 2 * 3)
    runs = runs_of(unaligned)
    assert len(runs.starts) == 4
    assert {facts[2:] for facts in facts_of_runs(runs)} == {(0, 11, 0)}


def test_runs_are_of_the_rows_that_are_kept(unaligned: Path) -> None:
    """A row group of which no row is left has none."""
    kept = KeptRows(metadata_of(unaligned), (RowRanges.of([(2, 4), (11, 12)]), RowRanges.of([])))
    runs = run_blocks.run_blocks(kept, pages_of(unaligned))
    assert facts_of_runs(runs) == [(2, 1, 0, 2, 0), (3, 1, 3, 5, 0), (11, 1, 9, 11, 0)]
    assert kept.counts.tolist() == [3, 0]


def three_columns(path: Path) -> Path:
    """Write one row group of which `a` needs the first rows, `b` the middle, and `c` the last ones.

    A row group with the same values, all of which are needed, stands before it.
    """
    tens, fives = [10] * 4 + [0] * 8, [0] * 4 + [5] * 4 + [0] * 4
    best = [0] * 8 + [9] * 4
    needed = pa.table({"a": [10] * ROWS, "b": [5] * ROWS, "c": [9] * ROWS})
    return write_paged(
        path, pa.concat_tables([needed, pa.table({"a": tens, "b": fives, "c": best})]), page_rows=4,
        row_group_size=ROWS,
    )  # fmt: skip


def fails_filter(blocks: pa.Table) -> Any:
    """Mark the blocks without a row of `a = 10`."""
    predicate: Expression = Compare(Comparison.EQUAL, A, Literal(10, LONG))
    return classify_blocks(predicate, blocks).to_numpy() == Match.NONE


def has_no_partner(blocks: pa.Table) -> Any:
    """Mark the blocks without a partner of a build side whose only key is 5, for `b`."""
    summary = summarise_keys([LONG], [pa.array([5])], bytes_max=1_000)
    return summary.excludes([key_bounds(B, blocks)])


def is_beyond_boundary(blocks: pa.Table) -> Any:
    """Mark the blocks all of whose `c` are worse than 7, the boundary of a top-k of the greatest ones."""
    order, boundary = SortOrder(descending=True, nulls_first=False), Boundary(7, held=True)
    return KeyExtremes.best(key_bounds(C, blocks), order).signs(boundary.value, order) > 0


TECHNIQUES = {"a": fails_filter, "b": has_no_partner, "c": is_beyond_boundary}


def narrow(kept: KeptRows, column: str) -> KeptRows:
    """Return the rows that the technique on a column keeps, by the page index of that column alone."""
    runs: Runs = run_blocks.run_blocks(kept, read_pages(kept.metadata, [column]))
    return kept.without(runs, np.asarray(TECHNIQUES[column](runs.blocks)))


@pytest.mark.parametrize("order", ["abc", "cba", "bac"])
def test_three_techniques_exclude_a_row_group_that_each_one_keeps(order: str, tmp_path: Path) -> None:
    """They share one set of rows, in whatever order they look at it."""
    kept = KeptRows.all_of(metadata_of(three_columns(tmp_path / "t.parquet")))
    for column in order:
        assert narrow(kept, column).counts.tolist() == [ROWS, 4]
    for column in order:
        kept = narrow(kept, column)
    assert kept.counts.tolist() == [ROWS, 0]


KILLED_BY_FACTS = ["bounds of a part are attained", "rows are counted inside the file"]


@pytest.mark.parametrize("name", KILLED_BY_FACTS)
def test_a_mutant_of_runs_dies(
    name: str, unaligned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact bounds are of one run, and rows are counted inside their row group."""
    monkeypatch.setattr(*RUN_MUTANTS[name])
    kept = KeptRows.all_of(metadata_of(three_columns(tmp_path / "three.parquet")))
    assert has_exact_bounds(runs_of(unaligned).blocks) or narrow(kept, "a").counts.tolist() != [ROWS, 4]


def has_exact_bounds(blocks: pa.Table) -> bool:
    """Tell whether some bound of a run is said to be exact."""
    facts = [column for block in blocks.to_pylist() for column in block["columns"].values()]
    return any(fact["min_exact"] or fact["max_exact"] for fact in facts)


def test_neighbouring_indexes_are_read_at_once() -> None:
    """A request more costs more than some bytes between."""
    near, far = ByteRange(100, 10), ByteRange(110 + GAP_MAX, 5)
    assert coalesce([far, near]) == [ByteRange(100, 15 + GAP_MAX)]
    assert coalesce([near, ByteRange(111 + GAP_MAX, 5)]) == [near, ByteRange(111 + GAP_MAX, 5)]
    assert coalesce([near, ByteRange(102, 2)]) == [near]


class _CountedFile:
    """A file that counts the requests for its bytes."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.requests = 0

    def read(self, places: Sequence[tuple[str, ByteRange]]) -> list[bytes]:
        """Return the bytes at some places."""
        self.requests += len(places)
        return [self.data[place.offset : place.end] for _, place in places]


@pytest.mark.parametrize("mutant", [None, ONE_REQUEST_EACH])
def test_the_indexes_of_a_small_file_take_one_request(
    mutant: Any, unaligned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four chunks have eight indexes."""
    if mutant is not None:
        monkeypatch.setattr(*mutant)
    chunks = [chunk for group in read_footer(str(unaligned)).row_groups for chunk in group.chunks]
    file = _CountedFile(unaligned)
    facts = page_facts.read_page_facts({"t": chunks}, file.read)["t"]
    assert all(fact.column_index is not None and fact.offset_index is not None for fact in facts)
    assert file.requests == (1 if mutant is None else 8)


@pytest.mark.parametrize("mutant", [None, ANY_ROW_GROUP])
def test_a_file_that_was_written_anew_has_no_pages(
    mutant: Any, unaligned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The facts about its row groups stay as they were."""
    if mutant is not None:
        monkeypatch.setattr(*mutant)
    metadata = metadata_of(unaligned)
    write_paged(unaligned, pa.table({"x": range(100, 124), "y": range(24)}), row_group_size=ROWS + 1)
    pages = read_pages(metadata, ["x"])
    assert (pages[0] == {}) is (mutant is None)


@pytest.mark.parametrize("mutant", [None, HIDDEN_ARE_READ])
def test_the_pages_of_a_column_that_a_directory_hides_are_not_used(
    mutant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark reads the value of the directory, whatever the file has."""
    if mutant is not None:
        monkeypatch.setattr(*mutant)
    folder = tmp_path / "X%3D1" / "x=1"
    folder.mkdir(parents=True)
    write_paged(folder / "t.parquet", pa.table({"x": range(ROWS)}))
    metadata = collect(folder, cache=False)
    struct = metadata.schema.field("columns").type
    unknown = pa.nulls(1, struct)
    hidden = metadata.set_column(metadata.schema.get_field_index("columns"), "columns", unknown)
    predicate = Compare(Comparison.GREATER, Column("x", LONG), Literal(5, LONG))
    verdicts = classify_rows(hidden, ["x"], lambda blocks: classify_blocks(predicate, blocks))
    assert (verdicts.column("verdict").to_pylist() == [Match.SOME]) is (mutant is None)


def test_directories_name_columns_in_any_spelling() -> None:
    """A URI has escapes, and a name may have some of its own."""
    files = ["file:/lake/Day%3D1/a%2Fb=2/t=3.parquet", "/lake/plain/t.parquet"]
    assert directory_names(files) >= {"day", "a/b"}
    assert "t" not in directory_names(files)


def test_pages_of_no_column_read_no_file(tmp_path: Path) -> None:
    """A predicate may name no column."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    metadata = metadata_of(path)
    path.unlink()
    assert read_pages(metadata, []) == [{}]
