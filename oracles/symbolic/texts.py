"""What proofs may assume of functions of text: where their results lie in the order of bytes.

Axiom START: a start of a string is at most the string, and a string is at most what begins with it;
what begins with a string is below the first one above all that do (PREFIX).
"""

from collections.abc import Callable

import z3

from oracles.symbolic.ideals import Outcome, Term
from pruning.expressions.trees import Call, Function, Literal


def facts(node: Call, result: Outcome, operands: list[Outcome], place: Callable[[bytes], Term]) -> list[Term]:
    """The axioms that concern one call, of its result where that is not NULL."""
    if node.function is Function.LENGTH:
        terms = [result.value >= 0]
    elif node.function is Function.RTRIM or _starts(node):
        terms = [result.value <= operands[0].value]
    elif node.function is Function.CONCAT:
        terms = [operands[0].value <= result.value, *_below_end(node, result, place)]
    else:
        terms = []
    return [z3.Implies(z3.Not(result.null), term) for term in terms]


def _starts(node: Call) -> bool:
    """Whether it is a SUBSTRING from the first character on."""
    if node.function is not Function.SUBSTRING:
        return False
    position = node.operands[1]
    return isinstance(position, Literal) and position.value in (0, 1)


def _below_end(node: Call, result: Outcome, place: Callable[[bytes], Term]) -> list[Term]:
    first = node.operands[0]
    text = first.value if isinstance(first, Literal) else None
    stem = text.rstrip(b"\xff") if isinstance(text, bytes) else b""
    return [result.value < place(stem[:-1] + bytes([stem[-1] + 1]))] if stem else []
