"""Sets of values of one ordered type, written as the places where membership changes.

A *cut* lies just before or just after a value. Between two neighbouring cuts a set holds every
value or none, so that any boolean combination of comparisons with constants is such a set
([M] 5.3.4), and union and intersection are one merge.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pruning.expressions.types import Kind, Type, Value
from pruning.rules.sets import primitives

# A value, and whether the cut is after it; tuples are in the order of the places.
Cut: TypeAlias = tuple[Value, bool]
# Two cuts; None is the type's end.
Interval: TypeAlias = tuple[Cut | None, Cut | None]


@dataclass(frozen=True, slots=True)
class Cuts:
    """A set: whether it holds the values below every cut, and the cuts, ascending and distinct."""

    first: bool
    points: tuple[Cut, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it holds nothing."""
        return not self.first and not self.points

    @property
    def full(self) -> bool:
        """Whether it holds every value."""
        return self.first and not self.points

    def holds(self, value: Value) -> bool:
        """Whether a value, not NaN, is in the set."""
        return self.first is (self.beyond(value) % 2 == 0)

    def beyond(self, value: Value) -> int:
        """How many cuts the value is beyond."""
        return _first_at_or_above(self.points, (value, True))

    def intervals(self) -> Iterator[Interval]:
        """The maximal runs of values that it holds, ascending."""
        starts: list[Cut | None] = [None] if self.first else []
        edges = [*starts, *self.points]
        for position in range(0, len(edges), 2):
            yield edges[position], edges[position + 1] if position + 1 < len(edges) else None

    def hull(self) -> tuple[Value | None, Value | None]:
        """A least and a greatest value between which all of it lies; None where there is no such end."""
        if self.empty:
            return None, None
        unbounded = self.first is (len(self.points) % 2 == 0)
        return (
            None if self.first else self.points[0][0],
            None if unbounded else self.points[-1][0],
        )


EMPTY, FULL = Cuts(False), Cuts(True)


def _first_at_or_above(points: tuple[Cut, ...], place: Cut) -> int:
    low, high = 0, len(points)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if points[middle] < place else (low, middle)
    return low


def meets(lower: Value | None, upper: Value | None, cuts: Cuts) -> bool:
    """Whether [lower, upper] may hold a value of the set; None is unbounded, lower <= upper."""
    position = 0 if lower is None else cuts.beyond(lower)
    inside = cuts.first is (position % 2 == 0)
    return inside or (len(cuts.points) if upper is None else cuts.beyond(upper)) > position


def union(left: Cuts, right: Cuts) -> Cuts:
    """The values of either."""
    return _merge(left, right, lambda one, other: one or other)


def intersection(left: Cuts, right: Cuts) -> Cuts:
    """The values of both."""
    return _merge(left, right, lambda one, other: one and other)


def complement(cuts: Cuts) -> Cuts:
    """Every other value."""
    return Cuts(not cuts.first, cuts.points)


def above(value: Value, type_: Type, *, inclusive: bool) -> Cuts:
    """The values above one that is not NaN, itself if `inclusive`."""
    return _normal(False, [(value, not inclusive)], type_)


def below(value: Value, type_: Type, *, inclusive: bool) -> Cuts:
    """The values below one that is not NaN, itself if `inclusive`."""
    return _normal(True, [(value, inclusive)], type_)


def between(lower: Value | None, upper: Value | None, type_: Type) -> Cuts:
    """The values of [lower, upper]; None is unbounded."""
    start = FULL if lower is None else above(lower, type_, inclusive=True)
    end = FULL if upper is None else below(upper, type_, inclusive=True)
    return intersection(start, end)


def of_values(values: Iterable[Value], type_: Type) -> Cuts:
    """Exactly these values, none of them NaN."""
    return _normal(False, [(value, after) for value in sorted(set(values)) for after in (False, True)], type_)


def prefixed(prefix: bytes, type_: Type) -> Cuts:
    """The byte strings that start so (axiom PREFIX)."""
    end = primitives.prefix_end(prefix)
    return _normal(False, [(prefix, False), *([] if end is None else [(end, False)])], type_)


def _merge(left: Cuts, right: Cuts, combine: Callable[[bool, bool], bool]) -> Cuts:
    one, other = left.first, right.first
    held = combine(one, other)
    first, points = held, []
    marked = heapq.merge(
        ((point, 0) for point in left.points),
        ((point, 1) for point in right.points),
        key=lambda mark: mark[0],
    )
    for point, sides in itertools.groupby(marked, key=lambda mark: mark[0]):
        for _, side in sides:
            one, other = (one ^ (side == 0), other ^ (side == 1))
        if combine(one, other) is not held:
            held = not held
            points.append(point)
    return Cuts(first, tuple(points))


def _normal(first: bool, points: Iterable[Cut], type_: Type) -> Cuts:
    """Ascending cuts, each place written in one way; two at the same place cancel."""
    normal: list[Cut] = []
    for value, after in points:
        place = _place(0.0 if isinstance(value, float) and value == 0 else value, after, type_)
        if place is None:
            continue
        if not after and _is_least(place[0], type_):
            first = not first
        elif normal and normal[-1] == place:
            normal.pop()
        else:
            normal.append(place)
    return Cuts(first, tuple(normal))


def _place(value: Value, after: bool, type_: Type) -> Cut | None:
    """A cut after a value that has a successor is one before that; None beyond the type's end."""
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
    if type_.kind is Kind.BOOLEAN:
        return value is False
    if isinstance(value, bytes):
        return value == b""
    if type_.floating:
        return value == float("-inf")
    return primitives.step(value, type_, sign=-1) is None
