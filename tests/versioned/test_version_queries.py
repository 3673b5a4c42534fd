"""VERSION-1, VERSION-2: versions of tables, and pruned queries over them, against rows in memory."""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from budget import examples, unshrunk
from drawn_versions import Form, forms, with_forms, write_drawn
from hypothesis import event, find, given
from hypothesis import strategies as st

import pruning
from oracles.answers.frames import ROW_ORDINAL, pushdown, rows_frame, session
from oracles.answers.open_answers import answer_difference
from oracles.answers.whole_queries import temporary_views, unlimited_rows
from pruning.spark.versioned.frames import version_frame
from strategies.queries.drawing import queries
from strategies.queries.queries import Query


@examples(0.06)
@given(queries(), st.data())
def test_the_frame_of_a_version_always_has_its_live_rows(
    spark: Any, query: Query, data: st.DataObject
) -> None:
    """VERSION-1. Whatever the layouts, the partitions and the deleted rows; by either reader of Parquet."""
    form = data.draw(forms(query.tables[0]))
    (table,) = with_forms(replace(query, tables=query.tables[:1]), [form]).tables
    vectorized = data.draw(st.booleans())
    with session(spark), tempfile.TemporaryDirectory() as folder:
        spark.conf.set(_VECTORIZED, str(vectorized).lower())
        frame = version_frame(spark, write_drawn(data.draw, table, form, Path(folder)))
        rows = frame.collect()
        spark.conf.unset(_VECTORIZED)
        assert _bag(rows) == _bag(rows_frame(spark, table).drop(ROW_ORDINAL).collect()), form


_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"


def _bag(rows: list[Any]) -> Counter[str]:
    return Counter(repr(tuple(row)) for row in rows)


@examples(0.06)
@given(queries(), st.data())
def test_a_pruned_query_over_versions_always_has_the_answer_of_rows_in_memory(
    spark: Any, query: Query, data: st.DataObject
) -> None:
    """VERSION-2. Whatever the layouts, the partitions, the metadata and the deleted rows."""
    forms_of = [data.draw(forms(table)) for table in query.tables]
    problem, techniques = problem_of(spark, query, forms_of, data.draw)
    for technique in techniques:
        event(f"{technique} acted")
    assert problem is None, f"{query.sql}\n{forms_of}"


def problem_of(
    spark: Any, query: Query, forms_of: list[Form], draw: Callable[[Any], Any]
) -> tuple[str | None, set[str]]:
    """Write a query's tables, prune it, and return what is wrong about its answer and the techniques used."""
    query = with_forms(query, forms_of)
    with session(spark), tempfile.TemporaryDirectory() as folder:
        expected = unlimited_rows(spark, query)
        frames = {}
        for (name, table), form in zip(query.tables_by_name.items(), forms_of, strict=True):
            directory = Path(folder) / name
            directory.mkdir()
            frames[name] = version_frame(spark, write_drawn(draw, table, form, directory))
        with temporary_views(spark, frames), pushdown(spark):
            pruned = pruning.prune(spark.sql(query.sql))
            problem = answer_difference(query, pruned.collect(), expected)
            report = pruning.explain(pruned)
    return problem, {removal.technique for scan in report.scans for removal in scan.removals}


@pytest.mark.parametrize(
    "is_reached",
    [
        lambda form: form.partitioned and form.default,
        lambda form: (
            any(block.positional for block in form.blocks) and any(block.equal for block in form.blocks)
        ),
        lambda form: len({block.way for block in form.blocks}) == 2,
        lambda form: any(block.way.narrow and block.way.renamed and block.way.late for block in form.blocks),
    ],
    ids=["default and partitions", "both deletes", "two layouts", "all of a layout"],
)
def test_forms_reach_each_part_of_a_version(is_reached: Callable[[Form], bool]) -> None:
    """Without this, VERSION-1 and VERSION-2 could hold because versions are plain files."""
    any_forms = queries().flatmap(lambda query: forms(query.tables[0]))
    find(any_forms, is_reached, settings=unshrunk(500))
