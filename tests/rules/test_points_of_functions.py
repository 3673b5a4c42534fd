"""The points at which a proof uses a function are told apart by Z3, not by how Z3 prints them."""

import z3

from pruning.expressions.trees import Function
from pruning.rules.interpreters.solver.functions import RealFunctions
from pruning.rules.interpreters.solver.times import TimeSteps
from pruning.rules.time.steps import Action, Envelope, Step

DEPTH = 40  # Z3 prints terms to a depth of 20


def deep_term(innermost: str, sort: z3.SortRef) -> z3.ExprRef:
    """A term of two variables that Z3 prints without the innermost one."""
    term = z3.Const(innermost, sort)
    for _ in range(DEPTH):
        term = z3.If(z3.Const("x", sort) > 0, term, z3.Const("x", sort))
    return term


def test_deep_terms_print_alike() -> None:
    """Otherwise the tests below would hold of texts too."""
    assert str(deep_term("a", z3.RealSort())) == str(deep_term("b", z3.RealSort()))


def test_arguments_that_print_alike_are_two_points() -> None:
    functions = RealFunctions()
    for innermost in "aba":
        functions.of(Function.EXP.value, [deep_term(innermost, z3.RealSort())])
    assert len(functions.points[Function.EXP.value]) == 2


def test_numbers_that_print_alike_are_two_points_of_a_step() -> None:
    steps = TimeSteps()
    step = Step(Action.LOCAL, zone="America/New_York")
    for innermost in "aba":
        steps.of(step, Envelope.HERE, deep_term(innermost, z3.IntSort()))
    assert len(steps.points[step, Envelope.HERE]) == 2
