"""CAST where it keeps the order of values ([M] 5.3.7): the casts that Catalyst inserts."""

from dataclasses import replace

from pruning.expressions.trees import Cast, Expression, Mode
from pruning.expressions.types import TIMESTAMP_NTZ, Kind, Type
from pruning.rules import ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.primitives import ZONE_OFFSET_MICROS_MAX, order_keeping
from pruning.rules.program import Builder
from pruning.rules.ranges import Range


def cast_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """The operand's range in the other type.

    Claim     Each row's cast value lies in the range; rows on which the cast raises have none.
    Premises  The cast keeps order (`primitives.order_keeping`); no zone is further than 18 hours
              from UTC (axiom ZONE, the limit of java.time.ZoneOffset).
    Proof     (1) lower <= v <= upper gives cast(lower) <= cast(v) <= cast(upper).
              (2) Where both bounds fit in the type, every value does; else it may be NULL, unless
                  ANSI raises. LEGACY wraps integers round, so nothing is known there.
              (3) An instant and its local time differ by at most 18 hours: widen by that much.
    """
    assert isinstance(node, Cast)
    build, known = analysis.build, analysis.range(node.operand, environment)
    if _through_a_zone(known.type, node.type):
        return _zoned(build, known, node.type)  # (3)
    if not order_keeping(known.type, node.type):
        return ranges.anything(build, node.type)
    lower, upper = build.cast(known.lower, node.type), build.cast(known.upper, node.type)  # (1)
    may_null = known.may_null
    if _may_overflow(known.type, node.type):
        overflows = build.not_(build.and_(build.known(lower), build.known(upper)))  # (2)
        if node.mode is not Mode.ANSI:
            may_null = build.or_(may_null, build.and_(known.may_value, overflows))
        if node.mode is Mode.LEGACY and node.type.kind is not Kind.DECIMAL:
            unknown = build.unknown(node.type)
            lower, upper = build.choose(overflows, unknown, lower), build.choose(overflows, unknown, upper)
    return replace(known, lower=lower, upper=upper, may_null=may_null)


def _may_overflow(source: Type, target: Type) -> bool:
    """Whether a value of `source` may have no place in `target`."""
    narrow, wide = source.integer_range, target.integer_range
    if source.kind is Kind.DATE:
        return target != source
    if source.integral and narrow is not None and wide is not None:
        return wide[1] < narrow[1]
    return target.kind is Kind.DECIMAL and target != source


def _through_a_zone(source: Type, target: Type) -> bool:
    zoned = {source.kind, target.kind} == {Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}
    return zoned or (source.kind is Kind.DATE and target.kind is Kind.TIMESTAMP)


def _zoned(build: Builder, known: Range, target: Type) -> Range:
    """A date is its midnight; then local time and instant differ by an offset nobody told us.

    A result out of range raises or wraps (Spark checks dates only), so then nothing is known.
    """
    if known.type.kind is Kind.DATE:
        midnight = TIMESTAMP_NTZ
        known = replace(
            known, lower=build.cast(known.lower, midnight), upper=build.cast(known.upper, midnight)
        )
    unchanged = target if known.type == target else known.type
    offset = build.bound(ZONE_OFFSET_MICROS_MAX, unchanged)
    lower, upper = build.subtract(known.lower, offset), build.add(known.upper, offset)
    fits = build.and_(build.known(lower), build.known(upper))
    unknown = build.unknown(unchanged)
    lower, upper = build.choose(fits, lower, unknown), build.choose(fits, upper, unknown)
    return replace(
        known,
        lower=build.cast(lower, target),
        upper=build.cast(upper, target),
        may_null=build.or_(known.may_null, build.and_(known.may_value, build.not_(fits))),
    )


CAST = Rule(range=cast_range)
