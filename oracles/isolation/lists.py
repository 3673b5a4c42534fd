"""Many short lists of integers as two arrays, so that a million lists can be processed at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.signedinteger[Any]]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lists:
    """List `i` is `values[starts[i]:stops[i]]`.

    Attributes:
        starts: Shape (n,).
        stops: Shape (n,), nowhere less than `starts`.
        values: The values of all lists, in any arrangement.
    """

    starts: Ints
    stops: Ints
    values: Ints

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> "Lists":
        """Return the lists of Python sequences."""
        kept = [list(values) for values in lists]
        return cls.by_length(
            np.array([len(values) for values in kept], np.int64),
            np.array([value for values in kept for value in values], np.int64),
        )

    @classmethod
    def by_length(cls, lengths: Ints, values: Ints) -> "Lists":
        """Return lists of these lengths that lie one after another in `values`."""
        stops = np.cumsum(lengths, dtype=np.int64)
        return cls(stops - lengths, stops, values)

    @classmethod
    def by_owner(cls, owners: Ints, values: Ints, count: int) -> "Lists":
        """Return lists in which list `i` holds the values whose owner is `i`, in their order."""
        order = np.argsort(owners, kind="stable")
        return cls.by_length(np.bincount(owners, minlength=count).astype(np.int64), values[order])

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> Ints:
        return self.values[self.starts[index] : self.stops[index]]

    @property
    def lengths(self) -> Ints:
        """The length of each list. Shape (n,)."""
        return self.stops - self.starts

    def places(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return for each value of the lists `rows` the index into `rows`, and the place in `values`."""
        lengths = self.stops[rows] - self.starts[rows]
        owners = np.repeat(np.arange(len(rows), dtype=np.int64), lengths)
        ends = np.cumsum(lengths)
        within = np.arange(len(owners), dtype=np.int64) - np.repeat(ends - lengths, lengths)
        return owners, within + np.repeat(self.starts[rows], lengths)

    def expand(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return for each value of the lists `rows` the index into `rows`, and the value."""
        owners, places = self.places(rows)
        return owners, self.values[places]

    def all(self) -> tuple[Ints, Ints]:
        """Return for each value its list and itself, list by list."""
        return self.expand(np.arange(len(self), dtype=np.int64))


def is_member(keys: NDArray[Any], among: NDArray[Any]) -> Flags:
    """Tell for each key whether it is in the sorted array `among`."""
    if not len(among):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    present: Flags = among[places] == keys
    return present


def distinct(keys: Ints) -> Ints:
    """Return the distinct keys, ascending."""
    keys = np.sort(keys)
    fresh = np.ones(len(keys), np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    return keys[fresh]


def last_of_group(keys: Ints) -> Flags:
    """Mark the last entry of each key."""
    order = np.argsort(keys, kind="stable")
    last = np.ones(len(keys), np.bool_)
    if len(keys):
        last[order[:-1]] = keys[order[1:]] != keys[order[:-1]]
    return last
