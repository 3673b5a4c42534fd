"""PROP-5 for text and time: verdicts against Spark that skips nothing, in several session time zones."""

from typing import Any

import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from oracles.answers.unpruned import Raises, matches_per_block
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion, Overflow
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression
from pruning.expressions.types import STRING, TIMESTAMP
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.base.metadata import exact_facts, metadata, to_metadata
from strategies.base.tables import Block, Table
from strategies.base.zones import ZONES
from strategies.predicates.sources import Source
from strategies.predicates.text_and_time import Topic, leaves_of, zoned_predicates, zoned_tables

PREDICATES = 24  # one Spark job answers them all


def several(data: st.DataObject, table: Table, zone: str, count: int) -> list[Expression]:
    """Predicates of any topics that the table has columns for."""
    topics = [topic for topic in Topic if leaves_of(Source.of(table, zone), topic)]
    drawn = data.draw(st.lists(st.sampled_from(topics), min_size=count, max_size=count))
    return [data.draw(zoned_predicates(table, zone, topic)) for topic in drawn]


def truths(table: Table, block: Block, predicate: Expression, zone: str) -> set[object]:
    """The truth values that rows of a block give, as far as there is an opinion."""
    seen: set[object] = set()
    for row in block:
        try:
            seen.add(evaluate(predicate, table.as_mapping(row), zone=zone))
        except (Overflow, NoSecondOpinion):
            continue
    return seen


@pytest.mark.parametrize("zone", ZONES)
@examples(0.16)
@given(data=st.data())
def test_verdicts_on_text_and_time_agree_with_spark(spark: Any, zone: str, data: st.DataObject) -> None:
    """PROP-5. NONE only where no row matches, ALL only where each does."""
    table = data.draw(zoned_tables(zone))
    asked = several(data, table, zone, PREDICATES)
    known = data.draw(metadata(table))
    for predicate, counts in zip(asked, matches_per_block(spark, table, asked, zone=zone), strict=True):
        if isinstance(counts, Raises):
            event("raises")
            continue
        for verdict, block in zip(classify_blocks(predicate, known).to_pylist(), counts, strict=True):
            event(f"verdict {Match(verdict).name}")
            assert verdict != Match.NONE or block.true == 0, to_sql(predicate)
            assert verdict != Match.ALL or block.false == block.null == 0 < block.true, to_sql(predicate)


@examples(8)
@given(data=st.data())
def test_verdicts_on_text_and_time_agree_with_the_second_opinion(data: st.DataObject) -> None:
    """PROP-1 and PROP-2 for text and time; without Spark, so that many cases can be tried."""
    zone = data.draw(st.sampled_from(ZONES))
    table = data.draw(zoned_tables(zone))
    (predicate,) = several(data, table, zone, 1)
    known = data.draw(metadata(table))
    verdicts = classify_blocks(predicate, known).to_pylist()
    for block, verdict in zip(table.blocks, verdicts, strict=True):
        event(f"verdict {Match(verdict).name}")
        seen = truths(table, block, predicate, zone)
        assert verdict != Match.NONE or True not in seen, to_sql(predicate)
        assert verdict != Match.ALL or (block and seen <= {True}), to_sql(predicate)


@st.composite
def judged(draw: st.DrawFn, topic: Topic, zone: str) -> set[Match]:
    """The verdicts on a predicate of a topic, blocks without rows aside."""
    table = draw(zoned_tables(zone, (STRING, TIMESTAMP)))
    predicate = draw(zoned_predicates(table, zone, topic))
    verdicts = classify_blocks(predicate, to_metadata(table, exact_facts(table))).to_pylist()
    return {Match(verdict) for block, verdict in zip(table.blocks, verdicts, strict=True) if block}


@pytest.mark.parametrize("verdict", Match)
@pytest.mark.parametrize("topic", Topic)
def test_each_topic_reaches_each_verdict(topic: Topic, verdict: Match) -> None:
    """Without this, the properties above could hold because nothing is ever proved."""
    find(judged(topic, "America/New_York"), lambda seen: verdict in seen, settings=unshrunk(1_000))
