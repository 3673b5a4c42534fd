"""Finds the columns along which to split a block, because ranges alone lose their correlation.

Rules keep a range for each column and no relation between two mentions of one, so they cannot refute
`a * a < 0` or `IF(a = b, a, 7) <> a`. In sufficiently small pieces of the block they can.
"""

from collections.abc import Callable

from pruning.expressions.traversal import columns
from pruning.expressions.trees import And, Column, Expression, Not, Or
from pruning.rules.sets.outcomes import Outcomes

Judge = Callable[[Expression], Outcomes]


def correlated_columns(predicate: Expression, outcomes: Judge) -> tuple[Column, ...]:
    """Return the columns of those parts of a predicate that ranges do not decide exactly, by name."""
    types = columns(predicate)
    names = sorted(name for name in _inexact(predicate, outcomes) if types[name].has_bounds)
    return tuple(Column(name, types[name]) for name in names)


def _inexact(node: Expression, outcomes: Judge) -> set[str]:
    """Return the names of the columns of the parts that ranges do not decide exactly.

    A predicate on one column is decided exactly, and so are predicates that share no column together.
    """
    subject = outcomes(node).subject
    if subject is None or isinstance(subject, Column):
        return set()
    if isinstance(node, Not):
        return _inexact(node.operand, outcomes)
    if not isinstance(node, And | Or):
        return set(columns(node))
    names: set[str] = set()
    for group in sharing_columns(node.operands):
        subjects = {outcomes(operand).subject for operand in group}
        if len(group) == 1:
            names |= _inexact(group[0], outcomes)
        elif len(subjects) > 1 or not isinstance(subjects.pop(), Column):
            names |= {name for operand in group for name in columns(operand)}
    return names


def sharing_columns(operands: tuple[Expression, ...]) -> list[list[Expression]]:
    """Return the operands in groups; operands of two groups have no column in common."""
    groups: list[tuple[set[str], list[Expression]]] = []
    for operand in operands:
        names, members = set(columns(operand)), [operand]
        apart = []
        for others, group in groups:
            if others & names:
                names, members = names | others, group + members
            else:
                apart.append((others, group))
        groups = [*apart, (names, members)]
    return [members for _, members in groups]
