"""Two boundaries from metadata alone, before any block is read ([P] 5.4).

Both count rows that are sure to exist, in ALL blocks only, and take a key that the wanted number of them
reaches. The rows themselves have not been read, so blocks that tie with the boundary are still needed.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.rules.sets.truths import Match
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.key_extremes import KeyExtremes, bounding_values
from pruning.techniques.topk.orders import NAN, VALUE, SortOrder


def boundary_by_maxima(
    bounds: KeyBounds,
    matches: np.ndarray,
    row_counts: np.ndarray,
    order: SortOrder,
    wanted: int,
    *,
    distinct: bool,
) -> Boundary | None:
    """Return the `wanted`-th best of the keys that at least one row each has; None where there are fewer.

    Claim     `wanted` rows, with `distinct` of different keys, have the boundary's key or a better one.
    Premises  The keys come to the ORDER BY as the scan gives them: no join or HAVING drops one.
    Proof     A live row attains an exact bound, and some row is NULL or NaN where their count is not 0;
              each is a row of the result, since the block is ALL.
    """
    sure = (matches == Match.ALL) & (row_counts != 0)
    best, exact = (
        (bounds.upper, bounds.upper_exact) if order.descending else (bounds.lower, bounds.lower_exact)
    )
    best = bounding_values(best, bounds.type)
    attained = sure & exact & bounds.may_value & _is_valid(best)
    counted = [sure & (bounds.null_counts > 0), sure & (bounds.nan_counts > 0), attained]
    return _wanted_boundary(bounds, order, wanted, values=best, counts=counted, distinct=distinct)


def boundary_by_counts(
    bounds: KeyBounds, matches: np.ndarray, row_counts: np.ndarray, order: SortOrder, wanted: int
) -> Boundary | None:
    """Return the best key that at least `wanted` rows reach; None where too few rows are known.

    Claim     `wanted` rows have the boundary's key or a better one.
    Premises  As for `boundary_by_maxima`; and rows are what is counted, no GROUP BY.
    Proof     A row that is neither NULL nor NaN is at least as good as the block's worst bound. So is a NULL
              that comes first, and NaN where they are best; where they are worse and their number is not
              known, no row is sure.
    """
    rows = np.where(matches == Match.ALL, np.maximum(row_counts, 0), 0)
    worst = bounding_values(bounds.lower if order.descending else bounds.upper, bounds.type)
    nulls = np.minimum(np.maximum(bounds.null_counts, 0), rows)
    nans = np.minimum(np.maximum(bounds.nan_counts, 0), rows)
    unsure = np.zeros(len(bounds), bool)
    if not order.nulls_first:
        unsure |= bounds.may_null & (bounds.null_counts < 0)
    if not order.descending:
        unsure |= bounds.may_nan & (bounds.nan_counts < 0)
    values = np.where(unsure | ~_is_valid(worst), 0, np.maximum(rows - nulls - nans, 0))
    return _wanted_boundary(bounds, order, wanted, values=worst, counts=[nulls, nans, values], distinct=False)


def _is_valid(values: pa.Array) -> np.ndarray:
    valid: np.ndarray = values.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _wanted_boundary(
    bounds: KeyBounds,
    order: SortOrder,
    wanted: int,
    *,
    values: pa.Array,
    counts: list[np.ndarray],
    distinct: bool,
) -> Boundary | None:
    """Return the key of the `wanted`-th best row; None where there are fewer rows.

    Args:
        values: A value per block.
        counts: Per block, the rows that are NULL, that are NaN, and that are at least as good as its value.
        distinct: True if rows with equal keys count as one.
    """
    if wanted <= 0:
        return None
    blocks = len(bounds)
    ends = KeyExtremes(
        type=bounds.type,
        ranks=np.repeat([order.null_rank, NAN, VALUE], blocks),
        values=pa.concat_arrays([pa.nulls(2 * blocks, values.type), values]),
        unknown=0,
    )
    rows = np.concatenate(counts).astype(np.int64)
    line = ends.best_first(order)
    line = line[rows[line] > 0]
    if distinct:
        line = line[_is_first_of_equals(ends, line)]
    reached = np.cumsum(rows[line])
    if not len(line) or reached[-1] < wanted:
        return None
    return Boundary(ends.key(int(line[np.searchsorted(reached, wanted)])), held=False)


def _is_first_of_equals(ends: KeyExtremes, line: np.ndarray) -> np.ndarray:
    """Mark the lanes of a sorted list whose key differs from the lane before; shape (lanes,)."""
    first = np.ones(len(line), bool)
    ranks, values = ends.ranks[line], ends.values.take(pa.array(line))
    same_value = pc.fill_null(pc.equal(values[1:], values[:-1]), True).to_numpy(zero_copy_only=False)
    first[1:] = (ranks[1:] != ranks[:-1]) | ~same_value
    return first
