"""Bounds in the JSON of Delta's statistics: their forms by type, and the values that they stand for.

Each form gives the value that is at most, or at least, what a writer may have made the text of.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np

from pruning.expressions.types import Kind, Type

_EPOCH = datetime(1970, 1, 1)
_MINUTE = timedelta(minutes=1)
# From this year on, no zone has an offset with seconds, which the offsets in statistics lack.
_WHOLE_OFFSETS = datetime(1973, 1, 1)
# Enough digits for any decimal.
_WIDE = Context(prec=80)
# Decimals of so many digits are the same after a way through floating-point numbers, if rounded to the scale.
_DOUBLE_DIGITS = 15
# More than the relative error of a decimal that went through a few floating-point operations.
_DOUBLE_ERROR = Decimal(2) ** -48
_NOT_FINITE = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def bound_of(value: Any, type_: Type, *, is_upper: bool) -> Any:
    """Return a bound of a type from its form in JSON; None if it is not of such a form.

    Numbers of the types that a column had before it was widened have the same form.
    """
    convert = _FORMS.get(type_.kind)
    try:
        return None if convert is None else convert(value, type_, is_upper)
    except (ValueError, ArithmeticError, UnicodeEncodeError):
        return None


def _integer(value: Any, type_: Type, is_upper: bool) -> int | None:
    assert type_.integer_range is not None
    lowest, highest = type_.integer_range
    return value if type(value) is int and lowest <= value <= highest else None


def _float(value: Any, type_: Type, is_upper: bool) -> float | None:
    """Return a floating-point bound; a text stands for what JSON has no number for.

    Claim     The bound is not within the value that was written.
    Premises  The value's text is that of the number itself, or of one that rounds to it, in its type.
    Proof     (1) A double is the nearest one to its text.
              (2) A float is the nearest one to its text, or to the double next to this, or beside that one.
    Unsound   if a float were taken as a double: 0.3 is less than the float that it stands for.
    """
    if isinstance(value, str):
        return _NOT_FINITE.get(value)
    if type(value) not in (int, float, Decimal):
        return None
    number = float(value)  # (1)
    if type_.kind is Kind.FLOAT and np.isfinite(number):
        return float(widened_floats(np.float32(number), is_upper=is_upper))  # (2)
    return number


def widened_floats(floats: Any, *, is_upper: bool) -> Any:
    """Return the next floats of 32 bits above or below."""
    return np.nextafter(floats, np.float32(np.inf if is_upper else -np.inf))


def decimal_bound(value: Any, type_: Type, is_upper: bool) -> Decimal | None:
    """Return a decimal bound.

    Claim     The bound is not within the value that was written.
    Premises  The value's text is exact, or that of a double that is a few roundings from it.
    Proof     (1) The text is read digit by digit.
              (2) The roundings change the value by less than the error; of up to 15 digits, by less than
              half a unit of the scale, so that what is left beyond the scale shows it.
              (3) The bound is the next decimal of the scale on its own side.
    Unsound   if the text were read as a double, or trusted to have all digits of a longer decimal.
    """
    if type(value) not in (int, Decimal):
        return None
    with localcontext(_WIDE):
        exact = Decimal(value)  # (1)
        if type_.precision > _DOUBLE_DIGITS:
            error = abs(exact) * _DOUBLE_ERROR  # (2)
            exact = exact + error if is_upper else exact - error
        rounding = "ROUND_CEILING" if is_upper else "ROUND_FLOOR"
        bound = exact.quantize(Decimal(1).scaleb(-type_.scale), rounding=rounding)  # (3)
        return bound if abs(bound) < Decimal(10) ** (type_.precision - type_.scale) else None


def _text(value: Any, type_: Type, is_upper: bool) -> str | None:
    if not isinstance(value, str):
        return None
    value.encode()
    return value


def _boolean(value: Any, type_: Type, is_upper: bool) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, type_: Type, is_upper: bool) -> date | None:
    return date.fromisoformat(value) if isinstance(value, str) else None


def _time(value: Any, type_: Type, is_upper: bool) -> int | None:
    """Return microseconds since 1970.

    Texts have offsets of whole minutes, of which zones once had some with seconds: a bound of such a time is
    moved by a minute.
    """
    if not isinstance(value, str):
        return None
    time = datetime.fromisoformat(value)
    offset = time.utcoffset()
    time = time.replace(tzinfo=None)
    # A time without an offset may be of any zone.
    if (offset is None) != (type_.kind is Kind.TIMESTAMP_NTZ):
        return None
    if offset is not None:
        time -= offset
        if offset and time < _WHOLE_OFFSETS:
            time = time + _MINUTE if is_upper else time - _MINUTE
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


_FORMS: dict[Kind, Callable[[Any, Type, bool], Any]] = {
    Kind.BYTE: _integer,
    Kind.SHORT: _integer,
    Kind.INTEGER: _integer,
    Kind.LONG: _integer,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _float,
    Kind.DECIMAL: decimal_bound,
    Kind.STRING: _text,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _time,
    Kind.TIMESTAMP_NTZ: _time,
}
