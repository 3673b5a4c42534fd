"""Decimals as unscaled integers with a scale: exact at any length, where Python's contexts round."""

from decimal import Decimal
from fractions import Fraction

from pruning.expressions.types import Type


def units_and_scale(value: Decimal) -> tuple[int, int]:
    """Return the integer n and the scale s with value = n * 10**-s."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    magnitude = int("".join(map(str, digits)))
    return -magnitude if sign else magnitude, -exponent


def decimal_from_units(units: int, scale: int) -> Decimal:
    """Return the decimal units * 10**-scale; zero gets no sign."""
    return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


def decimal_in_type(units: int, type_: Type) -> Decimal | None:
    """Return the decimal units * 10**-scale of a type; None if it has more digits than the type."""
    return None if abs(units) >= 10**type_.precision else decimal_from_units(units, type_.scale)


def nearest(value: Fraction, type_: Type) -> Decimal | None:
    """Return a number rounded half up to a decimal type; None if it has more digits than the type."""
    return decimal_in_type(half_up(value.numerator * 10**type_.scale, value.denominator), type_)


def half_up(numerator: int, denominator: int) -> int:
    """Return the quotient rounded to the nearest integer, halves away from zero; the divisor is not zero."""
    magnitude = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return magnitude if (numerator < 0) == (denominator < 0) else -magnitude


def toward_zero(numerator: int, denominator: int) -> int:
    """Return the quotient truncated toward zero; the divisor is not zero."""
    magnitude = abs(numerator) // abs(denominator)
    return magnitude if (numerator < 0) == (denominator < 0) else -magnitude


def common_scale(left: Decimal, right: Decimal) -> tuple[int, int, int]:
    """Return both values as integers at the greater of their scales, and that scale."""
    (left_digits, left_scale), (right_digits, right_scale) = units_and_scale(left), units_and_scale(right)
    scale = max(left_scale, right_scale)
    return left_digits * 10 ** (scale - left_scale), right_digits * 10 ** (scale - right_scale), scale


def rescale(digits: int, scale: int, type_: Type) -> Decimal | None:
    """Return digits * 10**-scale rounded half up to the type's scale; None where it does not fit."""
    shift = type_.scale - scale
    return decimal_in_type(digits * 10**shift if shift >= 0 else half_up(digits, 10**-shift), type_)
