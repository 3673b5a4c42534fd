"""Which columns a block should be cut along, because ranges alone lose what they have to do with each other.

Rules keep a range for each column and no relation between two mentions of one, so that they cannot
refute `a * a < 0` or `IF(a = b, a, 7) <> a`. In pieces of the block small enough they can.
"""

from collections.abc import Callable

from pruning.expressions.traversal import columns
from pruning.expressions.trees import And, Column, Expression, Not, Or
from pruning.rules.sets.outcomes import Outcomes

Judge = Callable[[Expression], Outcomes]


def correlated_columns(predicate: Expression, outcomes: Judge) -> tuple[Column, ...]:
    """The columns of those parts of a predicate that ranges do not decide exactly, in order of name."""
    types = columns(predicate)
    names = sorted(name for name in _inexact(predicate, outcomes) if types[name].has_bounds)
    return tuple(Column(name, types[name]) for name in names)


def _inexact(node: Expression, outcomes: Judge) -> set[str]:
    """A predicate on one column is exact, and so are predicates that share no column together."""
    subject = outcomes(node).subject
    if subject is None or isinstance(subject, Column):
        return set()
    if isinstance(node, Not):
        return _inexact(node.operand, outcomes)
    if not isinstance(node, And | Or):
        return set(columns(node))
    found: set[str] = set()
    for group in sharing_columns(node.operands):
        subjects = {outcomes(operand).subject for operand in group}
        if len(group) == 1:
            found |= _inexact(group[0], outcomes)
        elif len(subjects) > 1 or not isinstance(subjects.pop(), Column):
            found |= {name for operand in group for name in columns(operand)}
    return found


def sharing_columns(operands: tuple[Expression, ...]) -> list[list[Expression]]:
    """The operands in groups; those of two groups have no column in common."""
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
