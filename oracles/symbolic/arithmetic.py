"""The meaning of `+ - * / div %` on a symbolic row, as Z3 terms; for `oracles.symbolic.evaluation`.

Integers and decimals are exact, except that a quotient of decimals with more than 39 digits does not raise
here, which only adds rows. Floats are exact reals, rounded once.
"""

import z3

from oracles.meaning.numbers import NoSecondOpinion
from oracles.symbolic.ideals import (
    ZERO,
    Ideals,
    SymbolicValue,
    Term,
    at_scale,
    fit,
    half_up,
    magnitude,
    or_else,
    quotient,
    wrap,
)
from pruning.expressions.trees import Mode, Operator
from pruning.expressions.types import LONG, Kind, Type, decimal

_DIVISIONS = frozenset({Operator.DIVIDE, Operator.INTEGRAL_DIVIDE, Operator.REMAINDER})


def arithmetic(
    ideals: Ideals,
    operator: Operator,
    operands: tuple[SymbolicValue, SymbolicValue],
    types: tuple[Type, Type],
    type_: Type,
    mode: Mode,
) -> SymbolicValue:
    """Return `left operator right` computed in a type, from operands of two types."""
    left, right = operands
    null, raises = z3.Or(left.null, right.null), z3.Or(left.raises, right.raises)
    if operator in _DIVISIONS:
        by_zero = z3.And(z3.Not(null), right.zero)
        if mode is Mode.ANSI:
            raises = z3.Or(raises, by_zero)
        else:
            null = z3.Or(null, by_zero)
    if type_.floating:
        return or_else(_float(ideals, operator, left, right), null=null, raises=raises)
    if Kind.DECIMAL in (types[0].kind, types[1].kind):
        return _decimal(operator, operands, types, type_, mode, null=null, raises=raises)
    return fit(_integer(operator, left.value, right.value), type_, mode, null=null, raises=raises)


def _integer(operator: Operator, left: Term, right: Term) -> Term:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.INTEGRAL_DIVIDE:
            return quotient(left, right)
        case Operator.REMAINDER:
            return left - right * quotient(left, right)
    raise NoSecondOpinion(f"{operator.value} of integers has no symbolic meaning")


def _decimal(
    operator: Operator,
    operands: tuple[SymbolicValue, SymbolicValue],
    types: tuple[Type, Type],
    type_: Type,
    mode: Mode,
    *,
    null: Term,
    raises: Term,
) -> SymbolicValue:
    scale = max(types[0].scale, types[1].scale)
    left, right = (at_scale(operands[side].value, types[side].scale, scale) for side in (0, 1))
    if operator is Operator.INTEGRAL_DIVIDE:
        whole = fit(quotient(left, right), _quotient_type(types), mode, null=null, raises=raises)
        # Spark keeps 64 bits of a quotient that fits in the decimal type, in every mode.
        return SymbolicValue(
            raises=whole.raises,
            null=whole.null,
            nan=whole.nan,
            value=wrap(whole.value, LONG),
            sign=whole.sign,
        )
    if operator is Operator.DIVIDE:
        exact = half_up(left * 10**type_.scale, right)
    elif operator is Operator.MULTIPLY:
        exact = at_scale(operands[0].value * operands[1].value, types[0].scale + types[1].scale, type_.scale)
    else:
        exact = at_scale(_integer(operator, left, right), scale, type_.scale)
    return fit(exact, type_, mode, null=null, raises=raises)


def _quotient_type(types: tuple[Type, Type]) -> Type:
    """Return the decimal type that Spark gives `left div right` before it converts that to a bigint."""
    left, right = types
    return decimal(min(38, max(1, left.precision - left.scale + right.scale)), 0)


def _float(ideals: Ideals, operator: Operator, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    match operator:
        case Operator.ADD:
            return _sum(ideals, left, right, 1)
        case Operator.SUBTRACT:
            return _sum(ideals, left, right, -1)
        case Operator.MULTIPLY:
            return _product(ideals, left, right)
        case Operator.DIVIDE:
            return _ratio(ideals, left, right)
        case Operator.REMAINDER:
            return _remainder(left, right)
    raise NoSecondOpinion(f"{operator.value} of floats has no symbolic meaning")


def _float_result(
    left: SymbolicValue, right: SymbolicValue, *, nan: Term, value: Term, sign: Term
) -> SymbolicValue:
    """Return a number, or NaN if an operand is NaN or the operation has no result."""
    no = z3.BoolVal(False)
    return SymbolicValue(raises=no, null=no, nan=z3.Or(left.nan, right.nan, nan), value=value, sign=sign)


def _sum(ideals: Ideals, left: SymbolicValue, right: SymbolicValue, sign: int) -> SymbolicValue:
    right_sign = sign * right.sign
    cancels = z3.And(left.sign != 0, right_sign == -left.sign)
    rounded_sign, value = ideals.rounded(left.value + sign * right.value)
    finite = z3.And(left.sign == 0, right.sign == 0)
    infinite = z3.If(left.sign != 0, left.sign, right_sign)
    return _float_result(left, right, nan=cancels, value=value, sign=z3.If(finite, rounded_sign, infinite))


def _product(ideals: Ideals, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    sign, value = ideals.rounded(left.value * right.value)
    infinite = z3.Or(left.sign != 0, right.sign != 0)
    direction = left.direction * right.direction
    undefined = z3.And(infinite, direction == 0)
    return _float_result(left, right, nan=undefined, value=value, sign=z3.If(infinite, direction, sign))


def _ratio(ideals: Ideals, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    """Return the quotient of floats for a divisor that is not zero."""
    sign, value = ideals.rounded(left.value / right.value)
    undefined = z3.And(left.sign != 0, right.sign != 0)
    sign = z3.If(right.sign != 0, ZERO, z3.If(left.sign != 0, left.sign * right.direction, sign))
    return _float_result(left, right, nan=undefined, value=z3.If(right.sign != 0, 0, value), sign=sign)


def _remainder(left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    """Return the remainder of floats, which is exact: it has no more digits than the operands."""
    dividend, divisor = magnitude(left.value), magnitude(right.value)
    rest = dividend - divisor * z3.ToReal(z3.ToInt(dividend / divisor))
    signed = z3.If(left.value < 0, -rest, rest)
    value = z3.If(right.sign != 0, left.value, signed)
    return _float_result(left, right, nan=left.sign != 0, value=value, sign=ZERO)
