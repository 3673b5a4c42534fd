"""The row groups that hold the first rows by an order, from the rows that waves have read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pruning.expressions.types import Value
from pruning.spark.drive.cache.scan_blocks import ScanBlocks
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.orders import SortOrder


@dataclass(slots=True, eq=False)
class FirstRows:
    """The keys of the best rows of each wave, each with the row groups that its row may be in."""

    blocks: ScanBlocks
    _rows: list[tuple[Value | None, tuple[int, ...]]] = field(default_factory=list)

    def add(self, keys: Sequence[Value | None], places: Iterable[tuple[str, int]]) -> bool:
        """Add the rows of a wave: their keys, files and ordinals; return False where a row is unknown."""
        for key, (file, row) in zip(keys, places, strict=True):
            groups = self.blocks.groups_at(file, row, row)
            if groups is None:
                return False
            self._rows.append((key, tuple(groups.tolist())))
        return True

    def groups(
        self, order: SortOrder, boundary: Boundary | None, wanted: int, keeps_ties: bool
    ) -> np.ndarray:
        """Mark the row groups that hold the first `wanted` rows; shape (row groups,).

        Claim     The first `wanted` rows of these row groups are first rows of all.
        Premises  The rows are the best `wanted` of each wave, and no row that no wave has read comes before
                  the boundary, or beside it where ties are kept.
        Proof     (1) Rows before the boundary are fewer than `wanted`, so that each wave has given its own.
                  (2) Of rows that tie with it, any will do, and enough are kept; where other keys decide
                      among them, the row groups of all that waves gave, which were the best of each.

        Args:
            order: The order of the first key.
            boundary: The key of the last of the first rows; None where there are fewer rows.
            wanted: The number of first rows.
            keeps_ties: True if other keys decide among rows that tie.
        """
        chosen: set[int] = set()
        ties: Counter[tuple[int, ...]] = Counter()
        missing = wanted
        for key, groups in self._rows:
            if boundary is None or order.is_worse(boundary.value, key):
                chosen.update(groups)
                missing -= 1
            elif not order.is_worse(key, boundary.value):
                ties[groups] += 1
        for groups, rows in sorted(
            ties.items(), key=lambda item: (not chosen.issuperset(item[0]), -item[1], item[0])
        ):
            if keeps_ties or missing > 0:
                chosen.update(groups)
                missing -= rows
        mask: np.ndarray = np.zeros(len(self.blocks.ids), bool)
        mask[sorted(chosen)] = True
        return mask
