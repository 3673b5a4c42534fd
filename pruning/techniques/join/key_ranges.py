"""Summaries of a join's inequalities: the ranges in which build rows let a key of the probe side lie.

A probe row has a partner only if its key meets every inequality with one build row, as in
`event.time BETWEEN session.begin AND session.end`: the key then lies in the range of that row.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import And, Compare, Comparison, Expression, Literal, type_of
from pruning.expressions.types import BOOLEAN, Type
from pruning.techniques.join.summary_keys import KeySummary, literals
from pruning.techniques.join.summary_ranges import Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSummary:
    """The ranges of all build rows, of which the ends are included.

    Attributes:
        type: The key's type.
        lower: The least lower end; None where the inequalities give none.
        upper: The greatest upper end; likewise.
        ranges: The ranges of the rows, if they have both ends.
        row_count: The number of build rows with all ends; a row with a NULL meets no inequality.
    """

    type: Type
    lower: Literal | None
    upper: Literal | None
    ranges: KeySummary | None
    row_count: int

    def condition(self, key: Expression, terms_max: int) -> Expression:
        """Return a condition that is TRUE on each probe row that may have a partner.

        Claim     On a row that meets the inequalities with a build row, the condition is TRUE.
        Premises  The summary was made of all build rows, or of bounds of blocks that hold them.
        Proof     (1) The key is neither below that row's lower end nor above its upper end, so it is in the
                      row's range, and in the union of all ranges.
                  (2) No build row has a NULL in these inequalities, and none of its ends is NaN.

        Args:
            key: The probe side's key. If its type is not the summary's, every row may have a partner.
            terms_max: The most ranges of the condition; more ranges are joined into fewer.
        """
        if type_of(key) != self.type:
            return Literal(True, BOOLEAN)
        if not self.row_count:
            return Literal(False, BOOLEAN)
        if self.ranges is not None:
            return self.ranges.condition(key, null_safe=False, terms_max=terms_max)
        ends = ((Comparison.AT_LEAST, self.lower), (Comparison.AT_MOST, self.upper))
        parts = tuple(Compare(comparison, key, end) for comparison, end in ends if end is not None)
        return parts[0] if len(parts) == 1 else And(parts)

    def describe(self) -> str:
        """Describe the summary in one line, for reports."""
        if not self.row_count:
            return "no range"
        if self.ranges is not None:
            count = 1 if self.ranges.ranges is None else len(self.ranges.ranges)
            return "1 range" if count == 1 else f"{count:,} ranges"
        ends = (("at least", self.lower), ("at most", self.upper))
        return " and ".join(f"{name} {to_sql(end)}" for name, end in ends if end is not None)


def summarise_ranges(
    type_: Type, lowers: pa.Array | None, uppers: pa.Array | None, *, bytes_max: int
) -> RangeSummary | None:
    """Summarise the ends of the ranges of build rows, or of blocks of build rows.

    Args:
        type_: The key's type.
        lowers: The lower end of each range, in lanes of the type, as `summary_ranges.to_lanes` gives them;
            None where no inequality gives one.
        uppers: The upper ends, likewise.
        bytes_max: The most bytes that ranges may take.
    Returns:
        None where nothing is known: an end is NaN, which is above every number.
    """
    ends = pa.table({name: lanes for name, lanes in (("low", lowers), ("up", uppers)) if lanes is not None})
    ends = ends.drop_null()
    if not ends.num_columns:
        return None
    if type_.floating:
        if _has_nan(ends):
            return None
        # Both zeros are one value.
        zeros = [pa.scalar(0, column.type) for column in ends.columns]
        columns = [pc.add(column, zero) for column, zero in zip(ends.columns, zeros, strict=True)]
        ends = pa.table(columns, names=ends.column_names)
    if lowers is not None and uppers is not None:
        ends = ends.filter(pc.less_equal(ends["low"], ends["up"]))
    low, up = (ends[name].combine_chunks() if name in ends.column_names else None for name in ("low", "up"))
    return RangeSummary(
        type=type_,
        lower=None if low is None else _least(low, type_),
        upper=None if up is None else _greatest(up, type_),
        ranges=None if low is None or up is None else _ranges(type_, low, up, bytes_max),
        row_count=ends.num_rows,
    )


def _has_nan(ends: pa.Table) -> bool:
    return any(pc.any(pc.is_nan(column)).as_py() for column in ends.columns)


def _least(lanes: pa.Array, type_: Type) -> Literal | None:
    return next(iter(literals(lanes.take(pc.array_sort_indices(lanes)[:1]), type_)), None)


def _greatest(lanes: pa.Array, type_: Type) -> Literal | None:
    return next(iter(literals(lanes.take(pc.array_sort_indices(lanes, order="descending")[:1]), type_)), None)


def _ranges(type_: Type, lowers: pa.Array, uppers: pa.Array, bytes_max: int) -> KeySummary:
    """Return the union of ranges as a summary of any values in them."""
    none = Ranges(lowers.slice(0, 0), uppers.slice(0, 0))
    ranges: Ranges | None = Ranges(lowers, uppers).union(none)
    if ranges is not None and len(ranges):
        ranges = ranges.within_bytes(bytes_max)
    return KeySummary(
        type=type_,
        ranges=ranges,
        exact=False,
        filter=None,
        has_null=False,
        has_nan=False,
        value_count=0 if ranges is None else len(ranges),
        bytes_max=bytes_max,
    )
