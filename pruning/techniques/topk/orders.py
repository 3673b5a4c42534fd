"""How ORDER BY places the values of its key."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from pruning.expressions.types import Value

# Ranks on one line from low to high; NULL is at one end of it.
NULL_BELOW, VALUE, NAN, NULL_ABOVE = -1, 0, 1, 2
# A rank, and the value where the rank is VALUE, else 0: tuples ascend as the line does.
Position: TypeAlias = tuple[int, Value]


@dataclass(frozen=True, slots=True)
class SortOrder:
    """How one ORDER BY item walks the line of places: ascending up, descending down.

    NaN is above every number, -0.0 equals 0.0, and NULL is where `nulls_first` says, whatever the direction.
    """

    descending: bool
    nulls_first: bool

    @property
    def null_rank(self) -> int:
        """The rank of NULL."""
        return NULL_ABOVE if self.nulls_first is self.descending else NULL_BELOW

    @property
    def step(self) -> int:
        """1 where what is worse is higher on the line, -1 where it is lower."""
        return -1 if self.descending else 1

    def place(self, value: Value | None) -> Position:
        """Where a key is on the line; equal keys are at one place."""
        if value is None:
            return self.null_rank, 0
        if isinstance(value, float) and math.isnan(value):
            return NAN, 0
        return VALUE, value

    def is_worse(self, value: Value | None, other: Value | None) -> bool:
        """Whether a key comes strictly after another."""
        place, reference = self.place(value), self.place(other)
        return place < reference if self.descending else place > reference

    def best(self, values: Iterable[Value | None], wanted: int) -> list[Value | None]:
        """The first `wanted` keys, in order."""
        return sorted(values, key=self.place, reverse=self.descending)[:wanted]
