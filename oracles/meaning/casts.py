"""Spark's casts in plain Python, for `oracles.meaning.brute_force`."""

import math
from decimal import Decimal
from fractions import Fraction

from oracles.meaning.numbers import (
    NoSecondOpinion,
    at_scale,
    decimal_of,
    digits_of,
    fit_decimal,
    fit_integer,
    float32,
    integer_range,
    nearest_float32,
    raise_under_ansi,
    round_text,
    scale_of,
    wrap,
)
from oracles.meaning.time_casts import between_times, parse_time, time_text
from pruning.expressions.trees import Mode
from pruning.expressions.types import INTEGER, LONG, Kind, Type, Value

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)


def cast(value: Value | None, source: Type, target: Type, mode: Mode, *, zone: str) -> Value | None:
    """Return `CAST(value AS target)`; None is NULL.

    Raises:
        Overflow: The value is out of the target's range and the mode is ANSI.
        oracles.meaning.numbers.NoSecondOpinion: This oracle does not cover such types, or such a value.
    """
    if value is None or source == target:
        return value
    if source.kind in _TIMES and target.kind in _TIMES:
        return between_times(int(value), source.kind, target.kind, zone)
    if source.kind in _TIMES and target.kind is Kind.STRING:
        return time_text(int(value), source.kind, zone)
    if source.kind is Kind.STRING and target.kind in _TIMES:
        return parse_time(value, target, mode, zone)
    if source.integral and target.kind is Kind.STRING:
        return str(int(value)).encode()
    if not isinstance(value, bytes) and _is_numeric(source):
        if target.kind is Kind.BOOLEAN:
            return bool(value != 0)
        if isinstance(value, float):
            return _from_float(value, target, mode)
        if isinstance(value, Decimal):
            return _from_decimal(value, target, mode)
        return _from_integer(int(value), target, mode)
    raise NoSecondOpinion(f"no second opinion on a cast from {source} to {target}")


def _is_numeric(type_: Type) -> bool:
    return type_.integral or type_.floating or type_.kind in (Kind.BOOLEAN, Kind.DECIMAL)


def _from_integer(value: int, target: Type, mode: Mode) -> Value | None:
    if target.integral:
        return fit_integer(value, target, mode)
    if target.kind is Kind.DECIMAL:
        return fit_decimal(value, 0, target, mode)
    return _to_float(Fraction(value), target)


def _to_float(exact: Fraction, target: Type) -> float:
    if not target.floating:
        raise NoSecondOpinion(f"no second opinion on a cast from a number to {target}")
    return nearest_float32(exact) if target.kind is Kind.FLOAT else float(exact)


def _from_float(value: float, target: Type, mode: Mode) -> Value | None:
    if target.floating:
        return float32(value) if target.kind is Kind.FLOAT else value
    if target.kind is Kind.DECIMAL:
        # Spark goes by the text of the double, also for a float; NaN and infinities give NULL, even under
        # ANSI.
        if not math.isfinite(value):
            return None
        # All that does not fit has one result, so that the texts of releases of Java need not agree on it.
        beyond: int = 10**target.precision

        def to_target(digits: int, scale: int) -> int:
            rounded: int = at_scale(digits, scale, target.scale)
            return max(-beyond, min(rounded, beyond))

        return fit_decimal(round_text(value, to_target), target.scale, target, mode)
    if target.integral:
        return _truncate(value, target, mode)
    raise NoSecondOpinion(f"no second opinion on a cast from a float to {target}")


def _truncate(value: float, target: Type, mode: Mode) -> int | None:
    """Return a float without its fraction, as an integer of the target.

    Without ANSI, Spark takes a tinyint or smallint from the low bits of an int. Its test that a value fits
    in a bigint compares with a double, so that it accepts 2**63, which saturates.
    """
    if mode is Mode.LEGACY:
        return wrap(saturate(value, LONG if target == LONG else INTEGER), target)
    if math.isfinite(value):
        least, greatest = integer_range(target)
        if least <= int(value) <= (int(float(greatest)) if target == LONG else greatest):
            return saturate(value, target)
    raise_under_ansi(f"{value} is no {target}", mode)
    return None


def saturate(value: float, target: Type) -> int:
    """Convert a float to an integer as Java does: NaN is 0, values out of range become the limits."""
    least, greatest = integer_range(target)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return greatest if value > 0 else least
    return min(max(int(value), least), greatest)


def _from_decimal(value: Decimal, target: Type, mode: Mode) -> Value | None:
    digits, scale = digits_of(value, scale_of(value)), scale_of(value)
    if target.kind is Kind.DECIMAL:
        return fit_decimal(digits, scale, target, mode)
    if not target.integral:
        return _to_float(Fraction(digits, 10**scale), target)
    whole = int(decimal_of(digits, scale))
    if mode is Mode.LEGACY:
        return wrap(whole, target)
    if target != LONG and _depends_on_representation(whole, value, target):
        raise NoSecondOpinion(f"no second opinion on {value} as {target}: a double may stand between")
    return fit_integer(whole, target, mode)


def _depends_on_representation(whole: int, value: Decimal, target: Type) -> bool:
    """Tell whether the result depends on whether Spark converts the decimal by way of a double."""
    least, greatest = integer_range(target)
    by_double = int(float(value))
    return whole != by_double and (least <= whole <= greatest or least <= by_double <= greatest)
