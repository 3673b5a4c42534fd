"""IS NULL; IS NOT NULL is its negation ([M] 5.3.3)."""

from pruning.expressions.trees import Expression, IsNull, type_of
from pruning.expressions.types import BOOLEAN
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.sets.outcomes import NOT_NULL, NOTHING, NULL_ONLY, Outcomes, mapped
from pruning.rules.sets.truths import Truths

_IS_NULL = {Truths.TRUE: Truths.FALSE, Truths.FALSE: Truths.FALSE, Truths.NULL: Truths.TRUE}


def outcomes(analysis: Analysis, node: Expression) -> Outcomes:
    """TRUE of NULL, FALSE of values and NaN, never NULL."""
    assert isinstance(node, IsNull)
    if type_of(node.operand) == BOOLEAN:
        return mapped(analysis.outcomes(node.operand), _IS_NULL)
    return Outcomes(node.operand, true=NULL_ONLY, false=NOT_NULL, null=NOTHING)


IS_NULL = Rule(outcomes=outcomes)
