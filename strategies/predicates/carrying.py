"""Approximate values of an expression on rows, so that literals compared with it hit.

This only proposes values: modes and Spark's rounding are ignored, and hard cases give None.

"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from pruning.expressions.traversal import children
from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Expression,
    Function,
    Literal,
    Operator,
    type_of,
)
from pruning.expressions.types import Type, Value
from strategies.base.tables import sort_key
from strategies.predicates.conversions import Number, as_number, cast_value, nearest_value

RowValues: TypeAlias = Mapping[str, Value | None]


def values_on_rows(expression: Expression, rows: Iterable[RowValues]) -> tuple[Value, ...]:
    """Return the values of an expression on the rows, as far as they are easily computed, each once."""
    values = (_value(expression, row) for row in rows)
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _value(expression: Expression, row: RowValues) -> Value | None:
    match expression:
        case Column(name):
            return row[name]
        case Literal(value):
            return value
        case Cast(operand, type_):
            value = _value(operand, row)
            return None if value is None else cast_value(value, type_of(operand), type_)
        case Coalesce(operands):
            return next((value for part in operands if (value := _value(part, row)) is not None), None)
        case Case(branches, otherwise):
            # Ignore which branch it is.
            parts = (*(value for _, value in branches), otherwise)
            return next((value for part in parts if (value := _value(part, row)) is not None), None)
        case Call(Function.GREATEST | Function.LEAST as function, operands):
            present = [value for part in operands if (value := _value(part, row)) is not None]
            pick = max if function is Function.GREATEST else min
            return pick(present, key=sort_key) if present else None
        case Arithmetic(operator_, _, _, type_):
            return _compute(_OPERATORS[operator_], expression, type_, row)
        case Call(function, _, type_):
            return _compute(_FUNCTIONS[function], expression, type_, row)
        case _:
            return None


def _compute(
    compute: Callable[..., Number], expression: Expression, type_: Type, row: RowValues
) -> Value | None:
    numbers: list[Number] = []
    for part in children(expression):
        value = _value(part, row)
        number = None if value is None else as_number(value, type_of(part))
        if number is None:
            return None
        numbers.append(number)
    try:
        return nearest_value(compute(*numbers), type_)
    except (ArithmeticError, ValueError):
        return None


def _remainder(left: Number, right: Number) -> Number:
    return left - right * math.trunc(left / right)


def _rounding(rounding: Callable[[Number], int]) -> Callable[..., Number]:
    def compute(number: Number, digits: Number = Fraction(0)) -> Number:
        unit = Fraction(10) ** -int(digits)
        return rounding(Fraction(number) / unit) * unit

    return compute


_OPERATORS: Mapping[Operator, Callable[[Number, Number], Number]] = {
    Operator.ADD: operator.add,
    Operator.SUBTRACT: operator.sub,
    Operator.MULTIPLY: operator.mul,
    Operator.DIVIDE: operator.truediv,
    Operator.INTEGRAL_DIVIDE: lambda left, right: math.trunc(left / right),
    Operator.REMAINDER: _remainder,
}
_FUNCTIONS: Mapping[Function, Callable[..., Number]] = {
    Function.NEGATE: operator.neg,
    Function.ABS: abs,
    Function.SIGN: lambda number: math.copysign(1, number) if number else 0.0,
    Function.FLOOR: _rounding(math.floor),
    Function.CEIL: _rounding(math.ceil),
    Function.ROUND: _rounding(round),
    Function.BROUND: _rounding(round),
    Function.SQRT: math.sqrt,
    Function.EXP: math.exp,
    Function.LN: math.log,
    Function.LOG10: math.log10,
    Function.LOG2: math.log2,
    Function.LOG1P: math.log1p,
    Function.LOG: lambda base, number: math.log(number, base),
    Function.POWER: math.pow,
}
