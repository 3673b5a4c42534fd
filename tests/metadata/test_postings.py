"""Rare and frequent values: every entry is one or the other, and the budget decides where the line is."""

import numpy as np
import pyarrow as pa
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from pruning.metadata.index.postings import frequent_stream, frequent_values, split_by_frequency


@given(
    blocks=st.lists(st.sets(st.integers(0, 9), max_size=10), max_size=8),
    bytes_max=st.integers(0, 300),
)
@examples(4)
def test_each_entry_is_of_a_frequent_value_or_kept(blocks: list[set[int]], bytes_max: int) -> None:
    """So that a value that is in neither is in no block; and what is kept fits the budget."""
    codes = np.array([code for block in blocks for code in sorted(block)], np.int64)
    sizes = np.full(10, 8)
    found = split_by_frequency(codes, sizes, 4, bytes_max=bytes_max)
    if found is None:
        return
    assert (found.kept | found.frequent[codes]).all()
    holders = np.bincount(codes, minlength=10)
    held = (~found.frequent) & (holders > 0)
    taken = 4 * found.kept.sum() + sizes[held].sum() + sizes[found.frequent].sum()
    assert taken <= bytes_max
    # Frequent values are in more blocks than any rare one.
    if found.frequent.any() and held.any():
        assert holders[found.frequent].min() > holders[held].max()


def test_a_greater_budget_makes_more_values_rare() -> None:
    codes = np.array([0, 1, 2, 0, 1, 0, 3, 0, 4])
    sizes = np.full(5, 10)
    rare = [
        int((~found.frequent).sum())
        for most in (50, 60, 90, 200)
        if (found := split_by_frequency(codes, sizes, 4, bytes_max=most))
    ]
    assert rare == sorted(rare)
    assert rare[0] < rare[-1] == 5
    assert split_by_frequency(codes, sizes, 4, bytes_max=49) is None


@pytest.mark.parametrize("values", [pa.array([b"a", b""]), pa.array([], pa.date32()), pa.array([1, 2])])
def test_frequent_values_come_back(values: pa.Array) -> None:
    assert frequent_values(frequent_stream(values)).equals(values)
