"""LIMIT and top-k pruning whose observations or extremes are wrong in one way each."""

from dataclasses import replace
from typing import Any

import numpy as np

from mutants.replacements import Replacement
from pruning.techniques.limit import LimitPruning
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.plan.observed import Observations
from pruning.techniques.topk.key_extremes import KeyExtremes
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK

_best = KeyExtremes.best


def _add_again(self: Observations[Any], blocks: np.ndarray, observation: Any) -> None:
    """Count blocks again that were observed before."""
    self.read[np.asarray(blocks)] = True
    self._parts[len(self._parts)] = (np.asarray(blocks), observation)


def _best_without_unknown(bounds: KeyBounds, order: SortOrder) -> KeyExtremes:
    """Place unknown values behind all others."""
    best = _best(bounds, order)
    return replace(best, unknown=-best.unknown)


ROWS_COUNT_TWICE = Replacement(Observations, "add", _add_again)
LIMIT_MERGE_FORGETS = Replacement(LimitPruning, "merge", lambda self, other: None)
TOP_K_MERGE_FORGETS = Replacement(TopK, "merge", lambda self, other: None)
UNKNOWN_HOLDS_NOTHING = Replacement(KeyExtremes, "best", _best_without_unknown)
