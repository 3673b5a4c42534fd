"""TIME-6 and TIME-7: blocks and functions of time: what is said holds, and fields are found exactly."""

from typing import Any

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from time_nodes import (
    DAY,
    FIELDS,
    INCREASING,
    D,
    T,
    drawn,
    field_of,
    fields,
    increasing,
    operand,
    text,
    values_of,
    whole,
)
from times import DATES_MAX, HOUR, ZONES, known

from pruning.expressions.trees import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    IsNull,
    Literal,
    Mode,
)
from pruning.expressions.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import analyse
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Aspect, Input
from pruning.rules.time import calendar
from pruning.rules.time.cycles import CYCLES
from pruning.rules.time.steps import MICROS_MAX


def verdict(predicate: Expression, **bounds: tuple[int, int] | None) -> tuple[bool, bool, bool]:
    """May it be TRUE, FALSE, NULL in a block with these bounds and no NULL; None is no bound."""
    program = analyse(predicate, RULES)
    types = {"t": TIMESTAMP, "d": DATE, "n": TIMESTAMP_NTZ, "e": DATE, "k": INTEGER}
    cells: dict[Input, Any] = {Input(Aspect.HAS_ROWS, "", None): True}
    for name, pair in bounds.items():
        low, high = pair or (None, None)
        cells |= {
            Input(Aspect.LOWER, name, types[name]): low,
            Input(Aspect.UPPER, name, types[name]): high,
            Input(Aspect.MAY_NULL, name, types[name]): False,
            Input(Aspect.MAY_VALUE, name, types[name]): True,
        }
    true, false, null = exact.run(program, cells)
    return bool(true), bool(false), bool(null)


@examples(10)
@given(st.data(), st.sampled_from(ZONES), st.sampled_from(FIELDS))
def test_a_field_is_found_in_a_block_where_and_only_where_a_value_has_it(
    data: st.DataObject, name: str, field: str
) -> None:
    """TIME-6. Exact: on dates one by one, on times at the start of each step."""
    node = fields(name)[field]
    column, cycle = node.operands[0], CYCLES[node.function]
    assert isinstance(column, Column)
    limit = DATES_MAX - 400 if column == D else MICROS_MAX - 400 * DAY
    lower = max(-limit, min(data.draw(drawn(column.type, name)), limit))
    unit = 1 if column == D else {24: HOUR, 60: 60_000_000}[cycle.size]
    upper = lower + data.draw(st.sampled_from([0, 1, unit - 1, unit])) + unit * data.draw(st.integers(0, 60))
    wanted = data.draw(st.sets(st.sampled_from(cycle.values), min_size=1, max_size=3))
    predicate = In(node, tuple(whole(value) for value in sorted(wanted)))
    step = 1 if column == D else 60_000_000 if node.function is not Function.SECOND else 1_000_000
    moments = {lower, upper, *range(lower - lower % step, upper + 1, step)}
    starts = (
        {start for start in known(name).local.starts if lower <= start <= upper} if column == T else set()
    )
    reached = {field_of(node, x) for x in moments | starts if lower <= x <= upper}
    true, false, null = verdict(predicate, **{column.name: (lower, upper)})
    assert true is bool(reached & wanted)
    assert not null
    if reached - wanted:
        assert false


@examples(20)
@given(st.data(), st.sampled_from(ZONES), st.sampled_from((*INCREASING, *FIELDS)))
def test_the_range_of_a_function_holds_its_value_on_every_row(
    data: st.DataObject, name: str, function: str
) -> None:
    """TIME-7. Of the bounds of a block, with a column unbounded at times."""
    node = (increasing(name) | fields(name))[function]
    column = operand(node) if function in INCREASING else node.operands[0]
    anchor = data.draw(drawn(column.type, name))
    beside = (
        st.integers(anchor - 40 * HOUR, anchor + 40 * HOUR)
        if column != D
        else st.integers(anchor - 400, anchor + 400)
    )
    numbers = data.draw(st.lists(st.just(anchor) | beside, min_size=1, max_size=3))
    least, greatest = column.type.integer_range or (0, 0)
    numbers = [anchor, *(number for number in numbers if least <= number <= greatest)]
    analysis = Analysis(RULES)
    found = analysis.range(node, Environment())
    program = analysis.build.program(found.lower, found.upper, found.may_value)
    inputs = {
        Input(Aspect.LOWER, column.name, column.type): data.draw(st.just(min(numbers)) | st.none()),
        Input(Aspect.UPPER, column.name, column.type): data.draw(st.just(max(numbers)) | st.none()),
        Input(Aspect.MAY_VALUE, column.name, column.type): True,
    }
    lower, upper, may_value = exact.run(program, inputs)
    assert may_value
    for number in numbers:
        values: list[Any] = values_of(node, number) if function in INCREASING else [field_of(node, number)]
        # Beyond the greatest time that steps are defined for, there is no value to compare with.
        values = [value for value in values if value is not None]
        assert lower is None or all(lower <= value for value in values)
        assert upper is None or all(value <= upper for value in values)


def day(date: str) -> int:
    year, month, number = (int(part) for part in date.split("-"))
    return int(calendar.month_start(year * 12 + month - 1)) + number - 1


def compare(operator: Comparison, left: Expression, right: Expression) -> Expression:
    return Compare(operator, left, right)


LATER = Column("e", DATE)
YEAR = Call(Function.YEAR, (D,), INTEGER)
MONTH = Call(Function.MONTH, (D,), INTEGER)
IN_2024 = compare(Comparison.EQUAL, YEAR, whole(2024))
IN_MARCH = compare(Comparison.EQUAL, MONTH, whole(3))
SAME_MONTH = compare(Comparison.EQUAL, MONTH, Call(Function.MONTH, (LATER,), INTEGER))
WITHIN_3_DAYS = compare(Comparison.LESS, D, Call(Function.DATE_ADD, (LATER, whole(3)), DATE))
OVER_30_DAYS = compare(Comparison.GREATER, Call(Function.DATEDIFF, (D, LATER), INTEGER), whole(30))
TRUE_ONLY, FALSE_ONLY, EITHER = (True, False, False), (False, True, False), (True, True, False)
CASES = [
    (IN_2024, {"d": ("2024-01-01", "2024-12-31")}, TRUE_ONLY),
    (IN_2024, {"d": ("2025-01-01", "2025-12-31")}, FALSE_ONLY),
    (IN_2024, {"d": ("2023-12-31", "2024-12-31")}, EITHER),
    (IN_MARCH, {"d": ("2024-03-01", "2024-03-31")}, TRUE_ONLY),
    (IN_MARCH, {"d": ("2024-04-01", "2025-02-28")}, FALSE_ONLY),
    (IN_MARCH, {"d": ("2024-04-01", "2025-03-01")}, EITHER),
    (compare(Comparison.EQUAL, MONTH, whole(13)), {"d": ("2024-04-01", "2035-02-28")}, FALSE_ONLY),
    (SAME_MONTH, {"d": ("2024-01-05", "2024-03-31"), "e": ("2023-04-01", "2023-12-31")}, FALSE_ONLY),
    (WITHIN_3_DAYS, {"d": ("2024-01-05", "2024-03-31"), "e": ("2024-01-01", "2024-01-02")}, FALSE_ONLY),
    (OVER_30_DAYS, {"d": ("2024-03-05", "2024-03-31"), "e": ("2024-01-01", "2024-01-02")}, TRUE_ONLY),
]


@pytest.mark.parametrize(("predicate", "bounds", "expected"), CASES)
def test_worked_cases(
    predicate: Expression, bounds: dict[str, tuple[str, str]], expected: tuple[bool, bool, bool]
) -> None:
    held = {name: (day(low), day(high)) for name, (low, high) in bounds.items()}
    assert verdict(predicate, **held) == expected


def test_a_cast_and_a_function_are_pulled_back_together() -> None:
    """year(cast(t as date)) in New York: the year begins at 5 o'clock in London."""
    node = Call(Function.YEAR, (Cast(T, DATE, zone="America/New_York"),), INTEGER)
    predicate = compare(Comparison.EQUAL, node, whole(2024))
    start, end = day("2024-01-01") * DAY + 5 * HOUR, day("2025-01-01") * DAY + 5 * HOUR - 1
    assert verdict(predicate, t=(start, end)) == (True, False, False)
    assert verdict(predicate, t=(start - 1, end)) == (True, True, False)
    assert verdict(predicate, t=(end + 1, end + DAY)) == (False, True, False)


def test_a_unit_that_spark_does_not_know_is_null() -> None:
    for node in (
        Call(Function.DATE_TRUNC, (text("FORTNIGHT"), T), TIMESTAMP, zone="UTC"),
        Call(Function.DATE_TRUNC, (Literal(None, STRING), T), TIMESTAMP, zone="UTC"),
    ):
        assert verdict(IsNull(node), t=(0, 5)) == (True, False, False)
        assert verdict(compare(Comparison.EQUAL, node, Literal(0, TIMESTAMP)), t=(0, 5)) == (
            False,
            False,
            True,
        )
    assert verdict(IsNull(Call(Function.TRUNC, (D, text("DAY")), DATE)), d=(0, 5)) == (True, False, False)


def test_two_fields_of_one_column_narrow_each_other() -> None:
    """A block of one year has a 31st of March or has none."""
    a_31st = compare(Comparison.EQUAL, Call(Function.DAY, (D,), INTEGER), whole(31))
    year = (day("2024-01-01"), day("2024-12-31"))
    assert verdict(And((compare(Comparison.EQUAL, MONTH, whole(4)), a_31st)), d=year)[0] is False
    assert verdict(And((a_31st, IN_MARCH)), d=year)[0] is True


def test_a_try_cast_may_be_null_where_the_result_does_not_fit() -> None:
    node = IsNull(Cast(D, TIMESTAMP, Mode.TRY, zone="UTC"))
    assert verdict(node, d=(0, DATES_MAX))[0]
    assert not verdict(node, d=(0, 20_000))[0]
    assert not verdict(IsNull(Cast(D, TIMESTAMP, zone="UTC")), d=(0, DATES_MAX))[0]


def test_times_before_1970_are_rounded_down() -> None:
    node = Call(Function.UNIX_TIMESTAMP, (T,), LONG)
    assert (
        verdict(compare(Comparison.EQUAL, node, Literal(-2, LONG)), t=(-1_500_000, -1_500_000)) == TRUE_ONLY
    )
