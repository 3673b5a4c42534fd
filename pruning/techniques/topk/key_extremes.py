"""The best and the worst key that each block may hold under an ORDER BY, a lane per block."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type, Value
from pruning.rules.interpreters.arrow.interpreter import lane_scalar
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk.orders import NAN, NULL_ABOVE, NULL_BELOW, VALUE, SortOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyExtremes:
    """The best, or the worst, key that each block may hold, as a position for each lane.

    Attributes:
        type: The key's type.
        ranks: Ranks as `orders` names them, or one beyond them where a block holds nothing; shape (lanes,).
        values: The values of lanes of rank VALUE; null where unknown, and at other ranks.
        unknown: The position of an unknown value: -1 below every value, 1 above.
    """

    type: Type
    ranks: np.ndarray
    values: pa.Array
    unknown: int

    @staticmethod
    def best(bounds: KeyBounds, order: SortOrder) -> "KeyExtremes":
        """Return the best key that each block may hold; a block that holds nothing is worse than any key."""
        return _key_extremes(bounds, order, high=order.descending)

    def signs(self, value: Value | None, order: SortOrder) -> np.ndarray:
        """Return -1, 0 or 1 for lanes that are better than a key, equal to it, or worse; shape (lanes,)."""
        rank, number = order.position(value)
        signs = np.sign(self.ranks - rank)
        if rank == VALUE:
            reference, beyond = lane_scalar(number, self.type), self.unknown > 0
            above = pc.fill_null(pc.greater(self.values, reference), beyond)
            below = pc.fill_null(pc.less(self.values, reference), not beyond)
            compared = above.cast(pa.int8()).to_numpy() - below.cast(pa.int8()).to_numpy()
            signs = np.where(self.ranks == VALUE, compared, signs)
        worse: np.ndarray = signs * order.step
        return worse

    def best_first(self, order: SortOrder) -> np.ndarray:
        """Return the ordinals of the lanes, best first, unknown values before known ones, sorted stably."""
        lanes = pa.table({"rank": self.ranks, "known": self.values.is_valid(), "value": self.values})
        direction = "descending" if order.descending else "ascending"
        keys = [("rank", direction), ("known", "ascending"), ("value", direction)]
        line: np.ndarray = pc.sort_indices(lanes, sort_keys=keys).to_numpy().astype(np.int64)
        return line

    def key(self, lane: int) -> Value | None:
        """Return the key of a lane, whose value, if it has one, must be known."""
        rank = self.ranks[lane]
        if rank != VALUE:
            return float("nan") if rank == NAN else None
        value: Value = self.values[lane].as_py()
        return bool(value) if self.type.kind is Kind.BOOLEAN else value


def bounding_values(values: pa.Array, type_: Type) -> pa.Array:
    """Return bounds with null in place of NaN, which bounds nothing."""
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values) if type_.floating else values


def _key_extremes(bounds: KeyBounds, order: SortOrder, *, high: bool) -> KeyExtremes:
    line = [
        (NULL_BELOW, bounds.may_null & (order.null_rank == NULL_BELOW)),
        (VALUE, bounds.may_value),
        (NAN, bounds.may_nan),
        (NULL_ABOVE, bounds.may_null & (order.null_rank == NULL_ABOVE)),
    ]
    nothing = NULL_BELOW - 1 if high else NULL_ABOVE + 1
    ranks, held = zip(*(reversed(line) if high else line), strict=True)
    lane_ranks = np.select(held, ranks, nothing)
    values = bounding_values(bounds.upper if high else bounds.lower, bounds.type)
    return KeyExtremes(
        type=bounds.type,
        ranks=lane_ranks,
        values=pc.if_else(pa.array(lane_ranks == VALUE), values, pa.scalar(None, values.type)),
        unknown=1 if high else -1,
    )
