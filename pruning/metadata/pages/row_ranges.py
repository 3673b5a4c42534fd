"""Sets of rows of one row group, as sorted ranges."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pruning.metadata.footers.thrift_lanes import Mask, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class RowRanges:
    """A set of rows: those from `starts[i]` up to `ends[i]`, which is not among them.

    The ranges are not empty, and rows that are no members lie between them, so that equal sets have equal
    arrays of shape (ranges,).
    """

    starts: Numbers
    ends: Numbers

    @staticmethod
    def of(pairs: Iterable[tuple[int, int]]) -> "RowRanges":
        """Return the union of ranges in any order, each a start and an end; some may be empty or overlap."""
        lanes = np.array(list(pairs), np.int64).reshape(-1, 2)
        lanes = lanes[lanes[:, 0] < lanes[:, 1]]
        lanes = lanes[np.argsort(lanes[:, 0], kind="stable")]
        starts, ends = lanes[:, 0], np.maximum.accumulate(lanes[:, 1])
        is_first = np.ones(len(starts), np.bool_)
        is_first[1:] = starts[1:] > ends[:-1]
        is_last = np.ones(len(starts), np.bool_)
        is_last[:-1] = is_first[1:]
        return RowRanges(starts[is_first], ends[is_last])

    @staticmethod
    def all_rows(count: int) -> "RowRanges":
        """Return the set of the first rows, so many of them."""
        return RowRanges.of([(0, count)])

    @property
    def count(self) -> int:
        """The number of rows in the set."""
        return int((self.ends - self.starts).sum())

    def contains(self, rows: Numbers) -> Mask:
        """Mark the rows that are in the set; shape (rows,)."""
        places = np.searchsorted(self.starts, rows, "right") - 1
        mask: Mask = np.zeros(len(rows), np.bool_)
        is_after_start = places >= 0
        mask[is_after_start] = rows[is_after_start] < self.ends[places[is_after_start]]
        return mask

    def overlaps(self, starts: Numbers, counts: Numbers) -> Mask:
        """Mark the pages that have some row of the set, each by its first row and its number of rows."""
        if not len(self.ends):
            return np.zeros(len(starts), np.bool_)
        # The first range that ends after the page's first row.
        places = np.searchsorted(self.ends, starts, "right")
        is_before_end = places < len(self.ends)
        next_starts = self.starts[np.minimum(places, len(self.ends) - 1)]
        mask: Mask = is_before_end & (next_starts < starts + counts)
        return mask

    def intersection(self, other: "RowRanges") -> "RowRanges":
        """Return the rows that are in both sets."""
        return self._combine(other, np.logical_and)

    def union(self, other: "RowRanges") -> "RowRanges":
        """Return the rows that are in one of the sets or both."""
        return self._combine(other, np.logical_or)

    def difference(self, other: "RowRanges") -> "RowRanges":
        """Return the rows of this set that are not in the other one."""
        return self._combine(other, np.greater)

    def complement(self, count: int) -> "RowRanges":
        """Return the other rows of a row group of so many rows."""
        return RowRanges.all_rows(count).difference(self)

    def __eq__(self, other: object) -> bool:
        """Tell whether both sets have the same rows."""
        if not isinstance(other, RowRanges):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)

    def __hash__(self) -> int:
        """Return a hash that is the same for equal sets."""
        return hash((self.starts.tobytes(), self.ends.tobytes()))

    def _combine(self, other: "RowRanges", operation: Callable[[Mask, Mask], Mask]) -> "RowRanges":
        """Return the rows for which an operation on the two memberships is true; of no two it is not.

        Between two neighbouring edges of the two sets, all rows have the same memberships.
        """
        edges = np.unique(np.concatenate([self.starts, self.ends, other.starts, other.ends]))
        kept = operation(self.contains(edges), other.contains(edges))
        # No row from the last edge on is in either set.
        steps = np.diff(kept.astype(np.int8), prepend=0)
        return RowRanges(edges[steps > 0], edges[steps < 0])
