"""Canonical forms of expressions, so that expressions of equal value compare equal.

On every row on which the given expression has a value, its canonical form has the same value. Where the
given one raises, the canonical form may not.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pruning.expressions.traversal import children, is_repeatable, walk
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Compare,
    Contains,
    EndsWith,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Operator,
    Or,
    Quantified,
    RLike,
    StartsWith,
    type_of,
)
from pruning.rules.families.casts import always_fits

_NEVER_OVERFLOW = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY)  # of floats


def canonical(expression: Expression) -> Expression:
    """Return the expression without modes that make no difference, repeated operands and dead branches."""
    done: dict[int, Expression] = {}
    # Parents come first in a walk, so that its reverse has every operand ready.
    for node in reversed(list(walk(expression))):
        if id(node) not in done:
            done[id(node)] = _simplify(_with_operands(node, done))
    return done[id(expression)]


def _with_operands(node: Expression, done: Mapping[int, Expression]) -> Expression:
    """Return the node with its canonical operands; the same node if they did not change."""
    operands = [done[id(operand)] for operand in children(node)]
    if all(new is old for new, old in zip(operands, children(node), strict=True)):
        return node
    match node:
        case Compare() | Arithmetic():
            return replace(node, left=operands[0], right=operands[1])
        case And() | Or() | Coalesce() | Call():
            return replace(node, operands=tuple(operands))
        case Not() | IsNull() | Cast() | StartsWith() | EndsWith() | Contains() | Like() | RLike():
            return replace(node, operand=operands[0])
        case Quantified():
            return replace(node, body=operands[0])
        case In():
            return replace(node, operand=operands[0], members=tuple(operands[1:]))
        case Case():
            *branches, otherwise = operands
            pairs = tuple(zip(branches[0::2], branches[1::2], strict=True))
            return replace(node, branches=pairs, otherwise=otherwise)
        case _:
            return node


def _simplify(node: Expression) -> Expression:
    """Return the canonical form of a node over canonical operands."""
    rewrite = _REWRITES.get(type(node))
    return node if rewrite is None else rewrite(node)


def _cast(node: Cast) -> Expression:
    """Ignore the mode of a cast that always fits."""
    return replace(node, mode=Mode.ANSI) if always_fits(type_of(node.operand), node.type) else node


def _arithmetic(node: Arithmetic) -> Expression:
    """Ignore the mode of arithmetic on floats, which never overflows."""
    exact = node.type.floating and node.operator in _NEVER_OVERFLOW
    return replace(node, mode=Mode.ANSI) if exact else node


def _coalesce(node: Coalesce) -> Expression:
    """Drop repeated operands: one that came before was NULL."""
    operands = _distinct(node.operands)
    return operands[0] if len(operands) == 1 else replace(node, operands=operands)


def _call(node: Call) -> Expression:
    """Drop repeated operands of GREATEST and LEAST."""
    if node.function not in (Function.GREATEST, Function.LEAST):
        return node
    operands = _distinct(node.operands)
    return operands[0] if len(operands) == 1 else replace(node, operands=operands)


def _distinct(operands: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return the operands without repetitions of repeatable ones."""
    kept: list[Expression] = []
    for operand in operands:
        if operand not in kept or not is_repeatable(operand):
            kept.append(operand)
    return tuple(kept)


def _case(node: Case) -> Expression:
    """Drop branches that are never taken, and those behind one that always is.

    A CASE whose branches all have one result is that result.
    """
    branches: list[tuple[Expression, Expression]] = []
    otherwise = node.otherwise
    for condition, value in node.branches:
        if not isinstance(condition, Literal):
            branches.append((condition, value))
        elif condition.value is True:
            otherwise = value
            break
    alike = all(value == otherwise for _, value in branches) and is_repeatable(otherwise)
    if not branches or alike:
        return otherwise
    return replace(node, branches=tuple(branches), otherwise=otherwise)


_REWRITES: Mapping[type, Callable[..., Expression]] = {
    Cast: _cast,
    Arithmetic: _arithmetic,
    Coalesce: _coalesce,
    Call: _call,
    Case: _case,
}
