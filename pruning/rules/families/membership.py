"""IN a list ([M] 5.3.4): literal members as a set of values, others as an OR of equalities."""

import math

from pruning.expressions.trees import (
    Compare,
    Comparison,
    Expression,
    In,
    Literal,
    Or,
    type_of,
)
from pruning.expressions.types import Value
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.program.operations import Flag
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import NOTHING, NULL_ONLY, Outcomes, ValueSet
from pruning.rules.sets.truths import Truths


def outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Whether `operand IN (literals)` is TRUE, FALSE or NULL, by the operand's value.

    Claim     A value of the operand that gives IN a truth value is in that set.
    Proof     (1) TRUE of the members; NaN equals NaN.
              (2) FALSE of every other value, and of none if a member is NULL: then IN is NULL there.
              (3) NULL of NULL.
    """
    assert isinstance(node, In)
    type_ = type_of(node.operand)
    literals = [member for member in node.members if isinstance(member, Literal)]
    alike = all(literal.value is None or literal.type == type_ for literal in literals)
    if len(literals) < len(node.members) or not alike or not type_.known:
        return None
    values = [literal.value for literal in literals if literal.value is not None]
    numbers = cuts.of_values([value for value in values if not _is_nan(value)], type_)
    has_nan = any(map(_is_nan, values))
    found = ValueSet(numbers, nan=has_nan)  # (1)
    missed = ValueSet(cuts.complement(numbers), nan=not has_nan)
    if len(values) < len(literals):  # (2)
        return Outcomes(node.operand, true=found, false=NOTHING, null=missed | NULL_ONLY)
    return Outcomes(node.operand, true=found, false=missed, null=NULL_ONLY)  # (3)


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """As the OR of equalities that it is."""
    return analysis.may(_as_equalities(node), environment, truth)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """As the OR of equalities that it is."""
    return analysis.assume(_as_equalities(node), environment, truths)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _as_equalities(node: Expression) -> Expression:
    assert isinstance(node, In)
    return Or(tuple(Compare(Comparison.EQUAL, node.operand, member) for member in node.members))


IN = Rule(may=may, assume=assume, outcomes=outcomes)
