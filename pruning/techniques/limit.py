"""LIMIT pruning: the fewest blocks that are sure to hold enough rows ([P] 4)."""

import numpy as np

from pruning.rules.sets.truths import Match
from pruning.techniques.plan.observed import Observations, wave_size


def fewest_blocks(matches: np.ndarray, row_counts: np.ndarray, wanted: int) -> np.ndarray | None:
    """Return the fewest ALL blocks whose live rows reach `wanted`, largest first; None where all are too few.

    Claim     No smaller set of ALL blocks reaches `wanted`.
    Proof     Of sets of n blocks the n largest hold the most rows.
    """
    line = _reading_order(matches, row_counts)
    return _shortest_head(line, _sure_rows(matches, row_counts), wanted)


class LimitPruning:
    """The state of a LIMIT without an order, for which any `wanted` rows are the answer."""

    def __init__(self, matches: np.ndarray, row_counts: np.ndarray, *, wanted: int) -> None:
        """Start before anything was read.

        Args:
            matches: `Match` of each block, shape (blocks,).
            row_counts: Live rows of each block, -1 where unknown, shape (blocks,).
            wanted: LIMIT and OFFSET together, >= 0.
        """
        self._wanted = wanted
        self._line = _reading_order(matches, row_counts)
        self._rows = _sure_rows(matches, row_counts)
        self._observed: Observations[int] = Observations(len(matches))

    @property
    def has_enough(self) -> bool:
        """True if the rows of ALL blocks reach `wanted`, so that only the fewest such blocks are read."""
        return int(self._rows.sum()) >= self._wanted

    @property
    def scan_set(self) -> np.ndarray:
        """The ordinals of the blocks that would still be read if nothing more were observed, in order."""
        unread = self._unread_blocks()
        enough = _shortest_head(unread, self._rows, self._missing_rows)
        return unread if enough is None else enough

    def next_blocks(self) -> np.ndarray:
        """Return the ordinals of the blocks to read next, in order; empty where none are needed or left."""
        unread = self._unread_blocks()
        enough = _shortest_head(unread, self._rows, self._missing_rows)
        if enough is not None:
            return enough
        # The ALL blocks hold too few rows: read all of them at once, then growing waves of the others.
        sure = int(np.count_nonzero(self._rows[unread]))
        return unread[: max(sure, wave_size(int(np.count_nonzero(self._observed.read))))]

    def observe(self, blocks: np.ndarray, row_count: int) -> None:
        """Record that blocks were read and how many rows of the result they gave.

        Args:
            blocks: Ordinals of blocks, possibly more than `next_blocks` gave. A block that was observed
                before does not count twice.
            row_count: The rows of the result that they gave together.
        """
        self._observed.add(blocks, row_count)

    def merge(self, other: "LimitPruning") -> None:
        """Add what another worker of the same scan observed."""
        self._observed.merge(other._observed)

    @property
    def _missing_rows(self) -> int:
        return self._wanted - sum(self._observed)

    def _unread_blocks(self) -> np.ndarray:
        unread: np.ndarray = self._line[~self._observed.read[self._line]]
        return unread


def _sure_rows(matches: np.ndarray, row_counts: np.ndarray) -> np.ndarray:
    """Return the rows of the result that each block is sure to give; shape (blocks,)."""
    rows: np.ndarray = np.where(matches == Match.ALL, np.maximum(row_counts, 0), 0)
    return rows


def _reading_order(matches: np.ndarray, row_counts: np.ndarray) -> np.ndarray:
    """Return the blocks that may give rows, those with most sure rows first, others in the table's order."""
    line: np.ndarray = np.argsort(-_sure_rows(matches, row_counts), kind="stable")
    live = (matches != Match.NONE) & (row_counts != 0)
    possible: np.ndarray = line[live[line]]
    return possible


def _shortest_head(line: np.ndarray, rows: np.ndarray, wanted: int) -> np.ndarray | None:
    """Return the shortest head of a list of blocks whose rows reach `wanted`; None where all are too few."""
    if wanted <= 0:
        return line[:0]
    reached = np.cumsum(rows[line])
    if not len(line) or reached[-1] < wanted:
        return None
    return line[: int(np.searchsorted(reached, wanted)) + 1]
