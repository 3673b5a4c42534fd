"""Traversal of expression trees: operands, all nodes, and the columns they name."""

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
    """Return the operands of an expression, left to right."""
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
    """Yield the expression and all nodes below it, parents first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def columns(expression: Expression) -> dict[str, Type]:
    """Return the columns that an expression names, in order of appearance, with their types."""
    return {node.name: node.type for node in walk(expression) if isinstance(node, Column)}


def leaf_names(*expressions: Expression) -> tuple[str, ...]:
    """Return the names, in block metadata, of the columns and array elements in the expressions."""
    named = (
        node.name
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Column | Element)
    )
    return tuple(dict.fromkeys(named))


def is_repeatable(expression: Expression) -> bool:
    """Tell whether equal expressions have equal values on a row, as without random functions."""
    return all(node.columns for node in walk(expression) if isinstance(node, Opaque))
