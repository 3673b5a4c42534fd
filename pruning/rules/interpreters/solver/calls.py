"""The meaning of functions of numbers on Z3 terms: the number, and whether there is one."""

import z3

from pruning.expressions.trees import Function
from pruning.expressions.types import Kind, Type
from pruning.rules.interpreters.solver.casts import at_scale
from pruning.rules.interpreters.solver.functions import whole_exponent
from pruning.rules.interpreters.solver.numbers import Number, Term, limits_of
from pruning.rules.interpreters.solver.steps import apply_step
from pruning.rules.interpreters.solver.theory import Theory
from pruning.rules.program import functions
from pruning.rules.program.functions import ROUNDING, Apply, Side
from pruning.rules.time.steps import Step


def apply(
    theory: Theory, call: Apply, operands: list[Number], source: Type, target: Type
) -> tuple[Term, Number]:
    """Return whether a function has a value in `target`, and that value or one that encloses it."""
    number = operands[0]
    if isinstance(call.function, Step):
        return apply_step(theory, call.function, functions.ENVELOPES[call.side], number, target)
    if call.function in ROUNDING and not source.floating:
        digits = min(call.digits, source.scale)
        return at_scale(theory, call.function, number, source.scale, digits, target)
    if call.function in (Function.FLOOR, Function.CEIL):
        return z3.BoolVal(True), _saturate(call.function, number, target)
    if call.function in ROUNDING:
        return _round_text(theory, call, number, target)
    if call.function is Function.SIGN:
        finite = z3.If(number.value > 0, 1, z3.If(number.value < 0, -1, 0))
        sign = z3.If(number.sign != 0, number.sign, finite)
        return z3.BoolVal(True), Number(z3.ToReal(sign), z3.IntVal(0))
    defined, value = _elementary(theory, call.function, operands)
    return defined, value if call.side is Side.VALUE else _number_beside(theory, call.side, value)


def _round_text(theory: Theory, call: Apply, number: Number, target: Type) -> tuple[Term, Number]:
    """Return the rounded text of a double, or an integer beside it; axiom TEXT."""
    theory.narrows = True
    name = "half up" if call.function is Function.ROUND else "half even"
    units = z3.ToInt(theory.functions.of(f"{name} {call.digits}", [number.value]))
    beside = _number_beside(theory, call.side, Number(units, z3.IntVal(0)))
    if target.kind is Kind.DECIMAL:
        return z3.And(number.sign == 0, theory.in_type(beside, target)), beside
    near = theory.rounding.of(z3.ToReal(beside.value) * z3.RealVal(f"1e{-call.digits}"))
    return z3.BoolVal(True), Number(near.value, z3.If(number.sign != 0, number.sign, near.sign))


def _elementary(theory: Theory, function: Function, operands: list[Number]) -> tuple[Term, Number]:
    """Return where a function of doubles is defined, and its value, infinite or 0 in the limit."""
    near = theory.rounding.of(theory.functions.of(function.value, [number.value for number in operands]))
    number, zero = operands[-1], z3.IntVal(0)
    if function is Function.EXP:
        limit = Number(z3.RealVal(0), z3.If(number.sign > 0, 1, 0))
        return z3.BoolVal(True), limit.choose(number.sign != 0, near)
    if function is Function.POWER:
        return _power(near, *operands)
    infinite = Number(z3.RealVal(0), z3.IntVal(1))
    above = {Function.SQRT: number.value >= 0, Function.LOG1P: number.value > -1}
    defined = z3.Or(number.sign > 0, z3.And(number.sign == 0, above.get(function, number.value > 0)))
    value = infinite.choose(number.sign != 0, near)
    if function is Function.LOG:  # of bases above 1
        base = operands[0]
        value = Number(z3.RealVal(0), zero).choose(base.sign != 0, value)
        large = z3.Or(base.sign > 0, z3.And(base.sign == 0, base.value > 1))
        defined = z3.And(defined, large, z3.Not(z3.And(base.sign != 0, number.sign != 0)))
    return defined, value


def _power(near: Number, base: Number, exponent: Number) -> tuple[Term, Number]:
    """Return where POWER is defined and its value: for bases from 0 on, and for whole exponents."""
    is_one = z3.Or(z3.And(exponent.sign == 0, exponent.value == 0), z3.And(base.sign == 0, base.value == 1))
    large = z3.Or(base.sign > 0, base.value > 1)
    rises = z3.Or(exponent.sign > 0, z3.And(exponent.sign == 0, exponent.value > 0))
    limit = z3.Or(base.sign != 0, exponent.sign != 0, base.value == 0)
    whole = whole_exponent(exponent.value)
    infinity = 1 if whole is None else z3.If(base.sign < 0, (-1) ** whole, 1)
    infinite = Number(z3.RealVal(0), z3.If(z3.Or(base.sign < 0, large == rises), infinity, 0))
    value = infinite.choose(limit, near)
    positive = z3.Or(base.sign > 0, z3.And(base.sign == 0, base.value >= 0))
    defined = positive if whole is None else z3.BoolVal(True)
    return defined, Number(z3.RealVal(1), z3.IntVal(0)).choose(is_one, value)


def _number_beside(theory: Theory, side: Side, value: Number) -> Number:
    """Return some number that is surely not above (not below) a value."""
    if side is Side.VALUE:
        return value
    real = z3.is_real(value.value)
    name = f"beside {len(theory.functions.enclosures)}"
    near = Number(z3.Real(name) if real else z3.Int(name), z3.Int(f"{name} sign") if real else z3.IntVal(0))
    low, high = (near, value) if side is Side.BELOW else (value, near)
    theory.functions.enclosures += [z3.And(low.at_most(high), near.sign >= -1, near.sign <= 1)]
    return near


def _saturate(function: Function, number: Number, target: Type) -> Number:
    """Return a number rounded down or up to an integer, cut to the limits of its type."""
    whole = z3.ToInt(number.value) if function is Function.FLOOR else -z3.ToInt(-number.value)
    limits = limits_of(target)
    assert limits is not None
    least, greatest = limits
    inside = z3.If(whole < least, least, z3.If(whole > greatest, greatest, whole))
    beyond = z3.If(number.sign < 0, least, greatest)
    return Number(z3.If(number.sign != 0, beyond, inside), z3.IntVal(0))
