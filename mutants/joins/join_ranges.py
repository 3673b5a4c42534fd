"""Ranges of a join's keys that are wrong in one way each."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mutants.replacements import Replacement
from pruning.expressions.substitution import substitute
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Compare, Comparison, Expression, IsNull, Or
from pruning.techniques.join import range_cuts
from pruning.techniques.join.range_cuts import JoinRanges, SideBlocks

_condition, _blocks, _ranks = JoinRanges.condition, JoinRanges.blocks, range_cuts._ranks


def _with_comparison(condition: Expression, right: Comparison, wrong: Comparison) -> Expression:
    return substitute(
        condition,
        {
            part: Compare(wrong, part.left, part.right)
            for part in walk(condition)
            if isinstance(part, Compare) and part.operator is right
        },
    )


def _closed_above(self: JoinRanges, place: int, key: Expression, **options: Any) -> Expression:
    return _with_comparison(_condition(self, place, key, **options), Comparison.LESS, Comparison.AT_MOST)


def _open_below(self: JoinRanges, place: int, key: Expression, **options: Any) -> Expression:
    return _with_comparison(_condition(self, place, key, **options), Comparison.AT_LEAST, Comparison.GREATER)


def _without_null(self: JoinRanges, place: int, key: Expression, *, keeps_null: bool) -> Expression:
    return _condition(self, place, key, keeps_null=False)


def _null_twice(self: JoinRanges, place: int, key: Expression, *, keeps_null: bool) -> Expression:
    inside = _condition(self, place, key, keeps_null=keeps_null)
    return Or((inside, IsNull(key))) if keeps_null and place == 1 else inside


def _without_unknown(self: JoinRanges, side: SideBlocks) -> Iterator[np.ndarray]:
    bounded = range_cuts._is_known(side.keys.lower) & range_cuts._is_known(side.keys.upper)
    return _blocks(self, replace(side, keep=side.keep & bounded))


def _without_null_blocks(self: JoinRanges, side: SideBlocks) -> Iterator[np.ndarray]:
    return _blocks(self, replace(side, keeps_null=False))


def _of_next_range(self: JoinRanges, side: SideBlocks) -> Iterator[np.ndarray]:
    masks = list(_blocks(self, side))
    return iter([*masks[1:], masks[0]])


def _of_first_end(self: JoinRanges, side: SideBlocks) -> Iterator[np.ndarray]:
    """Read a block for the range of its least key alone."""
    return _blocks(self, replace(side, keys=replace(side.keys, upper=side.keys.lower)))


# Each loses rows, or has some in two ranges.
CONDITION_MUTANTS: Mapping[str, Replacement] = {
    "ranges overlap at a cut": Replacement(JoinRanges, "condition", _closed_above),
    "no range has a cut's value": Replacement(JoinRanges, "condition", _open_below),
    "NULL is in no range": Replacement(JoinRanges, "condition", _without_null),
    "NULL is in two ranges": Replacement(JoinRanges, "condition", _null_twice),
}
# Each loses rows of a range, because their block is not read.
BLOCK_MUTANTS: Mapping[str, Replacement] = {
    "a block without bounds is in no range": Replacement(JoinRanges, "blocks", _without_unknown),
    "blocks with NULL are in no range for it": Replacement(JoinRanges, "blocks", _without_null_blocks),
    "a range reads the blocks of the next one": Replacement(JoinRanges, "blocks", _of_next_range),
    "a block is in one range alone": Replacement(JoinRanges, "blocks", _of_first_end),
    "a cut's value is below the cut": Replacement(
        range_cuts, "_ranks", lambda values, lanes: np.maximum(_ranks(values, lanes) - 1, 0)
    ),
}
