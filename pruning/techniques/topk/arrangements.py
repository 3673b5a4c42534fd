"""The order and the waves in which a top-k reads blocks: they affect speed, never the answer ([P] 5.3)."""

import bisect
import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import STORED_BITS, Kind, Type, Value
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk.key_extremes import KeyExtremes
from pruning.techniques.topk.orders import VALUE, SortOrder


class Arrangement(enum.Enum):
    """The order in which blocks are read, and the rule by which a wave of them ends."""

    AS_STORED = "as the table stores them, in growing waves"
    BY_BOUND = "by the best key that each may hold, in growing waves"
    EXPECTED = "by the best key that each may hold, each wave down to where the boundary is expected"


def reading_order(arrangement: Arrangement, bounds: KeyBounds, order: SortOrder) -> np.ndarray:
    """Return the ordinals of all blocks in reading order."""
    if arrangement is Arrangement.AS_STORED:
        return np.arange(len(bounds))
    return KeyExtremes.best(bounds, order).best_first(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """An estimate of the keys of each block's rows, as numbers of which a lower one is a better key.

    Reading blocks one by one from the best bound on reads the fewest blocks, but takes a job for each. So the
    estimate decides where a wave ends, not the order.

    Attributes:
        rows: The matching rows of each block, shape (blocks,).
        first_rows: The number of them, at most 1, that have the block's best key.
        best: Its best key; -inf where that is unknown or better than any number, inf where it is worse.
        widths: The distance to its worst key, over which the rows lie evenly; 0 where that is unknown.
    """

    order: SortOrder
    rows: np.ndarray
    first_rows: np.ndarray
    best: np.ndarray
    widths: np.ndarray

    @staticmethod
    def of(
        bounds: KeyBounds, row_counts: np.ndarray, densities: np.ndarray | None, order: SortOrder
    ) -> "Expectations":
        """Return the estimate from bounds, row counts and the share of each block's rows that match.

        Args:
            densities: The shares, of shape (blocks,); None is all rows.
        """
        shares = np.ones(len(bounds)) if densities is None else densities
        sides = (bounds.upper, bounds.lower) if order.descending else (bounds.lower, bounds.upper)
        near, far = (order.step * _numbers(side, bounds.type) for side in sides)
        ranks = KeyExtremes.best(bounds, order).ranks * order.step
        best = np.where(np.isnan(near), -math.inf, near)
        best = np.where(ranks == VALUE, best, np.where(ranks < VALUE, -math.inf, math.inf))
        widths, is_spread = np.zeros(len(bounds)), np.isfinite(best) & np.isfinite(far)
        widths[is_spread] = np.maximum(far[is_spread] - best[is_spread], 0.0)
        return Expectations(
            order=order,
            rows=np.maximum(row_counts, 1) * shares,
            first_rows=shares,
            best=best,
            widths=widths,
        )

    def wave_length(self, line: np.ndarray, held: Sequence[Value | None], wanted: int) -> int:
        """Return the number of blocks to read until `wanted` rows are expected to beat the next block.

        Args:
            line: The ordinals of the blocks, in reading order.
            held: The best keys that were read so far, in order.
            wanted: The number of rows.
        """
        held_keys = np.array([self._number(key) for key in held])

        def expected(size: int) -> int:
            reach = self.best[line[size]] if size < len(line) else math.inf
            better = np.searchsorted(held_keys, reach)
            return int(self._rows_before(line[:size], reach) + better)

        return bisect.bisect_left(range(len(line)), wanted, key=expected)

    def _rows_before(self, blocks: np.ndarray, reach: float) -> float:
        """Estimate the rows of blocks that are better than `reach`; the blocks' best keys are not worse."""
        first, widths = self.first_rows[blocks], self.widths[blocks]
        ahead = np.full(len(blocks), np.inf)
        # Rows of a block without a known width are assumed to have its best key.
        is_known = widths > 0
        ahead[is_known] = (reach - self.best[blocks[is_known]]) / widths[is_known]
        return float(np.sum(first + (self.rows[blocks] - first) * np.clip(ahead, 0.0, 1.0)))

    def _number(self, key: Value | None) -> float:
        rank, value = self.order.position(key)
        if rank != VALUE or isinstance(value, bytes):
            return rank * self.order.step * math.inf if rank else 0.0
        return self.order.step * float(value)


def _numbers(values: pa.Array, type_: Type) -> np.ndarray:
    """Return values as floats, NaN where unknown; all NaN for types whose values have no distance."""
    if type_.kind in STORED_BITS or type_.kind is Kind.DECIMAL or type_.floating:
        numbers: np.ndarray = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers
    return np.full(len(values), math.nan)
