"""The meaning of casts of numbers, dates and timestamps on Z3 terms, for proofs."""

import z3

from pruning.expressions.trees import Function
from pruning.expressions.types import Kind, Type
from pruning.rules.interpreters.solver.functions import rounded_units, toward_zero
from pruning.rules.interpreters.solver.numbers import Number, Term, limits_of
from pruning.rules.interpreters.solver.theory import Theory
from pruning.rules.sets import decimals, primitives


def cast(theory: Theory, number: Number, source: Type, target: Type) -> tuple[Term, Number]:
    """Return whether a value fits in `target`, and its cast value."""
    if target.floating:
        return z3.BoolVal(True), _to_float(theory, number, source, target)
    if source.floating:
        return _truncate(theory, number, target)
    if source.kind is Kind.DATE and target.kind is not Kind.DATE:
        number = Number(number.value * primitives.MICROS_PER_DAY, number.sign)
    if target.kind is Kind.DECIMAL:
        return at_scale(theory, Function.ROUND, number, source.scale, target.scale, target)
    if source.kind is Kind.DECIMAL:
        number = Number(toward_zero(number.value, 10**source.scale), number.sign)
    return theory.in_type(number, target), number


def _to_float(theory: Theory, number: Number, source: Type, target: Type) -> Number:
    """Return a number as a float."""
    if source == target or source.kind is Kind.FLOAT:
        return number
    if source.floating:
        near = theory.rounding.of(number.value)
        return Number(near.value, z3.If(number.sign != 0, number.sign, near.sign))
    if source.kind is Kind.DECIMAL:
        theory.narrows = True
        greatest = 10**source.precision - 1
        theory.constants |= {
            (decimals.decimal_from_units(sign * greatest, source.scale), source) for sign in (-1, 1)
        }
    return theory.rounding.of(z3.ToReal(number.value) / 10**source.scale)


def _truncate(theory: Theory, number: Number, target: Type) -> tuple[Term, Number]:
    """Return a float truncated to an integer, and whether it fits; 2**63 becomes the greatest bigint."""
    theory.narrows = True
    whole = z3.If(number.value < 0, -z3.ToInt(-number.value), z3.ToInt(number.value))
    limits = limits_of(target)
    assert limits is not None
    if target.kind is Kind.LONG:
        whole = z3.If(number.value == limits[1] + 1, limits[1], whole)
    fits = z3.And(number.sign == 0, whole >= limits[0], whole <= limits[1])
    return fits, Number(whole, z3.IntVal(0))


def at_scale(
    theory: Theory, function: Function, number: Number, scale: int, digits: int, target: Type
) -> tuple[Term, Number]:
    """Return whether an unscaled number fits in `target` once rounded to some digits, and that number."""
    units = number.value
    if digits < scale:
        units = rounded_units(function, units, 10 ** (scale - digits)) * 10 ** (target.scale - digits)
    else:
        units = units * 10 ** (target.scale - scale)
    result = Number(units, z3.IntVal(0))
    return theory.in_type(result, target), result
