"""CACHE-2: the row groups that waves leave for a top-k have its first rows."""

from collections.abc import Callable

import numpy as np
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st

from mutants.first_rows import MUTANTS
from pruning.spark.drive.cache.first_rows import FirstRows
from pruning.spark.drive.cache.scan_blocks import ScanBlocks
from pruning.techniques.cache_entries import FileBlock
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.orders import SortOrder

GROUPS, ROWS_OF_GROUP = 5, 3
# The first key of each row of each row group, and the second one.
TABLES = st.lists(
    st.lists(st.tuples(st.none() | st.integers(0, 3), st.integers(0, 3)), max_size=ROWS_OF_GROUP),
    min_size=GROUPS,
    max_size=GROUPS,
)
Table = list[list[tuple[int | None, int]]]


def blocks_of_rows(overlap: bool) -> ScanBlocks:
    """Row groups of one file; `overlap` places are those of two row groups, as where files are not known."""
    starts = np.arange(GROUPS) * ROWS_OF_GROUP
    ends = starts + ROWS_OF_GROUP + (1 if overlap else 0)
    ids = tuple(FileBlock("file:/t", 1, 1, group) for group in range(GROUPS))
    return ScanBlocks(ids, starts, ends, {"file:/t": np.arange(GROUPS)}, are_files=False)


def problem(
    make: Callable[[ScanBlocks], FirstRows],
    table: Table,
    *,
    wanted: int,
    order: SortOrder,
    two: bool,
    overlap: bool,
) -> bool:
    """Tell whether the best rows of the chosen row groups are others than those of the table."""

    def best(groups: list[int]) -> list[tuple[object, ...]]:
        rows = [(order.position(key), other) for group in groups for key, other in table[group]]
        step = order.step
        ranked = sorted(rows, key=lambda row: ((step * row[0][0], step * row[0][1]), row[1]))
        return [row if two else row[:1] for row in ranked[:wanted]]

    first_rows = make(blocks_of_rows(overlap))
    keys: list[int | None] = []
    for wave in ([0, 1], [2], [3, 4]):
        rows = sorted(
            (
                (order.position(key), other, key, group * ROWS_OF_GROUP + place)
                for group in wave
                for place, (key, other) in enumerate(table[group])
            ),
            key=lambda row: (order.step * row[0][0], order.step * row[0][1], row[1] if two else 0),
        )[:wanted]
        assert first_rows.add([row[2] for row in rows], [("file:///t", row[3]) for row in rows])
        keys += [row[2] for row in rows]
    ranked = order.best(keys, wanted)
    boundary = Boundary(ranked[-1], held=True) if len(ranked) == wanted else None
    chosen = first_rows.groups(order, boundary, wanted, two)
    return best(np.flatnonzero(chosen).tolist()) != best(list(range(GROUPS)))


DRAWS = {
    "table": TABLES,
    "wanted": st.integers(1, 4),
    "order": st.builds(SortOrder, st.booleans(), st.booleans()),
    "two": st.booleans(),
    "overlap": st.booleans(),
}


@examples(3)
@given(st.fixed_dictionaries(DRAWS))
def test_the_row_groups_of_first_rows_have_the_first_rows(drawn):
    """CACHE-2."""
    assert not problem(FirstRows, **drawn)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_first_rows_is_found_out(mutant):
    @unshrunk(2_000)
    @given(st.fixed_dictionaries(DRAWS))
    def search(drawn):
        assert not problem(mutant, **drawn)

    with pytest.raises(AssertionError):
        search()


def test_fewer_row_groups_than_rows_are_chosen():
    """Reach: of rows that tie, those of one row group are enough."""
    first_rows = FirstRows(blocks_of_rows(overlap=False))
    first_rows.add([1, 1, 1, 1], [("file:/t", row) for row in (0, 3, 4, 6)])
    chosen = first_rows.groups(SortOrder(False, False), Boundary(1, held=True), 2, False)
    assert chosen.tolist() == [False, True, False, False, False]


def test_rows_of_unknown_files_are_not_traced():
    assert not FirstRows(blocks_of_rows(overlap=False)).add([1], [("file:/other", 0)])
