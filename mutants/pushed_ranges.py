"""Range filters that lose needed rows by one mistake each."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from mutants.replacements import Replacement
from pruning.expressions.types import Type
from pruning.pushed import block_ranges, value_ranges
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.truths import Match
from pruning.spark.drive import range_filters

_kept_ranges, _matches = block_ranges._kept_ranges, value_ranges._matches
_closed_ranges = value_ranges.closed_ranges
_of_files = range_filters.DerivedRanges.of_files


def _without_first_kept_block(bounds: block_ranges.BlockBounds, keep: np.ndarray) -> Any:
    others = keep.copy()
    others[np.flatnonzero(keep & bounds.may_value)[:1]] = False
    return _kept_ranges(bounds, others)


def _first_ranges(values: Cuts, type_: Type, ranges_max: int) -> Cuts:
    """Drop the ranges that are too many, whose gaps should be closed."""
    ends = list(islice((point for interval in values.intervals() for point in interval), 2 * ranges_max))
    return Cuts(values.first, tuple(end for end in ends if end is not None))


def _strictly_below(values: Cuts, type_: Type) -> Any:
    return [(lower, upper, upper is not None) for lower, upper, _ in _closed_ranges(values, type_)]


def _some_is_none(*arguments: Any) -> np.ndarray:
    matches = _matches(*arguments)
    return np.where(matches == Match.SOME, np.int8(Match.NONE), matches)


def _unbounded_blocks_have_no_values(bounds: block_ranges.BlockBounds, keep: np.ndarray) -> Any:
    bounded = (bounds.lower.is_valid().to_numpy(False)) & (bounds.upper.is_valid().to_numpy(False))
    return _kept_ranges(bounds, keep & bounded)


MUTANTS: Mapping[str, Replacement] = {
    "a kept block is forgotten": Replacement(block_ranges, "_kept_ranges", _without_first_kept_block),
    "a kept block without bounds is forgotten": Replacement(
        block_ranges, "_kept_ranges", _unbounded_blocks_have_no_values
    ),
    "NULL never passes": Replacement(range_filters, "may_match_null", lambda *_: False),
    "ranges that are too many are dropped": Replacement(range_filters, "with_fewer_ranges", _first_ranges),
    "the greatest value is left out": Replacement(range_filters, "closed_ranges", _strictly_below),
    "a part that may match is left out": Replacement(value_ranges, "_matches", _some_is_none),
    "all days and instants are pushed as they are": Replacement(
        range_filters, "with_exact_ends", lambda values, type_: values
    ),
    "the filter's values alone, not those of the blocks": Replacement(
        range_filters, "value_ranges", lambda conjuncts, column, within: cuts.complement(within)
    ),
}
# It loses no rows: the reader skips none.
IGNORES_DEFERRED = Replacement(
    range_filters.DerivedRanges,
    "of_files",
    lambda *arguments, needed, deferred: _of_files(*arguments, needed=needed),
)
