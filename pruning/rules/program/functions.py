"""What the increasing functions of numbers mean, on single exact Python values; steps of times, too.

Like `primitives`, this is the reference that every interpreter must agree with; None is "unknown".
A function whose last digits differ from one library to the next is enclosed: `Side` says which way
the answer errs.
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

DIGITS_MAX = 400  # rounding a double to more digits changes nothing, to fewer than as many below zero all
# Axiom LIBM: Spark's and numpy's values of an elementary function are within half of this of the true one:
# 2**-50 of it, which is 4 to 8 units in the last place, and 4 subnormal units where that is less.
LIBM_RELATIVE = 2.0**-49
LIBM_ABSOLUTE = 8 * 5e-324
# Axiom TEXT: Java prints doubles as Python does, within these limits.
TEXT_DIGITS_MAX = 15
TEXT_MIN, TEXT_MAX = 1e-15, 1e15


class Side(enum.Enum):
    """Where the answer of an operation lies beside the function's value."""

    BELOW = "surely not above it"
    VALUE = "exactly it"
    ABOVE = "surely not below it"


@dataclass(frozen=True, slots=True)
class Apply:
    """An increasing function as an operation of a program; `digits` after the point where it rounds.

    A step of dates and times stands for itself; `side` is then the side on which it is enclosed.
    """

    function: Function | Step
    digits: int = 0
    side: Side = Side.VALUE


# The elementary functions, with the argument at which they are an exact number.
ELEMENTARY: Mapping[Function, tuple[Callable[..., float], float, float]] = {
    Function.EXP: (np.exp, 0.0, 1.0),
    Function.LN: (np.log, 1.0, 0.0),
    Function.LOG10: (np.log10, 1.0, 0.0),
    Function.LOG2: (np.log2, 1.0, 0.0),
    Function.LOG1P: (np.log1p, 0.0, 0.0),
}
ROUNDING = frozenset({Function.FLOOR, Function.CEIL, Function.ROUND, Function.BROUND})


def apply(call: Apply, values: tuple[Value, ...], source: Type, target: Type) -> Value | None:
    """The function of one value, or two for LOG and POWER; None where it has no value in `target`."""
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


# The way in which a step that comes back on itself encloses a function on either side.
ENVELOPES: Mapping[Side, Envelope] = {
    Side.BELOW: Envelope.LOW,
    Side.VALUE: Envelope.HERE,
    Side.ABOVE: Envelope.HIGH,
}


def step_value(step: Step, number: int, side: Side, target: Type) -> Value | None:
    """A step of a date or time, or what encloses it on one side, in `target`."""
    result = steps.value(step, number, ENVELOPES[side])
    return representable(result, target) if isinstance(result, int) else result


def elementary(call: Apply, *values: np.ndarray) -> np.ndarray:
    """A value surely not above (not below) the function's, by axiom LIBM; NaN where there is none."""
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
    """The function of numbers that is called."""
    assert isinstance(call.function, Function)
    return call.function


def _any_infinite(values: tuple[np.ndarray, ...]) -> np.ndarray:
    """Where a function's value is a limit: infinite or 0 in every library."""
    infinite: np.ndarray = np.logical_or.reduce([np.isinf(value) for value in values])
    return infinite


def _move_outward(
    results: np.ndarray, exact: np.ndarray, side: Side, least: float | np.ndarray
) -> np.ndarray:
    finite = np.clip(results, -np.finfo(np.float64).max, np.finfo(np.float64).max)
    margin = np.abs(finite) * LIBM_RELATIVE + LIBM_ABSOLUTE
    moved = finite - margin if side is Side.BELOW else finite + margin
    enclosed: np.ndarray = np.where(exact, results, np.maximum(moved, least))
    return enclosed


def round_to(call: Apply, value: bool | int | float | Decimal, source: Type, target: Type) -> Value | None:
    """FLOOR, CEIL, ROUND or BROUND of a number, in `target`; None where it does not fit.

    Doubles go down and up as they are, and are rounded as Java writes them in decimal digits:
    where that text may lie on either side of a tie, the answer is the one on the side asked for.
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
    if target.floating:
        return value
    limits = target.integer_range
    return None if limits is None else limits[value > 0]


def in_type(value: Fraction, target: Type, *, saturated: bool = False) -> Value | None:
    """A number in the type: floats round to nearest; None where it does not fit, unless it saturates."""
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
    """The number of units that the decimal text of a double rounds to.

    Every text that reads back as the double lies between the points halfway to its neighbours. Where
    these round alike so does the text, whatever it is; elsewhere axiom TEXT says which it is.
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
    neighbour = math.nextafter(value, toward)
    step = Fraction(math.ulp(value)) if math.isinf(neighbour) else abs(Fraction(neighbour) - Fraction(value))
    return step / 2 if toward > 0 else -step / 2


def is_plain_text(value: float) -> bool:
    """Whether axiom TEXT speaks of the double: its text is short and it is neither huge nor tiny."""
    significant = len(Decimal(repr(value)).normalize().as_tuple().digits)
    return TEXT_MIN <= abs(value) < TEXT_MAX and significant <= TEXT_DIGITS_MAX


def _floor(value: Fraction) -> int:
    return math.floor(value)


def _ceil(value: Fraction) -> int:
    return math.ceil(value)


def half_up(value: Fraction) -> int:
    """The nearest integer, of two the one away from zero."""
    return decimals.half_up(value.numerator, value.denominator)


def half_even(value: Fraction) -> int:
    """The nearest integer, of two the even one."""
    return round(value)


ROUNDERS: Mapping[Function, Callable[[Fraction], int]] = {
    Function.FLOOR: _floor,
    Function.CEIL: _ceil,
    Function.ROUND: half_up,
    Function.BROUND: half_even,
}
