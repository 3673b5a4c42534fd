"""The meaning of functions of numbers on a symbolic row, as Z3 terms; for `oracles.symbolic.evaluation`.

Integers and decimals are exact. Of floats, FLOOR and CEIL are; SQRT, EXP, POWER and the logarithms are real
functions with few known properties, whose results are rounded; their NULLs, NaNs and infinities are exact.
Where releases of Spark differ, a row may have either result.

Axioms: MONOTONE - a real function of one argument never decreases; Java demands this of its own functions
(`semi-monotonic`). TEXT - the shortest texts of doubles are in the order of the doubles. POSITIVE - no power
of e, and no square root, is below zero.
"""

from collections.abc import Callable, Mapping, Sequence
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
    half_even,
    half_up,
    is_less,
    limits,
    magnitude,
    or_else,
    round_to_float,
    saturate,
)
from pruning.expressions.trees import Function, Mode
from pruning.expressions.types import LONG, Kind, Type

# Since Spark 4.0 negation rounds decimals to so many digits.
_NEGATED_DIGITS_MAX = 34
_POSITIVE = frozenset({Function.EXP, Function.SQRT})


def call(
    ideals: Ideals,
    function: Function,
    operands: Sequence[SymbolicValue],
    source: Type,
    type_: Type,
    mode: Mode,
    *,
    digits: int,
    either: Term,
) -> SymbolicValue:
    """Return `function(operands)`, a value of `type_`; `source` is the type of the first operand.

    Args:
        digits: The number of digits after the point to round to.
        either: A free boolean, for where releases of Spark differ.
    """
    if function in (Function.GREATEST, Function.LEAST):
        return _extreme(operands, greatest=function is Function.GREATEST)
    first = operands[0]
    if function in _ELEMENTARY:
        result = _ELEMENTARY[function](ideals, *operands)
        null, raises = (
            z3.Or(*(argument.null for argument in operands)),
            z3.Or(*(argument.raises for argument in operands)),
        )
        return or_else(result, null=null, raises=raises)
    if function is Function.SIGN:
        return replace(first, value=z3.ToReal(first.direction), sign=ZERO)
    if function is Function.NEGATE:
        return _negate(ideals, first, type_, mode, either)
    if function is Function.ABS:
        below = z3.And(z3.Not(first.nan), first.direction < 0)
        return choose(below, _negate(ideals, first, type_, mode, either), first)
    if source.floating:
        return _round_float(ideals, function, first, type_, digits)
    return _round(function, first, source, type_, mode, digits)


def _negate(ideals: Ideals, operand: SymbolicValue, type_: Type, mode: Mode, either: Term) -> SymbolicValue:
    if type_.floating:
        return replace(operand, value=-operand.value, sign=-operand.sign)
    if type_.kind is not Kind.DECIMAL:
        return _fit(-operand.value, operand, type_, mode)
    value = -operand.value
    if type_.precision <= _NEGATED_DIGITS_MAX:
        return replace(operand, value=value)
    near = z3.ToInt(ideals.apply(f"{_NEGATED_DIGITS_MAX} digits", [z3.ToReal(value)]))
    return choose(either, replace(operand, value=value), _fit_decimal_or_raise(near, operand, type_))


def _fit(exact: Term, operand: SymbolicValue, type_: Type, mode: Mode) -> SymbolicValue:
    """Fit an integer in a type; functions have no mode that gives NULL where the result does not fit."""
    mode = Mode.LEGACY if mode is Mode.LEGACY else Mode.ANSI
    return fit(exact, type_, mode, null=operand.null, raises=operand.raises)


def _fit_decimal_or_raise(exact: Term, operand: SymbolicValue, type_: Type) -> SymbolicValue:
    """Fit a decimal in its type; one that is too long raises in every mode."""
    return fit(exact, type_, Mode.ANSI, null=operand.null, raises=operand.raises)


def _round(
    function: Function, operand: SymbolicValue, source: Type, type_: Type, mode: Mode, digits: int
) -> SymbolicValue:
    """Round an integer, or a decimal by its unscaled integer."""
    value, drop = operand.value, source.scale - digits
    if drop > 0:
        value = _UNITS[function](value, 10**drop) * 10**drop
    # The type keeps at least the digits that were asked for, so that this drops none of them.
    exact = at_scale(value, source.scale, type_.scale)
    if type_.kind is Kind.DECIMAL:
        return _fit_decimal_or_raise(exact, operand, type_)
    return _fit(exact, operand, type_, mode)


_UNITS: Mapping[Function, Callable[[Term, int], Term]] = {
    Function.FLOOR: lambda value, unit: value / unit,
    Function.CEIL: lambda value, unit: -(-value / unit),
    Function.ROUND: lambda value, unit: half_up(value, z3.IntVal(unit)),
    Function.BROUND: half_even,
}


def _round_float(
    ideals: Ideals, function: Function, operand: SymbolicValue, type_: Type, digits: int
) -> SymbolicValue:
    if type_ == LONG:
        return _round_to_long(function, operand)
    name = "half up" if function is Function.ROUND else "half even"
    units = ideals.apply(f"{name} {digits}", [operand.value])
    exact = units / 10**digits if digits >= 0 else units * 10**-digits
    near = round_to_float(ideals, exact, null=operand.null, raises=operand.raises)
    return replace(near, nan=operand.nan, sign=z3.If(operand.sign != 0, operand.sign, near.sign))


def _round_to_long(function: Function, operand: SymbolicValue) -> SymbolicValue:
    """Return FLOOR or CEIL as a bigint: NaN is 0; out of range it is the limit (Spark 4.3 may raise)."""
    value = z3.ToInt(operand.value) if function is Function.FLOOR else -z3.ToInt(-operand.value)
    least, greatest = limits(LONG)
    extreme = z3.If(operand.sign < 0, least, greatest)
    value = z3.If(operand.nan, 0, z3.If(operand.sign != 0, extreme, saturate(value, LONG)))
    return replace(operand, nan=NO, value=value, sign=ZERO)


def _number(value: Term, sign: Term = ZERO, *, null: Term = NO, nan: Term = NO) -> SymbolicValue:
    return SymbolicValue(raises=NO, null=null, nan=nan, value=value, sign=sign)


def _apply_rounded(ideals: Ideals, function: Function, *arguments: SymbolicValue) -> tuple[Term, Term]:
    return ideals.rounded(ideals.apply(function.value, [argument.value for argument in arguments]))


def _square_root(ideals: Ideals, operand: SymbolicValue) -> SymbolicValue:
    sign, value = _apply_rounded(ideals, Function.SQRT, operand)
    nan = z3.Or(operand.nan, operand.direction < 0)
    return _number(value, z3.If(operand.sign != 0, operand.sign, sign), nan=nan)


def _exponential(ideals: Ideals, operand: SymbolicValue) -> SymbolicValue:
    sign, value = _apply_rounded(ideals, Function.EXP, operand)
    infinite = z3.If(operand.sign > 0, 1, 0)
    return _number(
        z3.If(operand.sign < 0, 0, value), z3.If(operand.sign != 0, infinite, sign), nan=operand.nan
    )


def _logarithm(function: Function, above: int) -> Callable[[Ideals, SymbolicValue], SymbolicValue]:
    """Return the meaning of a logarithm that is NULL for values up to `above`."""

    def meaning(ideals: Ideals, operand: SymbolicValue) -> SymbolicValue:
        sign, value = _apply_rounded(ideals, function, operand)
        below = z3.Or(operand.sign < 0, z3.And(operand.sign == 0, operand.value <= above))
        null = z3.And(z3.Not(operand.nan), below)
        return _number(value, z3.If(operand.sign != 0, operand.sign, sign), null=null, nan=operand.nan)

    return meaning


def _logarithm_to_base(ideals: Ideals, base: SymbolicValue, operand: SymbolicValue) -> SymbolicValue:
    """Return a quotient of logarithms, divided as Java does; the logarithm of base 1 is 0."""
    sign, value = _apply_rounded(ideals, Function.LOG, base, operand)
    null = z3.Or(*(z3.And(z3.Not(argument.nan), argument.direction <= 0) for argument in (base, operand)))
    base_is_one = z3.And(base.sign == 0, base.value == 1)
    both = z3.And(base.sign != 0, operand.sign != 0)
    undefined = z3.Or(both, z3.And(base_is_one, operand.sign == 0, operand.value == 1))
    above = z3.Or(operand.sign != 0, operand.value > 1)
    shrinks = z3.And(base.sign == 0, base.value < 1)
    infinite = z3.If(base_is_one, z3.If(above, 1, -1), z3.If(shrinks, -1, 1))
    unbounded = z3.Or(base_is_one, operand.sign != 0)
    return _number(
        z3.If(base.sign != 0, 0, value),
        z3.If(base.sign != 0, 0, z3.If(unbounded, infinite, sign)),
        null=null,
        nan=z3.Or(base.nan, operand.nan, undefined),
    )


def _power(ideals: Ideals, base: SymbolicValue, exponent: SymbolicValue) -> SymbolicValue:
    """Return a power as Java does; the sign of zero, on which an odd negative power depends, is free."""
    sign, value = _apply_rounded(ideals, Function.POWER, base, exponent)
    whole = z3.And(exponent.sign == 0, z3.ToReal(z3.ToInt(exponent.value)) == exponent.value)
    odd = z3.And(whole, z3.ToInt(exponent.value) % 2 == 1)
    size = magnitude(base.value)
    size_is_one = z3.And(base.sign == 0, size == 1)
    undefined = z3.Or(
        base.nan,
        exponent.nan,
        z3.And(size_is_one, exponent.sign != 0),
        z3.And(base.sign == 0, base.value < 0, exponent.sign == 0, z3.Not(whole)),
    )
    # If an operand is infinite or the base is zero, the power is infinite or zero.
    grows = z3.Or(base.sign != 0, size > 1) == (exponent.direction > 0)
    negative = z3.And(odd, z3.Or(base.direction < 0, z3.And(base.zero, sign < 0)))
    infinite = z3.If(negative, -1, 1)
    limit = z3.Or(base.sign != 0, exponent.sign != 0, base.value == 0)
    power = _number(z3.If(limit, 0, value), z3.If(limit, z3.If(grows, infinite, 0), sign), nan=undefined)
    return choose(exponent.zero, _number(z3.RealVal(1)), power)


_ELEMENTARY: Mapping[Function, Callable[..., SymbolicValue]] = {
    Function.SQRT: _square_root,
    Function.EXP: _exponential,
    Function.LN: _logarithm(Function.LN, 0),
    Function.LOG10: _logarithm(Function.LOG10, 0),
    Function.LOG2: _logarithm(Function.LOG2, 0),
    Function.LOG1P: _logarithm(Function.LOG1P, -1),
    Function.LOG: _logarithm_to_base,
    Function.POWER: _power,
}


def _extreme(operands: Sequence[SymbolicValue], *, greatest: bool) -> SymbolicValue:
    """Return the first extreme operand that is not NULL."""
    kept, *others = operands
    for other in others:
        beyond = is_less(kept, other) if greatest else is_less(other, kept)
        takes = z3.And(z3.Not(other.null), z3.Or(kept.null, beyond))
        raises = z3.Or(kept.raises, other.raises)
        kept = replace(choose(takes, other, kept), raises=raises)
    return kept


def axioms(name: str, arguments: list[Term], result: Term, earlier: list[tuple[Term, Term]]) -> list[Term]:
    """Return MONOTONE and TEXT for earlier (argument, result) pairs of the same function, and POSITIVE."""
    terms = [result >= 0] if name in {function.value for function in _POSITIVE} else []
    if len(arguments) == 1:
        argument = arguments[0]
        for other, other_result in earlier:
            terms.append(z3.Implies(argument <= other, result <= other_result))
            terms.append(z3.Implies(other <= argument, other_result <= result))
    return terms
