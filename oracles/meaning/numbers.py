"""Fitting of exact results into Spark's types of numbers, in plain Python, for `oracles.meaning.brute_force`.

Decimals are handled as integers with a scale, so that no decimal context rounds them.
"""

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from pruning.expressions.trees import Mode
from pruning.expressions.types import Type

Number = TypeVar("Number", int, float)


class Overflow(ArithmeticError):
    """Spark raises here: a result is out of its type's range, or a divisor is zero."""


class NoSecondOpinion(Exception):
    """This oracle cannot judge: releases of Spark or Java differ here, or the expression is not covered."""


def fit_integer(value: int, type_: Type, mode: Mode) -> int | None:
    """Fit an integer in a type: out of range it raises, wraps around or is NULL, by the mode."""
    limits = integer_range(type_)
    if limits[0] <= value <= limits[1]:
        return value
    if mode is Mode.LEGACY:
        return wrap(value, type_)
    raise_under_ansi(f"{value} is no {type_}", mode)
    return None


def wrap(value: int, type_: Type) -> int:
    """Return the integer of the type with the same low bits."""
    least, greatest = integer_range(type_)
    return (value - least) % (greatest - least + 1) + least


def integer_range(type_: Type) -> tuple[int, int]:
    """Return the least and the greatest integer of an integral type."""
    limits = type_.integer_range
    assert limits is not None
    return limits


def raise_under_ansi(reason: str, mode: Mode) -> None:
    """Raise under ANSI because there is no result; otherwise the caller returns NULL.

    Raises:
        Overflow: The mode is ANSI.
    """
    if mode is Mode.ANSI:
        raise Overflow(reason)


def fit_decimal(digits: int, scale: int, type_: Type, mode: Mode) -> Decimal | None:
    """Return digits * 10**-scale, rounded half away from zero to the type's scale."""
    rounded = at_scale(digits, scale, type_.scale)
    if abs(rounded) < 10**type_.precision:
        return decimal_of(rounded, type_.scale)
    raise_under_ansi(f"{digits}E{-scale} is no {type_}", mode)
    return None


def at_scale(digits: int, scale: int, target: int) -> int:
    """Return digits * 10**-scale as a count of 10**-target, rounded half away from zero."""
    if target >= scale:
        return digits * _power_of_ten(target - scale)
    unit = _power_of_ten(scale - target)
    magnitude = (2 * abs(digits) + unit) // (2 * unit)
    return -magnitude if digits < 0 else magnitude


def _power_of_ten(exponent: int) -> int:
    return int(10**exponent)


def decimal_of(digits: int, scale: int) -> Decimal:
    """Return digits * 10**-scale as a decimal with exactly that scale."""
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


def scale_of(value: Decimal) -> int:
    """Return the number of digits after the point."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def digits_of(value: Decimal, scale: int) -> int:
    """Return the value as an integer count of 10**-scale; the scale must be at least the value's own."""
    sign, digits, _ = value.as_tuple()
    magnitude: int = int("".join(map(str, digits))) * 10 ** (scale - scale_of(value))
    return -magnitude if sign else magnitude


def round_text(value: float, rounding: Callable[[int, int], Number]) -> Number:
    """Apply a rounding of digits and scale to the decimal text of a finite double.

    Spark rounds the text that Java writes. That is the shortest text that identifies the double, as in
    Python; but Java before 19 wrote longer texts of long, small or great numbers (JDK-4511638): up to 18
    digits of a whole number, such as 2.46961152095944704E17.

    Raises:
        NoSecondOpinion: The result depends on the release of Java.
    """
    shortest = Decimal(repr(value))
    texts = [shortest]
    if not _surely_shortest(shortest):
        texts += [Decimal(f"{value:.{places}e}") for places in (16, 17, 18)]
    first, *others = {rounding(digits_of(text, scale_of(text)), scale_of(text)) for text in texts}
    if others:
        raise NoSecondOpinion(f"no second opinion on the text of {value!r}: releases of Java differ")
    return first


def _surely_shortest(text: Decimal) -> bool:
    return not text or (len(text.as_tuple().digits) <= 15 and -15 <= text.adjusted() < 15)


def float32(value: float) -> float:
    """Round a double to a 32-bit float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def nearest_float32(exact: Fraction) -> float:
    """Round an exact number once to a 32-bit float; by way of a double it could be rounded twice."""
    nearest = float(exact)
    if Fraction(nearest) == exact:
        return float32(nearest)
    below, above = (float32(math.nextafter(nearest, end)) for end in (-math.inf, math.inf))
    tie = math.isfinite(below + above) and Fraction(below) + Fraction(above) == 2 * Fraction(nearest)
    if not tie:
        return float32(nearest)
    return above if exact > Fraction(nearest) else below
