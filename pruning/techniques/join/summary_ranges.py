"""A key's values as ranges: their union, fewer ranges around them, and a search for the ranges of blocks.

The width of a gap only decides which gaps are kept, so an estimate is enough: the difference of two numbers,
or of the first eight bytes of two byte strings after the prefix that all of them share.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.rules.interpreters.arrow import kernels
from pruning.rules.interpreters.arrow.interpreter import lane_type

_PREFIX_BYTES = 8
_OFFSET_BYTES = 4


@dataclass(frozen=True, slots=True)
class Ranges:
    """Disjoint ranges in ascending order, with both ends included.

    Attributes:
        lowers: Lanes of one type, of shape (ranges,); neither null nor NaN nor -0.0.
        uppers: Likewise.
    """

    lowers: pa.Array
    uppers: pa.Array

    def __len__(self) -> int:
        return len(self.lowers)

    @property
    def is_single_valued(self) -> bool:
        """True if each range is one value."""
        return bool(self.lowers.equals(self.uppers))

    @property
    def byte_count(self) -> int:
        """The bytes of the keys at the ends; where all ranges are single values, each value counts once."""
        ends = [self.lowers] if self.is_single_valued else [self.lowers, self.uppers]
        return int(sum(byte_sizes(lanes).sum() for lanes in ends))

    def meets(self, lower: pa.Array, upper: pa.Array) -> np.ndarray:
        """Mark each [lower, upper] that may hold a value of a range; null is unbounded.

        Claim     [lower, upper] called False has no value in common with a range.
        Proof     (1) The ranges before the first one that ends at or above `lower` lie below it.
                  (2) That one begins above `upper`, and so do all after it.
        """
        if not len(self):
            return np.zeros(len(lower), bool)
        first = _counts_below(self.uppers, lower)  # (1)
        begins = self.lowers.take(pa.array(np.minimum(first, len(self) - 1)))
        reached = kernels.true_where_null(pc.less_equal(begins, upper))  # (2)
        met: np.ndarray = (first < len(self)) & reached.to_numpy(zero_copy_only=False)
        return met

    def gaps_around(self, lower: pa.Array, upper: pa.Array) -> np.ndarray:
        """Return the number of ranges below each [lower, upper] that meets none, -1 for any other lane.

        A lane with an unknown end meets a range.
        """
        is_known = pc.and_(lower.is_valid(), upper.is_valid()).to_numpy(zero_copy_only=False)
        apart = is_known & ~self.meets(lower, upper)
        return np.where(apart, _counts_below(self.uppers, lower), -1)

    def encloses(self, lower: pa.Array, upper: pa.Array) -> np.ndarray:
        """Mark each [lower, upper] that holds all of the ranges; null is unbounded."""
        if not len(self):
            return np.ones(len(lower), bool)
        begins, ends = pc.less_equal(lower, self.lowers[0]), pc.greater_equal(upper, self.uppers[-1])
        inside = pc.and_(kernels.true_where_null(begins), kernels.true_where_null(ends))
        mask: np.ndarray = inside.to_numpy(zero_copy_only=False)
        return mask

    def union(self, other: "Ranges") -> "Ranges":
        """Return the ranges of the values of either, overlapping ones as one."""
        lowers = pa.concat_arrays([self.lowers, other.lowers])
        uppers = pa.concat_arrays([self.uppers, other.uppers])
        distinct = ascending(pc.unique(pa.concat_arrays([lowers, uppers])))
        starts, ends = (pc.index_in(lanes, value_set=distinct).to_numpy() for lanes in (lowers, uppers))
        order = np.argsort(starts, kind="stable")
        starts, reached = starts[order], np.maximum.accumulate(ends[order])
        apart = np.flatnonzero(starts[1:] > reached[:-1])
        return _ranges_between_gaps(distinct.take(pa.array(starts)), distinct.take(pa.array(reached)), apart)

    def with_joined_integers(self) -> "Ranges":
        """Return the same values with consecutive integers joined into one range."""
        if not pa.types.is_integer(self.lowers.type):
            return self
        # No upper end but the last is the greatest integer.
        following = self.uppers.to_numpy()[:-1].astype(np.int64) + 1
        return self.with_gaps(np.flatnonzero(self.lowers.to_numpy()[1:] != following))

    def within_bytes(self, bytes_max: int) -> "Ranges | None":
        """Return fewer ranges around the same values, by the widest gaps; None if one range is too large."""
        ends, begins = byte_sizes(self.uppers), byte_sizes(self.lowers)
        return self._with_widest_gaps(
            ends[:-1] + begins[1:], bytes_max - int(ends[-1:].sum() + begins[:1].sum())
        )

    def within_count(self, count_max: int) -> "Ranges":
        """Return at most `count_max` ranges, at least one, around the same values, by the widest gaps."""
        kept = self._with_widest_gaps(np.ones(max(len(self) - 1, 0), np.int64), max(count_max, 1) - 1)
        assert kept is not None
        return kept

    def _with_widest_gaps(self, costs: np.ndarray, cost_max: int) -> "Ranges | None":
        """Return the ranges between the widest gaps whose costs add up to at most `cost_max`."""
        if cost_max < 0:
            return None
        order = np.argsort(-self._gap_widths(), kind="stable")
        count = int(np.searchsorted(np.cumsum(costs[order]), cost_max, side="right"))
        return self.with_gaps(np.sort(order[:count]))

    def with_gaps(self, gaps: np.ndarray) -> "Ranges":
        """Return the ranges that stay apart at these gaps alone; gap i is above the range i, ascending."""
        return _ranges_between_gaps(self.lowers, self.uppers, gaps)

    def _gap_widths(self) -> np.ndarray:
        """Return the width of the gap after each range but the last; shape (ranges - 1,)."""
        if pa.types.is_binary(self.lowers.type):
            return _gap_distances(self.uppers.to_pylist()[:-1], self.lowers.to_pylist()[1:])
        ends, begins = self.uppers, self.lowers
        if pa.types.is_decimal(ends.type):
            ends, begins = ends.cast(pa.float64()), begins.cast(pa.float64())
        ends, begins = ends.to_numpy()[:-1], begins.to_numpy()[1:]
        widths: np.ndarray
        if ends.dtype.kind == "f":
            with np.errstate(over="ignore"):  # A difference that overflows is infinite, the widest gap.
                widths = begins.astype(np.float64) - ends
        else:
            # The difference of two 64-bit integers fits an unsigned one.
            widths = (begins.astype(np.int64) - ends).view(np.uint64).astype(np.float64)
        return widths


def points(values: pa.Array | pa.ChunkedArray, type_: Type) -> Ranges:
    """Return each value that is neither NULL nor NaN as a range, once; both zeros are one value."""
    lanes = to_lanes(values, type_).drop_null()
    if type_.floating:
        lanes = lanes.filter(pc.invert(pc.is_nan(lanes)))
    lanes = ascending(pc.unique(lanes))
    return Ranges(lanes, lanes)


def to_lanes(values: pa.Array | pa.ChunkedArray, type_: Type) -> pa.Array:
    """Return values in block metadata's types as lanes; -0.0 becomes 0.0."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    lanes = kernels.reinterpret(whole, lane_type(type_))
    return pc.add(lanes, pa.scalar(0, lanes.type)) if type_.floating else lanes


def ascending(lanes: pa.Array) -> pa.Array:
    """Return the lanes in ascending order."""
    return lanes.take(pc.sort_indices(lanes))


def byte_sizes(lanes: pa.Array) -> np.ndarray:
    """Return the bytes of each value; for a byte string with those of its offset."""
    if pa.types.is_binary(lanes.type):
        lengths: np.ndarray = pc.fill_null(pc.binary_length(lanes), 0).to_numpy().astype(np.int64)
        return lengths + _OFFSET_BYTES
    return np.full(len(lanes), lanes.type.bit_width // 8, np.int64)


def _ranges_between_gaps(lowers: pa.Array, uppers: pa.Array, gaps: np.ndarray) -> Ranges:
    """Return the ranges that are separated only by the gaps after these positions."""
    if not len(lowers):
        return Ranges(lowers, uppers)
    starts, ends = np.append([0], gaps + 1), np.append(gaps, len(uppers) - 1)
    return Ranges(lowers.take(pa.array(starts)), uppers.take(pa.array(ends)))


def _counts_below(places: pa.Array, bound: pa.Array) -> np.ndarray:
    """Return per lane the number of values below its bound; 0 where the bound is unknown."""
    if not (pa.types.is_integer(bound.type) or pa.types.is_floating(bound.type)):
        return _bisect(places, bound)
    filled = bound.fill_null(0) if bound.null_count else bound
    counts: np.ndarray = np.searchsorted(places.to_numpy(), filled.to_numpy(), side="left")
    return counts * bound.is_valid().to_numpy(zero_copy_only=False) if bound.null_count else counts


def _bisect(places: pa.Array, bound: pa.Array) -> np.ndarray:
    """Search for all lanes at once by bisection, for types that numpy does not hold."""
    low, high = np.zeros(len(bound), np.int64), np.full(len(bound), len(places), np.int64)
    for _ in range(len(places).bit_length()):
        open_ = low < high
        middle = np.minimum((low + high) // 2, len(places) - 1)
        is_less = pc.fill_null(pc.less(places.take(pa.array(middle)), bound), False)
        is_below = is_less.to_numpy(zero_copy_only=False)
        low = np.where(open_ & is_below, middle + 1, low)
        high = np.where(open_ & ~is_below, middle, high)
    return low


def _gap_distances(ends: list[bytes], begins: list[bytes]) -> np.ndarray:
    """Return the distance of each end to the next beginning, by the first bytes after the shared prefix."""
    if not ends:
        return np.zeros(0)
    least, greatest = ends[0], begins[-1]
    shared = next(at for at in range(len(greatest)) if least[at : at + 1] != greatest[at : at + 1])
    distances: np.ndarray = _as_numbers(begins, shared) - _as_numbers(ends, shared)
    return distances


def _as_numbers(values: list[bytes], start: int) -> np.ndarray:
    cut = b"".join(value[start : start + _PREFIX_BYTES].ljust(_PREFIX_BYTES, b"\0") for value in values)
    return np.frombuffer(cut, ">u8").astype(np.float64)
