"""AND, OR and NOT over three truth values ([M] 5.3.4, 5.3.9), with narrowing.

FALSE decides AND, and TRUE is neutral to it; for OR it is the other way round. One rule serves both.
"""

from collections.abc import Iterator, Sequence

from pruning.expressions.trees import And, Expression, Not, Or
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.program.operations import Flag
from pruning.rules.sets.outcomes import Outcomes, connective, negation
from pruning.rules.sets.truths import Truths


def may_connective(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Return the flag that AND (OR) of the operands may take the truth value.

    Claim     If a row gives the connective this truth value, the flag holds.
    Premises  `assume_connective` encloses the rows on which an operand takes one of some truth values.
    Proof     (1) It is decided (FALSE for AND) only if an operand is, which narrows nothing.
              (2) It is neutral (TRUE for AND) only if every operand is, so the row lies in the
                  environment narrowed by all of them, and each may be neutral *there*.
              (3) It is NULL only if no operand decides and one is NULL, so the row lies in the
                  environment narrowed by "none decides", and the same holds there.
              Operands without a column in common tell nothing of each other, and need no narrowing.
    """
    _, decides, neutral = _operands_and_truths(node)
    build = analysis.build
    groups = analysis.operand_groups(node)
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
        flags = [flag for _, flag in neutral_flags(analysis, node, environment)]
        return build.and_(*feasible, *flags)
    undecided = neutral | Truths.NULL  # (3)
    narrowings = [
        _assume_each(analysis, group, environment, undecided) if len(group) > 1 else environment
        for group in groups
    ]
    inside = [(operand, there) for group, there in zip(groups, narrowings, strict=True) for operand in group]
    one_null = build.or_(*(analysis.may(operand, there, Truths.NULL) for operand, there in inside))
    undecided_flags = (analysis.may_any(operand, there, undecided) for operand, there in inside)
    return build.and_(*(analysis.feasible(there) for there in narrowings), one_null, *undecided_flags)


def neutral_flags(
    analysis: Analysis, node: Expression, environment: Environment
) -> Iterator[tuple[Expression, Flag]]:
    """Yield the flags that all hold where every operand may be neutral, each with its operand."""
    _, _, neutral = _operands_and_truths(node)
    groups = analysis.operand_groups(node)
    # Flags without narrowing are cheap and often decide; in a narrowed environment they would be duplicates.
    for group in groups:
        if len(group) == 1 or not environment.narrowed:
            yield from ((operand, analysis.may(operand, environment, neutral)) for operand in group)
    for group in groups:
        if len(group) > 1:
            narrowed = _assume_each(analysis, group, environment, neutral)
            yield from ((operand, analysis.may(operand, narrowed, neutral)) for operand in group)


def assume_connective(
    analysis: Analysis, node: Expression, environment: Environment, truths: Truths
) -> Environment:
    """Narrow by every operand if none decides; otherwise by each in turn, and take the union."""
    _, _, neutral = _operands_and_truths(node)
    operands = [operand for group in analysis.operand_groups(node) for operand in group]
    if truths in (neutral, neutral | Truths.NULL, Truths.NULL):
        return _assume_each(analysis, operands, environment, truths | neutral)
    if neutral & truths:
        return environment
    return analysis.union([analysis.assume(operand, environment, truths) for operand in operands])


def _operands_and_truths(node: Expression) -> tuple[tuple[Expression, ...], Truths, Truths]:
    """Return the operands, the truth value that decides alone, and the neutral one."""
    if isinstance(node, And):
        return node.operands, Truths.FALSE, Truths.TRUE
    assert isinstance(node, Or)
    return node.operands, Truths.TRUE, Truths.FALSE


def _assume_each(
    analysis: Analysis, operands: Sequence[Expression], environment: Environment, truths: Truths
) -> Environment:
    """Narrow the environment by every operand taking one of the truth values."""
    for operand in operands:
        environment = analysis.assume(operand, environment, truths)
    return environment


def connective_outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Return the outcomes of a connective whose operands are all predicates on one expression."""
    operands, decides, _neutral = _operands_and_truths(node)
    return connective([analysis.outcomes(operand) for operand in operands], decides=decides)


def not_outcomes(analysis: Analysis, node: Expression) -> Outcomes:
    """Return the outcomes of NOT: it swaps TRUE and FALSE and keeps NULL."""
    assert isinstance(node, Not)
    return negation(analysis.outcomes(node.operand))


CONNECTIVE = Rule(may=may_connective, assume=assume_connective, outcomes=connective_outcomes)
NOT = Rule(outcomes=not_outcomes)
