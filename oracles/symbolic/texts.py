"""The axioms about functions of text: the places of their results in the order of bytes.

Axiom START: a start of a string is at most the string, and a string is at most any string that begins with
it; a string with a prefix is below the first string above all with that prefix (PREFIX).
"""

from collections.abc import Callable

import z3

from oracles.symbolic.ideals import SymbolicValue, Term
from pruning.expressions.trees import Call, Function, Literal


def call_axioms(
    node: Call, result: SymbolicValue, operands: list[SymbolicValue], place: Callable[[bytes], Term]
) -> list[Term]:
    """Return the axioms for one call, about its result where that is not NULL."""
    if node.function in (Function.LENGTH, Function.INSTR):
        terms = [result.value >= 0]
    elif node.function is Function.RTRIM or _is_start(node):
        terms = [result.value <= operands[0].value]
    elif node.function is Function.CONCAT:
        terms = [operands[0].value <= result.value, *_below_end(node, result, place)]
    else:
        terms = []
    return [z3.Implies(z3.Not(result.null), term) for term in terms]


def _is_start(node: Call) -> bool:
    """Tell whether a call is a SUBSTRING from the first character on."""
    if node.function is not Function.SUBSTRING:
        return False
    position = node.operands[1]
    return isinstance(position, Literal) and position.value in (0, 1)


def _below_end(node: Call, result: SymbolicValue, place: Callable[[bytes], Term]) -> list[Term]:
    first = node.operands[0]
    text = first.value if isinstance(first, Literal) else None
    stem = text.rstrip(b"\xff") if isinstance(text, bytes) else b""
    return [result.value < place(stem[:-1] + bytes([stem[-1] + 1]))] if stem else []
