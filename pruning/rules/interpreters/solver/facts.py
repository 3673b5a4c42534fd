"""Facts for proofs: the results of rounding and of decimal texts at a proof's constants.

A rule's limits are constants that the exact primitives computed. For a proof to use them, it needs the
results of the primitives at these constants and at the values next to them.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import z3

from pruning.expressions.trees import Function
from pruning.expressions.types import DOUBLE, Kind, Type
from pruning.rules.interpreters.solver.numbers import Term
from pruning.rules.program import functions
from pruning.rules.program.functions import Side
from pruning.rules.sets import decimals, primitives


def neighbours(value: float | Decimal, type_: Type) -> list[float | Decimal]:
    """Return a value between the ones just below and just above it in its type, those that are finite."""
    if isinstance(value, Decimal):
        unit = Fraction(1, 10**type_.scale)
        beside = [Fraction(value) + sign * unit for sign in (-1, 0, 1)]
        return [decimals.decimal_from_units(int(near * 10**type_.scale), type_.scale) for near in beside]
    if type_.kind is Kind.FLOAT:
        candidates = [_next_float(value, -1), value, _next_float(value, 1)]
    else:
        candidates = [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]
    return [near for near in candidates if math.isfinite(near)]


def _next_float(value: float, sign: int) -> float:
    """Return the 32-bit float next to one."""
    step = max(math.ulp(value) * 2.0**29, 2.0**-149)
    while primitives.to_float32(value + sign * step / 2) != value and step > 2.0**-149:
        step /= 2
    return primitives.to_float32(value + sign * step)


def real(value: float | Decimal) -> Term:
    """Return a finite number as an exact real."""
    return z3.RealVal(str(Fraction(value)))


def rounding(of: Callable[[Term], Any], value: float | Decimal, used: bool) -> list[Term]:
    """Return facts about the nearest double of a number; of a float only if it is exact in 32 bits."""
    if not used or (isinstance(value, float) and primitives.to_float32(value) != value):
        return []
    near = primitives.nearest_float(Fraction(value), DOUBLE)
    rounded = of(real(value))
    return [rounded.sign == 0, rounded.value == real(near)]


def texts(
    of: Callable[[str, list[Term]], Term], value: float | Decimal, names: tuple[str, ...]
) -> list[Term]:
    """Return the integers between which a double's text rounds, for each number of digits in use."""
    if isinstance(value, Decimal):
        return []
    terms: list[Term] = []
    for name in names:
        if not name.startswith("half "):
            continue
        kind, digits = name.rsplit(" ", 1)
        half = functions.ROUNDERS[Function.ROUND if kind == "half up" else Function.BROUND]
        low, high = (
            functions.text_units(value, int(digits), half, side) for side in (Side.BELOW, Side.ABOVE)
        )
        result = of(name, [real(value)])
        terms += [result >= low, result <= high]
    return terms
