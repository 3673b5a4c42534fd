"""The boundary of a top-k: a key that so many rows are sure to be as good as ([P] 5)."""

from dataclasses import dataclass

from pruning.expressions.trees import Compare, Comparison, Expression, IsNull, Literal, Not, Or, type_of
from pruning.expressions.types import BOOLEAN, Value
from pruning.techniques.topk.orders import SortOrder


@dataclass(frozen=True, slots=True)
class Boundary:
    """At least the wanted number of rows have this key or a better one.

    Attributes:
        value: The key, which may be NULL or NaN.
        held: Whether so many rows were seen; False where only metadata says that there are.
    """

    value: Value | None
    held: bool

    def condition(self, key: Expression, order: SortOrder, *, ties: bool) -> Expression:
        """TRUE of each row whose key is better than the boundary, and with `ties` of each that equals it.

        It is right as Spark evaluates it: NaN is above all else. A reader that skips row groups by
        min and max, which never bound NaN, may not be told of it unless the key has no NaN.
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
    """Nothing is better than a NULL that comes first, and nothing worse than one that comes last."""
    if order.nulls_first:
        return IsNull(key) if ties else Literal(False, BOOLEAN)
    return Literal(True, BOOLEAN) if ties else Not(IsNull(key))


def strictest(order: SortOrder, *boundaries: Boundary | None) -> Boundary | None:
    """The best of the boundaries that there are; of equal ones a held one, then the earlier."""
    strictest = None
    for boundary in boundaries:
        if boundary is not None and (strictest is None or _is_stricter(order, boundary, strictest)):
            strictest = boundary
    return strictest


def _is_stricter(order: SortOrder, boundary: Boundary, other: Boundary) -> bool:
    if order.is_worse(other.value, boundary.value):
        return True
    return boundary.held and not other.held and not order.is_worse(boundary.value, other.value)
