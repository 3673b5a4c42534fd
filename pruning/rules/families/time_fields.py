"""Fields of dates and times that come round again: month, weekday, hour (rules of conditional monotonicity).

No set of dates is `month(d) = 3`: it would have a piece for each year. But of each date the next one
whose month is 3 is known, and whether that comes before the block's last date.
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

_CUTS_MAX = 32  # of the operand's known values: each of their intervals is looked at by itself


def field_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """The field's values; between those of the bounds where both are in one cycle.

    Claim     Each row's field lies in the range.
    Premises  Axiom ZONES: the least and the greatest local time enclose a row's; a field increases
              from the first step of a cycle to the last.
    Proof     (1) A row's step lies between those of the bounds.
              (2) If these are in one cycle, so is the row's, and its field between theirs.
    """
    assert isinstance(node, Call)
    build, cycle = analysis.build, CYCLES[node.function]
    known = analysis.range(node.operands[0], environment)
    if not _has_field(node, known.type):
        return ranges.anything(build, node.type)
    least, greatest = (build.bound(cycle.values[end], node.type) for end in (0, -1))
    around = replace(known, lower=least, upper=greatest)
    if _zone(node) is None:
        return around
    lower, upper = (_local(build, node, bound, side) for bound, side in _sides(known))  # (1)
    field, begins = (Apply(Step(action, field=node.function)) for action in (Action.FIELD, Action.CYCLE))
    first, last = (build.apply(begins, bound, type_=LONG) for bound in (lower, upper))
    one = build.and_(build.known(first), build.known(last), build.maybe_at_most(last, first))
    return replace(
        around,
        lower=build.choose(one, build.apply(field, lower, type_=node.type), least),  # (2)
        upper=build.choose(one, build.apply(field, upper, type_=node.type), greatest),
    )


def field_may_lie(analysis: Analysis, node: Expression, environment: Environment, values: ValueSet) -> Flag:
    """Whether the block reaches a date or a time whose field is in the set.

    Claim     If a row's field is in the set, the flag holds.
    Premises  NEXT is the least value from a number on whose field is wanted.
    Proof     lower <= v and v has such a field, so NEXT(lower) <= v <= upper.
    """
    assert isinstance(node, Call)
    build, own = analysis.build, analysis.values(node, environment)
    plain = ranges.may_lie(build, own, values)
    wanted = _wanted(node, values) & _wanted(node, ValueSet(own.cuts))
    known = analysis.values(node.operands[0], environment)
    if _zone(node) is None or not _has_field(node, known.type):
        return plain
    null = own.may_null if values.null else build.flag(False)
    if not wanted:
        return null
    return build.and_(plain, build.or_(null, _reaches(build, node, known, wanted)))


def _reaches(build: Builder, node: Call, known: Range, wanted: frozenset[int]) -> Flag:
    """Whether one of the operand's intervals holds a value whose field is wanted."""
    following = Apply(_step(node, Action.NEXT, wanted))
    parts: list[Interval] = [(None, None)]
    if isinstance(known.cuts, Cuts) and len(known.cuts.points) <= _CUTS_MAX:
        parts = list(known.cuts.intervals())
    flags: list[Flag] = []
    for start, end in parts:
        first = build.bound(None if start is None else start[0], known.type)
        last = build.previous(build.bound(None if end is None else end[0], known.type))
        lower = build.greatest_known(known.lower, first)
        upper = build.least_known(known.upper, last)
        found = build.apply(following, lower, type_=known.type)
        flags.append(build.maybe_at_most(build.greatest_known(lower, found), upper))
    return build.and_(known.may_value, build.or_(*flags))


def constrain(analysis: Analysis, node: Expression, environment: Environment, narrowed: Range) -> Environment:
    """Narrow the operand to between the first and the last value whose field is left.

    Claim     Each row of the environment whose field lies in `narrowed` has its operand in there.
    Premises  As of `field_may_lie`; PREVIOUS likewise, downward.
    Proof     lower <= v gives NEXT(lower) <= v, and so for upper; NULL comes of NULL alone.
    """
    assert isinstance(node, Call)
    build, operand = analysis.build, node.operands[0]
    known = analysis.values(operand, environment)
    wanted = _wanted(node, ValueSet(narrowed.cuts))
    if not wanted or _zone(node) is None or not _has_field(node, known.type):
        return environment
    lower, upper = (
        build.apply(Apply(_step(node, action, wanted)), bound, type_=known.type)
        for action, bound in ((Action.NEXT, known.lower), (Action.PREVIOUS, known.upper))
    )
    inside = ranges.within(build, known, lower, upper)
    kept = replace(
        inside,
        may_null=build.and_(known.may_null, narrowed.may_null),
        may_value=build.and_(inside.may_value, narrowed.may_value),
    )
    return analysis.constrain(operand, environment, kept)


def _wanted(node: Call, values: ValueSet) -> frozenset[int]:
    return frozenset(value for value in CYCLES[node.function].values if values.cuts.holds(value))


def _has_field(node: Call, type_: Type) -> bool:
    return type_ in ((TIMESTAMP, TIMESTAMP_NTZ) if node.function in OF_TIME else (DATE,))


def _zone(node: Call) -> str | None:
    """The zone of the operand's local time; None where it is not known."""
    if type_of(node.operands[0]) != TIMESTAMP:
        return UTC
    return None if zone(node.zone) is None else node.zone


def _step(node: Call, action: Action, wanted: frozenset[int]) -> Step:
    return Step(action, zone=_zone(node) or "", field=node.function, wanted=wanted)


def _sides(known: Range) -> tuple[tuple[Bound, Side], tuple[Bound, Side]]:
    return (known.lower, Side.BELOW), (known.upper, Side.ABOVE)


def _local(build: Builder, node: Call, bound: Bound, side: Side) -> Bound:
    """The local time of a bound, on one side of it."""
    if bound.type != TIMESTAMP:
        return bound
    step = Step(Action.LOCAL, zone=_zone(node) or "")
    return build.apply(Apply(step, side=side), bound, type_=TIMESTAMP_NTZ)


FIELD = Rule(range=field_range, may_lie=field_may_lie, constrain=constrain)
