"""The order in which ORDER BY sorts the values of one key."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pruning.expressions.types import Value

# Ranks from low to high; NULL is at one end.
NULL_BELOW, VALUE, NAN, NULL_ABOVE = -1, 0, 1, 2
# A rank, and the value where the rank is VALUE, else 0. Tuples compare as keys do in ascending order.
Position: TypeAlias = tuple[int, Value]


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order of one ORDER BY item.

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
        """1 if worse keys have higher positions, -1 if they have lower ones."""
        return -1 if self.descending else 1

    def position(self, value: Value | None) -> Position:
        """Return the position of a key; equal keys have equal positions."""
        if value is None:
            return self.null_rank, 0
        if isinstance(value, float) and math.isnan(value):
            return NAN, 0
        return VALUE, value

    def is_worse(self, value: Value | None, other: Value | None) -> bool:
        """Tell whether a key comes strictly after another."""
        position, reference = self.position(value), self.position(other)
        return position < reference if self.descending else position > reference

    def best(self, values: Iterable[Value | None], wanted: int) -> list[Value | None]:
        """Return the first `wanted` keys, in order."""
        keys: list[Any] = list(values)
        kinds = set(map(type, keys))
        # Python sorts values much faster than positions, which differ for NULL and NaN alone.
        if type(None) in kinds or (float in kinds and any(map(math.isnan, keys))):
            return sorted(keys, key=self.position, reverse=self.descending)[:wanted]
        return sorted(keys, reverse=self.descending)[:wanted]
