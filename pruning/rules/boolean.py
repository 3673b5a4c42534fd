"""AND, OR and NOT over three truth values ([M] 5.3.4, 5.3.9), with narrowing.

AND is decided by FALSE and neutral to TRUE, OR the other way round; all else is one rule.
"""

from pruning.expressions.trees import And, Expression, Not, Or
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.outcomes import Outcomes, connective, negation
from pruning.rules.program import Flag
from pruning.rules.truths import Truths


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether AND (OR) of the operands may take the truth value.

    Claim     If a row gives the connective this truth value, the flag holds.
    Premises  `assume` encloses the rows on which an operand takes one of some truth values.
    Proof     (1) It is decided (FALSE for AND) only if an operand is: nothing to narrow by.
              (2) It is neutral (TRUE for AND) only if every operand is, so the row lies in the
                  environment narrowed by all of them, and each may be neutral *there*.
              (3) It is NULL only if no operand decides and one is NULL, so the row lies in the
                  environment narrowed by "none decides", and the same holds there.
    """
    operands, decides, neutral = _shape(node)
    build = analysis.build
    if truth is decides:  # (1)
        return build.or_(*(analysis.may(operand, environment, decides) for operand in operands))
    if truth is neutral:  # (2)
        narrowed = _assume_each(analysis, operands, environment, neutral)
        each = (analysis.may(operand, narrowed, neutral) for operand in operands)
        return build.and_(analysis.feasible(narrowed), *each)
    narrowed = _assume_each(analysis, operands, environment, neutral | Truths.NULL)  # (3)
    one_null = build.or_(*(analysis.may(operand, narrowed, Truths.NULL) for operand in operands))
    each = (analysis.may_any(operand, narrowed, neutral | Truths.NULL) for operand in operands)
    return build.and_(analysis.feasible(narrowed), one_null, *each)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """Narrow by every operand where none decides; by each in turn, united, where one does."""
    operands, _decides, neutral = _shape(node)
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
    analysis: Analysis, operands: tuple[Expression, ...], environment: Environment, truths: Truths
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
