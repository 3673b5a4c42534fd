"""A second opinion on predicates: plain Python evaluates an expression on one row.

Shares   the types and trees of `pruning.expressions`; no rule, no SQL text.
Trusts   Python's integers, floats and zone database, and the C library to a few ulps
         (`oracles.meaning.functions` says where).
Removes  Spark: its parser, its optimiser, its casts.
Leaves   the reading of Spark's rules: three-valued logic, NaN equal to NaN and above every number,
         -0.0 equal to 0.0, sums rounded half up to their decimal type. Where arithmetic raises and
         the order of evaluation decides whether it is reached, it goes left to right as Spark may.
"""

import math
from collections.abc import Callable, Iterable

from oracles.meaning.arithmetic import calculate
from oracles.meaning.casts import cast
from oracles.meaning.functions import call
from oracles.meaning.numbers import NoSecondOpinion
from oracles.meaning.quantifiers import RowValues, element_value, item_value, map_value, truths_of_elements
from oracles.meaning.texts import is_like, is_rlike, text_call
from oracles.meaning.times import time_call
from pruning.expressions.function_groups import ARRAY_FUNCTIONS, TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Contains,
    Element,
    EndsWith,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Quantified,
    Quantifier,
    RLike,
    StartsWith,
    type_of,
)
from pruning.expressions.types import Value

__all__ = ["RowValues", "compare", "evaluate"]


def evaluate(expression: Expression, row: RowValues, *, zone: str = "UTC") -> Value | None:
    """Return the value of an expression on a row; None is NULL.

    Args:
        row: The columns' values by name, as `pruning.expressions.types` describes them; an array is a tuple.
            zone: The session's time zone, for casts and functions that name none. Raises:
        oracles.meaning.arithmetic.Overflow: Spark raises here. oracles.meaning.numbers.NoSecondOpinion: This
        oracle does not cover such a node, or such values of it, because releases of Spark differ.

    >>> from pruning.expressions.trees import Column, Compare, Comparison, Literal
    >>> from pruning.expressions.types import INTEGER
    >>> predicate = Compare(Comparison.LESS, Column("a", INTEGER), Literal(10, INTEGER))
    >>> evaluate(predicate, {"a": 3})
    True
    >>> evaluate(predicate, {"a": None}) is None
    True
    """

    def value(part: Expression) -> Value | None:
        return evaluate(part, row, zone=zone)

    match expression:
        case Column(name):
            cell = row[name]
            assert not isinstance(cell, tuple)
            return cell
        case Element():
            return element_value(expression, row)
        case Literal(constant):
            return constant
        case Arithmetic(operator, left, right, type_, mode):
            operands = (type_of(left), type_of(right))
            return calculate(operator, value(left), value(right), operands, type_, mode)
        case Cast(operand, type_, mode):
            return cast(value(operand), type_of(operand), type_, mode, zone=expression.zone or zone)
        case Call(Function.MAP_VALUE, (Element() as element, _, key)):
            return map_value(element, row, value(key))
        case Call(function, (Element() as element, *index)) if function in ARRAY_FUNCTIONS:
            return item_value(function, element, row, *map(value, index))
        case Call():
            return _call_value(expression, value, expression.zone or zone)
        case Case(branches, otherwise):
            chosen = next((result for condition, result in branches if value(condition) is True), otherwise)
            return value(chosen)
        case Coalesce(operands):
            return next((cell for cell in map(value, operands) if cell is not None), None)
        case Quantified(quantifier, array, body):
            truths = truths_of_elements(array, row, lambda inner: evaluate(body, inner, zone=zone))
            return None if truths is None else _kleene(truths, decides=quantifier is Quantifier.EXISTS)
        case _:
            return _truth(expression, value)


def _call_value(node: Call, value: Callable[[Expression], Value | None], zone: str) -> Value | None:
    operands = [value(operand) for operand in node.operands]
    if node.function not in TEXT_FUNCTIONS | TIME_FUNCTIONS:
        return call(node.function, operands, node.type, node.mode)
    present = [operand for operand in operands if operand is not None]
    if len(present) < len(operands):
        return None
    if node.function in TEXT_FUNCTIONS:
        return text_call(node.function, present)
    return time_call(node.function, present, [type_of(operand) for operand in node.operands], zone=zone)


def _truth(expression: Expression, value: Callable[[Expression], Value | None]) -> bool | None:
    match expression:
        case And(operands):
            return _kleene(map(value, operands), decides=False)
        case Or(operands):
            return _kleene(map(value, operands), decides=True)
        case Not(operand):
            truth = value(operand)
            return None if truth is None else not truth
        case IsNull(operand):
            return value(operand) is None
        case Compare(operator, left, right):
            return compare(operator, value(left), value(right))
        case In(operand, members):
            wanted = value(operand)
            equal = (compare(Comparison.EQUAL, wanted, value(member)) for member in members)
            return _kleene(equal, decides=True)
        case StartsWith() | EndsWith() | Contains() | Like() | RLike():
            text = value(expression.operand)
            return None if text is None else _matches_text(expression, _bytes(text))
        case _:
            raise NoSecondOpinion(f"no second opinion on {type(expression).__name__}")


def _matches_text(node: StartsWith | EndsWith | Contains | Like | RLike, text: bytes) -> bool:
    match node:
        case StartsWith(_, prefix):
            return text.startswith(prefix)
        case EndsWith(_, suffix):
            return text.endswith(suffix)
        case Contains(_, part):
            return part in text
        case Like(_, pattern, escape):
            return is_like(text, pattern, escape)
        case RLike(_, pattern):
            return is_rlike(text, pattern)


def compare(operator: Comparison, left: Value | None, right: Value | None) -> bool | None:
    """Compare two values of one type; None is NULL."""
    if operator is Comparison.NULL_SAFE_EQUAL:
        return left is None and right is None if left is None or right is None else _key(left) == _key(right)
    if left is None or right is None:
        return None
    left_key, right_key = _key(left), _key(right)
    order = (left_key > right_key) - (left_key < right_key)
    match operator:
        case Comparison.EQUAL:
            return order == 0
        case Comparison.LESS:
            return order < 0
        case Comparison.AT_MOST:
            return order <= 0
        case Comparison.GREATER:
            return order > 0
        case _:
            return order >= 0


def _kleene(truths: Iterable[Value | None], *, decides: bool) -> bool | None:
    """Return AND (FALSE decides) or OR (TRUE decides): the deciding value, else NULL if there is one."""
    unknown = False
    for truth in truths:
        if truth is decides:
            return decides
        unknown = unknown or truth is None
    return None if unknown else not decides


def _key(value: Value) -> tuple[bool, Value]:
    # All NaNs are one value, the greatest.
    return (True, 0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _bytes(value: Value) -> bytes:
    assert isinstance(value, bytes)
    return value
