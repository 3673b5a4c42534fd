"""SET-6 to SET-9: the committed set of text and time, against Spark in each table's session time zone.

The default run takes a sample of the tables, a deep run takes all.
"""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from known_blocks import known_of
from pyspark.sql import SparkSession

from oracles.answers.unpruned import Counts, Raises, matches_per_block
from oracles.optimum.optimum import Answer, Optimum
from oracles.optimum.witnesses import WitnessJudge
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.base.metadata import to_metadata
from strategies.base.zones import ZONES
from strategies.predicates.committed import TEXT_AND_TIME_PATH, TableCases, read
from strategies.predicates.families import families, is_prefix_class, is_truncation_class
from strategies.predicates.text_and_time import Topic

SAMPLE = 41  # each so many-th table: 8 of them, of every zone


@pytest.fixture(scope="module")
def cases(deep: bool) -> list[TableCases]:
    """The tables of this run."""
    return list(read(TEXT_AND_TIME_PATH, every=1 if deep else SAMPLE))


def test_verdicts_on_the_set_agree_with_spark(
    spark: SparkSession, cases: list[TableCases], record_property: Callable[[str, object], None]
) -> None:
    """SET-6. No block called NONE holds a matching row, no block called ALL a failing one."""
    seen: Counter[Match] = Counter()
    wrong: list[str] = []
    for case in cases:
        metadata = to_metadata(case.table, case.facts)
        answers = matches_per_block(spark, case.table, case.predicates, zone=case.zone)
        for predicate, counts in zip(case.predicates, answers, strict=True):
            assert not isinstance(counts, Raises), (to_sql(predicate), counts)
            for verdict, block in zip(_verdicts(predicate, metadata), counts, strict=True):
                seen[verdict] += 1
                if contradicted(verdict, block):
                    wrong.append(f"{verdict.name} with {block} in {case.zone}: {to_sql(predicate)}")
    counted = {verdict.name: count for verdict, count in seen.items()}
    record_property("verdicts beside Spark", counted)
    print(f"{sum(seen.values()):,} verdicts compared with Spark: {counted}")
    assert not wrong
    assert seen[Match.NONE] + seen[Match.ALL] >= 0.4 * sum(seen.values())


def test_a_wrong_verdict_on_text_or_time_is_found_out() -> None:
    """SET-6 can fail."""
    mixed = Counts(true=1, false=1, null=0)
    assert [contradicted(verdict, mixed) for verdict in Match] == [True, False, True]


@pytest.mark.parametrize("in_class", [is_prefix_class, is_truncation_class])
def test_prefixes_and_truncated_instants_are_tight(
    cases: list[TableCases], in_class: Callable[[Expression], bool]
) -> None:
    """SET-7. Of prefixes, and of `date_trunc` against constants, each block of which no row is found that
    would be TRUE (or would not be) is called NONE (or ALL), and no other block is.
    """
    judged = Counter[str]()
    for case in cases:
        chosen = [one for one in case.predicates if in_class(one)]
        for predicate, verdict, best in _judged(case, chosen, every=2):
            assert None not in (best.none_provable, best.all_provable)
            wanted = Match.NONE if best.none_provable else Match.ALL if best.all_provable else Match.SOME
            assert verdict is wanted, (to_sql(predicate), best)
            judged[wanted.name] += 1
    assert len(judged) == 3
    assert min(judged.values()) > 10


def test_no_verdict_on_text_or_time_is_contradicted_by_a_witness(cases: list[TableCases]) -> None:
    """SET-8. A row within the bounds that would be TRUE denies NONE, another one ALL."""
    for case in cases:
        for predicate, verdict, best in _judged(case, case.predicates[::10], every=7):
            denied = (best.true,) if verdict is Match.NONE else (best.false, best.null)
            assert verdict is Match.SOME or Answer.POSSIBLE not in denied, (to_sql(predicate), best)


def test_the_set_of_text_and_time_is_as_large_and_as_varied_as_it_claims() -> None:
    """SET-9. 10 000 different predicates over 250 tables, in four zones, of every topic."""
    tables = list(read(TEXT_AND_TIME_PATH))
    predicates = [predicate for case in tables for predicate in case.predicates]
    assert len(tables) >= 250
    assert len(set(map(repr, predicates))) == len(predicates) >= 10_000
    assert {case.zone for case in tables} == set(ZONES)
    assert {case.footer for case in tables} == {True, False}
    counts = Counter(family for predicate in predicates for family in families(predicate))
    topics = {topic.value for topic in Topic} - {
        Topic.LISTS.value,
        Topic.MIXED.value,
        Topic.PREFIX_LIKE.value,
    }
    assert min(counts[name] for name in (*topics, "prefix", "membership")) >= 500
    assert sum(map(is_prefix_class, predicates)) >= 500
    assert sum(map(is_truncation_class, predicates)) >= 500


def contradicted(verdict: Match, block: Counts) -> bool:
    """Whether a block called NONE holds a matching row, or one called ALL a failing one."""
    lost = verdict is Match.NONE and block.true > 0
    return lost or (verdict is Match.ALL and block.false + block.null > 0)


def _judged(
    case: TableCases, predicates: list[Expression] | tuple[Expression, ...], *, every: int
) -> Iterator[tuple[Expression, Match, Optimum]]:
    facts = case.facts
    metadata = to_metadata(case.table, facts)
    for predicate in predicates:
        judge = WitnessJudge(predicate, case.zone)
        for block, verdict in list(zip(facts, _verdicts(predicate, metadata), strict=True))[::every]:
            yield predicate, verdict, judge.optimum(known_of(case.table, block))


def _verdicts(predicate: Expression, metadata: object) -> list[Match]:
    return list(map(Match, classify_blocks(predicate, metadata).to_pylist()))
