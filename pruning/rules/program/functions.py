"""The increasing functions of numbers, and steps of times, on single exact Python values.

Like `primitives`, this is the reference that every interpreter must agree with; None is "unknown".
Where libraries differ in the last digits of a function, it is enclosed: `Side` says in which direction
the answer may be off.
"""

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pruning.expressions.trees import Function
from pruning.expressions.types import Kind, Type, Value
from pruning.rules.sets import decimals
from pruning.rules.sets.primitives import nearest_float, representable
from pruning.rules.time import steps
from pruning.rules.time.steps import Envelope, Step

DIGITS_MAX = 400  # rounding a double to more digits changes nothing; to -400 digits or fewer gives 0
# Axiom LIBM: Spark's and numpy's values of an elementary function are within half of this of the true one:
# 2**-50 of it, which is 4 to 8 units in the last place, and 4 subnormal units where that is less.
LIBM_RELATIVE = 2.0**-49
LIBM_ABSOLUTE = 8 * 5e-324
# Axiom TEXT: Java prints doubles as Python does, within these limits.
TEXT_DIGITS_MAX = 15
TEXT_MIN, TEXT_MAX = 1e-15, 1e15


class Side(enum.Enum):
    """The side of the function's value on which the answer of an operation lies."""

    BELOW = "surely not above it"
    VALUE = "exactly it"
    ABOVE = "surely not below it"


@dataclass(frozen=True, slots=True)
class Apply:
    """An increasing function as an operation of a program; `digits` after the point if it rounds.

    Of a step of dates and times, `side` selects the envelope that encloses it.
    """

    function: Function | Step
    digits: int = 0
    side: Side = Side.VALUE


# The elementary functions, each with an argument at which its value is exact, and that value.
ELEMENTARY: Mapping[Function, tuple[Callable[..., float], float, float]] = {
    Function.EXP: (np.exp, 0.0, 1.0),
    Function.LN: (np.log, 1.0, 0.0),
    Function.LOG10: (np.log10, 1.0, 0.0),
    Function.LOG2: (np.log2, 1.0, 0.0),
    Function.LOG1P: (np.log1p, 0.0, 0.0),
}
ROUNDING = frozenset({Function.FLOOR, Function.CEIL, Function.ROUND, Function.BROUND})


def apply(call: Apply, values: tuple[Value, ...], source: Type, target: Type) -> Value | None:
    """Return the function of one value, or of two for LOG and POWER; None if it has no value in `target`."""
    value = values[0]
    assert not isinstance(value, bytes)
    if isinstance(call.function, Step):
        return step_value(call.function, int(value), call.side, target)
    if call.function in ROUNDING:
        return round_to(call, value, source, target)
    numbers = tuple(float(number) for number in values)
    if call.function is Function.SQRT:
        return math.sqrt(numbers[0]) if numbers[0] >= 0 else None
    if call.function is Function.SIGN:
        return float((numbers[0] > 0) - (numbers[0] < 0))
    with np.errstate(all="ignore"):
        (enclosed,) = elementary(call, *(np.array([number]) for number in numbers))
    return None if math.isnan(enclosed) else float(enclosed)


# The envelope that encloses a step which is not monotone, for each side.
ENVELOPES: Mapping[Side, Envelope] = {
    Side.BELOW: Envelope.LOW,
    Side.VALUE: Envelope.HERE,
    Side.ABOVE: Envelope.HIGH,
}


def step_value(step: Step, number: int, side: Side, target: Type) -> Value | None:
    """Return the value of a step of a date or time, or of its envelope, in `target`."""
    result = steps.value(step, number, ENVELOPES[side])
    return representable(result, target) if isinstance(result, int) else result


def elementary(call: Apply, *values: np.ndarray) -> np.ndarray:
    """Return a value surely not above (not below) the function's, by axiom LIBM; NaN where there is none."""
    exact: np.ndarray | np.bool_
    least: float | np.ndarray
    if call.function is Function.POWER:
        results = np.power(*values)
        exact, least = np.False_, np.where(values[0] < 0, -math.inf, 0.0)
    elif call.function is Function.LOG:
        results = np.log(values[1]) / np.log(values[0])
        exact, least = values[1] == 1, -math.inf
    else:
        function, argument, _ = ELEMENTARY[number_function(call)]
        results = function(values[0])
        results = np.where(np.isneginf(results), np.nan, results)  # at a logarithm's asymptote
        exact = values[0] == argument
        least = 0.0 if call.function is Function.EXP else -math.inf
    return _move_outward(results, exact | _any_infinite(values), call.side, least)


def number_function(call: Apply) -> Function:
    """Return the function of numbers that is called."""
    assert isinstance(call.function, Function)
    return call.function


def _any_infinite(values: tuple[np.ndarray, ...]) -> np.ndarray:
    """Tell where an argument is infinite: there every library gives the limit, an infinity or 0."""
    infinite: np.ndarray = np.logical_or.reduce([np.isinf(value) for value in values])
    return infinite


def _move_outward(
    results: np.ndarray, exact: np.ndarray, side: Side, least: float | np.ndarray
) -> np.ndarray:
    """Move inexact results outward by the margin of axiom LIBM."""
    finite = np.clip(results, -np.finfo(np.float64).max, np.finfo(np.float64).max)
    margin = np.abs(finite) * LIBM_RELATIVE + LIBM_ABSOLUTE
    moved = finite - margin if side is Side.BELOW else finite + margin
    enclosed: np.ndarray = np.where(exact, results, np.maximum(moved, least))
    return enclosed


def round_to(call: Apply, value: bool | int | float | Decimal, source: Type, target: Type) -> Value | None:
    """Return FLOOR, CEIL, ROUND or BROUND of a number, in `target`; None where it does not fit.

    FLOOR and CEIL of doubles are exact. ROUND and BROUND round the decimal text that Java writes of a double:
    where that text may lie on either side of a tie, the answer is the one on the side of the call.
    """
    if isinstance(value, float) and math.isinf(value):
        return _infinity(call, value, target)
    digits = max(-DIGITS_MAX, min(call.digits, DIGITS_MAX))
    half = ROUNDERS[number_function(call)]
    if isinstance(value, float) and call.function in (Function.ROUND, Function.BROUND):
        units = text_units(value, digits, half, call.side)
    else:
        units = half(Fraction(value) * Fraction(10) ** digits)
    return in_type(Fraction(units) / Fraction(10) ** digits, target, saturated=source.floating)


def _infinity(call: Apply, value: float, target: Type) -> Value | None:
    """Return an infinity in `target`: itself, or the limit of an integer type."""
    if target.floating:
        return value
    limits = target.integer_range
    return None if limits is None else limits[value > 0]


def in_type(value: Fraction, target: Type, *, saturated: bool = False) -> Value | None:
    """Return a number in a type, floats rounded to nearest; None if it does not fit, unless `saturated`."""
    if target.floating:
        return nearest_float(value, target)
    if target.kind is Kind.DECIMAL:
        units = value * 10**target.scale
        return None if units.denominator != 1 else decimals.decimal_in_type(units.numerator, target)
    limits = target.integer_range
    assert limits is not None
    number = value.numerator // value.denominator
    return representable(max(limits[0], min(number, limits[1])) if saturated else number, target)


def text_units(value: float, digits: int, half: Callable[[Fraction], int], side: Side) -> int:
    """Return how many units of 10**-digits the decimal text of a double rounds to, or a bound of it.

    Every text that reads back as the double lies between the points halfway to its neighbours. If both
    points round to the same number, so does the text; otherwise axiom TEXT determines the text. Where it does
    not, the result is the bound at `side`: what the lower or the upper point rounds to.
    """
    unit = Fraction(10) ** digits
    exact = Fraction(value)
    below, above = (half((exact + _halfway(value, toward)) * unit) for toward in (-math.inf, math.inf))
    if below == above:
        return below
    if is_plain_text(value):
        return half(Fraction(repr(value)) * unit)
    return below if side is Side.BELOW else above


def _halfway(value: float, toward: float) -> Fraction:
    """Return the distance from a double to the point halfway to its neighbour."""
    neighbour = math.nextafter(value, toward)
    step = Fraction(math.ulp(value)) if math.isinf(neighbour) else abs(Fraction(neighbour) - Fraction(value))
    return step / 2 if toward > 0 else -step / 2


def is_plain_text(value: float) -> bool:
    """Tell whether axiom TEXT covers the double: its text is short, and it is neither huge nor tiny."""
    significant = len(Decimal(repr(value)).normalize().as_tuple().digits)
    return TEXT_MIN <= abs(value) < TEXT_MAX and significant <= TEXT_DIGITS_MAX


def _floor(value: Fraction) -> int:
    """Return the greatest integer at or below a number."""
    return math.floor(value)


def _ceil(value: Fraction) -> int:
    """Return the least integer at or above a number."""
    return math.ceil(value)


def half_up(value: Fraction) -> int:
    """Return the nearest integer; of two the one away from zero."""
    return decimals.half_up(value.numerator, value.denominator)


def half_even(value: Fraction) -> int:
    """Return the nearest integer; of two the even one."""
    return round(value)


ROUNDERS: Mapping[Function, Callable[[Fraction], int]] = {
    Function.FLOOR: _floor,
    Function.CEIL: _ceil,
    Function.ROUND: half_up,
    Function.BROUND: half_even,
}
