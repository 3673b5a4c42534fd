"""IS NULL; IS NOT NULL is its negation ([M] 5.3.3)."""

from pruning.expressions.trees import Column, Expression, IsNull, type_of
from pruning.expressions.types import BOOLEAN
from pruning.rules import ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.program import Flag
from pruning.rules.truths import Truths


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """TRUE only if a row may be NULL, FALSE only if one may be a value or NaN, never NULL."""
    assert isinstance(node, IsNull)
    if truth is Truths.NULL:
        return analysis.build.flag(False)
    if type_of(node.operand) == BOOLEAN:
        inner = Truths.NULL if truth is Truths.TRUE else Truths.NOT_NULL
        return analysis.may_any(node.operand, environment, inner)
    known = analysis.range(node.operand, environment)
    return known.may_null if truth is Truths.TRUE else analysis.build.or_(known.may_value, known.may_nan)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """A column is NULL or is not; a boolean operand is narrowed by its own rule."""
    assert isinstance(node, IsNull)
    is_null, is_not = Truths.TRUE in truths, Truths.FALSE in truths
    if is_null and is_not:
        return environment
    if type_of(node.operand) == BOOLEAN:
        return analysis.assume(node.operand, environment, Truths.NULL if is_null else Truths.NOT_NULL)
    if not isinstance(node.operand, Column):
        return environment
    known = analysis.range(node.operand, environment)
    narrow = ranges.only_null if is_null else ranges.not_null
    return environment.with_column(node.operand.name, narrow(analysis.build, known))


IS_NULL = Rule(may=may, assume=assume)
