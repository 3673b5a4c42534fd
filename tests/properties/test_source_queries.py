"""QUERY-5 and QUERY-6: whole queries over tables of any source, and over tables that change between runs.

A sample of the committed queries runs each time; a deep run takes all of them.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from query_outcomes import Outcome, file_options, outcome, techniques_of, unaccounted_scans
from searches import find_seed

from mutants.queries.source_queries import MUTANTS
from oracles.answers.frames import ROW_ORDINAL, rows_frame, session
from oracles.answers.rows import bag
from oracles.answers.source_frames import query_versions
from strategies.base.tables import Table
from strategies.queries.committed_queries import SOURCES_PATH, read_queries
from strategies.queries.joins import JoinSyntax
from strategies.queries.queries import ChangeKind, Openness, Query, SourceKind, TableSource
from strategies.queries.query_tables import NAMES
from strategies.queries.source_drawing import source_queries

COUNT = 1_000
SAMPLE = 100  # each so many-th query of the committed set
QUERIES_OF_A_MUTANT = 100  # at most
# The least number of committed queries with a feature.
FEATURES = {
    **{f"side from {kind.value}": 40 for kind in SourceKind},
    **{f"{kind.value} between runs": 60 for kind in ChangeKind},
    **{kind.value: 60 for kind in (JoinSyntax.IN, JoinSyntax.EXISTS)},
    **{kind.value: 10 for kind in (JoinSyntax.NOT_IN, JoinSyntax.NOT_EXISTS)},
    "range join": 60,
    "inequality join": 40,
    "range and key": 20,
    "bounds of groups": 40,
    "bounds of all rows": 40,
    "grouped side": 40,
    "scalar subquery": 60,
    "correlated scalar subquery": 20,
    "several joins": 40,
    "snowflake": 60,
    "table that changes": 200,
    "LIMIT without a filter": 60,
    "count of LIMIT": 20,
    "counts of LIMITs": 20,
}
# The least number of committed queries in which a technique takes out blocks.
TECHNIQUES = {"filter": 200, "join": 150, "limit": 50, "top-k": 50, "cache": 80, "elimination": 20}
# The features of queries in which a mutant may be seen.
FEATURES_OF_MUTANT = {
    "a side is read again with another row": ("inner join", "snowflake"),
    "a range is without its lower end": ("range join", "inequality join"),
    "a range is without its upper end": ("range join", "inequality join"),
    "a subquery gives another value in the query": ("scalar subquery",),
    "LIMIT forgets a row of OFFSET": ("count of LIMIT", "counts of LIMITs"),
    "the cache takes a file for the one before": ("UPDATE between runs",),
    "the cache forgets new files": ("INSERT between runs",),
    "the cache forgets files that are gone": ("DELETE between runs",),
}


@pytest.fixture(scope="module")
def queries() -> list[Query]:
    """All committed queries."""
    return list(read_queries(SOURCES_PATH))


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession) -> list[Outcome]:
    """A sample of the committed queries, pruned."""
    return [outcome(spark, query) for query in read_queries(SOURCES_PATH, every=SAMPLE)]


def check(outcomes: list[Outcome]) -> Counter[str]:
    """Check the answers and the accounts of queries, and count those in which a technique acted."""
    assert [(result.query.sql, result.problem) for result in outcomes if result.problem is not None] == []
    assert [
        line for result in outcomes for report in result.reports for line in unaccounted_scans(report)
    ] == []
    assert not any(result.spark_alone for result in outcomes)
    return Counter(technique for result in outcomes for technique in techniques_of(result))


def test_a_sample_of_queries_over_sources_has_the_unpruned_answers(outcomes: list[Outcome]) -> None:
    """QUERY-5, QUERY-6 of the sample; it has something to prune."""
    assert {"filter", "join"} <= set(check(outcomes))


@pytest.mark.deep
def test_all_committed_queries_over_sources_have_the_unpruned_answers(
    spark: SparkSession, queries: list[Query]
) -> None:
    """QUERY-5, QUERY-6 of the committed set, where each technique acts often, and most answers have rows."""
    outcomes = [outcome(spark, query) for query in queries]
    acted = check(outcomes)
    assert sum(result.has_rows for result in outcomes) >= COUNT / 2
    assert {name: acted[name] for name, least in TECHNIQUES.items() if acted[name] < least} == {}


@examples(0.1)
@given(source_queries(), st.data())
def test_a_query_over_any_source_always_has_the_unpruned_answer(
    spark: SparkSession, query: Query, data: st.DataObject
) -> None:
    """QUERY-5, QUERY-6. As far as SQL determines it, before and after each change of a table."""
    # A table that changes has one block a file.
    files = {} if query.changes else file_options(data, query)
    result = outcome(spark, query, **files)
    for technique in techniques_of(result):
        event(f"{technique} acted")
    assert result.problem is None, f"{query.sql}\n{result.report}"
    assert [line for report in result.reports for line in unaccounted_scans(report)] == []


def test_the_committed_set_reaches_each_shape(queries: list[Query]) -> None:
    """Without this, QUERY-5 and QUERY-6 could hold of easier queries."""
    assert len({query.sql for query in queries}) == COUNT
    features = Counter(feature for query in queries for feature in query.features)
    assert {name: features[name] for name, least in FEATURES.items() if features[name] < least} == {}
    assert {len(query.changes) for query in queries} == {0, 1, 2, 3}
    assert {len(query.tables) for query in queries} == {1, 2, 3, 4}
    assert {change.in_place for query in queries for change in query.changes} == {True, False}


def test_each_source_has_the_rows_of_its_table(
    spark: SparkSession, queries: list[Query], tmp_path: Path
) -> None:
    """A premise of QUERY-5: the sources are of the rows that the answer is computed of."""
    numbers = next(table for query in queries for table in _tables_from(query, (SourceKind.RANGE,)))
    plain = next(
        table
        for query in queries
        for table in _tables_from(query, (SourceKind.CSV, SourceKind.JSON))
        if len(table.rows) > 4 and len({column.type.kind for column in table.columns}) == len(NAMES) + 1
    )
    every = Query(
        tables=tuple(numbers if kind is SourceKind.RANGE else plain for kind in SourceKind),
        sql="SELECT 1",
        openness=Openness.EXACT,
        unlimited="SELECT 1",
        sources=tuple(map(TableSource, SourceKind)),
    )
    with session(spark), query_versions(spark, every, tmp_path) as versions:
        next(versions)
        for name, table in every.tables_by_name.items():
            expected = rows_frame(spark, table).drop(ROW_ORDINAL)
            assert spark.table(name).dtypes == expected.dtypes
            assert bag(spark.table(name).collect()) == bag(expected.collect()), every.sources_by_name[name]


def _tables_from(query: Query, kinds: Collection[SourceKind]) -> Iterator[Table]:
    """Yield the tables of a query that are read from sources of some kinds."""
    for name, source in query.sources_by_name.items():
        if source.kind in kinds:
            yield query.tables_by_name[name]


def test_each_change_leaves_the_rows_of_its_version(
    spark: SparkSession, queries: list[Query], tmp_path: Path
) -> None:
    """A premise of QUERY-6: files have the rows of the version, and a compaction leaves those before it."""
    wanted = {f"{kind.value} between runs" for kind in ChangeKind}
    query = next(query for query in queries if len(wanted & query.features) > 2)
    tables = [version.tables[0] for version in query.versions()]
    for change, before, after in zip(query.changes, tables, tables[1:], strict=False):
        assert change.kind is not ChangeKind.COMPACTION or sorted(after.rows) == sorted(before.rows)
    with session(spark), query_versions(spark, query, tmp_path) as versions:
        for table, _ in zip(tables, versions, strict=True):
            expected = rows_frame(spark, table).drop(ROW_ORDINAL)
            assert bag(spark.table("t0").collect()) == bag(expected.collect())


@pytest.mark.parametrize("name", MUTANTS)
def test_pruning_that_is_wrong_is_found_out_by_the_committed_set(
    spark: SparkSession, queries: list[Query], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each mutant of QUERY-5 or QUERY-6 gives a wrong answer to a query of the set."""
    cases = [query for query in queries if query.features & set(FEATURES_OF_MUTANT[name])]
    monkeypatch.setattr(*MUTANTS[name])
    killer = find_seed(
        min(len(cases), QUERIES_OF_A_MUTANT), lambda seed: outcome(spark, cases[seed]).problem is not None
    )
    assert killer is not None
