"""The six comparison operators ([M] 5.3.2), in Spark's order: NaN equals NaN and is above every number."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from pruning.expressions.trees import Compare, Comparison, Expression, Literal, Order, repeatable, type_of
from pruning.expressions.types import BOOLEAN, BYTE, Value
from pruning.rules import cuts, ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.builder import Builder
from pruning.rules.choices import Choice, choices, correlated_choice
from pruning.rules.cuts import EMPTY, FULL
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
from pruning.rules.program import Flag
from pruning.rules.ranges import Range
from pruning.rules.truths import Truths

ALL_SIGNS = frozenset({-1, 0, 1})
# How left and right may lie to each other where a comparison is TRUE.
_SIGNS = {
    Comparison.EQUAL: frozenset({0}),
    Comparison.LESS: frozenset({-1}),
    Comparison.AT_MOST: frozenset({-1, 0}),
    Comparison.GREATER: frozenset({1}),
    Comparison.AT_LEAST: frozenset({0, 1}),
}
# `a > b` is `b < a`, and `NOT (a < b)` on values is `b <= a`.
_MIRRORED = {Comparison.GREATER: Comparison.LESS, Comparison.AT_LEAST: Comparison.AT_MOST}
_OPPOSITE = {
    Comparison.LESS: Comparison.AT_LEAST,
    Comparison.AT_MOST: Comparison.GREATER,
    Comparison.GREATER: Comparison.AT_MOST,
    Comparison.AT_LEAST: Comparison.LESS,
}


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether `left operator right` may be TRUE, FALSE or NULL, where no other way is known to tell.

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
        plain = _null_safe(build, left, right, truth)
        return build.and_(plain, *_of_each_choice(analysis, node, environment, truth))
    if truth is Truths.NULL:
        return build.or_(left.may_null, right.may_null)
    if operator is Comparison.EQUAL:
        decide = _may_be_equal if truth is Truths.TRUE else _may_differ
        return decide(build, left, right)
    # `a < b` is FALSE where `b <= a` is TRUE, and the other way round.
    strict = (operator is Comparison.LESS) is (truth is Truths.TRUE)
    lower, upper = (left, right) if truth is Truths.TRUE else (right, left)
    return _may_be_less(build, lower, upper) if strict else _may_be_at_most(build, lower, upper)


def _of_each_choice(
    analysis: Analysis, node: Compare, environment: Environment, truth: Truths
) -> Iterator[Flag]:
    """A comparison of a choice is the choice of comparisons."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if correlated_choice(side, other):
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
    if operator is Comparison.NULL_SAFE_EQUAL or isinstance(left, Literal) or type_of(right) != type_:
        return None
    signs = _SIGNS[operator]
    subject, turned = in_order(analysis, left, right)
    true = {-sign for sign in signs} if turned else signs
    return Outcomes(
        subject,
        true=ValueSet(cuts.of_values(true, BYTE)),
        false=ValueSet(cuts.of_values(ALL_SIGNS - true, BYTE)),
        null=NULL_ONLY,
    )


def in_order(analysis: Analysis, left: Expression, right: Expression) -> tuple[Order, bool]:
    """The order of two expressions, or of the second and the first, if that is how it is written."""
    first, second = analysis.ordinal(left), analysis.ordinal(right)
    turned = second < first
    return (Order(right, left), True) if turned else (Order(left, right), False)


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


def order_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Anything from -1 to 1; `order_may_lie` tells more."""
    assert isinstance(node, Order)
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    return Range(
        lower=build.bound(-1, BYTE),
        upper=build.bound(1, BYTE),
        may_null=build.or_(left.may_null, right.may_null),
        may_nan=build.flag(False),
        may_value=_may_be_any(build, left, right),
        cuts=cuts.of_values(ALL_SIGNS, BYTE),
    )


def order_may_lie(analysis: Analysis, node: Expression, environment: Environment, values: ValueSet) -> Flag:
    """Whether left may lie to right in one of some ways.

    Claim     If on a row the order is in the set, the flag holds.
    Premises  Each row of either side is NULL, NaN or a value inside its bounds, as its Range says.
    Proof     (1) For one sign, or two, as `may` says of the comparison that is TRUE there.
              (2) An order with itself is 0, or NULL where it is.
              (3) The order of a choice is the order of what is chosen (`choices`).
    """
    assert isinstance(node, Order)
    build = analysis.build
    if node.left == node.right and repeatable(node.left):  # (2)
        same = values.cuts.holds(0)
        return analysis.may_lie(
            node.left, environment, ValueSet(FULL if same else EMPTY, null=values.null, nan=same)
        )
    known = analysis.values(node, environment)
    signs = frozenset(sign for sign in ALL_SIGNS if known.cuts.holds(sign) and values.cuts.holds(sign))
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    plain = build.or_(
        _OF_SIGNS[signs](build, left, right),  # (1)
        known.may_null if values.null else build.flag(False),
    )
    kept = ValueSet(cuts.of_values(signs, BYTE), null=values.null)
    return build.and_(plain, *_order_of_each_choice(analysis, node, environment, kept))  # (3)


def _order_of_each_choice(
    analysis: Analysis, node: Order, environment: Environment, values: ValueSet
) -> Iterator[Flag]:
    for side, other, turn in ((node.left, node.right, False), (node.right, node.left, True)):
        if correlated_choice(side, other):
            yield analysis.build.or_(
                *(
                    analysis.build.and_(
                        choice.reached, _order_lies(analysis, choice, other, values, turn=turn)
                    )
                    for choice in choices(analysis, side, environment)
                )
            )
            return


def _order_lies(
    analysis: Analysis, choice: Choice, other: Expression, values: ValueSet, *, turn: bool
) -> Flag:
    subject, turned = in_order(analysis, choice.value, other)
    wanted = _turned(values) if turn is not turned else values
    return analysis.may_lie(subject, choice.environment, wanted)


def _turned(values: ValueSet) -> ValueSet:
    signs = {-sign for sign in ALL_SIGNS if values.cuts.holds(sign)}
    return ValueSet(cuts.of_values(signs, BYTE), null=values.null)


def constrain_order(
    analysis: Analysis, node: Expression, environment: Environment, narrowed: Range
) -> Environment:
    """Narrow both sides to where they lie to each other in one of the ways left.

    Claim     Each such row's value of a side lies in the range that this side is narrowed to.
    Premises  The other side's range encloses its values on the rows of the environment.
    Proof     The rows are those where the order is a sign, as the comparison that is TRUE there
              narrows them (`_where_compared`), and those where it is NULL (`_where_null`).
    """
    assert isinstance(node, Order)
    signs = frozenset(sign for sign in ALL_SIGNS if narrowed.cuts.holds(sign))
    null = narrowed.may_null != analysis.build.flag(False)
    turned = frozenset(-sign for sign in signs)
    for side, other, wanted in ((node.left, node.right, signs), (node.right, node.left, turned)):
        own, others = analysis.values(side, environment), analysis.range(other, environment)
        if not isinstance(side, Literal) and own.type == others.type:
            pieces = _pieces(analysis.build, own, others, wanted, null=null)
            if pieces:
                united = ranges.union_of(analysis.build, pieces)
                environment = analysis.constrain(side, environment, united)
    return environment


def _pieces(build: Builder, own: Range, other: Range, signs: frozenset[int], *, null: bool) -> list[Range]:
    pieces = [_where_null(build, own, other)] if null else []
    if signs == ALL_SIGNS:
        pieces.append(ranges.not_null(build, own))
    elif signs:
        operator, truth = _COMPARED[signs]
        pieces.append(_where_compared(build, own, operator, other, truth))
    return pieces


def _may_be_any(build: Builder, left: Range, right: Range) -> Flag:
    return build.and_(build.or_(left.may_value, left.may_nan), build.or_(right.may_value, right.may_nan))


_OF_SIGNS: dict[frozenset[int], Callable[[Builder, Range, Range], Flag]] = {
    frozenset(): lambda build, left, right: build.flag(False),
    frozenset({-1}): _may_be_less,
    frozenset({-1, 0}): _may_be_at_most,
    frozenset({0}): _may_be_equal,
    frozenset({0, 1}): lambda build, left, right: _may_be_at_most(build, right, left),
    frozenset({1}): lambda build, left, right: _may_be_less(build, right, left),
    frozenset({-1, 1}): _may_differ,
    ALL_SIGNS: _may_be_any,
}
_COMPARED = {
    **{signs: (operator, Truths.TRUE) for operator, signs in _SIGNS.items()},
    frozenset({-1, 1}): (Comparison.EQUAL, Truths.FALSE),
}
ORDER = Rule(range=order_range, constrain=constrain_order, may_lie=order_may_lie)
COMPARE = Rule(may=may, assume=assume, outcomes=outcomes)
