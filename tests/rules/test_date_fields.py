"""TIME-5, of DATE_FORMAT with one field: what it takes into a set is what the field takes into one."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Call, Column, Compare, Comparison, Expression, Function, Like, Literal
from pruning.expressions.types import STRING, TIMESTAMP
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import analyse
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Aspect, Input
from pruning.rules.time import date_text

T = Column("t", TIMESTAMP)
ZONE = "America/New_York"
SECOND, DAY = 1_000_000, 86_400_000_000
PATTERNS = {"MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "'at 'HH'h'": "at %Hh"}
PREDICATES = (
    lambda text, value: Compare(Comparison.EQUAL, text, Literal(value, STRING)),
    lambda text, value: Compare(Comparison.LESS, text, Literal(value, STRING)),
    lambda text, value: Like(text, b"%" + value[-1:], "\\"),
)


def written(pattern: str) -> Call:
    return Call(Function.DATE_FORMAT, (T, Literal(pattern.encode(), STRING)), STRING, zone=ZONE)


def truths(
    predicate: Expression, lower: int | None, upper: int | None, *, value: bool = True
) -> tuple[bool, bool, bool]:
    """May it be TRUE, FALSE, NULL in a block with these bounds and no NULL, or with NULL alone."""
    cells: dict[Input, Any] = {
        Input(Aspect.HAS_ROWS, "", None): True,
        Input(Aspect.LOWER, "t", TIMESTAMP): lower,
        Input(Aspect.UPPER, "t", TIMESTAMP): upper,
        Input(Aspect.MAY_NULL, "t", TIMESTAMP): not value,
        Input(Aspect.MAY_VALUE, "t", TIMESTAMP): value,
    }
    true, false, null = exact.run(analyse(predicate, RULES), cells)
    return bool(true), bool(false), bool(null)


def text_of(pattern: str, micros: int) -> bytes:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    return moment.astimezone(ZoneInfo(ZONE)).strftime(PATTERNS[pattern]).encode()


def means(number: int, text: bytes, value: bytes) -> bool:
    return (text == value, text < value, text.endswith(value[-1:]))[number]


# Before 1883 New York is 4:56:02 behind; in March and November 2024 clocks turn.
INSTANTS = [
    start + step * SECOND * 3_599
    for start in (-90_000_000 * 30 * SECOND, -2_717_640_000 * SECOND, 19_791 * DAY, 20_029 * DAY, 0)
    for step in range(0, 60, 7)
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_instant_has_the_text_that_python_writes(pattern: str) -> None:
    for micros in INSTANTS:
        text = text_of(pattern, micros)
        for number, predicate in enumerate(PREDICATES):
            for value in (text, b"1", text[:-1] + b"9"):
                wanted = means(number, text, value)
                found = truths(predicate(written(pattern), value), micros, micros)
                assert found == (wanted, not wanted, False), (pattern, micros, value)


@pytest.mark.parametrize("pattern", ["MM", "dd", "HH"])
def test_a_block_holds_the_texts_of_the_instants_between_its_bounds(pattern: str) -> None:
    for lower in INSTANTS:
        texts = {text_of(pattern, lower + step * SECOND * 1_800) for step in range(60)}
        for number, predicate in enumerate(PREDICATES):
            for value in (min(texts), max(texts), b"07"):
                meant = {means(number, text, value) for text in texts}
                found = truths(predicate(written(pattern), value), lower, lower + 59 * SECOND * 1_800)
                assert found == (True in meant, False in meant, False), (pattern, lower, value)


def test_spark_writes_fields_as_python_does(spark) -> None:
    frame = spark.createDataFrame([(micros,) for micros in INSTANTS], "micros bigint")
    columns = ", ".join(f"CAST({to_sql(written(pattern))} AS binary)" for pattern in PATTERNS)
    zone_before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    try:
        rows = frame.selectExpr("micros", "timestamp_micros(micros) t").selectExpr(
            "micros", f"array({columns})"
        )
        found = rows.collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone_before)
    for micros, texts in found:
        assert [bytes(text) for text in texts] == [text_of(pattern, micros) for pattern in PATTERNS]


@pytest.mark.parametrize("pattern", ["M", "yyyy", "HH:mm", "MM MM", "S", "a", "'MM'", ""])
def test_other_patterns_are_not_one_field_of_two_digits(pattern: str) -> None:
    assert date_text.single_field(pattern) is None


@pytest.mark.parametrize("pattern", ["MM", "HH:mm", "yyyy-MM", "dd/MM/yyyy", "E"])
def test_where_every_time_is_null_no_text_is_there(pattern: str) -> None:
    """Whether or not the pattern is one that is known."""
    assert truths(PREDICATES[0](written(pattern), b"03"), None, None, value=False) == (False, False, True)


def test_a_mutant_that_takes_another_field_is_found_out() -> None:
    """Minutes for months: some instant then has a text that is said to be impossible."""
    predicate = PREDICATES[0](written("mm"), b"03")
    texts = {micros: text_of("MM", micros) for micros in INSTANTS}
    assert any(text == b"03" and not truths(predicate, micros, micros)[0] for micros, text in texts.items())
