"""Sets of values of one ordered type, represented by the points at which membership changes.

A *cut* lies just before or just after a value. Between two neighbouring cuts a set holds every
value or none, so it is a finite union of intervals. Every boolean combination of comparisons with
constants is such a set ([M] 5.3.4), and union and intersection are merges of sorted cuts.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pruning.expressions.types import Kind, Type, Value
from pruning.rules.sets import primitives

# A value, and whether the cut lies after it; the order of the tuples is the order of the cuts.
Cut: TypeAlias = tuple[Value, bool]
# The cuts around an interval; None is the end of the type.
Interval: TypeAlias = tuple[Cut | None, Cut | None]


@dataclass(frozen=True, slots=True)
class Cuts:
    """A set of values: whether it holds those below every cut, and its cuts, ascending and distinct."""

    first: bool
    points: tuple[Cut, ...] = ()

    @property
    def empty(self) -> bool:
        """True if the set holds no value."""
        return not self.first and not self.points

    @property
    def full(self) -> bool:
        """True if the set holds every value."""
        return self.first and not self.points

    def holds(self, value: Value) -> bool:
        """Tell whether a value, not NaN, is in the set."""
        return self.first is (self.cuts_below(value) % 2 == 0)

    def cuts_below(self, value: Value) -> int:
        """Return the number of cuts below the value."""
        return _first_at_or_above(self.points, (value, True))

    def intervals(self) -> Iterator[Interval]:
        """Yield the maximal intervals of the set, ascending."""
        starts: list[Cut | None] = [None] if self.first else []
        edges = [*starts, *self.points]
        for position in range(0, len(edges), 2):
            yield edges[position], edges[position + 1] if position + 1 < len(edges) else None

    def hull(self) -> tuple[Value | None, Value | None]:
        """Return a lower and an upper bound of the set's values; None where it is unbounded."""
        if self.empty:
            return None, None
        unbounded = self.first is (len(self.points) % 2 == 0)
        return (
            None if self.first else self.points[0][0],
            None if unbounded else self.points[-1][0],
        )


EMPTY, FULL = Cuts(False), Cuts(True)


def _first_at_or_above(points: tuple[Cut, ...], place: Cut) -> int:
    """Return the index of the first cut at or above a place, by binary search."""
    low, high = 0, len(points)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if points[middle] < place else (low, middle)
    return low


def meets(lower: Value | None, upper: Value | None, cuts: Cuts) -> bool:
    """Tell whether [lower, upper] may hold a value of the set; None is unbounded, lower <= upper."""
    position = 0 if lower is None else cuts.cuts_below(lower)
    inside = cuts.first is (position % 2 == 0)
    return inside or (len(cuts.points) if upper is None else cuts.cuts_below(upper)) > position


def union(left: Cuts, right: Cuts) -> Cuts:
    """Return the values that are in either set."""
    return _merge(left, right, lambda in_left, in_right: in_left or in_right)


def intersection(left: Cuts, right: Cuts) -> Cuts:
    """Return the values that are in both sets."""
    return _merge(left, right, lambda in_left, in_right: in_left and in_right)


def complement(cuts: Cuts) -> Cuts:
    """Return all values that are not in the set."""
    return Cuts(not cuts.first, cuts.points)


def above(value: Value, type_: Type, *, inclusive: bool) -> Cuts:
    """Return the values above one that is not NaN; `inclusive` adds that value."""
    return _canonical_cuts(False, [(value, not inclusive)], type_)


def below(value: Value, type_: Type, *, inclusive: bool) -> Cuts:
    """Return the values below one that is not NaN; `inclusive` adds that value."""
    return _canonical_cuts(True, [(value, inclusive)], type_)


def between(lower: Value | None, upper: Value | None, type_: Type) -> Cuts:
    """Return the values in [lower, upper]; None is unbounded."""
    start = FULL if lower is None else above(lower, type_, inclusive=True)
    end = FULL if upper is None else below(upper, type_, inclusive=True)
    return intersection(start, end)


def of_values(values: Iterable[Value], type_: Type) -> Cuts:
    """Return the set of exactly these values, none of them NaN."""
    return _canonical_cuts(
        False, [(value, after) for value in sorted(set(values)) for after in (False, True)], type_
    )


def with_prefix(prefix: bytes, type_: Type) -> Cuts:
    """Return the byte strings that start with a prefix (axiom PREFIX)."""
    end = primitives.prefix_end(prefix)
    return _canonical_cuts(False, [(prefix, False), *([] if end is None else [(end, False)])], type_)


def _merge(left: Cuts, right: Cuts, combine: Callable[[bool, bool], bool]) -> Cuts:
    """Combine two sets value by value, by one pass over both lists of cuts."""
    in_left, in_right = left.first, right.first
    inside = combine(in_left, in_right)
    first, points = inside, []
    marked = heapq.merge(
        ((point, 0) for point in left.points),
        ((point, 1) for point in right.points),
        key=lambda mark: mark[0],
    )
    for point, sides in itertools.groupby(marked, key=lambda mark: mark[0]):
        for _, side in sides:
            in_left, in_right = (in_left ^ (side == 0), in_right ^ (side == 1))
        if combine(in_left, in_right) is not inside:
            inside = not inside
            points.append(point)
    return Cuts(first, tuple(points))


def _canonical_cuts(first: bool, points: Iterable[Cut], type_: Type) -> Cuts:
    """Make a set from ascending cuts, each in its canonical form; equal cuts cancel in pairs."""
    normal: list[Cut] = []
    for value, after in points:
        place = _canonical_cut(0.0 if isinstance(value, float) and value == 0 else value, after, type_)
        if place is None:
            continue
        if not after and _is_least(place[0], type_):
            first = not first
        elif normal and normal[-1] == place:
            normal.pop()
        else:
            normal.append(place)
    return Cuts(first, tuple(normal))


def _canonical_cut(value: Value, after: bool, type_: Type) -> Cut | None:
    """Return the canonical form of a cut: before the next value, if there is one; None at the type's end."""
    if not after:
        return value, False
    if type_.kind is Kind.BOOLEAN:
        return None if value else (True, False)
    if primitives.has_steps(type_):
        following = primitives.step(value, type_, sign=1)
        return None if following is None else (following, False)
    if isinstance(value, bytes):
        return value + b"\0", False
    return None if value == float("inf") else (value, True)


def _is_least(value: Value, type_: Type) -> bool:
    """Tell whether a value is the least of its type."""
    if type_.kind is Kind.BOOLEAN:
        return value is False
    if isinstance(value, bytes):
        return value == b""
    if type_.floating:
        return value == float("-inf")
    return primitives.step(value, type_, sign=-1) is None
