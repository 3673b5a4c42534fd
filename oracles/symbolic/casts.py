"""The meaning of casts among numbers and booleans on a symbolic row, as Z3 terms."""

from dataclasses import replace

import z3

from oracles.symbolic.ideals import (
    NO,
    ZERO,
    Ideals,
    SymbolicValue,
    Term,
    at_scale,
    choose,
    fit,
    limits,
    quotient,
    real_of,
    round_to_float,
    saturate,
    truncate,
    wrap,
)
from pruning.expressions.trees import Mode
from pruning.expressions.types import DOUBLE, INTEGER, LONG, Kind, Type

# A decimal of more digits may be nearer to an integer than any double is.
_DOUBLE_DIGITS = 15


def are_numbers(source: Type, target: Type) -> bool:
    """Tell whether both types are numbers or booleans."""
    return all(
        type_.integral or type_.floating or type_.kind in (Kind.DECIMAL, Kind.BOOLEAN)
        for type_ in (source, target)
    )


def cast(
    ideals: Ideals, operand: SymbolicValue, source: Type, target: Type, mode: Mode, *, either: Term
) -> SymbolicValue:
    """Return `CAST(operand AS target)`; `either` is a free boolean, for where releases of Spark differ."""
    if source == target or (source.floating and target == DOUBLE):
        return operand
    if target.kind is Kind.BOOLEAN:
        value = z3.If(operand.zero, 0, 1)
        return replace(operand, nan=NO, value=value, sign=ZERO)
    if target.floating:
        return _to_float(ideals, operand, source)
    if source.floating:
        return _from_float(ideals, operand, target, mode)
    if target.kind is Kind.DECIMAL:
        exact = at_scale(operand.value, source.scale, target.scale)
        return fit(exact, target, mode, null=operand.null, raises=operand.raises)
    return _to_integer(ideals, operand, source, target, mode, either)


def _to_float(ideals: Ideals, operand: SymbolicValue, source: Type) -> SymbolicValue:
    near = round_to_float(ideals, real_of(operand, source), null=operand.null, raises=operand.raises)
    if not source.floating:
        return near
    return replace(near, nan=operand.nan, sign=z3.If(operand.sign != 0, operand.sign, near.sign))


def _from_float(ideals: Ideals, operand: SymbolicValue, target: Type, mode: Mode) -> SymbolicValue:
    if target.kind is Kind.DECIMAL:
        digits = z3.ToInt(ideals.apply(f"half up {target.scale}", [operand.value]))
        # Neither NaN nor an infinity raises, even under ANSI.
        null = z3.Or(operand.null, z3.Not(operand.finite))
        return fit(digits, target, mode, null=null, raises=operand.raises)
    whole = truncate(operand.value)
    if mode is Mode.LEGACY:
        through = LONG if target == LONG else INTEGER
        least, greatest = limits(through)
        extreme = z3.If(operand.sign < 0, least, greatest)
        value = z3.If(operand.nan, 0, z3.If(operand.sign != 0, extreme, saturate(whole, through)))
        return SymbolicValue(
            raises=operand.raises, null=operand.null, nan=NO, value=wrap(value, target), sign=ZERO
        )
    # Spark's test accepts 2**63, which then saturates.
    beyond = z3.And(z3.BoolVal(target == LONG), whole == limits(LONG)[1] + 1)
    value = z3.If(beyond, limits(target)[1], whole)
    fitted_value = fit(
        value, target, mode, null=z3.Or(operand.null, z3.Not(operand.finite)), raises=operand.raises
    )
    undefined = z3.And(z3.Not(operand.null), z3.Not(operand.finite))
    if mode is Mode.TRY:
        return fitted_value
    return replace(fitted_value, null=operand.null, raises=z3.Or(fitted_value.raises, undefined))


def _to_integer(
    ideals: Ideals, operand: SymbolicValue, source: Type, target: Type, mode: Mode, either: Term
) -> SymbolicValue:
    whole = operand.value
    if source.kind is Kind.DECIMAL:
        whole = quotient(operand.value, z3.IntVal(10**source.scale))
    exact = fit(whole, target, mode, null=operand.null, raises=operand.raises)
    by_double = source.kind is Kind.DECIMAL and source.scale > 0 and source.precision > _DOUBLE_DIGITS
    if mode is Mode.LEGACY or target == LONG or not by_double:
        return exact
    # Spark converts by way of a double where it holds the decimal as an object.
    _, near = ideals.rounded(real_of(operand, source))
    other = fit(truncate(near), target, mode, null=operand.null, raises=operand.raises)
    return choose(either, exact, other)
