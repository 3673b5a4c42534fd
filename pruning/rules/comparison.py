"""The six comparison operators ([M] 5.3.2), in Spark's order: NaN equals NaN and is above every number."""

import math
from collections.abc import Callable
from dataclasses import replace

from pruning.expressions.trees import Compare, Comparison, Expression, Literal, repeatable, type_of
from pruning.expressions.types import BOOLEAN, Value
from pruning.rules import cuts, ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.outcomes import (
    EVERYTHING,
    NAN_ONLY,
    NOT_NULL,
    NOTHING,
    NULL_ONLY,
    NUMBERS,
    Outcomes,
    ValueSet,
    mapped,
)
from pruning.rules.program import Builder, Flag
from pruning.rules.ranges import Range
from pruning.rules.truths import Truths

# `a > b` is `b < a`, and `NOT (a < b)` on values is `b <= a`.
_MIRRORED = {Comparison.GREATER: Comparison.LESS, Comparison.AT_LEAST: Comparison.AT_MOST}
_OPPOSITE = {
    Comparison.LESS: Comparison.AT_LEAST,
    Comparison.AT_MOST: Comparison.GREATER,
    Comparison.GREATER: Comparison.AT_MOST,
    Comparison.AT_LEAST: Comparison.LESS,
}


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether `left operator right` may be TRUE, FALSE or NULL.

    Claim     If a row gives the comparison this truth value, the flag holds.
    Premises  Each row of either side is NULL, NaN or a value inside its bounds, as its Range says.
    Proof     (1) left < right for some values inside the bounds only if left.lower < right.upper;
              (2) left <= right only if left.lower <= right.upper; = needs both directions;
              (3) NaN is below nothing, above every value and equal to itself;
              (4) `<=>` is never NULL: NULL equals NULL and nothing else.
    """
    assert isinstance(node, Compare)
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    operator = node.operator
    if operator in _MIRRORED:
        left, right, operator = right, left, _MIRRORED[operator]
    build = analysis.build
    if operator is Comparison.NULL_SAFE_EQUAL:
        return _null_safe(build, left, right, truth)
    if truth is Truths.NULL:
        return build.or_(left.may_null, right.may_null)
    if operator is Comparison.EQUAL:
        decide = _may_be_equal if truth is Truths.TRUE else _may_differ
        return decide(build, left, right)
    # `a < b` is FALSE where `b <= a` is TRUE, and the other way round.
    strict = (operator is Comparison.LESS) is (truth is Truths.TRUE)
    lower, upper = (left, right) if truth is Truths.TRUE else (right, left)
    return _may_be_less(build, lower, upper) if strict else _may_be_at_most(build, lower, upper)


def _may_be_less(build: Builder, left: Range, right: Range) -> Flag:
    values = build.and_(left.may_value, right.may_value, build.maybe_less(left.lower, right.upper))  # (1)
    return build.or_(values, build.and_(left.may_value, right.may_nan))  # (3)


def _may_be_at_most(build: Builder, left: Range, right: Range) -> Flag:
    values = build.and_(left.may_value, right.may_value, build.maybe_at_most(left.lower, right.upper))  # (2)
    below_nan = build.and_(build.or_(left.may_value, left.may_nan), right.may_nan)  # (3)
    return build.or_(values, below_nan)


def _may_be_equal(build: Builder, left: Range, right: Range) -> Flag:
    values = build.and_(
        left.may_value,
        right.may_value,
        build.maybe_at_most(left.lower, right.upper),  # (2)
        build.maybe_at_most(right.lower, left.upper),
    )
    return build.or_(values, build.and_(left.may_nan, right.may_nan))  # (3)


def _may_differ(build: Builder, left: Range, right: Range) -> Flag:
    apart = build.or_(
        build.maybe_less(left.lower, right.upper), build.maybe_less(right.lower, left.upper)
    )  # (1)
    values = build.and_(left.may_value, right.may_value, apart)
    one_nan = build.or_(
        build.and_(left.may_value, right.may_nan), build.and_(left.may_nan, right.may_value)
    )  # (3)
    return build.or_(values, one_nan)


def _null_safe(build: Builder, left: Range, right: Range, truth: Truths) -> Flag:
    if truth is Truths.NULL:
        return build.flag(False)  # (4)
    if truth is Truths.TRUE:
        return build.or_(_may_be_equal(build, left, right), build.and_(left.may_null, right.may_null))
    one_null = build.or_(
        build.and_(left.may_null, build.or_(right.may_value, right.may_nan)),
        build.and_(right.may_null, build.or_(left.may_value, left.may_nan)),
    )
    return build.or_(_may_differ(build, left, right), one_null)


def outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """A comparison with a constant, or of an expression with itself, is a predicate on that expression."""
    assert isinstance(node, Compare)
    left, operator, right = node.left, node.operator, node.right
    if isinstance(left, Literal):
        left, operator, right = right, _mirror(operator), left
    type_ = type_of(left)
    if isinstance(left, Literal) or not type_.known:
        return None
    if isinstance(right, Literal) and type_of(right) == type_:
        if type_ == BOOLEAN:
            table = {truth: _compare_booleans(operator, truth, right.value) for truth in Truths.ANY.members()}
            return mapped(analysis.outcomes(left), table)
        return _with_constant(left, operator, right.value)
    if left == right and repeatable(left):
        return _with_itself(left, operator)
    return None


def _with_constant(subject: Expression, operator: Comparison, value: Value | None) -> Outcomes:
    """The values below a constant, it, and those above it; NaN is above each value ([M] 5.3.2)."""
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
    if operator is Comparison.NULL_SAFE_EQUAL:
        return Outcomes(subject, true=EVERYTHING, false=NOTHING, null=NOTHING)
    reflexive = operator not in (Comparison.LESS, Comparison.GREATER)
    true, false = (NOT_NULL, NOTHING) if reflexive else (NOTHING, NOT_NULL)
    return Outcomes(subject, true=true, false=false, null=NULL_ONLY)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """Narrow both sides to where the comparison can take one of the truth values.

    Claim     Each such row's value of a side lies in the range that this side is narrowed to.
    Premises  The other side's range encloses its values on the rows of the environment.
    Proof     The rows are those where it is TRUE, those where it is FALSE and those where it is
              NULL, each narrowed by itself (`_where_compared`, `_where_null`), and their union.
    """
    assert isinstance(node, Compare)
    mirrored = Compare(_mirror(node.operator), node.right, node.left)
    for side in (node, mirrored):
        own = analysis.values(side.left, environment)
        other = analysis.range(side.right, environment)
        comparable = own.type == other.type or not other.type.known
        if not isinstance(side.left, Literal) and own.type.known and comparable:
            pieces = [_where(analysis.build, own, side.operator, other, truth) for truth in truths.members()]
            environment = analysis.constrain(side.left, environment, ranges.union_of(analysis.build, pieces))
    return environment


def _mirror(operator: Comparison) -> Comparison:
    mirrors = {**_MIRRORED, **{value: key for key, value in _MIRRORED.items()}}
    return mirrors.get(operator, operator)


def _where(build: Builder, own: Range, operator: Comparison, other: Range, truth: Truths) -> Range:
    if operator is Comparison.NULL_SAFE_EQUAL:
        return _where_null_safe(build, own, other, truth)
    if truth is Truths.NULL:
        return _where_null(build, own, other)
    return _where_compared(build, own, operator, other, truth)


def _where_null(build: Builder, own: Range, other: Range) -> Range:
    """One side is NULL: where the other side cannot be, this one is."""
    return replace(
        own,
        may_nan=build.and_(own.may_nan, other.may_null),
        may_value=build.and_(own.may_value, other.may_null),
    )


def _where_compared(build: Builder, own: Range, operator: Comparison, other: Range, truth: Truths) -> Range:
    """Neither side is NULL, and the comparison is TRUE or FALSE as `truth` says."""
    own = ranges.not_null(build, own)
    if other.type != own.type:
        return own
    if operator is Comparison.EQUAL:
        return _where_equal(build, own, other) if truth is Truths.TRUE else own
    relation = operator if truth is Truths.TRUE else _OPPOSITE[operator]
    unknown, never = build.unknown(own.type), build.flag(False)
    if relation in (Comparison.LESS, Comparison.AT_MOST):
        # NaN on the other side is above every value: only without it does its upper bound hold.
        top = other.upper if relation is Comparison.AT_MOST else build.previous(other.upper)
        top = build.choose(other.may_nan, unknown, top)
        may_nan = build.and_(own.may_nan, other.may_nan) if relation is Comparison.AT_MOST else never
        return replace(ranges.within(build, own, unknown, top), may_nan=may_nan)
    # A value is above nothing but values, so the other side's lower bound holds for each of them.
    bottom = other.lower if relation is Comparison.AT_LEAST else build.next(other.lower)
    narrowed = ranges.within(build, own, bottom, unknown)
    return replace(narrowed, may_value=build.and_(narrowed.may_value, other.may_value))


def _where_equal(build: Builder, own: Range, other: Range) -> Range:
    narrowed = ranges.within(build, own, other.lower, other.upper)
    return replace(
        narrowed,
        may_nan=build.and_(own.may_nan, other.may_nan),
        may_value=build.and_(narrowed.may_value, other.may_value),
    )


def _where_null_safe(build: Builder, own: Range, other: Range, truth: Truths) -> Range:
    never = build.flag(False)
    if truth is Truths.NULL:
        return replace(own, may_null=never, may_nan=never, may_value=never)
    if truth is Truths.TRUE:
        equal = _where_equal(build, own, other) if own.type == other.type else own
        return replace(equal, may_null=build.and_(own.may_null, other.may_null))
    return replace(own, may_null=build.and_(own.may_null, build.or_(other.may_value, other.may_nan)))


def _compare_booleans(operator: Comparison, truth: Truths, right: Value | None) -> Truths:
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


COMPARE = Rule(may=may, assume=assume, outcomes=outcomes)
