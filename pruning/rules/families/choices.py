"""Expressions whose value is that of one of their operands: CASE, COALESCE, GREATEST, LEAST.

What is asked of such a choice can be asked of each operand instead, on the rows that choose it:
there `NULLIF(a, b) = b` and `GREATEST(a, b) < a` are seen to be impossible, which no range shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Call, Case, Coalesce, Compare, Comparison, Expression, Function, IsNull
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.program.operations import Flag
from pruning.rules.sets.truths import Truths

# Of more operands, on either side of a comparison, choices are not told apart.
PAIRS_MAX = 16
_EXTREMES = {Function.GREATEST: Comparison.AT_LEAST, Function.LEAST: Comparison.AT_MOST}


@dataclass(frozen=True, slots=True)
class Choice:
    """One operand, whether a row may choose it, and what is known of the rows that do."""

    value: Expression
    reached: Flag
    environment: Environment


def correlated_choice(node: Expression, other: Expression) -> bool:
    """Whether to ask each choice of a node by itself: another expression is about the same columns."""
    pairs = len(list(_operands(node))) * len(list(_operands(other)))
    return _is_choice(node) and pairs <= PAIRS_MAX and not set(columns(node)).isdisjoint(columns(other))


def choices(analysis: Analysis, node: Expression, environment: Environment) -> Iterator[Choice]:
    """What a row may choose.

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
                taken, inside, reached, environment = split(analysis, condition, environment, reached)
                yield Choice(value, taken, inside)
            yield Choice(otherwise, reached, environment)
        case Coalesce(operands):  # (2)
            for operand in operands[:-1]:
                known = analysis.range(operand, environment)
                held = build.or_(known.may_value, known.may_nan)
                inside = analysis.assume(IsNull(operand), environment, Truths.FALSE)
                yield Choice(operand, build.and_(reached, held), inside)
                environment = analysis.assume(IsNull(operand), environment, Truths.TRUE)
                reached = build.and_(reached, known.may_null, analysis.feasible(environment))
            yield Choice(operands[-1], reached, environment)
        case Call(function, operands):  # (3)
            for operand in operands:
                inside = environment
                for other in operands:
                    if other != operand:
                        beats = Compare(_EXTREMES[function], operand, other)
                        inside = analysis.assume(beats, inside, Truths.NOT_FALSE)
                yield Choice(operand, analysis.feasible(inside), inside)


def split(
    analysis: Analysis, condition: Expression, environment: Environment, reached: Flag
) -> tuple[Flag, Environment, Flag, Environment]:
    """Whether a condition may be TRUE, and the rows where it is; may be not TRUE, and those rows."""
    build = analysis.build
    inside = analysis.assume(condition, environment, Truths.TRUE)
    outside = analysis.assume(condition, environment, Truths.NOT_TRUE)
    may_true = analysis.may(condition, environment, Truths.TRUE)
    may_not = analysis.may_any(condition, environment, Truths.NOT_TRUE)
    taken = build.and_(reached, may_true, analysis.feasible(inside))
    passed = build.and_(reached, may_not, analysis.feasible(outside))
    return taken, inside, passed, outside


def _is_choice(node: Expression) -> bool:
    return isinstance(node, Case | Coalesce) or (isinstance(node, Call) and node.function in _EXTREMES)


def _operands(node: Expression) -> Iterator[Expression]:
    """What the node may choose in the end, choices of choices opened."""
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
        yield from _operands(part)
