"""Choices: expressions whose value is that of one of their operands (CASE, COALESCE, GREATEST, LEAST).

A predicate on a choice can be evaluated on each operand instead, on the rows that choose it. This refutes
`NULLIF(a, b) = b` and `GREATEST(a, b) < a`, which ranges alone do not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Call, Case, Coalesce, Compare, Comparison, Expression, Function, IsNull
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.program.operations import Flag
from pruning.rules.sets.truths import Truths

# Choices are not evaluated by operand if the comparison has more pairs of operands than this.
PAIRS_MAX = 16
_EXTREMES = {Function.GREATEST: Comparison.AT_LEAST, Function.LEAST: Comparison.AT_MOST}


@dataclass(frozen=True, slots=True)
class Choice:
    """One operand, the flag that a row may choose it, and the environment of the rows that do."""

    value: Expression
    reached: Flag
    environment: Environment


def is_correlated_choice(node: Expression, other: Expression) -> bool:
    """Tell whether to evaluate each choice of a node separately: `other` is on the same columns."""
    pairs = len(list(_final_operands(node))) * len(list(_final_operands(other)))
    return _is_choice(node) and pairs <= PAIRS_MAX and not set(columns(node)).isdisjoint(columns(other))


def choices(analysis: Analysis, node: Expression, environment: Environment) -> Iterator[Choice]:
    """Yield the operands that a row may choose.

    Claim     Each row's value of the node is the value of a choice whose environment holds the row,
              or NULL where that choice is NULL.
    Proof     (1) CASE takes a branch whose condition is TRUE and those before it are not.
              (2) COALESCE takes an operand that is not NULL and those before it are, or the last.
              (3) GREATEST takes an operand that no other one exceeds, NULLs aside; where all are
                  NULL, any will do. LEAST likewise.
    """
    build = analysis.build
    reached = build.flag(True)
    match node:
        case Case(branches, otherwise):  # (1)
            for condition, value in branches:
                taken, inside, reached, environment = split_by_condition(
                    analysis, condition, environment, reached
                )
                yield Choice(value, taken, inside)
            yield Choice(otherwise, reached, environment)
        case Coalesce(operands):  # (2)
            for operand in operands[:-1]:
                operand_range = analysis.range(operand, environment)
                held = build.or_(operand_range.may_value, operand_range.may_nan)
                inside = analysis.assume(IsNull(operand), environment, Truths.FALSE)
                yield Choice(operand, build.and_(reached, held), inside)
                environment = analysis.assume(IsNull(operand), environment, Truths.TRUE)
                reached = build.and_(reached, operand_range.may_null, analysis.feasible(environment))
            yield Choice(operands[-1], reached, environment)
        case Call(function, operands):  # (3)
            for operand in operands:
                inside = environment
                for other in operands:
                    if other != operand:
                        beats = Compare(_EXTREMES[function], operand, other)
                        inside = analysis.assume(beats, inside, Truths.NOT_FALSE)
                yield Choice(operand, analysis.feasible(inside), inside)


def split_by_condition(
    analysis: Analysis, condition: Expression, environment: Environment, reached: Flag
) -> tuple[Flag, Environment, Flag, Environment]:
    """Return the flag that a condition may be TRUE, with the rows where it is; then the same for not TRUE."""
    build = analysis.build
    inside = analysis.assume(condition, environment, Truths.TRUE)
    outside = analysis.assume(condition, environment, Truths.NOT_TRUE)
    may_true = analysis.may(condition, environment, Truths.TRUE)
    may_not = analysis.may_any(condition, environment, Truths.NOT_TRUE)
    taken = build.and_(reached, may_true, analysis.feasible(inside))
    passed = build.and_(reached, may_not, analysis.feasible(outside))
    return taken, inside, passed, outside


def _is_choice(node: Expression) -> bool:
    """Tell whether the node's value is that of one of its operands."""
    return isinstance(node, Case | Coalesce) or (isinstance(node, Call) and node.function in _EXTREMES)


def _final_operands(node: Expression) -> Iterator[Expression]:
    """Yield the operands that the node may choose, with nested choices opened."""
    parts: tuple[Expression, ...] = ()
    match node:
        case Case(branches, otherwise):
            parts = (*(value for _, value in branches), otherwise)
        case Coalesce(operands):
            parts = operands
        case Call(function, operands) if function in _EXTREMES:
            parts = operands
    if not parts:
        yield node
    for part in parts:
        yield from _final_operands(part)
