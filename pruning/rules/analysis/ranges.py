"""Ranges: the abstract values of scalar expressions, with which the rules compute."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pruning.expressions.types import BOOLEAN, NULL, Type
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound, Flag
from pruning.rules.sets import value_sets
from pruning.rules.sets.cuts import EMPTY, FULL
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.truths import Truths
from pruning.rules.sets.value_sets import Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The range of the values of an expression over the rows of one block.

    Each row is NULL (only if `may_null`), NaN (only if `may_nan`), or a value (only if
    `may_value`) that `lower` and `upper` enclose where they are known and that is in `cuts`.
    If no row may be a value, the bounds have no meaning.
    """

    lower: Bound
    upper: Bound
    may_null: Flag
    may_nan: Flag
    may_value: Flag
    cuts: Values = FULL

    @property
    def type(self) -> Type:
        """The type of the values."""
        return self.lower.type


def anything(build: Builder, type_: Type) -> Range:
    """Return the range of an expression that no rule knows."""
    unknown = build.unknown(type_)
    return Range(
        lower=unknown,
        upper=unknown,
        may_null=build.flag(True),
        may_nan=build.flag(type_.floating or not type_.has_bounds),
        may_value=build.flag(type_ != NULL),
    )


def may_have_rows(build: Builder, range_: Range) -> Flag:
    """Return the flag that the range has a row: a NULL, a NaN or a value."""
    return build.or_(range_.may_null, range_.may_nan, range_.may_value)


def not_null(build: Builder, range_: Range) -> Range:
    """Return the rows that are not NULL."""
    return replace(range_, may_null=build.flag(False))


def only_null(build: Builder, range_: Range) -> Range:
    """Return the rows that are NULL."""
    never = build.flag(False)
    return replace(range_, may_nan=never, may_value=never)


def only_where(build: Builder, range_: Range, reached: Flag) -> Range:
    """Return the range in blocks where the flag `reached` holds, and no row in the others."""
    return replace(
        range_,
        may_null=build.and_(range_.may_null, reached),
        may_nan=build.and_(range_.may_nan, reached),
        may_value=build.and_(range_.may_value, reached),
    )


def within(build: Builder, range_: Range, lower: Bound, upper: Bound) -> Range:
    """Return the rows whose values are also inside [lower, upper]; NULL and NaN stay."""
    lower = build.greatest_known(range_.lower, lower)
    upper = build.least_known(range_.upper, upper)
    may_value = build.and_(range_.may_value, build.maybe_at_most(lower, upper))
    return replace(range_, lower=lower, upper=upper, may_value=may_value)


def union(build: Builder, left: Range, right: Range) -> Range:
    """Return the rows of either. A side without values does not loosen the other's bounds."""
    if left == right:
        return left
    if left.type != right.type:
        left, right = _of_one_type(build, left, right)
    return Range(
        lower=_outer_bound(build, build.least, left, right, left.lower, right.lower),
        upper=_outer_bound(build, build.greatest, left, right, left.upper, right.upper),
        may_null=build.or_(left.may_null, right.may_null),
        may_nan=build.or_(left.may_nan, right.may_nan),
        may_value=build.or_(left.may_value, right.may_value),
        cuts=value_sets.union(left.cuts, right.cuts),
    )


def intersection(build: Builder, left: Range, right: Range) -> Range:
    """Return the rows that lie in both ranges of one expression."""
    lower = build.greatest_known(left.lower, right.lower)
    upper = build.least_known(left.upper, right.upper)
    cuts = value_sets.intersection(left.cuts, right.cuts)
    meets = build.and_(build.maybe_at_most(lower, upper), build.maybe_meets(lower, upper, cuts))
    return Range(
        lower=lower,
        upper=upper,
        may_null=build.and_(left.may_null, right.may_null),
        may_nan=build.and_(left.may_nan, right.may_nan),
        may_value=build.and_(left.may_value, right.may_value, meets),
        cuts=cuts,
    )


def inside(build: Builder, range_: Range, values: ValueSet) -> Range:
    """Return the rows whose value, NULL or NaN is also in the set."""
    cuts = value_sets.intersection(range_.cuts, values.cuts)
    never = build.flag(False)
    least, greatest = cuts.hull()
    return Range(
        lower=build.greatest_known(range_.lower, build.bound(least, range_.type)),
        upper=build.least_known(range_.upper, build.bound(greatest, range_.type)),
        may_null=range_.may_null if values.null else never,
        may_nan=range_.may_nan if values.nan else never,
        may_value=build.and_(range_.may_value, build.maybe_meets(range_.lower, range_.upper, cuts)),
        cuts=cuts,
    )


def may_lie(build: Builder, range_: Range, values: ValueSet) -> Flag:
    """Return the flag that a row may have a value in the set, or be a NULL or NaN of it."""
    never = build.flag(False)
    cuts = value_sets.intersection(range_.cuts, values.cuts)
    meets = build.maybe_meets(range_.lower, range_.upper, cuts)
    return build.or_(
        build.and_(range_.may_value, meets),
        range_.may_null if values.null else never,
        range_.may_nan if values.nan else never,
    )


def _outer_bound(
    build: Builder,
    pick: Callable[[Bound, Bound], Bound],
    left: Range,
    right: Range,
    left_bound: Bound,
    right_bound: Bound,
) -> Bound:
    """Return the outer of two bounds, counting only sides that have values; any if neither has."""
    never = build.flag(False)
    if right.may_value == never:
        return left_bound
    if left.may_value == never:
        return right_bound
    outer = build.choose(right.may_value, pick(left_bound, right_bound), left_bound)
    return build.choose(left.may_value, outer, right_bound)


def union_of(build: Builder, pieces: list[Range]) -> Range:
    """Return the rows of any of the ranges, of which there is at least one."""
    united = pieces[0]
    for piece in pieces[1:]:
        united = union(build, united, piece)
    return united


def _of_one_type(build: Builder, left: Range, right: Range) -> tuple[Range, Range]:
    """Give both sides one type: a bare NULL takes the other's; if the types differ, bounds are lost."""
    target = right.type if left.type == NULL else left.type
    unknown = build.unknown(target)
    unbounded = (
        side
        if side.type == target
        else replace(side, lower=unknown, upper=unknown, cuts=_cuts_in_other_type(side))
        for side in (left, right)
    )
    first, second = unbounded
    return first, second


def _cuts_in_other_type(side: Range) -> Values:
    """Return the values of a side in another type: none of a bare NULL, else any."""
    return EMPTY if side.type == NULL else FULL


def of_truths(build: Builder, may_true: Flag, may_false: Flag, may_null: Flag) -> Range:
    """Return the range of a boolean that may take these truth values; FALSE is below TRUE."""
    true, false = build.bound(True, BOOLEAN), build.bound(False, BOOLEAN)
    return Range(
        lower=build.choose(may_false, false, true),
        upper=build.choose(may_true, true, false),
        may_null=may_null,
        may_nan=build.flag(False),
        may_value=build.or_(may_true, may_false),
    )


def may_be(build: Builder, range_: Range, truth: Truths) -> Flag:
    """Return the flag that a boolean in this range may take one truth value."""
    if truth is Truths.NULL:
        return range_.may_null
    if range_.type != BOOLEAN:
        return range_.may_value
    if truth is Truths.TRUE:
        return build.and_(range_.may_value, build.maybe_at_most(build.bound(True, BOOLEAN), range_.upper))
    return build.and_(range_.may_value, build.maybe_at_most(range_.lower, build.bound(False, BOOLEAN)))
