"""TIME-8: the range of MONTHS_BETWEEN holds its value on every row, in every zone, and is not far from it."""

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from times import ZONES, instants

from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import Call, Column, Expression, Function, Literal
from pruning.expressions.types import BOOLEAN, DOUBLE, TIMESTAMP
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.table import RULES
from pruning.rules.families import months
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Aspect, Input
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar

T, U = Column("t", TIMESTAMP), Column("u", TIMESTAMP)
# Days at the end and at the start of months, common and leap years, the first and the last year of dates.
MONTH_ENDS = [
    (int(calendar.month_start(year * 12 + month)) + beside) * MICROS_PER_DAY + clock
    for year in (1, 1969, 2023, 2024, 9998)
    for month in (0, 1, 2, 3, 11)
    for beside in (-4, -3, -2, -1, 0, 27)
    for clock in (0, 1, 43_200_000_000, MICROS_PER_DAY - 1)
]


def call(end: Expression, start: Expression, zone: str, *, rounds: bool = True) -> Call:
    """MONTHS_BETWEEN of two instants."""
    return Call(Function.MONTHS_BETWEEN, (end, start, Literal(rounds, BOOLEAN)), DOUBLE, zone=zone)


def bounds_of(node: Call, **pairs: tuple[int, int]) -> tuple[float | None, float | None]:
    """The bounds of a call where each column lies between two instants."""
    analysis = Analysis(RULES)
    values = analysis.range(node, Environment())
    program = analysis.build.program(values.lower, values.upper)
    inputs = {
        Input(aspect, name, TIMESTAMP): pair[side]
        for name, pair in pairs.items()
        for side, aspect in enumerate((Aspect.LOWER, Aspect.UPPER))
    }
    lower, upper = exact.run(program, inputs)
    return lower, upper


@st.composite
def pairs(draw: st.DrawFn, zone: str) -> list[int]:
    """Some instants near one, which is the end of a month, or beside a transition of the zone."""
    anchor = draw(st.sampled_from(MONTH_ENDS) | st.sampled_from(instants(zone)))
    days = draw(st.lists(st.integers(-70, 70), max_size=2))
    return [
        anchor,
        *(anchor + count * MICROS_PER_DAY + draw(st.integers(-9, 9)) * 3_599_999_999 for count in days),
    ]


@examples(15)
@given(st.data(), st.sampled_from(ZONES), st.booleans())
def test_the_range_holds_the_months_between_any_two_rows(
    data: st.DataObject, name: str, rounds: bool
) -> None:
    """TIME-8."""
    ends, starts = data.draw(pairs(name)), data.draw(pairs(name))
    node = call(T, U, name, rounds=rounds)
    lower, upper = bounds_of(node, t=(min(ends), max(ends)), u=(min(starts), max(starts)))
    for end in ends:
        for start in starts:
            try:
                value = evaluate(node, {"t": end, "u": start})
            except NoSecondOpinion:
                event("a year that Python has no dates of")
                continue
            assert isinstance(value, float)
            assert lower is not None
            assert upper is not None
            assert lower <= value <= upper


@examples(5)
@given(st.data(), st.sampled_from(ZONES))
def test_a_literal_side_gives_the_range_of_a_column_of_that_value(data: st.DataObject, name: str) -> None:
    """TIME-8."""
    ends, (start, *_) = data.draw(pairs(name)), data.draw(pairs(name))
    held = (min(ends), max(ends))
    literal = Literal(start, TIMESTAMP)
    assert bounds_of(call(T, literal, name), t=held) == bounds_of(call(T, U, name), t=held, u=(start, start))
    assert bounds_of(call(literal, T, name), t=held) == bounds_of(call(U, T, name), t=held, u=(start, start))


@pytest.mark.parametrize(
    ("end", "start", "value"),
    [
        ((2024, 3, 31), (2024, 2, 29), 1.0),  # both are last: 2 days less than 31 days and the month
        ((2024, 3, 30), (2024, 2, 29), 1.0 + 1 / 31),  # so the day before is later
        ((2024, 2, 29), (2024, 1, 31), 1.0),
        ((2023, 3, 31), (2023, 2, 28), 1.0),
    ],
)
def test_the_slack_is_needed_where_months_end(
    end: tuple[int, int, int], start: tuple[int, int, int], value: float
) -> None:
    """Last days of months are whole months apart, which is up to 3 days from what the days would give."""
    (last, first) = (_midnight(*date) for date in (end, start))
    assert evaluate(call(T, U, "UTC", rounds=False), {"t": last, "u": first}) == value
    lower, upper = bounds_of(call(T, U, "UTC"), t=(last, last), u=(first, first))
    assert lower is not None
    assert upper is not None
    assert lower <= value <= upper
    assert upper - lower == pytest.approx(2 * months.SLACK_DAYS / 31)


def test_months_in_a_zone_that_is_not_known_have_no_bounds() -> None:
    assert bounds_of(call(T, U, "Mars/Olympus"), t=(0, 1), u=(0, 1)) == (None, None)


def _midnight(year: int, month: int, day: int) -> int:
    return (int(calendar.month_start(year * 12 + month - 1)) + day - 1) * MICROS_PER_DAY
