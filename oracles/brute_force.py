"""A second opinion on predicates: plain Python evaluates an expression on one row.

Shares   the types and trees of `pruning.expressions`; no rule, no SQL text.
Trusts   Python's integers, floats and zone database, and the C library to a few ulps
         (`oracles.functions` says where).
Removes  Spark: its parser, its optimiser, its casts.
Leaves   the reading of Spark's rules: three-valued logic, NaN equal to NaN and above every number,
         -0.0 equal to 0.0, sums rounded half up to their decimal type. Where arithmetic raises and
         the order of evaluation decides whether it is reached, it goes left to right as Spark may.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping

from oracles.arithmetic import calculate
from oracles.casts import cast
from oracles.functions import call
from oracles.numbers import NoSecondOpinion
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
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    StartsWith,
    type_of,
)
from pruning.expressions.types import Value

RowValues = Mapping[str, Value | None]


def evaluate(expression: Expression, row: RowValues, *, zone: str = "UTC") -> Value | None:
    """The value of an expression on a row; None is NULL.

    Args:
        row: The columns' values by name, held as `pruning.expressions.types` says.
        zone: The session's time zone, for casts between date and timestamp.
    Raises:
        oracles.arithmetic.Overflow: Spark raises here.
        oracles.numbers.NoSecondOpinion: there is no second opinion on such a node, or on it with such values,
            because releases of Spark differ.
    """

    def value(part: Expression) -> Value | None:
        return evaluate(part, row, zone=zone)

    match expression:
        case Column(name):
            return row[name]
        case Literal(constant):
            return constant
        case Arithmetic(operator, left, right, type_, mode):
            operands = (type_of(left), type_of(right))
            return calculate(operator, value(left), value(right), operands, type_, mode)
        case Cast(operand, type_, mode):
            return cast(value(operand), type_of(operand), type_, mode, zone=zone)
        case Call(function, arguments, type_, mode):
            return call(function, [value(argument) for argument in arguments], type_, mode)
        case Case(branches, otherwise):
            chosen = next((result for condition, result in branches if value(condition) is True), otherwise)
            return value(chosen)
        case Coalesce(operands):
            return next((found for found in map(value, operands) if found is not None), None)
        case _:
            return _truth(expression, value)


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
        case StartsWith(operand, prefix):
            text = value(operand)
            return None if text is None else _bytes(text).startswith(prefix)
        case Like(operand, pattern, escape):
            text = value(operand)
            return None if text is None else _like(_bytes(text), pattern, escape)
        case _:
            raise NoSecondOpinion(f"no second opinion on {type(expression).__name__}")


def compare(operator: Comparison, left: Value | None, right: Value | None) -> bool | None:
    """One comparison of two values of one type."""
    if operator is Comparison.NULL_SAFE_EQUAL:
        return left is None and right is None if left is None or right is None else _key(left) == _key(right)
    if left is None or right is None:
        return None
    one, other = _key(left), _key(right)
    order = (one > other) - (one < other)
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
    """AND (FALSE decides) and OR (TRUE decides): the deciding value, else NULL if one was seen."""
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


def _like(text: bytes, pattern: bytes, escape: str) -> bool:
    """LIKE as a regular expression over code points; bytes that are not UTF-8 have no second opinion."""
    try:
        characters = iter(pattern.decode())
        subject = text.decode()
    except UnicodeDecodeError as error:
        raise NoSecondOpinion("no second opinion on LIKE over bytes that are not UTF-8") from error
    parts = []
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return re.fullmatch("".join(parts), subject, re.DOTALL) is not None
