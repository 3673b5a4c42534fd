"""Choices of the row groups with first rows that lose a row; each must be found in a drawn table."""

from typing import Any

import numpy as np

from pruning.spark.drive.cache.first_rows import FirstRows


class WithoutTies(FirstRows):
    """Keeps the row groups of rows that come strictly before the boundary."""

    def groups(self, order: Any, boundary: Any, wanted: int, keeps_ties: bool) -> np.ndarray:
        before = [row for row in self._rows if boundary is None or order.is_worse(boundary.value, row[0])]
        return FirstRows(self.blocks, before).groups(order, None, wanted, keeps_ties)


class TiesAsIfOpen(FirstRows):
    """Takes any rows that tie, although another key decides among them."""

    def groups(self, order: Any, boundary: Any, wanted: int, keeps_ties: bool) -> np.ndarray:
        return super().groups(order, boundary, wanted, False)


class FirstGroupOfRow(FirstRows):
    """Takes a row that may be in two row groups for one of the first."""

    def add(self, keys: Any, places: Any) -> bool:
        done = super().add(keys, places)
        self._rows = [(key, groups[:1]) for key, groups in self._rows]
        return done


MUTANTS = (WithoutTies, TiesAsIfOpen, FirstGroupOfRow)
