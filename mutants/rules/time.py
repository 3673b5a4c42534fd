"""Mistakes in the rules of dates and times."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mutants.rules.rule_mutant import RuleMutant
from pruning.expressions.trees import Call, Expression, Function, Literal
from pruning.expressions.types import DATE, LONG
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families import date_fields, months, time_fields, time_functions
from pruning.rules.program.functions import Apply
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.time.steps import Action, Step


def _swap_bounds(range_: Callable[..., Range]) -> Callable[..., Range]:
    """The bounds swapped, as for a function that falls."""

    def mutant(analysis: Analysis, node: Expression, environment: Environment) -> Range:
        known = range_(analysis, node, environment)
        return replace(known, lower=known.upper, upper=known.lower)

    return mutant


def _sum_without_wrapping(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """A sum of days that does not fit is none, not one from the other end."""
    assert isinstance(node, Call)
    build = analysis.build
    date, days = (analysis.range(operand, environment) for operand in node.operands)
    ends = ((date.lower, days.upper), (date.upper, days.lower))
    sums = (
        build.subtract(
            time_functions._integer_bound(build, left, LONG),
            time_functions._integer_bound(build, right, LONG),
        )
        for left, right in ends
    )
    lower, upper = (time_functions._integer_bound(build, total, DATE) for total in sums)
    return replace(time_functions.sum_range(analysis, node, environment), lower=lower, upper=upper)


def _month_without_year(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Between the fields of the bounds, whatever lies between."""
    assert isinstance(node, Call)
    build, known = analysis.build, analysis.range(node.operands[0], environment)
    field = Apply(Step(Action.FIELD, field=node.function))
    lower, upper = (build.apply(field, bound, type_=node.type) for bound in (known.lower, known.upper))
    return replace(known, lower=lower, upper=upper)


def _begins_where_it_is(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet]:
    """The start of a unit taken for the moment itself: only what is a start already is found."""
    assert isinstance(node, Call)
    return node.operands[-1] if node.function is Function.DATE_TRUNC else node.operands[0], values


def _without_null(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:
    """A text of a time that is never NULL."""
    found = date_fields.format_preimage(node, values)
    return None if found is None else (found[0], replace(found[1], null=False))


def _minutes_for_months(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:
    """`MM` taken for minutes."""
    assert isinstance(node, Call)
    operand, pattern = node.operands
    assert isinstance(pattern, Literal)
    minutes = replace(node, operands=(operand, replace(pattern, value=b"mm")))
    return date_fields.format_preimage(minutes, values)


def _not_null(range_: Callable[..., Range]) -> Callable[..., Range]:
    """A function of dates or times that is never NULL."""

    def mutant(analysis: Analysis, node: Expression, environment: Environment) -> Range:
        return ranges.not_null(analysis.build, range_(analysis, node, environment))

    return mutant


def _months_without_slack(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Months between the bounds in a calendar of months of 31 days, as if every month had as many."""
    assert isinstance(node, Call)
    build = analysis.build
    end, start = (analysis.range(moment, environment) for moment in node.operands[:2])
    (first, last), (least, greatest) = (
        months._even_days(build, moment, node.zone) for moment in (start, end)
    )
    return replace(
        months.months_range(analysis, node, environment),
        lower=months._months(build, build.subtract(least, last), 0),
        upper=months._months(build, build.subtract(greatest, first), 0),
    )


def _backward(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:
    """An interval that is subtracted instead of added."""
    assert isinstance(node, Call)
    operand, *parts = node.operands
    negated = [replace(part, value=-int(part.value or 0)) for part in parts if isinstance(part, Literal)]
    return time_functions.time_preimage(replace(node, operands=(operand, *negated)), values)


_FIELDS = (
    Function.QUARTER,
    Function.DAY,
    Function.DAYOFWEEK,
    Function.WEEKDAY,
    Function.DAYOFYEAR,
    Function.WEEKOFYEAR,
)
_CLOCKS = (Function.HOUR, Function.MINUTE, Function.SECOND)

MUTANTS: Mapping[str, RuleMutant] = {
    "trunc changes nothing": RuleMutant(
        Function.TRUNC, replace(time_functions.TIME, preimage=_begins_where_it_is), "time", "trunc ="
    ),
    "trunc falls": RuleMutant(
        Function.TRUNC, Rule(range=_swap_bounds(time_functions.time_range)), "time", "trunc"
    ),
    "date_trunc changes nothing": RuleMutant(
        Function.DATE_TRUNC,
        replace(time_functions.TIME, preimage=_begins_where_it_is),
        "time",
        "date_trunc =",
    ),
    "years fall": RuleMutant(
        Function.YEAR, Rule(range=_swap_bounds(time_functions.time_range)), "time", "years"
    ),
    "last_day changes nothing": RuleMutant(
        Function.LAST_DAY, replace(time_functions.TIME, preimage=_begins_where_it_is), "time", "last_day ="
    ),
    "date_add adds nothing": RuleMutant(
        Function.DATE_ADD,
        replace(time_functions.DAYS_LATER, preimage=_begins_where_it_is),
        "time",
        "date_add =",
    ),
    "days wrap unseen": RuleMutant(
        Function.DATE_SUB, Rule(range=_sum_without_wrapping), "time", "date_sub of a column"
    ),
    "add_months adds nothing": RuleMutant(
        Function.ADD_MONTHS,
        replace(time_functions.TIME, preimage=_begins_where_it_is),
        "time",
        "add_months =",
    ),
    "datediff falls": RuleMutant(
        Function.DATEDIFF, Rule(range=_swap_bounds(time_functions.difference_range)), "time", "datediff"
    ),
    "seconds fall": RuleMutant(
        Function.UNIX_TIMESTAMP, Rule(range=_swap_bounds(time_functions.time_range)), "time", "unix_timestamp"
    ),
    "intervals fall": RuleMutant(
        Function.PLUS_INTERVAL, Rule(range=_swap_bounds(time_functions.time_range)), "time", "+ days"
    ),
    "an interval subtracted": RuleMutant(
        Function.PLUS_INTERVAL, replace(time_functions.TIME, preimage=_backward), "time", "+ hours ="
    ),
    "timestampdiff falls": RuleMutant(
        Function.TIMESTAMPDIFF,
        Rule(range=_swap_bounds(time_functions.interval_range)),
        "time",
        "timestampdiff",
    ),
    "months_between falls": RuleMutant(
        Function.MONTHS_BETWEEN, Rule(range=_swap_bounds(months.months_range)), "time", "months_between"
    ),
    "months_between never NULL": RuleMutant(
        Function.MONTHS_BETWEEN,
        Rule(range=_not_null(months.months_range)),
        "time",
        "months_between IS NULL",
    ),
    "months_between as if it never decreased": RuleMutant(
        Function.MONTHS_BETWEEN, Rule(range=_months_without_slack), "time", "months_between from a literal"
    ),
    **{
        f"{function.value} falls": RuleMutant(
            function, Rule(range=_swap_bounds(time_functions.time_range)), "time", function.value
        )
        for function in (Function.FROM_UTC, Function.TO_UTC)
    },
    "date_format never NULL": RuleMutant(
        Function.DATE_FORMAT,
        replace(date_fields.DATE_FORMAT, preimage=_without_null),
        "date_fields",
        "date_format IS NULL",
    ),
    "MM as minutes": RuleMutant(
        Function.DATE_FORMAT,
        replace(date_fields.DATE_FORMAT, preimage=_minutes_for_months),
        "date_fields",
        "month as text =",
    ),
    "month without the year": RuleMutant(Function.MONTH, Rule(range=_month_without_year), "fields", "months"),
    **{
        f"{function.value} without its cycle": RuleMutant(
            function, Rule(range=_month_without_year), "fields", f"{function.value} of two"
        )
        for function in _FIELDS
    },
    **{
        f"{function.value} never NULL": RuleMutant(
            function,
            replace(time_fields.FIELD, range=_not_null(time_fields.field_range)),
            "fields",
            f"{function.value} IS NULL",
        )
        for function in _CLOCKS
    },
}
