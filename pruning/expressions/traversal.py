"""What is below an expression: its operands, every node, its columns."""

from collections.abc import Iterator

from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Contains,
    Element,
    EndsWith,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Order,
    Quantified,
    RLike,
    StartsWith,
)
from pruning.expressions.types import Type


def children(expression: Expression) -> tuple[Expression, ...]:
    """The operands of an expression, left to right."""
    match expression:
        case Compare(_, left, right) | Arithmetic(_, left, right) | Order(left, right):
            return (left, right)
        case And(operands) | Or(operands) | Coalesce(operands) | Call(_, operands):
            return operands
        case Not(operand) | IsNull(operand) | Cast(operand) | Quantified(_, _, operand):
            return (operand,)
        case StartsWith(operand) | EndsWith(operand) | Contains(operand) | Like(operand) | RLike(operand):
            return (operand,)
        case In(operand, members):
            return (operand, *members)
        case Case(branches, otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case Opaque():
            return expression.columns
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, parents first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def columns(expression: Expression) -> dict[str, Type]:
    """The columns an expression names, in order of appearance, with their types."""
    return {node.name: node.type for node in walk(expression) if isinstance(node, Column)}


def leaf_names(*expressions: Expression) -> tuple[str, ...]:
    """Return the names of the columns of block metadata that expressions are about, elements included."""
    named = (
        node.name
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Column | Element)
    )
    return tuple(dict.fromkeys(named))


def repeatable(expression: Expression) -> bool:
    """Whether all expressions equal to this one have its value on a row: nothing random is in it."""
    return all(node.columns for node in walk(expression) if isinstance(node, Opaque))
