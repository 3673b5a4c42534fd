"""The months from one instant to another, with fractions of a month, by the days of their bounds."""

from pruning.expressions.trees import Call, Expression
from pruning.expressions.types import DOUBLE, INTEGER, TIMESTAMP
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.time_functions import bound_through_chain
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Side
from pruning.rules.program.operations import Bound
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time.calendar import EVEN_MONTH
from pruning.rules.time.steps import Action, Step
from pruning.rules.time.zones import zone

SLACK_DAYS = 3


def months_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of MONTHS_BETWEEN between the bounds of its instants.

    The function is not monotone: the 31st of March is 1 month after the 28th of February, and the 30th is
    1 + 2/31 months after it. So the range is wider than what the bounds themselves yield.

    Claim     Each row's value lies in the range.
    Premises  Axioms ZONES and MONTHS. Spark counts m months and d days between the local dates of the two
              instants, and s seconds between the times that have passed since the first instants of these
              dates. The value is m if both are the same day or the last day of their months, else the
              double nearest to m + (d + s) / 31 in days, with errors below 10**-6. Offsets from UTC are
              within 18 hours.
    Proof     (1) e, the number of a date if every month had 31 days, never decreases with the date, nor do
                  the envelopes of local time. So e(end) - e(start) = 31 m + d lies between the differences
                  of the bounds.
              (2) On the same days d = 0. Last days are 28 to 31, so |d| <= 3: 31 m is within 3 of 31 m + d.
              (3) Less than 24 + 36 hours have passed since the first instant of a date, so |s| < 2.5 days:
                  31 times the value is within 2.5 of 31 m + d, up to errors that are less than 0.5.
              (4) Rounding is monotone and keeps doubles, so the division may round the bounds.
    """
    assert isinstance(node, Call)
    build = analysis.build
    end, start = (analysis.range(moment, environment) for moment in node.operands[:2])
    lower = upper = build.unknown(node.type)
    if zone(node.zone) and start.lower.type == end.lower.type == TIMESTAMP:
        (first, last), (least, greatest) = (_even_days(build, moment, node.zone) for moment in (start, end))
        lower = _months(build, build.subtract(least, last), -SLACK_DAYS)
        upper = _months(build, build.subtract(greatest, first), SLACK_DAYS)
    return Range(
        lower=lower,
        upper=upper,
        may_null=build.or_(start.may_null, end.may_null),
        may_nan=build.flag(False),
        may_value=build.and_(start.may_value, end.may_value),
    )


def _even_days(build: Builder, moment: Range, name: str) -> tuple[Bound, Bound]:
    """Return the bounds of the local date's number in a calendar of months of 31 days."""
    steps = Step(Action.LOCAL, zone=name), Step(Action.INDEX, MICROS_PER_DAY), Step(Action.EVEN_DAY)
    return (
        bound_through_chain(build, steps, moment.lower, Side.BELOW, INTEGER),
        bound_through_chain(build, steps, moment.upper, Side.ABOVE, INTEGER),
    )


def _months(build: Builder, days: Bound, slack: int) -> Bound:
    """Return a bound of the months that a number of days are, moved outward by some days."""
    moved = build.cast(build.add(days, build.bound(slack, INTEGER)), DOUBLE)
    return build.divide(moved, build.bound(float(EVEN_MONTH), DOUBLE))


MONTHS_BETWEEN = Rule(range=months_range)
