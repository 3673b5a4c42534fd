"""The strategies of text and time reach every node and function, and the times at which clocks change."""

import json
from collections.abc import Callable

import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from searches import find

from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion, Overflow
from oracles.meaning.zones import instant_of, local_of
from pruning.expressions.function_groups import TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    Call,
    Cast,
    Column,
    Contains,
    EndsWith,
    Expression,
    Function,
    In,
    Like,
    Quantified,
    Quantifier,
    RLike,
    StartsWith,
)
from pruning.expressions.types import INTEGER, STRING, TIMESTAMP, TIMESTAMP_NTZ
from strategies.base.codec import decode, encode
from strategies.base.texts import text_pools, texts
from strategies.base.times import days, instants, local_times
from strategies.base.zones import US_PER_DAY, ZONES, changes
from strategies.predicates.families import families, is_prefix_class, is_truncation_class
from strategies.predicates.text_and_time import Topic, zoned_predicates, zoned_tables

INTEGERS = Column("b", INTEGER)  # the second column of a table
SEARCH = unshrunk(1_500)
ZONE = "America/New_York"
CENTURIES_US = 200 * 366 * US_PER_DAY
OF_TEXT_AND_TIME = tuple(function for function in Function if function in TEXT_FUNCTIONS | TIME_FUNCTIONS)


@st.composite
def zoned_cases(draw: st.DrawFn, topic: Topic = Topic.MIXED, zone: str = ZONE) -> Expression:
    """A predicate over a table with a string and an instant."""
    table = draw(zoned_tables(zone, (STRING, TIMESTAMP, TIMESTAMP_NTZ)))
    return draw(zoned_predicates(table, zone, topic))


def has(wanted: Callable[[Expression], bool]) -> Callable[[Expression], bool]:
    """Return a function that tells whether a predicate has a node with a property."""
    return lambda predicate: any(map(wanted, walk(predicate)))


@pytest.mark.parametrize(
    ("class_", "topic"),
    [
        (StartsWith, Topic.PREFIX_LIKE),
        (EndsWith, Topic.GENERAL_LIKE),
        (Contains, Topic.GENERAL_LIKE),
        (Like, Topic.MIXED),
        (RLike, Topic.RLIKE),
        (In, Topic.MIXED),
        (Cast, Topic.MIXED),
    ],
)
def test_predicates_reach_each_class_of_nodes(class_: type, topic: Topic) -> None:
    find(zoned_cases(topic), has(lambda node: isinstance(node, class_)), settings=SEARCH)


@pytest.mark.parametrize("function", OF_TEXT_AND_TIME, ids=lambda function: function.value)
def test_predicates_reach_each_function(function: Function) -> None:
    wanted = has(lambda node: isinstance(node, Call) and node.function is function)
    find(zoned_cases(topic_of(function)), wanted, settings=SEARCH)


def test_predicates_reach_texts_of_integers() -> None:
    @st.composite
    def cases(draw: st.DrawFn) -> Expression:
        table = draw(zoned_tables(ZONE, (STRING, INTEGER)))
        return draw(zoned_predicates(table, ZONE, Topic.CASTS))

    wanted = has(lambda node: isinstance(node, Cast) and (node.operand, node.type) == (INTEGERS, STRING))
    find(cases(), wanted, settings=SEARCH)


def topic_of(function: Function) -> Topic:
    """The topic that a function belongs to."""
    if function in OF_TEXT_AND_TIME[: OF_TEXT_AND_TIME.index(Function.DATE_TRUNC)]:
        return Topic.TEXT_FUNCTIONS
    alone = {
        Function.DATE_TRUNC: Topic.DATE_TRUNC,
        Function.TRUNC: Topic.TRUNC,
        Function.LAST_DAY: Topic.TRUNC,
        Function.DATE_FORMAT: Topic.DATE_FORMAT,
    }
    if function in alone:
        return alone[function]
    later = OF_TEXT_AND_TIME.index(function) >= OF_TEXT_AND_TIME.index(Function.DATE_ADD)
    return Topic.DATE_ARITHMETIC if later else Topic.FIELDS


@pytest.mark.parametrize("topic", Topic)
@pytest.mark.parametrize("truth", [True, False, None])
def test_each_topic_reaches_each_truth_value(topic: Topic, truth: bool | None) -> None:
    @st.composite
    def truths(draw: st.DrawFn) -> set[object]:
        table = draw(zoned_tables(ZONE, (STRING, TIMESTAMP)))
        predicate = draw(zoned_predicates(table, ZONE, topic))
        seen: set[object] = set()
        for row in table.rows:
            try:
                seen.add(evaluate(predicate, table.as_mapping(row), zone=ZONE))
            except (Overflow, NoSecondOpinion):
                continue
        return seen

    find(truths(), lambda seen: truth in seen, settings=SEARCH)


@pytest.mark.parametrize("zone", [zone for zone in ZONES if changes(zone)])
def test_local_times_reach_gaps_and_overlaps(zone: str) -> None:
    def is_skipped(local: int) -> bool:
        return abs(local) < CENTURIES_US and local_of(instant_of(local, zone), zone) != local

    def is_repeated(local: int) -> bool:
        if abs(local) >= CENTURIES_US:
            return False
        near = (instant_of(local, zone) + step * 1_800_000_000 for step in (1, 2))
        return any(local_of(other, zone) == local for other in near)

    forward = st.builds(lambda at, step: at + step, local_times(zone), st.sampled_from((-1_800_000_000, 1)))
    find(forward, is_skipped, settings=SEARCH)
    if zone != "Asia/Kolkata":
        find(local_times(zone), is_repeated, settings=SEARCH)


def test_instants_reach_the_first_and_last_microsecond_of_a_unit() -> None:
    for rest in (0, 1, US_PER_DAY - 1):
        find(instants("UTC"), lambda at, rest=rest: at % US_PER_DAY == rest and at < 0, settings=SEARCH)


def test_days_reach_the_leap_day_and_the_days_that_old_calendars_skip() -> None:
    for day in (19_782, -141_437, -141_427):
        find(days(), lambda drawn, day=day: drawn == day, settings=SEARCH)


@pytest.mark.parametrize("part", ["\ud7ff", "\U0010ffff", " ", "\U0001f600", "\\", "%"])
def test_texts_reach_characters_that_go_wrong(part: str) -> None:
    find(texts(), lambda text: part.encode() in text, settings=SEARCH)


def test_pools_reach_long_common_beginnings() -> None:
    def alike(pool: tuple[bytes, ...]) -> bool:
        return len({text[:16] for text in pool}) == 1 and len({text for text in pool if len(text) > 16}) > 1

    find(text_pools(), alike, settings=SEARCH)


@examples(2)
@given(st.sampled_from(Topic).flatmap(zoned_cases))
def test_predicates_of_text_and_time_come_back_as_they_were(predicate: Expression) -> None:
    assert repr(decode(json.loads(json.dumps(encode(predicate))))) == repr(predicate)


def test_quantifiers_come_back_as_they_were() -> None:
    from pruning.expressions.trees import Element, IsNull

    asked = Quantified(Quantifier.EXISTS, "xs", IsNull(Element("xs", ("a", "b"), STRING)))
    assert decode(json.loads(json.dumps(encode(asked)))) == asked


@examples(2)
@given(zoned_cases(Topic.PREFIX_LIKE), zoned_cases(Topic.DATE_TRUNC), zoned_cases(Topic.GENERAL_LIKE))
def test_predicates_are_of_the_families_they_were_drawn_for(
    prefix: Expression, truncation: Expression, pattern: Expression
) -> None:
    classes = [(is_prefix_class(one), is_truncation_class(one)) for one in (prefix, truncation)]
    assert not classes[0][1]
    assert not classes[1][0]
    assert families(pattern) & {"general LIKE", "prefix"}


def test_a_table_without_the_columns_for_a_topic_is_refused() -> None:
    table = find(zoned_tables(ZONE, (STRING,)), lambda table: True)
    with pytest.raises(ValueError, match="no predicate on date_trunc"):
        find(zoned_predicates(table, ZONE, Topic.DATE_TRUNC), lambda predicate: True)
