"""Each doubt about a page index is reached by a damaged one; what is believed of pages is true of them."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paged_files import facts_of_runs, pages_of, runs_of, write_paged
from rewriting import (
    BINARY,
    COLUMN_INDEX,
    CREATED_BY,
    I32,
    I64,
    LIST,
    OFFSET_INDEX,
    STRUCT,
    TRUE,
    chunk,
    rewrite,
    rewrite_indexes,
    statistics,
)

from mutants.metadata.pages import BELIEF_MUTANTS, without_doubt
from pruning.metadata.pages.page_beliefs import DOUBTS

NULL_PAGES, MINIMA, MAXIMA, ORDER, NULL_COUNTS = 1, 2, 3, 4, 5
PLACES, OFFSET, SIZE, FIRST_ROW = 1, 1, 2, 3
# Three pages of two rows; the last one is NULL throughout.
VALUES = pa.array([1, 2, 5, 6, None, None], pa.int64())
Index = dict[int, Any]
Damage = Callable[[Path], Path]


def as_long(number: int) -> bytes:
    """Return a number as a column of longs stores it."""
    return struct.pack("<q", number)


def in_indexes(change: Callable[[Index, Index], None]) -> Damage:
    """Return the damage of changing both indexes of the first chunk."""
    return lambda path: rewrite_indexes(path, change)


def in_columns(field: int, place: int, value: Any) -> Damage:
    """Return the damage of another entry in a list of the column index."""
    return in_indexes(lambda columns, places: columns[field][1][1].__setitem__(place, value))


def in_places(page: int, field: int, value: Any) -> Damage:
    """Return the damage of another place of a page."""
    return in_indexes(lambda columns, places: places[PLACES][1][1][page].__setitem__(field, value))


def in_chunk(field: int, value: Any) -> Damage:
    """Return the damage of another field of the first chunk in the footer."""
    return lambda path: rewrite(path, lambda footer: chunk(footer).__setitem__(field, value))


def _share(footer: Index) -> None:
    """The second row group names the index of the first one, which has as many pages."""
    for field in (COLUMN_INDEX, COLUMN_INDEX + 1):
        chunk(footer, row_group=1)[field] = chunk(footer)[field]


def _shorten(columns: Index, places: Index) -> None:
    columns[MAXIMA][1][1].pop()


def _empty(columns: Index, places: Index) -> None:
    for field in (NULL_PAGES, MINIMA, MAXIMA, NULL_COUNTS):
        columns[field][1][1].clear()
    places[PLACES][1][1].clear()


def _numbers_for_bytes(columns: Index, places: Index) -> None:
    columns[MINIMA] = (LIST, (I64, [1, 2, 3]))


def _nulls_without_mark(columns: Index, places: Index) -> None:
    """The NULL page has a value, and its place says that it does not."""
    columns[NULL_PAGES][1][1][0] = TRUE
    columns.pop(NULL_COUNTS)


def required(path: Path) -> Path:
    """Write a column that may not be NULL, with a page that is called NULL throughout."""
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    write_paged(path, pa.table([pa.array([1, 2, 5, 6])], schema=schema))
    return rewrite_indexes(path, _nulls_without_mark)


def elements(path: Path) -> Path:
    """Write a column of lists."""
    return write_paged(path, pa.table({"x": [[1], [2, 3], [], None, [4], [5]]}))


def two_groups(path: Path) -> Path:
    """Write two row groups, the first of which has its index taken by the other."""
    write_paged(path, pa.table({"x": [1, 2, 3, 4, 5, 6, 7, 8]}), row_group_size=4)
    return rewrite(path, _share)


def _without_places(footer: Index) -> None:
    for field in (OFFSET_INDEX, OFFSET_INDEX + 1):
        chunk(footer, column=1).pop(field)


def beside_unplaced(path: Path) -> Path:
    """Write two columns, the second of which has no offset index."""
    write_paged(path, pa.table({"x": [1, 2, 3, 4], "y": [1, 2, 3, 4]}))
    return rewrite(path, _without_places)


#        doubt, damages, some of which make a file of their own
CASES: list[tuple[str, Damage]] = [
    ("unreadable bounds", in_chunk(COLUMN_INDEX, (I64, 1 << 40))),
    ("unreadable bounds", in_chunk(COLUMN_INDEX, (I64, 4))),
    ("unreadable bounds", in_chunk(COLUMN_INDEX + 1, (I32, 3))),
    ("unreadable bounds", in_chunk(COLUMN_INDEX + 1, (I32, 1_000))),
    ("unreadable places", in_chunk(OFFSET_INDEX + 1, (I32, (1 << 31) - 1))),
    ("unreadable places", in_chunk(OFFSET_INDEX, (I64, -5))),
    ("unreadable bounds", in_indexes(_numbers_for_bytes)),
    ("unreadable places", in_indexes(lambda columns, places: places[PLACES][1][1][0].pop(FIRST_ROW))),
    ("elements of arrays", elements),
    ("shared index", two_groups),
    ("columns without places", beside_unplaced),
    ("lists of unequal length", in_indexes(_shorten)),
    ("pages without rows", in_indexes(_empty)),
    ("lists of unequal length", in_indexes(lambda columns, places: places[PLACES][1][1].pop())),
    ("lists of unequal length", in_indexes(lambda columns, places: columns[NULL_COUNTS][1][1].pop())),
    ("pages without rows", in_places(0, FIRST_ROW, (I64, 1))),
    ("pages without rows", in_places(1, FIRST_ROW, (I64, 4))),
    ("pages without rows", in_places(2, FIRST_ROW, (I64, 1))),
    ("pages without rows", in_places(2, FIRST_ROW, (I64, 6))),
    ("pages without rows", in_places(2, FIRST_ROW, (I64, -1))),
    ("pages of another chunk", in_places(0, OFFSET, (I64, 0))),
    ("pages of another chunk", in_places(2, OFFSET, (I64, 10_000))),
    ("pages of another chunk", in_places(1, SIZE, (I32, 10_000))),
    ("pages of another chunk", in_places(1, SIZE, (I32, -1))),
    ("NULL pages with values", in_columns(NULL_PAGES, 0, TRUE)),
    ("NULL pages with values", in_columns(NULL_COUNTS, 2, 1)),
    ("NULL pages with values", required),
    ("NULLs of another chunk", in_columns(NULL_COUNTS, 0, 1)),
]


def damaged_file(folder: Path, damage: Damage) -> Path:
    """Return a file whose first page index is damaged."""
    return damage(write_paged(folder / "x.parquet", pa.table({"x": VALUES})))


def believed(path: Path) -> bool:
    """Tell whether some page index of a file is believed."""
    return any(pages_of(path))


def test_every_doubt_has_a_case() -> None:
    """Without this, a row of the table could be wrong, and nobody would see it."""
    assert {name for name, _ in CASES} == {doubt.name for doubt in DOUBTS}


@pytest.mark.parametrize(("name", "damage"), CASES)
def test_an_index_that_deserves_a_doubt_is_not_believed(name: str, damage: Damage, tmp_path: Path) -> None:
    """Blocks are the row groups then, as without page indexes."""
    path = damaged_file(tmp_path, damage)
    assert not believed(path)
    assert runs_of(path).blocks.num_rows == pq.read_metadata(path).num_row_groups


@pytest.mark.parametrize("name", [doubt.name for doubt in DOUBTS])
def test_without_a_doubt_a_damaged_index_is_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each doubt is needed: without it, some damaged index is believed, or the reading of one fails."""
    monkeypatch.setattr(*without_doubt(name))
    paths = [
        damaged_file(folder, damage)
        for place, (other, damage) in enumerate(CASES)
        if other == name
        for folder in [tmp_path / str(place)]
        if folder.mkdir() is None
    ]

    def is_harmed(path: Path) -> bool:
        try:
            return believed(path)
        # Without a doubt, later ones and the decoding of pages may fail in any way.
        except Exception:
            return True

    assert any(map(is_harmed, paths))


def _without_counts(columns: Index, places: Index) -> None:
    columns.pop(NULL_COUNTS)
    columns[MINIMA][1][1][2] = columns[MAXIMA][1][1][2] = as_long(7)


def _lie_about_order(columns: Index, places: Index) -> None:
    columns[ORDER] = (I32, 2)


def uncounted(path: Path) -> list[tuple[Any, ...]]:
    """Return the facts of an index without NULL counts, with bounds in the place of those of a NULL page."""
    write_paged(path, pa.table({"x": pa.array([1, None, 6, 5, None, None], pa.int64())}))
    rewrite(path, lambda footer: statistics(footer, column=0).clear())
    return facts_of_runs(runs_of(rewrite_indexes(path, _without_counts)))


UNCOUNTED = [(0, 2, 1, 1, None), (2, 2, 5, 6, None), (4, 2, None, None, 2)]


def descending(path: Path) -> list[tuple[Any, ...]]:
    """Return the facts of an index that calls its ascending pages descending."""
    write_paged(path, pa.table({"x": [4, 3, 6, 5, 1, 2]}))
    return facts_of_runs(runs_of(rewrite_indexes(path, _lie_about_order)))


DESCENDING = [(0, 2, 3, 4, 0), (2, 2, 5, 6, 0), (4, 2, 1, 2, 0)]


def of_doubted_chunk(path: Path) -> list[tuple[Any, ...]]:
    """Return the facts of a column whose statistics in the footer are crossed."""
    write_paged(path, pa.table({"x": [1, 2, 3, 4]}))
    rewrite(path, lambda footer: statistics(footer, column=0).update({6: (BINARY, as_long(9))}))
    return facts_of_runs(runs_of(path))


DOUBTED = [(0, 2, None, None, 0), (2, 2, None, None, 0)]
JUDGED = [(uncounted, UNCOUNTED), (descending, DESCENDING), (of_doubted_chunk, DOUBTED)]


@pytest.mark.parametrize(("facts", "expected"), JUDGED)
def test_what_pages_say_is_judged(
    facts: Callable[[Path], Any], expected: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    """A NULL page has no bounds, an absent count is unknown, and neither order nor doubted chunk counts."""
    assert facts(tmp_path / "x.parquet") == expected


@pytest.mark.parametrize("name", BELIEF_MUTANTS)
def test_a_mutant_of_beliefs_about_pages_dies(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each changes what is believed of one of these files."""
    monkeypatch.setattr(*BELIEF_MUTANTS[name])
    assert any(facts(tmp_path / "x.parquet") != expected for facts, expected in JUDGED)


def test_a_writer_that_is_not_believed_is_not_believed_of_pages(tmp_path: Path) -> None:
    """The doubts about writers hold for both alike: this one compared byte strings as signed."""
    path = write_paged(tmp_path / "x.parquet", pa.table({"x": ["a", "b", "c", "é"]}))
    assert facts_of_runs(runs_of(path)) == [(0, 2, "a", "b", 0), (2, 2, "c", "é", 0)]
    rewrite(path, lambda footer: footer.update({CREATED_BY: (BINARY, b"parquet-rs version 4.0.0")}))
    assert facts_of_runs(runs_of(path)) == [(0, 2, None, None, 0), (2, 2, None, None, 0)]


def test_bounds_that_are_nan_are_no_bounds(tmp_path: Path) -> None:
    """The other pages keep theirs, and NaN may be anywhere."""
    path = write_paged(tmp_path / "x.parquet", pa.table({"x": [1.0, float("nan"), 3.0, 4.0]}))
    nan = struct.pack("<d", float("nan"))
    rewrite_indexes(path, lambda columns, places: columns[MAXIMA][1][1].__setitem__(0, nan))
    runs = runs_of(path)
    assert facts_of_runs(runs) == [(0, 2, 1.0, 4.0, 0), (2, 2, 3.0, 4.0, 0)]
    assert [block["columns"]["x"]["nan_count"] for block in runs.blocks.to_pylist()] == [None, None]


def test_zeros_of_either_sign_bound_each_other(tmp_path: Path) -> None:
    """A bound of one zero is one of the other, as in footers."""
    path = write_paged(tmp_path / "x.parquet", pa.table({"x": [0.0, -0.0, -0.0, 0.0]}))
    assert [facts[2:4] for facts in facts_of_runs(runs_of(path))] == [(0.0, 0.0)] * 2


def test_truncated_bounds_bound_a_run(tmp_path: Path) -> None:
    """A writer may cut the bounds of long texts; the row group's own bounds may be tighter then."""
    texts = ["a" * 90, "b" * 90, "c" * 90, "d" * 90]
    path = write_paged(tmp_path / "x.parquet", pa.table({"x": texts}))

    def truncate(columns: Index, places: Index) -> None:
        columns[MINIMA][1][1][:] = [b"a", b"c"]
        columns[MAXIMA][1][1][:] = [b"c", b"e"]

    rewrite_indexes(path, truncate)
    assert facts_of_runs(runs_of(path)) == [(0, 2, "a" * 90, "c", 0), (2, 2, "c", "d" * 90, 0)]


def test_a_struct_in_a_list_of_places_is_read_by_its_fields(tmp_path: Path) -> None:
    """A later version of the format may add a field."""
    path = write_paged(tmp_path / "x.parquet", pa.table({"x": VALUES}))
    before = facts_of_runs(runs_of(path))
    rewrite_indexes(path, lambda columns, places: places.update({9: (STRUCT, {1: (I32, 5)})}))
    assert facts_of_runs(runs_of(path)) == before == [(0, 2, 1, 2, 0), (2, 2, 5, 6, 0), (4, 2, None, None, 2)]
