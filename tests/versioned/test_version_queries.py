"""VERSION-1: whole queries over versions of tables, pruned and not, against Spark over the same rows in memory."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from budget import examples
from drawn_versions import BlockForm, Form, forms, with_forms, write_drawn
from hypothesis import event, given
from hypothesis import strategies as st

import pruning
from oracles.answers.frames import session
from oracles.answers.open_answers import answer_difference
from oracles.answers.whole_queries import temporary_views, unlimited_rows
from pruning.spark.drive.report import Report
from pruning.spark.versioned.frames import version_frame
from strategies.queries.committed_queries import read_queries
from strategies.queries.drawing import queries
from strategies.queries.queries import Query

# The committed queries that a run asks: each so many-th.
SAMPLE, DEEP_SAMPLE = 250, 25


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a query: what is wrong about its answers, and the report of what was pruned."""

    problems: tuple[str, ...]
    report: Report


def outcome(spark: Any, query: Query, forms_of: list[Form], draw: Callable[[Any], Any]) -> Outcome:
    """Write the query's tables, ask it as it is and pruned, and compare with the answer over rows in memory."""
    query = with_forms(query, forms_of)
    with session(spark), tempfile.TemporaryDirectory() as folder:
        expected = unlimited_rows(spark, query)
        frames = {}
        for (name, table), form in zip(query.tables_by_name.items(), forms_of, strict=True):
            directory = Path(folder) / name
            directory.mkdir()
            frames[name] = version_frame(spark, write_drawn(draw, table, form, directory))
        with temporary_views(spark, frames):
            asked = spark.sql(query.sql)
            pruned = pruning.prune(asked)
            answers = [asked.collect(), pruned.collect()]
            report = pruning.explain(pruned)
    problems = (answer_difference(query, answer, expected) for answer in answers)
    return Outcome(tuple(problem for problem in problems if problem is not None), report)


@examples(0.2)
@given(queries(), st.data())
def test_a_query_over_versions_always_has_the_answer_of_rows_in_memory(
    spark: Any, query: Query, data: st.DataObject
) -> None:
    """VERSION-1. Whatever the layouts, the partitions, the metadata and the deleted rows; pruned or not."""
    forms_of = [data.draw(forms(table)) for table in query.tables]
    result = outcome(spark, query, forms_of, data.draw)
    for technique in {removal.technique for scan in result.report.scans for removal in scan.removals}:
        event(f"{technique} acted")
    assert result.problems == (), f"{query.sql}\n{forms_of}\n{result.report}"
