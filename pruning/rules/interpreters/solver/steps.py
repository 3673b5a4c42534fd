"""The steps of dates and times on Z3 terms, for proofs.

Steps of a fixed length are arithmetic. The others are uninterpreted integer functions that satisfy the
axioms of `solver.times`.
"""

import z3

from pruning.expressions.types import Type
from pruning.rules.interpreters.solver.numbers import Number, Term
from pruning.rules.interpreters.solver.theory import Theory
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time.steps import UTC, Action, Envelope, Step, greatest_operand


def apply_step(
    theory: Theory, step: Step, bend: Envelope, number: Number, target: Type
) -> tuple[Term, Number]:
    """Return whether a step has a value at a number, and that value."""
    result = Number(step_of(theory, step, bend, number.value), z3.IntVal(0))
    limit = greatest_operand(step)
    defined = z3.And(number.value <= limit, number.value >= -limit)
    return z3.And(defined, theory.in_type(result, target)), result


def step_of(theory: Theory, step: Step, bend: Envelope, number: Term) -> Term:
    """Return a step, or its envelope, of an integer."""
    match step.action:
        case Action.FLOOR:
            return number / step.number * step.number
        case Action.INDEX:
            return number / step.number
        case Action.SHIFT:
            return number + step.number
        case Action.MIDNIGHT if step.zone == UTC:
            return number * MICROS_PER_DAY
        case Action.REFLECT:
            return step.number - number
        case Action.TIMES:
            return number * step.number
        case Action.QUOTIENT:
            return z3.If(number >= 0, number / step.number, -((-number) / step.number))
    return theory.times.of(step, bend, number)
