"""AND, OR and NOT over three truth values ([M] 5.3.4, 5.3.9), with narrowing.

AND is decided by FALSE and neutral to TRUE, OR the other way round; all else is one rule.
"""

from collections.abc import Iterator, Sequence

from pruning.expressions.trees import And, Expression, Not, Or
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.program.operations import Flag
from pruning.rules.sets.outcomes import Outcomes, connective, negation
from pruning.rules.sets.truths import Truths


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether AND (OR) of the operands may take the truth value.

    Claim     If a row gives the connective this truth value, the flag holds.
    Premises  `assume` encloses the rows on which an operand takes one of some truth values.
    Proof     (1) It is decided (FALSE for AND) only if an operand is: nothing to narrow by.
              (2) It is neutral (TRUE for AND) only if every operand is, so the row lies in the
                  environment narrowed by all of them, and each may be neutral *there*.
              (3) It is NULL only if no operand decides and one is NULL, so the row lies in the
                  environment narrowed by "none decides", and the same holds there.
              Operands without a column in common tell nothing of each other, and need no narrowing.
    """
    _, decides, neutral = _shape(node)
    build = analysis.build
    groups = analysis.grouped(node)
    if truth is decides:  # (1)
        return build.or_(
            *(analysis.may(operand, environment, decides) for group in groups for operand in group)
        )
    if truth is neutral:  # (2)
        feasible = [
            analysis.feasible(_assume_each(analysis, group, environment, neutral))
            for group in groups
            if len(group) > 1
        ]
        asked = [flag for _, flag in neutral_flags(analysis, node, environment)]
        return build.and_(*feasible, *asked)
    undecided = neutral | Truths.NULL  # (3)
    narrowings = [
        _assume_each(analysis, group, environment, undecided) if len(group) > 1 else environment
        for group in groups
    ]
    inside = [(operand, there) for group, there in zip(groups, narrowings, strict=True) for operand in group]
    one_null = build.or_(*(analysis.may(operand, there, Truths.NULL) for operand, there in inside))
    each = (analysis.may_any(operand, there, undecided) for operand, there in inside)
    return build.and_(*(analysis.feasible(there) for there in narrowings), one_null, *each)


def neutral_flags(
    analysis: Analysis, node: Expression, environment: Environment
) -> Iterator[tuple[Expression, Flag]]:
    """The flags that all hold where every operand may be neutral, each with the operand it is of."""
    _, _, neutral = _shape(node)
    groups = analysis.grouped(node)
    # What is true without narrowing is told fast; where all is narrowed already, twice is too much.
    for group in groups:
        if len(group) == 1 or not environment.narrowed:
            yield from ((operand, analysis.may(operand, environment, neutral)) for operand in group)
    for group in groups:
        if len(group) > 1:
            narrowed = _assume_each(analysis, group, environment, neutral)
            yield from ((operand, analysis.may(operand, narrowed, neutral)) for operand in group)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """Narrow by every operand where none decides; by each in turn, united, where one does."""
    _, _, neutral = _shape(node)
    operands = [operand for group in analysis.grouped(node) for operand in group]
    if truths in (neutral, neutral | Truths.NULL, Truths.NULL):
        return _assume_each(analysis, operands, environment, truths | neutral)
    if neutral & truths:
        return environment
    return analysis.union([analysis.assume(operand, environment, truths) for operand in operands])


def _shape(node: Expression) -> tuple[tuple[Expression, ...], Truths, Truths]:
    """The operands, the truth value that decides alone, and the one that changes nothing."""
    if isinstance(node, And):
        return node.operands, Truths.FALSE, Truths.TRUE
    assert isinstance(node, Or)
    return node.operands, Truths.TRUE, Truths.FALSE


def _assume_each(
    analysis: Analysis, operands: Sequence[Expression], environment: Environment, truths: Truths
) -> Environment:
    for operand in operands:
        environment = analysis.assume(operand, environment, truths)
    return environment


def outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Where all operands are predicates on one expression, so is the connective."""
    operands, decides, _neutral = _shape(node)
    return connective([analysis.outcomes(operand) for operand in operands], decides=decides)


def negated(analysis: Analysis, node: Expression) -> Outcomes:
    """NOT swaps TRUE and FALSE and keeps NULL."""
    assert isinstance(node, Not)
    return negation(analysis.outcomes(node.operand))


CONNECTIVE = Rule(may=may, assume=assume, outcomes=outcomes)
NOT = Rule(outcomes=negated)
