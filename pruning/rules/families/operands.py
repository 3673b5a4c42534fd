"""Helpers that the rules of `+ - * / div %` share: signs, infinities, NaN, results that do not fit."""

import math
from dataclasses import replace

from pruning.expressions.trees import Mode
from pruning.expressions.types import Kind, Type, Value
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound, Flag
from pruning.rules.sets.decimals import decimal_from_units


def results_in_mode(build: Builder, exact: Range, mode: Mode) -> Range:
    """Return the results as the mode leaves them; a bound that does not fit is unknown.

    Claim     Each row's result, as the mode treats one that does not fit, lies in the range.
    Premises  The exact results lie in `exact`; floats always fit.
    Proof     (1) Where both exact bounds fit, every exact result does: nothing overflows.
              (2) Else some may not: ANSI raises, TRY and decimals give NULL; the others keep to the bounds.
              (3) LEGACY integers wrap round, so that their bounds hold no longer.
    """
    type_ = exact.type
    if type_.floating or mode is Mode.ANSI:
        return exact
    overflows = build.not_(build.and_(build.is_known(exact.lower), build.is_known(exact.upper)))  # (1)
    if mode is Mode.TRY or type_.kind is Kind.DECIMAL:  # (2)
        null = build.or_(exact.may_null, build.and_(exact.may_value, overflows))
        return replace(exact, may_null=null)
    return unbounded_where(build, exact, overflows)  # (3)


def unbounded_where(build: Builder, range_: Range, flag: Flag) -> Range:
    """Return the range without its bounds where the flag holds."""
    unknown = build.unknown(range_.type)
    return replace(
        range_,
        lower=build.choose(flag, unknown, range_.lower),
        upper=build.choose(flag, unknown, range_.upper),
    )


def zero(build: Builder, type_: Type) -> Bound:
    """Return the number 0 as a bound."""
    return build.bound(number(0, type_), type_)


def number(units: int, type_: Type) -> Value:
    """Return an integer as a float, or as that many smallest units of an integer or decimal type."""
    if type_.floating:
        return float(units)
    return decimal_from_units(units, type_.scale) if type_.kind is Kind.DECIMAL else units


def never_negative(build: Builder, bound: Bound) -> Flag:
    """Return the flag that the bound is known and at least 0."""
    return build.not_(build.maybe_less(bound, zero(build, bound.type)))


def never_positive(build: Builder, bound: Bound) -> Flag:
    """Return the flag that the bound is known and at most 0."""
    return build.not_(build.maybe_less(zero(build, bound.type), bound))


def may_be_positive(build: Builder, side: Range) -> Flag:
    """Return the flag that a value may be above 0."""
    return build.and_(side.may_value, build.maybe_less(zero(build, side.type), side.upper))


def may_be_negative(build: Builder, side: Range) -> Flag:
    """Return the flag that a value may be below 0."""
    return build.and_(side.may_value, build.maybe_less(side.lower, zero(build, side.type)))


def may_be_zero(build: Builder, side: Range) -> Flag:
    """Return the flag that a value may be 0, of either sign."""
    none = zero(build, side.type)
    return build.and_(
        side.may_value, build.maybe_at_most(side.lower, none), build.maybe_at_most(none, side.upper)
    )


def may_be_infinite(build: Builder, side: Range, sign: int) -> Flag:
    """Return the flag that a float may be the infinity of a sign, if it may be a value at all."""
    infinity = build.bound(sign * math.inf, side.type)
    if sign > 0:
        return build.maybe_at_most(infinity, side.upper)
    return build.maybe_at_most(side.lower, infinity)


def may_be_any_infinity(build: Builder, side: Range) -> Flag:
    """Return the flag that a float may be infinite."""
    infinite = build.or_(may_be_infinite(build, side, 1), may_be_infinite(build, side, -1))
    return build.and_(side.may_value, infinite)


def may_be_nan(build: Builder, left: Range, right: Range) -> Flag:
    """Return the flag that one side may be NaN while the other is not NULL."""
    return build.or_(
        build.and_(left.may_nan, build.or_(right.may_nan, right.may_value)),
        build.and_(right.may_nan, build.or_(left.may_nan, left.may_value)),
    )
