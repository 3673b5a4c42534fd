"""Draw windows and set operations."""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.capabilities import ConditionScope
from strategies.engines.questions import ROW_NUMBER, Column, Key, Relation, SetOperation, Window
from strategies.engines.terms import operand

FUNCTIONS = ("row_number", "rank", "dense_rank")
SET_OPERATIONS = ("union", "intersect", "except")
_PLACES = (1, 2, 3, 5, 1, 2, 3, 40, 700)
_UNORDERED = "unordered window"


def window(draw: DrawFn, scope: ConditionScope) -> Window:
    """Draw a window in a total order, or of ranks, or without partitions in an order that leaves a choice.

    Rows of which the order leaves a choice are in the answer or not; only a window without partitions
    determines how many. An order by the row number alone has one key, for which engines have other plans.
    """
    at_most = choose(draw, _PLACES)
    if scope.has_functions(_UNORDERED) and draw(st.integers(0, 4)) == 4:
        return Window(function="row_number", at_most=at_most)
    function = choose(draw, [name for name in FUNCTIONS if scope.has_functions(name)])
    computes = scope.has_functions("order by expression")
    by = [
        operand(draw, scope, often=computes and draw(st.booleans())).term
        for _ in range(choose(draw, (1, 1, 2)))
    ]
    keys = [Key(term, descending=draw(st.booleans()), nulls_first=draw(st.booleans())) for term in by]
    number = Key(Column(ROW_NUMBER, "int64"), descending=draw(st.booleans()))
    shape = choose(draw, ("total", "total", "number alone", "choice"))
    if shape == "choice" and scope.has_functions("rank"):
        return Window(function=function, at_most=at_most, order=tuple(keys))
    if shape == "number alone":
        keys = [number]
    elif function == "row_number" or draw(st.booleans()):
        keys.append(number)
    partition = operand(draw, scope).term if draw(st.booleans()) else None
    return Window(function=function, at_most=at_most, partition=partition, order=tuple(keys))


def set_operation(
    draw: DrawFn, scope: ConditionScope, right: Relation, columns: Sequence[str]
) -> SetOperation:
    """Draw a set operation that the engine has, with ALL or not."""
    kinds = [
        (kind, every)
        for kind in SET_OPERATIONS
        for every in (False, True)
        if not {kind, f"{kind} all" if every else kind}.intersection(scope.capabilities.joins_missing)
    ]
    kind, every = choose(draw, kinds)
    return SetOperation(kind=kind, all=every, right=right, columns=tuple(columns))
