"""The boundary of a top-k: a key that at least the wanted number of rows reaches ([P] 5)."""

from dataclasses import dataclass

from pruning.expressions.trees import Compare, Comparison, Expression, IsNull, Literal, Not, Or, type_of
from pruning.expressions.types import BOOLEAN, Value
from pruning.techniques.topk.orders import SortOrder


@dataclass(frozen=True, slots=True)
class Boundary:
    """A key such that at least the wanted number of rows have it or a better one.

    Attributes:
        value: The key, which may be NULL or NaN.
        held: True if so many rows were read; False where only metadata shows that they exist.
    """

    value: Value | None
    held: bool

    def condition(self, key: Expression, order: SortOrder, *, ties: bool) -> Expression:
        """Return the condition that is TRUE on each row whose key is better than the boundary.

        With `ties` it is also TRUE on each row whose key equals the boundary. It follows Spark's order, in
        which NaN is above all numbers. A reader that skips row groups by min and max, which never bound NaN,
        must not be given the condition unless the key has no NaN.
        """
        if self.value is None:
            return _null_condition(key, order, ties=ties)
        strict, loose = (
            (Comparison.GREATER, Comparison.AT_LEAST)
            if order.descending
            else (Comparison.LESS, Comparison.AT_MOST)
        )
        compared = Compare(loose if ties else strict, key, Literal(self.value, type_of(key)))
        return Or((compared, IsNull(key))) if order.nulls_first else compared


def _null_condition(key: Expression, order: SortOrder, *, ties: bool) -> Expression:
    """Return the condition for a boundary that is NULL, the best key or the worst one."""
    if order.nulls_first:
        return IsNull(key) if ties else Literal(False, BOOLEAN)
    return Literal(True, BOOLEAN) if ties else Not(IsNull(key))


def strictest(order: SortOrder, *boundaries: Boundary | None) -> Boundary | None:
    """Return the best of the boundaries; of equal ones a held one, then the earlier; None if all are None."""
    strictest = None
    for boundary in boundaries:
        if boundary is not None and (strictest is None or _is_stricter(order, boundary, strictest)):
            strictest = boundary
    return strictest


def _is_stricter(order: SortOrder, boundary: Boundary, other: Boundary) -> bool:
    if order.is_worse(other.value, boundary.value):
        return True
    return boundary.held and not other.held and not order.is_worse(boundary.value, other.value)
