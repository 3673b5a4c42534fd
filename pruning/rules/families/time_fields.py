"""Cyclic fields of dates and times: month, weekday, hour (rules of conditional monotonicity).

The set of dates with `month(d) = 3` has an interval for each year, too many to hold. Instead the rules
compute the next date from the block's first one on whose month is 3, and compare it with the last one.
"""

from dataclasses import replace

from pruning.expressions.trees import Call, Expression, type_of
from pruning.expressions.types import DATE, LONG, TIMESTAMP, TIMESTAMP_NTZ, Type
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Bound, Flag
from pruning.rules.sets.cuts import Cuts, Interval
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.time.cycles import CYCLES, OF_TIME
from pruning.rules.time.steps import UTC, Action, Step
from pruning.rules.time.zones import zone

_CUTS_MAX = 32  # up to so many cuts, each interval of the operand's values is examined by itself


def field_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the field: between those of the bounds if both are in one cycle.

    Claim     Each row's field lies in the range.
    Premises  Axiom ZONES: the least and the greatest local time enclose a row's; a field increases
              from the first step of a cycle to the last.
    Proof     (1) A row's step lies between those of the bounds.
              (2) If these are in one cycle, so is the row's, and its field between theirs.
    """
    assert isinstance(node, Call)
    build, cycle = analysis.build, CYCLES[node.function]
    operand = analysis.range(node.operands[0], environment)
    if not _has_field(node, operand.type):
        return ranges.anything(build, node.type)
    least, greatest = (build.bound(cycle.values[end], node.type) for end in (0, -1))
    around = replace(operand, lower=least, upper=greatest)
    if _zone(node) is None:
        return around
    lower, upper = (_local_time(build, node, bound, side) for bound, side in _sides(operand))  # (1)
    field, begins = (Apply(Step(action, field=node.function)) for action in (Action.FIELD, Action.CYCLE))
    first, last = (build.apply(begins, bound, type_=LONG) for bound in (lower, upper))
    same_cycle = build.and_(build.is_known(first), build.is_known(last), build.maybe_at_most(last, first))
    return replace(
        around,
        lower=build.choose(same_cycle, build.apply(field, lower, type_=node.type), least),  # (2)
        upper=build.choose(same_cycle, build.apply(field, upper, type_=node.type), greatest),
    )


def field_may_lie(analysis: Analysis, node: Expression, environment: Environment, values: ValueSet) -> Flag:
    """Return the flag that the block may have a date or a time whose field is in the set.

    Claim     If a row's field is in the set, the flag holds.
    Premises  NEXT is the least value from a number on whose field is wanted.
    Proof     lower <= v and v has such a field, so NEXT(lower) <= v <= upper.
    """
    assert isinstance(node, Call)
    build, own = analysis.build, analysis.values(node, environment)
    plain = ranges.may_lie(build, own, values)
    wanted = _wanted_fields(node, values) & _wanted_fields(node, ValueSet(own.cuts))
    operand = analysis.values(node.operands[0], environment)
    if _zone(node) is None or not _has_field(node, operand.type):
        return plain
    null = own.may_null if values.null else build.flag(False)
    if not wanted:
        return null
    return build.and_(plain, build.or_(null, _may_reach_field(build, node, operand, wanted)))


def _may_reach_field(build: Builder, node: Call, operand: Range, wanted: frozenset[int]) -> Flag:
    """Return the flag that an interval of the operand has a value whose field is wanted."""
    following = Apply(_step(node, Action.NEXT, wanted))
    parts: list[Interval] = [(None, None)]
    if isinstance(operand.cuts, Cuts) and len(operand.cuts.points) <= _CUTS_MAX:
        parts = list(operand.cuts.intervals())
    flags: list[Flag] = []
    for start, end in parts:
        first = build.bound(None if start is None else start[0], operand.type)
        last = build.previous(build.bound(None if end is None else end[0], operand.type))
        lower = build.greatest_known(operand.lower, first)
        upper = build.least_known(operand.upper, last)
        next_value = build.apply(following, lower, type_=operand.type)
        flags.append(build.maybe_at_most(build.greatest_known(lower, next_value), upper))
    return build.and_(operand.may_value, build.or_(*flags))


def constrain_field(
    analysis: Analysis, node: Expression, environment: Environment, narrowed: Range
) -> Environment:
    """Narrow the operand to between the first and the last value whose field is left.

    Claim     Each row of the environment whose field lies in `narrowed` has its operand in there.
    Premises  As of `field_may_lie`; PREVIOUS likewise, downward.
    Proof     lower <= v gives NEXT(lower) <= v, and so for upper; NULL comes of NULL alone.
    """
    assert isinstance(node, Call)
    build, operand = analysis.build, node.operands[0]
    operand_range = analysis.values(operand, environment)
    wanted = _wanted_fields(node, ValueSet(narrowed.cuts))
    if not wanted or _zone(node) is None or not _has_field(node, operand_range.type):
        return environment
    lower, upper = (
        build.apply(Apply(_step(node, action, wanted)), bound, type_=operand_range.type)
        for action, bound in ((Action.NEXT, operand_range.lower), (Action.PREVIOUS, operand_range.upper))
    )
    inside = ranges.within(build, operand_range, lower, upper)
    kept = replace(
        inside,
        may_null=build.and_(operand_range.may_null, narrowed.may_null),
        may_value=build.and_(inside.may_value, narrowed.may_value),
    )
    return analysis.constrain(operand, environment, kept)


def _wanted_fields(node: Call, values: ValueSet) -> frozenset[int]:
    """Return the values of the field that are in a set."""
    return frozenset(value for value in CYCLES[node.function].values if values.cuts.holds(value))


def _has_field(node: Call, type_: Type) -> bool:
    """Tell whether the type has the field."""
    return type_ in ((TIMESTAMP, TIMESTAMP_NTZ) if node.function in OF_TIME else (DATE,))


def _zone(node: Call) -> str | None:
    """Return the zone of the operand's local time; None if it is not known."""
    if type_of(node.operands[0]) != TIMESTAMP:
        return UTC
    return None if zone(node.zone) is None else node.zone


def _step(node: Call, action: Action, wanted: frozenset[int]) -> Step:
    """Return the step that searches for a wanted field."""
    return Step(action, zone=_zone(node) or "", field=node.function, wanted=wanted)


def _sides(operand: Range) -> tuple[tuple[Bound, Side], tuple[Bound, Side]]:
    """Return the operand's bounds, each with the side on which to enclose a function of it."""
    return (operand.lower, Side.BELOW), (operand.upper, Side.ABOVE)


def _local_time(build: Builder, node: Call, bound: Bound, side: Side) -> Bound:
    """Return the local time of a bound, enclosed on one side."""
    if bound.type != TIMESTAMP:
        return bound
    step = Step(Action.LOCAL, zone=_zone(node) or "")
    return build.apply(Apply(step, side=side), bound, type_=TIMESTAMP_NTZ)


FIELD = Rule(range=field_range, may_lie=field_may_lie, constrain=constrain_field)
