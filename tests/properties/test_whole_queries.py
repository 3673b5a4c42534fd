"""QUERY-1 to QUERY-3: whole queries over Parquet files, pruned, against Spark over the same rows in memory.

A sample of the committed queries runs each time; a deep run takes all of them.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from query_outcomes import (
    Outcome,
    acting,
    file_options,
    outcome,
    techniques_of,
    unaccounted_scans,
    weaker,
    with_other_verdict,
)
from small_pages import small_pages

from oracles.answers.frames import session
from oracles.answers.open_answers import answer_difference
from oracles.answers.source_frames import query_versions
from pruning.rules.sets.truths import Match
from pruning.spark.drive.report import Report
from strategies.queries.committed_queries import read_queries
from strategies.queries.drawing import queries
from strategies.queries.queries import Openness, Query

SAMPLE = 100  # each so many-th query of the committed set
QUERIES_OF_A_MUTANT = 40  # at most
JOINS = ("inner join", "left semi join", "IN subquery")
TECHNIQUES = ("filter", "join", "limit", "top-k")


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, deep: bool) -> list[Outcome]:
    """The committed queries of this run, pruned."""
    return [outcome(spark, query, repeated=deep) for query in read_queries(every=1 if deep else SAMPLE)]


def rdds_of(draw: st.DataObject, query: Query) -> list[str]:
    """Return the tables that are read from RDDs: none of most queries, and never all."""
    names = sorted(query.tables_by_name)
    if len(names) == 1 or draw.draw(st.integers(0, 3)):
        return []
    return draw.draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names) - 1, unique=True))


@examples(0.3)
@given(queries(), st.data())
def test_a_pruned_query_always_has_the_unpruned_answer(
    spark: SparkSession, query: Query, data: st.DataObject
) -> None:
    """QUERY-1, QUERY-2. As far as SQL determines it; each skipped block belongs to exactly one technique."""
    seen = outcome(
        spark,
        query,
        rows_of_rdds=rdds_of(data, query),
        repeated=not data.draw(st.integers(0, 2)),
        **file_options(data, query),
    )
    if any("were read now" in note for note in seen.report.notes):
        event("rows are held")
    for removal in {removal for scan in seen.report.scans for removal in scan.removals}:
        event(f"{removal.technique} acted")
        if removal.rows_inside:
            event(f"{removal.technique} acted on pages")
    assert seen.problem is None, f"{query.sql}\n{seen.report}"
    assert unaccounted_scans(seen.report) == []


@examples(0.2)
@given(queries(), st.integers(0, 99))
def test_fewer_proofs_never_make_an_answer_wrong(spark: SparkSession, query: Query, seed: int) -> None:
    """QUERY-3. With about half of the verdicts NONE and ALL forgotten, QUERY-1 holds."""
    assert outcome(spark, query, weaker(seed)).problem is None, query.sql


def test_committed_queries_have_the_unpruned_answers(outcomes: list[Outcome]) -> None:
    """QUERY-1 of the committed set."""
    assert [(each.query.sql, each.problem) for each in outcomes if each.problem is not None] == []


def test_committed_queries_account_for_each_skipped_block(outcomes: list[Outcome]) -> None:
    """QUERY-2 of the committed set."""
    assert [fault for result in outcomes for fault in unaccounted_scans(result.report)] == []


def test_rows_are_held_in_committed_queries(spark: SparkSession, deep: bool) -> None:
    """JOIN-7 of the committed set: sides of joins that are rows of RDDs prune, and the answers are right."""
    joined = [query for query in read_queries() if query.features & set(JOINS) and len(query.tables) > 1]
    held_count = 0
    for query in joined:
        result = outcome(spark, query, rows_of_rdds=sorted(query.tables_by_name)[1:])
        assert result.problem is None, query.sql
        held_count += any("were read now" in note for note in result.report.notes)
        if held_count and not deep:
            break
    assert held_count


def test_a_cache_reaches_the_committed_queries(spark: SparkSession) -> None:
    """Without this, QUERY-1 could hold through a cache that knows nothing, of filters and of first rows."""
    for feature in ("no ending", "top-k over filter"):
        wanted = (query for query in read_queries() if feature in query.features)
        results = (outcome(spark, query, repeated=True, statistics=False) for query in wanted)
        assert any("cache" in acting(result) for result in results), feature


def test_techniques_reach_the_committed_queries(outcomes: list[Outcome]) -> None:
    """Without this, QUERY-1 could hold because nothing is ever pruned."""
    acted = {technique for result in outcomes for technique in techniques_of(result)}
    assert acted >= set(TECHNIQUES)


@pytest.mark.parametrize(
    ("one", "other", "feature"),
    [(Match.SOME, Match.NONE, "plain filter"), (Match.SOME, Match.ALL, "limit over filter")],
    ids=["undecided blocks are skipped", "undecided blocks count as full"],
)
def test_verdicts_that_claim_too_much_are_found_out(
    spark: SparkSession, one: Match, other: Match, feature: str
) -> None:
    """A mutant of QUERY-1: a pruner that is sure where it is not gives a wrong answer soon."""
    asked = [query for query in read_queries() if feature in query.features][:QUERIES_OF_A_MUTANT]
    assert any(outcome(spark, query, with_other_verdict(one, other)).problem for query in asked)


def test_a_lost_file_is_found_out(spark: SparkSession) -> None:
    """A mutant of QUERY-1: a scan that forgets a file gives wrong answers, of each openness."""
    for openness in Openness:
        asked = (query for query in read_queries() if query.openness is openness)
        assert any(
            _without_a_file(spark, query) for query, _ in zip(asked, range(QUERIES_OF_A_MUTANT), strict=False)
        )


def test_removals_that_do_not_add_up_are_found_out(outcomes: list[Outcome]) -> None:
    """A mutant of QUERY-2: a block that two techniques claim, and one that none does."""
    report = next(each.report for each in outcomes if any(scan.removals for scan in each.report.scans))
    scan = next(scan for scan in report.scans if scan.removals)
    twice = replace(scan, removals=(*scan.removals, replace(scan.removals[0], blocks=1, files=0)))
    assert unaccounted_scans(Report(scans=(twice,)))
    assert unaccounted_scans(Report(scans=(replace(scan, removals=()),)))


def _without_a_file(spark: SparkSession, query: Query) -> str | None:
    with (
        TemporaryDirectory() as directory,
        session(spark),
        small_pages(),
        query_versions(spark, query, Path(directory)) as versions,
    ):
        expected = next(versions)
        sorted(Path(directory, "t0").glob("*.parquet"))[0].unlink()
        # The frame listed its files when it was made.
        schema = spark.table("t0").schema
        spark.read.schema(schema).parquet(str(Path(directory, "t0"))).createOrReplaceTempView("t0")
        return answer_difference(query, spark.sql(query.sql).collect(), expected)
