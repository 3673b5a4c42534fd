"""Decimals as integers at a scale: exact at any length, where Python's contexts would round."""

from decimal import Decimal
from fractions import Fraction

from pruning.expressions.types import Type


def unscaled(value: Decimal) -> tuple[int, int]:
    """The integer n and the scale s of value = n * 10**-s."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    magnitude = int("".join(map(str, digits)))
    return -magnitude if sign else magnitude, -exponent


def scaled(units: int, scale: int) -> Decimal:
    """units * 10**-scale; zero has no sign."""
    return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


def fitted(units: int, type_: Type) -> Decimal | None:
    """The decimal units * 10**-scale of the type; None beyond its digits."""
    return None if abs(units) >= 10**type_.precision else scaled(units, type_.scale)


def nearest(value: Fraction, type_: Type) -> Decimal | None:
    """A number rounded half up to a decimal type; None beyond its digits."""
    return fitted(half_up(value.numerator * 10**type_.scale, value.denominator), type_)


def half_up(numerator: int, denominator: int) -> int:
    """The quotient rounded to the nearest integer, halves away from zero; the divisor is not zero."""
    magnitude = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return magnitude if (numerator < 0) == (denominator < 0) else -magnitude


def toward_zero(numerator: int, denominator: int) -> int:
    """The integral part of the quotient; the divisor is not zero."""
    magnitude = abs(numerator) // abs(denominator)
    return magnitude if (numerator < 0) == (denominator < 0) else -magnitude


def aligned(left: Decimal, right: Decimal) -> tuple[int, int, int]:
    """Both values as integers at the greater scale, and that scale."""
    (left_digits, left_scale), (right_digits, right_scale) = unscaled(left), unscaled(right)
    scale = max(left_scale, right_scale)
    return left_digits * 10 ** (scale - left_scale), right_digits * 10 ** (scale - right_scale), scale


def rescaled(digits: int, scale: int, type_: Type) -> Decimal | None:
    """digits * 10**-scale rounded half up to the type's scale; None where it does not fit."""
    shift = type_.scale - scale
    return fitted(digits * 10**shift if shift >= 0 else half_up(digits, 10**-shift), type_)
