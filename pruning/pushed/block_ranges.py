"""Ranges of a few columns that hold every kept block, and leave out as many excluded ones as they can.

A block is any run of rows with bounds of its columns: a row group, or a page. Parquet's reader knows the same
bounds, so it skips an excluded block that lies in a gap between the ranges.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.techniques.join.summary_ranges import Ranges

# The gap of a block that lies in none.
_NO_GAP = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockBounds:
    """The bounds of one column in each block.

    Attributes:
        lower: Lanes of the least values, in Spark's order; null is unknown.
        upper: Likewise of the greatest values.
        may_value: True for blocks that may hold a value; shape (blocks,).
        may_pass_null: True for blocks that may hold a NULL that passes the filter; shape (blocks,).
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_pass_null: np.ndarray


@dataclass(frozen=True, slots=True)
class _Separation:
    """The ranges of one column's kept blocks, and the gap that each excluded block lies in.

    Gap 0 is below the first range, gap i below the range i, and the last gap is above all ranges.
    """

    ranges: Ranges
    gap_of_block: np.ndarray

    def bytes_by_gap(self, byte_counts: np.ndarray) -> np.ndarray:
        """Return the bytes of the blocks in each gap; shape (ranges + 1,)."""
        inside = self.gap_of_block != _NO_GAP
        sums: np.ndarray = np.bincount(
            self.gap_of_block[inside], weights=byte_counts[inside], minlength=len(self.ranges) + 1
        )
        return sums


def block_ranges(
    columns: Mapping[str, BlockBounds], keep: np.ndarray, byte_counts: np.ndarray, *, ranges_max: int
) -> dict[str, Ranges]:
    """Return ranges, by column, whose conjunction leaves out the most bytes of excluded blocks.

    Claim     Each value of a kept block is in the ranges of its column.
    Premises  Bounds enclose the block's values; a block whose `may_value` is False has none.
    Proof     (1) A column is left out where a kept block that may hold values lacks a bound.
              (2) The union of the kept blocks' intervals [lower, upper] holds all their values.
              (3) Only gaps of that union separate the ranges, and closing a gap adds values.
    Unsound   if bounds are compared in another order than the reader's: not for floats, where NaN and -0.0
              have no place in it.

    The column that leaves out most comes first, and another one only where it leaves out more blocks. In each
    column the gaps stay that hold the most bytes of excluded blocks.

    Args:
        columns: The bounds of the columns that a filter may name.
        keep: True for blocks that may hold a needed row; shape (blocks,).
        byte_counts: The bytes that are saved by leaving a block out, 0 for one without rows; shape (blocks,).
        ranges_max: The most ranges of one column, > 0.
    """
    separations = {}
    for name, bounds in columns.items():
        separation = _separation(bounds, keep)
        if separation is not None:
            separations[name] = separation
    chosen: dict[str, Ranges] = {}
    remaining = np.where(keep, 0, byte_counts)
    while separations:
        gaps_of = {
            name: _best_gaps(separation.bytes_by_gap(remaining), ranges_max)
            for name, separation in separations.items()
        }
        gains = {
            name: separations[name].bytes_by_gap(remaining)[gaps].sum() for name, gaps in gaps_of.items()
        }
        best = max(gains, key=lambda name: gains[name])
        if not gains[best]:
            break
        separation, gaps = separations.pop(best), gaps_of[best]
        inner = gaps[(gaps > 0) & (gaps < len(separation.ranges))]
        chosen[best] = separation.ranges.with_gaps(inner - 1)  # (3)
        remaining = np.where(np.isin(separation.gap_of_block, gaps), 0, remaining)
    return chosen


def spared_blocks(bounds: BlockBounds, ranges: Ranges) -> np.ndarray:
    """Mark the blocks whose bounds lie outside ranges, so that a reader skips them; shape (blocks,)."""
    outside: np.ndarray = ranges.gaps_around(bounds.lower, bounds.upper) != _NO_GAP
    mask: np.ndarray = outside & bounds.may_value & ~bounds.may_pass_null
    return mask


def hull(bounds: BlockBounds, keep: np.ndarray) -> Ranges | None:
    """Return one range that holds all values of the kept blocks; None if one of their bounds is unknown."""
    ranges = _kept_ranges(bounds, keep)
    return None if ranges is None else ranges.with_gaps(np.zeros(0, np.int64))


def _separation(bounds: BlockBounds, keep: np.ndarray) -> _Separation | None:
    """Return the ranges of the kept blocks and the gaps of the others; None if there are no ranges."""
    ranges = _kept_ranges(bounds, keep)
    if ranges is None:
        return None
    gaps = ranges.gaps_around(bounds.lower, bounds.upper)
    is_skippable = ~keep & bounds.may_value & ~bounds.may_pass_null & (gaps >= 0)
    return _Separation(ranges, np.where(is_skippable, gaps, _NO_GAP))


def _kept_ranges(bounds: BlockBounds, keep: np.ndarray) -> Ranges | None:
    """Return the union of the kept blocks' intervals; None where a bound of them is unknown."""
    valued = pa.array(keep & bounds.may_value)
    lowers, uppers = bounds.lower.filter(valued), bounds.upper.filter(valued)
    if not len(lowers) or lowers.null_count or uppers.null_count:  # (1)
        return None
    if pc.any(pc.greater(lowers, uppers)).as_py():
        # The bounds contradict each other, so they bound nothing.
        return None
    return Ranges(lowers, uppers).union(Ranges(lowers.slice(0, 0), uppers.slice(0, 0)))  # (2)


def _best_gaps(bytes_by_gap: np.ndarray, ranges_max: int) -> np.ndarray:
    """Return the gaps with the most bytes, ascending: both outer ones, and as many inner ones as may stay."""
    last = len(bytes_by_gap) - 1
    inner = 1 + np.argsort(-bytes_by_gap[1:last], kind="stable")[: ranges_max - 1]
    useful = inner[bytes_by_gap[inner] > 0]
    gaps: np.ndarray = np.sort(np.concatenate([[0], useful, [last]]).astype(np.int64))
    return gaps
