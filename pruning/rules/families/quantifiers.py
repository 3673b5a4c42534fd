"""exists and forall over the elements of an array ([M] 5.3.8)."""

from pruning.expressions.trees import Column, Element, Expression, Quantified, Quantifier
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.operations import Flag
from pruning.rules.sets.truths import Truths


def element_range(analysis: Analysis, node: Expression, _: Environment) -> Range:
    """What the block's metadata says of all elements of all rows.

    An element is never narrowed: what one of them is says nothing of the others.
    """
    assert isinstance(node, Element)
    return analysis.in_block(Column(node.name, node.type))


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether `exists(array, x -> body)` or `forall` may take a truth value.

    Claim     If a row gives the node this truth value, the flag holds.
    Premises  The range of an `Element` encloses the elements of every row of the block.
    Proof     (1) exists is TRUE, and forall FALSE, only of a row with an element of which the body is:
                  that element and the row's columns lie in the ranges that the body is asked in.
              (2) exists is FALSE, and forall TRUE, of an empty array, whatever the body.
              (3) Either is NULL of a NULL array, and nothing is kept of how many there are.
    """
    assert isinstance(node, Quantified)
    decides = Truths.TRUE if node.quantifier is Quantifier.EXISTS else Truths.FALSE
    if truth is decides:
        return analysis.may(node.body, environment, truth)  # (1)
    return analysis.build.flag(True)  # (2), (3)


ELEMENT = Rule(range=element_range)
QUANTIFIED = Rule(may=may)
