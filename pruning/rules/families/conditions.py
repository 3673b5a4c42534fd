"""IS NULL, IN a list, exists and forall over an array ([M] 5.3.3, 5.3.4, 5.3.8); parts of arrays and maps.

IS NOT NULL is the negation of IS NULL. The literal members of IN are a set of values; an IN with any
other member is the OR of equalities.
"""

import math
from dataclasses import replace

from pruning.expressions.trees import (
    Call,
    Column,
    Compare,
    Comparison,
    Element,
    Expression,
    In,
    IsNull,
    Literal,
    Or,
    Quantified,
    Quantifier,
    type_of,
)
from pruning.expressions.types import BOOLEAN, Value
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.operations import Flag
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import NOT_NULL, NOTHING, NULL_ONLY, Outcomes, ValueSet, map_truths
from pruning.rules.sets.truths import Truths

_IS_NULL = {Truths.TRUE: Truths.FALSE, Truths.FALSE: Truths.FALSE, Truths.NULL: Truths.TRUE}


def null_outcomes(analysis: Analysis, node: Expression) -> Outcomes:
    """Return the outcomes of IS NULL: TRUE of NULL, FALSE of values and NaN, never NULL."""
    assert isinstance(node, IsNull)
    if type_of(node.operand) == BOOLEAN:
        return map_truths(analysis.outcomes(node.operand), _IS_NULL)
    return Outcomes(node.operand, true=NULL_ONLY, false=NOT_NULL, null=NOTHING)


def in_outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Return the operand's values on which `operand IN (literals)` is TRUE, FALSE and NULL.

    Claim     A value of the operand that gives IN a truth value is in that set.
    Proof     (1) TRUE of the members; NaN equals NaN.
              (2) FALSE of every other value, and of none if a member is NULL: then IN is NULL there.
              (3) NULL of NULL.
    """
    assert isinstance(node, In)
    type_ = type_of(node.operand)
    literals = [member for member in node.members if isinstance(member, Literal)]
    alike = all(literal.value is None or literal.type == type_ for literal in literals)
    if len(literals) < len(node.members) or not alike or not type_.has_bounds:
        return None
    values = [literal.value for literal in literals if literal.value is not None]
    numbers = cuts.of_values([value for value in values if not _is_nan(value)], type_)
    has_nan = any(map(_is_nan, values))
    members = ValueSet(numbers, nan=has_nan)  # (1)
    others = ValueSet(cuts.complement(numbers), nan=not has_nan)
    if len(values) < len(literals):  # (2)
        return Outcomes(node.operand, true=members, false=NOTHING, null=others | NULL_ONLY)
    return Outcomes(node.operand, true=members, false=others, null=NULL_ONLY)  # (3)


def may_be_in(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Tell whether IN may take the truth value, by the OR of equalities that it stands for."""
    return analysis.may(_as_equalities(node), environment, truth)


def assume_in(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """Narrow the environment by IN, as by the OR of equalities that it stands for."""
    return analysis.assume(_as_equalities(node), environment, truths)


def _is_nan(value: Value) -> bool:
    """Tell whether a value is NaN."""
    return isinstance(value, float) and math.isnan(value)


def _as_equalities(node: Expression) -> Expression:
    """Return IN as the OR of equalities with its members."""
    assert isinstance(node, In)
    return Or(tuple(Compare(Comparison.EQUAL, node.operand, member) for member in node.members))


def element_range(analysis: Analysis, node: Expression, _: Environment) -> Range:
    """Return the range of all elements of all rows, as the block's metadata gives it.

    An element is never narrowed: a condition on one of them says nothing of the others.
    """
    assert isinstance(node, Element)
    return analysis.metadata_range(Column(node.name, node.type))


def item_range(analysis: Analysis, node: Expression, _: Environment) -> Range:
    """Return the range of one element of the array of each row, which may be missing.

    Claim     Each row's value lies in the range.
    Premises  The range of an `Element` encloses the elements of every row of the block.
    Proof     (1) The value is an element of the row's array, or a field of one.
              (2) Or it is NULL: of a NULL array, of an empty one, and where no element is in the place.
    Unsound   if conditions on another element of the array narrowed it: so metadata alone is used.
    """
    assert isinstance(node, Call)
    element = node.operands[0]
    assert isinstance(element, Element)
    elements = analysis.metadata_range(Column(element.name, node.type))  # (1)
    return replace(elements, may_null=analysis.build.flag(True))  # (2)


def map_value_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the value of a key in the map of each row, which may be missing.

    Claim     Each row's value lies in the range.
    Premises  The range of an `Element` encloses the keys, or the values, of every row of the block. Keys are
              equal only if they are equal in the order of their type.
    Proof     (1) The value is a value of the row's map, or a field of one.
              (2) Or it is NULL: of a NULL map, and where no key equals the one that is sought.
              (3) There is such a key only if the ranges of the map's keys and of the sought key meet.
                  NaN lies beyond bounds, so that nothing follows for floats.
    Unsound   if conditions on another key narrowed the values: so metadata alone is used for them.
    """
    assert isinstance(node, Call)
    build, (values, keys, sought) = analysis.build, node.operands
    assert isinstance(values, Element)
    assert isinstance(keys, Element)
    stored = analysis.metadata_range(Column(values.name, node.type))  # (1)
    held = analysis.metadata_range(Column(keys.name, keys.type))
    key = analysis.range(sought, environment)
    may_meet = build.flag(True)
    if not keys.type.floating:
        may_meet = build.and_(  # (3)
            key.may_value,
            build.maybe_at_most(held.lower, key.upper),
            build.maybe_at_most(key.lower, held.upper),
        )
    return replace(
        stored,
        may_null=build.flag(True),  # (2)
        may_nan=build.and_(stored.may_nan, may_meet),
        may_value=build.and_(stored.may_value, may_meet),
    )


def may_hold_of_elements(
    analysis: Analysis, node: Expression, environment: Environment, truth: Truths
) -> Flag:
    """Tell whether `exists(array, x -> body)` or `forall(array, x -> body)` may take a truth value.

    Claim     If a row gives the node this truth value, the flag holds.
    Premises  The range of an `Element` encloses the elements of every row of the block.
    Proof     (1) exists is TRUE, and forall FALSE, only of a row with an element of which the body is:
                  that element and the row's columns lie in the ranges that the body is asked in.
              (2) exists is FALSE, and forall TRUE, of an empty array, whatever the body.
              (3) Either is NULL of a NULL array, and metadata keeps no count of those.
    """
    assert isinstance(node, Quantified)
    decides = Truths.TRUE if node.quantifier is Quantifier.EXISTS else Truths.FALSE
    if truth is decides:
        return analysis.may(node.body, environment, truth)  # (1)
    return analysis.build.flag(True)  # (2), (3)


IS_NULL = Rule(outcomes=null_outcomes)
IN = Rule(may=may_be_in, assume=assume_in, outcomes=in_outcomes)
ELEMENT = Rule(range=element_range)
ITEM = Rule(range=item_range)
MAP_VALUE = Rule(range=map_value_range)
QUANTIFIED = Rule(may=may_hold_of_elements)
