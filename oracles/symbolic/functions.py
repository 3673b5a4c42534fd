"""What the functions of numbers mean on a symbolic row, as Z3 terms; for `oracles.symbolic.evaluation`.

Integers and decimals are exact. Of floats, FLOOR and CEIL are; SQRT, EXP, POWER and the logarithms
are real functions of which little is known, their results rounded, their NULLs, NaNs and infinities
exact. Where releases of Spark differ, a row may have either answer.

Axioms: MONOTONE - a real function of one argument never decreases; Java demands it of its own
(`semi-monotonic`). TEXT - the shortest text of a double lies in the order of doubles. POSITIVE -
no power of e, and no square root, is below zero.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import z3

from oracles.symbolic.ideals import (
    NO,
    ZERO,
    Ideals,
    Outcome,
    Term,
    at_scale,
    choose,
    fitted,
    half_even,
    half_up,
    less,
    limits,
    magnitude,
    rounded,
    saturated,
    unless,
)
from pruning.expressions.trees import Function, Mode
from pruning.expressions.types import LONG, Kind, Type

# Since Spark 4.0 negation rounds decimals to as many digits.
_NEGATED_DIGITS_MAX = 34
_POSITIVE = frozenset({Function.EXP, Function.SQRT})


def call(
    ideals: Ideals,
    function: Function,
    operands: Sequence[Outcome],
    source: Type,
    type_: Type,
    mode: Mode,
    *,
    digits: int,
    either: Term,
) -> Outcome:
    """`function(operands)`, a value of `type_`; `source` is the type of the first operand.

    Args:
        digits: The digits after the point to round to.
        either: A free boolean, for where releases of Spark do one or the other.
    """
    if function in (Function.GREATEST, Function.LEAST):
        return _extreme(operands, greatest=function is Function.GREATEST)
    first = operands[0]
    if function in _ELEMENTARY:
        result = _ELEMENTARY[function](ideals, *operands)
        null, raises = z3.Or(*(each.null for each in operands)), z3.Or(*(each.raises for each in operands))
        return unless(result, null=null, raises=raises)
    if function is Function.SIGN:
        return replace(first, value=z3.ToReal(first.direction), sign=ZERO)
    if function is Function.NEGATE:
        return _negated(ideals, first, type_, mode, either)
    if function is Function.ABS:
        below = z3.And(z3.Not(first.nan), first.direction < 0)
        return choose(below, _negated(ideals, first, type_, mode, either), first)
    if source.floating:
        return _float_rounded(ideals, function, first, type_, digits)
    return _rounded(function, first, source, type_, mode, digits)


def _negated(ideals: Ideals, operand: Outcome, type_: Type, mode: Mode, either: Term) -> Outcome:
    if type_.floating:
        return replace(operand, value=-operand.value, sign=-operand.sign)
    if type_.kind is not Kind.DECIMAL:
        return _fitted(-operand.value, operand, type_, mode)
    value = -operand.value
    if type_.precision <= _NEGATED_DIGITS_MAX:
        return replace(operand, value=value)
    near = z3.ToInt(ideals.apply(f"{_NEGATED_DIGITS_MAX} digits", [z3.ToReal(value)]))
    return choose(either, replace(operand, value=value), _or_raises(near, operand, type_))


def _fitted(exact: Term, operand: Outcome, type_: Type, mode: Mode) -> Outcome:
    """Functions have no form that gives NULL where the result does not fit."""
    mode = Mode.LEGACY if mode is Mode.LEGACY else Mode.ANSI
    return fitted(exact, type_, mode, null=operand.null, raises=operand.raises)


def _or_raises(exact: Term, operand: Outcome, type_: Type) -> Outcome:
    """A decimal too long raises in every mode."""
    return fitted(exact, type_, Mode.ANSI, null=operand.null, raises=operand.raises)


def _rounded(
    function: Function, operand: Outcome, source: Type, type_: Type, mode: Mode, digits: int
) -> Outcome:
    """Of integers, and of decimals by their unscaled integers."""
    value, drop = operand.value, source.scale - digits
    if drop > 0:
        value = _UNITS[function](value, 10**drop) * 10**drop
    # At least as many digits are left as were asked for, so that this drops none of them.
    exact = at_scale(value, source.scale, type_.scale)
    if type_.kind is Kind.DECIMAL:
        return _or_raises(exact, operand, type_)
    return _fitted(exact, operand, type_, mode)


_UNITS: Mapping[Function, Callable[[Term, int], Term]] = {
    Function.FLOOR: lambda value, unit: value / unit,
    Function.CEIL: lambda value, unit: -(-value / unit),
    Function.ROUND: lambda value, unit: half_up(value, z3.IntVal(unit)),
    Function.BROUND: half_even,
}


def _float_rounded(ideals: Ideals, function: Function, operand: Outcome, type_: Type, digits: int) -> Outcome:
    if type_ == LONG:
        return _whole(function, operand)
    name = "half up" if function is Function.ROUND else "half even"
    units = ideals.apply(f"{name} {digits}", [operand.value])
    exact = units / 10**digits if digits >= 0 else units * 10**-digits
    near = rounded(ideals, exact, null=operand.null, raises=operand.raises)
    return replace(near, nan=operand.nan, sign=z3.If(operand.sign != 0, operand.sign, near.sign))


def _whole(function: Function, operand: Outcome) -> Outcome:
    """NaN is 0; beyond the bigints lie their ends, where Spark 4.3 raises under ANSI."""
    value = z3.ToInt(operand.value) if function is Function.FLOOR else -z3.ToInt(-operand.value)
    least, greatest = limits(LONG)
    extreme = z3.If(operand.sign < 0, least, greatest)
    value = z3.If(operand.nan, 0, z3.If(operand.sign != 0, extreme, saturated(value, LONG)))
    return replace(operand, nan=NO, value=value, sign=ZERO)


def _number(value: Term, sign: Term = ZERO, *, null: Term = NO, nan: Term = NO) -> Outcome:
    return Outcome(raises=NO, null=null, nan=nan, value=value, sign=sign)


def _applied(ideals: Ideals, function: Function, *arguments: Outcome) -> tuple[Term, Term]:
    return ideals.rounded(ideals.apply(function.value, [argument.value for argument in arguments]))


def _square_root(ideals: Ideals, operand: Outcome) -> Outcome:
    sign, value = _applied(ideals, Function.SQRT, operand)
    nan = z3.Or(operand.nan, operand.direction < 0)
    return _number(value, z3.If(operand.sign != 0, operand.sign, sign), nan=nan)


def _exponential(ideals: Ideals, operand: Outcome) -> Outcome:
    sign, value = _applied(ideals, Function.EXP, operand)
    infinite = z3.If(operand.sign > 0, 1, 0)
    return _number(
        z3.If(operand.sign < 0, 0, value), z3.If(operand.sign != 0, infinite, sign), nan=operand.nan
    )


def _logarithm(function: Function, above: int) -> Callable[[Ideals, Outcome], Outcome]:
    """A logarithm that is NULL up to some number."""

    def meaning(ideals: Ideals, operand: Outcome) -> Outcome:
        sign, value = _applied(ideals, function, operand)
        below = z3.Or(operand.sign < 0, z3.And(operand.sign == 0, operand.value <= above))
        null = z3.And(z3.Not(operand.nan), below)
        return _number(value, z3.If(operand.sign != 0, operand.sign, sign), null=null, nan=operand.nan)

    return meaning


def _logarithm_to_base(ideals: Ideals, base: Outcome, operand: Outcome) -> Outcome:
    """A quotient of logarithms, divided as Java does: that of base 1 is 0."""
    sign, value = _applied(ideals, Function.LOG, base, operand)
    null = z3.Or(*(z3.And(z3.Not(each.nan), each.direction <= 0) for each in (base, operand)))
    one = z3.And(base.sign == 0, base.value == 1)
    both = z3.And(base.sign != 0, operand.sign != 0)
    undefined = z3.Or(both, z3.And(one, operand.sign == 0, operand.value == 1))
    above = z3.Or(operand.sign != 0, operand.value > 1)
    shrinks = z3.And(base.sign == 0, base.value < 1)
    infinite = z3.If(one, z3.If(above, 1, -1), z3.If(shrinks, -1, 1))
    unbounded = z3.Or(one, operand.sign != 0)
    return _number(
        z3.If(base.sign != 0, 0, value),
        z3.If(base.sign != 0, 0, z3.If(unbounded, infinite, sign)),
        null=null,
        nan=z3.Or(base.nan, operand.nan, undefined),
    )


def _power(ideals: Ideals, base: Outcome, exponent: Outcome) -> Outcome:
    """As Java does it; the sign of zero, which an odd negative power would tell, is free."""
    sign, value = _applied(ideals, Function.POWER, base, exponent)
    whole = z3.And(exponent.sign == 0, z3.ToReal(z3.ToInt(exponent.value)) == exponent.value)
    odd = z3.And(whole, z3.ToInt(exponent.value) % 2 == 1)
    size = magnitude(base.value)
    one = z3.And(base.sign == 0, size == 1)
    undefined = z3.Or(
        base.nan,
        exponent.nan,
        z3.And(one, exponent.sign != 0),
        z3.And(base.sign == 0, base.value < 0, exponent.sign == 0, z3.Not(whole)),
    )
    # Where an operand is infinite or the base is zero, the power is infinite or zero.
    grows = z3.Or(base.sign != 0, size > 1) == (exponent.direction > 0)
    negative = z3.And(odd, z3.Or(base.direction < 0, z3.And(base.zero, sign < 0)))
    infinite = z3.If(negative, -1, 1)
    limit = z3.Or(base.sign != 0, exponent.sign != 0, base.value == 0)
    found = _number(z3.If(limit, 0, value), z3.If(limit, z3.If(grows, infinite, 0), sign), nan=undefined)
    return choose(exponent.zero, _number(z3.RealVal(1)), found)


_ELEMENTARY: Mapping[Function, Callable[..., Outcome]] = {
    Function.SQRT: _square_root,
    Function.EXP: _exponential,
    Function.LN: _logarithm(Function.LN, 0),
    Function.LOG10: _logarithm(Function.LOG10, 0),
    Function.LOG2: _logarithm(Function.LOG2, 0),
    Function.LOG1P: _logarithm(Function.LOG1P, -1),
    Function.LOG: _logarithm_to_base,
    Function.POWER: _power,
}


def _extreme(operands: Sequence[Outcome], *, greatest: bool) -> Outcome:
    """The first of the extreme operands that are not NULL."""
    kept, *others = operands
    for other in others:
        beyond = less(kept, other) if greatest else less(other, kept)
        takes = z3.And(z3.Not(other.null), z3.Or(kept.null, beyond))
        raises = z3.Or(kept.raises, other.raises)
        kept = replace(choose(takes, other, kept), raises=raises)
    return kept


def axioms(name: str, arguments: list[Term], result: Term, earlier: list[tuple[Term, Term]]) -> list[Term]:
    """MONOTONE and TEXT beside earlier (argument, result) of the same function, and POSITIVE."""
    terms = [result >= 0] if name in {function.value for function in _POSITIVE} else []
    if len(arguments) == 1:
        argument = arguments[0]
        for other, other_result in earlier:
            terms.append(z3.Implies(argument <= other, result <= other_result))
            terms.append(z3.Implies(other <= argument, other_result <= result))
    return terms
