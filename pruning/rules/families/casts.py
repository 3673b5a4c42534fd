"""CAST among numbers, booleans, dates and times ([M] 5.3.7), and of integers to text.

For casts of text see `rules.time.text_casts`.
"""

from dataclasses import replace
from functools import lru_cache

from pruning.expressions.trees import Cast, Expression, Function, Mode, type_of
from pruning.expressions.types import BOOLEAN, DOUBLE, STRING, TIMESTAMP_NTZ, Kind, Type, Value
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families import fitting
from pruning.rules.families.time_functions import time_preimage, time_range
from pruning.rules.program import functions
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Bound, Flag
from pruning.rules.sets import decimals, primitives
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.primitives import ZONE_OFFSET_MICROS_MAX, keeps_order
from pruning.rules.text.integer_texts import integer_preimage
from pruning.rules.time.step_chains import step_chain
from pruning.rules.time.text_casts import is_text_to_time, text_preimage

_DOUBLE_DIGITS = 15  # a decimal of up to this many digits is never rounded to an integer by a double
_SATURATED = (Kind.INTEGER, Kind.LONG)  # casts to narrower integers take the low bits of an int


def cast_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the operand's range in the other type.

    Claim     Each row's cast value lies in the range; rows on which the cast raises have none.
    Premises  The cast keeps order (`primitives.keeps_order`); no zone is further than 18 hours
              from UTC (axiom ZONE, the limit of java.time.ZoneOffset).
    Proof     (1) lower <= v <= upper gives cast(lower) <= cast(v) <= cast(upper).
              (2) The values that fit in the type lie between two limits, because the cast keeps
                  order: ANSI raises on the others, TRY and decimals make them NULL.
              (3) LEGACY floats saturate in int and bigint; LEGACY integers wrap round, so that
                  their bounds hold no longer.
              (4) NaN is no integer: ANSI raises, TRY gives NULL, LEGACY 0.
              (5) Decimals become ints exactly or, in some cases, by way of a double: both keep the
                  order, so each bound is the outer one of the two.
              (6) Of a zone that is not known: an instant and its local time differ by at most 18
                  hours, so widen by that much. Of others see `rules.families.time_functions`.
    """
    assert isinstance(node, Cast)
    build, operand = analysis.build, analysis.range(node.operand, environment)
    source, target = operand.type, node.type
    if step_chain(node) is not None:
        return time_range(analysis, node, environment)
    if _depends_on_zone(source, target):
        return _widened_by_zone(build, operand, target)  # (6)
    if target == BOOLEAN and _numeric(source):
        return _is_not_zero(build, operand)
    if source.floating and target.kind is Kind.DECIMAL:
        return _decimal_of_float(build, operand, target, node.mode)
    if not keeps_order(source, target):
        return ranges.anything(build, target)
    if _through_a_double(source, target) and node.mode is not Mode.LEGACY:
        return _rounded_first(build, operand, target, node.mode)  # (5)
    kept, overflows = fitting.split_by_limits(build, operand, *_limits(source, target))
    if node.mode is Mode.LEGACY and target.kind is not Kind.DECIMAL:
        cast = _legacy_range(build, operand, overflows, target)  # (3)
    else:
        cast = _cast_bounds(build, kept, target)  # (1)
        if node.mode is not Mode.ANSI:
            cast = replace(cast, may_null=build.or_(operand.may_null, overflows))  # (2)
    return _without_nan(build, cast, operand.may_nan, node.mode) if source.floating else cast


def _numeric(type_: Type) -> bool:
    """Tell whether the values of a type are numbers."""
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def always_fits(source: Type, target: Type) -> bool:
    """Tell whether every number of one type fits in another, so that the mode does not matter."""
    exact = _numeric(source) and _numeric(target) and (target.floating or not source.floating)
    return exact and _limits(source, target) == (None, None)


@lru_cache(maxsize=1024)
def _limits(source: Type, target: Type) -> fitting.Limits:
    """Return the least and the greatest value of `source` that fits; None where all do."""
    if target.floating or target == source or not (_numeric(target) or source.kind is Kind.DATE):
        return None, None
    return fitting.limits(lambda value: primitives.cast(value, source, target), source)


def _through_a_double(source: Type, target: Type) -> bool:
    """Tell whether Spark tests if a decimal fits an int by way of a double, which may round it up."""
    long = source.kind is Kind.DECIMAL and source.scale > 0 and source.precision > _DOUBLE_DIGITS
    return long and target.integral and target.kind is not Kind.LONG


def _rounded_first(build: Builder, operand: Range, target: Type, mode: Mode) -> Range:
    """Return the range of a decimal cut to an integer, perhaps rounded to a double first.

    Both ways keep the order.
    """
    exact, rounded = _limits(operand.type, target), _rounded_limits(operand.type, target)
    kept, _ = fitting.split_by_limits(build, operand, *fitting.outer(exact, rounded))
    _, overflows = fitting.split_by_limits(build, operand, *fitting.inner(exact, rounded))

    def cast(bound: Bound) -> tuple[Bound, Bound]:
        """Return a bound cast directly, and cast by way of a double."""
        return build.cast(bound, target), build.cast(build.cast(bound, DOUBLE), target)

    return replace(
        kept,
        lower=build.least_known(*cast(kept.lower)),
        upper=build.greatest_known(*cast(kept.upper)),
        may_null=operand.may_null if mode is Mode.ANSI else build.or_(operand.may_null, overflows),
    )


@lru_cache(maxsize=1024)
def _rounded_limits(source: Type, target: Type) -> fitting.Limits:
    """Return the least and the greatest decimal that fits if it is rounded to a double first."""

    def place(value: Value) -> Value | None:
        """Return the integer of a decimal that is rounded to a double first; None if it does not fit."""
        near = primitives.cast(value, source, DOUBLE)
        return None if near is None else primitives.cast(near, DOUBLE, target)

    return fitting.limits(place, source)


def _cast_bounds(build: Builder, operand: Range, target: Type) -> Range:
    """Return the range with its bounds cast to a type."""
    return replace(operand, lower=build.cast(operand.lower, target), upper=build.cast(operand.upper, target))


def _without_nan(build: Builder, cast: Range, may_nan: Flag, mode: Mode) -> Range:
    """Return the range of a cast with NaN replaced by what the mode makes of it."""
    if cast.type.floating:
        return cast
    never = build.flag(False)
    numbers = replace(cast, may_nan=never)
    if mode is Mode.TRY:
        return replace(numbers, may_null=build.or_(cast.may_null, may_nan))  # (4)
    return numbers if mode is Mode.ANSI else ranges.union(build, numbers, _zero(build, cast.type, may_nan))


def _zero(build: Builder, type_: Type, present: Flag) -> Range:
    """Return the range that holds 0 where the flag holds, and nothing elsewhere."""
    zero, never = build.bound(0, type_), build.flag(False)
    return Range(lower=zero, upper=zero, may_null=never, may_nan=never, may_value=present)


def _legacy_range(build: Builder, operand: Range, overflows: Flag, target: Type) -> Range:
    """Return the range under LEGACY: numbers that do not fit saturate or wrap round; dates raise or wrap."""
    if operand.type.floating and target.kind in _SATURATED:
        return _saturated_range(build, operand, target)
    cast, unknown = _cast_bounds(build, operand, target), build.unknown(target)
    return replace(
        cast,
        lower=build.choose(overflows, unknown, cast.lower),
        upper=build.choose(overflows, unknown, cast.upper),
    )


def _saturated_range(build: Builder, operand: Range, target: Type) -> Range:
    """Return the range of floats that saturate at the limits of an integer type."""
    least, greatest = (build.bound(limit, operand.type) for limit in _limits(operand.type, target))
    first, last = fitting.type_limits(build, target)
    lower = build.least_known(build.greatest_known(operand.lower, least), greatest)
    upper = build.greatest_known(build.least_known(operand.upper, greatest), least)
    return replace(
        operand,
        lower=_limit_where(build, build.maybe_less(operand.lower, least), first, build.cast(lower, target)),
        upper=_limit_where(build, build.maybe_less(greatest, operand.upper), last, build.cast(upper, target)),
    )


def _limit_where(build: Builder, beyond: Flag, limit: Bound, bound: Bound) -> Bound:
    """Return the limit where the flag holds, else the bound."""
    return build.choose(beyond, limit, bound)


def _is_not_zero(build: Builder, operand: Range) -> Range:
    """Return the range of a number cast to a boolean: FALSE of zero, TRUE of others, NaN included."""
    zero = build.bound(_ZEROS.get(operand.type.kind, 0), operand.type)
    if operand.type.kind is Kind.DECIMAL:
        zero = build.bound(decimals.decimal_from_units(0, operand.type.scale), operand.type)
    not_zero = build.or_(build.maybe_less(operand.lower, zero), build.maybe_less(zero, operand.upper))
    is_zero = build.and_(build.maybe_at_most(operand.lower, zero), build.maybe_at_most(zero, operand.upper))
    return ranges.of_truths(
        build,
        build.or_(operand.may_nan, build.and_(operand.may_value, not_zero)),
        build.and_(operand.may_value, is_zero),
        operand.may_null,
    )


_ZEROS = {Kind.FLOAT: 0.0, Kind.DOUBLE: 0.0}


def _decimal_of_float(build: Builder, operand: Range, target: Type, mode: Mode) -> Range:
    """Return the range of a float cast to the decimal that its text rounds to.

    Claim     Each row's decimal lies in the range; rows on which the cast raises have none.
    Premises  Java's text of a double reads back as the double, and is the shortest one within the
              limits of axiom TEXT; rounding to nearest is monotone.
    Proof     (1) So rounding the text is monotone, and the two sides of `functions.apply` enclose it.
              (2) NaN and infinities are NULL in every mode; what has too many digits is NULL, or
                  raises under ANSI.
    """
    below, above = (Apply(Function.ROUND, target.scale, side) for side in (Side.BELOW, Side.ABOVE))
    limits = _text_limits(operand.type, target)
    kept, _ = fitting.split_by_limits(build, operand, *fitting.outer(*limits))
    _, overflows = fitting.split_by_limits(build, operand, *fitting.inner(*limits))
    first, last = fitting.type_limits(build, target)
    infinities = [build.bound(sign * float("inf"), operand.type) for sign in (-1, 1)]
    infinite = build.or_(
        build.maybe_at_most(operand.lower, infinities[0]), build.maybe_at_most(infinities[1], operand.upper)
    )
    lost = build.and_(operand.may_value, infinite) if mode is Mode.ANSI else overflows  # (2)
    return Range(
        lower=build.greatest_known(build.apply(below, kept.lower, type_=target), first),  # (1)
        upper=build.least_known(build.apply(above, kept.upper, type_=target), last),
        may_null=build.or_(operand.may_null, operand.may_nan, lost),
        may_nan=build.flag(False),
        may_value=kept.may_value,
    )


@lru_cache(maxsize=1024)
def _text_limits(source: Type, target: Type) -> tuple[fitting.Limits, fitting.Limits]:
    """Return the limits of what fits if each text is rounded down, and if it is rounded up."""
    below, above = (
        fitting.limits(_rounding_place(Apply(Function.ROUND, target.scale, side), source, target), source)
        for side in (Side.BELOW, Side.ABOVE)
    )
    return below, above


def _rounding_place(call: Apply, source: Type, target: Type) -> fitting.Place:
    """Return the function that rounds a value into the target type."""
    return lambda value: functions.apply(call, (value,), source, target)


def _depends_on_zone(source: Type, target: Type) -> bool:
    """Tell whether a cast between the types depends on a time zone."""
    zoned = {source.kind, target.kind} == {Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}
    return zoned or (source.kind is Kind.DATE and target.kind is Kind.TIMESTAMP)


def _widened_by_zone(build: Builder, operand: Range, target: Type) -> Range:
    """Return the range of a cast through a zone that is not known: widened by the greatest offset.

    A date counts as its midnight.


    A result out of range raises or wraps (Spark checks dates only), so then no bound holds.
    """
    if operand.type.kind is Kind.DATE:
        midnight = TIMESTAMP_NTZ
        operand = replace(
            operand, lower=build.cast(operand.lower, midnight), upper=build.cast(operand.upper, midnight)
        )
    unchanged = target if operand.type == target else operand.type
    offset = build.bound(ZONE_OFFSET_MICROS_MAX, unchanged)
    lower, upper = build.subtract(operand.lower, offset), build.add(operand.upper, offset)
    fits = build.and_(build.is_known(lower), build.is_known(upper))
    unknown = build.unknown(unchanged)
    lower, upper = build.choose(fits, lower, unknown), build.choose(fits, upper, unknown)
    return replace(
        operand,
        lower=build.cast(lower, target),
        upper=build.cast(upper, target),
        may_null=build.or_(operand.may_null, build.and_(operand.may_value, build.not_(fits))),
    )


def cast_preimage(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:
    """Return the operand's values whose cast is in a set: dates, times, text as these, integers as text."""
    if isinstance(node, Cast) and node.type == STRING and type_of(node.operand).integral:
        integers = integer_preimage(values.cuts, type_of(node.operand))
        return node.operand, ValueSet(integers, null=values.null)
    if isinstance(node, Cast) and is_text_to_time(node):
        return text_preimage(node, values)
    return time_preimage(node, values)


CAST = Rule(range=cast_range, preimage=cast_preimage)
