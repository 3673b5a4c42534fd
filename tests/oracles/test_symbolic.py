"""The meaning in Z3 of a row of constants is what plain Python says of that row."""

import math
import random
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

import pytest
import z3
from test_numbers_conform import INEXACT, Refusal, grid, ours, subjects

from oracles.meaning.numbers import NoSecondOpinion, nearest_float32, round_text
from oracles.symbolic.evaluation import Ideals, Meaning, SymbolicValue
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Call, Expression, Mode
from pruning.expressions.types import FLOAT, Type, Value

ROWS_PER_SUBJECT = 12


def constant(value: Value | None, type_: Type) -> SymbolicValue:
    """A column of one known value."""
    nan = isinstance(value, float) and math.isnan(value)
    infinite = isinstance(value, float) and math.isinf(value)
    number = Fraction(0) if value is None or nan or infinite else Fraction(value)
    term = z3.RealVal(str(number)) if type_.floating else z3.IntVal(int(number * 10**type_.scale))
    sign = z3.IntVal(int(math.copysign(1, value)) if infinite else 0)
    return SymbolicValue(
        raises=z3.BoolVal(False), null=z3.BoolVal(value is None), nan=z3.BoolVal(nan), value=term, sign=sign
    )


def exactly(narrow: bool) -> Ideals:
    """Ideals that compute: rounding to nearest, and the rounding of texts."""

    def rounded(exact: Any) -> tuple[Any, Any]:
        number = numeral(exact)
        try:
            near = nearest_float32(number) if narrow else float(number)
        except OverflowError:
            near = math.copysign(math.inf, number)
        if math.isinf(near):
            return z3.IntVal(1 if near > 0 else -1), z3.RealVal(0)
        return z3.IntVal(0), z3.RealVal(str(Fraction(near)))

    def apply(name: str, arguments: list[Any]) -> Any:
        number = numeral(arguments[0])
        *words, digits = name.split()
        if name == "sqrt":
            return z3.RealVal(str(Fraction(math.sqrt(max(number, 0)))))
        if words[:1] != ["half"]:
            return z3.RealVal(0)
        unit = Fraction(10) ** int(digits)

        def nearest(text: int, scale: int) -> int:
            exact = Fraction(text) / Fraction(10) ** scale * unit
            if words == ["half", "even"]:
                return round(exact)
            size = math.floor(abs(exact) + Fraction(1, 2))
            return -size if exact < 0 else size

        return z3.RealVal(round_text(float(number), nearest))

    return Ideals(lambda text: z3.IntVal(0), rounded, apply)


def numeral(term: Any) -> Fraction:
    """The value of a term without variables; of a division by zero, any."""
    found = z3.simplify(term)
    return found.as_fraction() if z3.is_rational_value(found) else Fraction(0)


def holds(term: Any) -> bool:
    return z3.is_true(z3.simplify(term))


def settled(outcome: SymbolicValue, choice: bool) -> SymbolicValue:
    """The outcome where Spark does one thing, or the other, of what its releases differ in."""
    pair = (z3.Bool("either 1"), z3.BoolVal(choice))
    parts = (getattr(outcome, each.name) for each in fields(SymbolicValue))
    return SymbolicValue(
        **{
            each.name: z3.substitute(part, pair)
            for each, part in zip(fields(SymbolicValue), parts, strict=True)
        }
    )


def agrees(outcome: SymbolicValue, mine: Value | Refusal | None, type_: Type) -> bool:
    if isinstance(mine, Refusal):
        return True
    if holds(outcome.raises):
        return False
    if mine is None or holds(outcome.null):
        return mine is None and holds(outcome.null)
    if isinstance(mine, float) and not math.isfinite(mine):
        sign = z3.simplify(outcome.sign).as_long()
        return holds(outcome.nan) if math.isnan(mine) else sign == math.copysign(1, mine)
    if holds(outcome.nan) or not holds(outcome.sign == 0):
        return False
    unscaled = Fraction(mine) * 10**type_.scale
    return numeral(z3.ToReal(outcome.value) if z3.is_int(outcome.value) else outcome.value) == unscaled


def disagreement(expression: Expression, row: Mapping[str, Value | None]) -> str | None:
    named = columns(expression)
    narrow = expression.type == FLOAT
    meaning = Meaning({name: constant(row[name], type_) for name, type_ in named.items()}, exactly(narrow))
    mine = ours(expression, row)
    try:
        outcome = meaning.of(expression)
    except NoSecondOpinion:
        return None
    type_ = expression.type
    if any(agrees(settled(outcome, choice), mine, type_) for choice in (True, False)):
        return None
    return f"{to_sql(expression)}: {mine!r}; {[row[name] for name in named]}; {z3.simplify(outcome.value)}"


@pytest.mark.parametrize("mode", Mode)
def test_the_symbolic_meaning_of_constants_is_their_value(mode: Mode) -> None:
    """For each operator, function and cast, where plain Python has a value; libraries' digits aside."""
    rows, drawn = [grid().as_mapping(row) for row in grid().rows], random.Random(0)
    found = [
        disagreement(expression, row)
        for expression in subjects(mode)
        if not (isinstance(expression, Call) and expression.function in INEXACT)
        for row in drawn.sample(rows, ROWS_PER_SUBJECT)
    ]
    assert [one for one in found if one is not None] == []
