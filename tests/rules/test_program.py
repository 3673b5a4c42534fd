"""Programs stay small: equal operations once, what is constant folded, nesting linear."""

import itertools
import pickle

import pytest

from pruning.expressions.trees import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    Literal,
    Not,
    Operator,
    Or,
)
from pruning.expressions.types import BOOLEAN, LONG
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Op, Program
from pruning.rules.sets.cuts import Cuts
from pruning.verdicts.classification import compile_predicate

A, B = Column("a", LONG), Column("b", LONG)


def above(expression: Expression, value: int) -> Expression:
    """`expression > value`."""
    return Compare(Comparison.GREATER, expression, Literal(value, LONG))


def nested_if(depth: int) -> Expression:
    """IF (a > depth, IF (...) + 1, b) > 5."""
    value: Expression = A
    for level in range(depth):
        value = Case(((above(A, level), Arithmetic(Operator.ADD, value, Literal(1, LONG), LONG)),), B)
    return above(value, 5)


def nested_condition(depth: int) -> Expression:
    """IF (IF (...) > 0, a, b) > 5: the condition itself is nested."""
    value: Expression = A
    for level in range(depth):
        value = Case(((above(value, level), B),), A)
    return above(value, 5)


def alternating(depth: int) -> Expression:
    """a > 0 AND (b > 1 OR (a > 2 AND ...))."""
    predicate = above(A, depth)
    for level in reversed(range(depth)):
        connective = (And, Or)[level % 2]
        predicate = connective((above((A, B)[level % 2], level), predicate))
    return predicate


@pytest.mark.parametrize("shape", [nested_if, nested_condition])
def test_nesting_an_if_deeper_costs_the_same_each_time(shape: object) -> None:
    depths = (5, 10, 20, 40)
    sizes = [len(compile_predicate(shape(depth)).operations) for depth in depths]
    pairs = itertools.pairwise(zip(depths, sizes, strict=True))
    growth = [(after - before) / (deeper - depth) for (depth, before), (deeper, after) in pairs]
    assert max(growth) <= 1.1 * min(growth), sizes


def test_alternating_connectives_cost_at_most_their_depth_cubed() -> None:
    """Whether each level may be NULL is asked in an environment of its own."""
    sizes = [len(compile_predicate(alternating(depth)).operations) for depth in (4, 8, 16, 32)]
    assert all(after <= 8 * before for before, after in itertools.pairwise(sizes)), sizes


def test_equal_operations_are_one() -> None:
    build = Builder()
    lower, constant = build.bound_input(Aspect.LOWER, "a", LONG), build.bound(3, LONG)
    assert build.maybe_less(lower, constant) == build.maybe_less(lower, build.bound(3, LONG))
    assert build.least_known(lower, constant) == build.least_known(constant, lower)


def test_constants_leave_no_operation() -> None:
    always = Not(And((Literal(True, BOOLEAN), Compare(Comparison.LESS, Literal(5, LONG), Literal(3, LONG)))))
    assert {step.op for step in compile_predicate(always).operations} <= {Op.FLAG, Op.FLAG_INPUT}


def test_a_program_keeps_only_what_its_outputs_need() -> None:
    build = Builder()
    needed = build.flag_input(Aspect.MAY_NULL, "a", LONG)
    build.flag_input(Aspect.MAY_NULL, "b", LONG)
    assert len(build.program(needed).operations) == 1


def test_constants_that_python_calls_equal_stay_apart() -> None:
    build = Builder()
    assert build.bound(1, LONG) != build.bound(2, LONG)
    assert build.flag(True).index != build.bound(True, BOOLEAN).index
    assert build.bound(0.0, LONG).index != build.bound(-0.0, LONG).index


def test_a_program_can_be_sent_to_executors() -> None:
    program = compile_predicate(nested_if(3))
    assert isinstance(program, Program)
    assert pickle.loads(pickle.dumps(program)) == program


def test_many_predicates_on_one_column_are_one_set() -> None:
    """However many: two thousand once took six seconds."""
    found = [Compare(Comparison.EQUAL, A, Literal(3 * value, LONG)) for value in range(2_000)]
    program = compile_predicate(Or(tuple(found)))
    sets = [step.payload for step in program.operations if step.op is Op.MAYBE_MEETS]
    assert {len(cuts.points) for cuts in sets if isinstance(cuts, Cuts)} == {4_000}
