"""Spark's functions of numbers in plain Python, for `oracles.meaning.brute_force`.

EXP, POWER and the logarithms come from the C library. Like Java's `StrictMath` it is within about an ulp
of the true value, but not identical: these results agree with Spark's to a few ulps only. Their NULLs,
NaNs, infinities and zeros are exact, as is everything about the other functions.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from oracles.meaning.casts import saturate
from oracles.meaning.numbers import (
    NoSecondOpinion,
    Overflow,
    decimal_of,
    digits_of,
    fit_integer,
    nearest_float32,
    round_text,
    scale_of,
)
from pruning.expressions.trees import Function, Mode
from pruning.expressions.types import LONG, Kind, Type, Value

# Since Spark 4.0 negation rounds decimals to so many digits.
_NEGATED_DIGITS_MAX = 34


def call(function: Function, operands: Sequence[Value | None], type_: Type, mode: Mode) -> Value | None:
    """Return `function(operands)`, a value of a type; None is NULL.

    Raises:
        Overflow: Spark raises: the result is out of range under ANSI, or, in every mode, a decimal rounded to
            tens or hundreds is.
        oracles.meaning.numbers.NoSecondOpinion: Releases of Spark differ here.
    """
    if function in _EXTREMES:
        return _EXTREMES[function](operands)
    present = [operand for operand in operands if operand is not None]
    if len(present) < len(operands):
        return None
    if function in _OF_DOUBLES:
        return _OF_DOUBLES[function](*(float(operand) for operand in present))
    if function in (Function.NEGATE, Function.ABS):
        return _negate(function, present[0], type_, mode)
    digits = int(present[1]) if len(present) > 1 else 0
    return _round(_ROUNDINGS[function], present[0], digits, type_, mode)


def _negate(function: Function, value: Value, type_: Type, mode: Mode) -> Value | None:
    assert not isinstance(value, bytes), "NEGATE and ABS are of numbers"
    if function is Function.ABS and not value < 0:
        return abs(value) if isinstance(value, float) else value
    if isinstance(value, float):
        return -value
    if isinstance(value, Decimal):
        digits, scale = digits_of(value, scale_of(value)), scale_of(value)
        if len(str(abs(digits)).rstrip("0")) > _NEGATED_DIGITS_MAX:
            raise NoSecondOpinion(f"no second opinion on -({value}): releases of Spark differ")
        return decimal_of(-digits, scale)
    assert isinstance(value, int)
    return _fit_or_raise(-value, type_, mode)


def _fit_or_raise(value: int, type_: Type, mode: Mode) -> int | None:
    """Fit an integer in a type; functions have no mode that gives NULL where the result does not fit."""
    return fit_integer(value, type_, Mode.LEGACY if mode is Mode.LEGACY else Mode.ANSI)


def _down(numerator: int, denominator: int) -> int:
    return numerator // denominator


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _half_up(numerator: int, denominator: int) -> int:
    magnitude = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -magnitude if numerator < 0 else magnitude


def _half_even(numerator: int, denominator: int) -> int:
    return round(Fraction(numerator, denominator))


_ROUNDINGS: Mapping[Function, Callable[[int, int], int]] = {
    Function.FLOOR: _down,
    Function.CEIL: _up,
    Function.ROUND: _half_up,
    Function.BROUND: _half_even,
}


def _round(
    rounding: Callable[[int, int], int], value: Value, digits: int, type_: Type, mode: Mode
) -> Value | None:
    """Round a number to a scale, maybe negative; a float is rounded by the text of the double."""
    if isinstance(value, float):
        if type_ == LONG:
            return _round_to_long(rounding, value, mode)
        if not math.isfinite(value):
            return value

        def round_digits(number: int, scale: int) -> float:
            count = _count(rounding, number, scale, digits)
            exact = Fraction(count) / Fraction(10) ** digits
            return nearest_float32(exact) if type_.kind is Kind.FLOAT else float(f"{count}e{-digits}")

        return round_text(value, round_digits)
    if isinstance(value, Decimal):
        scale = scale_of(value)
        return _decimal_of_count(_count(rounding, digits_of(value, scale), scale, digits), digits, type_)
    count = _count(rounding, int(value), 0, digits)
    return _fit_or_raise(count // 10**digits if digits >= 0 else count * 10**-digits, type_, mode)


def _count(rounding: Callable[[int, int], int], number: int, scale: int, digits: int) -> int:
    """Return number * 10**-scale, rounded to a count of 10**-digits."""
    return number * 10 ** (digits - scale) if digits >= scale else rounding(number, 10 ** (scale - digits))


def _decimal_of_count(count: int, digits: int, type_: Type) -> Decimal:
    if digits <= type_.scale:
        unscaled = count * 10 ** (type_.scale - digits)
    else:
        unscaled = count // 10 ** (digits - type_.scale)
    if abs(unscaled) >= 10**type_.precision:
        raise Overflow(f"{count}E{-digits} is no {type_}")
    return decimal_of(unscaled, type_.scale)


def _round_to_long(rounding: Callable[[int, int], int], value: float, mode: Mode) -> int:
    """Return FLOOR or CEIL of a double; under ANSI it raises out of range, as Spark does since 4.3."""
    exact = rounding(*value.as_integer_ratio()) if math.isfinite(value) else value
    result = saturate(exact, LONG)
    if result != exact and not math.isnan(exact) and mode is not Mode.LEGACY:
        raise Overflow(f"{value} is no {LONG}")
    return result


def _sign(value: float) -> float:
    return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


def _square_root(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _exponential(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _logarithm_of(log: Callable[[float], float], *, above: float) -> Callable[[float], float | None]:
    """Return a logarithm function that is NULL for values up to `above`."""
    return lambda value: None if value <= above else log(value)


def _logarithm_to_base(base: float, value: float) -> float | None:
    if base <= 0 or value <= 0:
        return None
    numerator, denominator = math.log(value), math.log(base)
    if denominator == 0:
        return math.nan if numerator == 0 else numerator * math.inf
    return numerator / denominator


def _power(base: float, exponent: float) -> float:
    """Return a power as Java does: NaN if an operand is, or for one raised to an infinity."""
    if exponent == 0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    odd = math.isfinite(exponent) and abs(math.fmod(exponent, 2)) == 1
    infinite = math.copysign(math.inf, base) if odd else math.inf
    if base == 0 and exponent < 0:
        return infinite
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return infinite
    except ValueError:
        return math.nan


_OF_DOUBLES: Mapping[Function, Callable[..., float | None]] = {
    Function.SIGN: _sign,
    Function.SQRT: _square_root,
    Function.EXP: _exponential,
    Function.LN: _logarithm_of(math.log, above=0.0),
    Function.LOG10: _logarithm_of(math.log10, above=0.0),
    Function.LOG2: _logarithm_of(lambda value: math.log(value) / math.log(2.0), above=0.0),
    Function.LOG1P: _logarithm_of(math.log1p, above=-1.0),
    Function.LOG: _logarithm_to_base,
    Function.POWER: _power,
}


def _extreme(operands: Sequence[Value | None], *, greatest: bool) -> Value | None:
    """Return the first extreme operand, so that 0.0 and -0.0 are kept apart; NULLs are skipped."""

    def better(kept: Value, other: Value) -> Value:
        lesser, larger = (kept, other) if greatest else (other, kept)
        return other if _is_above(larger, lesser) else kept

    present = [operand for operand in operands if operand is not None]
    return functools.reduce(better, present) if present else None


def _is_above(value: Value, other: Value) -> bool:
    """Tell whether a value is above another; NaN is above everything but itself."""
    if isinstance(other, float) and math.isnan(other):
        return False
    if isinstance(value, float) and math.isnan(value):
        return True
    # Both have one type, so Python can compare them; mypy sees only the union of all types.
    return bool(value > other)  # type: ignore[operator]


_EXTREMES: Mapping[Function, Callable[[Sequence[Value | None]], Value | None]] = {
    Function.GREATEST: functools.partial(_extreme, greatest=True),
    Function.LEAST: functools.partial(_extreme, greatest=False),
}
