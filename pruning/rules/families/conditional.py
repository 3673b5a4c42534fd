"""CASE, IF and COALESCE ([P] 3.1): each branch is evaluated only on the rows that reach it."""

from pruning.expressions.trees import Case, Coalesce, Expression, IsNull, type_of
from pruning.expressions.types import BOOLEAN, NULL
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.choices import split_by_condition
from pruning.rules.sets.outcomes import Outcomes, choice, constant, map_truths
from pruning.rules.sets.truths import Truths


def case_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the union of the ranges of those branches that some row may take.

    Claim     Each row's value of CASE lies in the range.
    Premises  `may` and `assume` are sound for the conditions, `range` for the branches.
    Proof     A row that takes branch i made the conditions before it FALSE or NULL (an ELSE keeps
              NULL) and condition i TRUE. So it lies in the environment narrowed so, its value in
              the branch's range there, and the union holds every branch that can be reached.
    """
    assert isinstance(node, Case)
    pieces: list[Range] = []
    reached = analysis.build.flag(True)
    for condition, value in node.branches:
        taken, inside, reached, environment = split_by_condition(analysis, condition, environment, reached)
        pieces.append(ranges.only_where(analysis.build, analysis.values(value, inside), taken))
    pieces.append(ranges.only_where(analysis.build, analysis.values(node.otherwise, environment), reached))
    return ranges.union_of(analysis.build, pieces)


def assume_case(
    analysis: Analysis, node: Expression, environment: Environment, truths: Truths
) -> Environment:
    """Narrow by a boolean CASE: by each branch's condition and value, and take the union."""
    assert isinstance(node, Case)
    alternatives: list[Environment] = []
    for condition, value in node.branches:
        inside = analysis.assume(condition, environment, Truths.TRUE)
        alternatives.append(analysis.assume(value, inside, truths))
        environment = analysis.assume(condition, environment, Truths.NOT_TRUE)
    alternatives.append(analysis.assume(node.otherwise, environment, truths))
    return analysis.union(alternatives)


def coalesce_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the union of the ranges of the operands that some row reaches.

    Claim     Each row's value of COALESCE lies in the range.
    Premises  `range` is sound for the operands.
    Proof     A row that takes operand i has a value there and NULL in each one before, so those
              may be NULL; where the last is reached its NULL is the answer.
    """
    assert isinstance(node, Coalesce)
    build = analysis.build
    pieces: list[Range] = []
    reached = build.flag(True)
    for operand in node.operands[:-1]:
        operand_range = analysis.values(operand, environment)
        pieces.append(ranges.only_where(build, ranges.not_null(build, operand_range), reached))
        environment = analysis.assume(IsNull(operand), environment, Truths.TRUE)
        reached = build.and_(reached, operand_range.may_null, analysis.feasible(environment))
    pieces.append(ranges.only_where(build, analysis.values(node.operands[-1], environment), reached))
    return ranges.union_of(analysis.build, pieces)


def case_outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Return the outcomes of a boolean CASE whose conditions and values depend on one expression."""
    assert isinstance(node, Case)
    if type_of(node) != BOOLEAN:
        return None
    branches = [
        (analysis.outcomes(condition), _value_outcomes(analysis, value)) for condition, value in node.branches
    ]
    return choice(branches, _value_outcomes(analysis, node.otherwise))


def _value_outcomes(analysis: Analysis, value: Expression) -> Outcomes:
    """Return the outcomes of an alternative; a bare NULL counts as a boolean."""
    return constant(None) if type_of(value) == NULL else analysis.outcomes(value)


def constrain_case(
    analysis: Analysis, node: Expression, environment: Environment, narrowed: Range
) -> Environment:
    """Narrow by a CASE that lies in a range: by each branch's condition and value, and take the union."""
    assert isinstance(node, Case)
    if type_of(node) == BOOLEAN:
        return environment
    alternatives: list[Environment] = []
    for condition, value in node.branches:
        inside = analysis.assume(condition, environment, Truths.TRUE)
        alternatives.append(_constrain_value(analysis, value, inside, narrowed))
        environment = analysis.assume(condition, environment, Truths.NOT_TRUE)
    alternatives.append(_constrain_value(analysis, node.otherwise, environment, narrowed))
    return analysis.union(alternatives)


def _constrain_value(
    analysis: Analysis, value: Expression, environment: Environment, narrowed: Range
) -> Environment:
    """Narrow by an alternative that lies in a range."""
    value_range = analysis.values(value, environment)
    if value_range.type != narrowed.type:
        return environment
    return analysis.constrain(value, environment, ranges.intersection(analysis.build, value_range, narrowed))


def coalesce_outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Return the outcomes of a boolean COALESCE, which is a CASE of IS NOT NULL."""
    assert isinstance(node, Coalesce)
    if type_of(node) != BOOLEAN:
        return None
    parts = [_value_outcomes(analysis, operand) for operand in node.operands]
    return choice([(map_truths(part, _IS_NOT_NULL), part) for part in parts[:-1]], parts[-1])


_IS_NOT_NULL = {Truths.TRUE: Truths.TRUE, Truths.FALSE: Truths.TRUE, Truths.NULL: Truths.FALSE}
CASE = Rule(range=case_range, assume=assume_case, constrain=constrain_case, outcomes=case_outcomes)
COALESCE = Rule(range=coalesce_range, outcomes=coalesce_outcomes)
