"""ICEBERG-1: whole queries over tables of Iceberg, pruned, against Spark over the same rows in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from written_tables import Form, forms, with_forms, write_table

import pruning
from oracles.answers.frames import ROW_ORDINAL, rows_frame, session
from oracles.answers.open_answers import answer_difference
from oracles.answers.whole_queries import temporary_views, unlimited_rows
from pruning.spark.drive.report import Report
from pruning.spark.iceberg import tables
from strategies.queries.committed_queries import read_queries
from strategies.queries.drawing import queries
from strategies.queries.queries import Query

# The committed queries that a run asks: each so many-th.
SAMPLE, DEEP_SAMPLE = 250, 25


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a pruned query: what is wrong about its answer, and the report."""

    problem: str | None
    report: Report


def outcome(spark: Any, query: Query, forms_of: list[Form], new_name: Callable[[], str]) -> Outcome:
    """Write the query's tables, prune it and compare with the answer over rows in memory."""
    query = with_forms(query, forms_of)
    with session(spark):
        expected = unlimited_rows(spark, query)
        names = [new_name() for _ in query.tables]
        written = {
            view: write_table(spark, table, name, form)
            for (view, table), name, form in zip(query.tables_by_name.items(), names, forms_of, strict=True)
        }
        with temporary_views(spark, written):
            pruned = pruning.prune(spark.sql(query.sql))
            report = pruning.explain(pruned)
            problem = answer_difference(query, pruned.collect(), expected)
        for name in names:
            spark.sql(f"DROP TABLE {name}")
        if problem is not None and _is_wrong_in_memory(spark, query, expected):
            return Outcome(None, report)
    return Outcome(problem, report)


def _is_wrong_in_memory(spark: Any, query: Query, expected: list[Any]) -> bool:
    """Tell whether Spark has the same fault without any files (`tests/oracles/test_divergences.py`)."""
    frames = {
        name: rows_frame(spark, table).drop(ROW_ORDINAL) for name, table in query.tables_by_name.items()
    }
    with temporary_views(spark, frames):
        return answer_difference(query, spark.sql(query.sql).collect(), expected) is not None


@pytest.mark.parametrize("planned_max", [tables.PLANNED_FILES_MAX, 0], ids=["driver", "tasks"])
@examples(0.2)
@given(queries(), st.data())
def test_a_pruned_query_over_iceberg_always_has_the_answer_of_rows_in_memory(
    iceberg: Any, new_name: Callable[[], str], planned_max: int, query: Query, data: st.DataObject
) -> None:
    """ICEBERG-1. Whatever the metrics, the partitions, the columns' history and the deletes.

    With files that Iceberg plans in the driver, or those that Spark's tasks leave.
    """
    forms_of = [data.draw(forms(table)) for table in query.tables]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "PLANNED_FILES_MAX", planned_max)
        result = outcome(iceberg, query, forms_of, new_name)
    for technique in {removal.technique for scan in result.report.scans for removal in scan.removals}:
        event(f"{technique} acted")
    assert result.problem is None, f"{query.sql}\n{forms_of}\n{result.report}"


@pytest.fixture(scope="module")
def committed(iceberg: Any, new_name: Callable[[], str], deep: bool) -> list[Outcome]:
    """Committed queries over plain files of Iceberg, pruned."""
    form = Form(version=2, metrics="truncate(16)")
    return [
        outcome(iceberg, query, [form] * len(query.tables), new_name)
        for query in read_queries(every=DEEP_SAMPLE if deep else SAMPLE)
    ]


def test_committed_queries_over_iceberg_have_the_answers_of_rows_in_memory(committed: list[Outcome]) -> None:
    assert [result.problem for result in committed if result.problem is not None] == []


@pytest.mark.parametrize("technique", ["iceberg", "filter", "join", "top-k"])
def test_committed_queries_over_iceberg_reach_each_technique(
    committed: list[Outcome], technique: str
) -> None:
    """Without this, ICEBERG-1 could hold because no file is ever excluded."""
    assert any(
        removal.technique == technique and removal.files
        for result in committed
        for scan in result.report.scans
        for removal in scan.removals
    )
