"""`/`, `div` and `%`: negative and positive divisors are treated separately, as zero has no quotient."""

import math
from dataclasses import dataclass, replace
from decimal import Decimal

from pruning.expressions.trees import Arithmetic, Mode, Operator
from pruning.expressions.types import DECIMAL_PRECISION_MAX, Kind, Type, Value, decimal
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.operands import (
    may_be_any_infinity,
    may_be_nan,
    may_be_negative,
    may_be_positive,
    may_be_zero,
    never_negative,
    never_positive,
    number,
    results_in_mode,
    unbounded_where,
    zero,
)
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound, Flag

_UNIT = {Kind.FLOAT: 2.0**-149, Kind.DOUBLE: 2.0**-1074}


@dataclass(frozen=True, slots=True)
class _Divisors:
    """The divisors of one sign: the flag that there is one, the one nearest to zero and the furthest."""

    exists: Flag
    near: Bound
    far: Bound


def quotient_range(build: Builder, node: Arithmetic, left: Range, right: Range) -> Range:
    """Return the range of the quotients, exact or integral.

    Claim     Each row's quotient lies in the range; rows on which it raises have none.
    Premises  The sides lie in their ranges; rounding, of decimals half up, of floats to nearest and of
              integral quotients toward zero, is monotone (axiom ROUNDING).
    Proof     (1) A divisor is not zero, so one above zero is at least the type's smallest positive
                  value, and one below zero at most its opposite.
              (2) For one divisor b > 0 the quotient grows with a, so it is least at a.lower; and there at
                  the furthest b if a.lower >= 0, else at the nearest. For b < 0 it falls with a: least at
                  a.upper, at the nearest b if a.upper >= 0, else at the furthest.
              (3) A sign that no divisor has leaves no quotient.
              (4) A zero divisor raises (ANSI) or gives NULL, whatever the dividend, NaN too.
              (5) NaN comes from NaN, or from infinity over infinity.
              (6) Where both bounds fit every result does; else see `operands.results_in_mode`. A `div` that
                  does not fit wraps round (LEGACY; of decimals in each mode) or may be NULL: see
                  `_integral_quotients`.
    """
    positive, negative = _positive_part(build, right), _negative_part(build, right)
    values = build.and_(left.may_value, build.or_(positive.exists, negative.exists))  # (3)
    nan = build.flag(False)
    if node.type.floating:
        undefined = build.and_(may_be_any_infinity(build, left), may_be_any_infinity(build, right))
        nan = build.or_(_nan_by_nonzero(build, left, right, positive, negative), undefined)  # (5)
    result = Range(
        lower=_outer_bound(
            build,
            positive,
            negative,
            _quotient_at_end(build, node, left.lower, positive.far, positive.near),
            _quotient_at_end(build, node, left.upper, negative.near, negative.far),
            least=True,
        ),
        upper=_outer_bound(
            build,
            positive,
            negative,
            _quotient_at_end(build, node, left.upper, positive.near, positive.far),
            _quotient_at_end(build, node, left.lower, negative.far, negative.near),
            least=False,
        ),
        may_null=_null_by_zero(build, node.mode, left, right),
        may_nan=nan,
        may_value=values,
    )
    if node.operator is Operator.INTEGRAL_DIVIDE:
        return _integral_quotients(build, result, left.type, right.type, node.mode)
    return results_in_mode(build, result, node.mode)  # (6)


def _positive_part(build: Builder, divisor: Range) -> _Divisors:
    """Return the divisors above zero (1); an unknown greatest one is that of the type."""
    least, greatest = _limits(divisor.type)
    return _Divisors(
        exists=may_be_positive(build, divisor),
        near=build.greatest_known(divisor.lower, build.bound(least, divisor.type)),
        far=build.least_known(divisor.upper, build.bound(greatest, divisor.type)),
    )


def _negative_part(build: Builder, divisor: Range) -> _Divisors:
    """Return the divisors below zero (1); an unknown least one is that of the type."""
    least, greatest = _limits(divisor.type)
    lowest = divisor.type.integer_range[0] if divisor.type.integer_range else _opposite(greatest)
    return _Divisors(
        exists=may_be_negative(build, divisor),
        near=build.least_known(divisor.upper, build.bound(_opposite(least), divisor.type)),
        far=build.greatest_known(divisor.lower, build.bound(lowest, divisor.type)),
    )


def _limits(type_: Type) -> tuple[Value, Value]:
    """Return the smallest positive value of a type of numbers, and the greatest."""
    if type_.floating:
        return _UNIT[type_.kind], math.inf
    limits = type_.integer_range
    return number(1, type_), number(10**type_.precision - 1 if limits is None else limits[1], type_)


def _opposite(value: Value) -> Value:
    """Return the number with the other sign."""
    assert not isinstance(value, bytes)
    return value.copy_negate() if isinstance(value, Decimal) else -value


def _quotient_at_end(
    build: Builder, node: Arithmetic, dividend: Bound, if_positive: Bound, if_negative: Bound
) -> Bound:
    """Return the quotient of a dividend and the end of the divisors that its sign selects (2)."""
    divisor = build.choose(never_negative(build, dividend), if_positive, if_negative)
    if node.operator is Operator.INTEGRAL_DIVIDE:
        return build.quotient(dividend, divisor, node.type)
    return build.divide(dividend, divisor, node.type)


def _outer_bound(
    build: Builder,
    positive: _Divisors,
    negative: _Divisors,
    over_positive: Bound,
    over_negative: Bound,
    *,
    least: bool,
) -> Bound:
    """Return the outer of the bounds of those parts that exist (3)."""
    outer = (build.least if least else build.greatest)(over_positive, over_negative)
    either = build.choose(negative.exists, outer, over_positive)
    return build.choose(positive.exists, either, over_negative)


def _null_by_zero(build: Builder, mode: Mode, left: Range, right: Range) -> Flag:
    """Return the flag of NULL: a side is NULL, or the divisor is zero and that does not raise (4)."""
    null = build.or_(left.may_null, right.may_null)
    if mode is Mode.ANSI:
        return null
    some = build.or_(left.may_value, left.may_nan)
    return build.or_(null, build.and_(some, may_be_zero(build, right)))


def _nan_by_nonzero(
    build: Builder, left: Range, right: Range, positive: _Divisors, negative: _Divisors
) -> Flag:
    """Return the flag that one side is NaN, the divisor is not zero and neither is NULL."""
    nonzero = replace(right, may_value=build.or_(positive.exists, negative.exists))
    return may_be_nan(build, left, nonzero)


def _integral_quotients(build: Builder, exact: Range, left: Type, right: Type, mode: Mode) -> Range:
    """Return the integral quotients with those that do not fit a bigint as Spark leaves them.

    The least bigint over -1 raises or wraps round. A quotient of decimals wraps in every mode, even
    ANSI; before that it raises or is NULL if it has more than 38 digits, which only wide operands give.
    """
    overflows = build.not_(build.and_(build.is_known(exact.lower), build.is_known(exact.upper)))
    wraps = left.kind is Kind.DECIMAL or mode is not Mode.ANSI
    too_long = left.precision - left.scale + right.scale > DECIMAL_PRECISION_MAX
    null = exact.may_null
    if mode is Mode.TRY or (mode is Mode.LEGACY and too_long):
        null = build.or_(null, build.and_(exact.may_value, overflows))
    bounded = unbounded_where(build, exact, overflows) if wraps else exact
    return replace(bounded, may_null=null)


def remainder_range(build: Builder, node: Arithmetic, left: Range, right: Range) -> Range:
    """Return the range of the remainders.

    Claim     Each row's remainder r = a - b * q, q the integral part of a / b, lies in the range; rows
              on which it raises have none.
    Premises  The sides lie in their ranges. Remainders are exact, of floats too.
    Proof     (1) r has the sign of a, |r| <= |a| and |r| < |b|; of floats, |r| <= |b| is used.
              (2) Where a keeps to one sign and all quotients by one b are the same, r grows with a. They are
                  the same where the ends lie less than |b| apart and the upper one leaves no less.
              (3) The difference of two floats rounds, but not from |b| or above to below it (ROUNDING).
              (4) A zero divisor raises (ANSI) or gives NULL, whatever the dividend, NaN too.
              (5) NaN comes from NaN, or from an infinite dividend.
              (6) Decimals are compared in a type that holds both sides; what it cannot hold is unknown.
                  A bound that does not fit in the result's type is unknown too. Each remainder fits in
                  the type Spark gives it; for another see `operands.results_in_mode`.
    """
    type_ = _type_of_both(left.type, right.type)
    dividend, divisor = _bounds_in(build, left, type_), _bounds_in(build, right, type_)  # (6)
    positive, negative = may_be_positive(build, right), may_be_negative(build, right)
    nonzero = build.or_(positive, negative)
    nan = build.flag(False)
    if type_.floating:
        by_nonzero = replace(right, may_value=nonzero)
        undefined = build.and_(may_be_any_infinity(build, left), nonzero)
        nan = build.or_(may_be_nan(build, left, by_nonzero), undefined)  # (5)
    lower, upper = _remainders(build, dividend, divisor)
    result = Range(
        lower=build.cast(lower, node.type),
        upper=build.cast(upper, node.type),
        may_null=_null_by_zero(build, node.mode, left, right),  # (4)
        may_nan=nan,
        may_value=build.and_(left.may_value, nonzero),
    )
    return (
        result
        if _holds_remainders(node.type, left.type, right.type)
        else results_in_mode(build, result, node.mode)
    )


def _holds_remainders(type_: Type, left: Type, right: Type) -> bool:
    """Tell whether each remainder fits: it has no more whole digits than either side (1)."""
    whole = min(side.precision - side.scale for side in (left, right))
    return type_.precision - type_.scale >= whole and type_.scale >= max(left.scale, right.scale)


def _type_of_both(left: Type, right: Type) -> Type:
    """Return the type itself, or a decimal type with the digits of both, as far as there is one."""
    if left == right:
        return left
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return decimal(min(whole + scale, DECIMAL_PRECISION_MAX), scale)


def _bounds_in(build: Builder, side: Range, type_: Type) -> Range:
    """Return the range with its bounds cast to a type."""
    return replace(side, lower=build.cast(side.lower, type_), upper=build.cast(side.upper, type_))


def _remainders(build: Builder, dividend: Range, divisor: Range) -> tuple[Bound, Bound]:
    """Return the lower and the upper bound of the remainders."""
    none = zero(build, dividend.type)
    # Negative magnitudes are used, because integer types have one more negative value.
    outer = build.least(divisor.lower, build.subtract(none, divisor.upper))
    furthest = build.choose(never_positive(build, divisor.upper), divisor.lower, outer)
    least = build.next(furthest)
    lower = build.least(build.greatest_known(dividend.lower, least), none)  # (1)
    upper = build.greatest(build.least_known(dividend.upper, build.subtract(none, least)), none)
    if divisor.lower != divisor.upper:
        return lower, upper
    of_lower = build.remainder(dividend.lower, divisor.lower)
    of_upper = build.remainder(dividend.upper, divisor.upper)
    one_sign = build.or_(never_negative(build, dividend.lower), never_positive(build, dividend.upper))
    width = build.subtract(dividend.lower, dividend.upper)  # not above zero
    near = build.not_(build.maybe_at_most(width, furthest))  # (3)
    same = build.and_(one_sign, near, build.not_(build.maybe_less(of_upper, of_lower)))  # (2)
    return build.choose(same, of_lower, lower), build.choose(same, of_upper, upper)
