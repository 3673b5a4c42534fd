"""Trees with nodes replaced."""

from pruning.expressions import types
from pruning.expressions.substitution import substitute
from pruning.expressions.trees import And, Case, Column, Compare, Comparison, IsNull, Literal, Not, Opaque

A, B = Column("a", types.INTEGER), Column("b", types.INTEGER)
ONE = Literal(1, types.INTEGER)


def equals(left, right):
    return Compare(Comparison.EQUAL, left, right)


def test_nodes_are_replaced_at_any_depth_also_in_branches():
    tree = And((Not(IsNull(A)), equals(Case(((IsNull(A), A),), A), ONE)))
    assert substitute(tree, {A: B}) == And((Not(IsNull(B)), equals(Case(((IsNull(B), B),), B), ONE)))


def test_the_outermost_of_nested_nodes_is_replaced():
    assert substitute(Not(IsNull(A)), {IsNull(A): equals(A, ONE), A: B}) == Not(equals(A, ONE))


def test_what_an_opaque_names_stays():
    opaque = Opaque("f(a)", types.INTEGER, (A,))
    assert substitute(equals(opaque, A), {A: B}) == equals(opaque, B)
    assert substitute(equals(opaque, A), {opaque: B}) == equals(B, A)
