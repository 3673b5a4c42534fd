"""PUSHED-1: ranges hold each kept block, and leave out at least what one hull would."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from pruning.pushed.block_ranges import BlockBounds, block_ranges
from pruning.techniques.join.summary_ranges import Ranges


@dataclass(frozen=True, slots=True)
class Blocks:
    """Bounds of two columns in blocks, which of them are kept, and their bytes."""

    columns: dict[str, BlockBounds]
    keep: np.ndarray
    byte_counts: np.ndarray
    ranges_max: int


@st.composite
def blocks(draw: st.DrawFn) -> Blocks:
    """Up to ten blocks of small numbers, some with NULL, without values or without a known bound."""
    count = draw(st.integers(1, 10))

    def flags() -> np.ndarray:
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))

    columns = {}
    for name in ("a", "b"):
        starts = [draw(st.integers(0, 30)) for _ in range(count)]
        pairs = [(start, start + draw(st.integers(0, 3))) for start in starts]
        unknown = flags() & flags() & flags() & flags()
        columns[name] = BlockBounds(
            lower=pa.array(
                [None if gone else low for (low, _), gone in zip(pairs, unknown, strict=True)], pa.int64()
            ),
            upper=pa.array([high for _, high in pairs], pa.int64()),
            may_value=~(flags() & flags() & flags()),
            may_pass_null=flags() & flags(),
        )
    sizes = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    return Blocks(columns, flags(), np.array(sizes), draw(st.integers(1, 4)))


def is_spared(case: Blocks, ranges: dict[str, Ranges], place: int) -> bool:
    """Tell whether a block lies outside the ranges of some column, in plain Python."""
    for name, column_ranges in ranges.items():
        bounds = case.columns[name]
        lower, upper = bounds.lower[place].as_py(), bounds.upper[place].as_py()
        if lower is None or not bounds.may_value[place] or bounds.may_pass_null[place]:
            continue
        pairs = zip(column_ranges.lowers.to_pylist(), column_ranges.uppers.to_pylist(), strict=True)
        if all(upper < start or lower > end for start, end in pairs):
            return True
    return False


def bytes_spared(case: Blocks, ranges: dict[str, Ranges]) -> int:
    """The bytes of the excluded blocks that lie outside the ranges."""
    places = np.flatnonzero(~case.keep)
    return sum(int(case.byte_counts[place]) for place in places if is_spared(case, ranges, place))


def ranges_of(case: Blocks, **changes: Any) -> dict[str, Ranges]:
    return block_ranges(
        case.columns, case.keep, case.byte_counts, **{"ranges_max": case.ranges_max} | changes
    )


@given(blocks())
def test_each_kept_block_lies_in_one_range_and_more_ranges_spare_no_less(case: Blocks) -> None:
    """PUSHED-1. One range is the hull; the widest choice of gaps spares the most."""
    ranges = ranges_of(case)
    for name, column_ranges in ranges.items():
        bounds = case.columns[name]
        assert 0 < len(column_ranges) <= case.ranges_max
        pairs = list(zip(column_ranges.lowers.to_pylist(), column_ranges.uppers.to_pylist(), strict=True))
        for place in np.flatnonzero(case.keep & bounds.may_value):
            lower, upper = bounds.lower[place].as_py(), bounds.upper[place].as_py()
            assert any(start <= lower <= upper <= end for start, end in pairs)
    for name in case.columns:
        alone = block_ranges({name: case.columns[name]}, case.keep, case.byte_counts, ranges_max=1)
        assert bytes_spared(case, ranges) >= bytes_spared(case, alone)
    for name in ranges:
        others = {other: ranges[other] for other in ranges if other != name}
        assert bytes_spared(case, ranges) >= bytes_spared(case, others)


@pytest.mark.parametrize(
    "reached",
    [
        lambda case: len(ranges_of(case)) == 2,
        lambda case: any(len(ranges) >= 3 for ranges in ranges_of(case).values()),
        lambda case: bytes_spared(case, ranges_of(case)) > bytes_spared(case, ranges_of(case, ranges_max=1)),
        lambda case: not ranges_of(case) and case.byte_counts[~case.keep].any() and case.keep.any(),
    ],
)
def test_the_blocks_reach_unions_of_several_columns(reached: Any) -> None:
    """Without this, PUSHED-1 could hold because nothing but hulls is ever made."""
    find(blocks(), reached)
