"""Summaries of one key of a join's build side, by which the probe side skips blocks ([P] 6).

Equality is Spark's: NaN equals NaN, -0.0 equals 0.0, strings are equal by their bytes, and NULL equals
NULL only if the comparison is NULL-safe.
"""

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.trees import (
    And,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    type_of,
)
from pruning.expressions.types import BOOLEAN, Kind, Type, Value
from pruning.metadata.table.schema import arrow_type
from pruning.techniques.join import summary_filters as filters
from pruning.techniques.join import summary_ranges as ranged
from pruning.techniques.join.summary_ranges import Ranges
from pruning.techniques.plan.keys import KeyBounds


class SummaryForm(enum.Enum):
    """The form in which a summary holds the values."""

    EMPTY = "no value"
    RANGE = "everything from the least to the greatest value"
    RANGES = "ranges, between them the widest gaps"
    BLOOM = "ranges, and a bloom filter of the values in them"
    EXACT = "each value"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySummary:
    """A summary of one key of a build side: it holds every value of the key, and maybe others.

    Attributes:
        type: The key's type.
        ranges: Ranges that enclose the values that are neither NULL nor NaN; None is any value.
        exact: True if every value in the ranges is one of the build side.
        filter: A bloom filter of those values; None where there is none.
        has_null: True if the build side may have a NULL.
        has_nan: True if the build side may have a NaN.
        value_count: The number of different values; for merged parts, an upper bound.
        bytes_max: The most bytes that the ranges and the filter may take together.
    """

    type: Type
    ranges: Ranges | None
    exact: bool
    filter: bytes | None
    has_null: bool
    has_nan: bool
    value_count: int
    bytes_max: int

    @property
    def form(self) -> SummaryForm:
        """The form in which the summary holds the values."""
        if self.filter is not None:
            return SummaryForm.BLOOM
        if self.ranges is None:
            return SummaryForm.RANGE
        if not len(self.ranges):
            return SummaryForm.EMPTY
        if self.exact and self.ranges.is_single_valued:
            return SummaryForm.EXACT
        return SummaryForm.RANGE if len(self.ranges) == 1 else SummaryForm.RANGES

    @property
    def byte_count(self) -> int:
        """The bytes of the values or range ends, and of the filter."""
        ranges = 0 if self.ranges is None else self.ranges.byte_count
        return ranges + (0 if self.filter is None else len(self.filter))

    def merge(self, other: "KeySummary") -> "KeySummary":
        """Return the summary of two parts of a build side; it is of use once all parts are merged.

        Claim     It holds every value that one of the two holds.
        Proof     (1) A value is in the ranges of its part, so in the union.
                  (2) There is a filter only if each part has one, or all its values to put into one.

        Raises:
            InputError: the parts are of keys of different types.
        """
        if self.type != other.type:
            raise InputError(f"Summaries of {self.type} and {other.type} cannot be merged: cast one key.")
        exact = self.exact and other.exact
        bytes_max = min(self.bytes_max, other.bytes_max)
        ranges = None
        if self.ranges is not None and other.ranges is not None:
            ranges = self.ranges.union(other.ranges)  # (1)
        listed = exact and ranges is not None and ranges.is_single_valued
        return replace(
            self,
            ranges=ranges,
            exact=exact,
            filter=None if exact else _merged_filter(self, other, bytes_max // 2),  # (2)
            has_null=self.has_null or other.has_null,
            has_nan=self.has_nan or other.has_nan,
            value_count=len(ranges) if listed and ranges else self.value_count + other.value_count,
            bytes_max=bytes_max,
        )._within_budget()

    def condition(self, key: Expression, *, null_safe: bool, terms_max: int | None = None) -> Expression:
        """Return a condition that is TRUE on each probe row that may have a partner.

        Args:
            key: The probe side's key. If its type is not the summary's, every row may have a partner.
            null_safe: True if NULL equals NULL.
            terms_max: The most members of an IN list, or ranges; more values are joined into fewer ranges.
                None sets no limit.
        """
        if type_of(key) != self.type:
            return Literal(True, BOOLEAN)
        terms = self._value_conditions(key, terms_max)
        if null_safe and self.has_null:
            terms.append(IsNull(key))
        if not terms:
            return Literal(False, BOOLEAN)
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def excludes(self, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
        """Mark the blocks that hold no partner, by the bounds of their keys; shape (blocks,).

        Claim     A block called True has no row that equals a row of the build side.
        Premises  The bounds enclose the rows' values; the summary holds those of the build side.
        Proof     Each row is NULL, NaN or a value, and none of these has a partner:
                  (1) no value lies both in the bounds and in a range;
                  (2) or they enclose few values, and the filter knows none of them;
                  (3) the block has no NaN, or the build side has none;
                  (4) the block has no NULL, or the build side has none, or NULL equals nothing.
        """
        if bounds.type != self.type:
            return np.zeros(len(bounds), bool)
        may = bounds.may_value.copy()
        if self.ranges is not None:
            may &= self.ranges.meets(bounds.lower, bounds.upper)  # (1)
        if self.filter is not None:
            self._apply_filter(bounds, may)  # (2)
        if self.has_nan:
            may |= bounds.may_nan  # (3)
        if null_safe and self.has_null:
            may |= bounds.may_null  # (4)
        return ~may

    def kept_by_any_part(self, bounds: KeyBounds) -> np.ndarray:
        """Mark the blocks that the summary of no subset of these values would exclude; shape (blocks,).

        Claim     Of a block called True, `excludes` of the summary of some of the values is False.
        Premises  There is a value among them.
        Proof     The block's bounds enclose every value, so that one, too.
        """
        if bounds.type != self.type or self.ranges is None:
            return np.zeros(len(bounds), bool)
        kept: np.ndarray = bounds.may_value & self.ranges.encloses(bounds.lower, bounds.upper)
        return kept

    def describe(self) -> str:
        """Describe the summary in one line, for reports."""
        odd = [name for name, has in (("NULL", self.has_null), ("NaN", self.has_nan)) if has]
        return f"{self._values_text()}, {self.byte_count:,} bytes{''.join(f', with {name}' for name in odd)}"

    def _values_text(self) -> str:
        values = _count_text(self.value_count, "value")
        match self.form:
            case SummaryForm.EMPTY:
                return "no value"
            case SummaryForm.EXACT:
                return f"exact set of {values}"
            case SummaryForm.BLOOM:
                return f"bloom filter of {values} in {self._ranges_text()}"
            case _:
                return f"{self._ranges_text()} of {values}"

    def _ranges_text(self) -> str:
        if self.ranges is None:
            return "unknown bounds"
        return f"{'exact ' if self.exact else ''}{_count_text(len(self.ranges), 'range')}"

    def _apply_filter(self, bounds: KeyBounds, may: np.ndarray) -> None:
        assert self.filter is not None
        is_bounded = pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()).to_numpy(zero_copy_only=False)
        lanes = np.flatnonzero(may & is_bounded)
        lower, upper = (bound.take(pa.array(lanes)) for bound in (bounds.lower, bounds.upper))
        may[lanes] = filters.may_hold(self.filter, lower, upper, self.type)

    def _value_conditions(self, key: Expression, terms_max: int | None) -> list[Expression]:
        """Return conditions one of which is TRUE wherever a key that is not NULL may have a partner."""
        if self.ranges is None:
            return [Not(IsNull(key))]
        ranges = self.ranges
        if terms_max is not None and len(ranges) > terms_max:
            ranges = ranges.within_count(terms_max)
        pairs = list(zip(literals(ranges.lowers, self.type), literals(ranges.uppers, self.type), strict=True))
        members = [lower for lower, upper in pairs if lower == upper]
        if self.has_nan:
            members.append(Literal(math.nan, self.type))
        listed: list[Expression] = [In(key, tuple(members))] if members else []
        return listed + [_between_condition(key, lower, upper) for lower, upper in pairs if lower != upper]

    def _within_budget(self) -> "KeySummary":
        """Return the summary cut down to `bytes_max` bytes, at the price of exactness.

        A filter is made where it takes at most half of the bytes, because it excludes blocks of few values
        wherever they lie. The ranges then lose their narrowest gaps, into which the fewest blocks fit.
        """
        if self.ranges is None or (self.exact and self.ranges.byte_count <= self.bytes_max):
            return self
        joined = self.ranges.with_joined_integers()
        if self.exact and joined.byte_count <= self.bytes_max:
            return replace(self, ranges=joined)
        filter_ = self._own_filter() if self.exact else self.filter
        left = self.bytes_max - (0 if filter_ is None else len(filter_))
        return replace(self, ranges=joined.within_bytes(left), exact=False, filter=filter_)

    def _own_filter(self) -> bytes | None:
        """Return a filter of all values, if they are known and of a suitable type; else None."""
        assert self.ranges is not None
        size_bytes = filters.filter_bytes(len(self.ranges), self.bytes_max // 2)
        if not (size_bytes and self.ranges.is_single_valued and filters.is_suitable(self.type)):
            return None
        return filters.build_filter(self.ranges.lowers, self.type, size_bytes)


def summarise(type_: Type, values: pa.Array | pa.ChunkedArray, *, bytes_max: int) -> KeySummary:
    """Summarise all values of one key: exactly if that fits, else in the form expected to exclude most.

    Where not even the least and the greatest value fit, the summary holds any value.

    Args:
        type_: The key's type.
        values: In the Arrow type of block metadata, with NULLs, NaNs and duplicates.
        bytes_max: The most bytes that values, ends of ranges and the filter may take.
    Raises:
        InputError: the type is not one that can be bounded, or the values are of another.
    """
    check_values(type_, values)
    points = ranged.points(values, type_)
    return KeySummary(
        type=type_,
        ranges=points,
        exact=True,
        filter=None,
        has_null=values.null_count > 0,
        has_nan=type_.floating and bool(pc.any(pc.is_nan(values)).as_py()),
        value_count=len(points),
        bytes_max=bytes_max,
    )._within_budget()


def summarise_blocks(bounds: KeyBounds, needed: np.ndarray, *, bytes_max: int) -> KeySummary:
    """Summarise the keys of some blocks by metadata alone: no key lies outside of its block's bounds.

    Claim     It holds each key of a row of these blocks.
    Premises  `bounds` encloses the rows' keys.
    Proof     (1) A key that is a value lies in the range of its block; where a block's is not known, in
              the one of all values.
              (2) NULL and NaN are said to be there wherever they may be.

    Args:
        bounds: The bounds of the key in each block.
        needed: True for the blocks that may give a row, shape (blocks,).
        bytes_max: The most bytes that the ranges may take.
    """
    valued = pa.array(needed & bounds.may_value)
    lowers, uppers = bounds.lower.filter(valued), bounds.upper.filter(valued)
    ranges = None
    if not lowers.null_count and not uppers.null_count:  # (1)
        if bounds.type.floating:
            # Both zeros are one value.
            lowers, uppers = (pc.add(side, pa.scalar(0, side.type)) for side in (lowers, uppers))
        sane = pc.less_equal(lowers, uppers)
        block_ranges = Ranges(lowers.filter(sane), uppers.filter(sane))
        ranges = block_ranges.union(Ranges(block_ranges.lowers.slice(0, 0), block_ranges.uppers.slice(0, 0)))
        ranges = ranges.within_bytes(bytes_max) if len(ranges) else ranges
    return KeySummary(
        type=bounds.type,
        ranges=ranges,
        exact=False,
        filter=None,
        has_null=bool((needed & bounds.may_null).any()),  # (2)
        has_nan=bool((needed & bounds.may_nan).any()),
        value_count=0 if ranges is None else len(ranges),
        bytes_max=bytes_max,
    )


def check_values(type_: Type, values: pa.Array | pa.ChunkedArray) -> None:
    """Check that values can be summarised as those of a type.

    Raises:
        InputError: the type is not one that can be bounded, or the values are of another.
    """
    if not type_.has_bounds:
        raise InputError(f"Values of type {type_} have no known order: such a key has no summary.")
    if values.type != arrow_type(type_):
        raise InputError(
            f"Values of a {type_} key are {arrow_type(type_)} here, not {values.type}: cast them."
        )


def _merged_filter(first: KeySummary, other: KeySummary, bytes_max: int) -> bytes | None:
    """Return a filter of the values of both, if each has a filter or knows its values; else None."""
    if first.filter is None:
        first, other = other, first
    if first.filter is None:
        return None
    second = other.filter
    if second is None and other.exact and other.ranges is not None and other.ranges.is_single_valued:
        second = filters.build_filter(other.ranges.lowers, other.type, len(first.filter))
    return None if second is None else filters.unite_filters(first.filter, second, bytes_max)


def literals(lanes: pa.Array, type_: Type) -> Iterable[Literal]:
    """Return lanes, none of them null, as constants."""
    values: list[Value] = lanes.to_pylist()
    if type_.kind is Kind.BOOLEAN:
        values = [bool(value) for value in values]
    return (Literal(value, type_) for value in values)


def _between_condition(key: Expression, lower: Literal, upper: Literal) -> Expression:
    return And((Compare(Comparison.AT_LEAST, key, lower), Compare(Comparison.AT_MOST, key, upper)))


def _count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
