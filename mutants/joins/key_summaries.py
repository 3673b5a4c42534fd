"""Summaries of one key of a join's build side that are wrong in one way each.

A mutant is found by joins in which blocks are lost or kept wrongly.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mutants.replacements import Replacement
from pruning.expressions.trees import And, Compare, Comparison, Expression, Literal
from pruning.expressions.types import Type
from pruning.rules.interpreters.arrow import kernels
from pruning.techniques.join import summary_filters as filters
from pruning.techniques.join import summary_keys
from pruning.techniques.join import summary_ranges as ranged
from pruning.techniques.join.summary_keys import KeySummary, SummaryForm
from pruning.techniques.join.summary_ranges import Ranges
from pruning.techniques.plan.keys import KeyBounds

_excludes, _condition, _merge = KeySummary.excludes, KeySummary.condition, KeySummary.merge
_within_budget, _within_bytes = KeySummary._within_budget, Ranges.within_bytes
_encloses = Ranges.encloses
_counts_below, _step_counts = ranged._counts_below, filters._step_counts

# Above the values that tests draw.
_HIGH = 2**31 - 1


# NULL, NaN and zeros


def _null_unsafe_excludes(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
    return _excludes(self, bounds, null_safe=False)


def _null_unsafe_condition(
    self: KeySummary, key: Expression, *, null_safe: bool, terms_max: int | None = None
) -> Expression:
    return _condition(self, key, null_safe=False)


def _empty_excludes_all(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
    if self.form is SummaryForm.EMPTY:
        return np.ones(len(bounds), bool)
    return _excludes(self, bounds, null_safe=null_safe)


def _without_nan(self: KeySummary) -> KeySummary:
    return replace(_within_budget(self), has_nan=False)


def _ordered_bits(lanes: pa.Array) -> np.ndarray:
    """Return integers that order doubles by their bits, so that the two zeros differ."""
    numbers = lanes.fill_null(0).to_numpy().astype(np.float64).view(np.int64)
    bits: np.ndarray = np.where(numbers < 0, np.int64(-(2**63)) - numbers - 1, numbers)
    return bits


def _counts_below_by_bits(places: pa.Array, bound: pa.Array) -> np.ndarray:
    is_valid = bound.is_valid().to_numpy(zero_copy_only=False)
    counts: np.ndarray = np.searchsorted(np.sort(_ordered_bits(places)), _ordered_bits(bound)) * is_valid
    return counts


# Merging


def _merge_drops_null(self: KeySummary, other: KeySummary) -> KeySummary:
    return replace(_merge(self, other), has_null=self.has_null)


def _union_without_joining(self: Ranges, other: Ranges) -> Ranges:
    lowers = pa.concat_arrays([self.lowers, other.lowers])
    uppers = pa.concat_arrays([self.uppers, other.uppers])
    order = pc.sort_indices(lowers)
    return Ranges(lowers.take(order), uppers.take(order))


# Ranges


def _counts_at_most(places: pa.Array, bound: pa.Array) -> np.ndarray:
    is_end = pc.fill_null(pc.is_in(bound, value_set=places), False).to_numpy(zero_copy_only=False)
    is_valid = bound.is_valid().to_numpy(zero_copy_only=False)
    counts: np.ndarray = _counts_below(places, bound) + (is_end & is_valid)
    return counts


def _unknown_lower_is_high(places: pa.Array, bound: pa.Array) -> np.ndarray:
    return _counts_below(places, bound.fill_null(_HIGH))


def _between_without_end(key: Expression, lower: Literal, upper: Literal) -> Expression:
    return And((Compare(Comparison.AT_LEAST, key, lower), Compare(Comparison.LESS, key, upper)))


def _without_last_range(self: Ranges, bytes_max: int) -> Ranges | None:
    ranges = _within_bytes(self, bytes_max)
    if ranges is None or len(ranges) <= 1:
        return ranges
    return Ranges(ranges.lowers[:-1], ranges.uppers[:-1])


# Filters


def _last_candidate_skipped(lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    counts = _step_counts(lower, upper, type_)
    return np.where((counts > 0) & (counts < filters._MANY), counts - np.uint64(1), counts)


def _first_candidate_only(lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    counts: np.ndarray = np.minimum(_step_counts(lower, upper, type_), np.uint64(0))
    return counts


def _texts_are_their_lower_ends(lower: pa.Array, upper: pa.Array, type_: Type) -> np.ndarray:
    return np.zeros(len(lower), np.uint64)


MUTANTS: Mapping[str, tuple[Replacement, ...]] = {
    "NULL-safe equality forgets NULL": (Replacement(KeySummary, "excludes", _null_unsafe_excludes),),
    "the condition forgets NULL": (Replacement(KeySummary, "condition", _null_unsafe_condition),),
    "no value is taken for no row": (Replacement(KeySummary, "excludes", _empty_excludes_all),),
    "NaN is dropped": (Replacement(KeySummary, "_within_budget", _without_nan),),
    "the two zeros differ": (
        Replacement(ranged, "_counts_below", _counts_below_by_bits),
        Replacement(ranged, "to_lanes", lambda values, _: values),
    ),
    "merging overwrites": (Replacement(KeySummary, "merge", lambda self, other: other),),
    "merging drops NULL": (Replacement(KeySummary, "merge", _merge_drops_null),),
    "ranges that overlap stay apart": (Replacement(Ranges, "union", _union_without_joining),),
    "the lower end of a range is cut": (Replacement(pc, "less_equal", pc.less),),
    "the upper end of a range is cut": (Replacement(ranged, "_counts_below", _counts_at_most),),
    "an unknown lower bound is above all": (Replacement(ranged, "_counts_below", _unknown_lower_is_high),),
    "an unknown upper bound is below all": (
        Replacement(kernels, "true_where_null", lambda flags: pc.fill_null(flags, False)),
    ),
    "BETWEEN without its end": (Replacement(summary_keys, "_between_condition", _between_without_end),),
    "the last range is dropped": (Replacement(Ranges, "within_bytes", _without_last_range),),
    "the upper end is not looked up": (Replacement(filters, "_step_counts", _last_candidate_skipped),),
    "only the first candidate is looked up": (Replacement(filters, "_step_counts", _first_candidate_only),),
    "only the lower end of texts is looked up": (
        Replacement(filters, "_step_counts", _texts_are_their_lower_ends),
    ),
    "the filter of one part is that of all": (
        Replacement(summary_keys, "_merged_filter", lambda part, other, _: part.filter or other.filter),
    ),
    "filters overwrite each other": (Replacement(filters, "unite_filters", lambda part, other, _: other),),
}


# Summaries that are safe, and exclude too little.


def _null_safe_excludes(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
    return _excludes(self, bounds, null_safe=True)


def _excludes_nothing(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
    return np.zeros(len(bounds), bool)


NULL_EQUALS_NULL = Replacement(KeySummary, "excludes", _null_safe_excludes)
NOTHING_IS_EXCLUDED = Replacement(KeySummary, "excludes", _excludes_nothing)


# Filters that are united


def _fold_from_afar(filter_: bytes, size_bytes: int) -> np.ndarray:
    """Fold blocks as a remainder would choose them, not as an upper half does."""
    words = np.frombuffer(filter_, "<u4").reshape(-1, size_bytes // 32, 8)
    folded: np.ndarray = np.bitwise_or.reduce(words, axis=0)
    return folded


FOLDED_FROM_AFAR = Replacement(filters, "_fold", _fold_from_afar)


# Blocks that are said to hold all values of a part, so that no part excludes them.


def _lower_end_only(self: Ranges, lower: pa.Array, upper: pa.Array) -> np.ndarray:
    if not len(self):
        return _encloses(self, lower, upper)
    mask: np.ndarray = kernels.true_where_null(pc.less_equal(lower, self.lowers[0])).to_numpy(
        zero_copy_only=False
    )
    return mask


def _upper_end_only(self: Ranges, lower: pa.Array, upper: pa.Array) -> np.ndarray:
    if not len(self):
        return _encloses(self, lower, upper)
    mask: np.ndarray = kernels.true_where_null(pc.greater_equal(upper, self.uppers[-1])).to_numpy(
        zero_copy_only=False
    )
    return mask


def _any_value(self: Ranges, lower: pa.Array, upper: pa.Array) -> np.ndarray:
    return self.meets(lower, upper) if len(self) else _encloses(self, lower, upper)


ENCLOSING_MUTANTS: Mapping[str, Replacement] = {
    "_lower_end_only": Replacement(Ranges, "encloses", _lower_end_only),
    "_upper_end_only": Replacement(Ranges, "encloses", _upper_end_only),
    "_any_value": Replacement(Ranges, "encloses", _any_value),
}
