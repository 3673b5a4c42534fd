"""Functions and casts of time, and quantifiers: the second opinion beside Spark, zone by zone."""

import datetime

import pytest
from conforming import conformance
from pyspark.sql import SparkSession

from oracles.answers.frames import session
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion, Overflow
from oracles.meaning.zones import instant_of, local_of, midnight_of, offset_us
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import (
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Element,
    Expression,
    Function,
    IsNull,
    Literal,
    Mode,
    Quantified,
    Quantifier,
)
from pruning.expressions.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ
from strategies.base.zones import US_PER_DAY, ZONES, changes

T, D, N, S = Column("t", TIMESTAMP), Column("d", DATE), Column("n", TIMESTAMP_NTZ), Column("s", STRING)
HOUR_US = 3_600_000_000
# Clocks that went forward at half past eleven at night, or back at a minute past midnight.
ODD_ZONES = (*ZONES, "America/Toronto", "America/St_Johns")
UNITS = (
    "YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MM", "MON", "WEEK", "DAY", "DD", "HOUR", "MINUTE", "SECOND",
    "MILLISECOND", "MICROSECOND", "CENTURY",
)  # fmt: skip
FIELDS = (
    Function.YEAR, Function.QUARTER, Function.MONTH, Function.DAY, Function.DAYOFWEEK, Function.WEEKDAY,
    Function.DAYOFYEAR, Function.WEEKOFYEAR,
)  # fmt: skip
CLOCK_FIELDS = (Function.HOUR, Function.MINUTE, Function.SECOND)


def moment(*parts: int) -> int:
    """A time of UTC in microseconds."""
    return (datetime.datetime(*parts) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


MOMENTS = [
    moment(1, 1, 3), moment(1582, 10, 4, 12), moment(1582, 10, 14, 23), moment(1582, 10, 15), moment(1900,
    2, 28, 23, 59), moment(1919, 3, 31, 4, 29), moment(1919, 3, 31, 4, 30), moment(1919, 3, 31, 12),
    moment(1969, 12, 31, 23, 59, 59, 999_999), 0, 1, 999, 1_000_001, moment(2000, 2, 29), moment(2006, 10,
    29, 2, 30), moment(2023, 12, 31, 23, 59, 59), moment(2024, 2, 29, 12, 30, 45, 123_456), moment(9999,
    12, 30, 23),
]  # fmt: skip


def instants(zone: str) -> list[int]:
    """The moments, and times around each change of the zone's clocks that is known."""
    steps = (-US_PER_DAY, -HOUR_US, -1, 0, 1, HOUR_US // 2, HOUR_US)
    return [*MOMENTS, *(change + step for change in changes(zone) for step in steps)]


def text(value: str) -> Literal:
    """A string literal."""
    return Literal(value.encode(), STRING)


INTERVALS = ((1, 0, 0), (-13, 0, 0), (0, 1, 0), (0, -30, HOUR_US), (1, -1, 0), (0, 0, 30 * HOUR_US))
WHOLE_UNITS = ("MICROSECOND", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def plus(operand: Column, months: int, days: int, micros: int, *, zone: str = "") -> Call:
    """A time plus an interval."""
    parts = Literal(months, INTEGER), Literal(days, INTEGER), Literal(micros, LONG)
    return Call(Function.PLUS_INTERVAL, (operand, *parts), operand.type, zone=zone)


@pytest.mark.parametrize("zone", ODD_ZONES)
def test_functions_of_instants_agree_with_spark(spark: SparkSession, zone: str) -> None:
    asked: list[Expression] = [
        Call(Function.DATE_TRUNC, (text(unit), T), TIMESTAMP, zone=zone) for unit in UNITS
    ]
    asked += [Call(function, (T,), INTEGER, zone=zone) for function in CLOCK_FIELDS]
    asked += [Cast(T, type_, Mode.ANSI, zone) for type_ in (DATE, TIMESTAMP_NTZ, STRING)]
    asked.append(Call(Function.UNIX_TIMESTAMP, (T,), LONG, zone=zone))
    asked += [plus(T, *parts, zone=zone) for parts in INTERVALS]
    moment_of_summer = Literal(moment(2024, 7, 31, 12), TIMESTAMP)
    asked += [
        Call(Function.TIMESTAMPDIFF, (text(unit), *sides), LONG, zone=zone)
        for unit in WHOLE_UNITS
        for sides in ((T, moment_of_summer), (moment_of_summer, T))
    ]
    asked += [
        Call(Function.MONTHS_BETWEEN, (*sides, Literal(rounds, BOOLEAN)), DOUBLE, zone=zone)
        for at in (moment_of_summer, Literal(moment(2024, 2, 29, 4, 59, 59), TIMESTAMP))
        for sides in ((T, at), (at, T))
        for rounds in (True, False)
    ]
    asked += [Call(f, (T, text(zone)), TIMESTAMP) for f in (Function.FROM_UTC, Function.TO_UTC)]
    patterns = ("yyyy-MM-dd HH:mm:ss.SSSSSS", "dd/MM/yyyy", "yyyy-MM", "HH'h'mm", "SSS")
    asked += [Call(Function.DATE_FORMAT, (T, text(one)), STRING, zone=zone) for one in patterns]
    found = conformance(spark, T, instants(zone), asked, zone=zone)
    assert found.different == ()
    assert found.compared >= 0.98 * len(instants(zone)) * len(asked)


@pytest.mark.parametrize("zone", ODD_ZONES)
def test_local_times_become_the_instants_that_spark_makes_of_them(spark: SparkSession, zone: str) -> None:
    locals_ = [local_of(at, zone) + step for at in instants(zone) for step in (0, -HOUR_US, HOUR_US // 2)]
    asked: list[Expression] = [Cast(N, type_, Mode.ANSI, zone) for type_ in (TIMESTAMP, DATE, STRING)]
    asked += [Call(function, (N,), INTEGER) for function in CLOCK_FIELDS]
    asked += [plus(N, *parts) for parts in INTERVALS]
    assert conformance(spark, N, locals_, asked, zone=zone).different == ()
    days = sorted({local // US_PER_DAY for local in locals_})
    midnights: list[Expression] = [Cast(D, type_, Mode.ANSI, zone) for type_ in (TIMESTAMP, TIMESTAMP_NTZ)]
    assert conformance(spark, D, days, midnights, zone=zone).different == ()


def test_functions_of_dates_agree_with_spark(spark: SparkSession) -> None:
    days = [at // US_PER_DAY + step for at in MOMENTS for step in (-1, 0, 1, 30)]
    asked: list[Expression] = [Call(function, (D,), INTEGER) for function in FIELDS]
    asked += [Call(Function.TRUNC, (D, text(unit)), DATE) for unit in UNITS]
    asked += [Call(Function.LAST_DAY, (D,), DATE), Cast(D, STRING)]
    for function in (Function.DATE_ADD, Function.DATE_SUB, Function.ADD_MONTHS):
        asked += [Call(function, (D, Literal(number, INTEGER)), DATE) for number in (-13, -1, 0, 1, 12, 31)]
    epoch = Literal(0, DATE)
    asked += [Call(Function.DATEDIFF, sides, INTEGER) for sides in ((D, epoch), (epoch, D))]
    found = conformance(spark, D, days, asked)
    assert found.different == ()
    assert found.compared >= 0.98 * len(days) * len(asked)


def test_texts_read_as_dates_agree_with_spark(spark: SparkSession) -> None:
    texts = [
        "2024", "2024-2", "2024-02-29", "2023-02-29", " 2024-03-01 ", "2024-03-01 12:30:00",
        "2024-03-01T12:30:00.5", "", "nothing", "2024-13-01", "2024-03-01 25:00:00", "epoch",
        "order-2024-01-01", "-", "2024-00-01", "a1",
    ]  # fmt: skip
    asked: list[Expression] = [
        Cast(S, type_, Mode.TRY, "Asia/Kolkata") for type_ in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
    ]
    values = [one.encode() for one in texts]
    assert conformance(spark, S, values, asked, zone="Asia/Kolkata").different == ()
    with pytest.raises(Overflow):
        evaluate(Cast(S, DATE), {"s": b"nothing"})


@pytest.mark.parametrize(
    ("zone", "day", "hour"),
    [
        ("America/Toronto", (1919, 3, 31), 0.5),
        ("America/Sao_Paulo", (2018, 11, 4), 1),
        ("UTC", (2018, 11, 4), 0),
    ],
)
def test_a_day_without_midnight_begins_when_clocks_go_forward(
    zone: str, day: tuple[int, int, int], hour: float
) -> None:
    midnight = moment(*day)
    assert local_of(midnight_of(midnight // US_PER_DAY, zone), zone) == midnight + hour * HOUR_US


def test_gaps_and_overlaps_are_where_they_should_be() -> None:
    """Without this, no zone might have had any."""
    gap, overlap = moment(2024, 3, 10, 2, 30), moment(2024, 11, 3, 1, 30)
    assert local_of(instant_of(gap, "America/New_York"), "America/New_York") == gap + HOUR_US
    earlier = instant_of(overlap, "America/New_York")
    later = instant_of(overlap, "America/New_York", preferred_us=-5 * HOUR_US)
    assert later - earlier == HOUR_US
    assert offset_us(0, "Asia/Kolkata") == 5.5 * HOUR_US


def test_the_zone_of_a_node_wins_over_the_session() -> None:
    there, here = Cast(T, DATE, zone="Asia/Kolkata"), Cast(T, DATE)
    row = {"t": 20 * HOUR_US}
    assert (evaluate(there, row), evaluate(here, row)) == (1, 0)
    assert evaluate(here, row, zone="Asia/Kolkata") == 1


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Call(Function.YEAR, (D,), INTEGER), 3_000_000),
        (Call(Function.ADD_MONTHS, (D, Literal(12, INTEGER)), DATE), 2_932_896),
        (Call(Function.DATE_ADD, (D, Literal(1, INTEGER)), DATE), 2**31 - 1),
        (Call(Function.DATE_FORMAT, (Cast(D, TIMESTAMP), text("EEE")), STRING), 0),
        (Cast(Cast(D, TIMESTAMP), DATE, zone="Atlantis/Lost"), 0),
    ],
    ids=lambda one: to_sql(one) if isinstance(one, Call | Cast) else str(one),
)
def test_outside_the_calendar_there_is_no_opinion(expression: Expression, value: int) -> None:
    with pytest.raises(NoSecondOpinion):
        evaluate(expression, {"d": value})


ABOVE_ONE = Compare(Comparison.GREATER, Element("xs", (), INTEGER), Literal(1, INTEGER))
ARRAYS = [None, (), (1,), (2,), (None,), (1, None), (2, None), (1, 2)]


@pytest.mark.parametrize("quantifier", Quantifier)
def test_quantifiers_agree_with_spark(spark: SparkSession, quantifier: Quantifier) -> None:
    asked = Quantified(quantifier, "xs", ABOVE_ONE)
    ours = [evaluate(asked, {"xs": array}) for array in ARRAYS]
    with session(spark):
        rows = [(None if array is None else list(array),) for array in ARRAYS]
        frame = spark.createDataFrame(rows, "xs array<int>").selectExpr(to_sql(asked))
        assert [row[0] for row in frame.collect()] == ours
    assert set(ours) == {True, False, None}


def test_an_element_s_field_is_that_of_the_innermost_array() -> None:
    inner = Compare(Comparison.EQUAL, Element("ys", ("k",), INTEGER), Element("xs", (), INTEGER))
    asked = Quantified(Quantifier.EXISTS, "xs", Quantified(Quantifier.FORALL, "ys", inner))
    assert evaluate(asked, {"xs": (1, 2), "ys": ({"k": 2},)}) is True
    assert evaluate(asked, {"xs": (1, 2), "ys": ({"k": 3}, {"k": 2})}) is False
    assert evaluate(asked, {"xs": (1,), "ys": (None,)}) is None
    assert (
        evaluate(Quantified(Quantifier.FORALL, "xs", IsNull(Element("xs", (), INTEGER))), {"xs": ()}) is True
    )
