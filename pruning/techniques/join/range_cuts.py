"""Ranges of a join's keys, in which two tables that are clustered by them are joined without a shuffle.

A join on equal keys is the union of one join for each range of keys ([M] 7). If the slice of one side that a
range may hold is small, it is broadcast, and the other side is read where it lies. Costs are bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import And, Compare, Comparison, Expression, IsNull, Or
from pruning.expressions.types import Type
from pruning.techniques.join.costs import SHARE_MAX, Reads
from pruning.techniques.join.summary_keys import literals
from pruning.techniques.join.summary_ranges import ascending
from pruning.techniques.plan.keys import KeyBounds

# Each range is a part of the plan, and a job that broadcasts.
RANGES_MAX = 64
# A slice is at most this share of what Spark broadcasts by itself, because its size is an estimate.
SLICE_SHARE = 0.5
# A shuffle writes each byte and reads it again.
SHUFFLE_PASSES = 2
# A broadcast is collected by the driver, and sent to the executors.
BROADCAST_PASSES = 2
# A range is planned, and its broadcast is a job; in costs of opening a file.
RANGE_OPENS = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SideBlocks:
    """The blocks of one side of a join; every array has shape (blocks,).

    Attributes:
        keys: The bounds of the side's key.
        keep: True for the blocks that are to be read.
        row_counts: Their live rows.
        byte_counts: Their bytes, of the columns that are read.
        row_bytes: The bytes of a row in Spark, by the types of its columns.
        file_of_block: The place of each block's file in the table's files.
        others: The reads of files without a known block, which every range reads.
        keeps_null: True if rows whose key is NULL matter: the join keeps every row of the side, or NULL
            agrees with NULL.
    """

    keys: KeyBounds
    keep: np.ndarray
    row_counts: np.ndarray
    byte_counts: np.ndarray
    row_bytes: int
    file_of_block: np.ndarray
    others: Reads = field(default_factory=Reads)
    keeps_null: bool = False

    @property
    def has_values(self) -> np.ndarray:
        """True for the blocks that are to be read and may have a row whose key is a value."""
        mask: np.ndarray = self.keep & (self.keys.may_value | self.keys.may_nan)
        return mask

    @property
    def has_bounds(self) -> bool:
        """True if a bound of the keys of some block is known, or there is no block with a value."""
        valued = self.has_values
        return not valued.any() or bool(_is_known(self.keys.lower)[valued].any())

    @property
    def broadcast_bytes(self) -> np.ndarray:
        """Estimate the bytes that each block takes in a broadcast; shape (blocks,).

        Spark takes texts for short ones; but what a block takes in its file it takes in memory, too.
        """
        sizes: np.ndarray = np.maximum(self.row_bytes * self.row_counts, self.byte_counts)
        return sizes

    def reads(self, blocks: np.ndarray) -> Reads:
        """Return the reads of some blocks, a mask, and of the files that every range reads."""
        files = len(np.unique(self.file_of_block[blocks]))
        return Reads(files, int(self.byte_counts[blocks].sum())) + self.others


@dataclass(frozen=True, slots=True, eq=False)
class JoinRanges:
    """Ranges of a join's keys: below the first cut, from each cut to the next, and from the last cut on.

    Claim     Each pair of rows with equal keys is in exactly one range, and so is each row of a side whose
              rows without a partner the join keeps. So the join is the union of the joins of the ranges.
    Premises  Keys are deterministic, and have a total order, in which the cuts ascend. Bounds enclose.
    Proof     (1) `lower <= key` and `key < upper` put a value into one range: the one between the greatest
                  cut that is at most the value and the next cut. Rows with equal keys are in the same one.
              (2) Both comparisons are NULL for a NULL key. It is in the first range, if it matters, and else
                  in none: it then equals no key, and the join drops it.
              (3) A row's partners are in its own range, so that it has none there only if it has none at all.
              (4) A block is read for each range that its bounds meet, or if a bound is not known; so all
                  rows of a range are read.
    Unsound   for a full outer join only as far as Spark cannot broadcast; for NOT IN, where one NULL decides
              about rows of all ranges; for NaN, which is no lane.

    Attributes:
        type: The keys' type.
        cuts: The cuts, lanes of the type, ascending, each once.
    """

    type: Type
    cuts: pa.Array

    def __len__(self) -> int:
        return len(self.cuts) + 1

    def condition(self, place: int, key: Expression, *, keeps_null: bool) -> Expression:
        """Return the condition that a row's key is in the range at a place.

        Args:
            place: The place, of the first range 0.
            key: The key.
            keeps_null: True if rows whose key is NULL are in the first range, not in none.
        """
        cuts = list(literals(self.cuts, self.type))
        parts: list[Expression] = []
        if place > 0:
            parts.append(Compare(Comparison.AT_LEAST, key, cuts[place - 1]))
        if place < len(cuts):
            parts.append(Compare(Comparison.LESS, key, cuts[place]))
        inside = parts[0] if len(parts) == 1 else And(tuple(parts))
        return Or((inside, IsNull(key))) if keeps_null and place == 0 else inside

    def blocks(self, side: SideBlocks) -> Iterator[np.ndarray]:
        """Yield, range by range, the mask of the blocks that may hold a row of it; shape (blocks,)."""
        first, last = (_ranks(self.cuts, ends) for ends in (side.keys.lower, side.keys.upper))
        # A block without a known end goes on to that side.
        first = np.where(_is_known(side.keys.lower), first, 0)
        last = np.where(_is_known(side.keys.upper), last, len(self.cuts))
        for place in range(len(self)):
            inside = side.has_values & (first <= place) & (place <= last)
            if place == 0 and side.keeps_null:
                inside |= side.keep & side.keys.may_null
            yield inside


@dataclass(frozen=True, slots=True)
class RangePlan:
    """Ranges of a join's keys, with what they cost.

    Attributes:
        ranges: The ranges.
        again: The reads beyond those of the join as it is.
        broadcast_bytes: The bytes of all slices of the side that is broadcast.
        shuffle_bytes: The bytes that the shuffled join reads of both sides.
    """

    ranges: JoinRanges
    again: Reads
    broadcast_bytes: int
    shuffle_bytes: int

    def cost(self, open_bytes: int) -> int:
        """Return the cost of the ranges beside the shuffled join without its shuffle."""
        per_range = RANGE_OPENS * open_bytes * len(self.ranges)
        return self.again.cost(open_bytes) + BROADCAST_PASSES * self.broadcast_bytes + per_range

    def pays(self, open_bytes: int) -> bool:
        """Tell whether the ranges cost clearly less than the shuffle that they spare."""
        return self.cost(open_bytes) <= SHARE_MAX * SHUFFLE_PASSES * self.shuffle_bytes


@dataclass(frozen=True, slots=True)
class NoRanges:
    """The reason for which a join has no ranges, and what would change that."""

    reason: str
    remedy: str = ""


SMALL_SIDE = NoRanges(
    "one side is small enough to be broadcast as a whole", "a hint to broadcast it spares the shuffle"
)


def plan_ranges(
    probe: SideBlocks, build: SideBlocks, *, broadcast_max: int, open_bytes: int
) -> RangePlan | NoRanges:
    """Return ranges whose slices of one side may be broadcast, cut where few blocks lie on both sides.

    Args:
        probe: The side that stays where it is.
        build: The side whose slices are broadcast; every file of it has known blocks.
        broadcast_max: The most bytes that Spark broadcasts by itself.
        open_bytes: The bytes that could be read while a file is opened.
    """
    if not (probe.has_bounds and build.has_bounds):
        return NoRanges(
            "of one side of the join, no bounds of the keys are known",
            "pruning.backfill(path) finds the bounds of files that have none",
        )
    cutter = _Cutter.of(probe, build, open_bytes=open_bytes)
    cuts = cutter.cuts(int(SLICE_SHARE * broadcast_max))
    if isinstance(cuts, NoRanges):
        return cuts
    ranges = JoinRanges(probe.keys.type, cuts)
    slices = list(ranges.blocks(build))
    again = sum((build.reads(blocks) for blocks in slices), Reads())
    again += sum((probe.reads(blocks) for blocks in ranges.blocks(probe)), Reads())
    once = build.reads(build.keep) + probe.reads(probe.keep)
    return RangePlan(
        ranges,
        Reads(max(0, again.files - once.files), max(0, again.byte_count - once.byte_count)),
        broadcast_bytes=sum(int(build.broadcast_bytes[blocks].sum()) for blocks in slices),
        shuffle_bytes=once.byte_count,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cutter:
    """A search for cuts among the least keys of blocks, by their ranks.

    Attributes:
        candidates: The values at which may be cut, ascending.
        begun: Of each candidate, the bytes of build rows in blocks that begin below it; shape (candidates,).
        ended: Likewise, in blocks that end below it.
        crossing: Of each candidate, the cost of reading the blocks on both sides of it twice.
        total: The bytes of all build rows.
    """

    candidates: pa.Array
    begun: np.ndarray
    ended: np.ndarray
    crossing: np.ndarray
    total: int

    @classmethod
    def of(cls, probe: SideBlocks, build: SideBlocks, *, open_bytes: int) -> "_Cutter":
        """Weigh the candidates."""
        starts = [side.keys.lower.filter(pa.array(side.has_values)).drop_null() for side in (probe, build)]
        candidates = ascending(pc.unique(pa.concat_arrays(starts)))
        weights = build.broadcast_bytes[build.has_values]
        begun, ended = _sums_below(candidates, build, weights)
        crossing = np.zeros(len(candidates))
        for side in (probe, build):
            crossed, left = _sums_below(candidates, side, side.byte_counts[side.has_values] + open_bytes)
            crossing += crossed - left
        return cls(candidates, begun, ended, crossing, int(weights.sum()))

    def cuts(self, slice_max: int) -> pa.Array | NoRanges:
        """Return cuts between which at most some bytes of build rows lie, as bounds tell."""
        places: list[int] = []
        start, ended = -1, 0
        while self.total - ended > slice_max:
            # The cuts that leave no more than `slice_max` between the last one and themselves.
            stop = int(np.searchsorted(self.begun, ended + slice_max, side="right"))
            if stop <= start + 1:
                return NoRanges(
                    "row groups overlap in the keys, or are large: the rows of one range may take "
                    "more than half of what Spark broadcasts",
                    "clustering both tables by the keys, in smaller row groups, or a larger "
                    "spark.sql.autoBroadcastJoinThreshold, would let them be joined range by range",
                )
            # A cut in the first half of these would make ranges small.
            half = int(np.searchsorted(self.begun, ended + slice_max // 2, side="right"))
            window = np.arange(max(start + 1, min(half, stop - 1)), stop)
            start = int(window[::-1][np.argmin(self.crossing[window][::-1])])
            ended = int(self.ended[start])
            places.append(start)
            if len(places) >= RANGES_MAX:
                return NoRanges(
                    f"more than {RANGES_MAX} ranges of keys would be needed",
                    "a larger spark.sql.autoBroadcastJoinThreshold makes them fewer",
                )
        if not places:
            return SMALL_SIDE
        return self.candidates.take(pa.array(places, pa.int64()))


def _sums_below(candidates: pa.Array, side: SideBlocks, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the valued blocks that begin below each candidate, and that end below it."""
    valued = pa.array(side.has_values)
    lowers, uppers = side.keys.lower.filter(valued), side.keys.upper.filter(valued)
    sums = []
    for ends, unknown in ((lowers, 0), (uppers, len(candidates))):
        # A block whose end has so many candidates at or below it has it below all others.
        ranks = np.where(_is_known(ends), _ranks(candidates, ends), unknown)
        counts = np.bincount(ranks, weights=weights, minlength=len(candidates) + 1)
        sums.append(np.cumsum(counts)[: len(candidates)])
    return sums[0], sums[1]


def _ranks(values: pa.Array, lanes: pa.Array) -> np.ndarray:
    """Return, per lane, the number of ascending values that are at most the lane; any number for null."""
    distinct = ascending(pc.unique(pa.concat_arrays([values, lanes.drop_null()])))
    places = pc.index_in(lanes, value_set=distinct).fill_null(0).to_numpy()
    own = pc.index_in(values, value_set=distinct).to_numpy()
    ranks: np.ndarray = np.searchsorted(own, places, side="right")
    return ranks


def _is_known(lanes: pa.Array) -> np.ndarray:
    mask: np.ndarray = lanes.is_valid().to_numpy(zero_copy_only=False)
    return mask
