"""Top-k pruning: no block is read whose keys all come after `wanted` rows ([P] 5)."""

from collections.abc import Iterable

import numpy as np

from pruning.expressions.types import Value
from pruning.rules.sets.truths import Match
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.plan.observed import FIRST, GROWTH, Observations, wave_size
from pruning.techniques.topk.arrangements import Arrangement, Expectations, reading_order
from pruning.techniques.topk.boundary import Boundary, strictest
from pruning.techniques.topk.key_extremes import KeyExtremes
from pruning.techniques.topk.orders import SortOrder


class TopK:
    """The state of an ORDER BY with a LIMIT: its boundary, and the blocks that it still has to read."""

    def __init__(
        self,
        bounds: KeyBounds,
        matches: np.ndarray,
        row_counts: np.ndarray,
        order: SortOrder,
        *,
        wanted: int,
        keeps_ties: bool,
        distinct: bool = False,
        start: Boundary | None = None,
        arrangement: Arrangement = Arrangement.EXPECTED,
        densities: np.ndarray | None = None,
        first_wave: int = FIRST,
        growth: float = GROWTH,
    ) -> None:
        """Start before anything was read.

        Args:
            bounds: The bounds of the ORDER BY's first key, whose type is known.
            matches: `Match` of each block, shape (blocks,).
            row_counts: Live rows of each block, -1 where unknown, shape (blocks,).
            order: The sort order of the first key.
            wanted: LIMIT and OFFSET together, >= 0.
            keeps_ties: True if rows that tie with the boundary may belong to the answer: where there are
                more keys, and under GROUP BY.
            distinct: True if rows with equal keys count as one: under GROUP BY.
            start: A boundary from metadata.
            arrangement: The order in which blocks are read, and where waves end.
            densities: The estimated share of each block's rows that satisfies the filter, shape (blocks,).
            first_wave: The least number of blocks in the first wave.
            growth: The least ratio of a wave to the one before; > 1.
        """
        self._order, self._wanted = order, wanted
        self._keeps_ties, self._distinct = keeps_ties, distinct
        self._start = self._boundary = start
        self._first_wave, self._growth = first_wave, growth
        self._best = KeyExtremes.best(bounds, order)
        self._live = (matches != Match.NONE) & (row_counts != 0)
        self._live &= bounds.may_null | bounds.may_nan | bounds.may_value
        self._line = reading_order(arrangement, bounds, order)
        self._expectations = (
            Expectations.of(bounds, row_counts, densities, order)
            if arrangement is Arrangement.EXPECTED
            else None
        )
        self._keys: list[Value | None] = []
        self._observed: Observations[list[Value | None]] = Observations(len(bounds))

    @property
    def boundary(self) -> Boundary | None:
        """The `wanted`-th best key so far; None while too few rows are known."""
        return self._boundary

    @property
    def needed_blocks(self) -> np.ndarray:
        """The ordinals of unread blocks that may still hold a row of the answer, in reading order."""
        needed = self.reaching & ~self._observed.read
        ordinals: np.ndarray = self._line[needed[self._line]]
        return ordinals

    @property
    def reaching(self) -> np.ndarray:
        """True for each block, read or not, that may hold a row of the answer; shape (blocks,).

        Blocks that were read are included: a worker whose report of a block was lost must read it again.
        """
        if self._wanted <= 0:
            return np.zeros(len(self._live), bool)
        if self._boundary is None:
            everything: np.ndarray = self._live
            return everything
        signs = self._best.signs(self._boundary.value, self._order)
        ties_go = self._boundary.held and not self._keeps_ties
        reaching: np.ndarray = self._live & (signs < 0 if ties_go else signs <= 0)
        return reaching

    def next_blocks(self) -> np.ndarray:
        """Return the ordinals of the next wave in reading order; empty once the answer has been read."""
        needed = self.needed_blocks
        return needed[: self._wave_length(needed)]

    def observe(self, blocks: np.ndarray, keys: Iterable[Value | None]) -> None:
        """Record that blocks were read and which keys they gave.

        Args:
            blocks: Ordinals of blocks, possibly more than `next_blocks` gave. No row of a block that was
                observed before counts twice.
            keys: The best `wanted` keys of the rows of the result that they gave, in any order, with
                duplicates unless `distinct`; all of them where they are fewer.
        """
        self._observed.add(blocks, self._best_keys(keys))
        self._update_boundary()

    def learn(self, boundary: Boundary) -> None:
        """Take over a boundary that another worker found for this scan.

        Args:
            boundary: Its `held` may be True only if whoever gives the answer keeps its rows. A worker that
                may fail does not keep them, so that blocks that tie with them are still needed.
        """
        self._start = strictest(self._order, self._start, boundary)
        self._update_boundary()

    def merge(self, other: "TopK") -> None:
        """Add what another worker of the same scan observed."""
        self._observed.merge(other._observed)
        self._update_boundary()

    def _best_keys(self, keys: Iterable[Value | None]) -> list[Value | None]:
        if self._distinct:
            keys = {self._order.position(key): key for key in keys}.values()
        return self._order.best(keys, self._wanted)

    def _update_boundary(self) -> None:
        """Compute the boundary again from the observations so far."""
        self._keys = self._best_keys(key for keys in self._observed for key in keys)
        enough = 0 < self._wanted == len(self._keys)
        held = Boundary(self._keys[-1], held=True) if enough else None
        self._boundary = strictest(self._order, self._start, held)

    def _wave_length(self, needed: np.ndarray) -> int:
        size = wave_size(
            int(np.count_nonzero(self._observed.read)), first=self._first_wave, growth=self._growth
        )
        if self._expectations is None:
            return size
        return max(size, self._expectations.wave_length(needed, self._keys, self._wanted))
