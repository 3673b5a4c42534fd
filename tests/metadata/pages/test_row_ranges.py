"""RANGES-1: sets of rows as ranges are sets of rows."""

from itertools import pairwise

import numpy as np
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from mutants.metadata.pages import RANGE_MUTANTS
from pruning.metadata.pages.row_ranges import RowRanges

ROWS = 12
Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, ROWS), st.integers(0, ROWS)), max_size=5)


def rows_of(pairs: Pairs) -> set[int]:
    """Return the rows in some range."""
    return {row for start, end in pairs for row in range(start, end)}


def members(ranges: RowRanges) -> set[int]:
    """Return the rows in a set of ranges, which must be in its only form."""
    assert len(ranges.starts) == len(ranges.ends)
    edges = [edge for pair in zip(ranges.starts.tolist(), ranges.ends.tolist(), strict=True) for edge in pair]
    assert all(low < high for low, high in pairwise(edges)), edges
    rows = np.arange(ROWS + 2)
    assert ranges.count == ranges.contains(rows).sum()
    return set(rows[ranges.contains(rows)].tolist())


def check_operations(pairs: Pairs, other_pairs: Pairs) -> None:
    """Compare all operations on two sets of ranges with those on sets of rows."""
    first, other = RowRanges.of(pairs), RowRanges.of(other_pairs)
    rows, other_rows = rows_of(pairs), rows_of(other_pairs)
    assert members(first) == rows
    assert members(first.intersection(other)) == rows & other_rows
    assert members(first.union(other)) == rows | other_rows
    assert members(first.difference(other)) == rows - other_rows
    assert members(first.complement(ROWS)) == set(range(ROWS)) - rows
    assert (first == other) == (rows == other_rows)
    # The ranges of the other set, as pages.
    pages = [set(range(start, end)) for start, end in zip(other.starts, other.ends, strict=True)]
    overlaps = first.overlaps(other.starts, other.ends - other.starts)
    assert overlaps.tolist() == [not page.isdisjoint(rows) for page in pages]
    assert first != other or hash(first) == hash(other)


@examples(3)
@given(PAIRS, PAIRS)
def test_operations_on_ranges_are_those_on_sets_of_rows(pairs: Pairs, other_pairs: Pairs) -> None:
    """RANGES-1."""
    check_operations(pairs, other_pairs)


@pytest.mark.parametrize(
    "condition",
    [
        lambda first, other: first.intersection(other).count and first.difference(other).count,
        lambda first, other: len(first.starts) > 1 and len(first.union(other).starts) == 1,
        lambda first, other: len(first.starts) == len(other.starts) > 1 and first == other,
        lambda first, other: not first.count,
    ],
)
def test_sets_of_each_relation_are_drawn(condition: object) -> None:
    """Without this, RANGES-1 could hold because nothing ever meets."""
    find(st.tuples(PAIRS, PAIRS), lambda drawn: bool(condition(*map(RowRanges.of, drawn))))


@pytest.mark.parametrize("name", RANGE_MUTANTS)
def test_a_mutant_of_ranges_dies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is wrong on one of these pairs of sets."""
    monkeypatch.setattr(*RANGE_MUTANTS[name])
    sets: list[Pairs] = [[], [(0, 4)], [(6, 9), (1, 3)], [(2, 7)], [(3, 6), (0, 3)], [(0, 2)]]
    with pytest.raises(AssertionError):
        assert [check_operations(pairs, others) for pairs in sets for others in sets]


def test_a_set_is_no_other_object() -> None:
    """Comparison with something else is left to it."""
    assert RowRanges.all_rows(2) != (0, 2)
    assert RowRanges.all_rows(0).count == 0
