"""In what order, and how many at once, a top-k reads blocks; no choice is wrong, only slower ([P] 5.3)."""

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
    """How blocks are lined up, and where a wave of them ends."""

    AS_STORED = "as the table stores them, in growing waves"
    BY_BOUND = "by the best key that each may hold, in growing waves"
    EXPECTED = "by the best key that each may hold, each wave down to where the boundary is expected"


def reading_order(arrangement: Arrangement, bounds: KeyBounds, order: SortOrder) -> np.ndarray:
    """The ordinals of all blocks in reading order."""
    if arrangement is Arrangement.AS_STORED:
        return np.arange(len(bounds))
    return KeyExtremes.best(bounds, order).best_first(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """Where the rows of each block are thought to be, as numbers of which a lower one is a better key.

    Read one by one from the best bound on, blocks are as few as can be; only that would be as many jobs.
    So it is the end of a wave, not the order, that an estimate can improve.

    Attributes:
        rows: Matching rows of each block, shape (blocks,).
        first_rows: How many of them, at most 1, have the block's best key.
        best: Its best key; -inf where that is unknown or better than any number, inf where it is worse.
        widths: From there to its worst key, over which the rows lie evenly; 0 where that is unknown.
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
        """What the bounds let expect where such a share of each block's rows match; None is all."""
        shares = np.ones(len(bounds)) if densities is None else densities
        sides = (bounds.upper, bounds.lower) if order.descending else (bounds.lower, bounds.upper)
        near, far = (order.step * _numbers(side, bounds.type) for side in sides)
        ranks = KeyExtremes.best(bounds, order).ranks * order.step
        best = np.where(np.isnan(near), -math.inf, near)
        best = np.where(ranks == VALUE, best, np.where(ranks < VALUE, -math.inf, math.inf))
        widths, known = np.zeros(len(bounds)), np.isfinite(best) & np.isfinite(far)
        widths[known] = np.maximum(far[known] - best[known], 0.0)
        return Expectations(
            order=order,
            rows=np.maximum(row_counts, 1) * shares,
            first_rows=shares,
            best=best,
            widths=widths,
        )

    def wave_length(self, line: np.ndarray, held: Sequence[Value | None], wanted: int) -> int:
        """After how many blocks of a line `wanted` rows are expected that are better than the next block's.

        `held` are the best keys seen so far, in order.
        """
        seen = np.array([self._number(key) for key in held])

        def expected(size: int) -> int:
            reach = self.best[line[size]] if size < len(line) else math.inf
            better = np.searchsorted(seen, reach)
            return int(self._rows_before(line[:size], reach) + better)

        return bisect.bisect_left(range(len(line)), wanted, key=expected)

    def _rows_before(self, blocks: np.ndarray, reach: float) -> float:
        """Rows of these blocks that are expected to be better than a number; none begins after it."""
        first, widths = self.first_rows[blocks], self.widths[blocks]
        ahead = np.full(len(blocks), np.inf)
        # What lies at one place, or at an unknown one, is thought to be good.
        known = widths > 0
        ahead[known] = (reach - self.best[blocks[known]]) / widths[known]
        return float(np.sum(first + (self.rows[blocks] - first) * np.clip(ahead, 0.0, 1.0)))

    def _number(self, key: Value | None) -> float:
        rank, value = self.order.place(key)
        if rank != VALUE or isinstance(value, bytes):
            return rank * self.order.step * math.inf if rank else 0.0
        return self.order.step * float(value)


def _numbers(values: pa.Array, type_: Type) -> np.ndarray:
    """Values whose distance means something as floats, NaN where unknown; all unknown for other types."""
    if type_.kind in STORED_BITS or type_.kind is Kind.DECIMAL or type_.floating:
        numbers: np.ndarray = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers
    return np.full(len(values), math.nan)
