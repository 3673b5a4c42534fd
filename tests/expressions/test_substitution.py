"""Trees with nodes replaced."""

from pruning.expressions import types
from pruning.expressions.substitution import substituted
from pruning.expressions.trees import And, Case, Column, Compare, Comparison, IsNull, Literal, Not, Opaque

A, B = Column("a", types.INTEGER), Column("b", types.INTEGER)
ONE = Literal(1, types.INTEGER)


def equals(left, right):
    return Compare(Comparison.EQUAL, left, right)


def test_nodes_are_replaced_at_any_depth_also_in_branches():
    tree = And((Not(IsNull(A)), equals(Case(((IsNull(A), A),), A), ONE)))
    assert substituted(tree, {A: B}) == And((Not(IsNull(B)), equals(Case(((IsNull(B), B),), B), ONE)))


def test_the_outermost_of_nested_nodes_is_replaced():
    assert substituted(Not(IsNull(A)), {IsNull(A): equals(A, ONE), A: B}) == Not(equals(A, ONE))


def test_what_an_opaque_names_stays():
    opaque = Opaque("f(a)", types.INTEGER, (A,))
    assert substituted(equals(opaque, A), {A: B}) == equals(opaque, B)
    assert substituted(equals(opaque, A), {opaque: B}) == equals(B, A)
