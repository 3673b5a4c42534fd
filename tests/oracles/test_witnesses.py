"""Witnesses: each found is one, few are missed, and where none is found it is said."""

import datetime
import itertools

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion, Overflow
from oracles.meaning.texts import is_like, is_rlike
from oracles.optimum.domains import CellFacts
from oracles.optimum.optimum import Answer
from oracles.optimum.samples import like_samples, regex_samples
from oracles.optimum.witnesses import WitnessJudge, without_prefix_patterns
from pruning.expressions.trees import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Contains,
    EndsWith,
    Expression,
    Function,
    In,
    Like,
    Literal,
    RLike,
    StartsWith,
)
from pruning.expressions.types import DATE, INTEGER, STRING, TIMESTAMP, Type, Value
from strategies.base.zones import US_PER_DAY
from strategies.predicates.text_and_time import Topic, zoned_predicates, zoned_tables

S, D, T = Column("s", STRING), Column("d", DATE), Column("t", TIMESTAMP)
ZONE = "America/New_York"
EPOCH = datetime.date(1970, 1, 1)
POSSIBLE, IMPOSSIBLE, NO_WITNESS = Answer.POSSIBLE, Answer.IMPOSSIBLE, Answer.NO_WITNESS


def between(lower: Value, upper: Value, type_: Type) -> CellFacts:
    """A column of values within bounds, never NULL."""
    return CellFacts(type=type_, lower=lower, upper=upper, may_null=False, may_nan=False, may_value=True)


def equal(left: Expression, value: Value, type_: Type) -> Expression:
    """left = value."""
    return Compare(Comparison.EQUAL, left, Literal(value, type_))


def of_text(function: Function, *more: Value) -> Call:
    """A function of the string column and literals."""
    literals = (Literal(one, INTEGER if isinstance(one, int) else STRING) for one in more)
    return Call(function, (S, *literals), INTEGER if function is Function.LENGTH else STRING)


@pytest.mark.parametrize(
    ("predicate", "lower", "upper", "possible"),
    [
        (Like(S, b"%c%"), b"ab", b"ab", False),
        (Like(S, b"%c%"), b"ab", b"ac", True),
        (Like(S, b"_b%"), b"aa", b"az", True),
        (Like(S, b"_b%"), b"ac", b"az", False),
        (EndsWith(S, b"z"), b"a", b"a\0", False),
        (Contains(S, b"zz"), b"order-2024-0001", b"order-2024-0002", True),
        (RLike(S, b"^a[0-9]+$"), b"a3", b"a4", True),
        (RLike(S, b"^b"), b"a3", b"a4", False),
        (equal(of_text(Function.UPPER), b"ABC", STRING), b"aB", b"aC", True),
        (equal(of_text(Function.UPPER), b"ABC", STRING), b"b", b"c", False),
        (equal(of_text(Function.TRIM), b"abc", STRING), b"  a", b"  b", True),
        (equal(of_text(Function.SUBSTRING, 3, 2), b"xy", STRING), b"ab", b"ac", True),
        (equal(of_text(Function.LENGTH), 7, INTEGER), b"ab", b"ac", True),
        (equal(of_text(Function.RPAD, 4, b" "), b"ab  ", STRING), b"ab", b"ab ", True),
    ],
    ids=lambda one: repr(one)[:60],
)
def test_worked_cases_of_text(predicate: Expression, lower: bytes, upper: bytes, possible: bool) -> None:
    found = WitnessJudge(predicate).optimum({"s": between(lower, upper, STRING)})
    assert (found.true is POSSIBLE) is possible
    assert found.true in (POSSIBLE, IMPOSSIBLE, NO_WITNESS)


@pytest.mark.parametrize(
    ("predicate", "days", "possible"),
    [
        (
            equal(
                Call(Function.DATE_TRUNC, (Literal(b"MONTH", STRING), T), TIMESTAMP, zone="UTC"), 0, TIMESTAMP
            ),
            (3, 400),
            True,
        ),
        (
            equal(
                Call(Function.DATE_TRUNC, (Literal(b"MONTH", STRING), T), TIMESTAMP, zone="UTC"), 1, TIMESTAMP
            ),
            (3, 400),
            False,
        ),
        (equal(Call(Function.MONTH, (Cast(T, DATE, zone="UTC"),), INTEGER), 8, INTEGER), (3, 400), True),
        (equal(Call(Function.MONTH, (Cast(T, DATE, zone="UTC"),), INTEGER), 8, INTEGER), (3, 100), False),
        (equal(Call(Function.HOUR, (T,), INTEGER, zone="UTC"), 17, INTEGER), (3, 4), True),
    ],
    ids=lambda one: repr(one)[:60],
)
def test_worked_cases_of_time(predicate: Expression, days: tuple[int, int], possible: bool) -> None:
    known = between(days[0] * US_PER_DAY, days[1] * US_PER_DAY, TIMESTAMP)
    assert (WitnessJudge(predicate).optimum({"t": known}).true is POSSIBLE) is possible


@examples(4)
@given(st.data())
def test_each_witness_is_a_row_within_the_bounds_that_gives_the_truth_value(data: st.DataObject) -> None:
    """OPT-4. POSSIBLE is certain."""
    table = data.draw(zoned_tables(ZONE, (STRING, TIMESTAMP)))
    predicate = data.draw(zoned_predicates(table, ZONE, data.draw(st.sampled_from(Topic))))
    first, *_ = [*(row for row in table.rows if None not in row), None]
    if first is None:
        return
    known = {
        column.name: between(cell, cell, column.type)
        for column, cell in zip(table.columns, first, strict=True)
    }
    judge = WitnessJudge(predicate, ZONE)
    best = judge.optimum(known)
    for truth, answer in ((True, best.true), (False, best.false), (None, best.null)):
        row = judge.witness(known, truth)
        assert (row is not None) is (answer is POSSIBLE)
        assert row is None or evaluate(predicate, row, zone=ZONE) is truth
        assert row is None or all(known[name].holds(cell) for name, cell in row.items())


@examples(2)
@given(st.data())
def test_critical_days_find_what_all_days_do(data: st.DataObject) -> None:
    """OPT-5. Of a single date column nothing is missed that trying each day finds."""
    table = data.draw(zoned_tables("UTC", (DATE,)))
    topics = st.sampled_from((Topic.TRUNC, Topic.FIELDS, Topic.DATE_ARITHMETIC, Topic.CASTS))
    predicate = data.draw(zoned_predicates(table, "UTC", data.draw(topics)))
    start, length = data.draw(st.integers(19_600, 19_800)), data.draw(st.sampled_from((70, 200, 800)))
    known = {table.columns[0].name: between(start, start + length, DATE)}
    every = WitnessJudge(predicate).optimum(known)
    critical = WitnessJudge(predicate, rows_max=0).optimum(known)
    answers = zip(
        (every.true, every.false, every.null), (critical.true, critical.false, critical.null), strict=True
    )
    for one, other in answers:
        assert (one is POSSIBLE) is (other is POSSIBLE), (predicate, one, other)


@pytest.mark.parametrize(
    ("months", "day", "before"),
    [(30, "2026-05-27", "2023-11-27"), (-13, "2023-02-28", "2024-03-31"), (1, "2024-02-29", "2024-01-29")],
)
def test_the_day_that_months_lead_to_a_literal_is_critical(months: int, day: str, before: str) -> None:
    """Months are of different lengths, so that no fixed number of days leads there."""
    literal, least = ((datetime.date.fromisoformat(text) - EPOCH).days for text in (day, before))
    moved = Call(Function.ADD_MONTHS, (D, Literal(months, INTEGER)), DATE)
    judge = WitnessJudge(equal(moved, literal, DATE), rows_max=0)
    assert judge.optimum({"d": between(least - 400, least + 400, DATE)}).true is POSSIBLE


ALPHABET = "\0ab%z"
SHORT = [
    "".join(letters).encode() for length in range(4) for letters in itertools.product(ALPHABET, repeat=length)
]


@examples(2)
@given(st.sampled_from(SHORT), st.sampled_from(SHORT), st.text("ab%_", max_size=4))
def test_critical_texts_find_what_short_texts_do(one: bytes, other: bytes, pattern: str) -> None:
    """OPT-6. LIKE: no short text within the bounds matches where no critical one does."""
    low, high = sorted((one, other))
    predicate = Like(S, pattern.encode())
    found = WitnessJudge(predicate).optimum({"s": between(low, high, STRING)})
    within = [text for text in SHORT if low <= text <= high]
    assert found.true is POSSIBLE or not any(is_like(text, pattern.encode(), "\\") for text in within)
    assert found.false is POSSIBLE or all(is_like(text, pattern.encode(), "\\") for text in within)


def test_prefixes_are_judged_exactly() -> None:
    predicate = And((Like(S, b"ab%"), In(S, (Literal(b"ac", STRING), Literal(b"b", STRING)))))
    best = WitnessJudge(predicate).optimum({"s": between(b"a", b"c", STRING)})
    assert (best.true, best.false, best.null) == (IMPOSSIBLE, POSSIBLE, IMPOSSIBLE)
    assert without_prefix_patterns(Like(S, b"a\\%b%")) == StartsWith(S, b"a%b")
    assert without_prefix_patterns(Like(S, b"a_")) == Like(S, b"a_")


def test_what_has_no_opinion_is_left_undecided() -> None:
    """A text that may or may not be a date is no proof of anything."""
    judge = WitnessJudge(equal(Cast(S, DATE), 0, DATE))
    assert judge.optimum({"s": between(b"1x", b"1x", STRING)}).true is Answer.UNDECIDED


def test_no_witness_counts_as_provable() -> None:
    """So the tightness that is measured is a lower bound."""
    best = WitnessJudge(Like(S, b"%b%")).optimum({"s": between(b"ac", b"ac\0", STRING)})
    assert best.true is NO_WITNESS
    assert best.none_provable is True
    assert best.all_provable is False


@pytest.mark.parametrize("pattern", ["a|b", "^a.*c$", "(ab)+c?", "x{2,3}", "[a-c]\\d", "^$", "a\\.b"])
def test_samples_match_their_pattern(pattern: str) -> None:
    samples = regex_samples(pattern)
    assert samples
    assert all(is_rlike(text.encode(), pattern.encode()) for text in samples)
    assert all(is_like(text.encode(), b"_a%!%", "!") for text in like_samples("_a%!%", "!", ("", "x", "yz")))


def test_rows_that_raise_are_no_witnesses() -> None:
    judge = WitnessJudge(equal(Cast(S, DATE), 0, DATE))
    assert judge.witness({"s": between(b"x", b"x", STRING)}, True) is None
    with pytest.raises((Overflow, NoSecondOpinion)):
        evaluate(judge.expression, {"s": b"x"})
