"""SET-1 to SET-5: the committed set of tables and predicates, against Spark that skips nothing.

The default run takes a sample of the tables, a deep run takes all.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
from known_blocks import known_of
from pyspark.sql import SparkSession

from oracles.answers.unpruned import Counts, Raises, matches_per_block
from oracles.optimum.optimum import Judge, Optimum
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.base.metadata import to_metadata
from strategies.predicates.committed import TableCases, read
from strategies.predicates.families import is_multi_column, is_single_column, leaf_count

SAMPLE = 21  # each so many-th table: 25 of them


@pytest.fixture(scope="module")
def cases(deep: bool) -> list[TableCases]:
    """The tables of this run."""
    return list(read(every=1 if deep else SAMPLE))


Answers = Sequence[tuple[Counts, ...] | Raises]


def judged(case: TableCases, answers: Answers) -> Iterator[tuple[str, Match, Counts]]:
    """Each verdict on a block beside what Spark counts there; predicates that raise have no answer."""
    metadata = to_metadata(case.table, case.facts)
    for predicate, counts in zip(case.predicates, answers, strict=True):
        if isinstance(counts, Raises):
            continue
        verdicts = classify_blocks(predicate, metadata).to_pylist()
        for verdict, block in zip(verdicts, counts, strict=True):
            yield str(predicate), Match(verdict), block


def contradicted(verdict: Match, block: Counts) -> bool:
    """Whether a block called NONE holds a matching row, or one called ALL a failing one."""
    lost = verdict is Match.NONE and block.true > 0
    return lost or (verdict is Match.ALL and block.false + block.null > 0)


def test_a_wrong_verdict_is_found_out() -> None:
    """SET-1 can fail: these rows contradict these verdicts, and no row contradicts SOME."""
    mixed, failing = Counts(true=1, false=1, null=0), Counts(true=0, false=0, null=2)
    assert [contradicted(verdict, mixed) for verdict in Match] == [True, False, True]
    assert [contradicted(verdict, failing) for verdict in Match] == [False, False, True]


def test_verdicts_on_the_committed_set_agree_with_spark(
    spark: SparkSession, cases: list[TableCases], record_property: Callable[[str, object], None]
) -> None:
    """SET-1. No block called NONE holds a matching row, no block called ALL a failing one.

    SET-2. Few predicates raise; what raises has no answer and tests nothing.
    """
    seen: Counter[Match] = Counter()
    wrong: list[str] = []
    predicate_count = raising = 0
    began = time.perf_counter()
    for case in cases:
        answers = matches_per_block(spark, case.table, case.predicates)
        predicate_count += len(answers)
        raising += sum(isinstance(answer, Raises) for answer in answers)
        for predicate, verdict, block in judged(case, answers):
            seen[verdict] += 1
            if contradicted(verdict, block):
                wrong.append(f"{verdict.name} with {block}: {predicate}")
    rate = sum(seen.values()) / (time.perf_counter() - began)
    record_property("verdicts a second, beside Spark", round(rate))
    print(f"{sum(seen.values()):,} verdicts compared with Spark, {rate:,.0f} a second: {dict(seen)}")
    assert not wrong
    assert seen[Match.NONE] + seen[Match.ALL] >= 0.3 * sum(seen.values())
    assert raising <= 0.02 * predicate_count


def test_single_column_predicates_are_tight(cases: list[TableCases]) -> None:
    """SET-4. Of a comparison, IN, BETWEEN, NULL test or boolean combination of one column the rules
    prove what the optimum proves, no less and no more.
    """
    for case in cases:
        facts = case.facts
        metadata = to_metadata(case.table, facts)
        for predicate in filter(is_single_column, case.predicates[::3]):
            verdicts = classify_blocks(predicate, metadata).to_pylist()
            for block, verdict in list(zip(facts, verdicts, strict=True))[::3]:
                best = Judge(predicate).optimum(known_of(case.table, block))
                assert Match(verdict) is _best(best), (predicate, block)


def test_multi_column_predicates_are_nearly_tight(cases: list[TableCases]) -> None:
    """SET-5. Of predicates with arithmetic and IF on several columns at least 97 in 100 blocks that could
    be skipped are; what neither a row nor a proof decides is not counted.
    """
    skippable = skipped = 0
    for case in cases:
        facts = case.facts
        metadata = to_metadata(case.table, facts)
        for predicate in filter(is_multi_column, case.predicates):
            verdicts = classify_blocks(predicate, metadata).to_pylist()
            for block, verdict in list(zip(facts, verdicts, strict=True))[::5]:
                known = verdict == Match.NONE
                if known or Judge(predicate).optimum(known_of(case.table, block)).none_provable:
                    skippable += 1
                    skipped += known
    assert skippable > 100
    assert skipped >= 0.97 * skippable, (skipped, skippable)


def _best(best: Optimum) -> Match:
    assert None not in (best.none_provable, best.all_provable)
    return Match.NONE if best.none_provable else Match.ALL if best.all_provable else Match.SOME


def test_the_set_is_as_large_and_as_deep_as_it_claims() -> None:
    """SET-3. 20 000 different predicates of 4 leaves on average, over 500 tables; each class is there."""
    tables = list(read())
    predicates = [predicate for case in tables for predicate in case.predicates]
    assert len(tables) >= 500
    assert len(set(map(repr, predicates))) == len(predicates) >= 20_000
    assert sum(map(leaf_count, predicates)) >= 4 * len(predicates)
    assert sum(map(is_single_column, predicates)) >= 2_000
    assert sum(map(is_multi_column, predicates)) >= 1_000
    assert {case.footer for case in tables} == {True, False}
