"""The comparison of two ranges: how their values may compare, and each side narrowed by that.

A *sign* is -1, 0 or 1 where a value of the left side is below, equal to or above one of the right side.
"""

from collections.abc import Callable
from dataclasses import replace

from pruning.expressions.trees import Comparison
from pruning.rules.analysis import ranges
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Flag
from pruning.rules.sets.truths import Truths

ALL_SIGNS = frozenset({-1, 0, 1})
# The signs for which a comparison is TRUE.
SIGNS = {
    Comparison.EQUAL: frozenset({0}),
    Comparison.LESS: frozenset({-1}),
    Comparison.AT_MOST: frozenset({-1, 0}),
    Comparison.GREATER: frozenset({1}),
    Comparison.AT_LEAST: frozenset({0, 1}),
}
_COMPARISONS = {
    **{signs: (operator, Truths.TRUE) for operator, signs in SIGNS.items()},
    frozenset({-1, 1}): (Comparison.EQUAL, Truths.FALSE),
}


def may_lie(build: Builder, left: Range, right: Range, signs: frozenset[int]) -> Flag:
    """Return the flag that left may compare to right by one of the signs.

    Claim     If on a row neither side is NULL and the sign is one of these, the flag holds.
    Premises  Each row of either side is NULL, NaN or a value inside its bounds, as its Range says.
    Proof     (1) left < right for some values inside the bounds only if left.lower < right.upper;
              (2) left <= right only if left.lower <= right.upper; = needs both directions;
              (3) NaN is below nothing, above every value and equal to itself.
    """
    return _MAY_LIE[signs](build, left, right)


def narrow_by_signs(build: Builder, own: Range, other: Range, signs: frozenset[int]) -> Range:
    """Return the rows of one side that compare to the other by one of the signs, at least one."""
    if signs == ALL_SIGNS:
        return ranges.not_null(build, own)
    operator, truth = _COMPARISONS[signs]
    return _narrow_by_comparison(build, own, operator, other, truth)


_OPPOSITE = {
    Comparison.LESS: Comparison.AT_LEAST,
    Comparison.AT_MOST: Comparison.GREATER,
    Comparison.GREATER: Comparison.AT_MOST,
    Comparison.AT_LEAST: Comparison.LESS,
}


def _may_be_less(build: Builder, left: Range, right: Range) -> Flag:
    """Return the flag that left may be less than right."""
    values = build.and_(left.may_value, right.may_value, build.maybe_less(left.lower, right.upper))  # (1)
    return build.or_(values, build.and_(left.may_value, right.may_nan))  # (3)


def _may_be_at_most(build: Builder, left: Range, right: Range) -> Flag:
    """Return the flag that left may be less than or equal to right."""
    values = build.and_(left.may_value, right.may_value, build.maybe_at_most(left.lower, right.upper))  # (2)
    below_nan = build.and_(build.or_(left.may_value, left.may_nan), right.may_nan)  # (3)
    return build.or_(values, below_nan)


def _may_be_equal(build: Builder, left: Range, right: Range) -> Flag:
    """Return the flag that the sides may be equal."""
    values = build.and_(
        left.may_value,
        right.may_value,
        build.maybe_at_most(left.lower, right.upper),  # (2)
        build.maybe_at_most(right.lower, left.upper),
    )
    return build.or_(values, build.and_(left.may_nan, right.may_nan))  # (3)


def _may_differ(build: Builder, left: Range, right: Range) -> Flag:
    """Return the flag that the sides may differ."""
    apart = build.or_(
        build.maybe_less(left.lower, right.upper), build.maybe_less(right.lower, left.upper)
    )  # (1)
    values = build.and_(left.may_value, right.may_value, apart)
    one_nan = build.or_(
        build.and_(left.may_value, right.may_nan), build.and_(left.may_nan, right.may_value)
    )  # (3)
    return build.or_(values, one_nan)


def _may_be_any(build: Builder, left: Range, right: Range) -> Flag:
    """Return the flag that both sides may be other than NULL."""
    return build.and_(build.or_(left.may_value, left.may_nan), build.or_(right.may_value, right.may_nan))


def may_be_null_safe(build: Builder, left: Range, right: Range, truth: Truths) -> Flag:
    """Return the flag that `<=>` may take a truth value; it is never NULL."""
    if truth is Truths.NULL:
        return build.flag(False)  # (4)
    if truth is Truths.TRUE:
        return build.or_(_may_be_equal(build, left, right), build.and_(left.may_null, right.may_null))
    one_null = build.or_(
        build.and_(left.may_null, build.or_(right.may_value, right.may_nan)),
        build.and_(right.may_null, build.or_(left.may_value, left.may_nan)),
    )
    return build.or_(_may_differ(build, left, right), one_null)


def narrow_by_null(build: Builder, own: Range, other: Range) -> Range:
    """Return one side's rows where one of the two is NULL: this one, if the other cannot be."""
    return replace(
        own,
        may_nan=build.and_(own.may_nan, other.may_null),
        may_value=build.and_(own.may_value, other.may_null),
    )


def _narrow_by_comparison(
    build: Builder, own: Range, operator: Comparison, other: Range, truth: Truths
) -> Range:
    """Return one side's rows where neither is NULL and the comparison is TRUE or FALSE as `truth` says."""
    own = ranges.not_null(build, own)
    if other.type != own.type:
        return own
    if operator is Comparison.EQUAL:
        return _narrow_by_equality(build, own, other) if truth is Truths.TRUE else own
    relation = operator if truth is Truths.TRUE else _OPPOSITE[operator]
    unknown, never = build.unknown(own.type), build.flag(False)
    if relation in (Comparison.LESS, Comparison.AT_MOST):
        # NaN on the other side is above every value, so its upper bound applies only if it has no NaN.
        top = other.upper if relation is Comparison.AT_MOST else build.previous(other.upper)
        top = build.choose(other.may_nan, unknown, top)
        may_nan = build.and_(own.may_nan, other.may_nan) if relation is Comparison.AT_MOST else never
        return replace(ranges.within(build, own, unknown, top), may_nan=may_nan)
    # A value is above values only, so the other side's lower bound always applies.
    bottom = other.lower if relation is Comparison.AT_LEAST else build.next(other.lower)
    narrowed = ranges.within(build, own, bottom, unknown)
    return replace(narrowed, may_value=build.and_(narrowed.may_value, other.may_value))


def _narrow_by_equality(build: Builder, own: Range, other: Range) -> Range:
    """Return one side's rows where it equals the other."""
    narrowed = ranges.within(build, own, other.lower, other.upper)
    return replace(
        narrowed,
        may_nan=build.and_(own.may_nan, other.may_nan),
        may_value=build.and_(narrowed.may_value, other.may_value),
    )


def narrow_by_null_safe(build: Builder, own: Range, other: Range, truth: Truths) -> Range:
    """Return one side's rows where `<=>` takes a truth value."""
    never = build.flag(False)
    if truth is Truths.NULL:
        return replace(own, may_null=never, may_nan=never, may_value=never)
    if truth is Truths.TRUE:
        equal = _narrow_by_equality(build, own, other) if own.type == other.type else own
        return replace(equal, may_null=build.and_(own.may_null, other.may_null))
    return replace(own, may_null=build.and_(own.may_null, build.or_(other.may_value, other.may_nan)))


_MAY_LIE: dict[frozenset[int], Callable[[Builder, Range, Range], Flag]] = {
    frozenset(): lambda build, left, right: build.flag(False),
    frozenset({-1}): _may_be_less,
    frozenset({-1, 0}): _may_be_at_most,
    frozenset({0}): _may_be_equal,
    frozenset({0, 1}): lambda build, left, right: _may_be_at_most(build, right, left),
    frozenset({1}): lambda build, left, right: _may_be_less(build, right, left),
    frozenset({-1, 1}): _may_differ,
    ALL_SIGNS: _may_be_any,
}
