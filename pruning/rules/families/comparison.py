"""The six comparison operators ([M] 5.3.2), in Spark's order: NaN equals NaN and is above every number."""

import math
from collections.abc import Callable, Iterator

from pruning.expressions.traversal import is_repeatable
from pruning.expressions.trees import MIRRORED, Compare, Comparison, Expression, Literal, type_of
from pruning.expressions.types import BOOLEAN, BYTE, Value
from pruning.rules.analysis import ranges, sides
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.analysis.sides import ALL_SIGNS, SIGNS
from pruning.rules.families import order
from pruning.rules.families.choices import choices, is_correlated_choice
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Flag
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import (
    EVERYTHING,
    NAN_ONLY,
    NOT_NULL,
    NOTHING,
    NULL_ONLY,
    NUMBERS,
    Outcomes,
    ValueSet,
    map_truths,
)
from pruning.rules.sets.truths import Truths


def may_compare(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Return the flag that `left operator right` may take a truth value, if it depends on two expressions.

    Claim     If a row gives the comparison this truth value, the flag holds.
    Premises  Each row of either side is NULL, NaN or a value inside its bounds, as its Range says.
    Proof     As in `sides.may_lie`; `<=>` is never NULL: NULL equals NULL and nothing else.
    """
    assert isinstance(node, Compare)
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    if node.operator is Comparison.NULL_SAFE_EQUAL:
        plain = sides.may_be_null_safe(build, left, right, truth)
        return build.and_(plain, *_flags_by_choice(analysis, node, environment, truth))
    if truth is Truths.NULL:
        return build.or_(left.may_null, right.may_null)
    signs = SIGNS[node.operator]
    return sides.may_lie(build, left, right, signs if truth is Truths.TRUE else ALL_SIGNS - signs)


def _flags_by_choice(
    analysis: Analysis, node: Compare, environment: Environment, truth: Truths
) -> Iterator[Flag]:
    """Yield the flag of a comparison evaluated for each choice of a side."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if is_correlated_choice(side, other):
            yield analysis.build.or_(
                *(
                    analysis.build.and_(
                        choice.reached,
                        analysis.may(Compare(node.operator, choice.value, other), choice.environment, truth),
                    )
                    for choice in choices(analysis, side, environment)
                )
            )
            return


def comparison_outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Return the outcomes of a comparison with a constant, or of an expression with itself.

    Any other comparison is a predicate on the order of its sides.
    """
    assert isinstance(node, Compare)
    left, operator, right = node.left, node.operator, node.right
    if isinstance(left, Literal):
        left, operator, right = right, MIRRORED.get(operator, operator), left
    type_ = type_of(left)
    if isinstance(left, Literal) or not type_.has_bounds:
        return None
    if isinstance(right, Literal) and type_of(right) == type_:
        if type_ == BOOLEAN:
            table = {truth: _compare_booleans(operator, truth, right.value) for truth in Truths.ANY.members()}
            return map_truths(analysis.outcomes(left), table)
        return _with_constant(left, operator, right.value)
    if left == right and is_repeatable(left):
        return _with_itself(left, operator)
    if operator is Comparison.NULL_SAFE_EQUAL or isinstance(left, Literal) or type_of(right) != type_:
        return None
    signs = SIGNS[operator]
    subject, turned = order.canonical_order(analysis, left, right)
    true = {-sign for sign in signs} if turned else signs
    return Outcomes(
        subject,
        true=ValueSet(cuts.of_values(true, BYTE)),
        false=ValueSet(cuts.of_values(ALL_SIGNS - true, BYTE)),
        null=NULL_ONLY,
    )


def _with_constant(subject: Expression, operator: Comparison, value: Value | None) -> Outcomes:
    """Return the outcomes of a comparison with a constant; NaN is above each value ([M] 5.3.2)."""
    if value is None:
        if operator is Comparison.NULL_SAFE_EQUAL:
            return Outcomes(subject, true=NULL_ONLY, false=NOT_NULL, null=NOTHING)
        return Outcomes(subject, true=NOTHING, false=NOTHING, null=EVERYTHING)
    if isinstance(value, float) and math.isnan(value):
        less, equal, greater = NUMBERS, NAN_ONLY, NOTHING
    else:
        type_ = type_of(subject)
        less = ValueSet(cuts.below(value, type_, inclusive=False))
        equal = ValueSet(cuts.of_values([value], type_))
        greater = ValueSet(cuts.above(value, type_, inclusive=False), nan=True)
    match operator:
        case Comparison.NULL_SAFE_EQUAL:
            return Outcomes(subject, true=equal, false=less | greater | NULL_ONLY, null=NOTHING)
        case Comparison.EQUAL:
            true, false = equal, less | greater
        case Comparison.LESS:
            true, false = less, equal | greater
        case Comparison.AT_MOST:
            true, false = less | equal, greater
        case Comparison.GREATER:
            true, false = greater, less | equal
        case Comparison.AT_LEAST:
            true, false = equal | greater, less
    return Outcomes(subject, true=true, false=false, null=NULL_ONLY)


def _with_itself(subject: Expression, operator: Comparison) -> Outcomes:
    """Return the outcomes of a comparison of an expression with itself."""
    if operator is Comparison.NULL_SAFE_EQUAL:
        return Outcomes(subject, true=EVERYTHING, false=NOTHING, null=NOTHING)
    reflexive = operator not in (Comparison.LESS, Comparison.GREATER)
    true, false = (NOT_NULL, NOTHING) if reflexive else (NOTHING, NOT_NULL)
    return Outcomes(subject, true=true, false=false, null=NULL_ONLY)


def assume_comparison(
    analysis: Analysis, node: Expression, environment: Environment, truths: Truths
) -> Environment:
    """Narrow both sides to where the comparison can take one of the truth values.

    Claim     Each such row's value of a side lies in the range that this side is narrowed to.
    Premises  The other side's range encloses its values on the rows of the environment.
    Proof     The rows are those where it is TRUE, those where it is FALSE and those where it is
              NULL, each narrowed by itself (`sides.where_compared`, `sides.narrow_by_null`), and their union.
    """
    assert isinstance(node, Compare)
    mirrored = Compare(MIRRORED.get(node.operator, node.operator), node.right, node.left)
    for side in (node, mirrored):
        own = analysis.values(side.left, environment)
        other = analysis.range(side.right, environment)
        comparable = own.type == other.type or not other.type.has_bounds
        if not isinstance(side.left, Literal) and own.type.has_bounds and comparable:
            pieces = [
                _narrow_side(analysis.build, own, side.operator, other, truth) for truth in truths.members()
            ]
            environment = analysis.constrain(side.left, environment, ranges.union_of(analysis.build, pieces))
    return environment


def _narrow_side(build: Builder, own: Range, operator: Comparison, other: Range, truth: Truths) -> Range:
    """Return one side's rows where the comparison takes a truth value."""
    if operator is Comparison.NULL_SAFE_EQUAL:
        return sides.narrow_by_null_safe(build, own, other, truth)
    if truth is Truths.NULL:
        return sides.narrow_by_null(build, own, other)
    signs = SIGNS[operator]
    return sides.narrow_by_signs(build, own, other, signs if truth is Truths.TRUE else ALL_SIGNS - signs)


def _compare_booleans(operator: Comparison, truth: Truths, right: Value | None) -> Truths:
    """Return the truth value of a comparison of two truth values."""
    left = {Truths.TRUE: True, Truths.FALSE: False}.get(truth)
    if operator is Comparison.NULL_SAFE_EQUAL:
        return Truths.TRUE if left is right else Truths.FALSE
    if left is None or right is None:
        return Truths.NULL
    decide: dict[Comparison, Callable[[int, int], bool]] = {
        Comparison.EQUAL: int.__eq__,
        Comparison.LESS: int.__lt__,
        Comparison.AT_MOST: int.__le__,
        Comparison.GREATER: int.__gt__,
        Comparison.AT_LEAST: int.__ge__,
    }
    return Truths.TRUE if decide[operator](int(bool(left)), int(bool(right))) else Truths.FALSE


COMPARE = Rule(may=may_compare, assume=assume_comparison, outcomes=comparison_outcomes)
